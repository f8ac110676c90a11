"""The tables that every system is given: made from a seed with the standard library alone.

Ids are texts without leading zeros, so that u10 comes before u9. Grades are 0 to 3, and some users
have nothing but zeros; there are users without a list, users without interactions, short lists,
items that the history does not know and items that nobody is recommended.

    plain     no equal scores in a list
    ties      scores on a coarse grid, rows in random order
    common    plain, for the users with a list in both models and with interactions: for metrics
              that have no value as soon as one user lacks either
    unlogged  plain, with logs that have no propensities
    partial   plain, without every third item in items: for systems that take these as catalogue
    relisted  repeats, without the repeated rows in interactions
    pooled    plain, with a relevance of -1 in every fifth row of the interactions
    full      lists of 25 for all users: for a system that knows no others
    tested    full, for the users with interactions
    repeats   repeated rows in lists and interactions; users as in common
    labelled  lists of the same items in both models, with a grade for every item and no other
              interactions, and scores on a coarse grid: what libraries for learning to rank know
    long      labelled, with lists of 25 items
    aspects   plain, for the users with a relevant item, with aspects of every pair of the
              interactions
    tied_aspects   the same with the lists of ties
    versed    plain, for the users with a list in both models, with interactions and with a history,
              whose history has no repeated rows
    sorted    versed, with the categories of the items in place of their features
    known     plain, without recommended items that the history does not know
    grouped   full, with a group of every item, and baseline lists of 25 for all users
    groups_of_labelled   labelled, with a group of every item
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

CUTOFFS = [1, 3, 5, 10, 20]
MODELS = ["near", "far"]
# how much a grade raises the score: lists of one model are better than those of the other
_LIFT = {"near": 0.2, "far": 0.05}
_LENGTHS = [1, 2, 3, 4, 5, 8, 11, 18, 20, 21, 25, 25]

Row = dict[str, Any]
Tables = dict[str, list[Row]]


def tables(name: str) -> Tables:
    """Return the tables of one of the data sets, as rows in their order."""
    if name == "common":
        return _of_common_users(tables("plain"))
    if name == "unlogged":
        made = tables("plain")
        made["logs"] = [{n: row[n] for n in row if n != "propensity"} for row in made["logs"]]
        return made
    if name == "partial":
        made = tables("plain")
        return {**made, "items": [row for n, row in enumerate(made["items"]) if n % 3 < 2]}
    if name == "relisted":
        made = tables("repeats")
        pairs = {(row["user_id"], row["item_id"]): row for row in made["interactions"]}
        return {**made, "interactions": list(pairs.values())}
    if name == "pooled":
        made = tables("plain")
        rows = made["interactions"]
        return {
            **made,
            "interactions": [
                dict(r, relevance=-1) if n % 5 == 0 else r for n, r in enumerate(rows)
            ],
        }
    if name == "known":
        return _of_known_items(tables("plain"))
    if name in ("aspects", "tied_aspects"):
        made = tables("plain" if name == "aspects" else "ties")
        liked = {row["user_id"] for row in made["interactions"] if row["relevance"] > 0}
        made = _of_users(made, liked)
        return {**made, "aspects": _aspects(random.Random(77), made["interactions"])}
    if name == "tested":
        made = tables("full")
        return _of_users(made, {row["user_id"] for row in made["interactions"]})
    if name in ("versed", "sorted"):
        made = _of_versed_users(tables("plain"))
        draw = random.Random(88)
        return {**made, "items": _sorted(draw, made["items"])} if name == "sorted" else made
    if name == "labelled":
        return _labelled(random.Random(55), [2, *_LENGTHS[1:]])
    if name == "long":
        return _labelled(random.Random(66), [25])
    if name == "groups_of_labelled":
        made = _labelled(random.Random(77), [2, *_LENGTHS[1:]])
        return {**made, "items": _groups(random.Random(78))}
    if name == "grouped":
        return _grouped(random.Random(88))
    draw = random.Random({"plain": 11, "ties": 22, "repeats": 33, "full": 44}[name])
    lengths = [25] if name == "full" else _LENGTHS
    made = _make(draw, lengths, ties=name == "ties", repeats=name == "repeats")
    if name == "full":
        return _of_users(made, _users_with_lists(made))
    return _of_common_users(made) if name == "repeats" else made


def fingerprint(made: Tables) -> str:
    """Tell whether two runs made the same tables."""
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:16]


def _make(draw: random.Random, lengths: list[int], *, ties: bool, repeats: bool) -> Tables:
    items = [f"i{number}" for number in range(1, 81)]
    interactions = _interactions(draw, items)
    grades = {(row["user_id"], row["item_id"]): row["relevance"] for row in interactions}
    recommendations: list[Row] = []
    for model in MODELS:
        recommendations += _lists(draw, model, items, grades, lengths, ties, repeats)
    taken = {(row["user_id"], row["item_id"]) for row in recommendations}
    if repeats:
        interactions += draw.choices(interactions, k=len(interactions) // 4)
        draw.shuffle(interactions)
    return {
        "recommendations": recommendations,
        "interactions": interactions,
        "history": _history(draw, items, taken),
        "items": [_item(draw, item) for item in items],
        "baseline": _baseline(draw, items, ties),
        "logs": _logs(draw, items, taken),
    }


def _grouped(draw: random.Random) -> Tables:
    made = _make(draw, [25], ties=False, repeats=False)
    made = _of_users(made, _users_with_lists(made))
    users = dict.fromkeys(row["user_id"] for row in made["recommendations"])
    items = [f"i{number}" for number in range(1, 81)]
    baseline = [
        {"user_id": user, "item_id": item, "score": round(1 / (2 + place), 6)}
        for user in users
        for place, item in enumerate(draw.sample(items[:40], 25))
    ]
    return {**made, "items": _groups(draw), "baseline": ranked(baseline)}


def _groups(draw: random.Random) -> list[Row]:
    """Return all items, each with one of three groups of different sizes."""
    return [
        {"item_id": f"i{number}", "item_group": draw.choice([1, 1, 1, 2, 2, 3])}
        for number in range(1, 81)
    ]


def _labelled(draw: random.Random, lengths: list[int]) -> Tables:
    interactions: list[Row] = []
    for number in range(1, 61):
        levels = [0] if number % 15 == 5 else [0, 0, 1, 2, 3]
        chosen = draw.sample(range(1, 81), draw.choice(lengths))
        interactions += [
            {"user_id": f"u{number}", "item_id": f"i{item}", "relevance": draw.choice(levels)}
            for item in chosen
        ]
    recommendations: list[Row] = []
    for model in MODELS:
        for row in draw.sample(interactions, len(interactions)):
            score = draw.random() * 0.6 + _LIFT[model] * row["relevance"]
            pair = {"user_id": row["user_id"], "item_id": row["item_id"]}
            recommendations.append({"model": model, **pair, "score": round(score * 6) / 8})
    return {"recommendations": ranked(recommendations), "interactions": interactions}


def _interactions(draw: random.Random, items: list[str]) -> list[Row]:
    found: list[Row] = []
    for number in range(1, 61):
        if number % 10 == 3:  # only recommendations
            continue
        size = draw.choice([1, 1, 2, 3, 4, 6, 8, 12, 24])
        levels = [0] if number % 15 == 5 else [0, 1, 1, 2, 3]
        found += [
            {"user_id": f"u{number}", "item_id": item, "relevance": draw.choice(levels)}
            for item in draw.sample(items, size)
        ]
    draw.shuffle(found)
    return found


def _lists(
    draw: random.Random,
    model: str,
    items: list[str],
    grades: dict[tuple[str, str], int],
    lengths: list[int],
    ties: bool,
    repeats: bool,
) -> list[Row]:
    found: list[Row] = []
    for number in range(1, 61):
        if number % 10 == 7 or (model == "far" and number % 12 == 1):  # only interactions
            continue
        user = f"u{number}"
        liked = [item for item in items if (user, item) in grades]
        length = draw.choice(lengths)
        # i76 to i80 are never recommended
        chosen = draw.sample(items[:75], length) + draw.sample(liked, (len(liked) + 1) // 2)
        draw.shuffle(chosen)
        chosen = list(dict.fromkeys(chosen))[:length]
        if repeats and length > 2:
            chosen += draw.choices(chosen, k=2)
        used: set[float] = set()
        for item in chosen:
            score = draw.random() * 0.6 + _LIFT[model] * grades.get((user, item), 0)
            score = round(score * 6) / 8 if ties else round(score, 6)
            while not ties and score in used:
                score = round(score + 0.000001, 6)
            used.add(score)
            found.append({"model": model, "user_id": user, "item_id": item, "score": score})
    draw.shuffle(found)
    return ranked(found)


def ranked(rows: list[Row]) -> list[Row]:
    """Add ranks: by score, and by position among equal scores."""
    lists: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lists.setdefault((row.get("model", ""), row["user_id"]), []).append(row)
    for of_user in lists.values():
        for rank, row in enumerate(sorted(of_user, key=lambda row: -row["score"]), start=1):
            row["rank"] = rank
    return rows


def _history(draw: random.Random, items: list[str], taken: set[tuple[str, str]]) -> list[Row]:
    """Return pairs that are not recommended; i68 and later are in no history, some pairs twice."""
    weights = [1 / (1 + position) for position in range(67)]
    found: list[Row] = []
    for number in [*range(1, 46), *range(101, 121)]:
        user = f"u{number}"
        seen = dict.fromkeys(draw.choices(items[:67], weights, k=draw.choice([2, 5, 9, 20])))
        found += [{"user_id": user, "item_id": i} for i in seen if (user, i) not in taken]
    found += [dict(row) for row in draw.sample(found, 25)]
    draw.shuffle(found)
    return found


def _item(draw: random.Random, item: str) -> Row:
    features = [draw.choice([0.0, 0.0, 1.0, round(draw.random(), 3)]) for _ in range(4)]
    if item in ("i4", "i44"):
        features = [0.0] * 4
    return {"item_id": item, **{f"x{n}": value for n, value in enumerate(features)}}


def _baseline(draw: random.Random, items: list[str], ties: bool) -> list[Row]:
    found: list[Row] = []
    for number in range(1, 66):
        if number % 8 == 2:  # no baseline for these users; u61 to u65 have nothing else
            continue
        for place, item in enumerate(draw.sample(items[:40], draw.choice([1, 4, 12, 25]))):
            score = draw.randint(0, 5) / 8 if ties else round(1 / (2 + place), 6)
            found.append({"user_id": f"u{number}", "item_id": item, "score": score})
    draw.shuffle(found)
    return ranked(found)


def _logs(draw: random.Random, items: list[str], taken: set[tuple[str, str]]) -> list[Row]:
    shown = draw.sample(sorted(taken), 260)
    shown += [(f"u{draw.randint(1, 60)}", draw.choice(items)) for _ in range(120)]
    found = [
        {
            "user_id": user,
            "item_id": item,
            "reward": draw.choice([0.0, 0.0, 0.5, 1.0]),
            "propensity": round(0.05 + 0.9 * draw.random(), 4),
        }
        for user, item in dict.fromkeys(shown)
    ]
    draw.shuffle(found)
    return found


def _users_with_lists(made: Tables) -> set[str]:
    """Return the users who have a list in every model."""
    found = []
    for model in MODELS:
        rows = [row for row in made["recommendations"] if row["model"] == model]
        found.append({row["user_id"] for row in rows})
    return set.intersection(*found)


def _of_common_users(made: Tables) -> Tables:
    with_interactions = {row["user_id"] for row in made["interactions"]}
    return _of_users(made, _users_with_lists(made) & with_interactions)


def _of_versed_users(made: Tables) -> Tables:
    pairs = {(row["user_id"], row["item_id"]): row for row in made["history"]}
    with_history = {user for user, _ in pairs}
    judged = {row["user_id"] for row in made["interactions"]}
    kept = _of_users(made, _users_with_lists(made) & judged & with_history)
    return {**kept, "history": list(pairs.values())}


def _aspects(draw: random.Random, interactions: list[Row]) -> list[Row]:
    """Return one to three aspects of each pair, which differ by user."""
    return [
        {"user_id": row["user_id"], "item_id": row["item_id"], "aspect": aspect}
        for row in interactions
        for aspect in sorted(draw.sample("pqrst", draw.choice([1, 1, 2, 3])))
    ]


def _sorted(draw: random.Random, items: list[Row]) -> list[Row]:
    """Give each item one to three categories, with | between them."""
    return [
        {
            "item_id": row["item_id"],
            "category": "|".join(draw.sample("abcde", draw.choice([1, 2, 3]))),
        }
        for row in items
    ]


def _of_known_items(made: Tables) -> Tables:
    known = {row["item_id"] for row in made["history"]}
    lists = [row for row in made["recommendations"] if row["item_id"] in known]
    return {**made, "recommendations": ranked(lists)}


def _of_users(made: Tables, users: set[str]) -> Tables:
    for name in ("recommendations", "interactions"):
        made[name] = [row for row in made[name] if row["user_id"] in users]
    return made
