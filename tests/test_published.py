"""Published numbers under the conventions: what each system gives on one table of five users.

The tables and the closed forms are those of tests/test_systems.py, where every choice is a setting;
here the name of the convention is all that is said. The numbers were obtained by running those
systems (or from their formula, where noted). `LEFT_OUT` names those that are not here, and why.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import pandas as pd
import pytest
from helpers import definitions, interaction_frame, number, recommendation_frame
from test_systems import (
    ALL_RELEVANT,
    D2,
    GRADED_EXPONENTIAL,
    GRADED_LINEAR,
    IDCG3,
    INTERACTIONS,
    LENSKIT,
    LENSKIT_U1,
    RECOMMENDATIONS,
    REPEATED_INTERACTIONS,
    REPEATED_RECOMMENDATIONS,
    U1,
    U2,
)

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention, conventions
from sqlmetrics.metrics.spec import parse_spec


class Published(NamedTuple):
    """A number: the digits that were printed, their closed form, the spec of each convention."""

    printed: str
    exact: str
    specs: dict[str, str]


def same(spec: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, spec)


REPLAY = ("replay-0.9", "replay-0.12", "replay")
RS = ("rs_metrics-0.2", "rs_metrics")

FIVE_USERS = [
    Published("0.6", "3/5", same("hit_rate", *REPLAY, *RS, "rectools", "ranx", "trec_eval",
        "recbole", "lenskit", "course")),
    Published("0.75", "3/4", same("hit_rate", "elliot")),
    Published("0.333333333333", "5/3 / 5", same("precision", "replay-0.12", "replay", "rectools",
        "ranx", "trec_eval", "recbole", "tutorial")),
    Published("0.366666666667", "(2/3 + 1/2 + 2/3) / 5",
        same("precision", "replay-0.9", "lenskit", "course")),
    Published("0.416666666667", "5/3 / 4", same("precision", "recommenders", "elliot")),
    Published("0.458333333333", "(2/3 + 1/2 + 2/3) / 4", same("precision", "jurity")),
    Published("0.466666666667", "(2/3 + 1 + 2/3) / 5",
        {"rectools": "precision(divisor=min_k_relevant)"}),
    Published("0.38", "(2/4 + 1 + 2/5) / 5", same("recall", *REPLAY, *RS, "jurity", "rectools",
        "ranx", "trec_eval", "recbole", "course", "tutorial")),
    Published("0.475", "(2/4 + 1 + 2/5) / 4", same("recall", "recommenders", "elliot")),
    Published("0.466666666667", "(2/3 + 1 + 2/3) / 5", same("recall", "lenskit")),
    Published("0.314285714286", "(4/7 + 1/2 + 1/2) / 5",
        same("f1", "rectools", "ranx", "tutorial")),
    Published("0.392857142857", "(4/7 + 1/2 + 1/2) / 4", same("f1", "elliot")),
    Published("0.322222222222", "(5/9 + 1/2 + 5/9) / 5",
        same("map", "replay-0.9", "replay", "recbole")),
    Published("0.402777777778", "(5/9 + 1/2 + 5/9) / 4", same("map", "jurity", "recommenders")),
    Published("0.255555555556", "(5/9 + 1/6 + 5/9) / 5",
        {"replay-0.12": "map", "rectools": "map(divisor=k)"}),
    Published("0.25", "(5/12 + 1/2 + 5/15) / 5",
        same("map", "rectools", "ranx", "trec_eval", "rs_metrics")),
    Published("0.3125", "(5/12 + 1/2 + 5/15) / 4", {"recommenders": "map(divisor=relevant)"}),
    # by formula, both; the tutorial with 0 for the user without a hit
    Published("0.433333333333", "(5/6 + 1/2 + 5/6) / 5", same("map", "course", "tutorial")),
    Published("0.430555555556", "(13/18 + 5/18 + 13/18) / 4", same("map", "elliot")),
    # by the formula of its page
    Published("0.156666666667", "(1/4 + 1/3 + 1/5) / 5", {"rs_metrics-0.2": "mar(divisor=k)"}),
    Published("0.316666666667", "(1/3 + 2/3 + 4/15) / 4", same("mar", "elliot")),
    Published("0.5", "(1 + 1/2 + 1) / 5", same("mrr", *REPLAY, *RS, "rectools", "ranx", "trec_eval",
        "recbole", "lenskit", "course", "tutorial")),
    Published("0.625", "(1 + 1/2 + 1) / 4", same("mrr", "elliot")),
    Published("0.407753186328", f"(2*{U1} + {U2}) / 5", {
        **same("ndcg", *REPLAY, "rs_metrics", "recbole", "recommenders"),
        "rectools": "ndcg(ideal=min_k_relevant)",
    }),
    Published("0.340783617807", f"(2*{U1} + {U2}/{IDCG3}) / 5",
        same("ndcg", "rectools", "rs_metrics-0.2")),
    Published("0.345048027294", f"{ALL_RELEVANT} / 5", same("ndcg", "jurity")),
    Published("0.447962493", f"{LENSKIT} / 5", same("ndcg", "lenskit")),
    Published("0.509691482910", f"(2*{U1} + {U2}) / 4", {"elliot": "ndcg(gain=binary)"}),
    Published("0.378188345619", f"{GRADED_LINEAR} / 5", {
        **same("ndcg", "ranx", "trec_eval", "tutorial"), "recommenders": "ndcg(gain=linear)",
    }),
    Published("0.381701105306", f"{GRADED_EXPONENTIAL} / 5",
        same("ndcg(gain=exponential)", "ranx", "recommenders")),
    Published("0.477126381633", f"{GRADED_EXPONENTIAL} / 4", {"elliot": "ndcg(relevant_from=1)"}),
    Published("0.2", "(1/2 + 1/2) / 5", same("roc_auc", *REPLAY, "course")),
    Published("0.18", "(2/4 + 0 + 2/5) / 5", same("r_precision", "ranx", "trec_eval")),
    Published("0.45", "(2/4 + 2/5) / 2", same("r_precision", "recommenders")),
    # by formula; the highest grade is 3
    Published("0.289583333333",
        "(7/8 + 1/8 * 1/8 / 3 + 3/8 / 2 + 1/8 + 7/8 * 7/8 / 3) / 5", same("err", "course")),
    Published("0.476333333333",
        "(1 + 2/3 * 0.85 + 1/3 + 2/3 * 0.85**2) / 5", same("pfound", "course")),
    # 1.96 standard errors of 2/3, 1/3, 0, 0, 2/3
    Published("0.2921741801922", "1.9599639845400545 * (1/3) / sqrt(5)",
        {"replay": "precision(aggregate=half_width)"}),
]  # fmt: skip

# recommendations a a b c, interactions a c
TWICE_IN_THE_LIST = [
    Published("0.3333", "1/3", same("precision", "replay")),
    Published("0.5", "1/2", same("recall", "replay", "rs_metrics")),
    Published("1.0", "(1 + 1) / 2", same("map", "replay", "rs_metrics", "recommenders")),
    Published("1", "1", same("mrr", "replay")),
    Published("1.0", "1", same("ndcg", "replay", "rs_metrics")),
    Published("1.0", "1", same("roc_auc", "replay")),
    Published("0.6667", "2/3", same("precision", "replay-0.9", "rs_metrics", "rectools",
        "recommenders")),
    Published("1.0", "2/2", same("recall", "replay-0.9", "recommenders")),
    Published("0.8333", "(1 + 2/3) / 2", same("map", "replay-0.9")),
    # printed .919720776, which its formula does not give from the eighth digit on
    Published("0.9197208", f"(3/2) / (1 + {D2})", same("ndcg", "replay-0.9")),
    Published("0.6667", "2/3", same("recall", "rectools")),
    Published("0.6667", "2 * 2/3 * 2/3 / (2/3 + 2/3)", same("f1", "rectools")),
    Published("0.6667", "(1/1 + 2/2) / 3", same("map", "rectools")),
    Published("0.765360637", f"(1 + {D2}) / {IDCG3}", same("ndcg", "rectools")),
]  # fmt: skip

# recommendations a x y, interactions a a c
TWICE_IN_THE_TRUTH = [
    Published("0.3333", "1/3", same("precision", "replay", "replay-0.9", "rs_metrics")),
    Published("0.5", "1/2", same("recall", "replay", "replay-0.9")),
    Published("0.3333", "1/3", same("map", "replay", "rs_metrics")),
    Published("0.469278726", f"1 / {IDCG3}", same("ndcg", "replay")),
    Published("0.5", "1/2", same("map", "replay-0.9")),
    Published("0.613147193", f"1 / (1 + {D2})", same("ndcg", "replay-0.9", "rs_metrics")),
    Published("0.6667", "2/3", same("recall", "rs_metrics", "rectools", "recommenders")),
    Published("0.6667", "2/3", same("precision", "rectools", "recommenders")),
    Published("1.0", "(1/1 + 2/1) / 3", same("map", "recommenders")),
    Published("0.938557452", f"2 / {IDCG3}", same("ndcg", "rectools")),
]  # fmt: skip

# four users have a (one of them twice), b, c; lists b c new, c, a c
A = "log2(4/3)"
OF_THE_LIST = {
    2: [
        Published("0.3333333333", "(1/4 + 1/4 + 1/2) / 3", same("popularity", *RS)),
        Published("1.7358395832", f"(2 + 2 + ({A} + 2) / 2) / 3",
            {**same("surprisal", *RS), "rectools": "surprisal"}),
        Published("1.5", "(1 + 1 + (4 + 1) / 2) / 3", same("popularity", "rectools")),
        Published("0.25", "(1/6 + 1/6 + (4/6 + 1/6) / 2) / 3",
            {"rectools": "popularity(scale=share)"}),
        Published("0.7012531249", f"(1 + 1/2 + ({A}/2 + 1) / 2) / 3", same("surprisal", *REPLAY)),
    ],
    3: [
        Published("0.3055555556", "((1/4 + 1/4) / 3 + 1/4 + 1/2) / 3", same("popularity", *RS)),
        Published("1.3888888889", "((1 + 1) / 3 + 1 + (4 + 1) / 2) / 3",
            same("popularity", "rectools")),
        Published("0.2314814815", "((1 + 1) / 3 + 1 + (4 + 1) / 2) / 3 / 6",
            {"rectools": "popularity(scale=share)"}),
        Published("0.5786131944", f"(1 + 1/3 + ({A}/2 + 1) / 3) / 3", same("surprisal", *REPLAY)),
        Published("1.333333333", "4/3", {"rectools": "coverage(scale=share)",
            "recommenders": "coverage"}),
        Published("1.0", "3/3", same("coverage", "replay")),
    ],
}  # fmt: skip

# what is not above, and why
LEFT_OUT = {
    "HitRate 0.8, nDCG 0.578188, MAP 0.433333 (torchmetrics)":
        "no convention; relevant rows that were not recommended are scored as recommended",
    "everything of Evidently":
        "no convention; it knows only the relevant items that were recommended, and its MAP "
        "and MAR depend on the order of rows and can pass 1",
    "MAP 0.25 and 0.433333 (recmetrics)": "no convention",
    "precision NaN (rs_metrics), MAP and MAR NaN (0.2), nDCG NaN (0.3), MAP NaN (tutorial)":
        "bugs: one user without a list or a hit poisons the mean; the other users are below",
    "MAP (LensKit)":
        "a bug: ZeroDivisionError for the user without interactions; the other users are below",
    "nDCG 0.345048 (rs_metrics 0.2.2), MAP and nDCG of rs_metrics 0.3 and 0.4":
        "no convention for these releases",
    "MAP 0.255556 (rs_metrics 0.2, text)":
        "what the page says, not what the code computes: map(divisor=k)",
    "PartialAUC, PAP, RBP, bpref, Accuracy": "no metrics here",
    "nDCG 0.3817, ERR 0.148438 (ir_measures with gdeval)": "no convention; five digits",
    "half width 0.2921741888997 (RePlay on Spark)":
        "a standard deviation in single precision; named in replay-0.9 and replay-0.12",
    "repeated rows, nDCG 1.530721274 and 1.877114904 (Recommenders)":
        "a bug, named in the convention: the copies of both tables are joined with each other",
    "repeated interactions, MAP 0.6667 (RecTools)":
        "a bug, named in the convention: two hits at one position count 2/1, so that MAP@1 "
        "divided by k is 2",
    "repeated rows (Jurity)":
        "a bug, named in the convention: rows multiply, nDCG is a ValueError",
    "half widths of a single user": "RePlay gives 0 or NaN; named in the convention",
}  # fmt: skip

LOG = [("u1", "a"), ("u2", "a"), ("u2", "b"), ("u3", "c"), ("u4", "a"), ("u4", "a")]
LISTS = [
    *[("u1", "b", 3), ("u1", "c", 2), ("u1", "new", 1)],
    ("u2", "c", 3),
    *[("u9", "a", 3), ("u9", "c", 2)],
]


def frames(rows: str) -> dict[str, pd.DataFrame]:
    if rows == "lists":
        lists = pd.DataFrame(LISTS, columns=["user_id", "item_id", "score"])
        history = pd.DataFrame(LOG, columns=["user_id", "item_id"])
        known = pd.DataFrame({"item_id": ["a", "b", "c"]})
        return {"recommendations": lists, "history": history, "items": known}
    recommendations, interactions = {
        "five users": (RECOMMENDATIONS, INTERACTIONS),
        "twice in the list": REPEATED_RECOMMENDATIONS,
        "twice in the truth": REPEATED_INTERACTIONS,
    }[rows]
    return {
        "recommendations": recommendation_frame(recommendations),
        "interactions": interaction_frame(interactions),
    }


TABLE = [
    *(("five users", 3, row) for row in FIVE_USERS),
    *(("twice in the list", 3, row) for row in TWICE_IN_THE_LIST),
    *(("twice in the truth", 3, row) for row in TWICE_IN_THE_TRUTH),
    *(("lists", k, row) for k, rows in OF_THE_LIST.items() for row in rows),
]


@functools.cache
def found(rows: str, k: int, convention: str) -> dict[str, float]:
    """Compute all specs that the table has for one convention, in one call."""
    specs = [row.specs[convention] for name, at, row in TABLE
             if (name, at) == (rows, k) and convention in row.specs]  # fmt: skip
    with sm.Evaluator(**frames(rows), convention=convention) as evaluator:
        frame = evaluator.evaluate(specs, k=k)
        names = {spec: definitions(evaluator).first.resolve(parse_spec(spec)) for spec in specs}
    values = dict(zip(frame["metric"], frame["value"], strict=True))
    return {spec: values[call.name] for spec, (call, _) in names.items() if call is not None}


@pytest.mark.parametrize(
    ("rows", "k", "published", "convention"),
    [(rows, k, row, name) for rows, k, row in TABLE for name in row.specs],
    ids=lambda value: value.printed if isinstance(value, Published) else str(value),
)
def test_convention_gives_the_published_number(
    rows: str, k: int, published: Published, convention: str
) -> None:
    digits = len(published.printed.partition(".")[2])
    exact = number(published.exact)
    if digits >= 4:
        assert exact == pytest.approx(float(published.printed), rel=0, abs=0.5 * 10.0**-digits)
    else:
        assert exact == pytest.approx(float(published.printed), rel=0, abs=1e-12)
    value = found(rows, k, convention)[published.specs[convention]]
    assert value == pytest.approx(exact, rel=0, abs=1e-9)


@pytest.mark.parametrize(
    ("convention", "spec", "users"),
    [
        ("lenskit", "map", {"u1": "5/9", "u2": "1/2", "u3": 0, "u6": "5/9", "u4": 0}),
        ("rs_metrics-0.2", "map", {"u1": "5/9", "u2": "1/4", "u3": 0, "u6": "5/9", "u5": 0}),
        ("rs_metrics-0.2", "mar", {"u1": "1/4", "u2": "1/2", "u3": 0, "u6": "1/5", "u5": 0}),
        ("rs_metrics", "precision", {"u1": "2/3", "u2": "1/2", "u3": 0, "u6": "2/3", "u5": 0}),
        ("lenskit", "ndcg", {"u1": LENSKIT_U1, "u2": 1, "u3": 0, "u6": LENSKIT_U1, "u4": 0}),
    ],
    ids=str,
)
def test_users_whose_mean_another_user_spoils(
    convention: str, spec: str, users: dict[str, Any]
) -> None:
    """The last user is the one without interactions or recommendations: 0 here."""
    with sm.Evaluator(**frames("five users"), convention=convention) as evaluator:
        frame = evaluator.per_user(spec, k=3)
    values = dict(zip(frame["user_id"], frame[spec], strict=True))
    assert values == pytest.approx(
        {user: number(value) for user, value in users.items()}, rel=0, abs=1e-9
    )


def test_every_system_is_in_the_table() -> None:
    named = {name for _, _, row in TABLE for name in row.specs}
    assert named == set(conventions()) - {"standard"}
    assert all(len(reason) > 10 for reason in LEFT_OUT.values())


def test_named_bugs_are_named() -> None:
    """What `LEFT_OUT` says of a convention stands in its file."""
    catalog = Catalog.load()
    for convention, metric, word in [
        ("recommenders", "ndcg", "joined"),
        ("rectools", "map", "position"),
        ("rs_metrics", "precision", "NaN"),
        ("rs_metrics-0.2", "map", "NaN"),
        ("tutorial", "map", "NaN"),
        ("lenskit", "map", "ZeroDivisionError"),
    ]:
        assert metric in catalog.metrics
        told = [difference.there for difference in Convention.load(convention).differences(metric)]
        assert any(word in text for text in told), (convention, metric, told)


def test_closed_forms_of_the_discount() -> None:
    assert number(D2) == 1 / math.log2(3)
