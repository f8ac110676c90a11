"""A marimo notebook: `marimo edit app.py`; as a script, `python app.py`."""

import marimo

app = marimo.App()


@app.cell
def _():
    from pathlib import Path

    import sqlmetrics as sm

    data = Path(__file__).resolve().parent.parent / "data"
    evaluator = sm.Evaluator(
        {name: data / f"recommendations_{name}.parquet" for name in ("als", "popular")},
        data / "interactions.parquet",
        check=False,
    )
    return (evaluator,)


@app.cell
def _(evaluator):
    result = evaluator.evaluate(["ndcg", "recall"], k=[5, 10])
    result
    return (result,)


@app.cell
def _(result):
    print(result.pivot(index="model", columns=["metric", "k"], values="value").round(4))
    return


if __name__ == "__main__":
    app.run()
