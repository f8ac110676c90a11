"""Recommenders, evaluation in Python; AUC takes ratings of 0 and 1."""

import numpy as np
import pandas as pd
from recommenders.evaluation import python_evaluation as evaluation

from given import columns, main

PAIR = {"userID": "user_id", "itemID": "item_id"}
AT_K = {
    "precision_at_k": (evaluation.precision_at_k, {}),
    "recall_at_k": (evaluation.recall_at_k, {}),
    "r_precision_at_k": (evaluation.r_precision_at_k, {}),
    "map_at_k": (evaluation.map_at_k, {}),
    "map": (evaluation.map, {}),
    "ndcg_at_k": (evaluation.ndcg_at_k, {}),
    'ndcg_at_k(score_type="raw")': (evaluation.ndcg_at_k, {"score_type": "raw"}),
    'ndcg_at_k(score_type="exp")': (evaluation.ndcg_at_k, {"score_type": "exp"}),
}


def measure(given, model):
    lists = pd.DataFrame(columns(given.lists(model), **PAIR, prediction="score"))
    truth = pd.DataFrame(columns(given.rows("interactions"), **PAIR, rating="relevance"))
    history = pd.DataFrame(columns(given.rows("history"), **PAIR))
    for name, (function, options) in AT_K.items():
        for k in given.cutoffs:
            yield name, k, lambda f=function, o=options, k=k: f(truth, lists, k=k, **o)
    liked = truth.assign(rating=(truth["rating"] > 0).astype(float))
    yield "auc", None, lambda: evaluation.auc(liked, lists)
    yield (
        "catalog_coverage",
        None,
        lambda: evaluation.catalog_coverage(history.drop_duplicates(), lists[["userID", "itemID"]]),
    )
    past = history.drop_duplicates()
    seen = set(zip(past["userID"], past["itemID"]))
    if seen & set(zip(lists["userID"], lists["itemID"])) or past.shape != history.shape:
        return  # the functions of the history take no repeated rows
    yield (
        "distributional_coverage",
        None,
        lambda: evaluation.distributional_coverage(past, lists[["userID", "itemID"]]),
    )
    pairs = set(zip(truth["userID"], truth["itemID"]))
    hits = [pair in pairs for pair in zip(lists["userID"], lists["itemID"])]
    lists = lists[["userID", "itemID"]].assign(relevance=[float(hit) for hit in hits])
    # it divides by the length of a vector, so that a vector of zeros is an error
    names = [name for name in given.rows("items")[0] if name != "item_id"]
    rows = [row for row in given.rows("items") if any(row[name] for name in names)]
    features = pd.DataFrame(
        {
            "itemID": [row["item_id"] for row in rows],
            "features": [np.array([row[name] for name in names]) for row in rows],
        }
    )
    vectors = {"item_feature_df": features, "item_sim_measure": "item_feature_vector"}
    of_vectors = '(item_sim_measure="item_feature_vector")'
    for name, options in (("", {}), (of_vectors, vectors)):
        yield (
            "diversity" + name,
            None,
            lambda o=options: evaluation.diversity(past, lists, **o),
        )
        yield (
            "serendipity" + name,
            None,
            lambda o=options: evaluation.serendipity(past, lists, col_relevance="relevance", **o),
        )


main(measure)
