"""Estimates of what a new policy would have earned: numbers worked by hand, errors, refusals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from fractions import Fraction
from statistics import NormalDist, mean
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import RowsError
from sqlmetrics.stats.decisions import ATTRIBUTE
from tests.support.evaluators import Evaluator

stats = pytest.importorskip("scipy.stats")

Z = NormalDist().inv_cdf(0.975)
USERS = ["u1", "u1", "u2", "u2", "u3", "u3", "u3"]
ITEMS, REWARDS = list("abcabca"), [1, 0, 1, 0, 1, 0, 2]
PROPENSITIES = [1 / 2, 1 / 4, 1 / 5, 2 / 5, 3 / 10, 1 / 2, 1 / 10]
LOGS = pd.DataFrame(
    {
        "round_id": range(1, 8),
        "user_id": USERS,
        "item_id": ITEMS,
        "reward": REWARDS,
        "propensity": PROPENSITIES,
        "country": ["FR", "FR", "DE", "DE", "FR", "DE", None],
    }
)
PREDICTED = {
    "u1": [1 / 2, 1 / 4, 1 / 4],
    "u2": [1 / 10, 3 / 10, 3 / 5],
    "u3": [1 / 5, 2 / 5, 1 / 5],
}
STOCHASTIC = {"u1": [1 / 4, 1 / 2, 1 / 4], "u2": [0, 1 / 5, 4 / 5], "u3": [3 / 10, 3 / 10, 2 / 5]}
DETERMINISTIC = {"u1": [0.0, 1, 0], "u2": [0, 0, 1], "u3": [1, 0, 0]}


def policy(probabilities: Mapping[str, list[float]]) -> pd.DataFrame:
    """Return the probabilities and predictions of the items a, b and c in every round."""
    rows = [
        (number, item, probability, predicted)
        for number, user in enumerate(USERS, start=1)
        for item, probability, predicted in zip(
            "abc", probabilities[user], PREDICTED[user], strict=True
        )
    ]
    return pd.DataFrame(rows, columns=["round_id", "item_id", "probability", "predicted"])


POLICIES = {"stochastic": policy(STOCHASTIC), "deterministic": policy(DETERMINISTIC)}
LISTS = pd.DataFrame({"user_id": ["u1", "u2", "u3"], "item_id": ["b", "c", "a"], "rank": 1})
# exact values; standard errors by rounds and by users, worked with fractions outside the package
EXACT: dict[str, dict[str, tuple[str, float | None, float | None]]] = {
    "stochastic": {
        "ipw": ("23/14", 0.9044485672963133, 0.6201026369076937),
        "snipw": ("115/113", 0.32509738508816943, 0.3189042146241823),
        "dm": ("71/200", 0.048584119490494695, 0.08305702491514552),
        "dr": ("387/280", 0.7658753217746354, 0.6018935914762882),
        "sndr": ("22403/22600", 0.4730310689928201, None),
        "beta_ipw": ("12316/13713", 0.5453277383920415, None),
        "ipw(max_weight=1)": ("9/14", 0.28272243064375996, None),
        "ipw(max_weight=2)": ("15/14", 0.5609151899709404, None),
        "dr(max_weight=1)": ("41/56", 0.2552533921766508, None),
        "dr(max_weight=2)": ("283/280", 0.510302406341933, None),
        "dr(weights=switch, lambda=1)": ("127/280", 0.09441211765013892, None),
        "dr(weights=switch, lambda=2)": ("107/280", 0.13181248921450944, None),
        "dr(weights=shrink, lambda=1)": ("95393/195160", 0.08578328240390069, None),
        "ipw(weights=subgaussian, lambda=0.5)": ("94/105", 0.4195883956554417, None),
        "dr(weights=subgaussian, lambda=0.5)": ("2249/2520", 0.37903691516287097, None),
        "importance_weight": ("113/70", None, None),
        "importance_weight(aggregate=max)": ("4", None, None),
        "ess": ("12769/3089", None, None),
        "matched_rounds": ("6/7", None, None),
    },
    "deterministic": {
        "ipw": ("25/7", 2.8272243064375995, 2.083732434353279),
        "snipw": ("25/19", 0.46186515236933706, 0.5656669766388404),
        "dm": ("23/70", 0.07059031943035045, 0.11971436225357114),
        "dr": ("213/70", 2.5553498635549046, 2.080572959563456),
        "sndr": ("93/70", 0.9337383516010093, None),
        "beta_ipw": ("325/427", 1.2034334088038412, None),
        "ipw(max_weight=1)": ("3/7", 0.2973808570665904, None),
        "ipw(max_weight=2)": ("6/7", 0.5947617141331808, None),
        "dr(max_weight=1)": ("17/28", 0.26377041140350216, None),
        "dr(max_weight=2)": ("31/35", 0.5226665018047776, None),
        "dr(weights=switch, lambda=1)": ("23/70", 0.07059031943035045, None),
        "dr(weights=shrink, lambda=1)": ("557203/1562470", 0.07716608339950029, None),
        "ipw(weights=subgaussian, lambda=0.5)": ("25/33", 0.5341542285390938, None),
        "dr(weights=subgaussian, lambda=0.5)": ("1927/2310", 0.4710186981097498, None),
        "replay": ("1", None, None),
        "importance_weight": ("19/7", None, None),
        "importance_weight(aggregate=max)": ("10", None, None),
        "ess": ("361/141", None, None),
        "matched_rounds(aggregate=sum)": ("3", None, None),
    },
}
WEIGHTS = [1 / 2, 2, 4, 0, 1, 4 / 5, 3]  # of the rounds under the stochastic policy
# that do not read predictions, so that lists have them, too
OF_WEIGHTS = ["ipw", "snipw", "beta_ipw", "replay", "ess", "matched_rounds"]
ALL = ["ipw", "snipw", "beta_ipw", "dm", "dr", "sndr", "importance_weight", "ess", "matched_rounds"]


def evaluate(metrics: Any, call: Mapping[str, Any] | None = None, **tables: Any) -> pd.DataFrame:
    """Evaluate metrics of small tables, of which checks would warn."""
    with Evaluator(**{"logs": LOGS, **tables}) as evaluator, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fewer than 30 clusters")
        return evaluator.evaluate(metrics, **(call or {}))


@pytest.mark.parametrize("name", EXACT)
def test_values_and_errors_are_exact(name: str) -> None:
    """The values agree with Open Bandit Pipeline 0.5.7, which has no errors of clusters."""
    expected = EXACT[name]
    found = evaluate([*expected], policy=POLICIES[name])
    by_user = evaluate([*expected], {"cluster": "user_id"}, policy=POLICIES[name])
    t = stats.t.ppf(0.975, 2)
    for number, (value, error, of_users) in enumerate(expected.values()):
        assert found["value"][number] == pytest.approx(float(Fraction(value)), abs=1e-12)
        if error is not None:
            width = found["ci_high"][number] - found["value"][number]
            assert width / Z == pytest.approx(error, abs=1e-12)
        if of_users is not None:
            width = by_user["ci_high"][number] - by_user["value"][number]
            assert width / t == pytest.approx(of_users, rel=1e-11)
            assert by_user["n_clusters"][number] == 3


@pytest.mark.parametrize("given", ["policy", "lists", "column", "lists without rounds"])
def test_the_policy_can_be_given_in_every_way(given: str) -> None:
    chosen = LOGS["item_id"] == LOGS["user_id"].map({"u1": "b", "u2": "c", "u3": "a"})
    tables: dict[str, Any] = {
        "policy": {"policy": POLICIES["deterministic"]},
        "lists": {"recommendations": LISTS},
        "column": {"logs": LOGS.assign(target_propensity=chosen.astype(float))},
        "lists without rounds": {"recommendations": LISTS, "logs": LOGS.drop(columns="round_id")},
    }[given]
    found = evaluate(OF_WEIGHTS, **tables).set_index("metric")["value"]
    expected = [25 / 7, 25 / 19, 325 / 427, 1, 361 / 141, 3 / 7]
    assert found.tolist() == pytest.approx(expected, abs=1e-12)


def test_a_policy_of_rounds_may_have_their_users() -> None:
    users = POLICIES["stochastic"]["round_id"].map(dict(zip(range(1, 8), USERS, strict=True)))
    found = evaluate("ipw", policy=POLICIES["stochastic"].assign(user_id=users))["value"].item()
    assert found == pytest.approx(23 / 14, abs=1e-12)


def test_the_policy_of_users_is_that_of_all_their_rounds() -> None:
    of_users = POLICIES["stochastic"].assign(
        user_id=POLICIES["stochastic"]["round_id"].map(dict(zip(range(1, 8), USERS, strict=True)))
    )
    of_users = of_users.drop(columns="round_id").drop_duplicates()
    found = evaluate(["ipw", "dr"], policy=of_users)["value"].tolist()
    assert found == pytest.approx([23 / 14, 387 / 280], abs=1e-12)


@pytest.mark.parametrize("label", ["FR", "DE", "(none)"])
def test_a_slice_has_the_values_of_its_rounds_alone(label: str) -> None:
    """Also baselines and mean weights are those of the slice."""
    both = pd.concat(one.assign(model=name) for name, one in POLICIES.items())
    sliced = evaluate(ALL, {"by": "country"}, policy=both).query(f"country == '{label}'")
    in_slice = LOGS["country"].fillna("(none)") == label
    alone = evaluate(ALL, policy=both, logs=LOGS[in_slice])
    columns = ["model", "metric", "value", "n_users", "std", "ci_low", "ci_high"]
    pd.testing.assert_frame_equal(
        sliced[columns].reset_index(drop=True), alone[columns], rtol=1e-12, atol=1e-12
    )


def test_slices_by_users_and_by_columns_of_users() -> None:
    users = pd.DataFrame({"user_id": ["u1", "u2", "u3"], "plan": ["free", "paid", "paid"]})
    tables = {"policy": POLICIES["stochastic"], "users": users}
    found = evaluate("snipw", {"by": "plan"}, **tables).set_index("plan")["value"]
    # weights 1/2, 2 of u1, and 4, 0, 1, 4/5, 3 of the others
    assert found.to_dict() == pytest.approx({"free": 0.5 / 2.5, "paid": (4 + 1 + 6) / 8.8})
    found = evaluate("ipw", {"by": "user_id"}, **tables).set_index("user_id")["value"]
    assert found.to_dict() == pytest.approx({"u1": 0.5 / 2, "u2": 4 / 2, "u3": (1 + 6) / 3})


@pytest.mark.parametrize("has_rounds", [True, False])
def test_slices_by_activity_are_those_of_the_users_of_rounds(has_rounds: bool) -> None:
    history = pd.DataFrame({"user_id": ["u1", "u3", "u3"], "item_id": ["a", "a", "b"]})
    logs = LOGS.assign(
        target_propensity=[w * p for w, p in zip(WEIGHTS, PROPENSITIES, strict=True)]
    )
    tables = {"history": history, "logs": logs if has_rounds else logs.drop(columns="round_id")}
    found = evaluate("ipw", {"by": "activity(warm_from=2)"}, **tables)
    of_slices = found.set_index("activity")["value"].to_dict()
    expected = {"cold": 0.5 / 2, "new": 4 / 2, "warm": (1 + 6) / 3}  # u1, u2 and u3
    assert of_slices == pytest.approx(expected)
    found = evaluate("snipw", {"by": "activity_group(groups=2)"}, **tables)
    of_slices = found.set_index("activity_group")["value"].to_dict()
    expected = {"1: 1 to 1 items": 0.5 / 2.5, "2: 2 to 2 items": 7 / 4.8, "new": 4 / 4}
    assert of_slices == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:.*fewer than 30 clusters")
def test_policies_are_compared_round_by_round() -> None:
    with Evaluator(logs=LOGS, policy=POLICIES) as evaluator:
        found = evaluator.compare(["ipw", "snipw"], baseline="deterministic")
        clustered = evaluator.compare("snipw", baseline="deterministic", cluster="user_id")
        rounds = evaluator.per_user(["ipw", "snipw"])
    weights = {
        "stochastic": WEIGHTS,
        "deterministic": [0, 4, 5, 0, 0, 0, 10],
    }

    def influence(name: str) -> list[float]:
        own = weights[name]
        rate = sum(w * r for w, r in zip(own, REWARDS, strict=True)) / sum(own)
        return [rate + w * (r - rate) / mean(own) for w, r in zip(own, REWARDS, strict=True)]

    of_ipw = [
        (weights["stochastic"][i] - weights["deterministic"][i]) * r for i, r in enumerate(REWARDS)
    ]
    of_snipw = [a - b for a, b in zip(influence("stochastic"), influence("deterministic"),
                                      strict=True)]  # fmt: skip
    for row, differences in enumerate((of_ipw, of_snipw)):
        expected = stats.ttest_1samp(differences, 0)
        low, high = expected.confidence_interval(0.95)
        assert found["difference"][row] == pytest.approx(mean(differences), abs=1e-12)
        assert found["ci_low"][row] == pytest.approx(low, abs=1e-9)
        assert found["ci_high"][row] == pytest.approx(high, abs=1e-9)
        assert found["p_value"][row] == pytest.approx(expected.pvalue, abs=1e-9)
    assert found["value"][1] == pytest.approx(115 / 113, abs=1e-12)
    residual = [
        sum(d - mean(of_snipw) for d, user in zip(of_snipw, USERS, strict=True) if user == one)
        for one in ("u1", "u2", "u3")
    ]
    error = math.sqrt(3 / 2 * sum(e * e for e in residual)) / 7
    width = clustered["ci_high"][0] - clustered["difference"][0]
    assert width == pytest.approx(error * stats.t.ppf(0.975, 2), rel=1e-9)
    assert rounds.columns.tolist() == ["model", "round_id", "user_id", "ipw", "snipw"]
    own = rounds[rounds["model"] == "stochastic"]["ipw"]
    assert own.tolist() == pytest.approx([0.5, 0, 4, 0, 1, 0, 6])


@pytest.mark.parametrize(
    ("tables", "remedy"),
    [
        ({"policy": POLICIES["stochastic"]}, "policy={'NAME': …} for each, or a column model"),
        ({"recommendations": LISTS}, "recommendations={'NAME': …} for each, or a column model"),
        (
            {"logs": LOGS.assign(target_propensity=0.5)},
            "policy={'NAME': …} for each, or a column model, in place of the column "
            "target_propensity of the logs",
        ),
    ],
)
def test_one_policy_has_nothing_to_be_compared_with(tables: dict[str, Any], remedy: str) -> None:
    with Evaluator(**{"logs": LOGS, **tables}) as evaluator:
        for refused in (evaluator.compare, evaluator.leaderboard):
            with pytest.raises(sm.UsageError) as caught:
                refused("ipw")
            assert str(caught.value) == f"a comparison needs several models; give {remedy}"


def test_a_gate_on_the_effective_sample_size() -> None:
    with (
        Evaluator(logs=LOGS, policy=POLICIES["stochastic"]) as evaluator,
        pytest.raises(sm.GateError, match="ess"),
    ):
        evaluator.evaluate(["ipw", "ess"], fail_if="ess < 100")


# ---------------------------------------------------------------- positions and slates

SHOWN = pd.DataFrame(
    [
        ("q1", "u1", "a", 1, 1), ("q1", "u1", "b", 2, 0), ("q1", "u1", "c", 3, 1),
        ("q2", "u2", "b", 1, 0), ("q2", "u2", "d", 2, 1), ("q2", "u2", "a", 3, 0),
        ("q3", "u2", "a", 1, 1), ("q3", "u2", "c", 2, 0), ("q3", "u2", "d", 3, 0),
    ],
    columns=["request_id", "user_id", "item_id", "position", "reward"],
)  # fmt: skip
NEW = pd.DataFrame(
    [(q, i, r) for q, items in (("q1", "cae"), ("q2", "dba"), ("q3", "dcb"))
     for r, i in enumerate(items, start=1)],
    columns=["request_id", "item_id", "rank"],
)  # fmt: skip
THETA = {1: 1.0, 2: 1 / math.log2(3), 3: 1 / 2}


def by_positions(metrics: Any, logs: pd.DataFrame = SHOWN, **call: Any) -> pd.DataFrame:
    with Evaluator(NEW, logs=logs, key="request_id") as evaluator, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fewer than 30 clusters")
        return evaluator.evaluate(metrics, **call)


def test_clicks_at_new_positions() -> None:
    """q1: c from 3 to 1 and a from 1 to 2; q2: d from 2 to 1; q3: a is not in the new list."""
    of_requests = [THETA[1] / THETA[3] + THETA[2] / THETA[1], THETA[1] / THETA[2], 0]
    found = by_positions(["position_ips", "position_ips@1", "position_ips(statistic=support)"])
    expected = [mean(of_requests), (2 + THETA[1] / THETA[2]) / 3, 7 / 9]
    assert found["value"].tolist() == pytest.approx(expected, abs=1e-12)
    assert found["std"][0] / math.sqrt(3) == pytest.approx(0.7647782899839898, abs=1e-12)
    found = by_positions(["position_ips(max_weight=1)", "position_ips(examination=geometric)"])
    geometric = [0.8**-2 + 0.8, 0.8**-1, 0]
    expected = [(1 + THETA[2] + 1) / 3, mean(geometric)]
    assert found["value"].tolist() == pytest.approx(expected, abs=1e-12)


def test_the_examination_of_the_logs() -> None:
    examined = SHOWN.assign(examination=SHOWN["position"].map({1: 0.9, 2: 0.5, 3: 0.2}))
    found = by_positions("position_ips(examination=column)", examined)["value"].item()
    assert found == pytest.approx((0.9 / 0.2 + 0.5 / 0.9 + 0.9 / 0.5) / 3, abs=1e-12)


def test_positions_by_users_in_clusters_and_slices() -> None:
    found = by_positions("position_ips", cluster="user_id")
    assert found["n_clusters"].item() == 2
    found = by_positions("position_ips", by="user_id").set_index("user_id")["value"]
    first, second = THETA[1] / THETA[3] + THETA[2], THETA[1] / THETA[2] / 2
    assert found.to_dict() == pytest.approx({"u1": first, "u2": second}, abs=1e-12)


SLATES = pd.DataFrame(
    [
        (1, "u1", 0, 1, 1, 1 / 2, 3 / 4, 1 / 2, 3 / 4),
        (1, "u1", 1, 2, 0, 1 / 2, 1 / 2, 1 / 2, 1 / 4),
        (2, "u1", 1, 1, 0, 1 / 2, 1 / 4, 1 / 2, 1 / 4),
        (2, "u1", 0, 2, 1, 1 / 2, 1 / 2, 1 / 2, 3 / 4),
        (3, "u2", 0, 1, 1, 2 / 3, 1 / 2, 2 / 3, 1 / 2),
        (3, "u2", 0, 2, 1, 1 / 3, 1 / 2, 1 / 3, 1 / 2),
    ],
    columns=["round_id", "user_id", "item_id", "position", "reward", "at_position",
             "new_at_position", "given_prefix", "new_given_prefix"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "propensity", "value", "error", "normalised"),
    [
        ("iips", "at_position", "19/12", 0.36324157862838946, "38/25"),
        ("rips", "given_prefix", "11/8", 0.33071891388307384, "66/43"),
    ],
)
def test_slates(metric: str, propensity: str, value: str, error: float, normalised: str) -> None:
    """The weights are 3/2, 1; 1/2, 1; 3/4, 3/2 by position, and 3/2, 3/4; 1/2, 3/4; 3/4, 9/8."""
    columns = {"logs.propensity": propensity, "logs.target_propensity": f"new_{propensity}"}
    found = evaluate([metric, f"{metric}(divisor=weights)"], logs=SLATES, columns=columns)
    expected = [float(Fraction(value)), float(Fraction(normalised))]
    assert found["value"].tolist() == pytest.approx(expected, abs=1e-12)
    assert found["n_users"].tolist() == [3, 3]
    assert (found["ci_high"][0] - found["value"][0]) / Z == pytest.approx(error, abs=1e-12)
    clustered = evaluate(metric, {"cluster": "user_id"}, logs=SLATES, columns=columns)
    assert clustered["n_clusters"].item() == 2


# ---------------------------------------------------------------- refusals


def changed(frame: pd.DataFrame, column: str, value: float) -> pd.DataFrame:
    """Put another value into the first row."""
    return frame.assign(**{column: [value, *frame[column].iloc[1:].astype(float)]})


POLICY = POLICIES["stochastic"]
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a reward is NULL": ({"logs": changed(LOGS, "reward", math.nan)}, "logs, column reward: 1 "),
    "a propensity of 0": (
        {"logs": changed(LOGS, "propensity", 0)},
        "logs, column propensity: 1 propensity is",
    ),
    "a propensity above 1": (
        {"logs": changed(LOGS, "propensity", 1.5)},
        "logs, column propensity: 1 propensity is",
    ),
    "no propensities": ({"logs": LOGS.drop(columns="propensity")}, "needs the column propensity"),
    "probabilities sum to 1.05": (
        {"policy": changed(POLICY, "probability", 0.3)},
        r"policy, column probability: the probabilities of 1 round do not sum to 1(.|\n)*1\.05",
    ),
    "a probability above 1": (
        {"policy": changed(POLICY, "probability", 3)},
        "policy, column probability: 1 value is NULL, NaN, below 0 or above 1",
    ),
    "a score": (
        {"policy": POLICY.rename(columns={"probability": "score"})},
        "a score is not a probability",
    ),
    "a prediction is NULL": (
        {"policy": changed(POLICY, "predicted", math.nan)},
        "policy, column predicted: 1 predicted reward is NULL",
    ),
    "no predictions": ({"policy": POLICY.drop(columns="predicted")}, "needs the column predicted"),
    "rounds without a policy": (
        {"policy": POLICY[POLICY["round_id"] > 2]},
        r"logs: the new policy has no row for 2 rounds(.|\n)* 1 +u1\n",
    ),
    "rounds of other users": (
        {"policy": POLICY.assign(user_id=["u1"] * 9 + ["u2"] * 3 + ["u3"] * 9)},
        r"policy: 1 round has another user than in the logs(.|\n)* 3 +u1\n",
    ),
    "rounds that repeat": (
        {"logs": pd.concat([LOGS, LOGS.head(1)])},
        r"logs, column round_id: 1 round has several rows",
    ),
    "items that repeat": (
        {"policy": pd.concat([POLICY, POLICY.head(1)])},
        "policy: 1 item is repeated in a round",
    ),
    "round ids of another type": (
        {"policy": POLICY.assign(round_id=POLICY["round_id"].astype(str))},
        "logs and policy: the ids in column round_id have different types",
    ),
    "item ids of another type": (
        {"policy": POLICY.assign(item_id=1)},
        "logs and policy: the ids in column item_id have different types",
    ),
    "a policy without a key": (
        {"policy": POLICY.drop(columns="round_id")},
        "neither a column round_id nor user_id",
    ),
    "logs without rounds": (
        {"logs": LOGS.drop(columns="round_id")},
        "the policy has a column round_id, but the logs do not",
    ),
    "a policy twice": (
        {"logs": LOGS.assign(target_propensity=0.5)},
        "the new policy is given twice",
    ),
    "predictions without a policy, in place of lists": (
        {"policy": None, "recommendations": LISTS},
        r"Give the table with policy=… .*, in place of the lists",
    ),
    "predictions without a policy, in place of a column": (
        {"policy": None, "logs": LOGS.assign(target_propensity=0.5)},
        r"Give the table with policy=… .*, in place of the column target_propensity of the logs",
    ),
    "rounded probabilities": (
        {"policy": POLICY.assign(probability=POLICY["probability"].replace(0.25, 0.2499))},
        r"divide rounded ones, with a sum such as 0\.9999, by their sum",
    ),
    "no policy": ({"policy": None}, "no new policy is given"),
    "a probability in the logs above 1": (
        {"logs": LOGS.assign(target_propensity=[1.5] + [0.5] * 6), "policy": None},
        "logs, column target_propensity: 1 value is NULL, NaN, below 0 or above 1",
    ),
    "a user without a list": (
        {"policy": None, "recommendations": LISTS.head(2)},
        "logs: the new policy has no row for 3 rounds",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_tables_are_refused(what: str) -> None:
    tables, message = BROKEN[what]
    has_predictions = tables.get("policy", POLICY) is not None or what.startswith("predictions")
    metrics = ["ipw", "dr"] if has_predictions else ["ipw"]
    with pytest.raises(sm.SqlmetricsError, match=message):
        evaluate(metrics, **{"policy": POLICY, **tables})


@pytest.mark.parametrize(
    ("metrics", "call", "message"),
    [
        (["ipw@3"], {}, "has no cutoff"),
        (["ipw"], {"k": 3}, "has no cutoff"),
        (["ipw", "ctr"], {}, "ipw has a value per round of the logs, ctr has one per list"),
        (["dr(weights=switch)"], {}, "needs the setting lambda"),
        (["dr(lambda=2)"], {}, "no effect without weights=switch"),
        (["ipw(weights=subgaussian, lambda=2)"], {}, "lambda of at most 1"),
        (["ipw"], {"by": "nothing"}, "columns of logs: .*; slices: activity, activity_group$"),
        (["ipw"], {"by": "month"}, "^by: month has slices of items; rounds of the logs have no "),
        (["ipw"], {"by": "items.category"}, "^by: category has slices of items; rounds of the"),
        (["ipw"], {"by_item": "category"}, "^by_item: rounds of the logs have no relevant items"),
    ],
)
def test_requests_are_refused(metrics: list[str], call: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.UsageError, match=message):
        evaluate(
            metrics, call, policy=POLICY, items=pd.DataFrame({"item_id": ["a"], "category": ["x"]})
        )


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        (SHOWN.assign(position=SHOWN["position"] - 1), "3 positions are NULL, below 1"),
        (pd.concat([SHOWN, SHOWN.head(1)]), "1 item is repeated for a user"),
        (SHOWN.drop(columns="position"), "needs the column position"),
    ],
)
def test_broken_positions_are_refused(logs: pd.DataFrame, message: str) -> None:
    with pytest.raises(sm.SqlmetricsError, match=message):
        by_positions("position_ips", logs)


@pytest.mark.parametrize(
    ("examination", "message"),
    [
        ([0, 0.5, 0.2] * 3, "3 values are NULL, NaN, not above 0 or above 1"),
        ([0.9, 0.5, 0.2, *[0.8, 0.5, 0.2] * 2], "1 position has several values"),
    ],
)
def test_broken_examinations_are_refused(examination: list[float], message: str) -> None:
    with pytest.raises(sm.DataError, match=message):
        by_positions("position_ips(examination=column)", SHOWN.assign(examination=examination))


@pytest.mark.parametrize("metric", ["iips", "rips"])
@pytest.mark.parametrize(
    ("changes", "message", "examples"),
    [
        (
            {"position": 1},
            "3 positions of slates have several items",
            [{"round_id": number, "position": 1, "n_items": 2} for number in (1, 2, 3)],
        ),
        (
            {"position": [1, 3, 1, 2, 2, 4]},
            "2 slates lack items at a position above the last one",
            [{"round_id": 1, "n_positions": 2, "last_position": 3},
             {"round_id": 3, "n_positions": 2, "last_position": 4}],
        ),
        (
            {"user_id": ["u1", "u2", "u1", "u1", "u2", "u2"], "position": [1, 3, 1, 2, 1, 2]},
            "1 slate has several users, or no id",
            [{"round_id": 1, "n_users": 2}],
        ),
        (
            {"round_id": [1, 1, 2, 2, None, None]},
            "1 slate has several users, or no id",
            [{"round_id": None, "n_users": 1}],
        ),
    ],
)  # fmt: skip
def test_broken_slates_are_refused(
    metric: str, changes: dict[str, Any], message: str, examples: list[dict[str, Any]]
) -> None:
    columns = {"logs.propensity": "at_position", "logs.target_propensity": "new_at_position"}
    with pytest.raises(RowsError, match=message) as caught:
        evaluate(metric, logs=SLATES.assign(**changes), columns=columns)
    assert [*caught.value.examples] == examples


def test_weights_are_checked() -> None:
    """A mean weight far from 1, few effective rounds, and replay of unequal propensities."""
    many = pd.concat([LOGS.assign(round_id=range(7 * n, 7 * n + 7)) for n in range(60)])
    with pytest.warns(sm.DataWarning) as warned, sm.Evaluator(LISTS, logs=many) as evaluator:
        evaluator.evaluate(["ipw", "replay"])
    texts = [str(one.message) for one in warned]
    assert any("the mean weight of the rounds is 2.714, with a standard" in one for one in texts)
    assert any("propensities are between 0.1 and 0.5; replay" in one for one in texts)
    with pytest.warns(sm.DataWarning, match="effective sample size of 2.6; the largest weight is"):
        sm.Evaluator(LISTS, logs=LOGS).evaluate("ipw")


def test_check_looks_at_rounds_without_a_metric() -> None:
    few = "effective sample size of"
    with Evaluator(logs=LOGS, policy=POLICIES["stochastic"]) as evaluator:
        assert evaluator.check()["found"].str.contains(few).sum() == 1
    own = LOGS.assign(target_propensity=LOGS["propensity"])
    with Evaluator(logs=own) as evaluator:
        assert evaluator.check()["found"].str.contains(f"{few} 7;").sum() == 1


def test_sentences_about_policies_count_rounds() -> None:
    with Evaluator(logs=LOGS, policy=POLICIES) as evaluator:
        frame = evaluator.compare("ipw", baseline="deterministic")
    (sentence,) = frame.attrs[ATTRIBUTE]
    assert "; with these 7 rounds, only differences above" in sentence


def test_warnings_about_one_round() -> None:
    """It has no standard error, by which its weight could be compared with 1."""
    with pytest.warns(sm.DataWarning) as warned, sm.Evaluator(LISTS, logs=LOGS.head(1)) as one:
        one.evaluate("ipw")
    (text,) = (str(one.message) for one in warned)
    assert "the weights of 1 round have an effective sample size of 0; the largest" in text


def test_every_model_has_its_own_warnings() -> None:
    with pytest.warns(sm.DataWarning) as warned, sm.Evaluator(logs=LOGS, policy=POLICIES) as many:
        many.evaluate("ipw")
    texts = [str(one.message) for one in warned]
    assert len(texts) == 2
    assert "7 rounds of deterministic have an effective sample size of 2.6;" in texts[0]
    assert "7 rounds of stochastic have an effective sample size of 4.1;" in texts[1]


@pytest.mark.parametrize(
    ("targets", "beta"),
    [
        ([0.5, 0.5, 0.75], "undefined"),  # weights 1/2, 1/2, 3/4: -1/4 - 1/4 - 3/16
        ([0.5, 0.5, 1.5], "3.0"),  # 3/4 · 1 / (-1/4 - 1/4 + 3/4)
        ([0.5, 0.5, 2], "1.333"),  # 2 · 1 / (-1/4 - 1/4 + 2)
    ],
)
def test_a_baseline_that_is_no_possible_reward(targets: list[float], beta: str) -> None:
    logs = pd.DataFrame({
        "round_id": [1, 2, 3], "user_id": [1, 2, 3], "item_id": 1, "reward": [0, 0, 1],
        "propensity": [0.5] * 3, "target_propensity": [one / 2 for one in targets],
    })  # fmt: skip
    with pytest.warns(sm.DataWarning) as warned, sm.Evaluator(logs=logs) as evaluator:
        evaluator.evaluate(["ipw", "beta_ipw"])
    (text,) = (str(one.message) for one in warned if "beta_ipw" in str(one.message))
    assert f"β of beta_ipw, over all rounds and with uncut weights, is {beta}, and the rew" in text
    assert "Use snipw" in text


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ipw(aggregate=weighted_mean)", "has a value per round, and weights are of users"),
        ("iips(aggregate=weighted_mean)", "has a value per round, and weights are of users"),
        ("snipw(aggregate=half_width)", "aggregate=half_width does not apply"),
        ("replay(aggregate=median)", "aggregate=median does not apply"),
        ("ess(aggregate=max)", "ess has one value for all rounds together"),
    ],
)
def test_aggregates_that_rounds_do_not_have(metric: str, message: str) -> None:
    logs = LOGS.assign(position=1, target_propensity=0.5) if "iips" in metric else LOGS
    with (
        Evaluator(logs=logs, policy=None if "iips" in metric else POLICIES) as evaluator,
        pytest.raises(sm.UsageError, match=message),
    ):
        evaluator.evaluate(metric)


def test_an_aggregate_for_all_metrics_is_not_that_of_the_effective_sample_size() -> None:
    found = []
    for settings in ({}, {"aggregate": "max"}):
        with Evaluator(logs=LOGS, policy=POLICIES["stochastic"], settings=settings) as evaluator:
            found.append(evaluator.evaluate(["ess", "importance_weight"])["value"].tolist())
    assert found[1] == [found[0][0], 4]


@pytest.mark.parametrize(
    ("rewards", "beta", "is_found"),
    [
        ([2, 2, 2, 5, 3, 5], 1.537, False),  # between 0 and the lowest reward
        ([1, 1, 1, 9, 9, 9], -0.614, True),
    ],
)
def test_a_baseline_between_0_and_the_rewards_is_one(
    rewards: list[int], beta: float, is_found: bool
) -> None:
    """It is between the baselines of ipw, which is 0, and of a possible reward."""
    weights = [2.5, 1.2, 1.2, 0.5, 0.5, 0.3]
    excess = [w * w - w for w in weights]
    own = sum(e * r for e, r in zip(excess, rewards, strict=True)) / sum(excess)
    assert own == pytest.approx(beta, abs=5e-4)
    logs = LOGS.head(6).assign(
        reward=rewards, propensity=0.2, target_propensity=[0.2 * w for w in weights]
    )
    with sm.Evaluator(logs=logs) as evaluator:
        found = evaluator.check("beta_ipw")
        assert ("beta_outside_rewards" in [*found["check"]]) == is_found
    value = evaluate("beta_ipw", logs=logs)["value"].item()
    terms = [w * (r - own) + own for w, r in zip(weights, rewards, strict=True)]
    assert value == pytest.approx(mean(terms))


def test_the_effective_sample_size_has_no_deviation() -> None:
    found = evaluate(["ess", "ipw"], policy=POLICIES["stochastic"])
    assert found["std"].isna().tolist() == [True, False]


def test_a_note_says_what_n_users_counts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="sqlmetrics")
    evaluate("ipw", policy=POLICIES["stochastic"])
    assert caplog.messages == ["n_users counts the rounds of the logs"]


# ---------------------------------------------------------------- statements


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "postgres", "spark", "clickhouse"])
@pytest.mark.parametrize("given", ["policy", "lists", "column"])
def test_statements_print_in_every_dialect(given: str, dialect: Any) -> None:
    tables: dict[str, Any] = {
        "policy": {"policy": sm.TableName("policy", POLICY), "logs": sm.TableName("logs", LOGS)},
        "lists": {
            "recommendations": sm.TableName("lists", LISTS),
            "logs": sm.TableName("logs", LOGS),
        },
        "column": {"logs": sm.TableName("logs", LOGS.assign(target_propensity=0.5))},
    }[given]
    metrics = [*ALL] if given == "policy" else OF_WEIGHTS
    with Evaluator(**tables) as evaluator:
        statement = evaluator.sql(metrics, dialect=dialect, cluster="user_id")
    assert "logs" in statement


def test_the_statement_gives_the_values() -> None:
    import duckdb

    tables = {"policy": sm.TableName("policy", POLICY), "logs": sm.TableName("logs", LOGS)}
    with Evaluator(**tables) as evaluator:
        statement = evaluator.sql(["ipw", "snipw", "dr"])
    connection = duckdb.connect()
    connection.register("policy", POLICY)
    connection.register("logs", LOGS)
    values = [row[2] for row in connection.execute(statement).fetchall()]
    assert values == pytest.approx([23 / 14, 115 / 113, 387 / 280], abs=1e-12)


def test_scans_of_logs_are_not_copied() -> None:
    """DuckDB reads columns again faster than it copies them; it joins a policy only once."""
    metrics = ["ipw", "snipw", "beta_ipw"]
    targeted = LOGS.assign(target_propensity=0.5)
    with Evaluator(logs=targeted) as evaluator:
        assert "rounds AS NOT MATERIALIZED (" in evaluator.sql(metrics, physical=True)
        assert "MATERIALIZED" not in evaluator.sql(metrics)
    with Evaluator(logs=LOGS, policy=POLICY) as evaluator:
        assert "rounds AS (" in evaluator.sql(metrics, physical=True)


def test_weights_that_are_1_but_for_rounding_give_no_warning() -> None:
    """A propensity of .1 in single precision is not that in double precision."""
    n = 150
    logs = pd.DataFrame({
        "round_id": range(n), "user_id": range(n), "item_id": 1, "reward": 1,
        "propensity": np.full(n, 0.1, dtype=np.float32), "target_propensity": 0.1,
    })  # fmt: skip
    with sm.Evaluator(logs=logs, check=True) as evaluator:  # warnings are errors here
        (value,) = evaluator.evaluate("ipw")["value"]
    assert value == pytest.approx(1, abs=1e-7)


def test_slates_without_weight_count_as_slates() -> None:
    logs = pd.DataFrame({
        "round_id": [1, 2, 3], "user_id": [1, 2, 3], "item_id": 1, "position": 1,
        "reward": [1, 1, 0], "propensity": 0.5, "target_propensity": [0, 0.5, 0.25],
    })  # fmt: skip
    with sm.Evaluator(logs=logs, check=False) as evaluator:
        result = evaluator.evaluate(["iips(divisor=weights)", "rips(divisor=weights)"])
    assert result["n_users"].tolist() == [3, 3]
    assert result["value"].tolist() == pytest.approx([1 / 1.5, 1 / 1.5])
