"""ranx; r-precision ignores a cutoff, so it is of whole lists."""

from ranx import Qrels, Run, evaluate

from given import main

NAMES = ["hit_rate", "precision", "recall", "f1", "mrr", "map"]
NAMES += ["ndcg", "ndcg_burges", "dcg", "dcg_burges"]


def nested(rows, column):
    """Return {user: {item: value}} with texts as ids, which is all that it takes."""
    found = {}
    for row in rows:
        found.setdefault(str(row["user_id"]), {})[str(row["item_id"])] = row[column]
    return found


def measure(given, model):
    qrels = Qrels(nested(given.rows("interactions"), "relevance"))
    run = Run(
        {
            u: {i: float(s) for i, s in of.items()}
            for u, of in nested(given.lists(model), "score").items()
        }
    )
    asked = [("r-precision", None)] + [(name, k) for name in NAMES for k in given.cutoffs]
    for name, k in asked:
        metric = name if k is None else f"{name}@{k}"
        yield name, k, lambda m=metric: evaluate(qrels, run, m, make_comparable=True)


main(measure)
