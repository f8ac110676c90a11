"""Gates: parsing, and the rows of a comparison that fail them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.spec import MetricSpec
from sqlmetrics.stats.gates import Gate, check_known, failures, parse_gate
from tests.support.evaluators import Evaluator


def row(**changed: Any) -> dict[str, Any]:
    """Return one row of a comparison, where als lacks 0.0124 of popular's 0.4: 3.1 %."""
    return {
        "metric": "ndcg",
        "k": 10,
        "model": "als",
        "baseline": "popular",
        "value": 0.3876,
        "baseline_value": 0.4,
        "difference": -0.0124,
        "ci_low": -0.02,
        "ci_high": -0.005,
        "relative": -0.031,
        "wins": 40,
        "ties": 0,
        "losses": 60,
        "test": "t",
        "p_value": 0.01,
        "p_adjusted": 0.04,
        "effect_size": -0.2,
        "n_users": 100,
        **changed,
    }


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(list(rows)).astype({"k": "Int64", "n_users": "Int64"})


def said(gate: str, *rows: dict[str, Any]) -> list[str]:
    """Return what fails a gate, without the words that repeat it."""
    found = failures(table(*rows), [parse_gate(gate)])
    assert all(sentence.endswith(f'; gate "{gate}"') for sentence in found)
    return [sentence.removesuffix(f'; gate "{gate}"') for sentence in found]


# ---------------------------------------------------------------- how they are read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10 < -1%", (None, "ndcg", 10, "difference", "<", -0.01, True)),
        ("ndcg<0", (None, "ndcg", None, "difference", "<", 0.0, False)),
        ("  als :  ndcg @ 5  ci_high<=-.5e-1 ", ("als", "ndcg", 5, "ci_high", "<=", -0.05, False)),
        (
            "my als, v2.1: map p_value > 0.05",
            ("my als, v2.1", "map", None, "p_value", ">", 0.05, False),
        ),
        (
            "s3://a<b: c:map@1 relative >=+10 %",
            ("s3://a<b: c", "map", 1, "relative", ">=", 0.1, True),
        ),
        (
            "f_beta(beta=2, no_hits = zero)@10 ci_low < -3.",
            (None, "f_beta(beta=2, no_hits=zero)", 10, "ci_low", "<", -3.0, False),
        ),
        (
            "als: ndcg(gain=a:b) value < 1",
            ("als", "ndcg(gain=a:b)", None, "value", "<", 1.0, False),
        ),
        ("NDCG@10 baseline_value > 1", (None, "ndcg", 10, "baseline_value", ">", 1.0, False)),
        ("ndcg p_adjusted < 0.05", (None, "ndcg", None, "p_adjusted", "<", 0.05, False)),
    ],
)
def test_gates_are_read(text: str, expected: tuple[Any, ...]) -> None:
    gate = parse_gate(text)
    assert gate == Gate(text.strip(), *expected)


def test_metrics_are_spelled_by_the_caller() -> None:
    asked: list[MetricSpec] = []

    def canonical(call: MetricSpec) -> str:
        asked.append(call)
        return "map"

    gate = parse_gate("als: AP(divisor=k)@10 < 0", canonical)
    assert (gate.metric, gate.k) == ("map", 10)
    assert asked == [MetricSpec("ap", (("divisor", "k"),), 10)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "ndcg", "ndcg@10", "ndcg@10 <", "< 1", "ndcg == 1", "ndcg = 1", "ndcg => 1"),
        *("ndcg < x", "ndcg < nan", "ndcg < inf", "ndcg < 1 2", "ndcg < 1%%", "ndcg <> 1"),
        *("ndcg ci_low high < 1", "1 > ndcg", ": ndcg < 1", "ndcg(gain=x < 1", "als:ndcg"),
    ],
)
def test_other_texts_are_refused_with_the_grammar_and_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="cannot parse the gate") as refused:
        parse_gate(text)
    assert repr(text) in str(refused.value)
    assert "[MODEL:] METRIC[@k] [COLUMN] OP NUMBER[%]" in str(refused.value)
    assert "'ndcg@10 < -1%'" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ndcg@10 ci_hi < 0",
            "has an unknown column 'ci_hi'; use one of difference, .*mean 'ci_high'",
        ),
        ("ndcg < -1e400", "can never fail or pass: its number is too large"),
        ("ndcg std < 5", "has an unknown column 'std'; use one of difference"),
        ("als: n_users < 5", "names no metric; n_users is .* e.g. 'als: ndcg@10 n_users < 5'$"),
        ("ndcg < 5 where DE", "cannot parse 'DE'; write where SLICE=VALUE"),
        (
            "ndcg p_value < 5%",
            "gives p_value in percent; .* difference, ci_low, ci_high, mde, relative, mde_relative",
        ),
        ("ndcg value < 5%", "gives value in percent"),
        ("ndcg@0 < 5", "the gate 'ndcg@0 < 5': k must be a positive whole number"),
        ("ndcg(gain) < 5", r"the gate 'ndcg\(gain\) < 5': invalid parameter 'gain'"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_gate(text)


# ---------------------------------------------------------------- what fails


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        (
            "ndcg@10 < -1%",
            "als, ndcg@10: difference -0.0124 (-3.1 % of popular's 0.4) is below -1 %",
        ),
        (
            "ndcg@10 ci_low < -4%",
            "als, ndcg@10: ci_low -0.02 (-5 % of popular's 0.4) is below -4 %",
        ),
        ("ndcg < -0.0123", "als, ndcg@10: difference -0.0124 is below -0.0123"),
        ("als: ndcg ci_high < 0", "als, ndcg@10: ci_high -0.005 is below 0"),
        ("ndcg ci_high <= -0.005", "als, ndcg@10: ci_high -0.005 is at or below -0.005"),
        ("ndcg value > 0.25", "als, ndcg@10: value 0.3876 is above 0.25"),
        ("ndcg value >= 0.3876", "als, ndcg@10: value 0.3876 is at or above 0.3876"),
        ("ndcg relative < -3%", "als, ndcg@10: relative -3.1 % is below -3 %"),
        ("ndcg relative < -0.03", "als, ndcg@10: relative -0.031 is below -0.03"),
        ("ndcg p_adjusted < 0.05", "als, ndcg@10: p_adjusted 0.04 is below 0.05"),
        ("ndcg baseline_value < 0.5", "als, ndcg@10: baseline_value 0.4 is below 0.5"),
        ("ndcg n_users <= 1e6", "als, ndcg@10: n_users 100 is at or below 1000000"),
        # rounded, it would not be beyond what it is beyond
        ("ndcg value < 0.38760001", "als, ndcg@10: value 0.3876 is below 0.38760001"),
        ("ndcg value > 0.38759999", "als, ndcg@10: value 0.3876 is above 0.38759999"),
    ],
)
def test_rows_fail_with_a_sentence(gate: str, sentence: str) -> None:
    assert said(gate, row()) == [sentence]


@pytest.mark.parametrize(
    "gate",
    [
        *("ndcg@10 < -4%", "ndcg < -0.0124", "ndcg > -0.0124", "ndcg ci_high < -0.005"),
        *("ndcg ci_low < -6%", "ndcg value > 0.3876", "ndcg >= -0.01", "ndcg <= -0.02"),
        *("ndcg relative < -3.2%", "ndcg p_value < 0.005"),
    ],
)
def test_rows_pass(gate: str) -> None:
    assert said(gate, row()) == []


def test_numbers_are_rounded_so_that_they_stay_beyond() -> None:
    assert said("ndcg < -0.01", row(difference=-0.01000049)) == [
        "als, ndcg@10: difference -0.0100005 is below -0.01"
    ]
    assert said("ndcg < -3%", row(difference=-0.0120000004)) == [
        "als, ndcg@10: difference -0.012 (-3.0000001 % of popular's 0.4) is below -3 %"
    ]
    assert said("ndcg < -0.01", row(difference=-1 / 3)) == [
        "als, ndcg@10: difference -0.3333 is below -0.01"
    ]


def test_percent_are_of_the_size_of_a_negative_baseline() -> None:
    worse = row(value=-0.5, baseline_value=-0.4, difference=-0.1, relative=0.25)
    assert said("ndcg < -10%", worse) == [
        "als, ndcg@10: difference -0.1 (-25 % of popular's |-0.4|) is below -10 %"
    ]
    assert said("ndcg < -30%", worse) == []
    assert said("ndcg > 10%", worse) == []


def test_of_a_baseline_of_0_every_percentage_is_0() -> None:
    at_0 = {"baseline_value": 0.0, "relative": np.nan}
    assert said("ndcg < -10%", row(difference=-0.1, **at_0)) == [
        "als, ndcg@10: difference -0.1 (popular's 0) is below -10 %"
    ]
    assert said("ndcg < -10%", row(difference=0.0, **at_0)) == []
    assert said("ndcg relative < 0", row(difference=0.1, **at_0)) == [
        "als, ndcg@10: relative is missing, because popular's value is 0"
    ]


def test_a_row_without_the_number_fails() -> None:
    nothing = dict.fromkeys(["value", "baseline_value", "difference", "ci_low", "p_value"], np.nan)
    assert said("ndcg < -1", row(n_users=0, **nothing)) == [
        "als, ndcg@10: difference is missing, because no user has values of both this model and "
        "popular"
    ]
    assert said("ndcg p_value > 2", row(n_users=1, p_value=None)) == [
        "als, ndcg@10: p_value is missing, because there is only one user"
    ]
    assert said("ndcg ci_low < -2", row(ci_low=None)) == [
        "als, ndcg@10: ci_low is missing, over 100 users"
    ]
    assert said("ndcg < -99%", row(baseline_value=None)) == [
        "als, ndcg@10: baseline_value is missing, over 100 users"
    ]


# ---------------------------------------------------------------- which rows

ROWS = [
    row(model=model, metric=metric, k=k)
    for metric, k in [("ndcg", 5), ("ndcg", 10), ("ndcg(gain=exponential)", 10), ("map", None)]
    for model in ("als", "knn")
]


@pytest.mark.parametrize(
    ("gate", "places"),
    [
        ("als: ndcg@10 < 0", ["als, ndcg@10"]),
        ("ndcg@10 < 0", ["als, ndcg@10", "knn, ndcg@10"]),
        ("knn: ndcg < 0", ["knn, ndcg@5", "knn, ndcg@10"]),
        (
            "ndcg(gain=exponential)@10 < 0",
            ["als, ndcg(gain=exponential)@10", "knn, ndcg(gain=exponential)@10"],
        ),
        ("map < 0", ["als, map", "knn, map"]),
    ],
)
def test_a_gate_is_about_what_it_names(gate: str, places: list[str]) -> None:
    assert [sentence.split(":")[0] for sentence in said(gate, *ROWS)] == places


def test_every_segment_and_convention_is_looked_at() -> None:
    rows = [
        {"convention": convention, "country": country, "age": age, **row(difference=difference)}
        for convention, country, age, difference in [
            ("standard", "DE", 20, -0.1),
            ("standard", "AT", 30, 0.1),
            ("trec_eval", None, 20, -0.2),
        ]
    ]
    assert said("ndcg@10 < -0.01", *rows) == [
        "als, ndcg@10, convention=standard, country=DE, age=20: difference -0.1 is below -0.01",
        "als, ndcg@10, convention=trec_eval, country=NULL, age=20: difference -0.2 is below -0.01",
    ]


def test_a_gate_can_be_about_some_slices() -> None:
    rows = [
        {"country": country, "district": city, **row(difference=-0.1)}
        for country, city in [("DE", "Berlin, Mitte"), ("DE", "Bonn"), ("(none)", "Bonn")]
    ]
    assert len(said("ndcg < 0", *rows)) == 3
    assert len(said("ndcg < 0 where country=DE", *rows)) == 2
    (found,) = said("ndcg<0 where country = DE, district=Berlin, Mitte", *rows)
    assert "country=DE, district=Berlin, Mitte: difference" in found
    assert len(said("als: ndcg@10 < -1% where country=(none)", *rows)) == 1
    with pytest.raises(UsageError, match=r"no row: no slice country=AT; there are DE, \(none\)$"):
        said("ndcg < 0 where country=AT", *rows)
    with pytest.raises(UsageError, match=r"slice column 'contry'; slices: country, .*'country'"):
        said("ndcg < 0 where contry=DE", *rows)
    with pytest.raises(UsageError, match=r"slice column 'country'; there are no slices$"):
        said("ndcg < 0 where country=DE", row())


def test_gates_are_looked_at_in_their_order() -> None:
    gates = [parse_gate(text) for text in ("map < 0", "ndcg@5 > 1", "als: ndcg@5 < 0")]
    found = failures(table(*ROWS), gates)
    assert [sentence.split(":")[0] for sentence in found] == ["als, map", "knn, map", "als, ndcg@5"]
    assert failures(table(*ROWS), []) == []


# ---------------------------------------------------------------- gates that could never fail

COMPARED = [("ndcg", 5), ("ndcg", 10), ("map", None)]


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("asl: ndcg < 0", "the model 'asl', which is not compared; compared: als, knn;.*'als'"),
        ("popular: ndcg < 0", "the model 'popular', which is not compared; compared: als, knn"),
        (
            "ncdg@5 < 0",
            "the metric 'ncdg', which is not compared; compared: ndcg, map;.*'ndcg'",
        ),
        ("ndcg(gain=x) < 0", r"the metric 'ndcg\(gain=x\)', which is not compared"),
        ("ndcg@20 < 0", "names ndcg@20; cutoffs compared for ndcg: @5, @10$"),
        ("map@5 < 0", "names map@5; cutoffs compared for map: whole lists$"),
    ],
)
def test_what_is_not_compared_is_refused(gate: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"the gate '.*{message}"):
        check_known([parse_gate(gate)], COMPARED, ["als", "knn"])
    rows = [
        row(metric=metric, k=k, model=model) for metric, k in COMPARED for model in ("als", "knn")
    ]
    with pytest.raises(UsageError, match=f"the gate '.*{message}"):
        said(gate, *rows)


def test_known_gates_pass() -> None:
    texts = ["als: ndcg@5 < 0", "ndcg < 0", "knn: map ci_low < 0"]
    check_known(map(parse_gate, texts), iter(COMPARED), iter(["als", "knn"]), interval="normal")


@pytest.mark.parametrize("column", ["ci_low", "ci_high"])
def test_an_interval_that_is_not_computed_is_refused(column: str) -> None:
    gates = [parse_gate("ndcg < 0"), parse_gate(f"ndcg {column} < 0")]
    with pytest.raises(UsageError, match=f"names {column}, but no confidence interval"):
        check_known(gates, COMPARED, ["als"], interval="none")
    check_known(gates[:1], COMPARED, ["als"], interval="none")


def test_a_gate_about_none_of_the_rows_is_refused() -> None:
    rows = [row(model="als", k=5), row(model="knn", k=10)]
    with pytest.raises(UsageError, match="the gate 'als: ndcg@10 < 0' applies to no row"):
        said("als: ndcg@10 < 0", *rows)
    with pytest.raises(UsageError, match=r"the metric 'ndcg', which is not compared; .*: nothing"):
        failures(table(*rows).iloc[:0], [parse_gate("ndcg < 0")])


def test_gates_can_be_texts() -> None:
    read = [parse_gate("ndcg < 0"), parse_gate("ndcg value < 1")]
    assert failures(table(*ROWS), ["ndcg < 0", "ndcg value < 1"]) == failures(table(*ROWS), read)
    assert failures(table(*ROWS), "ndcg < 0") == failures(table(*ROWS), read[:1])


def test_python_raises_what_the_command_line_ends_with() -> None:
    lists = {
        "good": pd.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 2, 3], "rank": 1}),
        "bad": pd.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 9, 9], "rank": 1}),
    }
    truth = pd.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 2, 3]})
    with Evaluator(lists, truth) as evaluator:
        asked = {"metrics": "hit_rate@1", "baseline": "good"}
        frame = evaluator.compare(**asked, fail_if="hit_rate@1 < -70%")
        with pytest.raises(sm.GateError, match="hit_rate@1: difference") as caught:
            evaluator.compare(**asked, fail_if=["hit_rate@1 < -60%", "hit_rate@1 value > 1"])
        with pytest.raises(UsageError, match="ndcg"):
            evaluator.compare(**asked, fail_if="ndcg@1 < 0")
        assert evaluator.last_record is not None
    pd.testing.assert_frame_equal(caught.value.frame, frame)
    assert len(caught.value.reasons) == 1
    assert "sqlmetrics" in caught.value.frame.attrs


# ---------------------------------------------------------------- gates of one model


def value(**changed: Any) -> dict[str, Any]:
    """Return one row of an evaluation."""
    return {
        "metric": "ndcg",
        "k": 10,
        "value": 0.19,
        "n_users": 943,
        "std": 0.18,
        "ci_low": 0.17,
        "ci_high": 0.21,
        **changed,
    }


COVERAGE = value(metric="coverage", value=0.31, n_users=None, std=None, ci_low=None, ci_high=None)


@pytest.mark.parametrize(
    ("gate", "sentences"),
    [
        ("ndcg@10 < 0.2", ["ndcg@10: value 0.19 is below 0.2"]),
        ("ndcg@10 value >= 0.2", []),
        ("ndcg ci_low < 0.18", ["ndcg@10: ci_low 0.17 is below 0.18"]),
        ("ndcg n_users < 1000", ["ndcg@10: n_users 943 is below 1000"]),
        ("ndcg std > 0.1", ["ndcg@10: std 0.18 is above 0.1"]),
        ("coverage < 0.4", ["coverage@10: value 0.31 is below 0.4"]),
        (
            "coverage n_users < 1",
            [
                "coverage@10: n_users is missing, because coverage has one value for all users "
                "together"
            ],
        ),
    ],
)
def test_gates_of_an_evaluation(gate: str, sentences: list[str]) -> None:
    found = failures(table(value(), COVERAGE), gate)
    assert found == [f'{sentence}; gate "{gate}"' for sentence in sentences]


def test_a_metric_without_users_fails() -> None:
    (found,) = failures(table(value(value=np.nan, n_users=0)), "ndcg < 0.2")
    assert found.startswith("ndcg@10: value is missing, because no user has a value;")


def test_models_and_slices_of_an_evaluation() -> None:
    rows = [
        {"model": model, "convention": "ranx", "country": "DE", **value(value=number)}
        for model, number in [("als", 0.1), ("knn", 0.3)]
    ]
    (found,) = failures(table(*rows), "ndcg < 0.2 where country=DE, convention=ranx")
    assert found.startswith("als, ndcg@10, convention=ranx, country=DE: value 0.1 is below 0.2;")
    assert failures(table(*rows), "knn: ndcg < 0.2") == []


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("ndcg < 20%", "gives value in percent; .* only in comparisons; write 0.2$"),
        ("ndcg difference < 0", "unknown column 'difference'; use one of value, ci_low"),
        ("als: ndcg < 1", "names the model 'als', but the models have no names; remove it"),
        ("recal < 1", "the metric 'recal', which is not computed; computed: ndcg$"),
        ("ndcg@5 < 1", "names ndcg@5; cutoffs computed for ndcg: @10$"),
        ("ndcg", "e.g. 'ndcg@10 < 0.2' .* a gate states when the evaluation fails"),
    ],
)
def test_gates_without_a_meaning_for_an_evaluation(gate: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        failures(table(value()), gate)
