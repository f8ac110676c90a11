"""The hand-worked cases of tests/cases, and evaluating many of them in one call.

A file has the cases of one metric. A case has `recommendations` ({"u1": "a b c"}: best first, as
ranks; {"u1": "a:5 b:4"}: scores), `interactions` ({"u1": "a c"}, or with grades {"u1": "a:3 c:0"}),
`history`, `k` (none: the whole list), `largest_k` (a second cutoff of the same call), `params` of
the metric, `settings`, and the numbers worked by hand: `per_user` (exactly the audience) and
`mean`, with the arithmetic in `why`. Users of the audience without a value stand in `undefined`; a
mean over nobody is "undefined". The package comes to within `tolerance` of these numbers, which is
1e-12 where nothing else is said.

`times` are the times of lists ({u1 = 2026-11-28T12:00:00}, or numbers).

More tables: `items` ({a = {price=3, category=["x", "y"], features=[1, 0]}}), `aspects`
({a = "x y"}, or {u1 = {a = "x y"}}), `baseline` (as `recommendations`) and `logs`
({u1 = "a:1 b:0"}: rewards; {u1 = "a:1@0.5"}: reward and propensity), `policy` ({u1 = "a:0.25"}:
probabilities; {u1 = "a:0.25@0.4"}: probability and predicted reward).

Cases of the same settings and shape of tables become one table, in which the key of a user is
`case_id, user_id`, and each case a slice. A case whose numbers depend on a table as a whole stays
alone: a history, a catalogue, the largest cutoff of a call.
"""

from __future__ import annotations

import contextlib
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sqlmetrics.metrics.catalog import Catalog
from tests.support.calls import at_k, canonical, spec
from tests.support.evaluators import Evaluator
from tests.support.notation import (
    aspect_rows,
    further_frames,
    interaction_frame,
    interaction_rows,
    item_rows,
    log_rows,
    number,
    recommendation_frame,
    recommendation_rows,
)
from tests.support.paths import TESTS

CASES = TESTS / "cases"
CATALOG = Catalog.load()
MORE_TABLES: dict[str, Callable[..., list[Any]]] = {
    "items": item_rows,
    "aspects": aspect_rows,
    "baseline": recommendation_rows,
    "logs": log_rows,
    "policy": log_rows,
}
KEYS = {
    "name", "why", "call", "k", "largest_k", "ids", "params", "settings",
    "recommendations", "times", "interactions", "history", *MORE_TABLES,
    "per_user", "undefined", "mean", "tolerance",
}  # fmt: skip
OF_USERS = ["recommendations", "interactions", "history", "baseline", "logs", "policy"]
USER = ["case_id", "user_id"]
# metrics whose values depend on the items of all users, also in a slice of them
OF_THE_WHOLE = {"accuracy", "auc", "debiased", "fallout", "gauc", "hole", "judged", "mcc"}


@dataclass
class Case:
    """One case of a file: its tables, what is asked, and the numbers worked by hand."""

    metric: str
    given: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{self.metric}.toml: {self.given['name']}"

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = self.given.get("settings", {})
        return found

    def call(self, *, with_settings: bool = False) -> str:
        """Write the call; `with_settings`: also those of the evaluator stand inside it."""
        params = self.given.get("params", {}) | (self.settings if with_settings else {})
        return spec(self.given.get("call", self.metric), params)

    @property
    def cutoffs(self) -> list[int] | None:
        k = self.given.get("k")
        return None if k is None else sorted({k, self.given.get("largest_k", k)})

    @property
    def mean(self) -> float | None:
        return None if self.given["mean"] == "undefined" else number(self.given["mean"])

    @property
    def users(self) -> dict[str, float | None] | None:
        """The values of the audience, None where there is none; None: not worked by hand."""
        if "per_user" not in self.given:
            return None
        values = {user: number(value) for user, value in self.given["per_user"].items()}
        return values | dict.fromkeys(self.given.get("undefined", []))

    def rows(self) -> dict[str, list[Any]]:
        """Return the tables as rows."""
        item = int if self.given.get("ids") == "integer" else str
        found: dict[str, list[Any]] = {}
        if "recommendations" in self.given:
            found["recommendations"] = recommendation_rows(self.given["recommendations"], item)
        for name in ("interactions", "history"):
            if name in self.given:
                found[name] = interaction_rows(self.given[name], item)
        if "history" in found:
            found["history"] = [row[:2] for row in found["history"]]
        more = {name: read for name, read in MORE_TABLES.items() if name in self.given}
        return found | {name: read(self.given[name], item) for name, read in more.items()}

    @property
    def batch(self) -> str:
        """Name what cases of one call have in common."""
        given, rows = self.given, self.rows()
        common = {name: given.get(name) for name in ("ids", "items", "aspects")}
        if self.is_alone:
            whole = {name: given.get(name) for name in (*OF_USERS, "largest_k", "settings")}
            return repr((common, whole))
        common |= {"order": self.order, "rows": self.order_of_rows}
        common["times"] = sorted({str(type(time)) for time in given.get("times", {}).values()})
        common["of_rounds"] = CATALOG.metrics[self.metric].grain == "round"  # which come alone
        shapes: dict[str, Any] = {n: shape(rows[n]) for n in OF_USERS if n in rows}
        repeated = [name for name, of_table in rows.items() if repeats(of_table)]
        if repeated or "items" in given or "aspects" in given:
            # metrics differ in whether they refuse repeated rows, and in which items need a price
            shapes |= {"metric": self.metric, "repeated": repeated}
        if "max_grade" in CATALOG.metrics[self.metric].params:
            shapes["highest_grade"] = max(row[2] or 0 for row in rows["interactions"])
        return repr((common, shapes))

    @property
    def order(self) -> str:
        order: str = self.settings.get("order", "auto")
        return order

    @property
    def order_of_rows(self) -> bool:
        """May the order of the rows of a table change a value?"""
        return "row" in (self.order, self.settings.get("ties"))

    @property
    def is_alone(self) -> bool:
        return self.metric in OF_THE_WHOLE or bool({"history", "largest_k"} & self.given.keys())


def repeats(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Are there rows of the same user and item?"""
    return len({row[:2] for row in rows}) < len(rows)


def shape(rows: Sequence[tuple[Any, ...]]) -> tuple[bool, ...]:
    """Return which columns have values in all rows."""
    return tuple(all(value is not None for value in column) for column in zip(*rows, strict=False))


def load() -> list[Case]:
    found = []
    for path in sorted(CASES.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        assert document["metric"] == path.stem
        for case in document["case"]:
            assert set(case) <= KEYS, f"{path.name}, {case['name']}: {set(case) - KEYS}"
            found.append(Case(path.stem, case))
    return found


def batches(cases: Sequence[Case]) -> list[list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.batch, []).append(case)
    return list(found.values())


def frames(cases: Sequence[Case]) -> dict[str, pd.DataFrame]:
    """Make one table of each kind; the users of different cases are different users."""
    order, places = cases[0].order, range(1 if cases[0].is_alone else len(cases))
    rows = {name: list(of_case) for name, of_case in cases[0].rows().items()}
    for name in rows.keys() & set(OF_USERS):
        rows[name] = [
            ((place, row[0]), *row[1:]) for place in places for row in cases[place].rows()[name]
        ]
    if "aspects" in rows and len(rows["aspects"][0]) == 3:
        rows["aspects"] = [
            ((place, row[0]), *row[1:]) for place in places for row in rows["aspects"]
        ]
    if not cases[0].order_of_rows:
        # only rank or score may give the order, so the rows come the other way round
        rows = {name: of_table[::-1] for name, of_table in rows.items()}
    found: dict[str, pd.DataFrame] = {}
    if "recommendations" in rows:
        found["recommendations"] = recommendation_frame(rows.pop("recommendations"), order)
        if "times" in cases[0].given:
            users = found["recommendations"]["user_id"]
            times = [cases[place].given["times"][user] for place, user in users]
            found["recommendations"]["timestamp"] = times
    if "interactions" in rows:
        found["interactions"] = interaction_frame(rows.pop("interactions"))
    found |= further_frames(order, **rows)
    everyone = {user for frame in found.values() for user in frame.get("user_id", [])}
    found["users"] = pd.DataFrame({"user_id": sorted(everyone)})
    for name, frame in found.items():
        if "user_id" in frame:
            keys = pd.DataFrame(frame["user_id"].tolist(), columns=USER, index=frame.index)
            found[name] = pd.concat([keys, frame.drop(columns="user_id")], axis=1)
    return found | {"users": found["users"].assign(origin=found["users"]["case_id"].astype(str))}


@contextlib.contextmanager
def known_warnings() -> Iterator[None]:
    """Let pass what cases of some metrics are warned of: their tables are as small as can be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "logs: there is no column propensity")
        warnings.filterwarnings("ignore", ".*there is no column relevance")
        yield


def asked_of(cases: Sequence[Case], calls: Sequence[str]) -> list[str]:
    """Write the calls with their cutoffs; the first case of a batch decides if several share k."""
    found = []
    for case, call in zip(cases, calls, strict=True):
        found += [call if k is None else f"{call}@{k}" for k in case.cutoffs or [None]]
    return list(dict.fromkeys(found))


def wrong(cases: Sequence[Case]) -> list[str]:
    """Evaluate the cases of a batch in one call, and say what is not as worked by hand."""
    alone = cases[0].is_alone
    # settings of one case stand in the evaluator, those of several inside the calls
    settings = cases[0].settings if alone else {}
    calls = [case.call(with_settings=not alone) for case in cases]
    tables = frames(cases)
    if alone:
        del tables["users"]
        tables = {n: table.drop(columns="case_id", errors="ignore") for n, table in tables.items()}
    of_users = [call for call, case in zip(calls, cases, strict=True) if case.users is not None]
    key: Any = "user_id" if alone else USER
    # the rows need no checks: test_validate and test_settings have those that are refused
    options = {"settings": settings, "key": key, "trust_input": True, "threads": 1}
    with known_warnings(), Evaluator(**tables, **options) as evaluator:
        asked = asked_of(cases, calls)
        means = evaluator.evaluate(asked, by=None if alone else "origin")
        users = pd.DataFrame()
        if of_users:
            users = evaluator.per_user(
                [a for a in asked if a.partition("@")[0] in of_users], long=True
            )
        names = {call: canonical(evaluator, call) for call in dict.fromkeys(calls)}
    problems = []
    for place, (case, call) in enumerate(zip(cases, calls, strict=True)):
        rows = means[means["metric"] == names[call]]
        rows = at_k(rows, case.given.get("k")) if "k" in rows else rows
        rows = rows if alone else rows[rows["origin"] == str(place)]
        of_case = users if alone or users.empty else users[users["case_id"] == place]
        of_case = of_case if of_case.empty else at_k(of_case, case.given.get("k"))
        found = found_values(rows, of_case, names[call], case)
        problems += [f"{case.label}: {call}: {text}" for text in differences(case, *found)]
    return problems


Values = dict[str, float | None]


def found_values(
    means: pd.DataFrame, users: pd.DataFrame, name: str, case: Case
) -> tuple[Values, Values]:
    """Return the mean and the number of users, and the value of every user."""
    assert len(means) == 1, f"{case.label}: {len(means)} rows of {name}"
    (row,) = means[["value", "n_users"]].astype("Float64").to_dict("records")
    total = {column: None if pd.isna(value) else float(value) for column, value in row.items()}
    if case.users is None:
        return total, {}
    values = zip(users["user_id"].tolist(), users[name].tolist(), strict=True)
    return total, {user: None if pd.isna(value) else value for user, value in values}


def differences(case: Case, total: Values, users: Values) -> list[str]:
    """Say where the values that were found are not those worked by hand."""
    tolerance = case.given.get("tolerance", 1e-12)

    def is_near(found: float | None, expected: float | None) -> bool:
        if found is None or expected is None:
            return found is expected
        return abs(found - expected) <= tolerance

    problems = []
    if not is_near(total["value"], case.mean):
        problems.append(f"the mean is {total['value']}, by hand {case.mean} ({case.given['mean']})")
    if case.users is not None:
        expected = case.users
        n_users = len(expected) - list(expected.values()).count(None)
        if total["n_users"] != n_users:
            problems.append(f"a mean over {total['n_users']} users, by hand {n_users}")
        # other metrics of the call have rows for other users, without a value of this one
        found = {u: value for u, value in users.items() if u in expected or value is not None}
        problems += [
            f"user {user}: {found.get(user, 'no row')}, by hand {expected.get(user, 'no value')}"
            for user in sorted({*found, *expected})
            if (user in found) != (user in expected) or not is_near(found[user], expected[user])
        ]
    return problems
