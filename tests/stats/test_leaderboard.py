"""The leaderboard: the best model, models that are not worse, order and layout."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sqlmetrics.cli.formats import rendered
from sqlmetrics.cli.layout import render_leaderboard
from sqlmetrics.cli.paper import display_names
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.spec import parse_spec
from sqlmetrics.stats.leaderboard import best_models, leaderboard

NAN = float("nan")
BETTER = {"ndcg": True, "popularity": False, "coverage": True, "length": None}
HOW = "t-test, Holm-adjusted p >= 0.05"


def values_of(
    cells: Mapping[tuple[Any, ...], float], users: int | None = 10, groups: tuple[str, ...] = ()
) -> pd.DataFrame:
    """A summary: (model, *group, metric, k) -> value."""
    frame = pd.DataFrame([list(key) for key in cells], columns=["model", *groups, "metric", "k"])
    return frame.assign(
        k=frame["k"].astype("Int64"),
        value=np.array(list(cells.values()), dtype="float64"),
        n_users=pd.array([users] * len(cells), dtype="Int64"),
        std=0.1,
        ci_low=0.0,
        ci_high=1.0,
    )


def comparisons_of(
    cells: Mapping[tuple[Any, ...], tuple[float, float]], groups: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Comparisons: (*group, metric, k, model, baseline) -> (difference, adjusted p-value)."""
    names = [*groups, "metric", "k", "model", "baseline"]
    frame = pd.DataFrame([list(key) for key in cells], columns=names)
    differences, p_values = zip(*cells.values(), strict=True)
    # a p_value that says the opposite: it is the adjusted one that counts
    return frame.assign(
        k=frame["k"].astype("Int64"),
        difference=differences,
        p_value=[1 - p for p in p_values],
        p_adjusted=p_values,
    )


def marks_of(frame: pd.DataFrame, label: str) -> dict[str, str]:
    return dict(zip(frame["model"], frame[f"{label} mark"], strict=True))


NONE = pd.DataFrame()
THREE = values_of(
    {
        ("pop", "ndcg", 10): 0.20,
        ("pop", "popularity", 10): 9.5,
        ("als", "ndcg", 10): 0.34,
        ("als", "popularity", 10): 3.25,
        ("bpr", "ndcg", 10): 0.33,
        ("bpr", "popularity", 10): 100.0,
    }
)
TESTED = comparisons_of(
    {
        ("ndcg", 10, "pop", "als"): (-0.14, 0.001),
        ("ndcg", 10, "bpr", "als"): (-0.01, 0.40),
        ("popularity", 10, "pop", "als"): (6.25, 0.70),
        ("popularity", 10, "bpr", "als"): (96.75, 0.002),
    }
)


# ---------------------------------------------------------------- who is best


def test_the_best_by_direction() -> None:
    values = values_of(
        {
            ("b", "ndcg", 10): 0.2,
            ("b", "ndcg", None): 0.5,
            ("b", "popularity", 10): 7.0,
            ("b", "length", 10): 3.0,
            ("b", "coverage", 10): NAN,
            ("a", "ndcg", 10): 0.3,
            ("a", "ndcg", None): 0.4,
            ("a", "popularity", 10): 2.0,
            ("a", "length", 10): 4.0,
            ("a", "coverage", 10): NAN,
            ("never", "ndcg", 10): 0.1,
        }
    )
    assert best_models(values, BETTER) == {
        "b": [("ndcg", None)],
        "a": [("ndcg", 10), ("popularity", 10)],
    }
    assert list(best_models(values, BETTER)) == ["b", "a"]


def test_of_equals_the_first_of_the_table_is_best() -> None:
    cells = {("z", "ndcg", 5): 0.3, ("a", "ndcg", 5): 0.3, ("b", "ndcg", 5): 0.1}
    assert best_models(values_of(cells), BETTER) == {"z": [("ndcg", 5)]}
    # 0.1 + 0.2 is not 0.3 in floating point: the order of a sum makes no winner
    assert 0.1 + 0.2 > 0.3
    for first, second in ((0.1 + 0.2, 0.3), (0.3, 0.1 + 0.2)):
        for metric in ("ndcg", "popularity"):
            values = values_of({("z", metric, 5): first, ("a", metric, 5): second})
            assert best_models(values, BETTER) == {"z": [(metric, 5)]}
            frame = leaderboard(values, NONE, BETTER)
            assert list(frame["model"]) == ["a", "z"]
            assert marks_of(frame, f"{metric}@5") == {"z": "best", "a": "not worse"}


def test_a_missing_value_is_never_best() -> None:
    values = values_of({("a", "popularity", 5): NAN, ("b", "popularity", 5): 3.0})
    assert best_models(values, BETTER) == {"b": [("popularity", 5)]}


def test_metrics_with_parameters() -> None:
    name = "ndcg(gain=exponential)"
    values = values_of({("a", name, 5): 0.1, ("b", name, 5): 0.2})
    assert best_models(values, {"ndcg": True}) == {"b": [(name, 5)]}
    assert best_models(values, {"ndcg": True, name: False}) == {"a": [(name, 5)]}
    assert list(leaderboard(values, NONE, {"ndcg": True}).columns) == [
        "model",
        "n_users",
        f"{name}@5",
        f"{name}@5 mark",
    ]


def test_another_best_in_another_slice() -> None:
    values = values_of(
        {
            ("a", "DE", "ndcg", 5): 0.3,
            ("a", "FR", "ndcg", 5): 0.1,
            ("b", "DE", "ndcg", 5): 0.2,
            ("b", "FR", "ndcg", 5): 0.2,
            ("a", "DE", "coverage", None): 0.3,
            ("a", "FR", "coverage", None): 0.3,
            ("b", "DE", "coverage", None): 0.2,
            ("b", "FR", "coverage", None): 0.2,
        },
        groups=("country",),
    )
    assert best_models(values, BETTER) == {
        "a": [("ndcg", 5), ("coverage", None)],  # once, although best in both countries
        "b": [("ndcg", 5)],
    }


# ---------------------------------------------------------------- the table


def test_leaderboard() -> None:
    frame = leaderboard(THREE, TESTED, BETTER)
    expected = pd.DataFrame(
        {
            "model": ["als", "bpr", "pop"],
            "n_users": pd.array([10, 10, 10], dtype="Int64"),
            "ndcg@10": [0.34, 0.33, 0.20],
            "ndcg@10 mark": ["best", "not worse", ""],
            "popularity@10": [3.25, 100.0, 9.5],
            "popularity@10 mark": ["best", "", "not worse"],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


@pytest.mark.parametrize(
    ("difference", "p_adjusted", "mark"),
    [
        (-0.1, 0.01, ""),
        (-0.1, 0.05, "not worse"),  # alpha itself is not significant
        (-0.1, np.nextafter(0.05, 0), ""),
        (-0.1, 1.0, "not worse"),
        (-0.1, NAN, ""),  # one user: nothing was tested
        (0.1, 0.01, "not worse"),  # significantly better for the users that both have
        (0.1, NAN, ""),
        (0.0, 0.01, ""),
    ],
)
@pytest.mark.parametrize(("metric", "sign"), [("ndcg", 1), ("popularity", -1)])
def test_marks(difference: float, p_adjusted: float, mark: str, metric: str, sign: int) -> None:
    values = values_of({("top", metric, 5): 0.5 * sign, ("other", metric, 5): 0.4 * sign})
    pair = comparisons_of({(metric, 5, "other", "top"): (difference * sign, p_adjusted)})
    frame = leaderboard(values, pair, BETTER)
    assert marks_of(frame, f"{metric}@5") == {"top": "best", "other": mark}


def test_alpha() -> None:
    for alpha, mark in ((0.39, "not worse"), (0.41, "")):
        frame = leaderboard(THREE, TESTED, BETTER, alpha=alpha)
        assert marks_of(frame, "ndcg@10")["bpr"] == mark


def test_an_equal_value_is_not_worse_whatever_the_test_says() -> None:
    values = values_of({("top", "ndcg", 5): 0.5, ("other", "ndcg", 5): 0.5})
    pair = comparisons_of({("ndcg", 5, "other", "top"): (-0.1, 0.001)})
    assert marks_of(leaderboard(values, pair, BETTER), "ndcg@5")["other"] == "not worse"


def test_only_the_comparison_with_the_best_at_this_cutoff_counts() -> None:
    cells = {
        (model, metric, k): value
        for metric, k in [("ndcg", 5), ("ndcg", None), ("coverage", 5)]
        for model, value in [("top", 0.5), ("other", 0.4), ("last", 0.3)]
    }
    pairs = comparisons_of(
        {
            ("ndcg", 5, "last", "other"): (-0.1, 0.9),
            ("ndcg", 5, "top", "other"): (0.1, 0.9),
            ("ndcg", None, "last", "top"): (-0.1, 0.9),
            ("coverage", 5, "other", "top"): (-0.1, 0.9),
        }
    )
    frame = leaderboard(values_of(cells), pairs, BETTER)
    assert marks_of(frame, "ndcg@5") == {"top": "best", "other": "", "last": ""}
    assert marks_of(frame, "ndcg") == {"top": "best", "other": "", "last": "not worse"}
    assert marks_of(frame, "coverage@5") == {"top": "best", "other": "not worse", "last": ""}


def test_one_value_per_run_has_a_best_without_comparisons() -> None:
    cells = {("a", "coverage", 5): 0.5, ("b", "coverage", 5): 0.7, ("c", "coverage", 5): 0.7}
    frame = leaderboard(values_of(cells, users=None), NONE, BETTER)
    assert list(frame["model"]) == ["b", "c", "a"]
    assert marks_of(frame, "coverage@5") == {"b": "best", "c": "not worse", "a": ""}
    assert frame["n_users"].isna().all()


def test_no_marks_without_direction_or_value() -> None:
    values = values_of({("a", "length", 5): 3.0, ("b", "length", 5): 3.0, ("b", "ndcg", 5): NAN})
    frame = leaderboard(values, NONE, BETTER)
    assert set(frame["length@5 mark"]) | set(frame["ndcg@5 mark"]) == {""}
    assert list(frame["ndcg@5"].isna()) == [True, True]
    assert frame["ndcg@5"].dtype == "float64"


def test_number_of_users() -> None:
    values = values_of(
        {
            ("same", "ndcg", 5): 0.4,
            ("same", "popularity", 5): 1.0,
            ("same", "coverage", 5): 1.0,
            ("differs", "ndcg", 5): 0.3,
            ("differs", "popularity", 5): 1.0,
            ("nobody", "ndcg", 5): NAN,
        }
    )
    values["n_users"] = pd.array([7, 7, None, 7, 6, 0], dtype="Int64")
    frame = leaderboard(values, NONE, BETTER)
    assert frame["n_users"].dtype == "Int64"
    assert dict(zip(frame["model"], frame["n_users"].astype(object), strict=True)) == {
        "same": 7,
        "differs": pd.NA,
        "nobody": 0,
    }


# ---------------------------------------------------------------- order of the rows


def test_models_without_value_last_and_ties_by_name() -> None:
    cells = {
        ("void", "ndcg", 5): NAN,
        ("d", "ndcg", 5): 0.1,
        ("c", "ndcg", 5): 0.2,
        ("b", "ndcg", 5): 0.1,
        ("absent", "coverage", 5): 0.9,
    }
    frame = leaderboard(values_of(cells), NONE, BETTER)
    assert list(frame["model"]) == ["c", "b", "d", "absent", "void"]


def test_low_values_first_where_they_are_better() -> None:
    cells = {("a", "popularity", 5): 3.0, ("b", "popularity", 5): 1.0, ("c", "popularity", 5): NAN}
    frame = leaderboard(values_of(cells), NONE, BETTER)
    assert list(frame["model"]) == ["b", "a", "c"]


def test_the_first_metric_with_a_direction_orders() -> None:
    lengths = {("b", "length", 5): 1.0, ("a", "length", 5): 2.0, ("c", "length", 5): 3.0}
    others = {
        ("b", "ndcg", 5): 0.2,
        ("a", "ndcg", 5): 0.1,
        ("c", "ndcg", 5): 0.3,
        ("b", "coverage", 5): 0.1,
        ("a", "coverage", 5): 0.9,
        ("c", "coverage", 5): 0.1,
    }
    frame = leaderboard(values_of({**lengths, **others}), NONE, BETTER)
    assert list(frame["model"]) == ["c", "b", "a"]
    assert list(frame.columns[2::2]) == ["length@5", "ndcg@5", "coverage@5"]
    assert list(leaderboard(values_of(lengths), NONE, BETTER)["model"]) == ["a", "b", "c"]


# ---------------------------------------------------------------- conventions and slices


@pytest.mark.parametrize("missing", [None, NAN, pd.NA])
def test_groups(missing: Any) -> None:
    groups = ("convention", "country")
    values = values_of(
        {
            ("a", "standard", "DE", "ndcg", 5): 0.3,
            ("a", "standard", missing, "ndcg", 5): 0.1,
            ("a", "ranx", "DE", "ndcg", 5): 0.4,
            ("b", "standard", "DE", "ndcg", 5): 0.2,
            ("b", "standard", missing, "ndcg", 5): 0.2,
            ("b", "ranx", "DE", "ndcg", 5): 0.2,
            ("b", "ranx", "FR", "ndcg", 5): 0.2,
        },
        groups=groups,
    )
    values["country"] = pd.Series(["DE", missing, "DE", "DE", missing, "DE", "FR"], dtype="object")
    # the columns of the group may come in another order
    pairs = comparisons_of(
        {
            ("DE", "standard", "ndcg", 5, "b", "a"): (-0.1, 0.01),
            ("DE", "ranx", "ndcg", 5, "b", "a"): (-0.2, 0.5),
            (None, "standard", "ndcg", 5, "a", "b"): (-0.1, 0.6),
            (None, "standard", "ndcg", 5, "b", "a"): (0.1, 0.6),
        },
        groups=groups[::-1],
    )
    frame = leaderboard(values, pairs, BETTER)
    assert list(frame.columns) == ["model", *groups, "n_users", "ndcg@5", "ndcg@5 mark"]
    rows = frame.astype(object).where(frame.notna(), None).drop(columns="n_users")
    assert [tuple(row) for row in rows.itertuples(index=False)] == [
        ("a", "standard", "DE", 0.3, "best"),
        ("b", "standard", "DE", 0.2, ""),
        ("b", "standard", None, 0.2, "best"),
        ("a", "standard", None, 0.1, "not worse"),
        ("a", "ranx", "DE", 0.4, "best"),
        ("b", "ranx", "DE", 0.2, "not worse"),
        ("b", "ranx", "FR", 0.2, "best"),
    ]


def test_slices_keep_their_type_and_order() -> None:
    values = values_of({("a", 10, "ndcg", 5): 0.3, ("a", 9, "ndcg", 5): 0.5}, groups=("age",))
    frame = leaderboard(values, NONE, BETTER)
    assert frame["age"].dtype == values["age"].dtype
    assert list(frame["age"]) == [10, 9]


def test_columns_before_model_are_groups_too() -> None:
    values = values_of({("a", "x", "ndcg", 5): 0.3}, groups=("convention",))
    swapped = values[["convention", "model", *values.columns[2:]]]
    pd.testing.assert_frame_equal(
        leaderboard(swapped, NONE, BETTER), leaderboard(values, NONE, BETTER)
    )


# ---------------------------------------------------------------- what is refused


def test_models_need_names() -> None:
    for values in (THREE.drop(columns="model"), THREE.drop(columns="model").iloc[:0]):
        with pytest.raises(UsageError, match="column model"):
            leaderboard(values, NONE, BETTER)
        with pytest.raises(UsageError, match="column model"):
            best_models(values, BETTER)


def test_every_metric_needs_a_direction_or_none() -> None:
    with pytest.raises(UsageError, match=r"`better` does not list the metric popularity"):
        leaderboard(THREE, TESTED, {"ndcg": True})
    with pytest.raises(UsageError, match="popularity"):
        best_models(THREE, {"ndcg": True})


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 5, NAN])
def test_alpha_is_a_share(alpha: float) -> None:
    with pytest.raises(UsageError, match=r"alpha must be between 0 and 1, not "):
        leaderboard(THREE, TESTED, BETTER, alpha=alpha)


def test_tables_that_are_grouped_differently() -> None:
    with pytest.raises(UsageError, match="by nothing, but the comparisons by country"):
        leaderboard(THREE, TESTED.assign(country="DE")[["country", *TESTED]], BETTER)
    values = THREE.assign(country="DE")[["model", "country", *THREE.columns[1:]]]
    with pytest.raises(UsageError, match="by country, but the comparisons by nothing"):
        leaderboard(values, TESTED, BETTER)


def test_a_row_that_is_there_twice() -> None:
    values = values_of({("a", "DE", "ndcg", 5): 0.3, ("a", "FR", "ndcg", 5): 0.3}, groups=("land",))
    assert len(leaderboard(values, NONE, BETTER)) == 2
    with pytest.raises(DataError, match="a has several values of ndcg@5, land=DE;"):
        leaderboard(values.assign(land="DE"), NONE, BETTER)
    with pytest.raises(DataError, match="pop has several values of ndcg@10;"):
        best_models(pd.concat([THREE, THREE]), BETTER)


@pytest.mark.parametrize("name", ["popularity", "popularity mark", "age"])
def test_a_slice_named_like_a_column_of_the_result(name: str) -> None:
    values = values_of({("a", 3, "popularity", None): 0.3}, groups=(name,))
    if name == "age":
        assert list(leaderboard(values, NONE, BETTER).columns[:2]) == ["model", "age"]
        return
    with pytest.raises(UsageError, match=f"slice column '{name}' .* rename"):
        leaderboard(values, NONE, BETTER)


# ---------------------------------------------------------------- laid out


def test_table() -> None:
    assert render_leaderboard(leaderboard(THREE, TESTED, BETTER), "table", None, HOW) == (
        "┏━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
        "┃ model ┃ n_users ┃  ndcg@10 ┃ popularity@10 ┃\n"
        "┡━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
        "│ als   │      10 │ 0.3400 * │      3.2500 * │\n"
        "│ bpr   │      10 │ 0.3300 = │    100.0000   │\n"
        "│ pop   │      10 │ 0.2000   │      9.5000 = │\n"
        "└───────┴─────────┴──────────┴───────────────┘\n"
        "* best; = not significantly worse than the best (t-test, Holm-adjusted p >= 0.05)\n"
    )


def test_markdown() -> None:
    assert render_leaderboard(leaderboard(THREE, TESTED, BETTER), "markdown", 2, HOW) == (
        "| model | n_users | ndcg@10 | popularity@10 |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| als | 10 | **0.34** | **3.25** |\n"
        "| bpr | 10 | 0.33 = | 100.00 |\n"
        "| pop | 10 | 0.20 | 9.50 = |\n"
        "\n"
        "**bold** best; = not significantly worse than the best (t-test, Holm-adjusted p >= 0.05)\n"
    )


def test_latex() -> None:
    assert render_leaderboard(leaderboard(THREE, TESTED, BETTER), "latex", None, HOW) == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "model & ndcg@10 & popularity@10 \\\\\n"
        "\\midrule\n"
        "als & \\textbf{0.3400} & \\textbf{3.2500} \\\\\n"
        "bpr & \\underline{0.3300}\\rlap{$^{=}$} & 100.0000 \\\\\n"
        "pop & 0.2000 & \\underline{9.5000}\\rlap{$^{=}$} \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "% 10 users\n"
        "% bold best, underlined second best; = not significantly worse than the best "
        "(t-test, Holm-adjusted p >= 0.05)\n"
    )


# every model against bpr
AGAINST = comparisons_of(
    {
        ("ndcg", 10, "pop", "bpr"): (-0.13, 0.001),
        ("ndcg", 10, "als", "bpr"): (0.01, 0.40),
        ("popularity", 10, "pop", "bpr"): (-90.5, 0.002),
        ("popularity", 10, "als", "bpr"): (-96.75, 0.03),
    }
)


def test_against_a_model() -> None:
    frame = leaderboard(THREE, pd.concat([TESTED, AGAINST]), BETTER, against="bpr")
    assert marks_of(frame, "ndcg@10") == {"als": "best", "bpr": "", "pop": "worse"}
    assert marks_of(frame, "popularity@10") == {
        "als": "best, better", "bpr": "", "pop": "better",
    }  # fmt: skip
    how = "t-test, p < 0.05"
    table = render_leaderboard(frame, "table", 2, how, "bpr").splitlines()
    assert table[3:6] == [
        "│ als   │      10 │  0.34 * │       3.25 *† │",
        "│ bpr   │      10 │  0.33   │     100.00    │",
        "│ pop   │      10 │  0.20 ‡ │       9.50 †  │",
    ]
    legend = "† significantly better, ‡ significantly worse than bpr (t-test, p < 0.05)"
    assert table[-1] == f"* best; {legend}"
    assert "| **3.25** † |" in render_leaderboard(frame, "markdown", 2, how, "bpr")
    latex = render_leaderboard(frame, "latex", 2, how, "bpr").splitlines()
    assert latex[5:8] == [
        r"als & \textbf{0.34} & \textbf{3.25}\rlap{$^{\dagger}$} \\",
        r"bpr & \underline{0.33} & 100.00 \\",
        r"pop & 0.20\rlap{$^{\ddagger}$} & \underline{9.50}\rlap{$^{\dagger}$} \\",
    ]
    assert latex[-1] == f"% bold best, underlined second best; {legend}"
    strict = leaderboard(THREE, AGAINST, BETTER, against="bpr", alpha=0.01)
    assert marks_of(strict, "popularity@10")["als"] == "best"


def test_intervals() -> None:
    values = THREE.assign(ci_low=THREE["value"] - 0.25, ci_high=THREE["value"] + 0.25)
    values.loc[values["metric"] == "popularity", ["ci_low", "ci_high"]] = NAN
    frame = leaderboard(values, TESTED, BETTER, intervals=True)
    assert list(frame.columns[2:6]) == [
        "ndcg@10",
        "ndcg@10 mark",
        "ndcg@10 ci_low",
        "ndcg@10 ci_high",
    ]
    assert list(frame["ndcg@10 ci_low"]) == pytest.approx([0.09, 0.08, -0.05])
    table = render_leaderboard(frame, "table", 2, HOW)
    assert "│ als   │      10 │ 0.34 ± 0.25 * │        3.25 * │" in table
    assert table.endswith("0.05); ± half the width of the confidence interval\n")
    assert "als & \\textbf{0.34 $\\pm$ 0.25} & \\textbf{3.25}" in render_leaderboard(
        frame, "latex", 2, HOW
    )
    assert "ndcg@10 ci_high" in render_leaderboard(frame, "csv", 2, HOW)
    # without a direction, no model is marked, but the intervals still need their legend
    frame = leaderboard(values, NONE, dict.fromkeys(BETTER), intervals=True)
    table = render_leaderboard(frame, "table", 2, HOW)
    assert table.endswith("┘\n± half the width of the confidence interval\n")
    latex = render_leaderboard(frame, "latex", 2, HOW)
    assert latex.endswith("% 10 users\n% ± half the width of the confidence interval\n")


def test_the_second_best_of_every_slice() -> None:
    values = values_of(
        {
            ("a", "x", "ndcg", 5): 0.3, ("b", "x", "ndcg", 5): 0.2, ("c", "x", "ndcg", 5): 0.2,
            ("a", "y", "ndcg", 5): 0.1, ("b", "y", "ndcg", 5): NAN, ("c", "y", "ndcg", 5): 0.5,
        },
        groups=("slice",),
    )  # fmt: skip
    lines = render_leaderboard(leaderboard(values, NONE, BETTER), "latex", 1, "").splitlines()
    assert lines[5:11] == [
        r"a & x & \textbf{0.3} \\",
        r"b & x & \underline{0.2} \\",
        r"c & x & \underline{0.2} \\",
        r"c & y & \textbf{0.5} \\",
        r"a & y & \underline{0.1} \\",
        r"b & y &  \\",
    ]


def test_display_names() -> None:
    frame = leaderboard(THREE, TESTED, BETTER)
    names = display_names(Catalog.load(), frame)
    assert names == {
        "model": "Model", "n_users": "Users",
        "ndcg@10": "nDCG@10", "popularity@10": "Popularity@10",
    }  # fmt: skip
    latex = render_leaderboard(frame, "latex", 2, HOW, names=names)
    assert "Model & nDCG@10 & Popularity@10 \\\\\n" in latex
    spec = parse_spec("AP(divisor=k)")
    assert Catalog.load().display_name(spec) == "MAP (divisor=k)"


def test_best_is_bold_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = leaderboard(THREE, TESTED, BETTER)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    text = render_leaderboard(frame, "table", None, HOW)
    assert "\x1b[1m0.3400 *\x1b[0m" in text
    assert "\x1b[1m     3.2500 *\x1b[0m" in text
    assert "\x1b[1m0.3300" not in text


def test_names_are_escaped_and_marks_are_not() -> None:
    values = values_of({("a|b&c%d_e<f>g", "x|y", "ndcg", 5): 0.3}, groups=("[red]land",))
    frame = leaderboard(values, NONE, BETTER)
    table = render_leaderboard(frame, "table", 1, "").splitlines()
    assert table[1] == "┃ model         ┃ [red]land ┃ n_users ┃ ndcg@5 ┃"
    assert table[3] == "│ a|b&c%d_e<f>g │ x|y       │      10 │  0.3 * │"
    markdown = render_leaderboard(frame, "markdown", 1, "").splitlines()
    assert markdown[2] == "| `a\\|b&c%d_e<f>g` | x\\|y | 10 | **0.3** |"
    latex = render_leaderboard(frame, "latex", 1, "").splitlines()
    assert latex[1] == "\\begin{tabular}{llr}"
    assert latex[5] == (
        "a\\textbar{}b\\&c\\%d\\_e\\textless{}f\\textgreater{}g & x\\textbar{}y & "
        "\\textbf{0.3} \\\\"
    )


@pytest.mark.parametrize("kind", ["table", "markdown", "latex"])
def test_the_legend_is_one_line(kind: str) -> None:
    frame = leaderboard(THREE, TESTED, BETTER)
    *_, last = render_leaderboard(frame, kind, None, " t-test\n\\input{x} ").splitlines()
    assert last.endswith(" not significantly worse than the best (t-test \\input{x})")
    assert render_leaderboard(frame, kind, None, "").endswith(" worse than the best\n")


@pytest.mark.parametrize("kind", ["table", "markdown", "latex"])
def test_without_marks_it_is_a_table_like_others(kind: str) -> None:
    lengths = values_of({("b", "length", 5): 9.0, ("a", "length", 5): NAN})
    for values in (lengths, lengths.iloc[:0]):
        frame = leaderboard(values, NONE, BETTER)
        without = frame[[name for name in frame.columns if not name.endswith(" mark")]]
        if kind == "latex" and len(frame):  # then the number of users is a comment
            without = without.drop(columns="n_users")
        text = render_leaderboard(frame, kind, None, HOW)
        assert text.removesuffix("% 10 users\n") == rendered(without, kind, None)


def test_a_metric_without_marks_keeps_no_place_for_them() -> None:
    values = values_of({("a", "ndcg", 5): 0.5, ("a", "length", None): 12345.0})
    text = render_leaderboard(leaderboard(values, NONE, BETTER), "table", 1, HOW).splitlines()
    assert text[1] == "┃ model ┃ n_users ┃ ndcg@5 ┃  length ┃"
    assert text[3] == "│ a     │      10 │  0.5 * │ 12345.0 │"


def test_missing_values_are_empty() -> None:
    values = values_of({("a", "ndcg", 5): 0.5, ("b", "ndcg", 5): NAN})
    frame = leaderboard(values, NONE, BETTER)
    assert "│ b     │      10 │          │" in render_leaderboard(frame, "table", None, HOW)
    assert "| b | 10 |  |\n" in render_leaderboard(frame, "markdown", None, HOW)
    assert "b &  \\\\\n" in render_leaderboard(frame, "latex", None, HOW)


def test_machine_formats_have_the_frame() -> None:
    frame = leaderboard(THREE, TESTED, BETTER)
    assert render_leaderboard(frame, "csv", None, HOW).splitlines() == [
        "model,n_users,ndcg@10,ndcg@10 mark,popularity@10,popularity@10 mark",
        "als,10,0.34,best,3.25,best",
        "bpr,10,0.33,not worse,100.0,",
        "pop,10,0.2,,9.5,not worse",
    ]
    back = pd.read_csv(io.StringIO(render_leaderboard(frame, "csv", 1, HOW)))
    assert list(back["ndcg@10"]) == [0.3, 0.3, 0.2]
    rows = json.loads(render_leaderboard(frame, "json", None, HOW))
    assert rows == [
        json.loads(line) for line in render_leaderboard(frame, "jsonl", None, HOW).splitlines()
    ]
    assert rows[1] == {
        "model": "bpr",
        "n_users": 10,
        "ndcg@10": 0.33,
        "ndcg@10 mark": "not worse",
        "popularity@10": 100.0,
        "popularity@10 mark": "",
    }
