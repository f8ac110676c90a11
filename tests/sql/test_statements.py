"""Printed statements run by hand."""

from __future__ import annotations

import duckdb
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import sqlmetrics as sm
from sqlmetrics.sql.dialects import DIALECTS, PRINTED_AS
from sqlmetrics.sql.layout import laid_out
from tests.support.worlds import CUTOFFS, SOME, of_users


@pytest.mark.parametrize("k", [CUTOFFS, None], ids=["cutoffs", "whole lists"])
def test_printed_sql_run_by_hand_gives_the_numbers(
    world_files: dict[str, str], k: list[int | None] | None
) -> None:
    """tests/by_hand runs the statements of all metrics; test_fusion.py draws further settings."""
    with sm.Evaluator(**world_files, threads=1, check=False) as evaluator:  # random tables
        summary, ours = evaluator.sql(SOME, k=k), evaluator.evaluate(SOME, k=k)
        users = evaluator.sql(of_users(SOME), k=k, per_user=True)
        ours_of_users = evaluator.per_user(of_users(SOME), k=k)
    with duckdb.connect() as shell:
        by_hand = shell.execute(summary).df()
        users_by_hand = shell.execute(users).df()
    for own, theirs in ((ours, by_hand), (ours_of_users, users_by_hand)):
        pd.testing.assert_frame_equal(own, theirs, check_dtype=False, rtol=0, atol=1e-12)


def test_a_long_product_of_sums_is_broken_at_an_operator() -> None:
    difference = "(values_of_rounds.value_of_the_round - weighted_mean_of_values)"
    query = f"SELECT sum({difference} * {difference} * weight) AS squares FROM rounds"
    tree = sqlglot.parse_one(query, dialect="duckdb")
    text = tree.sql("duckdb", pretty=True, normalize_functions="lower")
    assert laid_out(text) == [
        "SELECT",
        "    sum(",
        f"        {difference}",
        f"            * {difference} * weight",
        "    ) AS squares",
        "FROM rounds",
    ]


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        (
            "(highest_value_of_the_list - lowest_value_of_the_list)",
            [
                "    (highest_value_of_the_list - lowest_value_of_the_list)",
                "        / nullif(mean_value_of_the_list - lowest_value_of_the_list, 0) AS share",
            ],
        ),
        (
            "sum(highest_value_of_the_list - lowest_value_of_the_list)",
            [
                "    sum(highest_value_of_the_list - lowest_value_of_the_list)",
                "        / nullif(mean_value_of_the_list - lowest_value_of_the_list, 0) AS share",
            ],
        ),
    ],
)
def test_a_long_quotient_is_broken_outside_of_brackets(expression: str, lines: list[str]) -> None:
    divisor = "nullif(mean_value_of_the_list - lowest_value_of_the_list, 0)"
    tree = sqlglot.parse_one(
        f"SELECT {expression} / {divisor} AS share FROM lists", dialect="duckdb"
    )
    text = tree.sql("duckdb", pretty=True, normalize_functions="lower")
    assert laid_out(text) == ["SELECT", *lines, "FROM lists"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("length", range(0, 40, 3))
def test_names_and_texts_stay_as_they_are(dialect: str, length: int) -> None:
    texts = ["those that are new, - and others", "it's - a (test", "C:\\", "a\nb - c", "/* - */"]
    shown = " || ".join(exp.Literal.string("x" * length + text).sql("duckdb") for text in texts)
    query = f"""SELECT coalesce("user's", "net (price - refund", {shown}) AS "price - `refund`" """
    tree = sqlglot.parse_one(query, dialect="duckdb")
    name = PRINTED_AS.get(dialect, dialect)
    text = tree.sql(name, pretty=True)
    lines = laid_out(text, dialect=dialect)
    assert sqlglot.parse_one("\n".join(lines), dialect=name) == sqlglot.parse_one(
        text, dialect=name
    )


WEIGHED = "sum(CASE WHEN depth_of_an_item <= length_of_the_list THEN agreement - above END)"
BEST = "max(whole_weight + ideal_depth * (agreement_of_the_list - agreement_of_the_ideal_list))"


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        (  # the brackets of a long term open where the term stands
            f"3 * {WEIGHED} / nullif({BEST}, 0) - 1 AS value",
            [
                f"3 * {WEIGHED} / nullif(",
                f"    {BEST}, 0",
                ") - 1 AS value",
            ],
        ),
        (  # a term that is short by itself does not stand on a line of its own
            f"1 - {BEST} / nullif(total_weight, 0) AS value",
            [f"1 - {BEST}", "    / nullif(total_weight, 0) AS value"],
        ),
        (
            f"CASE position WHEN 1 THEN {WEIGHED} ELSE total_weight END AS value",
            ["CASE position", "    WHEN 1", f"    THEN {WEIGHED}", "    ELSE total_weight",
             "END AS value"],
        ),
        (
            f"{BEST} = {BEST} AS best",
            [BEST, f"    = {BEST}", "    AS best"],
        ),
        (  # AND belongs to BETWEEN
            f"sum(number_of_other_items) OVER (PARTITION BY {', '.join(['user_identifier'] * 2)} "
            "ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n AS value",
            [
                "sum(number_of_other_items) OVER (",
                f"    PARTITION BY {', '.join(['user_identifier'] * 2)}",
                "    ORDER BY predicted",
                "    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                ") - n AS value",
            ],
        ),
    ],
)  # fmt: skip
def test_long_expressions_are_laid_out_by_their_structure(
    expression: str, lines: list[str]
) -> None:
    tree = sqlglot.parse_one(f"SELECT {expression} FROM lists", dialect="duckdb")
    text = tree.sql("duckdb", pretty=True, normalize_functions="lower")
    assert laid_out(text) == ["SELECT", *("    " + line for line in lines), "FROM lists"]
    assert sqlglot.parse_one("\n".join(laid_out(text)), dialect="duckdb") == tree


def test_expressions_that_are_too_deep_are_printed_as_they_are() -> None:
    expression = "x"
    for number in range(300):
        expression = f"(some_factor * ({expression} + some_number_{number}) + another_one)"
    printed = ["SELECT", f"  {expression} AS y", "FROM t"]
    assert laid_out("\n".join(printed)) == printed


def test_a_long_sum_is_broken_before_its_terms() -> None:
    lost = "CASE WHEN number_of_items > 0 THEN number_of_items * ln(number_of_items) ELSE 0 END"
    added = "(number_of_items + share) * ln(number_of_items + share)"
    query = f"SELECT {added} - {lost} - share * ln(target_share) AS step FROM groups"
    text = sqlglot.parse_one(query, dialect="duckdb").sql(
        "duckdb", pretty=True, normalize_functions="lower"
    )
    assert laid_out(text) == [
        "SELECT",
        f"    {added}",
        f"        - {lost}",
        "        - share * ln(target_share) AS step",
        "FROM groups",
    ]


@pytest.mark.parametrize(
    ("metrics", "options", "is_said"),
    [
        (["precision"], {}, True),
        (["precision(aggregate=median)"], {}, False),
        (["coverage"], {}, False),
        (["coverage", "precision"], {}, True),
        (["precision"], {"ci": "none"}, False),
    ],
)
def test_statements_explain_intervals_where_there_are_any(
    metrics: list[str], options: dict[str, str], is_said: bool
) -> None:
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "rank": [1, 2]})
    with sm.Evaluator(lists, {1: [2]}, history={1: [3]}) as evaluator:
        assert ("-- the interval is" in evaluator.sql(metrics, k=1, **options)) is is_said


def test_scans_that_are_joined_are_copied(world_files: dict[str, str]) -> None:
    """DuckDB knows the size of a copy; without one, the join of hits took seven times as long."""
    lists, truth = world_files["recommendations"], world_files["interactions"]
    with sm.Evaluator(lists, truth) as evaluator:
        physical = evaluator.sql(["ndcg", "recall"], k=10, physical=True)
    assert "recommendations AS NOT MATERIALIZED (" in physical
    assert "relevant AS (" in physical


def test_rows_beyond_the_largest_cutoff_are_left_out() -> None:
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "rank": [1, 2]})
    with sm.Evaluator(lists, {1: [2]}) as evaluator:
        single, several = (evaluator.sql("precision", k=k) for k in (10, [5, 10]))
        whole = evaluator.sql(["recall@5", "recall"])
    assert "count(*) / 10 AS precision_at_10" in single
    assert "CASE" not in single
    assert "count(CASE WHEN rank <= 5 THEN 1 END) / 5 AS precision_at_5" in several
    assert single.count("rank <= 10") == several.count("rank <= 10") == 1
    assert "WHERE rank" not in whole
