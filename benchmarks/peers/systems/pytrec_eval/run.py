"""trec_eval through its Python binding, which takes dictionaries with ids as text.

Its reciprocal rank has no cutoff. It returns only per-user values, of users who have a list.
"""

import json
import sys

import pandas as pd
import pytrec_eval

recommendations, interactions = sys.argv[1:]
cutoffs = [1, 5, 10, 20, 100]
at_cutoffs = ["P", "recall", "map_cut", "ndcg_cut", "success"]


def nested(path, column):
    """Return {user: {item: value}} of a file."""
    table = pd.read_parquet(path, columns=["user_id", "item_id", column])
    users, items = table["user_id"].astype(str), table["item_id"].astype(str)
    found = {}
    for user, item, value in zip(users, items, table[column].tolist(), strict=True):
        found.setdefault(user, {})[item] = value
    return found


qrels, run = nested(interactions, "relevance"), nested(recommendations, "score")
asked = {f"{name}.{','.join(map(str, cutoffs))}" for name in at_cutoffs} | {"recip_rank"}
users = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run).values()


def mean(measure):
    return sum(values[measure] for values in users) / len(users)


means = [(name, k, mean(f"{name}_{k}")) for name in at_cutoffs for k in cutoffs]
print(json.dumps([*means, ("recip_rank", None, mean("recip_rank"))]))
