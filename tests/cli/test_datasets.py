"""`sqlmetrics table`: the leaderboards of several datasets side by side."""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from sqlmetrics.report.ranks import chart_of_ranks
from sqlmetrics.stats.ranks import Ranks
from tests.support.command_line import run

ML = pd.DataFrame(
    {
        "model": ["als", "knn", "pop"],
        "n_users": [20, 20, 20],
        "n_runs": [3, 3, 1],
        "ndcg@10": [0.5, 0.45, 0.25],
        "ndcg@10 mark": ["best", "not worse", ""],
        "ndcg@10 std_runs": [0.01, 0.02, None],
        "popularity@10": [0.75, 0.5, 1.0],
        "popularity@10 mark": ["", "", ""],
        "popularity@10 std_runs": [0.0, 0.0, None],
    }
)
BEAUTY = ML.assign(
    model=["pop", "als", "new"],
    n_users=30,
    **{"ndcg@10": [0.3, 0.2, 0.1], "ndcg@10 std_runs": [None, 0.03, 0.04]},
)


def table(*arguments: str, code: int = 0) -> str:
    result = run("table", *arguments, code=code)
    return result.stdout if code == 0 else result.stderr


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Return the arguments for two datasets, in two formats."""
    ML.to_csv(tmp_path / "ml.csv", index=False)
    BEAUTY.to_json(tmp_path / "beauty.json", orient="records")
    return [f"ML_1M={tmp_path / 'ml.csv'}", f"Beauty={tmp_path / 'beauty.json'}"]


def test_a_paper_table_has_a_block_of_columns_per_dataset(files: list[str]) -> None:
    lines = table(*files, "--format", "latex", "--digits", "2").splitlines()
    assert lines[3:5] == [
        r" & \multicolumn{2}{c}{ML\_1M} & \multicolumn{2}{c}{Beauty} \\",
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}",
    ]
    assert lines[5] == r"Model & nDCG@10 & Popularity@10 & nDCG@10 & Popularity@10 \\"
    als, knn, pop, new = (line.split(" & ") for line in lines[7:11])
    # the best and the second best of each dataset
    assert als[1] == r"\textbf{0.50 $\pm$ 0.01}"
    assert als[3] == r"\underline{0.20 $\pm$ 0.03}\rlap{$^{=}$}"
    assert knn[:2] == ["knn", r"\underline{0.45 $\pm$ 0.02}\rlap{$^{=}$}"]
    assert knn[3:] == ["", r" \\"]
    assert (pop[1], pop[3]) == ("0.25", r"\textbf{0.30}")
    assert new[1:3] == ["", ""]
    assert lines[-5].endswith("than the best; ± standard deviation over the runs of the model")
    assert lines[-4:] == [
        "% users: ML_1M 20, Beauty 30",
        "% runs: ML_1M 1 to 3, Beauty 1 to 3",
        "% empty cells: ML_1M has no results of new",
        "% empty cells: Beauty has no results of knn",
    ]


def test_other_formats(files: list[str], tmp_path: Path) -> None:
    assert "| als | **0.5000 ± 0.0100** | 0.7500 ± 0.0000 |" in table(
        *files, "--format", "markdown"
    )
    assert "ML_1M ndcg@10" in table(*files, "--format", "table")
    table(*files, "-o", str(tmp_path / "both.csv"))
    both = pd.read_csv(tmp_path / "both.csv", dtype="string")
    assert both["model"].tolist() == ["als", "knn", "pop", "new"]
    assert both["Beauty n_users"].dropna().tolist() == ["30"] * 3


def test_marks_against_one_model(tmp_path: Path) -> None:
    path = tmp_path / "against.parquet"
    ML.assign(**{"ndcg@10 mark": ["best, better", "", "worse"]}).to_parquet(path)
    latex = table(f"ml={path}", "--format", "latex")
    assert r"\textbf{0.5000 $\pm$ 0.0100}\rlap{$^{\dagger}$}" in latex
    assert "† significantly better, ‡ significantly worse than the baseline" in latex
    ML.to_csv(tmp_path / "best.csv", index=False)
    mixed = table(f"ml={path}", f"b={tmp_path / 'best.csv'}", "--format", "latex", code=2)
    assert "the marks of ml compare with one model (--against)" in mixed


@pytest.mark.parametrize(
    ("frame", "name", "code", "message"),
    [
        (ML, "ml.csv", 2, "ml.csv: write NAME=FILE"),
        (ML.drop(columns="popularity@10"), "a={}/x.csv", 2, "ml and a have different columns"),
        (ML[["model", "n_users"]], "a={}/x.csv", 1, "a is not a leaderboard"),
        (pd.concat([ML, ML]), "a={}/x.csv", 1, "a has several rows for the model als"),
        (ML, "ml={}/x.csv", 2, "two datasets have the name ml"),
        (ML, "a={}/x.txt", 1, "x.txt: a leaderboard is read from .csv, .json, .parquet"),
        (ML, "a={}/none.csv", 1, "none.csv cannot be read"),
        (ML.assign(country="x")[["model", "country", *ML.columns[1:]]], "a={}/x.csv", 1, "country"),
    ],
    ids=["unnamed", "columns", "other", "repeated", "twice", "suffix", "absent", "slices"],
)
def test_refusals(
    frame: pd.DataFrame, name: str, code: int, message: str, tmp_path: Path, files: list[str]
) -> None:
    frame.to_csv(tmp_path / "x.csv", index=False)
    ml = files[0].replace("ML_1M", "ml")
    assert message in table(ml, name.format(tmp_path), code=code)


def test_the_output_is_not_an_input(files: list[str]) -> None:
    path = files[0].partition("=")[2]
    assert "ml.csv" in table(*files, "-o", path, "--force", code=2)
    assert pd.read_csv(path)["model"].tolist() == ["als", "knn", "pop"]


@pytest.fixture
def ranked(tmp_path: Path) -> list[str]:
    """Return the arguments for three datasets with the same models."""
    arguments = []
    for name, values in {"ML": (0.5, 0.4, 0.3), "B": (0.3, 0.2, 0.1), "C": (0.2, 0.3, 0.1)}.items():
        best = ["best" if value == max(values) else "" for value in values]
        frame = ML.assign(**{"ndcg@10": values, "ndcg@10 mark": best})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        arguments.append(f"{name}={tmp_path / name}.csv")
    return arguments


def test_ranks_are_a_block_of_columns(ranked: list[str], tmp_path: Path) -> None:
    lines = table(*ranked, "--ranks", "--format", "latex", "--digits", "2").splitlines()
    assert lines[3].endswith(r"& \multicolumn{1}{c}{Mean rank} \\")
    assert lines[5].endswith(r"& nDCG@10 & Popularity@10 & nDCG@10 \\")
    assert [line.split(" & ")[-1] for line in lines[7:10]] == [
        rf"{rank} \\" for rank in ("1.33", "1.67", "3.00")
    ]
    # ranks 1 2 3 twice and 2 1 3: Friedman 2 · (4 + 1 + 9) / 6, whose p-value is exp(-14 / 6)
    assert lines[-4:] == [
        "% ndcg@10: Friedman p = 0.097, Iman-Davenport p = 0.049; no model significantly worse "
        "than als",
        "% smallest p that 3 models and 3 datasets can give exactly: 0.028",
        "% critical difference of mean ranks: 1.914 (Nemenyi, alpha 0.05)",
        "% no ranks, because no value is marked as the best: popularity@10",
    ]
    table(*ranked, "--ranks", "-o", str(tmp_path / "all.csv"))
    frame = pd.read_csv(tmp_path / "all.csv")
    assert [name for name in frame if name.startswith("rank ")] == [
        "rank ndcg@10",
        "rank ndcg@10 friedman_p",
        "rank ndcg@10 iman_davenport_p",
        "rank smallest_p",
        "rank critical_difference",
    ]
    assert frame["rank smallest_p"].tolist() == pytest.approx([1 / 36] * 3)


def test_ranks_need_every_model_in_every_dataset(files: list[str], ranked: list[str]) -> None:
    assert "ML_1M has no ndcg@10 of new" in table(*files, "--ranks", code=1)
    named = ranked[0].replace("ML=", "rank=")
    assert "rename this dataset" in table(named, *ranked[1:], "--ranks", code=2)
    assert "rank ndcg@10" in table(named, *ranked[1:])


def test_a_chart_of_ranks(ranked: list[str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    path = tmp_path / "ranks.svg"
    asked = [*ranked, "--ranks", "--plot", str(path)]
    table(*asked)
    content = path.read_bytes()
    texts = {"".join(part.itertext()) for part in ElementTree.fromstring(content).iter()}
    title = "ndcg@10: mean ranks, 1 is the best (Iman-Davenport p = 0.049)"
    assert {title, "CD = 1.914", "als (1.33)", "knn (1.67)", "pop (3.00)"} <= texts
    assert "exists" in table(*asked, code=1)
    assert path.read_bytes() == content
    table(*asked, "--force")
    assert "add --ranks" in table(*ranked, "--plot", str(path), code=2)
    pdf = table(*ranked, "--ranks", "--plot", "ranks.pdf", code=2)
    assert "ranks.pdf: a chart is written as .html, .png, .svg" in pdf


@pytest.mark.parametrize("n_models", [2, 4, 10, 11])
def test_the_critical_difference_diagram(n_models: int) -> None:
    """Every dataset has the order of the names; the mean ranks are 1, 2, …"""
    pytest.importorskip("altair")
    models = [f"model {place:02}" for place in range(1, n_models + 1)]
    board = pd.DataFrame({"model": models, "ndcg@10": [-place for place in range(n_models)]})
    board["ndcg@10 mark"] = ["best", *[""] * (n_models - 1)]
    ranks = Ranks.of({f"dataset {number}": board for number in range(9)})
    groups = ranks.groups("ndcg@10")
    datasets = [*chart_of_ranks(ranks).to_dict()["datasets"].values()]
    lines = next(rows for rows in datasets if "mean" in rows[0])
    assert [row["mean"] for row in lines] == [*range(1, n_models + 1)]
    # names of one side have rows of their own, and the lines to the names do not cross those above
    for is_left, inwards in ((True, 1), (False, -1)):
        side = [row for row in lines if row["is_left"] == is_left][::inwards]
        assert 0 <= len(side) - n_models / 2 <= 0.5 or not is_left
        assert all(below["y"] - above["y"] == 20 for above, below in itertools.pairwise(side))
    bars = [row for rows in datasets for row in rows if "high" in row and "label" not in row]
    spans = [[int(group[0][-2:]), int(group[-1][-2:])] for group in groups]
    assert [[row["low"], row["high"]] for row in bars] == spans
    for one, other in itertools.combinations(bars, 2):
        assert one["y"] != other["y"] or one["high"] < other["low"]
    assert all(row["axis"] < bar["y"] < row["y"] for row in lines for bar in bars)
    (critical,) = (rows[0] for rows in datasets if "CD" in rows[0].get("label", ""))
    assert critical["high"] - 1 == pytest.approx(ranks.critical_difference, rel=1e-5)
