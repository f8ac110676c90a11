"""Input validation of history, items, aspects, baseline and logs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from tests.support.further_tables import (
    ASPECTS,
    ASPECTS_OF_USERS,
    BASELINE,
    BASELINE_SCORES,
    BY_CATEGORY,
    DIVERSITY,
    HISTORY,
    ITEMS,
    LOGS,
    RANKED,
    SCORED,
    TABLES,
    TRUTH,
    VALUES,
    Evaluator,
    changed,
    check_refused,
    close,
    evaluate,
    renamed,
    value,
    without,
)

NAN, INF = math.nan, math.inf
OF_PROVIDERS = "exposure_parity(catalogue=items)"
READERS = ["popularity", "money_precision", BY_CATEGORY, "alpha_ndcg", "unexpectedness", "ips"]
READ = pytest.approx([VALUES[metric] for metric in READERS], abs=1e-12)


# ---------------------------------------------------------------- rules on rows


class Rule(NamedTuple):
    """A table that breaks a rule. The message names `table` and `column`, and says `found`, with
    `row` among its examples and `remedy` as what to do; `elsewhere` is a metric that reads the
    table, but not what is wrong with it.
    """

    name: str
    metric: str
    table: str
    bad: pa.Table
    column: str
    found: str
    row: Mapping[str, Any]
    remedy: str
    elsewhere: str = ""


def _null_ids() -> list[Rule]:
    remove, fix = "remove these rows", "remove or fix these rows"
    some = "NULL user or item"
    rules = [
        Rule("user", "popularity", "history", changed(HISTORY, "user_id", 1, None), "user_id",
             some, {"user_id": "NULL", "item_id": 11}, remove, "coverage"),
        Rule("item", "surprisal", "history", changed(HISTORY, "item_id", 2, None), "item_id",
             some, {"user_id": 2, "item_id": "NULL"}, remove),
        Rule("item, catalogue", "coverage", "history", changed(HISTORY, "item_id", 2, None),
             "item_id", "NULL item", {"item_id": "NULL"}, remove),
        Rule("item, catalogue", "coverage(catalogue=items)", "items",
             changed(ITEMS, "item_id", 3, None), "item_id", "NULL", {"item_id": "NULL"}, "remove"),
        Rule("item", "alpha_ndcg", "aspects", changed(ASPECTS, "item_id", 1, None), "item_id",
             "NULL", {"item_id": "NULL", "aspect": "y"}, fix),
        Rule("aspect", "alpha_ndcg", "aspects", changed(ASPECTS, "aspect", 1, None), "aspect",
             "NULL", {"item_id": 11, "aspect": "NULL"}, fix),
        Rule("user", "alpha_ndcg", "aspects", changed(ASPECTS_OF_USERS, "user_id", 1, None),
             "user_id", "NULL", {"user_id": "NULL", "item_id": 11, "aspect": "y"}, fix),
        Rule("user", "unexpectedness", "baseline", changed(BASELINE, "user_id", 1, None), "user_id",
             some, {"user_id": "NULL", "item_id": 13}, remove),
        Rule("item", "unexpectedness", "baseline", changed(BASELINE, "item_id", 1, None), "item_id",
             some, {"user_id": 1, "item_id": "NULL"}, remove),
        Rule("user", "ctr", "logs", changed(LOGS, "user_id", 1, None), "user_id", some,
             {"user_id": "NULL", "item_id": 11}, remove),
        Rule("item", "ips", "logs", changed(LOGS, "item_id", 1, None), "item_id", some,
             {"user_id": 1, "item_id": "NULL"}, remove),
    ]  # fmt: skip
    for metric in ("money_precision", DIVERSITY, BY_CATEGORY):
        bad = changed(ITEMS, "item_id", 3, None)
        rules.append(
            Rule("item", metric, "items", bad, "item_id", "NULL", {"item_id": "NULL"}, "remove")
        )
    return [rule._replace(name=f"NULL {rule.name}") for rule in rules]


def _items() -> list[Rule]:
    ignore = "settings={'missing_attributes': 'ignore'}"
    rules = [
        Rule("item twice", metric, "items", changed(ITEMS, "item_id", 3, 10), "item_id",
             "more than one row", {"item_id": 10, "n_rows": 2}, "one row per item")
        for metric in ("money_recall", DIVERSITY, BY_CATEGORY)
    ]  # fmt: skip
    rules += [
        Rule(f"price {price}", metric, "items", changed(ITEMS, "price", 1, price), "price",
             "negative, NaN or infinite", {"item_id": 11, "price": price}, ignore, DIVERSITY)
        for metric, price in (("money_precision", -1.0), ("money_precision", NAN),
                              ("money_precision", INF), ("money_recall", NAN))
    ]  # fmt: skip
    own = "ips_recall(propensity=column)"
    rules += [
        Rule(f"propensity {number}", own, "items", changed(ITEMS, "propensity", 1, number),
             "propensity", "NaN, not above 0", {"item_id": 11, "propensity": number}, ignore,
             "ips_recall")
        for number in (0.0, 1.5, NAN)
    ]  # fmt: skip
    rules.append(
        Rule("no propensity", own, "items", changed(ITEMS, "propensity", 2, None), "propensity",
             "1 relevant item has no propensity", {"item_id": 12}, ignore, "ips_recall")
    )  # fmt: skip
    for given in ("awrf(target=given)", "ndkl(target=given)"):
        rules += [
            Rule(f"target {number}", given, "items", changed(ITEMS, "group_target", 1, number),
                 "group_target", "1 target share is negative, NaN or above 1",
                 {"item_id": 11, "group_target": number}, "from 0 to 1", "awrf")
            for number in (-0.25, 1.5, NAN, INF)
        ]  # fmt: skip
        few = changed(changed(ITEMS, "group_target", 1, None), "group_target", 2, None)
        rules += [
            Rule("uneven targets", given, "items", changed(ITEMS, "group_target", 2, 0.5),
                 "group_target", "1 group has items with different target shares",
                 {"item_group": "n", "lowest": 0.25, "highest": 0.5}, "the same target share",
                 "awrf"),
            Rule("sum of targets", given, "items", few, "group_target",
                 "the target shares of the groups sum to 0.75, not to 1",
                 {"item_group": "m", "group_target": 0.75}, "sum to 1", "awrf"),
            Rule("a group without a target", given, "items",
                 changed(changed(few, "group_target", 0, 1.0), "group_target", 3, 1.0),
                 "group_target", "1 group of the catalogue has no target share",
                 {"item_group": "n"}, ignore, "awrf"),
        ]  # fmt: skip
    whole = ITEMS.set_column(1, "price", pa.array([3, 1, 4, 8]))
    exact = ITEMS.set_column(1, "price", pa.array([Decimal("3.00"), None, Decimal(4), None]))
    rules += [
        Rule("whole price", "money_precision", "items", changed(whole, "price", 1, -1), "price",
             "negative", {"item_id": 11, "price": -1}, ignore, BY_CATEGORY),
        Rule("exact price", "money_precision", "items",
             changed(exact, "price", 1, Decimal("-0.01")), "price", "negative",
             {"item_id": 11, "price": "-0.01"}, ignore, BY_CATEGORY),
        Rule("features uneven", DIVERSITY, "items", changed(ITEMS, "features", 1, [0.0]),
             "features", "shorter than the longest one",
             {"item_id": 11, "n_features": 1, "longest": 2}, "the same features in the same order",
             BY_CATEGORY),
    ]  # fmt: skip
    rules += [
        Rule(f"features with {number}", DIVERSITY, "items",
             changed(ITEMS, "features", 1, [0.0, number]), "features",
             "1 value is NULL, NaN or infinite",
             {"item_id": 11, "dimension": 2, "value": "NULL" if number is None else number},
             "fix these vectors", "money_precision")
        for number in (None, NAN, INF)
    ]  # fmt: skip
    fewer = without(ITEMS, 11)
    rules += [
        Rule("no price", "money_precision", "items", changed(ITEMS, "price", 1, None), "price",
             "1 recommended item has no price", {"item_id": 11}, ignore, DIVERSITY),
        Rule("no row", "money_recall", "items", without(ITEMS, 12), "price",
             "1 relevant item has no price", {"item_id": 12}, ignore),
        Rule("no features", DIVERSITY, "items", changed(ITEMS, "features", 1, None), "features",
             "1 recommended item has no features", {"item_id": 11}, ignore, BY_CATEGORY),
        Rule("features are empty", DIVERSITY, "items", changed(ITEMS, "features", 1, []),
             "features", "1 recommended item has no features", {"item_id": 11}, ignore,
             BY_CATEGORY),
        Rule("no row", DIVERSITY, "items", fewer, "features",
             "1 recommended item has no features", {"item_id": 11}, ignore),
        Rule("no category", BY_CATEGORY, "items", changed(ITEMS, "category", 1, None), "category",
             "1 recommended item has no (features or )?category", {"item_id": 11}, ignore,
             DIVERSITY),
        Rule("no categories", BY_CATEGORY, "items", changed(ITEMS, "category", 1, []), "category",
             "1 recommended item has no (features or )?category", {"item_id": 11}, ignore,
             DIVERSITY),
        Rule("no row", BY_CATEGORY, "items", fewer, "category",
             "1 recommended item has no (features or )?category", {"item_id": 11}, ignore),
        Rule("no group", OF_PROVIDERS, "items", changed(ITEMS, "item_group", 1, None),
             "item_group", "1 recommended item has no group", {"item_id": 11}, ignore,
             BY_CATEGORY),
        Rule("no row", OF_PROVIDERS, "items", fewer, "item_group",
             "1 recommended item has no group", {"item_id": 11}, ignore),
        Rule("no aspect", "alpha_ndcg", "aspects", without(ASPECTS, 12), "aspect",
             "1 relevant item has no aspect", {"item_id": 12}, ignore),
        # item 12 is in the table, for another user: without the user, the message seems wrong
        Rule("no aspect for this user", "alpha_ndcg", "aspects",
             changed(ASPECTS_OF_USERS, "user_id", 2, 1), "aspect",
             "1 relevant item has no aspect", {"user_id": 2, "item_id": 12}, ignore),
    ]  # fmt: skip
    return rules


def _baseline() -> list[Rule]:
    rules = [
        Rule("item twice", "unexpectedness", "baseline", changed(BASELINE, "item_id", 1, 10),
             "item_id", "1 item is repeated", {"user_id": 1, "item_id": 10, "n_copies": 2},
             "choose how to handle them (keep, count_once, join"),
        Rule("rank twice", "unexpectedness", "baseline", changed(BASELINE, "rank", 1, 1), "rank",
             "1 rank is repeated in a list", {"user_id": 1, "rank": 1, "n_items": 2},
             "give each item of a list a rank of its own"),
        Rule("gap", "unexpectedness", "baseline", changed(BASELINE, "rank", 1, 3), "rank",
             "1 list has gaps in its ranks", {"user_id": 1, "n_items": 2, "last_rank": 3},
             "settings={'rank_gaps': 'close'}"),
        # the list may start at 0, as a list of recommendations may
        Rule("rank from 0", "unexpectedness", "baseline", changed(BASELINE, "rank", 0, 0), "rank",
             "1 row has a rank", {"user_id": 1, "item_id": 10, "rank": 0}, "rank_gaps"),
    ]  # fmt: skip
    fractions = BASELINE.set_column(2, "rank", pa.array([1.0, 2.0, 1.0]))
    tables = {"rank": BASELINE, "fraction": fractions, "score": BASELINE_SCORES}
    cases = [("rank", -1), ("rank", None), ("fraction", NAN), ("fraction", 1.5),
             ("score", None), ("score", NAN), ("score", INF)]  # fmt: skip
    for kind, number in cases:
        column = "score" if kind == "score" else "rank"
        bad = changed(tables[kind], column, 1, number)
        row = {"user_id": 1, "item_id": 13, column: "NULL" if number is None else number}
        rules.append(
            Rule(f"{column} {number}", "unexpectedness", "baseline", bad, column,
                 f"1 row has a .*{column}", row, "remove or fix these rows")
        )  # fmt: skip
    return rules


def _logs() -> list[Rule]:
    rules = [
        Rule("item twice", metric, "logs", changed(LOGS, "item_id", 1, 10), "item_id",
             "1 item is repeated for a user", {"user_id": 1, "item_id": 10, "n_copies": 2},
             "keep one row per user and item")
        for metric in ("ctr", "ips")
    ]  # fmt: skip
    rules += [
        Rule(f"reward {reward}", metric, "logs", changed(LOGS, "reward", 1, reward), "reward",
             "1 reward is NULL, NaN or infinite",
             {"user_id": 1, "item_id": 11, "reward": "NULL" if reward is None else reward},
             "0 means no click")
        for metric, reward in (("ctr", None), ("ctr", NAN), ("ips", INF))
    ]  # fmt: skip
    rules += [
        Rule(f"propensity {share}", metric, "logs", changed(LOGS, "propensity", 1, share),
             "propensity", "1 propensity is NULL, NaN, not above 0.*or above 1",
             {"user_id": 1, "item_id": 11, "propensity": "NULL" if share is None else share},
             "above 0 and at most 1")
        for metric, share in (("ips", None), ("ips", NAN), ("ips", 0.0), ("ips", -0.25),
                              ("ips(divisor=weights)", 1.5))
    ]  # fmt: skip
    return rules


RULES = [*_null_ids(), *_items(), *_baseline(), *_logs()]


# of the tables that break a rule, the first is evaluated with metrics that do not read the column
FIRST = list({(rule.table, rule.column, rule.found): rule for rule in reversed(RULES)}.values())


@pytest.mark.parametrize(
    "rule", [pytest.param(rule, id=f"{rule.table}: {rule.name}, {rule.metric}") for rule in RULES]
)
def test_what_breaks_a_rule_is_refused(rule: Rule) -> None:
    """By the metrics that read it, and by no other."""
    tables = {"history": HISTORY, rule.table: rule.bad}  # some values need it
    with Evaluator(RANKED, TRUTH, **tables) as evaluator:
        check_refused(
            lambda: evaluator.evaluate(rule.metric),
            rule.table, rule.column, rule.found, rule.row, rule.remedy,
        )  # fmt: skip
        if rule in FIRST:
            others = [metric for metric in (rule.elsewhere, "mrr") if metric]
            found = evaluator.evaluate(others)["value"].tolist()
            wanted = [VALUES.get(metric) for metric in others]
            if None in wanted:
                wanted = evaluate(others, trust_input=True, **tables)["value"].tolist()
            assert found == close(wanted)


@pytest.mark.parametrize(
    "others",
    [{}, {"aspects": ASPECTS_OF_USERS, "baseline": BASELINE_SCORES}],
    ids=["", "with users and scores"],
)
def test_repaired_tables_work(others: Mapping[str, pa.Table]) -> None:
    assert {rule.metric for rule in RULES} <= set(VALUES)
    result = evaluate(list(VALUES), **{**TABLES, **others})
    assert result["value"].tolist() == close(list(VALUES.values()))


def test_every_way_in_is_checked(tmp_path: Path) -> None:
    bad = changed(ITEMS, "price", 1, -1.0)
    with Evaluator(RANKED, TRUTH, items=bad) as evaluator:
        for call in (
            lambda: evaluator.evaluate("money_precision"),
            lambda: evaluator.per_user("money_precision"),
            lambda: evaluator.write_parquet(tmp_path / "a.parquet", "money_precision"),
            lambda: evaluator.stage("item_prices"),
            lambda: evaluator.evaluate("money_recall"),
        ):
            with pytest.raises(sm.DataError, match="items, column price"):
                call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("metric", "table", "bad", "expected"),
    [
        ("popularity", "history", changed(HISTORY, "item_id", 4, None), VALUES["popularity"]),
        ("money_recall", "items", changed(ITEMS, "price", 3, -1.0), 1.0),
        ("unexpectedness@1", "baseline", changed(BASELINE, "rank", 0, -1), 1 / 2),
        ("ips", "logs", changed(LOGS, "propensity", 1, 1.5), VALUES["ips"]),  # its reward is 0
    ],
)
def test_trust_input_skips_the_rules(
    metric: str, table: str, bad: pa.Table, expected: float
) -> None:
    assert value(metric, **{table: bad}, trust_input=True) == close(expected)


# ---------------------------------------------------------------- empty tables, types, columns


@pytest.mark.parametrize(
    ("table", "metric"),
    [
        ("history", "popularity"),
        ("history", "coverage"),
        ("items", "money_precision"),
        ("items", "money_recall(missing_attributes=ignore)"),
        ("items", DIVERSITY),
        ("items", f"{DIVERSITY}(missing_attributes=ignore)"),
        ("items", BY_CATEGORY),
        ("items", "coverage(catalogue=items)"),
        ("aspects", "alpha_ndcg"),
        ("aspects", "alpha_ndcg(missing_attributes=ignore)"),
        ("baseline", "unexpectedness"),
        ("logs", "ctr"),
        ("logs", "ips"),
    ],
)
def test_empty_tables(table: str, metric: str) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate(metric, **{table: TABLES[table].slice(0, 0)})
    for words in (f"{table}: ", "empty", f"{table}=…"):
        assert words in str(caught.value)


@pytest.mark.parametrize("table", [*TABLES, "users"])
@pytest.mark.parametrize("suffix", ["arrow", "parquet", "csv"])
def test_empty_tables_that_are_not_read(table: str, suffix: str, tmp_path: Path) -> None:
    """A table without rows is a failed export in every format."""
    empty: Any = TABLES.get(table, TABLES["history"]).slice(0, 0)
    path = tmp_path / f"empty.{suffix}"
    if suffix == "parquet":
        pq.write_table(empty, path)
    else:
        path.write_text(",".join(empty.column_names))
    empty = empty if suffix == "arrow" else path
    with pytest.raises(sm.DataError, match=rf"^{table}: (the table|.*csv) is empty"):
        evaluate("mrr", **{table: empty})


def as_text(table: pa.Table, column: str) -> pa.Table:
    return table.set_column(
        table.column_names.index(column), column, table[column].cast(pa.string())
    )


IDS = [
    (table, column)
    for table in TABLES
    for column in ("user_id", "item_id")
    if (table, column) != ("items", "user_id")
]


@pytest.mark.parametrize(("table", "column"), IDS)
def test_ids_of_different_types(table: str, column: str) -> None:
    given = {**TABLES, "aspects": ASPECTS_OF_USERS}[table]
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", **{table: as_text(given, column)})
    for words in (f"recommendations and {table}", column, "BIGINT", "VARCHAR", f"CAST({column} AS"):
        assert words in str(caught.value)


def test_ids_written_again_as_the_message_proposes() -> None:
    given = {**TABLES, "aspects": ASPECTS_OF_USERS}
    cast = "CAST({0} AS BIGINT) AS {0}"
    repaired = {}
    connection = duckdb.connect()
    for name, table in given.items():
        columns = [column for other, column in IDS if other == name]
        for column in columns:
            table = as_text(table, column)
        casts = ", ".join(map(cast.format, columns))
        repaired[name] = connection.from_arrow(table).project(f"* REPLACE ({casts})")
    assert evaluate(READERS, **repaired)["value"].tolist() == READ


def test_ids_of_two_further_tables_are_compared_too() -> None:
    other = HISTORY.set_column(1, "item_id", HISTORY["item_id"].cast(pa.string()))
    with pytest.raises(sm.DataError, match=r"history and items.*item_id"):
        evaluate("coverage", None, None, history=other, items=ITEMS)


REQUIRED = [*(pair for pair in IDS if pair != ("aspects", "user_id")),
            ("aspects", "aspect"), ("logs", "reward")]  # fmt: skip


@pytest.mark.parametrize(("table", "column"), REQUIRED)
def test_columns_that_a_table_cannot_do_without(table: str, column: str) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", **{table: renamed(TABLES[table], column)})
    for words in (f"{table}: ", f"'{column}'", f"{{'{table}.{column}': 'the_{column}'}}"):
        assert words in str(caught.value)


def test_columns_named_as_the_message_proposes() -> None:
    names = {(name, column) for name, table in TABLES.items() for column in table.column_names}
    given = {name: renamed(table, *table.column_names) for name, table in TABLES.items()}
    columns = {f"{table}.{column}": f"the_{column}" for table, column in names}
    assert evaluate(READERS, **given, columns=columns)["value"].tolist() == READ


@pytest.mark.parametrize(
    ("table", "column"),
    [("items", "price"), ("baseline", "rank"), ("logs", "reward"), ("logs", "propensity")],
)
def test_numbers_in_text(table: str, column: str) -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("mrr", **{table: as_text(TABLES[table], column)})
    for words in (f"{table}, column {column}: ", "VARCHAR", "not a number", "columns="):
        assert words in str(caught.value)


def test_a_baseline_without_an_order() -> None:
    rows = BASELINE.drop_columns("rank")
    with pytest.raises(sm.DataError) as caught:
        evaluate("unexpectedness@1", baseline=rows)
    for words in ("baseline: ", "rank", "score", "columns={'baseline.rank': …}"):
        assert words in str(caught.value)
    # the order of rows, if the user says so: 10 and 11 are first
    found = value("unexpectedness@1", baseline=rows, settings={"order": "row"})
    assert found == VALUES["unexpectedness@1"]


def test_a_score_that_orders_nothing_may_be_anything() -> None:
    """As in the recommendations: ranks give the order, so scores are not read."""
    both = BASELINE.append_column("score", pa.array([NAN, None, INF]))
    assert value("unexpectedness@1", baseline=both) == VALUES["unexpectedness@1"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        # the baseline is 10 10 13: its first two items are 10 and 13, or 10 alone
        ("keep", 1 - 1 / 2),
        ("dedup_then_cut", 1 - 2 / 2),
        ("cut_then_dedup", 1 - 1 / 2),
    ],
)
def test_the_settings_that_the_message_on_repeats_names(setting: str, expected: float) -> None:
    baseline = pa.table({"user_id": [1, 1, 1], "item_id": [10, 10, 13], "rank": [1, 2, 3]})
    options = {"baseline": baseline, "settings": {"duplicate_recommendations": setting}}
    assert value("unexpectedness@2", recommendations={1: [10, 13]}, **options) == expected


@pytest.mark.parametrize("ranks", [[0, 1, 0], [1, 3, 2], [5, 9, 1]], ids=str)
def test_the_setting_that_the_message_on_gaps_names(ranks: list[int]) -> None:
    baseline = BASELINE.set_column(2, "rank", pa.array(ranks))
    options = {"baseline": baseline, "settings": {"rank_gaps": "close"}}
    assert value("unexpectedness@1", **options) == VALUES["unexpectedness@1"]


@pytest.mark.parametrize("score", [None, NAN, INF], ids=str)
def test_scores_that_predict_no_reward(score: float | None) -> None:
    """Ranks give the order of the lists, and the score is what doubly_robust expects."""
    with Evaluator(changed(SCORED, "score", 1, score), TRUTH, logs=LOGS) as evaluator:
        check_refused(
            lambda: evaluator.evaluate("doubly_robust"), "recommendations", "score", "1 score",
            {"user_id": 1, "item_id": 11, "score": "NULL" if score is None else score},
            "remove or fix these rows",
        )  # fmt: skip
        assert evaluator.evaluate("ips")["value"].item() == close(VALUES["ips"])


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.decimal128(9, 2)], ids=str)
def test_numbers_of_other_types(kind: pa.DataType) -> None:
    def cast(table: pa.Table, column: str) -> pa.Table:
        numbers = [Decimal(int(number)) for number in table[column].to_pylist()]
        values = numbers if pa.types.is_decimal(kind) else map(int, numbers)
        position = table.column_names.index(column)
        return table.set_column(position, column, pa.array(list(values), kind))

    logs = cast(LOGS.set_column(3, "propensity", pa.array([1.0] * 3)), "propensity")
    tables = {"items": cast(ITEMS, "price"), "logs": cast(logs, "reward")}
    metrics = ["money_precision", "unexpectedness@1", "ips"]
    expected = close([VALUES["money_precision"], VALUES["unexpectedness@1"], (1 + 0 + 1) / 4])
    assert (
        evaluate(metrics, **tables, baseline=cast(BASELINE, "rank"))["value"].tolist() == expected
    )
    scores = cast(BASELINE_SCORES, "score")
    assert value("unexpectedness@1", baseline=scores) == VALUES["unexpectedness@1"]


def test_rewards_that_are_true_or_false() -> None:
    logs = LOGS.set_column(2, "reward", pa.array([True, False, True]))
    assert value("ctr", logs=logs) == pytest.approx(2 / 3, abs=1e-15)


@pytest.mark.parametrize(
    "metric", ["exposure_utility", "gain_utility", "equal_opportunity", "expected_exposure"]
)
def test_relevant_items_without_a_group(metric: str) -> None:
    truth = pa.table({"user_id": [1, 2, 2], "item_id": [10, 12, 13]})  # 13 is in no list
    tables = {"interactions": truth, "history": HISTORY, "items": without(ITEMS, 13)}
    check_refused(
        lambda: evaluate(metric, **tables), "items", "item_group",
        "1 relevant item has no group", {"item_id": 13},
        "settings={'missing_attributes': 'ignore'}",
    )  # fmt: skip
    assert len(evaluate(f"{metric}(groups=popularity)", **tables)) == 1
    assert len(evaluate(metric, **tables, settings={"missing_attributes": "ignore"})) == 1
