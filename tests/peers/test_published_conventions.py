"""Published numbers of each system on one table of five users, under its convention.

The tables and the closed forms are those of test_published_settings.py, where every choice is a
setting; here the name of the convention is all that is said. The numbers were obtained by running
those systems (or from their formula, where noted). `LEFT_OUT` names those that are not here, and
why.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import pandas as pd
import pytest

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention, conventions
from sqlmetrics.metrics.spec import parse_spec
from tests.support.calls import definitions
from tests.support.evaluators import Evaluator
from tests.support.five_users import (
    D2,
    IDCG3,
    INTERACTIONS,
    LENSKIT_U1,
    RECOMMENDATIONS,
    REPEATED_INTERACTIONS,
    REPEATED_RECOMMENDATIONS,
)
from tests.support.notation import interaction_frame, number, recommendation_frame
from tests.support.paths import TESTS
from tests.support.published_numbers import FIVE_USERS, REPLAY, RS, Published, same
from tests.support.ranker_numbers import NUMBERS as OF_RANKERS

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
        "relevant rows that were not recommended are scored as recommended",
    "everything of Evidently":
        "it knows only the relevant items that were recommended, and its MAP and MAR depend on the "
        "order of rows and can pass 1; references/evidently.json has numbers of other tables",
    "MAP 0.25 and 0.433333 (recmetrics)": "no convention",
    "precision NaN (rs_metrics), MAP and MAR NaN (0.2), nDCG NaN (0.3), MAP NaN (tutorial)":
        "bugs: one user without a list or a hit poisons the mean; the other users are below",
    "MAP (LensKit)":
        "a bug: ZeroDivisionError for the user without interactions; the other users are below",
    "nDCG 0.345048 (rs_metrics 0.2.2), MAP and nDCG of rs_metrics 0.3 and 0.4":
        "no convention for these releases",
    "MAP 0.255556 (rs_metrics 0.2, text)":
        "what the page says, not what the code computes: map(divisor=k)",
    "Accuracy 0.2 (ir_measures)": "accuracy here is another metric",
    "RBP, bpref (ir_measures)": "references/ir_measures.json has numbers of other tables",
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
    with Evaluator(**frames(rows), convention=convention) as evaluator:
        frame = evaluator.evaluate(specs, k=k)
        settings = definitions(evaluator).first
        names = {spec: settings.request(parse_spec(spec)).name for spec in specs}
    values = dict(zip(frame["metric"], frame["value"], strict=True))
    return {spec: values[name] for spec, name in names.items()}


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
    with Evaluator(**frames("five users"), convention=convention) as evaluator:
        frame = evaluator.per_user(spec, k=3, long=True)
    values = dict(zip(frame["user_id"], frame[spec], strict=True))
    assert values == pytest.approx(
        {user: number(value) for user, value in users.items()}, rel=0, abs=1e-9
    )


def test_every_system_is_in_the_table() -> None:
    """Rankers know no items beyond their lists: they have tables of their own.

    Numbers of further systems are only stored (`tests/references`).
    """
    named = {name for _, _, row in TABLE for name in row.specs}
    rankers = {library for library, _ in OF_RANKERS}
    stored = {path.stem for path in (TESTS / "references").glob("*.json")}
    assert not named & rankers
    without = set(conventions()) - {"standard"} - named - rankers - stored
    assert not without, "python tests/references/make.py NAME writes the numbers of a convention"
    assert named | rankers | stored <= set(conventions())
    assert all(len(reason) > 10 for reason in LEFT_OUT.values())


def test_named_bugs_are_named() -> None:
    """What `LEFT_OUT` says of a convention stands in its file."""
    catalog = Catalog.load()
    for convention, metric, word in [
        ("recommenders", "ndcg", "multiply in joins"),
        ("rectools", "map", "precision above 1"),
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
