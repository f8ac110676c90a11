"""rexmex: its functions, with means over lists where it has none, and without rounding.

The lists of its rankings are those of users with a relevant item. Its metrics of pairs need a label
for every recommended item; its novelty takes what the caller counts, so that an item that the
history does not know has one user, as here.
"""

from collections import defaultdict

import numpy
from rexmex.metrics import classification, coverage, ranking, rating

from given import main

coverage.round = lambda number, *_: number

POOLED = {
    "roc_auc": classification.roc_auc_score,
    "average_precision": classification.average_precision_score,
}
OF_GRADES = {
    "mae": rating.mean_absolute_error,
    "mse": rating.mean_squared_error,
    "rmse": rating.root_mean_squared_error,
    "r_squared": rating.r2_score,
}
OF_LISTS = ("mean_average_precision_at_k", "mean_average_recall_at_k")
OF_SCORES = {
    "discounted_cumulative_gain": ranking.discounted_cumulative_gain,
    "normalized_discounted_cumulative_gain": ranking.normalized_discounted_cumulative_gain,
}
CORRELATIONS = {"kendall_tau": ranking.kendall_tau, "spearmans_rho": ranking.spearmans_rho}
RANKS = {"mean_rank": ranking.mean_rank, "gmean_rank": ranking.gmean_rank}


def of_labels(given, model):
    """Yield the metrics of the labels and scores of lists, and of the places of their items."""
    lists = [(numpy.array(g, float), numpy.array(s)) for g, s in given.labelled(model)]
    grades = numpy.concatenate([g for g, _ in lists])
    scores = numpy.concatenate([s for _, s in lists])
    for name, metric in POOLED.items():
        yield name, None, lambda m=metric: m((grades > 0).astype(int), scores.copy())
    for name, metric in OF_GRADES.items():
        yield name, None, lambda m=metric: m(grades, scores)
    for name, metric in OF_SCORES.items():
        yield (
            name,
            None,
            lambda m=metric: numpy.mean([m(g[None, :], s[None, :]) for g, s in lists]),
        )
    for name, metric in CORRELATIONS.items():
        yield name, None, lambda m=metric: numpy.nanmean([m(g, s)[0] for g, s in lists])


def of_lists(given, model):
    """Yield the metrics of recommended and relevant items."""
    lists, relevant = given.by_user(given.lists(model)), defaultdict(list)
    for row in given.rows("interactions"):
        if row["relevance"] > 0:
            relevant[row["user_id"]].append(row["item_id"])
    pairs = [(items, lists.get(user, [])) for user, items in relevant.items()]
    for name in OF_LISTS:
        for k in given.cutoffs:
            yield name, k, lambda n=name, k=k: getattr(ranking, n)(*zip(*pairs), k)
    if all(found for _, found in pairs):
        for k in given.cutoffs:
            yield (
                "hits_at_k",
                k,
                lambda k=k: numpy.mean([ranking.hits_at_k(*pair, k) for pair in pairs]),
            )
    if all(set(items) <= set(found) for items, found in pairs):
        for name, metric in RANKS.items():
            yield name, None, lambda m=metric: numpy.mean([m(*pair) for pair in pairs])


def of_all_lists(given, model):
    """Yield the metrics of recommended items alone."""
    lists = given.by_user(given.lists(model))
    items = [row["item_id"] for row in given.rows("items")]
    users = {row["user_id"] for row in given.rows("interactions")}
    history, popularity = set(), defaultdict(lambda: 1)
    pairs = {(row["user_id"], row["item_id"]) for row in given.rows("history")}
    for user, item in pairs:
        popularity[item] = popularity[item] + 1 if item in popularity else 1
        history.add(user)
    for k in given.cutoffs:
        cut = {user: found[:k] for user, found in lists.items()}
        recommended = [(user, item) for user, found in cut.items() for item in found]
        yield "personalization", k, lambda c=cut: ranking.personalization(list(c.values()))
        for name in ("item_coverage", "user_coverage"):
            metric = getattr(coverage, name)
            yield name, k, lambda m=metric, r=recommended: m((list(users), items), r)
        if all(len(found) >= max(given.cutoffs) for found in lists.values()):
            yield (
                "novelty",
                k,
                lambda k=k: ranking.novelty(list(lists.values()), popularity, len(history), k),
            )


def measure(given, model):
    yield from of_lists(given, model)
    if given.rows("history"):
        yield from of_all_lists(given, model)
    else:
        yield from of_labels(given, model)


main(measure)
