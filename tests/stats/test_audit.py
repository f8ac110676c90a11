"""Labels that people correct for some users, against ppi-python and its formula by hand.

Lists have one item, whose value is its relevance: `dcg(gain=linear)@1`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats

import sqlmetrics as sm
from sqlmetrics.errors import DataError, GateError, SqlmetricsWarning, UsageError
from sqlmetrics.stats.decisions import ATTRIBUTE
from tests.support.command_line import run
from tests.support.evaluators import Evaluator

# values, and the other columns, of ppi-python 0.2.3: see make_ppi.py
PPI = json.loads(Path(__file__).with_name("ppi.json").read_text(encoding="utf-8"))
METRIC = "dcg(gain=linear)@1"
EVERYBODY = {"audience": "judged"}
Numbers = Sequence[float]
pytestmark = pytest.mark.filterwarnings("ignore:audit.*fewer than 10 audited users")


def rows(values: Numbers, item: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"user_id": range(len(values)), "item_id": item, "relevance": values})


def lists(n: int, item: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"user_id": range(n), "item_id": item, "rank": 1})


def evaluator(labels: Numbers, people: Numbers, **options: Any) -> sm.Evaluator:
    """Return an evaluator of users with these values, the first of whom are audited."""
    given: dict[str, Any] = {"settings": EVERYBODY, **options}
    return Evaluator(lists(len(labels)), rows(labels), audit=rows(people), **given)


def weight_of(labels: Numbers, people: Numbers) -> float:
    """Return λ in plain Python."""
    n, others = len(people), len(labels) - len(people)
    f, y = labels[:n], people
    covariance = sum((a - sum(y) / n) * (b - sum(f) / n) for a, b in zip(y, f, strict=True)) / n
    variance = float(np.var(labels, ddof=1))
    return min(1.0, max(0.0, covariance / ((1 + n / others) * variance)))


@pytest.mark.parametrize("name", PPI)
def test_values_of_ppi_python(name: str) -> None:
    case = PPI[name]
    labels, people = case["labels"], case["people"]
    shift = max(0, -min(*labels, *people))  # gains are not negative
    labels, people = ([x + shift for x in some] for some in (labels, people))
    with evaluator(labels, people) as given:
        (row,) = given.evaluate(METRIC).to_dict("records")
        with duckdb.connect() as connection:
            for table, frame in (
                ("recommendations", lists(len(labels))),
                ("interactions", rows(labels)),
                ("audit", rows(people)),
            ):
                connection.register(f"sqlmetrics_{table}", frame)
            (printed,) = connection.execute(given.sql(METRIC)).df().to_dict("records")
    for found in (row, printed):
        for column in ("value", "ci_low", "ci_high"):
            assert found[column] == pytest.approx(case[column] + shift, rel=1e-12), column
        assert (found["n_users"], found["n_audited"]) == (len(labels), len(people))
        assert found["label_weight"] == pytest.approx(weight_of(labels, people), abs=1e-12)
        assert found["std"] == pytest.approx(np.std(people, ddof=1), rel=1e-12)
        assert found["labels_alone"] == pytest.approx(np.mean(labels), rel=1e-12)
        assert found["people_alone"] == pytest.approx(np.mean(people), rel=1e-12)


def test_cases_of_ppi_python_have_all_kinds_of_weights() -> None:
    weights = {name: weight_of(case["labels"], case["people"]) for name, case in PPI.items()}
    assert weights["opposite"] == 0
    assert weights["weak"] == 1
    assert 0 < weights["few"] < 1


# labels and people, value, standard error: worked by hand
WORKED: dict[str, tuple[Numbers, Numbers, float, float]] = {
    # f 1 0 | 1 0: cov 1/4 · 2 = 1/4 with y 1 0, var 1/3: λ = (1/4) / (2 · 1/3) = 3/8; both means
    # of f are 1/2; se² = 9/64 · (1/4) / 2 + (25/64 · 1/4) / 2 = 34/512
    "as people": ([1, 0, 1, 0], [1, 0], 1 / 2, math.sqrt(34 / 512)),
    # λ = (1/4) / (2 · 1/4) = 1/2; value 1/2 + 1/2 · (1 - 1/2); se² = 0 + (1/4 · 1/4) / 2
    "others better": ([1, 0, 1, 1], [1, 0], 3 / 4, math.sqrt(1 / 32)),
    "labels do not vary": ([1, 1, 1, 1], [1, 0], 1 / 2, math.sqrt(1 / 8)),
    "all audited": ([1, 1, 0], [1, 0, 0], 1 / 3, math.sqrt(2 / 27)),
    "people do not vary": ([1, 0, 1, 1], [1, 1], 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_values_worked_by_hand(name: str) -> None:
    labels, people, value, error = WORKED[name]
    with evaluator(labels, people) as given:
        (row,) = given.evaluate(METRIC, confidence=0.9).to_dict("records")
    assert row["value"] == pytest.approx(value, abs=1e-12)
    half = scipy.stats.norm.ppf(0.95) * error
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([value - half, value + half], abs=1e-12)


def test_one_audited_user_has_no_interval() -> None:
    with evaluator([1, 0, 0.5], [1]) as given:
        (row,) = given.evaluate(METRIC).to_dict("records")
    assert math.isnan(row["ci_low"])
    assert math.isnan(row["ci_high"])
    assert row["value"] == 1  # one user has no covariance: the labels have no weight


def test_a_comparison_corrects_the_differences() -> None:
    """The values of both models have the weight of the difference, which is theirs."""
    draw = np.random.default_rng(3)
    of_a, of_b = draw.integers(0, 9, (2, 40)) / 8
    by_a, by_b = (np.clip(x[:12] + draw.integers(-1, 2, 12) / 8, 0, 1) for x in (of_a, of_b))
    models = {"a": lists(40, 1), "b": lists(40, 2)}
    labels, people = (
        pd.concat([rows(first, 1), rows(second, 2)])
        for first, second in ((of_a, of_b), (by_a, by_b))
    )
    with Evaluator(models, labels, audit=people, settings=EVERYBODY) as given:
        compared = given.compare(METRIC, baseline="b", power=0.8)
        (row,) = compared.to_dict("records")
    f, y = of_a - of_b, by_a - by_b
    weight = weight_of(list(f), list(y))
    assert 0 < weight < 1
    for column, some, others in (
        ("difference", y, f), ("value", by_a, of_a), ("baseline_value", by_b, of_b)
    ):  # fmt: skip
        value = some.mean() + weight * (others[12:].mean() - others[:12].mean())
        assert row[column] == pytest.approx(value, rel=1e-12), column
    error = math.sqrt(weight**2 * f[12:].var() / 28 + (y - weight * f[:12]).var() / 12)
    low, high = scipy.stats.norm.interval(0.95, row["difference"], error)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([low, high], rel=1e-9)
    p_value = 2 * scipy.stats.norm.sf(abs(row["difference"] / error))
    assert row["p_value"] == pytest.approx(p_value, rel=1e-9)
    # the other tail adds nothing that counts
    quantiles = scipy.stats.norm.ppf([0.975, 0.8])
    assert row["mde"] == pytest.approx(quantiles.sum() * error, rel=1e-5)
    assert row["test"] == "z"
    assert row["n_audited"] == 12
    assert row["labels_alone"] == pytest.approx(f.mean(), rel=1e-12)
    assert row["people_alone"] == pytest.approx(y.mean(), rel=1e-12)
    assert math.isnan(row["effect_size"])
    (sentence,) = compared.attrs[ATTRIBUTE]
    assert "a is not significantly different from b" in sentence
    assert "; with these 12 audited users, only differences above" in sentence


def test_equal_lists_do_not_differ() -> None:
    """Their difference has the standard error 0; a warning would be an error here."""
    tables = {"a": lists(40), "b": lists(40)}, rows([1.0, 0] * 20)
    with Evaluator(*tables, audit=rows([1.0, 0] * 6), settings=EVERYBODY) as given:
        (row,) = given.compare(METRIC, baseline="b", power=0.8).to_dict("records")
    assert [row["difference"], row["p_value"]] == [0, 1]


def test_slices_and_metrics_with_other_columns() -> None:
    """A slice has its own users and weight; equal columns of labels may differ by people."""
    labels, people = [1.0, 0, 1, 0, 1, 1], [2.0, 0, 1]
    users = pd.DataFrame({"user_id": range(6), "half": ["a", "a", "b", "b", "a", "b"]})
    metrics = ["dcg@1", METRIC, "surprisal@1"]
    history = pd.DataFrame({"user_id": [7, 8], "item_id": [1, 2]})
    with evaluator(labels, people, users=users, history=history) as given:
        by = given.evaluate(metrics, by="half").set_index(["half", "metric"])
        whole = given.evaluate(metrics).set_index("metric")
    assert by["n_audited"].tolist() == [2, 2, 2, 1, 1, 1]
    assert whole.loc["dcg(gain=linear)", "people_alone"] == 1
    assert whole.loc["dcg", "people_alone"] == pytest.approx(2 / 3)
    assert whole.loc["surprisal", "value"] == whole.loc["surprisal", "labels_alone"] == 1
    with evaluator([1, 0, 1], [2, 0]) as alone:
        (row,) = alone.evaluate(METRIC).to_dict("records")
    for column in ("value", "ci_low", "ci_high", "label_weight"):
        assert by.loc[("a", "dcg(gain=linear)"), column] == pytest.approx(row[column]), column


def test_users_with_an_empty_list_count() -> None:
    """Users 2 and 3 have no item; people agree with the labels, so that the mean is 3 / 6."""
    items = [[1], [1], [], [], [1], [1]]
    empty = pd.DataFrame({"user_id": range(6), "item_id": items})
    with Evaluator(
        empty, rows([1.0, 1, 1, 0, 1, 0]), audit=rows([1.0, 1, 1, 0]), settings=EVERYBODY
    ) as given:
        (row,) = given.evaluate("precision@1").to_dict("records")
    assert [row["n_users"], row["n_audited"]] == [6, 4]
    assert [row["labels_alone"], row["people_alone"]] == [0.5, 0.5]


def test_few_audited_users_are_warned_of() -> None:
    with (
        evaluator([1.0] * 20, [1.0, 0] * 4 + [1]) as given,
        pytest.warns(SqlmetricsWarning, match="1 of 1 rows has fewer than 10 audited users.* 9;"),
    ):
        given.evaluate(METRIC)


# ---------------------------------------------------------------- refusals

PAIRS = pd.DataFrame(
    {"user_id": [0, 0, 1, 1, 2, 2], "item_id": [1, 2] * 3, "relevance": [1, 0, 1, 0, 1, 1]}
)
PAIR_LISTS = PAIRS.drop(columns="relevance").assign(rank=[1, 2] * 3)
UNJUDGED = PAIRS[:3]  # item 2 of user 1 is not judged
BAD: dict[str, tuple[Any, str, list[str]]] = {
    "an unjudged item": (UNJUDGED, "ndcg@2", ["audit: 1 item", "1        2        2", "judge"]),
    "an unjudged item of a whole list": (UNJUDGED, "map", ["audit: 1 item"]),
    "no relevant item by people": (
        PAIRS[:4].assign(relevance=[1, 0, 0, 0]), "ndcg@2",
        ["audit: 1 list", "ndcg@2 by interactions only", "'audience': 'judged'"],
    ),
    "no relevant item by labels": (
        PAIRS.assign(user_id=PAIRS["user_id"] + 1), "ndcg@1", ["ndcg@1 by audit only"],
    ),
    "a repeated row": (
        pd.concat([PAIRS, PAIRS[:1]]), "ndcg@1", ["1 of 7 rows repeats", "This applies to audit"],
    ),
    "no common user": (
        PAIRS[:2].assign(user_id=9), "ndcg@1", ["no user in common", "This applies to audit"],
    ),
    "no relevance of a row": (
        PAIRS.assign(relevance=[1, None, 0, 0, 0, 1]), "ndcg@1", ["This applies to audit"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_audits_that_are_refused(name: str) -> None:
    audit, metric, words = BAD[name]
    with Evaluator(PAIR_LISTS, PAIRS, audit=audit) as given, pytest.raises(DataError) as caught:
        given.evaluate(metric)
    assert [word for word in words if word not in str(caught.value)] == []


def test_an_audit_without_a_common_item_offers_no_trust() -> None:
    """`trust_input` would also skip the checks that pair the labels of both kinds."""
    labels, others = rows([1.0] * 20), rows([1.0] * 12, item=9)
    for truth, given in ((labels, others), (others, labels[:12]), (others, None)):
        evaluator = Evaluator(lists(20), truth, **({} if given is None else {"audit": given}))
        with evaluator, pytest.raises(DataError, match="none of the recommended") as caught:
            evaluator.evaluate("ndcg@1")
        assert ("trust_input" in str(caught.value)) == (given is None)


@pytest.mark.parametrize(
    ("audit", "metric", "settings"),
    [
        (UNJUDGED, "ndcg@1", {}),  # judged as far as the cutoff
        (UNJUDGED, "ndcg@2", {"unjudged": "drop"}),
        (UNJUDGED[["user_id", "item_id"]][:1], "ndcg@2", {}),  # relevant items only
        (PAIRS[:4].assign(relevance=[1, 0, 0, 0]), "ndcg@2", EVERYBODY),
    ],
)
def test_audits_that_are_not_refused(audit: Any, metric: str, settings: dict[str, str]) -> None:
    with Evaluator(PAIR_LISTS, PAIRS, audit=audit, settings=settings) as given:
        found = given.evaluate(metric)
    assert found["n_audited"].tolist() == [audit["user_id"].nunique()]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.per_user("ndcg"), "and no others; remove it"),
        (lambda e: e.leaderboard("ndcg"), "and no others; remove it"),
        (lambda e: e.check(), "and no others; remove it"),
        (lambda e: e.sql("ndcg", per_user=True), "combined with per_user"),
        (lambda e: e.evaluate("ndcg", by_item="popularity"), "combined with by_item"),
        (lambda e: e.evaluate("ndcg", by="activity", gap="mad"), "combined with gap"),
        (lambda e: e.evaluate("ndcg", cluster="user_id"), "combined with cluster"),
        (lambda e: e.evaluate("ndcg", ci="bootstrap"), "combined with ci='bootstrap'"),
        (lambda e: e.evaluate("coverage@5"), "not coverage@5"),
        (lambda e: e.evaluate("ndcg(aggregate=sum)"), "not ndcg(aggregate=sum)"),
        (lambda e: e.compare("ndcg", baseline="a", test="wilcoxon"), "test='wilcoxon'"),
        (lambda e: e.compare("ndcg", baseline="a", detect=0.1), "combined with detect"),
    ],
)
def test_requests_that_are_refused(call: Any, words: str) -> None:
    models = {"a": PAIR_LISTS, "b": PAIR_LISTS}
    with Evaluator(models, PAIRS, audit=PAIRS) as given, pytest.raises(UsageError) as caught:
        call(given)
    assert "audit" in str(caught.value)
    assert words in str(caught.value)


def test_an_audit_without_a_column_that_a_metric_reads_is_refused() -> None:
    people = PAIRS.drop(columns="relevance")
    with (
        Evaluator(PAIR_LISTS, PAIRS, audit=people) as given,
        pytest.raises(UsageError, match="metric err needs the column relevance") as caught,
    ):
        given.evaluate("err@1")
    assert "This applies to audit, which is read as interactions." in str(caught.value)
    with (
        Evaluator(PAIR_LISTS, PAIRS, audit=people, settings=EVERYBODY) as given,
        pytest.raises(UsageError, match="no user for whom people found nothing"),
    ):
        given.evaluate("ndcg@1")


def test_several_runs_are_refused() -> None:
    runs = {"a": {"1": PAIR_LISTS, "2": PAIR_LISTS}}
    with (
        Evaluator(runs, PAIRS, audit=PAIRS) as given,
        pytest.raises(UsageError, match="audit cannot correct the values of several runs"),
    ):
        given.evaluate("ndcg")


# ---------------------------------------------------------------- the command line


def test_the_command_line(tmp_path: Path) -> None:
    case = PPI["few"]
    for name, frame in (
        ("lists", lists(12)), ("labels", rows(case["labels"])), ("people", rows(case["people"]))
    ):  # fmt: skip
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    tables = ["-r", f"{tmp_path}/lists.csv", "-i", f"{tmp_path}/labels.csv", "--no-check"]
    arguments = [METRIC, *tables, "--audit", f"{tmp_path}/people.csv", "--set",
                 "audience=judged"]  # fmt: skip
    result = run("evaluate", *arguments, "--format", "json")
    (row,) = json.loads(result.stdout)
    assert row["value"] == pytest.approx(case["value"], rel=1e-12)
    note = f"labels alone {np.mean(case['labels']):.3f}, people alone {np.mean(case['people']):.3f}"
    assert note in result.stderr
    models = ["-r", f"other={tmp_path}/lists.csv", "--baseline", "other", "--format", "table"]
    compared = [f"a={part}" if part.endswith("/lists.csv") else part for part in arguments]
    assert "(paired z-test, Holm-adjusted p" in run("compare", *compared, *models).stdout
    record = tmp_path / "record.json"
    run("evaluate", *arguments, "--record", record)
    again = run("evaluate", "--from-record", record, "--trust-record", "--format", "json")
    (repeated,) = json.loads(again.stdout)
    assert repeated == pytest.approx(row)


def test_gates_of_audited_users() -> None:
    with evaluator([1.0, 0, 1], [1.0, 0]) as given, pytest.raises(GateError):
        given.evaluate("dcg@1", fail_if="dcg@1 n_audited < 3")
    with (
        Evaluator(lists(3), rows([1.0, 0, 1])) as plain,
        pytest.raises(UsageError, match="n_audited, which is not computed"),
    ):
        plain.evaluate("dcg@1", fail_if="dcg@1 n_audited < 3")
