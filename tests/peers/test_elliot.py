"""Elliot's metrics beyond accuracy, worked by hand from its source, against our numbers.

Elliot needs TensorFlow 2.3 and Python 3.8, so it is not run. Each number below names the file under
elliot/evaluation/metrics of release 0.3.1 that it follows, at a cutoff of 2 and with a
relevance_threshold of 1:

    user  group  history  first two  test data
    u1    0      a b      c d        c 3, d 1
    u2    0      a b c    d a        d 2
    u3    1      a c      b c        b 1, d 2
    u4    1      a b d    c b        c 1, b 0
    u5    1      a        d c        b 0

Users with an item: a 5, b 3, c 2, d 1, 11 pairs. The head is a, b and c, which crosses 0.8 · 11
(popularity_utils/popularity.py). Items a and c are in group 0, b and d in group 1. Every item is in
the history, as Elliot knows no other item.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.notation import number

LISTS = {"u1": "cda", "u2": "dab", "u3": "bcd", "u4": "cba", "u5": "dcb"}
HISTORY = {"u1": "ab", "u2": "abc", "u3": "ac", "u4": "abd", "u5": "a"}
TEST_DATA = [
    ("u1", "c", 3), ("u1", "d", 1), ("u2", "d", 2), ("u3", "b", 1), ("u3", "d", 2), ("u4", "c", 1),
    ("u4", "b", 0), ("u5", "b", 0),
]  # fmt: skip
TABLES: dict[str, Any] = {
    "recommendations": {user: list(items) for user, items in LISTS.items()},
    "interactions": pd.DataFrame(TEST_DATA, columns=["user_id", "item_id", "relevance"]),
    "history": {user: list(items) for user, items in HISTORY.items()},
    "items": pd.DataFrame({"item_id": list("abcd"), "item_group": [0, 1, 0, 1]}),
    "users": pd.DataFrame({"user_id": list(LISTS), "cluster": [0, 0, 1, 1, 1]}),
    "aspects": pd.DataFrame({"item_id": list("abbcd"), "aspect": [1, 1, 2, 2, 3]}),
}
D = "1 / log2(3)"
NUMBERS = {
    # mean popularity of the first two; users with test data, relevant or not
    "ARP": ("bias/arp/arp.py", "(3/2 + 3 + 5/2 + 5/2 + 3/2) / 5"),
    "APLT": ("bias/aplt/aplt.py", "(1/2 + 1/2 + 0 + 0 + 1/2) / 5"),
    "ACLT": ("bias/aclt/aclt.py", "(1 + 1 + 0 + 0 + 1) / 5"),
    # hits / relevant items outside the history: head 3/3, tail 2/3; deviation / mean
    "PopREO": ("bias/pop_reo/pop_reo.py", "(1/6) / (5/6)"),
    # items of the lists / items outside the histories: head 7/5, tail 3/4
    "PopRSP": ("bias/pop_rsp/pop_rsp.py", "(13/40) / (43/40)"),
    # group 0: 2/2, group 1: 3/4
    "REO": ("fairness/reo/reo.py", "(1/8) / (7/8)"),
    # group 0: 5/3, group 1: 5/6
    "RSP": ("fairness/rsp/rsp.py", "(5/12) / (5/4)"),
    # b 2/5, c 3/5, d 4/5; the hits of u1 are c and d, of u2 d, of u3 b, of u4 c
    "EPC": ("novelty/EPC/epc.py", f"(3/5 + 4/5 * {D} + 4/5 + 2/5 + 3/5) / (1 + {D}) / 4"),
    "EFD": (
        "novelty/EFD/efd.py",
        f"(log2(11/2) + log2(11) * {D} + log2(11) + log2(11/3) + log2(11/2)) / (1 + {D}) / 4",
    ),
    # features of the hits: c d, d, b, c; of all items: 1 2 3
    "SRecall": ("diversity/SRecall/srecall.py", "(2/3 + 1/3 + 2/3 + 1/3) / 4"),
}


def evaluator() -> sm.Evaluator:
    return Evaluator(**TABLES, convention="elliot", settings={"relevant_from": 1}, threads=1)


@pytest.mark.parametrize("name", NUMBERS)
def test_names_of_elliot_give_its_numbers(name: str) -> None:
    _, expected = NUMBERS[name]
    with evaluator() as world:
        found = world.evaluate(f"{name}@2")["value"].item()
    assert found == pytest.approx(number(expected), abs=1e-12)


def test_gini_of_elliot_is_one_minus_the_coefficient() -> None:
    """diversity/gini_index/gini_index.py: a 1, b 2, d 3, c 4 of 10: 1 - (-3 - 2 + 3 + 12)/10/3."""
    with Evaluator(**TABLES, threads=1) as world:
        found = world.evaluate("gini(divisor=n_minus_1)@2")["value"].item()
    assert 1 - found == pytest.approx(2 / 3, abs=1e-12)


def test_bias_disparity_of_the_groups() -> None:
    """fairness/BiasDisparity/BiasDisparityBD.py: (BR - BS) / BS, from those of BR.py and BS.py.

    BS of users 0: (3/5, 2/5) / (1/2); of users 1: (2/3, 1/3) / (1/2). BR is (1, 1) for both.
    """
    expected = {"0": [1 / (6 / 5) - 1, 1 / (4 / 5) - 1], "1": [1 / (4 / 3) - 1, 1 / (2 / 3) - 1]}
    specs = [f"bias_disparity(statistic={which})@2" for which in ("min", "max")]
    with Evaluator(**TABLES, threads=1) as world:
        found = world.evaluate(specs, by="cluster")
    for cluster, values in expected.items():
        rows = found[found["cluster"].astype(str) == cluster]
        assert rows["value"].tolist() == pytest.approx(values, abs=1e-12)


@pytest.mark.filterwarnings("ignore:gap. 2 of 2 slices have fewer")
def test_mad_of_users() -> None:
    """fairness/MAD/UserMADranking.py: nDCG of users 0: 1 and 1; of users 1: 1/(3 + D), 1 and 0.

    The gains are 2^(grade - threshold + 1) - 1, and users without a relevant item have 0.
    """
    settings = {"relevant_from": 1, "audience": "judged"}
    with Evaluator(**TABLES, convention="elliot", settings=settings, threads=1) as world:
        found = world.evaluate("nDCG@2", by="cluster", gap="mad")
    (gap,) = found.loc[found["cluster"].astype(str) == "(mad)", "value"]
    assert gap == pytest.approx(number(f"1 - (1 / (3 + {D}) + 1 + 0) / 3"), abs=1e-12)
