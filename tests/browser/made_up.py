"""A report about nothing: every text that a user can choose is hostile, long or foreign."""

from __future__ import annotations

from typing import Any

import altair as alt

from sqlmetrics.report.content import (
    Content,
    Definition,
    Example,
    ExampleList,
    Figure,
    FigureTable,
    Leaderboard,
    Listed,
    Score,
    Section,
    Warned,
)

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
CLOSING = "</script><!--<script>"
TEMPLATE = "{{7*7}}"
RTL = "מודל א'"
LONG = "a_model_with_a_very_long_name_" + "and_no_space_" * 8
HOSTILE = (SCRIPT, IMAGE, CLOSING, TEMPLATE, RTL, LONG)
"""Names of models."""

METRICS = ("ndcg@10", "recall@10", "coverage@10 " + SCRIPT)


def _values() -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "metric": metric,
            "value": value,
            "low": value - 0.02,
            "high": value + 0.02,
        }
        for n, model in enumerate(HOSTILE)
        for m, metric in enumerate(METRICS)
        for value in [0.1 + 0.05 * n + 0.1 * m]
    ]


def chart_with_select() -> dict[str, Any]:
    """Return points and intervals of one metric, which a control chooses."""
    metric = alt.param(
        name="metric",
        value=METRICS[0],
        bind=alt.binding_select(options=list(METRICS), labels=list(METRICS), name="Metric "),
    )
    chosen = alt.Chart(alt.Data(values=_values())).transform_filter("datum.metric === metric")
    base = chosen.encode(y=alt.Y("model:N", sort=None, title=None))
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("value:Q", title="value"),
        color=alt.Color("model:N", sort=None),
        tooltip=["model:N", "metric:N", "value:Q"],
    )
    rules = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    zero = alt.Chart(alt.Data(values=[{}])).mark_rule(style="reference").encode(x=alt.datum(0))
    chart = alt.layer(zero, rules, points).add_params(metric)
    return dict(chart.properties(width="container", height=180).to_dict())


def chart_of_lines() -> dict[str, Any]:
    """Return a line per model over cutoffs, with a band."""
    values = [
        {"model": model, "k": k, "value": v, "low": v * 0.9, "high": v * 1.1}
        for n, model in enumerate(HOSTILE)
        for k in (1, 5, 10, 20)
        for v in [0.05 * (n + 1) * k**0.4]
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("k:Q", title="cutoff"), color=alt.Color("model:N", sort=None, title=None)
    )
    band = base.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q")
    line = base.mark_line(point=True).encode(y=alt.Y("value:Q", title=SCRIPT), tooltip=["model:N"])
    return dict((band + line).properties(width="container", height=240).to_dict())


def chart_of_outcomes() -> dict[str, Any]:
    """Return the shares of losses, ties and wins of each model."""
    shares = (("loss", 0.3), ("tie", 0.2), ("win", 0.5))
    values = [{"model": m, "outcome": o, "share": s} for m in HOSTILE for o, s in shares]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            y=alt.Y("model:N", sort=None, title=None),
            x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of users"),
            color=alt.Color(
                "outcome:N",
                title=None,
                scale=alt.Scale(domain=["loss", "tie", "win"], range="diverging"),
            ),
            tooltip=["model:N", "outcome:N"],
        )
    )
    return dict(chart.properties(width="container", height=200).to_dict())


def _figure(name: str, chart: dict[str, Any] | None, *, wide: bool) -> Figure:
    rows = [(row["model"], row["metric"], row["value"]) for row in _values()]
    return Figure(
        name=name,
        title=f"Figure {name} of {SCRIPT}",
        text=f"Models differ. {IMAGE}",
        chart=chart,
        alternative=f"Six models. {IMAGE}",
        table=FigureTable(("model", "metric", "value"), rows),
        note=f"Left out: {CLOSING}",
        wide=wide,
    )


def _example(number: int, kind: str) -> Example:
    lists = [
        ExampleList(
            model,
            0.5 if n else None,
            [Listed(k, f"{k} {HOSTILE[(n + k) % 6]}", k % 3 == n % 3) for k in range(1, 6)]
            if n != 4
            else [],
        )
        for n, model in enumerate(HOSTILE)
    ]
    return Example(f"user_id = '{number}{IMAGE}'", kind, 7, HOSTILE[:3], lists)


def _row(n: int, model: str) -> tuple[str, int | None, list[Score]]:
    marks = ("best", "not worse", "", "", "", "")
    scores = [
        Score(0.4321 / (n + 1), 0.4 / (n + 1), 0.45 / (n + 1), marks[n]),
        Score(0.1234 / (n + 1), mark=marks[(n + 5) % 6]),
        Score(None if n == 3 else 0.9 - n / 10),
    ]
    return model, 12345, scores


def content() -> Content:
    """Return a report with every part."""
    sql = (
        f"SELECT\n    '{SCRIPT}' AS a,\n    '{CLOSING}' AS b -- {IMAGE}\n"
        "FROM recommendations AS r\nWHERE 1 < 2 && 3 > 2"
    )
    return Content(
        title=f"Report on {SCRIPT}",
        facts=[
            ("Models", str(len(HOSTILE))),
            ("Users", "12,345"),
            (f"Table {IMAGE}", f"recommendations {CLOSING}"),
            ("Convention", "standard"),
        ],
        warnings=[
            Warned(
                "warning", "duplicates", f"12 rows of {SCRIPT} are there twice.", f"Drop {IMAGE}"
            ),
            Warned("note", "ties", f"Scores are tied: {TEMPLATE}"),
        ],
        leaderboard=Leaderboard(
            METRICS, [_row(n, model) for n, model in enumerate(HOSTILE)], f"t-test {IMAGE}"
        ),
        sections=[
            Section(
                "values",
                f"Values {IMAGE}",
                f"What the models are worth. {CLOSING}",
                [
                    _figure("values", chart_with_select(), wide=True),
                    _figure("cutoffs", chart_of_lines(), wide=False),
                    _figure("outcomes", chart_of_outcomes(), wide=False),
                ],
            ),
            Section("empty", "Nothing here", "No figures.", []),
            Section("tables", "Tables", "", [_figure("plain", None, wide=True)]),
        ],
        definitions=[
            Definition(
                "ndcg@10",
                f"Gain of the list {SCRIPT}",
                f"sum of gains / ideal {IMAGE}",
                [("Range", "0 to 1"), (f"Cited {IMAGE}", SCRIPT)],
                [("gain", f"binary {CLOSING}")],
                sql,
            ),
            Definition(f"recall@10 {SCRIPT}", "", "", [], [], sql),
        ],
        statement=sql + f"\n-- the whole {TEMPLATE}",
        made_by=f"sqlmetrics {SCRIPT}",
        examples=[
            _example(1, "best"),
            _example(2, "best"),
            _example(3, "typical"),
            _example(4, "worst"),
        ],
        examples_text=f"Chosen by chance. {IMAGE}",
    )
