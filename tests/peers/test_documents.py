"""The five documents: every example that they print, with their inputs, through the Python API.

000 the metrics page of RePlay 0.9, 001 the metrics page of Jurity 2, 002 the metrics page of
rs_metrics 0.2, 003 the notebook of a course, 004 a tutorial in a blog. documents.md beside this
file lists what they describe and where it is tested.

An example is computed under the convention of its document. Where the number of a document rests
on a fault or on a choice of its own, the value of `standard` stands beside it. Expected numbers are
the printed ones, or worked by hand as closed forms; besides the pages there are numbers that were
obtained by running those systems (or from their formula) on other inputs.

Numbers that are not reproduced, because a bug of the system made them:
    Jurity: IPS and DR are NaN with pandas 3 as soon as a recommended row is not in the logs, and
        MAP raises TypeError. A click that is NaN counts as a click (here a DataError). nDCG raises
        on repeated items, the other metrics multiply rows. An item without features is an
        IndexError. The support of intra-list diversity is 0.2 for two users.
    rs_metrics: precision, MAP and MAR are NaN for everybody if one user has no recommendations.
        alpha-nDCG: 0.1934 where a miss shares the aspect of a later hit, 0.818 for the ideal list
        of two aspects with two items each, 2.0 for an item with two aspects, NaN for an empty list
        (below: 0.3869, 1, 1 and 0).
    Course: money_recall_at_k raises ValueError unless k equals the number of bought items, and
        gives 0.148148148 for k = 4; nDCG raises IndexError for lists shorter than k; MAP ignores
        its k. Its text has another discount than its code; see the metric of one's own below.
    Tutorial: F1 without a hit is a ZeroDivisionError, AP without a hit NaN (below: 0), nDCG without
        k a TypeError, nDCG of scores that are all 0 is 0/0; AP of the list 2, 2, 1 is .75, since
        its precision counts a repeated item once and AP twice (here repeated items are refused).
    RePlay: half width 0.2921741888997 on Spark (single precision; below 0.2921741801922), and 0
        for one user (below: missing).
Numbers of metrics that do not exist here: tau-c 0.96, alpha-DCG 0.2398, novelty, serendipity,
diversity by Hamming distance.
"""

from __future__ import annotations

import functools
import itertools
import math
import pickle
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.notation import number

D2 = 1 / math.log2(3)  # discount of rank 2; of rank 1 it is 1, of rank 3 it is 1/2
D4, D5 = 1 / math.log2(5), 1 / math.log2(6)
SQRT2 = math.sqrt(2)

# ---------------------------------------------------------------- one call, one number


@functools.lru_cache(maxsize=4)
def opened(arguments: bytes) -> sm.Evaluator:
    """Open an evaluator; calls about the same tables, one after another, share it."""
    return Evaluator(**pickle.loads(arguments))


def value(call: str, k: int | None = None, **evaluator: Any) -> float | None:
    """Evaluate one metric at one cutoff (without k: whole lists); None where it is undefined."""
    frame = opened(pickle.dumps(evaluator)).evaluate([call], k=k)
    assert len(frame) == 1
    result = frame["value"].iloc[0]
    return None if pd.isna(result) else float(result)


def values(calls: Iterable[str], k: int | None = None, **evaluator: Any) -> dict[str, float]:
    """Evaluate several metrics in one call; those of the list are in its order."""
    calls = list(calls)
    frame = opened(pickle.dumps(evaluator)).evaluate(calls, k=k)
    assert len(frame) == len(calls)
    return dict(zip(calls, frame["value"], strict=True))


def users(call: str, k: int | None = None, **evaluator: Any) -> dict[Any, float]:
    """Return the values of the users for whom the metric is defined."""
    frame = opened(pickle.dumps(evaluator)).per_user([call], k=k, long=True)
    user, name = (column for column in frame.columns if column not in ("k", "convention"))
    found = zip(frame[user], frame[name], strict=True)
    return {user: float(result) for user, result in found if not pd.isna(result)}


def numbers(texts: Mapping[str, str]) -> Any:
    """Expect closed forms."""
    return exactly({call: number(text) for call, text in texts.items()})


def exactly(expected: Any) -> Any:
    return pytest.approx(expected, rel=0, abs=1e-12)


def printed(digits: str) -> Any:
    """Accept what rounds to these digits."""
    return pytest.approx(float(digits), rel=0, abs=0.5 * 10.0 ** -len(digits.partition(".")[2]))


# ================================================================ 000: RePlay

REPLAY = {"user_id": "user_idx", "item_id": "item_idx", "recommendations.score": "relevance"}


def replay_frame(user: Any, items: list[Any], relevance: Any) -> pd.DataFrame:
    return pd.DataFrame({"user_idx": user, "item_idx": items, "relevance": relevance})


BOTH_CONVENTIONS = pytest.mark.parametrize("convention", ["replay-0.9", "standard"])


@BOTH_CONVENTIONS
def test_replay_roc_auc_example(convention: str) -> None:
    true = replay_frame(1, [4, 5, 6], [1, 1, 1])
    pred = replay_frame(1, [1, 2, 3, 4, 5, 6, 7], [0.5, 0.1, 0.25, 0.6, 0.2, 0.3, 0])
    tables = {"recommendations": pred, "interactions": true, "columns": REPLAY}
    # the list is 4 1 6 3 5 2 7: the hits have 0, 1 and 2 of the four misses above them
    assert value("roc_auc", 7, convention=convention, **tables) == exactly(1 - 3 / 12)
    assert value("roc_auc", 7, convention=convention, **tables) == printed("0.75")


REPLAY_PRED = replay_frame([1, 1, 1], [3, 2, 1], [5, 5, 5])
REPLAY_TRUE = replay_frame([1, 1, 1], [2, 4, 5], [5, 5, 5])


@BOTH_CONVENTIONS
@pytest.mark.parametrize(
    ("pred", "true", "k", "expected"),
    [
        pytest.param(REPLAY_PRED, REPLAY_TRUE, 3, "0.5", id="pred-true-3"),
        pytest.param(REPLAY_PRED, REPLAY_TRUE, 1, "0.0", id="pred-true-1"),
        pytest.param(REPLAY_TRUE, REPLAY_PRED, 1, "1.0", id="true-pred-1"),
    ],
)
def test_replay_mrr_examples(
    convention: str, pred: pd.DataFrame, true: pd.DataFrame, k: int, expected: str
) -> None:
    tables = {"recommendations": pred, "interactions": true, "columns": REPLAY}
    assert value("mrr", k, convention=convention, **tables) == exactly(float(expected))


def test_replay_equal_scores_decide_the_third_mrr() -> None:
    """The reason why RePlay 0.13, which puts higher ids first, took the example off its page."""
    tables = {"recommendations": REPLAY_TRUE, "interactions": REPLAY_PRED, "columns": REPLAY}
    settings = {"ties": "item_desc"}  # 5 4 2, of which 2 is relevant
    assert value("mrr", 1, settings=settings, **tables) == 0
    assert value("mrr", 3, settings=settings, **tables) == exactly(1 / 3)


@BOTH_CONVENTIONS
def test_replay_ndcg_example(convention: str) -> None:
    pred = replay_frame([1, 1, 2, 2], [4, 5, 6, 7], [1, 1, 1, 1])
    true = replay_frame([1, 1, 1, 1, 1, 2], [1, 2, 3, 4, 5, 8], [0.5, 0.1, 0.25, 0.6, 0.2, 0.3])
    tables = {"recommendations": pred, "interactions": true, "columns": REPLAY}
    assert value("ndcg", 2, convention=convention, **tables) == exactly(0.5)
    assert users(
        "ndcg", 2, convention=convention, recommendations=pred, interactions=true, columns=REPLAY
    ) == exactly({1: 1, 2: 0})


def test_replay_unexpectedness_example() -> None:
    log, recs = (
        pd.DataFrame(
            {"user_idx": [1] * 3, "item_idx": items, "relevance": [5] * 3, "timestamp": [1] * 3}
        )
        for items in ([1, 2, 3], [0, 0, 1])
    )
    columns = REPLAY | {"baseline.score": "relevance"}
    tables = {"recommendations": recs, "baseline": log, "columns": columns}
    found = value("unexpectedness", 3, convention="replay-0.9", **tables)
    assert found is not None
    assert round(found, 2) == 0.67
    assert found == exactly(1 - 1 / 3)
    # standard: the repeated item is refused; kept once, one of the two items is expected
    with pytest.raises(sm.DataError, match="recommendations"):
        value("unexpectedness", 3, **tables)
    once = {"duplicate_recommendations": "dedup_then_cut"}
    assert value("unexpectedness", 3, settings=once, **tables) == exactly(1 - 1 / 2)


def test_replay_several_k_in_one_call() -> None:
    with Evaluator(REPLAY_PRED, REPLAY_TRUE, columns=REPLAY, convention="replay-0.9") as ev:
        frame = ev.evaluate(["mrr"], k=[1, 3])
    assert dict(zip(frame["k"], frame["value"], strict=True)) == exactly({1: 0, 3: 0.5})


def test_replay_columns_of_its_text() -> None:
    """Here the text has user_id, item_id, relevance, timestamp, and the examples user_idx."""
    pred = pd.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "relevance": [0.1, 0.9]})
    true = pd.DataFrame({"user_id": [1], "item_id": [8], "timestamp": [5], "relevance": [1]})
    columns = {"recommendations.score": "relevance"}
    assert value("mrr", 1, recommendations=pred, interactions=true, columns=columns) == 1


def test_replay_does_not_read_the_relevance_of_the_truth() -> None:
    pred = replay_frame(1, [1, 2, 3], [3, 2, 1])
    true = replay_frame(1, [1, 2], [0, -4])
    tables = {"recommendations": pred, "interactions": true, "columns": REPLAY}
    assert value("recall", 3, convention="replay-0.9", **tables) == 1
    assert value("ndcg", 3, convention="replay-0.9", **tables) == 1
    true["relevance"] = [0, 4]  # standard: only 2 is relevant
    assert value("mrr", 3, **tables) == exactly(1 / 2)


# u1 has more relevant items than k, u2 a short list, u3 no list
LISTS = {"u1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "u2": {"b": 2.0, "c": 1.0}}
TRUTH = {"u1": ["a", "c", "w", "y", "z"], "u2": ["c"], "u3": ["x"]}


REPLAY_DEFINITIONS = {
    "hit_rate": "2/3",
    "precision": "(2/3 + 1/2) / 3",
    "map": "(5/9 + 1/2) / 3",
    "recall": "(2/5 + 1) / 3",
    "mrr": "(1 + 1/2) / 3",
    "ndcg": "((3/2) / (3/2 + 1/log2(3)) + 1/log2(3)) / 3",
    "roc_auc": "(1/2 + 0) / 3",
}
# its text divides both by K
REPLAY_TEXT = {
    "precision(divisor=k)": "(2/3 + 1/3) / 3",
    "map(divisor=k)": "(5/9 + 1/6) / 3",
}


def test_replay_definitions() -> None:
    tables = {"recommendations": LISTS, "interactions": TRUTH}
    of_replay = REPLAY_DEFINITIONS | REPLAY_TEXT
    assert values(of_replay, 3, convention="replay-0.9", **tables) == numbers(of_replay)
    of_standard = REPLAY_DEFINITIONS | {"precision": "(2/3 + 1/3) / 3"}
    assert values(of_standard, 3, **tables) == numbers(of_standard)


def test_replay_roc_auc_of_a_list() -> None:
    """The list a b c d at 3: neither the cut-off item nor others count."""
    expected = {
        "a b c": 1.0,  # all are hits
        "z": 0.0,  # all are misses
        "a": 1.0,  # no miss above the hit
        "c": 0.0,  # all misses above the hit
        "a c": 1 - 1 / 2,
        "a c d z": 1 - 1 / 2,
    }
    lists = {relevant: list("abcd") for relevant in expected}
    truth = {relevant: relevant.split() for relevant in expected}
    assert users("roc_auc", 3, recommendations=lists, interactions=truth) == exactly(expected)


def test_replay_roc_auc_is_the_share_of_pairs_in_order() -> None:
    """Every list of five, with hits in some of its places: count the pairs of hit and miss."""
    patterns = list(itertools.product([True, False], repeat=5))
    lists = {number: list("abcde") for number in range(len(patterns))}
    truth = {
        n: [item for item, hit in zip("abcde", pattern, strict=True) if hit] + ["z"]
        for n, pattern in enumerate(patterns)
    }

    def share(pattern: tuple[bool, ...]) -> float:
        pairs = list(itertools.combinations(pattern, 2))
        right, wrong = pairs.count((True, False)), pairs.count((False, True))
        return right / (right + wrong) if right + wrong else float(pattern[0])

    found = users("roc_auc", 5, recommendations=lists, interactions=truth)
    assert found == exactly({n: share(pattern) for n, pattern in enumerate(patterns)})


# four users; a has three of them (one of them twice), b and c have one each, new is unknown
LOG = pd.DataFrame(
    [("u1", "a"), ("u2", "a"), ("u2", "b"), ("u3", "c"), ("u4", "a"), ("u4", "a")],
    columns=["user_id", "item_id"],
)
LOG_LISTS = {"u1": ["b", "c", "new"], "u2": ["c"], "u9": ["a", "c"]}
RARE_A = math.log2(4 / 3)  # b, c and new: log2 4 = 2


@pytest.mark.parametrize(
    ("k", "digits", "closed_form"),
    [
        (2, "0.7012531249", (1 + 1 / 2 + (RARE_A / 2 + 1) / 2) / 3),
        (3, "0.5786131944", (1 + 1 / 3 + (RARE_A / 2 + 1) / 3) / 3),
    ],
)
def test_replay_surprisal(k: int, digits: str, closed_form: float) -> None:
    found = value("surprisal", k, recommendations=LOG_LISTS, history=LOG, convention="replay-0.9")
    assert found == exactly(closed_form)
    assert found == printed(digits)
    spelled_out = "surprisal(scale=normalized, divisor=k)"
    assert value(spelled_out, k, recommendations=LOG_LISTS, history=LOG) == exactly(closed_form)


def test_replay_surprisal_of_cold_items() -> None:
    lists = {"u1": ["new", "b", "a"]}
    tables = {"recommendations": lists, "history": LOG, "convention": "replay-0.9"}
    assert value("surprisal", 1, **tables) == 1  # as if one user had it
    assert value("surprisal", 2, **tables) == 1  # and b has one user
    assert value("surprisal", 3, **tables) == exactly((1 + 1 + RARE_A / 2) / 3)


def test_replay_unexpectedness_of_baseline_users() -> None:
    """RePlay averages over users of the baseline, standard over users with recommendations."""
    lists = {"short": ["a", "x"], "full": ["a", "b", "y"], "no baseline": ["a"]}
    baseline = {"short": ["b", "a", "c"], "full": ["a", "b", "c", "y"], "no list": ["a"]}
    tables = {"recommendations": lists, "baseline": baseline}
    assert users("unexpectedness", 3, convention="replay-0.9", **tables) == exactly(
        {"short": 1 - 1 / 3, "full": 1 - 2 / 3, "no list": 0}  # empty places count as unexpected
    )
    assert users("unexpectedness", 3, **tables) == exactly(
        {"short": 1 - 1 / 2, "full": 1 - 2 / 3, "no baseline": 1}
    )
    assert users("unexpectedness", 1, **tables) == exactly(  # the baseline is cut as well
        {"short": 1, "full": 0, "no baseline": 1}
    )


@pytest.mark.parametrize(("k", "recommended"), [(1, 3), (2, 3), (3, 4)])
def test_replay_coverage(k: int, recommended: int) -> None:
    """Different items in the top k / items of the log, of which there are three."""
    tables = {"recommendations": LOG_LISTS, "history": LOG}
    # an item that is not in the log makes it pass 1 there; standard does not count it
    assert value("coverage", k, convention="replay-0.9", **tables) == exactly(recommended / 3)
    assert value("coverage", k, **tables) == 1


def test_replay_coverage_takes_the_best_of_each_list() -> None:
    lists = {"u1": {"a": 0.1, "b": 0.9}, "u2": {"c": 0.2, "b": 0.8}}
    tables = {"recommendations": lists, "history": LOG}
    assert value("coverage", 1, **tables) == exactly(1 / 3)
    assert value("coverage", 2, **tables) == 1


# precision at 3: 1/3, and 0
TWO_LISTS = {"u1": ["a", "b", "c"], "u2": ["a", "b", "c"]}
TWO_TRUTHS = {"u1": ["a"], "u2": ["z"]}


def test_replay_median() -> None:
    tables = {"recommendations": TWO_LISTS, "interactions": TWO_TRUTHS}
    # of frames, and of Spark
    expected = {"mean": 1 / 6, "median": 1 / 6, "median_low": 0}
    calls = {f"precision(aggregate={name})": value for name, value in expected.items()}
    assert values(calls, 3, **tables) == exactly(calls)
    for name, result in expected.items():
        assert value("precision", 3, settings={"aggregate": name}, **tables) == exactly(result)


def test_replay_median_of_three() -> None:
    lists = {user: list("abc") for user in ("u1", "u2", "u3")}
    truth = {"u1": list("abc"), "u2": ["a"], "u3": ["z"]}
    calls = ["precision(aggregate=median)", "precision(aggregate=median_low)"]
    found = values(calls, 3, recommendations=lists, interactions=truth)
    assert found == exactly(dict.fromkeys(calls, 1 / 3))


@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_replay_half_width_of_the_interval(confidence: float) -> None:
    """RePlay calls it the lower bound; it is z · sample deviation / sqrt(n)."""
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    half_width = z * statistics.stdev([1 / 3, 0]) / SQRT2
    with sm.Evaluator(TWO_LISTS, TWO_TRUTHS) as evaluator:
        calls = ["precision", "precision(aggregate=half_width)"]
        mean, half = evaluator.evaluate(calls, k=3, confidence=confidence).to_dict("records")
    assert half["value"] == exactly(half_width)
    assert mean["ci_low"] == exactly(1 / 6 - half_width)  # the lower bound itself
    assert mean["ci_high"] == exactly(1 / 6 + half_width)
    assert pd.isna(half["ci_low"])
    assert pd.isna(half["ci_high"])
    one_user = {"recommendations": {"u1": ["a"]}, "interactions": {"u1": ["a"]}}
    assert value("precision(aggregate=half_width)", 3, **one_user) is None


RESULT_OF_THE_LIST_ALONE = ["surprisal", "unexpectedness", "coverage", "popularity"]


def test_replay_diversity_needs_no_ground_truth() -> None:
    with Evaluator(LOG_LISTS, history=LOG, baseline=LOG_LISTS) as evaluator:
        frame = evaluator.evaluate(RESULT_OF_THE_LIST_ALONE, k=2)
    assert frame["metric"].tolist() == RESULT_OF_THE_LIST_ALONE
    assert frame["value"].notna().all()


# a subclass of Metric: the items that are recommended, the ground truth and k make a user's value
FIRST_HIT_DEPTH = """\
{#---
title = "How deep the first hit lies, as a share of k"
when_empty = 1
---#}
SELECT {{ keys }}, k, (min(rank) - 1) / {{ divided_by("k") }} AS value
FROM hits
GROUP BY {{ keys }}, k
"""
# a subclass of RecOnlyMetric, which gets a log and no ground truth
UNKNOWN_SHARE = """\
{#---
title = "Share of the list that is not in the log"
audience = "recommended"
when_empty = 0
---#}
SELECT
    {{ keys_of("listed") }},
    listed.k,
    count(CASE WHEN catalogue.item_id IS NULL THEN 1 END) / count(*) AS value
FROM listed
LEFT JOIN catalogue ON listed.item_id = catalogue.item_id
GROUP BY {{ keys_of("listed") }}, listed.k
"""


@pytest.fixture
def own_templates(tmp_path: Path) -> Path:
    own = {"first_hit_depth": FIRST_HIT_DEPTH, "unknown_share": UNKNOWN_SHARE}
    for name, text in own.items():
        (tmp_path / f"{name}.sql.j2").write_text(text, encoding="utf-8")
    return tmp_path


def test_replay_custom_metric_with_interactions(own_templates: Path) -> None:
    tables = {"recommendations": LISTS, "interactions": TRUTH, "templates": own_templates}
    assert users("first_hit_depth", 4, **tables) == exactly({"u1": 0, "u2": 1 / 4, "u3": 1})
    assert value("first_hit_depth", 4, **tables) == exactly((0 + 1 / 4 + 1) / 3)


def test_replay_custom_metric_without_interactions(own_templates: Path) -> None:
    tables = {"recommendations": LOG_LISTS, "history": LOG, "templates": own_templates}
    assert users("unknown_share", 3, **tables) == exactly({"u1": 1 / 3, "u2": 0, "u9": 0})


def test_replay_enriched_recommendations_are_a_stage() -> None:
    with sm.Evaluator(LISTS, TRUTH) as evaluator:
        hits = evaluator.stage("hits")
    found = hits.sort_values(["user_id", "rank"])[["user_id", "item_id", "rank"]]
    assert found.values.tolist() == [["u1", "a", 1], ["u1", "c", 3], ["u2", "c", 2]]


# RePlay 0.12, Experiment: of equal scores the higher item is first; user 3 is in no table of its
# own there but in a list of users to average over
EXPERIMENT_LOG = pd.DataFrame({"user_id": [2, 2, 2, 1], "item_id": [1, 2, 3, 3]})
EXPERIMENT_TRUTH = pd.DataFrame(
    {"user_id": [1, 1, 1, 3], "item_id": [1, 2, 3, 1], "relevance": [1, 1, 1, 0]}
)
IDEAL3 = 1 + D2 + 1 / 2


NORMALISED = "surprisal(scale=normalized, divisor=k)"
EXPERIMENTS = {
    (1, 4, 5): {
        ("ndcg", 2): ("0.386853", D2 / (1 + D2)),
        ("ndcg", 3): ("0.296082", D2 / IDEAL3),
        (NORMALISED, 3): ("1.000000", 1),
    },
    (4, 1, 3): {
        ("ndcg", 2): ("0.386853", D2 / (1 + D2)),
        ("ndcg", 3): ("0.530721", (D2 + 1 / 2) / IDEAL3),
        (NORMALISED, 3): ("0.666667", 2 / 3),
    },
}


@pytest.mark.parametrize("items", EXPERIMENTS, ids=str)
def test_replay_experiment(items: tuple[int, ...]) -> None:
    recs = pd.DataFrame({"user_id": 1, "item_id": items, "score": [5, 4, 5]})
    tables: dict[str, Any] = {
        "recommendations": recs,
        "interactions": EXPERIMENT_TRUTH,
        "history": EXPERIMENT_LOG,
    }
    for (call, k), (digits, closed_form) in EXPERIMENTS[items].items():
        found = value(call, k, settings={"ties": "item_desc"}, **tables)
        assert found == exactly(closed_form)
        assert found == printed(digits)
        # averaged over the users 1 and 3, of whom 3 has a row that says not relevant, and no list
        given_users = {"ties": "item_desc", "audience": "judged"}
        assert value(call, k, settings=given_users, **tables) == exactly(closed_form / 2)


# ================================================================ 001: Jurity

JURITY = {
    "recommendations.score": "clicks",
    "interactions.relevance": "clicks",
    "logs.reward": "clicks",
}


def clicks(rows: str) -> pd.DataFrame:
    """Read "1 a .9, 1 b .8": user, item, clicks."""
    cells = [row.split() for row in rows.split(",")]
    return pd.DataFrame(
        {
            "user_id": [int(user) for user, _, _ in cells],
            "item_id": [item for _, item, _ in cells],
            "clicks": [float(click) for _, _, click in cells],
        }
    )


ACTUAL = clicks("1 a 1, 1 b 0, 2 a 1, 2 c 0, 3 b 1, 4 a 0")
PREDICTED = clicks("1 a .9, 1 b .8, 1 c .7, 2 a .4, 2 c .4, 3 z .6, 5 a .5")
UNBIASED: dict[str, Any] = {
    "recommendations": PREDICTED,
    "logs": ACTUAL,
    "columns": JURITY,
    "convention": "jurity",
    "settings": {"ties": "item_desc"},  # in that run c was taken before a, which has the same score
}
# In both tables: 1a (1), 1b (0), 2a (1), 2c (0); k = 1: 1a, 2c; k = 2: all four.
# The items a, b, c of the logs give everything the propensity 1/3.


# of k (all, 1, 2): the digits that it prints, and their closed form
OFF_BY_ALL = 3 * (1 - 0.9) + 3 * (0 - 0.8) + 3 * (1 - 0.4) + 3 * (0 - 0.4)
JURITY_IPS = {
    None: ("0.857142857143", 3 * (1 + 1) / 7),
    1: ("0.75", 3 * 1 / 4),
    2: ("1.0", 3 * (1 + 1) / 6),
}
JURITY_DR = {
    None: ("0.4", (0.9 + 0.8 + 0.7 + 2 * 0.4 + 0.6 + 0.5 + OFF_BY_ALL) / 7),
    1: ("0.375", (0.9 + 0.4 + 0.6 + 0.5 + 3 * (1 - 0.9) + 3 * (0 - 0.4)) / 4),
    2: ("0.35", (0.9 + 0.8 + 2 * 0.4 + 0.6 + 0.5 + OFF_BY_ALL) / 6),
}


def test_jurity_ctr() -> None:
    for k, support in ((None, 4), (1, 2), (2, 4)):
        expected = {"ctr": 0.5, "ctr(statistic=support)": support}
        assert values(expected, k, **UNBIASED) == exactly(expected)


@pytest.mark.filterwarnings("ignore:logs. there is no column propensity")
@pytest.mark.parametrize(("name", "expected"), [("ips", JURITY_IPS), ("doubly_robust", JURITY_DR)])
def test_jurity_unbiased_estimates(
    name: str, expected: dict[int | None, tuple[str, float]]
) -> None:
    for k, (digits, closed_form) in expected.items():
        found = value(name, k, **UNBIASED)
        assert found == exactly(closed_form)
        assert found == pytest.approx(float(digits), abs=1e-12)


def test_jurity_warns_of_logs_without_propensities() -> None:
    with pytest.warns(sm.SqlmetricsWarning, match="propensity"):
        value("ips", 1, **UNBIASED)


def test_jurity_propensities_of_the_logs() -> None:
    """Less likely items weigh more; no warning where the column is there."""
    logs = ACTUAL.assign(propensity=[0.5, 0.5, 0.1, 0.25, 1.0, 1.0])
    tables = UNBIASED | {"logs": logs}
    assert value("ips", **tables) == exactly((1 / 0.5 + 1 / 0.1) / 7)
    scores = 0.9 + 0.8 + 0.7 + 0.4 + 0.4 + 0.6 + 0.5
    corrections = (1 - 0.9) / 0.5 + (0 - 0.8) / 0.5 + (1 - 0.4) / 0.1 + (0 - 0.4) / 0.25
    assert value("doubly_robust", **tables) == exactly((scores + corrections) / 7)


def test_jurity_without_history_dr_is_the_predicted_reward() -> None:
    logs = clicks("8 a 1, 9 b 0").assign(propensity=0.5)
    tables = UNBIASED | {"logs": logs}
    assert value("doubly_robust", **tables) == exactly(
        (0.9 + 0.8 + 0.7 + 0.4 + 0.4 + 0.6 + 0.5) / 7
    )
    assert value("ips", **tables) == 0
    assert value("ctr", **tables) is None  # nothing matches: None there, too


def pooled_auc(actual: pd.DataFrame, predicted: pd.DataFrame, k: int | None = None) -> float | None:
    return value(
        "auc",
        k,
        recommendations=predicted,
        interactions=actual,
        columns=JURITY,
        convention="jurity",
    )


def test_jurity_auc() -> None:
    # .9 is above .8 and .4; .4 is below .8, and equal to .4, which counts one half
    assert pooled_auc(ACTUAL, PREDICTED) == exactly((1 + 1 + 0 + 1 / 2) / 4)
    assert pooled_auc(ACTUAL, PREDICTED) == printed("0.625")


def test_jurity_auc_of_the_top_k_and_of_one_class() -> None:
    predicted = clicks("1 a .3, 1 b .2, 2 a .9, 2 c .1")
    # clicked 1a .3 and 2a .9, not clicked 1b .2 and 2c .1
    assert pooled_auc(ACTUAL, predicted) == 1
    assert pooled_auc(ACTUAL, predicted, k=1) is None  # only clicked ones are left
    assert pooled_auc(ACTUAL, clicks("1 b .9, 1 a .3, 2 a .2, 2 c .1")) == exactly(2 / 4)


# user 1 has three clicks, user 2 a short list, user 3 no click, user 4 no recommendations
CLICKED = clicks("1 a 1, 1 b 0, 1 c 1, 1 z 1, 2 c 1, 3 x 0, 4 a 1")
SCORED = clicks("1 a .9, 1 b .8, 1 c .7, 2 c .5, 3 a .4")


# each: under its convention, the number of users there, under standard
JURITY_RANKING = {
    "precision": ("(1/2 + 1) / 2", 2, "(1/2 + 1/2 + 0) / 3"),
    "recall": ("(1/3 + 1 + 0) / 3", 3, "(1/3 + 1 + 0) / 3"),
    "map": ("(1/2 + 1) / 2", 2, "(1/2 + 1 + 0) / 3"),
    "ndcg": (
        "(1 / (1 + 1/log2(3) + 1/2) + 1 + 0) / 3",
        3,
        "(1 / (1 + 1/log2(3)) + 1 + 0) / 3",
    ),
}


def test_jurity_ranking_metrics() -> None:
    tables = {"recommendations": SCORED, "interactions": CLICKED, "columns": JURITY}
    with sm.Evaluator(**tables, convention="jurity") as evaluator:
        rows = evaluator.evaluate(list(JURITY_RANKING), k=2).set_index("metric")
    for call, (of_jurity, n_users, _) in JURITY_RANKING.items():
        assert rows["value"][call] == exactly(number(of_jurity))
        # only users with a click, precision and MAP with a list
        assert rows["n_users"][call] == n_users
    of_standard = {call: standard for call, (_, _, standard) in JURITY_RANKING.items()}
    assert values(of_standard, 2, **tables) == numbers(of_standard)


def test_jurity_map_of_its_formula_averages_over_users_with_a_click() -> None:
    """Its text and its code ask for a recommendation as well."""
    tables = {"recommendations": SCORED, "interactions": CLICKED, "columns": JURITY}
    found = value("map(audience=relevant)", 2, convention="jurity", **tables)
    assert found == exactly((1 / 2 + 1 + 0) / 3)


@pytest.mark.parametrize("convention", ["jurity", "standard"])
def test_jurity_precision_and_map_at_one_are_the_same(convention: str) -> None:
    tables = {"recommendations": SCORED, "interactions": CLICKED, "columns": JURITY}
    with sm.Evaluator(**tables, convention=convention) as evaluator:
        precision, average = evaluator.evaluate(["precision", "map"], k=1)["value"]
    assert precision == exactly(average)


def test_jurity_ideal_of_ndcg() -> None:
    """Three relevant items and k = 2: a perfect list has 1 here, and less there."""
    tables = {"recommendations": {"u": ["a", "b"]}, "interactions": {"u": ["a", "b", "c"]}}
    found = value("ndcg", 2, convention="jurity", **tables)
    assert found == exactly((1 + D2) / (1 + D2 + 1 / 2))
    assert value("ndcg", 2, **tables) == 1


DIVERSE = {"u1": ["a", "b", "c"], "u2": ["a", "c"], "u3": ["b"]}
FEATURES = pd.DataFrame({"item_id": ["a", "b", "c"], "f1": [1, 0, 1], "f2": [0, 1, 1]})
FEATURE_COLUMNS = {"items.features": "f1,f2"}


def test_jurity_inter_list_diversity() -> None:
    """Pairs of users: abc and ac, abc and b, ac and b."""
    expected = (1 - 2 / math.sqrt(6) + 1 - 1 / math.sqrt(3) + 1) / 3
    found = value("inter_list_diversity", 3, recommendations=DIVERSE, convention="jurity")
    assert found == exactly(expected)
    assert found == pytest.approx(0.535384383294, abs=1e-12)
    # at 1: a, a, b
    found = value("inter_list_diversity", 1, recommendations=DIVERSE, convention="jurity")
    assert found == exactly((0 + 1 + 1) / 3)


def test_jurity_inter_list_diversity_of_one_user() -> None:
    assert value("inter_list_diversity", 3, recommendations={"u": ["a", "b"]}) is None


@pytest.mark.parametrize(
    ("k", "digits", "closed_form"),
    [
        # the pairs of abc: a and b at right angles, c between them; of ac: one pair
        pytest.param(
            3, "0.410744349011", ((1 + 2 * (1 - 1 / SQRT2)) / 3 + 1 - 1 / SQRT2) / 2, id="3"
        ),
        pytest.param(2, "0.646446609407", (1 + 1 - 1 / SQRT2) / 2, id="2"),
    ],
)
def test_jurity_intra_list_diversity(k: int, digits: str, closed_form: float) -> None:
    tables = {"recommendations": DIVERSE, "items": FEATURES, "columns": FEATURE_COLUMNS}
    with sm.Evaluator(**tables, convention="jurity") as evaluator:
        (row,) = evaluator.evaluate(["intra_list_diversity"], k=k).to_dict("records")
    assert row["value"] == exactly(closed_form)
    assert row["value"] == printed(digits)
    assert row["n_users"] == 2  # a list of one item has no pair


def test_jurity_diversity_lies_between_0_and_1() -> None:
    equal, different = {"u1": ["a", "d"], "u2": ["d", "a"]}, {"u1": ["a"], "u2": ["b"]}
    assert value("inter_list_diversity", recommendations=equal) == exactly(0)
    assert value("inter_list_diversity", recommendations=different) == exactly(1)
    items = pd.DataFrame({"item_id": list("abde"), "f1": [1, 0, 2, -1], "f2": [0, 1, 0, 0]})
    tables = {"items": items, "columns": FEATURE_COLUMNS}
    for pair, expected in (("ad", 0), ("ab", 1), ("ae", 2)):  # 2: only with negative features
        found = value("intra_list_diversity", recommendations={"u": list(pair)}, **tables)
        assert found == exactly(expected)


def test_jurity_intra_list_diversity_at_one_is_undefined() -> None:
    tables = {"recommendations": DIVERSE, "items": FEATURES, "columns": FEATURE_COLUMNS}
    assert value("intra_list_diversity", 1, **tables) is None


def test_jurity_items_without_features() -> None:
    tables = {"items": FEATURES, "columns": FEATURE_COLUMNS}
    lists = {"u": ["a", "b", "unknown item"]}
    with pytest.raises(sm.DataError, match="unknown item"):
        value("intra_list_diversity", 3, recommendations=lists, **tables)
    ignored = {"missing_attributes": "ignore"}
    found = value("intra_list_diversity", 3, recommendations=lists, settings=ignored, **tables)
    assert found == 1  # only a and b


@pytest.mark.parametrize("metric", ["inter_list_diversity", "intra_list_diversity"])
def test_jurity_a_sample_as_large_as_the_data_is_exact(metric: str) -> None:
    tables = {"recommendations": DIVERSE, "items": FEATURES, "columns": FEATURE_COLUMNS}
    exact = value(metric, 3, **tables)
    assert value(metric, 3, convention="jurity", **tables) == exactly(exact)
    samples = ["runs=10, sample_users=10000", "sample_users=3", "runs=2, sample_users=3, seed=7"]
    calls = [f"{metric}({sample})" for sample in samples]
    assert values(calls, 3, **tables) == exactly(dict.fromkeys(calls, exact))


def test_jurity_a_smaller_sample_of_users() -> None:
    """Two of the three users in each run: the mean of as many of the values of their pairs."""
    pairs = [1 - 2 / math.sqrt(6), 1 - 1 / math.sqrt(3), 1.0]
    call = "inter_list_diversity(sample_users=2, runs=1)"
    found = value(call, 3, recommendations=DIVERSE)
    assert any(found == exactly(pair) for pair in pairs)
    assert value(call, 3, recommendations=DIVERSE) == found  # the same seed, the same users
    mean = value("inter_list_diversity(sample_users=2, runs=400)", 3, recommendations=DIVERSE)
    # a run's standard deviation is below 1/2, so that of the mean below 1/40
    assert mean == pytest.approx(sum(pairs) / 3, abs=0.125)


def test_jurity_a_smaller_sample_of_lists() -> None:
    """One user in one run has a value, and it is his own."""
    tables = {"recommendations": DIVERSE, "items": FEATURES, "columns": FEATURE_COLUMNS}
    everybody = users("intra_list_diversity", 3, **tables)
    assert set(everybody) == {"u1", "u2"}
    drawn = users("intra_list_diversity(sample_users=1, runs=1)", 3, **tables)
    assert len(drawn) <= 1
    assert drawn.items() <= everybody.items()


# ================================================================ 002: rs_metrics

RS = "rs_metrics-0.2"
BY_ITS_PAGE = {"convention": RS, "fallback": "standard"}
RS_TRUE = {1: [1, 2], 2: [1, 2]}


RS_TESTS: dict[str, tuple[dict[int, list[int]], dict[int, list[int]], float, str | None]] = {
    "hitrate": (RS_TRUE, {1: [0, 1], 2: [0, 0]}, 0.5, None),
    "precision": ({1: [1, 0, 0, 2], 2: [1, 2]}, {1: [1, 2], 2: [1, 3]}, 0.75, None),
    "recall": (RS_TRUE, {1: [1, 3], 2: [0, 0]}, 0.25, None),
    "mrr": (RS_TRUE, {1: [1, 3], 2: [0, 1]}, 0.75, "(1 + 1/2) / 2"),
    "mapr": (RS_TRUE, {1: [1, 3], 2: [0, 1]}, 0.375, "(1/2 + 1/4) / 2"),
    "mar": (RS_TRUE, {1: [1, 3], 2: [0, 1]}, 0.25, "(1/4 + 1/4) / 2"),
    "ndcg": (RS_TRUE, {1: [1, 2], 2: [0, 0]}, 0.5, None),
}


def test_rs_metrics_tests() -> None:
    for call, (true, pred, of_rs_metrics, standard) in RS_TESTS.items():
        tables = {"recommendations": pred, "interactions": true}
        assert value(call, 2, convention=RS, **tables) == exactly(of_rs_metrics), call
        if standard is not None:
            assert value(call, 2, **tables) == exactly(number(standard)), call
        else:  # repeated items, which standard refuses until a setting says what they mean
            with pytest.raises(sm.DataError, match="duplicate_"):
                value(call, 2, **tables)


SAME_NDCG = "((3/2) / (3/2 + 1/log2(3)) + 1/log2(3)) / 3"
RS_DEFINITIONS = {
    "hitrate": "2/3",
    "precision": "(2/3 + 1/2) / 3",
    "map": "(5/9 + 1/4) / 3",
    "recall": "(2/5 + 1) / 3",
    "mar": "(3/5/3 + 1/2) / 3",
    "mrr": "(1 + 1/2) / 3",
    "ndcg": "(3/2 + 1/log2(3)) / (3/2 + 1/log2(3)) / 3",
}
RS_TEXT = {
    "hitrate": "2/3",
    "precision(divisor=length)": "(2/3 + 1/2) / 3",
    "map(divisor=k)": "(5/9 + 1/6) / 3",
    "recall": "(2/5 + 1) / 3",
    "mar": "(3/5/3 + 1/3) / 3",
    "mrr": "(1 + 1/2) / 3",
    "ndcg": SAME_NDCG,
}
OF_STANDARD = {"precision": "(2/3 + 1/3) / 3", "map": "(5/9 + 1/2) / 3"}


def test_rs_metrics_definitions() -> None:
    """The user without a list makes precision, MAP and MAR NaN there, and counts 0 here."""
    tables = {"recommendations": LISTS, "interactions": TRUTH}
    found = values(RS_DEFINITIONS, 3, convention=RS, **in_rows(tables))
    assert found == numbers(RS_DEFINITIONS)
    assert values(RS_TEXT | OF_STANDARD, 3, **tables) == numbers(RS_TEXT | OF_STANDARD)


def in_rows(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Write lists as rs_metrics has them: users and items, no score, the best first."""
    rows = [(user, item) for user, items in tables["recommendations"].items() for item in items]
    frame = pd.DataFrame(rows, columns=["user_id", "item_id"])
    return {**tables, "recommendations": frame}


@pytest.mark.parametrize(
    ("pred", "true", "expected"),
    [
        pytest.param(
            {1: ["a", "a", "b", "c"]},
            {1: ["a", "c"]},
            {"precision": 2 / 3, "recall": 1 / 2, "ndcg": (1 + D2) / IDEAL3},
            id="recommendations",
        ),
        pytest.param(
            {1: ["a", "x", "y"]},
            {1: ["a", "a", "c"]},
            {"precision": 1 / 3, "recall": 2 / 3, "ndcg": 1 / IDEAL3},
            id="interactions",
        ),
    ],
)
def test_rs_metrics_repeated_rows(
    pred: dict[int, list[str]], true: dict[int, list[str]], expected: dict[str, float]
) -> None:
    with sm.Evaluator(pred, true, convention=RS) as evaluator:
        frame = evaluator.evaluate(list(expected), k=3)
    assert dict(zip(frame["metric"], frame["value"], strict=True)) == exactly(expected)


def test_rs_metrics_ndcg_of_star_ratings() -> None:
    """Its formula has the gain 2^rel - 1, of which it takes the binary variant."""
    lists, stars = {1: ["a", "b"]}, {1: {"a": 2, "b": 3, "c": 0}}
    tables = {"recommendations": lists, "interactions": stars}
    found = value("ndcg(gain=exponential)", 2, **tables)
    assert found == exactly((3 + 7 * D2) / (7 + 3 * D2))
    assert value("ndcg", 2, **tables) == 1


def test_rs_metrics_k_is_ten_by_default() -> None:
    lists = {1: list(range(12))}
    with sm.Evaluator(lists, {1: [9, 11]}) as evaluator:
        frame = evaluator.evaluate()
    assert set(frame["k"]) == {10}
    assert frame.set_index("metric").loc["recall", "value"] == exactly(1 / 2)


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([1, 2, 3, 4], id="list"),
        pytest.param({1, 2, 3, 4}, id="set"),
        pytest.param(pd.Series([1, 2, 3, 4]), id="series"),
        pytest.param(pa.array([1, 2, 3, 4]), id="arrow"),
        pytest.param(pd.DataFrame({"item_id": [1, 2, 3, 4]}), id="frame"),
    ],
)
def test_rs_metrics_coverage(items: Any) -> None:
    tables = {"items": items, "recommendations": {1: [1, 2], 2: [2, 5]}}
    assert value("coverage", convention=RS, **tables) == exactly(0.5)  # 5 is no known item
    assert value("coverage", 1, convention=RS, **tables) == exactly(0.5)
    from_items = {"catalogue": "items"}
    assert value("coverage", settings=from_items, **tables) == exactly(0.5)
    assert value("coverage(counted=all)", settings=from_items, **tables) == exactly(3 / 4)


RS_LOG = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 2, 2]})


@pytest.mark.parametrize("convention", [RS, "standard"])
def test_rs_metrics_popularity(convention: str) -> None:
    tables = {"history": RS_LOG, "recommendations": {1: [2], 2: [1]}, "convention": convention}
    assert value("popularity", 2, **tables) == exactly(0.75)
    assert users("popularity", 2, **tables) == exactly({1: 1, 2: 1 / 2})


@pytest.mark.parametrize("convention", [RS, "standard"])
def test_rs_metrics_surprisal(convention: str) -> None:
    log = pd.DataFrame({"user_id": [1, 2], "item_id": [1, 2]})
    tables = {"history": log, "recommendations": {1: [2], 2: [1]}, "convention": convention}
    assert value("surprisal", 2, **tables) == exactly(1)


RARE_AND_UNKNOWN = {
    ("popularity", 2): ("0.3333333333", (1 / 4 + 1 / 4 + (3 / 4 + 1 / 4) / 2) / 3),
    ("popularity", 3): ("0.3055555556", ((1 / 4 + 1 / 4 + 0) / 3 + 1 / 4 + 1 / 2) / 3),
    ("surprisal", 2): ("1.7358395832", (2 + 2 + (RARE_A + 2) / 2) / 3),
    ("surprisal", 3): ("1.7358395832", ((2 + 2 + 2) / 3 + 2 + (RARE_A + 2) / 2) / 3),
}


@pytest.mark.parametrize("convention", [RS, "standard"])
def test_rs_metrics_rare_and_unknown_items(convention: str) -> None:
    tables = {"recommendations": LOG_LISTS, "history": LOG, "convention": convention}
    for (call, k), (digits, closed_form) in RARE_AND_UNKNOWN.items():
        found = value(call, k, **tables)
        assert found == exactly(closed_form)
        assert found == printed(digits)


def test_rs_metrics_columns_of_the_log() -> None:
    """Its arguments user_col and item_col; the recommendations are a dict."""
    log = RS_LOG.rename(columns={"user_id": "client", "item_id": "product"})
    columns = {"history.user_id": "client", "history.item_id": "product"}
    tables = {"history": log, "recommendations": {1: [2], 2: [1]}, "columns": columns}
    assert value("popularity", 2, **tables) == exactly(0.75)
    assert value("surprisal", 2, **tables) == exactly((0 + 1) / 2)


def test_rs_metrics_surprisal_is_the_opposite_of_popularity() -> None:
    lists = {"rare": ["b"], "popular": ["a"]}
    tables = {"recommendations": lists, "history": LOG}
    popularity, surprisal = users("popularity", **tables), users("surprisal", **tables)
    assert popularity == exactly({"rare": 1 / 4, "popular": 3 / 4})
    assert surprisal == exactly({user: -math.log2(p) for user, p in popularity.items()})


def test_rs_metrics_alpha_ndcg_tests() -> None:
    """The convention does not cover a_ndcg: the code of that version has its faults."""
    one = {"interactions": {1: [1, 2, 3]}, "recommendations": {1: [1, 2, 3]}, **BY_ITS_PAGE}
    assert value("a_ndcg", 3, aspects={1: [{1}, {2}, {3}]}, **one) == 1
    with pytest.raises(sm.UsageError, match=r"rs_metrics-0\.2 does not cover alpha_ndcg .*misses"):
        value("a_ndcg", 3, aspects={1: [{1}, {2}, {3}]}, **{**one, "fallback": None})
    two = {
        "interactions": {1: [1, 2, 3], 2: [1, 2, 3]},
        "recommendations": {1: [1, 2, 3], 2: [0, 0, 0]},
        "aspects": {1: [{1, 2}, {3}], 2: [{1, 2, 3}]},
        "settings": {"duplicate_recommendations": "cut_then_dedup"},
        **BY_ITS_PAGE,
    }
    first = (1 + 0.4 * D2 + 1 / 2) / (1 + D2 + 0.4 / 2)
    assert value("a_ndcg(alpha=0.6)", 3, **two) == exactly((first + 0) / 2)
    assert value("alpha_ndcg(alpha=0.6)", 3, **two) == exactly((first + 0) / 2)


# the dictionary of the page: user 1 has the aspects {1, 2, 3} and {3, 4}, user 2 only {1}
PAGE_ASPECTS = {1: [{1, 2, 3}, {3, 4}], 2: [{1}]}
PAGE_TRUTH = {1: [1, 2, 3, 4], 2: [1]}


@pytest.mark.parametrize(
    ("alpha", "gains", "ideal"),
    [
        # list 1 2 3: 3 has both aspects, after two items of the first
        # best list: 3 with both aspects, then one item of each
        (0.5, 1 + 0.5 * D2 + (0.25 + 1) / 2, 2 + 0.5 * D2 + 0.5 / 2),
        (0, 1 + D2 + 2 / 2, 2 + D2 + 1 / 2),
        (1, 1 + 0 + (0 + 1) / 2, 2),
    ],
    ids=["0.5", "0", "1"],
)
def test_rs_metrics_alpha_ndcg_of_the_aspects_on_its_page(
    alpha: float, gains: float, ideal: float
) -> None:
    found = users(
        f"a_ndcg(alpha={alpha})",
        3,
        recommendations={1: [1, 2, 3], 2: [5, 1]},
        interactions=PAGE_TRUTH,
        aspects=PAGE_ASPECTS,
        **BY_ITS_PAGE,
    )
    assert found == exactly({1: gains / ideal, 2: D2})


def test_rs_metrics_alpha_lies_between_0_and_1() -> None:
    tables = {"recommendations": {1: [1]}, "interactions": PAGE_TRUTH, "aspects": PAGE_ASPECTS}
    for alpha in (-0.1, 1.5):
        with pytest.raises(sm.UsageError, match="alpha"):
            value(f"a_ndcg(alpha={alpha})", 3, **tables)


@pytest.mark.parametrize(
    ("aspects", "relevant", "recommended", "expected"),
    [
        pytest.param(
            [{"d1", "d2"}, {"d9"}], "d2 d9", "d1 d2", D2 / (1 + D2), id="a miss is no repetition"
        ),
        pytest.param([{"a", "b"}, {"c", "d"}], "a b c d", "a c b d", 1, id="the ideal list"),
        pytest.param([{"x"}, {"x"}], "x", "x", 1, id="an item with two aspects"),
        pytest.param([{"x"}], "x", "y", 0, id="no hit"),
    ],
)
def test_rs_metrics_alpha_ndcg_without_its_faults(
    aspects: list[set[str]], relevant: str, recommended: str, expected: float
) -> None:
    tables = {
        "recommendations": {"u": recommended.split(), "other": ["x"]},
        "interactions": {"u": relevant.split()},
        "aspects": {"u": aspects},
    }
    for convention in (BY_ITS_PAGE, {"convention": "standard"}):
        assert value("a_ndcg", **convention, **tables) == exactly(expected)


def test_rs_metrics_alpha_ndcg_of_an_empty_list() -> None:
    tables = {
        "recommendations": {"other": ["x"]},
        "interactions": {"u": ["x"], "other": ["x"]},
        "aspects": {"u": [{"x"}], "other": [{"x"}]},
    }
    assert users("a_ndcg", 2, **BY_ITS_PAGE, **tables) == exactly({"u": 0, "other": 1})


def test_alpha_ndcg_of_the_reference_implementation() -> None:
    """ndeval 4.5: d1 is not relevant, d2 has subtopic 1, d9 subtopic 2."""
    found = value(
        "alpha_ndcg",
        2,
        recommendations={"q": {"d1": 2.0, "d2": 1.0}},
        interactions={"q": {"d2": 1, "d9": 1}},
        aspects=pd.DataFrame({"item_id": ["d2", "d9"], "aspect": [1, 2]}),
    )
    assert found == printed("0.386852807")


# ================================================================ 003: the course

COURSE_LIST = [143, 156, 1134, 991, 27, 1543, 3345, 533, 11, 43]
BOUGHT = [521, 32, 143, 991]
PRICES = [400, 60, 40, 40, 90, 200, 50, 100, 40, 15]
NOTEBOOK: dict[str, Any] = {
    "recommendations": {1: COURSE_LIST},
    "interactions": {1: BOUGHT},
    "items": pd.DataFrame({"item_id": COURSE_LIST, "price": PRICES}),
}
THREE_USERS: dict[str, Any] = {
    "recommendations": {
        1: COURSE_LIST,
        2: [1134, 533, 14, 4, 15, 1543, 1, 99, 27, 3345],
        3: [991, 3345, 27, 533, 43, 143, 1543, 156, 1134, 11],
    },
    "interactions": {1: [521, 32, 143], 2: [143, 156, 991, 43, 11], 3: [1, 2]},
}


NOTEBOOK_EXAMPLES: dict[int | None, dict[str, tuple[float, float]]] = {
    None: {"hit_rate": (1, 1), "precision": (0.2, 2 / 10), "recall": (0.5, 2 / 4)},
    5: {
        "hit_rate": (1, 1),
        "precision": (0.4, 2 / 5),
        "money_precision": (0.6984126984126984, 440 / 630),
        "map": (0.75, (1 + 2 / 4) / 4),  # standard divides by min(k, bought)
        "dcg": (0.3, 1 + D4),
        "ndcg": (0.0979877781342908, (1 + D4) / (1 + D2 + 1 / 2 + D4)),
    },
    10: {"recall": (0.5, 2 / 4), "money_precision": (0.4251207729468599, 440 / 1035)},
}


@pytest.mark.parametrize("k", NOTEBOOK_EXAMPLES)
def test_course_examples(k: int | None) -> None:
    expected = NOTEBOOK_EXAMPLES[k]
    of_notebook = {call: value for call, (value, _) in expected.items()}
    assert values(expected, k, convention="course", **NOTEBOOK) == exactly(of_notebook)
    of_standard = {call: value for call, (_, value) in expected.items()}
    assert values(expected, k, **NOTEBOOK) == exactly(of_standard)


def test_course_lists_are_rows_of_a_frame() -> None:
    """Lists without rank or score: the convention takes the order of rows."""
    pred = pd.DataFrame({"user_id": 1, "item_id": COURSE_LIST})
    tables = {"recommendations": pred, "interactions": {1: BOUGHT}, "convention": "course"}
    assert value("map", 5, **tables) == exactly(0.75)


def test_course_precisions_at_the_hits() -> None:
    """ap_k prints 1.0 and 0.5: the precision at the places of 143 and 991."""
    with sm.Evaluator(**NOTEBOOK, convention="course") as evaluator:
        frame = evaluator.evaluate(["precision"], k=[1, 4])
    assert frame["value"].tolist() == exactly([1.0, 0.5])


@pytest.mark.parametrize("k", [5, 10])
def test_course_map(k: int) -> None:
    """Its function always takes 5; at 10 the value is the same."""
    printed_by_user = {1: 1.0, 2: 0, 3: 0}
    assert users("map", k, convention="course", **THREE_USERS) == exactly(printed_by_user)
    assert value("map", k, convention="course", **THREE_USERS) == exactly(0.3333333333333333)
    assert value("map", k, **THREE_USERS) == exactly((1 / 3 + 0 + 0) / 3)


@pytest.mark.parametrize("convention", ["course", "standard"])
def test_course_reciprocal_ranks(convention: str) -> None:
    tables = THREE_USERS | {"convention": convention}
    assert users("mrr", 10, **tables) == exactly({1: 1.0, 2: 0, 3: 0})
    assert value("mrr", 10, **tables) == exactly(0.3333333333333333)
    # with its default k = 1 it is precision at 1
    assert value("mrr", 1, **tables) == exactly(value("precision", 1, **tables))


def test_course_ideal_dcg() -> None:
    """idial_dcg_at_k: five hits, with a rank counted from 0 in log2(rank + 1) from the third on."""
    all_bought = {"recommendations": {1: COURSE_LIST}, "interactions": {1: COURSE_LIST[:5]}}
    weights = [1.0, 0.5, 0.6309297535714575, 0.5, 0.43067655807339306]  # as it prints them
    assert sum(weights) / 5 == exactly(0.6123212623289701)
    found = value("dcg", 5, convention="course", **all_bought)
    assert found == exactly(0.6123212623289701)
    assert value("dcg", 5, **all_bought) == exactly(1 + D2 + 1 / 2 + D4 + D5)


def test_course_ndcg() -> None:
    """As printed, and without the third division by k."""
    expected = {"ndcg": 0.0979877781342908, "ndcg(extra_divisor=one)": 0.489938890671454}
    assert values(expected, 5, convention="course", **NOTEBOOK) == exactly(expected)
    assert value("ndcg", 5, **NOTEBOOK) == exactly(0.5585075862632192)


def test_course_dcg_of_the_text() -> None:
    """Its text has other weights than its code: 1, 1/2, 1/2, 1/log2(5), 1/log2(6)."""
    lists = {"bought": COURSE_LIST, "ideal": COURSE_LIST}
    truth = {"bought": BOUGHT, "ideal": COURSE_LIST[:5]}
    tables = {"recommendations": lists, "interactions": truth}
    found = users("dcg(discount=course_text, divisor=k)", 5, **tables)
    assert found == exactly({"bought": (1 + D4) / 5, "ideal": (2 + D4 + D5) / 5})
    against_itself = users("ndcg(discount=course_text, ideal=all_k)", 5, **tables)
    assert against_itself == exactly({"bought": 0.5077769820926182, "ideal": 1})


PRICES_OF_ALL = pd.DataFrame({"item_id": [*COURSE_LIST, 521, 32], "price": [*PRICES, 60.0, 100.0]})


@pytest.mark.parametrize("convention", ["course", "standard"])
def test_course_money_recall(convention: str) -> None:
    """Its text: revenue of relevant recommended items / revenue of relevant items."""
    tables = NOTEBOOK | {"items": PRICES_OF_ALL, "convention": convention}
    for k, found_for in ((3, 400), (4, 440), (5, 440), (10, 440)):
        assert value("money_recall", k, **tables) == exactly(found_for / (400 + 40 + 60 + 100))


def test_course_money_recall_needs_the_prices_of_what_was_bought() -> None:
    with pytest.raises(sm.DataError) as refused:
        value("money_recall", 5, **NOTEBOOK)
    assert "521" in str(refused.value)
    assert "32" in str(refused.value)
    ignored = NOTEBOOK | {"settings": {"missing_attributes": "ignore"}}
    assert value("money_recall", 3, **ignored) == exactly(400 / 440)


def test_course_money_of_worthless_lists_is_undefined() -> None:
    tables = {
        "recommendations": {1: ["a", "b"]},
        "interactions": {1: ["a", "c"]},
        "items": pd.DataFrame({"item_id": ["a", "b", "c"], "price": [0, 0, 5]}),
    }
    assert value("money_precision", 2, **tables) is None
    assert value("money_recall", 2, **tables) == 0


def test_course_auc_at_k() -> None:
    """It is named without a formula: hits at 1 and 4, two misses between them, one below."""
    assert value("roc_auc", 5, **NOTEBOOK) == exactly(1 - 2 / (3 * 2))


RANKED_PAIRS = {"x1": 1, "x2": 2, "x3": 3, "x4": 4, "x5": 5}


KENDALL_A, KENDALL_B, SPEARMAN = (
    "kendall_tau(variant=a)", "kendall_tau(variant=b)", "spearman_rho",
)  # fmt: skip
CORRELATIONS: dict[tuple[int, ...], dict[str, float]] = {
    (2, 1, 4, 3, 5): {KENDALL_A: 0.6, KENDALL_B: 0.6, SPEARMAN: 0.8},
    (1, 1, 2, 2, 3): {KENDALL_A: 0.8, KENDALL_B: 0.894427191, SPEARMAN: 0.948683298},
    # one less each: the lowest is judged not relevant, and counts as a pair all the same
    (0, 0, 1, 1, 2): {KENDALL_B: 0.894427191},
    (1, 0, 3, 2, 4): {SPEARMAN: 0.8},
}


@pytest.mark.parametrize("grades", CORRELATIONS, ids=str)
def test_course_rank_correlation(grades: tuple[int, ...]) -> None:
    tables = {
        "recommendations": {1: RANKED_PAIRS},
        "interactions": {1: dict(zip(RANKED_PAIRS, grades, strict=True))},
    }
    expected = pytest.approx(CORRELATIONS[grades], rel=0, abs=1e-9)
    assert values(CORRELATIONS[grades], **tables) == expected
    # the same with ranks: the best first
    best_first = tables | {"recommendations": {1: list(RANKED_PAIRS)[::-1]}}
    assert values(CORRELATIONS[grades], **best_first) == expected


def test_course_kendall_is_variant_a() -> None:
    best_first = list(RANKED_PAIRS)[::-1]
    tables = {
        "recommendations": {1: best_first},
        "interactions": {1: dict(zip(best_first, [3, 2, 2, 1, 1], strict=True))},
    }
    # of the 10 pairs 8 are concordant, 2 are ties
    assert value("kendall_tau", convention="course", **tables) == exactly(8 / 10)
    # n0 - n1 = 10, n0 - n2 = 8
    assert value("kendall_tau", **tables) == exactly(8 / math.sqrt(10 * 8))
    assert value("kendall_tau", 2, **tables) == exactly(1)  # x5 and x4: 3 above 2


@pytest.mark.parametrize("metric", ["kendall_tau", "kendall_tau(variant=a)", "spearman_rho"])
def test_course_rank_correlation_that_is_undefined(metric: str) -> None:
    grades = {"one": {"x1": 2}, "constant": {"x1": 2, "x2": 2}, "fine": {"x1": 1, "x2": 2}}
    lists = {user: ["x2", "x1"] for user in grades}
    assert users(metric, recommendations=lists, interactions=grades) == exactly({"fine": 1})


# items with grades 3, 0, 2 in this order; the highest grade of all is 3
CASCADE: dict[str, Any] = {
    "recommendations": {1: ["a", "b", "c"]},
    "interactions": {1: {"a": 1, "b": 0, "c": 2}, 2: {"z": 3}},
}


def test_course_expected_reciprocal_rank() -> None:
    """Satisfied with p = (2^g - 1) / 2^max: 1/8, 0, 3/8; user 2 has no list."""
    first, third = 1 / 8, (1 - 1 / 8) * 3 / 8
    assert users("err", 3, **CASCADE) == exactly({1: first + third / 3, 2: 0})
    assert users("err", 2, **CASCADE) == exactly({1: first, 2: 0})
    # a scale up to 4, as in gdeval: 1/16 and 3/16
    found = users("err(max_grade=4)", 3, **CASCADE)
    assert found == exactly({1: 1 / 16 + (1 - 1 / 16) * 3 / 16 / 3, 2: 0})


def test_course_pfound() -> None:
    """Yandex at ROMIP 2009: p = g / max, and 0.15 stop after each item for no reason."""
    p = {"a": 1 / 3, "b": 0, "c": 2 / 3}
    look_at_b = (1 - p["a"]) * 0.85
    look_at_c = look_at_b * (1 - p["b"]) * 0.85
    assert users("pfound", 3, **CASCADE) == exactly({1: p["a"] + look_at_c * p["c"], 2: 0})
    never_bored = (1 - p["a"]) * (1 - p["b"])
    found = users("pfound(break_probability=0)", 3, **CASCADE)
    assert found == exactly({1: p["a"] + never_bored * p["c"], 2: 0})
    found = users("pfound(max_grade=4)", 3, **CASCADE)
    assert found == exactly({1: 1 / 4 + (1 - 1 / 4) * 0.85 * 0.85 * 2 / 4, 2: 0})


# ================================================================ 004: the tutorial

TUTORIAL: dict[str, Any] = {
    "recommendations": {"A": [6, 2, 1, 0, 3], "B": [4, 1, 7, 2, 6]},
    "interactions": {"A": [2, 6], "B": [2, 6]},
}
LISTENS: dict[str, Any] = {
    "recommendations": TUTORIAL["recommendations"],
    "interactions": {"A": {2: 3, 6: 1}, "B": {2: 3, 6: 1}},
}


SYSTEMS_A_AND_B = {
    "precision": (0.4, 2 / 5),
    "recall": (1, 1),
    "f1": (0.5714285714285715, 4 / 7),
    "map": (1.0, (1 / 4 + 2 / 5) / 2),
    "mrr": (1, 1 / 4),
}


@pytest.mark.parametrize("convention", ["tutorial", "standard"])
def test_tutorial_systems_a_and_b(convention: str) -> None:
    for call, (of_a, of_b) in SYSTEMS_A_AND_B.items():
        found = users(call, 5, convention=convention, **TUTORIAL)
        assert found == exactly({"A": of_a, "B": of_b}), call
    # MAP_k, MRR_k: the mean over the batch
    means = {call: (of_a + of_b) / 2 for call, (of_a, of_b) in SYSTEMS_A_AND_B.items()}
    assert values(means, 5, convention=convention, **TUTORIAL) == exactly(means)


def test_tutorial_systems_as_two_models() -> None:
    systems = {
        name: pd.DataFrame({"user_id": "user", "item_id": items})
        for name, items in TUTORIAL["recommendations"].items()
    }
    with sm.Evaluator(systems, {"user": [2, 6]}, convention="tutorial") as evaluator:
        frame = evaluator.evaluate(["map"], k=5)
    found = dict(zip(frame["model"], frame["value"], strict=True))
    assert found == exactly({"A": 1, "B": 0.325})


def test_tutorial_precision_and_recall_in_one_call() -> None:
    """precision_recall_k counts the hits once; so does one statement with both metrics."""
    with sm.Evaluator(**TUTORIAL, convention="tutorial") as evaluator:
        frame = evaluator.per_user(["precision", "recall"], k=5, long=True)
        statement = evaluator.sql(["precision", "recall"], k=5)
    assert frame["precision"].tolist() == exactly([0.4, 0.4])
    assert frame["recall"].tolist() == exactly([1, 1])
    assert statement.count("hits AS") == 1


def test_tutorial_precision_recall_curve() -> None:
    """Precision and recall from 1 to k for both systems."""
    with sm.Evaluator(**TUTORIAL) as evaluator:
        frame = evaluator.per_user(["precision", "recall"], k=range(1, 6), long=True)
    curves = {user: rows.sort_values("k") for user, rows in frame.groupby("user_id")}
    assert curves["A"]["precision"].tolist() == exactly([1, 1, 2 / 3, 2 / 4, 2 / 5])
    assert curves["A"]["recall"].tolist() == exactly([1 / 2, 1, 1, 1, 1])
    assert curves["B"]["precision"].tolist() == exactly([0, 0, 0, 1 / 4, 2 / 5])
    assert curves["B"]["recall"].tolist() == exactly([0, 0, 0, 1 / 2, 1])


@pytest.mark.parametrize("convention", ["tutorial", "standard"])
def test_tutorial_lists_without_a_hit(convention: str) -> None:
    """0, where F1 divides by 0 and the mean of no precision is NaN."""
    tables = {"recommendations": {1: [1, 2], 2: [1, 2]}, "interactions": {1: [9], 2: [1, 2]}}
    for call in ("f1", "map", "mrr"):
        assert users(call, 2, convention=convention, **tables) == exactly({1: 0, 2: 1})


def test_tutorial_best_possible_values() -> None:
    """Fewer liked items than k: precision stays below 1; more: recall does."""
    tables = {"recommendations": {1: [1, 2, 3]}, "interactions": {1: [1, 2]}}
    assert value("precision", 3, **tables) == exactly(2 / 3)
    assert value("recall", 1, **tables) == exactly(1 / 2)


def test_tutorial_average_precision_divides_by_the_hits() -> None:
    """The first of two relevant songs on top and the other not found: 1 there, 1/2 here."""
    tables = {"recommendations": {1: [2, 0, 1]}, "interactions": {1: [2, 6]}}
    assert value("map", 3, convention="tutorial", **tables) == 1
    assert value("map", 3, **tables) == exactly(1 / 2)


@pytest.mark.parametrize(
    ("k", "of_a", "of_b"),
    [
        (5, 0.7967075809905066, 0.46238363047462905),
        (None, 0.7967075809905066, 0.46238363047462905),  # without k the function fails
        (1, 1 / 3, 0),
    ],
)
def test_tutorial_ndcg_of_listen_counts(k: int | None, of_a: float, of_b: float) -> None:
    found = users("ndcg", k, convention="tutorial", **LISTENS)
    assert found == exactly({"A": of_a, "B": of_b})
    if k != 1:
        assert found["A"] == exactly((1 + 3 * D2) / (3 + D2))
        assert found["B"] == exactly((3 * D4 + D5) / (3 + D2))
    # standard takes every liked song for the same
    binary = {"A": 1, "B": 0 if k == 1 else (D4 + D5) / (1 + D2)}
    assert users("ndcg", k, **LISTENS) == exactly(binary)


def test_tutorial_dcg_of_listen_counts() -> None:
    found = users("dcg", 5, convention="tutorial", **LISTENS)
    assert found == exactly({"A": 1 + 3 * D2, "B": 3 * D4 + D5})


def test_tutorial_coverage() -> None:
    """In a comment of its source: recommended items / all items, without held-out data."""
    lists, everything = {1: [1, 2], 2: [2, 3]}, set(range(1, 9))
    settings = {"catalogue": "items"}
    found = value("coverage", recommendations=lists, items=everything, settings=settings)
    assert found == exactly(3 / 8)


# ================================================================ one table, other systems

# scores and grades; u2 short, u4 without interactions, u5 without a list, u6 more relevant than 3
SYSTEMS: dict[str, Any] = {
    "recommendations": {
        "u1": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1},
        "u2": {"b": 5, "c": 4},
        "u3": {"a": 5, "b": 4, "c": 3},
        "u4": {"a": 5, "b": 4, "c": 3},
        "u6": {"d": 5, "a": 4, "e": 3, "b": 2},
    },
    "interactions": {
        "u1": {"a": 3, "c": 1, "e": 2, "z": 1},
        "u2": {"c": 2},
        "u3": {"y": 1},
        "u5": {"a": 1, "b": 1},
        "u6": {"d": 1, "e": 3, "x": 2, "y": 1, "z": 1},
    },
}


def test_numbers_of_other_systems() -> None:
    expected = {
        "roc_auc": "(1/2 + 0 + 0 + 0 + 1/2) / 5",  # RePlay
        "err(max_grade=4)": "(7/16 + 9/16 * 1/16 / 3 + 3/16 / 2 + 1/16 + 15/16 * 7/16 / 3) / 5",
        "err": "(7/8 + 1/8 * 1/8 / 3 + 3/8 / 2 + 1/8 + 7/8 * 7/8 / 3) / 5",
        "pfound": "(1 + 17/20 * 2/3 + 1/3 + 2/3 * (17/20) ** 2) / 5",
        "precision(aggregate=half_width)": "1.9599639845400545 * (1/3) / sqrt(5)",  # RePlay 0.13
    }
    found = values(expected, 3, **SYSTEMS)
    assert found == numbers(expected)
    digits = ["0.2", "0.148438", "0.289583333333", "0.476333333333", "0.2921741801922"]
    assert list(found.values()) == [printed(text) for text in digits]


def test_roc_auc_of_repeated_items() -> None:
    """RePlay 0.13 keeps them: a, a, b has no miss above a hit."""
    tables = {
        "recommendations": pd.DataFrame(
            {"user_id": "u", "item_id": ["a", "a", "b", "c"], "score": [5, 4, 3, 2]}
        ),
        "interactions": {"u": ["a", "c"]},
    }
    settings = {"duplicate_recommendations": "keep"}
    assert value("roc_auc", 3, settings=settings, **tables) == 1
