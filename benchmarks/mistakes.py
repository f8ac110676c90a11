"""Make typical mistakes with tables, and count those that change a number without a message.

    python benchmarks/mistakes.py [--only WORD] [--messages] [--tables FOLDER]

Every mistake changes one thing in tables without a problem. Its outcome is one of

    refused    an error
    said       a result with a warning
    checked    no warning with the result; `check` has a finding that the right tables have not
    harmless   a result without a warning, equal to the right one
    silent     neither, and a result different from the right one

Then the script evaluates datasets without a mistake and counts those with a warning. It ends with
exit code 1 if more mistakes are silent than `MOST_SILENT`, or if a dataset without a mistake has a
warning.

The tables come from a seeded generator. `--tables FOLDER` reads other tables instead: history,
interactions (with the columns rating and timestamp), items, users, and recommendations_als and
recommendations_knn (with score and rank), each as a Parquet file.
"""

from __future__ import annotations

import argparse
import functools
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sqlmetrics as sm

MOST_SILENT = 8
ACCURACY = ("ndcg@10", "recall@10", "mrr@10")
K = 20  # items per list


# ---- tables --------------------------------------------------------------------------------------


@dataclass
class World:
    """The arguments of an evaluation; a mistake changes its copy."""

    models: dict[str, pd.DataFrame]
    interactions: pd.DataFrame
    history: Any  # a frame, or None
    items: pd.DataFrame
    users: pd.DataFrame
    metrics: tuple[str, ...] = ACCURACY
    given: dict[str, Any] = field(default_factory=dict)  # further arguments
    asked: dict[str, Any] = field(default_factory=dict)  # further arguments of `evaluate`
    threads: int | None = None

    def copy(self) -> World:
        return replace(
            self, models=dict(self.models), given=dict(self.given), asked=dict(self.asked)
        )

    def change(self, model: str | None, how: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
        """Change the lists of one model, or of all."""
        for name in [model] if model else list(self.models):
            self.models[name] = how(self.models[name])

    def evaluator(self) -> sm.Evaluator:
        tables = {name: getattr(self, name) for name in ("interactions", "history")}
        lists = self.models if len(self.models) > 1 else next(iter(self.models.values()))
        options = {"check": None, "threads": self.threads}
        return sm.Evaluator(**{"recommendations": lists, **tables, **options, **self.given})

    def evaluate(self) -> tuple[pd.DataFrame, list[str]]:
        """Return the result and the texts of its warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with self.evaluator() as evaluator:
                result = evaluator.evaluate(list(self.metrics), **self.asked)
        return result, [
            str(one.message) for one in caught if issubclass(one.category, sm.SqlmetricsWarning)
        ]

    def findings(self) -> dict[str, str]:
        """Return the findings of `check`, by the name of the check."""
        with self.evaluator() as evaluator:
            found = evaluator.check(list(self.metrics))
        return dict(zip(found["check"], found["found"], strict=True))


def generated(n_users: int = 500, n_items: int = 400, seed: int = 7) -> World:
    """Return tables of users with a taste, items with a popularity, and two models of both."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.normal(size=(n_users, 4)), rng.normal(size=(n_items, 4))
    popularity = 2.0 * rng.pareto(3.0, n_items).clip(max=1.5)
    liking = taste @ kind.T / 2 + popularity
    user_ids = np.sort(rng.choice(np.arange(1_000, 9_000), n_users, replace=False))
    item_ids = np.sort(rng.choice(np.arange(10_000, 90_000), n_items, replace=False))
    chosen = liking + rng.gumbel(size=liking.shape)
    order = np.argsort(-chosen, axis=1)
    history, held_out, lists = [], [], {"als": [], "knn": []}
    noise = {"als": 0.8, "knn": 1.6}
    for user in range(n_users):
        n_past, n_next = int(rng.integers(20, 60)), int(rng.integers(4, 12))
        mine = rng.permutation(order[user, : n_past + n_next])
        times = np.sort(rng.integers(1_700_000_000, 1_760_000_000, mine.size))
        times[n_past:] += 60_000_000  # split at one moment
        rating = np.clip(
            np.round(3.4 + 0.7 * liking[user, mine] + rng.normal(size=mine.size)), 1, 5
        )
        rows = pd.DataFrame(
            {
                "user_id": user_ids[user],
                "item_id": item_ids[mine],
                "rating": rating,
                "timestamp": times,
            }
        )
        history.append(rows[:n_past])
        held_out.append(rows[n_past:])
        unseen = np.setdiff1d(np.arange(n_items), mine[:n_past])
        for model, frames in lists.items():
            score = liking[user, unseen] + noise[model] * rng.normal(size=unseen.size)
            top = np.argsort(-score)[:K]
            frames.append(
                pd.DataFrame(
                    {
                        "user_id": user_ids[user],
                        "item_id": item_ids[unseen[top]],
                        "score": score[top],
                        "rank": np.arange(1, K + 1),
                    }
                )
            )
    categories = rng.choice(["drama", "comedy", "action", "crime", "music"], n_items)
    items = pd.DataFrame(
        {"item_id": item_ids, "category": categories, "price": rng.integers(1, 50, n_items) / 2}
    )
    users = pd.DataFrame({"user_id": user_ids, "country": rng.choice(["A", "B"], n_users)})
    return World(
        {model: pd.concat(frames, ignore_index=True) for model, frames in lists.items()},
        pd.concat(held_out, ignore_index=True),
        pd.concat(history, ignore_index=True),
        items,
        users,
    )


def read(folder: Path) -> World:
    """Return the tables of a folder, with the lists of two models."""
    names = ("interactions", "history", "items", "users")
    tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in names}
    models = {}
    for model in ("als", "knn"):
        lists = pd.read_parquet(folder / f"recommendations_{model}.parquet")
        models[model] = lists[lists["rank"] <= K][["user_id", "item_id", "score", "rank"]]
    return World(models, **tables)


def prepared(world: World) -> World:
    """Return the world with relevant interactions only: ratings of 4 and 5."""
    relevant = world.interactions[world.interactions["rating"] >= 4].reset_index(drop=True)
    return replace(world, interactions=relevant.drop(columns="rating"))


# ---- mistakes ------------------------------------------------------------------------------------

Change = Callable[[World], object]


@dataclass(frozen=True)
class Mistake:
    """A mistake: what it does with tables, and the metrics that it can change.

    `rated`: begins with the ratings of all interactions, read with relevant_from=4.
    """

    group: str
    title: str
    change: Change
    metrics: tuple[str, ...] = ACCURACY
    rated: bool = False
    given: tuple[tuple[str, Any], ...] = ()


MISTAKES: dict[str, Mistake] = {}


def mistake(group: str, title: str, **options: Any) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        name = change.__name__
        assert name not in MISTAKES, name
        MISTAKES[name] = Mistake(group, title, change, **options)
        return change

    return add


def add(name: str, group: str, title: str, change: Change, **options: Any) -> None:
    assert name not in MISTAKES, name
    MISTAKES[name] = Mistake(group, title, change, **options)


def lists(how: Callable[[pd.DataFrame], pd.DataFrame], model: str | None = None) -> Change:
    """Return the mistake of changing the lists of one model, or of all."""
    return lambda world: world.change(model, how)


def table(name: str, how: Callable[[pd.DataFrame], Any]) -> Change:
    """Return the mistake of changing another table."""
    return lambda world: setattr(world, name, how(getattr(world, name)))


def put(**new: Any) -> Change:
    """Return the mistake of replacing tables: new values, or functions of the world."""

    def change(world: World) -> None:
        made = {name: how(world) if callable(how) else how for name, how in new.items()}
        for name, value in made.items():
            setattr(world, name, value)

    return change


def then(*changes: Change) -> Change:
    """Return several changes, one after the other."""

    def change(world: World) -> None:
        for one in changes:
            one(world)

    return change


def scored(how: Callable[[pd.DataFrame], Any]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a change that orders lists by other scores: `how` returns them."""
    return lambda frame: frame.assign(score=how(frame)).drop(columns="rank")


def some(frame: pd.DataFrame, share: float, seed: int = 1) -> pd.Series:
    """Choose a share of the users at random: a mask of the rows."""
    users = np.sort(frame["user_id"].unique())
    chosen = np.random.default_rng(seed).permutation(users)[: round(share * users.size)]
    return frame["user_id"].isin(chosen)


def part(frame: pd.DataFrame, seed: int = 2) -> np.ndarray:
    """Choose half of the rows at random: a mask."""
    return np.random.default_rng(seed).random(len(frame)) < 0.5


def random(frame: pd.DataFrame) -> np.ndarray:
    return np.random.default_rng(8).random(len(frame))


def past(world: World) -> pd.DataFrame:
    """Return the history as interactions."""
    return world.history.drop(columns="rating")


def everything(world: World) -> pd.DataFrame:
    """Return the interactions before and after the split."""
    return pd.concat([world.interactions, past(world)])


def truth_alone(world: World) -> pd.DataFrame:
    """Return the held-out interactions as lists."""
    return world.interactions[["user_id", "item_id"]].assign(score=random(world.interactions))


def later(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with much later timestamps."""
    return frame.assign(timestamp=frame["timestamp"] + 100_000_000)


def text(ids: pd.Series) -> pd.Series:
    return ids.astype(str)


def joined_items(separator: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a change to one row per user, with the items in one text; some users have one item."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        short = frame[~(some(frame, 0.2) & frame.duplicated("user_id"))]
        rows = short.groupby("user_id")["item_id"].agg(lambda ids: separator.join(map(str, ids)))
        return rows.reset_index()

    return change


def as_text(world: World) -> None:
    """Make all item ids texts with a leading letter."""
    world.change(None, lambda frame: frame.assign(item_id="é" + text(frame["item_id"])))
    for name in ("interactions", "history", "items"):
        frame = getattr(world, name)
        setattr(world, name, frame.assign(item_id="é" + text(frame["item_id"])))


def spelled(how: Callable[[pd.Series], pd.Series]) -> Change:
    """Return the mistake of spelling half of the items of the lists in another way."""

    def change(world: World) -> None:
        as_text(world)
        for name, frame in world.models.items():
            other = how(frame["item_id"])
            ids = other.where(frame["item_id"].rank(method="dense") % 2 == 1, frame["item_id"])
            world.models[name] = frame.assign(item_id=ids)

    return change


IDS, LISTS, ORDER, TRUTH, OTHERS, CALLS = (
    "ids",
    "lists",
    "order",
    "interactions",
    "other tables",
    "call",
)

# ids
add(
    "items_as_text",
    IDS,
    "item ids of the lists are text",
    lists(lambda f: f.assign(item_id=text(f["item_id"]))),
)
add(
    "users_as_text",
    IDS,
    "user ids of the interactions are text",
    table("interactions", lambda f: f.assign(user_id=text(f["user_id"]))),
)
add(
    "items_as_floats",
    IDS,
    "item ids of the lists are floats, some missing",
    lists(lambda f: f.assign(item_id=f["item_id"].where(f.index % 50 > 0))),
)
add(
    "items_shifted",
    IDS,
    "item ids of the lists are one too low",
    lists(lambda f: f.assign(item_id=f["item_id"] - 1)),
)
add(
    "users_shifted",
    IDS,
    "user ids of the lists are one too low",
    lists(lambda f: f.assign(user_id=f["user_id"] - 1)),
)
add(
    "items_of_one_model",
    IDS,
    "item ids of one model have another prefix",
    lists(lambda f: f.assign(item_id=f["item_id"] + 10_000_000), "knn"),
)


@mistake(IDS, "positions 0 … n-1 instead of item ids, against 1 … n")
def positions_of_items(world: World) -> None:
    ids = np.sort(world.items["item_id"].to_numpy())
    number = pd.Series(np.arange(ids.size), index=ids)
    world.change(None, lambda frame: frame.assign(item_id=number[frame["item_id"]].to_numpy()))
    for name in ("interactions", "history", "items"):
        frame = getattr(world, name)
        setattr(world, name, frame.assign(item_id=number[frame["item_id"]].to_numpy() + 1))


@mistake(IDS, "positions of users in the file instead of user ids, against 1 … n")
def positions_of_users(world: World) -> None:
    ids = np.sort(world.users["user_id"].to_numpy())
    number = pd.Series(np.arange(ids.size), index=ids)
    world.change(None, lambda frame: frame.assign(user_id=number[frame["user_id"]].to_numpy()))
    for name in ("interactions", "history", "users"):
        frame = getattr(world, name)
        setattr(world, name, frame.assign(user_id=number[frame["user_id"]].to_numpy() + 1))


add(
    "items_in_upper_case",
    IDS,
    "half of the item ids in upper case",
    spelled(lambda ids: ids.str.upper()),
)
add(
    "items_with_blanks",
    IDS,
    "half of the item ids with a blank at the end",
    spelled(lambda ids: ids + " "),
)
add(
    "items_decomposed",
    IDS,
    "half of the item ids in another Unicode form",
    spelled(lambda ids: ids.str.normalize("NFD")),
)
add(
    "items_with_zeros",
    IDS,
    "half of the item ids with leading zeros",
    spelled(lambda ids: "00" + ids),
)
add(
    "columns_exchanged",
    IDS,
    "columns of users and items exchanged in the lists",
    lists(
        lambda f: f.rename(columns={"user_id": "item_id", "item_id": "user_id"}).drop(
            columns="rank"
        )
    ),
)
add(
    "truth_columns_exchanged",
    IDS,
    "columns of users and items exchanged in the interactions",
    table("interactions", lambda f: f.rename(columns={"user_id": "item_id", "item_id": "user_id"})),
)
add(
    "ids_rounded",
    IDS,
    "item ids rounded to tens",
    lists(
        lambda f: f.assign(item_id=f["item_id"] // 10 * 10).drop_duplicates(["user_id", "item_id"])
    ),
)

# lists
add("half_of_the_users", LISTS, "half of the users have no list", lists(lambda f: f[~some(f, 0.5)]))
add(
    "a_fifth_of_the_users",
    LISTS,
    "a fifth of the users has no list",
    lists(lambda f: f[~some(f, 0.2)]),
)
add(
    "last_batch",
    LISTS,
    "the last batch of users is missing (15 %)",
    lists(lambda f: f[f["user_id"] <= f["user_id"].quantile(0.85)]),
)
add(
    "half_of_the_users_of_a_model",
    LISTS,
    "one of two models lacks half of the users",
    lists(lambda f: f[~some(f, 0.5)], "knn"),
)
add(
    "a_tenth_of_the_users_of_a_model",
    LISTS,
    "one of two models lacks a tenth of the users",
    lists(lambda f: f[~some(f, 0.1)], "knn"),
)
add(
    "other_users",
    LISTS,
    "each model has lists of another half of the users",
    then(lists(lambda f: f[some(f, 0.5)], "als"), lists(lambda f: f[~some(f, 0.5)], "knn")),
)
add(
    "short_lists_of_a_model",
    LISTS,
    "one of two models has lists of five items",
    lists(lambda f: f[f["rank"] <= 5], "knn"),
)
add(
    "short_lists",
    LISTS,
    "all lists have five items, metrics at ten",
    lists(lambda f: f[f["rank"] <= 5]),
)
add(
    "short_lists_of_most",
    LISTS,
    "two of three lists have five items",
    lists(lambda f: f[(f["rank"] <= 5) | ~some(f, 0.67)]),
)
add(
    "same_file",
    LISTS,
    "the same file as two models",
    lambda w: w.models.update(knn=w.models["als"]),
)
add(
    "same_file_again",
    LISTS,
    "the same file as two of three models",
    lambda w: w.models.update(mf=w.models["als"]),
)


def broadcast(frame: pd.DataFrame) -> pd.DataFrame:
    """Give every user the list of the first."""
    first = frame[frame["user_id"] == frame["user_id"].iloc[0]]
    users = frame[["user_id"]].drop_duplicates()
    return users.merge(first.drop(columns="user_id"), how="cross")


add(
    "lists_of_one_user",
    LISTS,
    "every user has the list of the first user",
    then(lists(broadcast), put(history=None)),
)
add(
    "lists_of_one_user_in_a_model",
    LISTS,
    "one of two models gives every user the list of the first user",
    then(lists(broadcast, "knn"), put(history=None)),
)


def shuffled_users(frame: pd.DataFrame) -> pd.DataFrame:
    users = np.sort(frame["user_id"].unique())
    other = pd.Series(np.random.default_rng(3).permutation(users), index=users)
    return frame.assign(user_id=other[frame["user_id"]].to_numpy())


add("users_shuffled", LISTS, "lists belong to other users", lists(shuffled_users))
add(
    "users_shuffled_without_history",
    LISTS,
    "lists belong to other users, and no history was given",
    then(lists(shuffled_users), put(history=None)),
)


def with_seen(world: World) -> None:
    """Put items of the history at the top of each list."""
    seen = world.history.groupby("user_id").head(3)[["user_id", "item_id"]]
    for name, frame in world.models.items():
        top = seen.assign(score=100.0 - seen.groupby("user_id").cumcount(), rank=0)
        both = pd.concat([top, frame]).sort_values(["user_id", "score"], ascending=[True, False])
        rank = both.groupby("user_id").cumcount() + 1
        world.models[name] = both.assign(rank=rank).reset_index(drop=True)


add("items_seen", LISTS, "lists contain items of the history", with_seen)
add(
    "items_seen_without_history",
    LISTS,
    "lists contain items of the history, which was not given",
    then(with_seen, put(history=None)),
)
add(
    "items_repeated",
    LISTS,
    "items repeated in the lists",
    lists(lambda f: pd.concat([f, f[f["rank"] <= 2].assign(rank=lambda g: g["rank"] + K)])),
)
add(
    "items_missing",
    LISTS,
    "NULL items in the lists",
    lists(lambda f: f.assign(item_id=f["item_id"].astype("Int64").where(f["rank"] < K))),
)
add(
    "two_models_in_one_table",
    LISTS,
    "two models in one table, without a column model",
    put(models=lambda w: {"all": pd.concat(w.models.values())}),
)
add("file_twice", LISTS, "a file concatenated with itself", lists(lambda f: pd.concat([f, f])))


def sampled(frame: pd.DataFrame, world: World) -> pd.DataFrame:
    """Rank the held-out items among sampled candidates."""
    rng = np.random.default_rng(4)
    truth = world.interactions[["user_id", "item_id"]]
    other = frame[frame["rank"] <= K - 5][["user_id", "item_id"]]
    both = pd.concat([truth, other]).drop_duplicates()
    both = both.assign(score=rng.random(len(both)))
    return both[both["user_id"].isin(frame["user_id"])]


add(
    "candidates_sampled",
    LISTS,
    "lists of sampled candidates",
    lambda w: w.change(None, lambda f: sampled(f, w)),
)


def perfect(frame: pd.DataFrame, world: World) -> pd.DataFrame:
    """Put all held-out items at the top, as a model that was trained on them."""
    truth = world.interactions[["user_id", "item_id"]].assign(score=100.0)
    both = pd.concat([truth, frame.drop(columns="rank")]).drop_duplicates(["user_id", "item_id"])
    noise = np.random.default_rng(5).random(len(both)) / 100
    return both.assign(score=both["score"] + noise)


add(
    "trained_on_the_test",
    LISTS,
    "a model was trained on the held-out interactions",
    lambda w: w.change("als", lambda f: perfect(f, w)),
)
add(
    "only_the_truth",
    LISTS,
    "the lists are the held-out interactions",
    lambda w: w.change(None, lambda _: truth_alone(w)),
)
add(
    "candidates_are_the_truth",
    LISTS,
    "lists re-rank the held-out items only, in the order of scores",
    lambda w: w.change(
        None, lambda f: f.merge(w.interactions[["user_id", "item_id"]]).drop(columns="rank")
    ),
)
for separator, name in ((" ", "blanks"), ("|", "bars"), (",", "commas")):
    add(
        f"items_joined_by_{name}",
        LISTS,
        f"the items of a list in one text, separated by {name}",
        lists(joined_items(separator)),
    )

# order
add("ranks_from_0", ORDER, "ranks begin at 0", lists(lambda f: f.assign(rank=f["rank"] - 1)))
add("ranks_with_gaps", ORDER, "ranks with gaps after a filter", lists(lambda f: f[part(f)]))
add("ranks_repeated", ORDER, "all items have rank 1", lists(lambda f: f.assign(rank=1)))
add(
    "ranks_of_the_file",
    ORDER,
    "ranks number the rows of the file",
    lists(lambda f: f.assign(rank=np.arange(1, len(f) + 1))),
)
add(
    "ranks_reversed",
    ORDER,
    "ranks of ascending scores, with the scores",
    lists(lambda f: f.assign(rank=K + 1 - f["rank"])),
)
add(
    "ranks_reversed_alone",
    ORDER,
    "ranks of ascending scores, without the scores",
    lists(lambda f: f.assign(rank=K + 1 - f["rank"]).drop(columns="score")),
)
add(
    "ranks_of_another_model",
    ORDER,
    "ranks of one model, scores of another",
    lists(
        lambda f: f.assign(rank=random(f)).assign(
            rank=lambda f: f.groupby("user_id")["rank"].rank().astype(int)
        )
    ),
)
add("rank_as_score", ORDER, "a column 1 … n as the score", lists(scored(lambda f: f["rank"])))
add(
    "row_number_as_score",
    ORDER,
    "the number of the row as the score",
    lists(scored(lambda f: np.arange(len(f)))),
)
add(
    "rank_as_score_of_a_model",
    ORDER,
    "a column 1 … n as the score of one of two models",
    lists(scored(lambda f: f["rank"]), "knn"),
)
add("item_as_score", ORDER, "the item id as the score", lists(scored(lambda f: f["item_id"])))
add("user_as_score", ORDER, "the user id as the score", lists(scored(lambda f: f["user_id"])))
add("distances", ORDER, "distances as scores", lists(scored(lambda f: 50 - f["score"])))
add(
    "losses",
    ORDER,
    "losses as scores (exp(-score))",
    lists(scored(lambda f: np.exp(-f["score"] / 10))),
)
add(
    "distances_of_a_model",
    ORDER,
    "distances as scores of one of two models",
    lists(scored(lambda f: 50 - f["score"]), "knn"),
)
add(
    "scores_missing",
    ORDER,
    "some scores are NaN",
    lists(scored(lambda f: f["score"].where(f.index % 40 > 0))),
)
add(
    "scores_infinite",
    ORDER,
    "masked scores of -inf",
    lists(scored(lambda f: f["score"].where(f.index % 40 > 0, -np.inf))),
)
add("scores_as_text", ORDER, "scores are text", lists(scored(lambda f: f["score"].astype(str))))
add(
    "scores_rounded",
    ORDER,
    "scores rounded to whole numbers",
    lists(scored(lambda f: f["score"].round())),
)
add("scores_constant", ORDER, "scores lost: all 1.0", lists(scored(lambda _: 1.0)))
add(
    "scores_underflow",
    ORDER,
    "probabilities that underflow to 0",
    lists(scored(lambda f: np.where(f["rank"] > 3, 0.0, f["score"]))),
)
add(
    "scores_shuffled",
    ORDER,
    "scores of other rows",
    lists(scored(random)),
)

# interactions
add(
    "ratings_unread",
    TRUTH,
    "ratings not mapped: every row is relevant",
    lambda w: w.given.clear(),
    rated=True,
)
add(
    "no_threshold",
    TRUTH,
    "ratings mapped without a threshold",
    lambda w: w.given.pop("settings"),
    rated=True,
)
add(
    "threshold_too_high",
    TRUTH,
    "a threshold above all ratings",
    lambda w: w.given.update(settings={"relevant_from": 6}),
    rated=True,
)
add(
    "other_scale",
    TRUTH,
    "ratings from 0 to 1 with a threshold of 4",
    table("interactions", lambda f: f.assign(rating=f["rating"] / 5)),
    rated=True,
)
add(
    "graded",
    TRUTH,
    "grades 0 to 4, with a metric of binary relevance",
    then(
        table("interactions", lambda f: f.assign(rating=f["rating"] - 1)),
        lambda w: w.given.pop("settings"),
    ),
    rated=True,
)
add(
    "interactions_repeated",
    TRUTH,
    "interactions repeated",
    table("interactions", lambda f: pd.concat([f, f[part(f)]])),
)
add(
    "interactions_without_user",
    TRUTH,
    "NULL users in the interactions",
    table(
        "interactions",
        lambda f: f.assign(user_id=f["user_id"].astype("Int64").where(f.index % 30 > 0)),
    ),
)
add(
    "history_as_interactions",
    TRUTH,
    "the history as the interactions",
    put(interactions=past),
)
add(
    "history_as_interactions_alone",
    TRUTH,
    "the history as the interactions, and no history was given",
    put(interactions=past, history=None),
)
add(
    "all_interactions",
    TRUTH,
    "all interactions, with the history",
    put(interactions=everything),
)
add(
    "all_interactions_alone",
    TRUTH,
    "all interactions, and no history was given",
    put(interactions=everything, history=None),
)
add(
    "history_exchanged",
    TRUTH,
    "history and interactions exchanged, without timestamps",
    put(
        interactions=lambda w: w.history[["user_id", "item_id"]],
        history=lambda w: w.interactions[["user_id", "item_id"]],
    ),
)
add(
    "half_of_the_interactions",
    TRUTH,
    "the second half of the file of interactions is missing",
    table("interactions", lambda f: f[: len(f) // 2]),
)
add(
    "half_of_the_interactions_without_history",
    TRUTH,
    "the second half of the file of interactions is missing, and no history was given",
    put(interactions=lambda w: w.interactions[: len(w.interactions) // 2], history=None),
)
add(
    "half_of_the_rows",
    TRUTH,
    "every second interaction is missing",
    table("interactions", lambda f: f[part(f)]),
)
add(
    "tables_exchanged",
    TRUTH,
    "recommendations and interactions exchanged",
    put(
        models=lambda w: {"all": w.interactions.assign(score=random(w.interactions))},
        interactions=lambda w: w.models["als"],
    ),
)
add(
    "other_period",
    TRUTH,
    "interactions of other users for the most part",
    table(
        "interactions",
        lambda f: f.assign(user_id=f["user_id"].where(some(f, 0.3), f["user_id"] + 100_000)),
    ),
)
add(
    "negatives_as_interactions",
    TRUTH,
    "sampled negatives with a label among the interactions",
    table(
        "interactions",
        lambda f: pd.concat(
            [
                f.assign(label=1),
                f.assign(item_id=np.random.default_rng(9).permutation(f["item_id"]), label=0),
            ]
        ).drop_duplicates(["user_id", "item_id"]),
    ),
)
add(
    "a_leak",
    TRUTH,
    "the history ends after the held-out interactions",
    table("history", later),
)
add(
    "test_in_history",
    TRUTH,
    "the held-out interactions are also in the history",
    put(history=lambda w: pd.concat([w.history, w.interactions])),
)
add(
    "seconds_and_milliseconds",
    TRUTH,
    "history in seconds after interactions, which are in milliseconds",
    then(
        table("history", later),
        table("interactions", lambda f: f.assign(timestamp=f["timestamp"] * 1000)),
    ),
)

# other tables
NOVELTY, COVERAGE = ("surprisal@10",), ("coverage@10",)
add(
    "half_of_the_history",
    OTHERS,
    "half of the history is missing",
    table("history", lambda f: f[part(f)]),
    metrics=NOVELTY,
)
add(
    "other_history",
    OTHERS,
    "a history with other item ids",
    table("history", lambda f: f.assign(item_id=f["item_id"] + 10_000_000)),
    metrics=COVERAGE,
)
add(
    "half_of_the_catalogue",
    OTHERS,
    "half of the catalogue is missing",
    lambda w: w.given.update(items=w.items[part(w.items)], settings={"catalogue": "items"}),
    metrics=COVERAGE,
)
add(
    "prices_missing",
    OTHERS,
    "prices are missing",
    lambda w: w.given.update(items=w.items.assign(price=w.items["price"].where(part(w.items)))),
    metrics=("revenue@10",),
)
add(
    "items_twice",
    OTHERS,
    "a table of items with repeated rows",
    lambda w: w.given.update(items=pd.concat([w.items, w.items])),
    metrics=("intra_list_diversity@10",),
)
add(
    "categories_joined",
    OTHERS,
    "several categories in one text",
    lambda w: w.given.update(
        items=w.items.assign(
            category=np.where(part(w.items), w.items["category"] + "|other", w.items["category"])
        )
    ),
    metrics=("intra_list_diversity@10",),
)
add(
    "half_of_the_users_table",
    OTHERS,
    "half of the users are missing in the table to slice by",
    then(
        lambda w: w.given.update(users=w.users[part(w.users)]),
        lambda w: w.asked.update(by="country"),
    ),
)

# the call
add(
    "cutoff_beyond_the_lists",
    CALLS,
    "a cutoff of 50 for lists of 20 items",
    put(metrics=("precision@50",)),
    metrics=("precision@20",),
)
add(
    "all_lists_cut",
    CALLS,
    "lists cut to three items before the history was removed",
    lists(lambda f: f[f["rank"] <= 3]),
)


# ---- data without a mistake ----------------------------------------------------------------------

CLEAN: dict[str, tuple[str, Change]] = {}


def clean(title: str) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        CLEAN[change.__name__] = title, change
        return change

    return add


@clean("two models with ranks and scores")
def two_models(world: World) -> None:
    pass


@clean("one model with scores, without a history")
def one_model(world: World) -> None:
    world.models = {"als": world.models["als"].drop(columns="rank")}
    world.history = None


@clean("ratings with a threshold")
def ratings(world: World) -> None:
    rated(world)


@clean("repeated purchases, with a log of all purchases")
def repeat_purchases(world: World) -> None:
    """Users buy items of their history again, and models recommend them."""
    favourites = world.history.groupby("user_id").head(3)
    again = favourites.assign(timestamp=favourites["timestamp"] + 1)
    last = world.interactions.groupby("user_id")["timestamp"].transform("max")
    bought = favourites.groupby("user_id").head(2)[["user_id", "item_id"]]
    bought = bought.merge(world.interactions.assign(timestamp=last).drop(columns="item_id"))
    world.history = pd.concat([world.history, again])
    world.interactions = pd.concat([world.interactions, bought.drop_duplicates()])
    with_bought(world, favourites)


@clean("repeated purchases, with a history of one row per item and timestamps")
def repeat_purchases_once(world: World) -> None:
    repeat_purchases(world)
    world.history = world.history.drop_duplicates(["user_id", "item_id"])


@clean("repeated purchases, with a log without timestamps")
def repeat_purchases_without_times(world: World) -> None:
    repeat_purchases(world)
    world.history = world.history[["user_id", "item_id"]]
    world.interactions = world.interactions[["user_id", "item_id"]]


def with_bought(world: World, favourites: pd.DataFrame) -> None:
    """Put favourite items of each user between the items of the lists."""
    for name, frame in world.models.items():
        mine = favourites[["user_id", "item_id"]].merge(
            frame.groupby("user_id", as_index=False)["score"].median()
        )
        both = pd.concat([frame, mine]).drop(columns="rank")
        both["score"] += random(both) / 1000  # no equal scores
        world.models[name] = both.sort_values(["user_id", "score"], ascending=[True, False])


@clean("new items that are not in the history")
def new_items(world: World) -> None:
    new = np.random.default_rng(1).random(len(world.items)) < 0.1
    ids = world.items["item_id"][new]
    world.history = world.history[~world.history["item_id"].isin(ids)]


@clean("lists for all users, interactions of a tenth of them")
def few_test_users(world: World) -> None:
    world.interactions = world.interactions[some(world.interactions, 0.1)]


@clean("one user in fifty without a list")
def few_users_without_a_list(world: World) -> None:
    world.change("knn", lambda frame: frame[~some(frame, 0.02)])


@clean("one held-out item per user")
def leave_one_out(world: World) -> None:
    world.interactions = world.interactions.groupby("user_id").tail(1)


@clean("a baseline of popular items, the same for all users, beside another model")
def popular_baseline(world: World) -> None:
    world.models["popular"] = popular(world)
    del world.models["knn"]
    world.history = None


def popular(world: World) -> pd.DataFrame:
    counts = world.history["item_id"].value_counts()[:K]
    top = pd.DataFrame({"item_id": counts.index, "score": counts.to_numpy() - np.arange(K) / 100})
    users = world.models["als"][["user_id"]].drop_duplicates()
    return users.merge(top.assign(rank=range(1, K + 1)), how="cross")


@clean("lists that another step has diversified: ranks differ from scores")
def diversified(world: World) -> None:
    def other_order(frame: pd.DataFrame) -> pd.DataFrame:
        first = frame["rank"].where(frame["rank"] <= 2, frame["rank"] + 7 * (frame["rank"] % 3))
        order = first.groupby(frame["user_id"]).rank(method="first").astype(int)
        return frame.assign(rank=order)

    world.change("als", other_order)


@clean("points for places as scores: n … 1")
def points(world: World) -> None:
    world.change(None, scored(lambda frame: K + 1 - frame["rank"]))


@clean("lists of all items above a threshold, of different lengths")
def whole_lists(world: World) -> None:
    world.change(None, lambda f: f[f["rank"] <= 8 + (f["user_id"] % 13)])
    world.metrics = ("recall", "map", "precision")


@clean("a weak model: few users have a hit")
def weak_model(world: World) -> None:
    world.change(
        "knn",
        lambda f: f.assign(rank=f.groupby("user_id")["item_id"].rank().astype(int)).drop(
            columns="score"
        ),
    )
    world.change("als", lambda f: f.drop(columns="score"))


@clean("metrics of lists only")
def lists_only(world: World) -> None:
    world.interactions = world.interactions[some(world.interactions, 0.1)]
    world.metrics = ("coverage@10", "surprisal@10")


def rated(world: World) -> None:
    """Use all interactions, with their ratings and a threshold."""
    world.interactions = world.given.pop("rated")
    world.given.update(columns={"interactions.relevance": "rating"}, settings={"relevant_from": 4})


# ---- outcomes ------------------------------------------------------------------------------------

OUTCOMES = ("refused", "said", "checked", "harmless", "silent")


@dataclass(frozen=True)
class Outcome:
    name: str
    outcome: str
    messages: tuple[str, ...] = ()


class Outcomes:
    """Make mistakes in a world; the right result of a mistake is computed once for all."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.right_result = functools.cache(lambda *of: self.right(*of).evaluate()[0])
        self.right_findings = functools.cache(lambda *of: self.right(*of).findings())

    def right(self, metrics: tuple[str, ...], with_ratings: bool) -> World:
        """Return the world before a mistake."""
        right = replace(prepared(self.world).copy(), metrics=metrics)
        if with_ratings:
            right.given["rated"] = self.world.interactions
            rated(right)
        return right

    def of(self, name: str) -> Outcome:
        """Make a mistake, and compare the result with the right one."""
        mistake = MISTAKES[name]
        of_right = mistake.metrics, mistake.rated
        wrong = self.right(*of_right)
        mistake.change(wrong)
        try:
            result, messages = wrong.evaluate()
        except sm.SqlmetricsError as error:
            return Outcome(name, "refused", (str(error),))
        if messages:
            return Outcome(name, "said", tuple(messages))
        if same(result, self.right_result(*of_right)):
            return Outcome(name, "harmless")
        new = wrong.findings().items() - self.right_findings(*of_right).items()
        return Outcome(name, "checked" if new else "silent", tuple(text for _, text in sorted(new)))


def same(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Return whether two results have the same values."""
    return len(left) == len(right) and np.allclose(left["value"], right["value"], rtol=1e-9)


def alarms_of(world: World, name: str) -> list[str]:
    """Return the warnings about tables without a mistake."""
    made = prepared(world).copy()
    if name == "ratings":
        made.given["rated"] = world.interactions
    CLEAN[name][1](made)
    return made.evaluate()[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only names that contain this text")
    parser.add_argument("--messages", action="store_true", help="print the messages, too")
    parser.add_argument("--tables", type=Path, help="folder with other tables")
    options = parser.parse_args()
    world = read(options.tables) if options.tables else generated()
    counts: Counter[str] = Counter()
    outcomes = Outcomes(world)
    for name in (name for name in MISTAKES if options.only in name):
        outcome = outcomes.of(name)
        counts[outcome.outcome] += 1
        of = MISTAKES[name]
        print(f"{outcome.outcome:9} {of.group:13} {of.title} ({name})", flush=True)
        if options.messages:
            show(outcome.messages)
    n_false = 0
    for name in (name for name in CLEAN if options.only in name):
        messages = alarms_of(world, name)
        n_false += bool(messages)
        print(
            f"{'warned' if messages else 'no warning':11} clean: {CLEAN[name][0]} ({name})",
            flush=True,
        )
        show(messages)
    print(
        f"{sum(counts.values())} mistakes: " + ", ".join(f"{counts[one]} {one}" for one in OUTCOMES)
    )
    print(f"{n_false} datasets without a mistake have a warning")
    return 1 if n_false or counts["silent"] > MOST_SILENT else 0


def show(messages: Iterable[str]) -> None:
    for message in messages:
        print("         ", message.replace("\n", "\n          "))


if __name__ == "__main__":
    sys.exit(main())
