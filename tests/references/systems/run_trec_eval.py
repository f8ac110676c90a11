"""trec_eval through pytrec-eval-terrier; users without a list count as 0, as with its option -c."""

import pytrec_eval

from given import main

CUT = {"success": "success", "P": "P", "relative_P": "relative_P", "recall": "recall"}
CUT.update({"map_cut": "map_cut", "ndcg_cut": "ndcg_cut"})
WHOLE = (
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_F",
    "map",
    "recip_rank",
    "ndcg",
    "Rprec",
    "bpref",
    "11pt_avg",
)
LEVELS = [f"iprec_at_recall_{tenths / 10:.2f}" for tenths in range(11)]
COUNTS = ("num_ret", "num_rel_ret")


def nested(rows, column, kind):
    found = {}
    for row in rows:
        found.setdefault(str(row["user_id"]), {})[str(row["item_id"])] = kind(row[column])
    return found


def measure(given, model):
    qrels = nested(given.rows("interactions"), "relevance", int)
    at = ",".join(map(str, given.cutoffs))
    measures = {f"{name}.{at}" for name in CUT} | {*WHOLE, *COUNTS, "iprec_at_recall"}
    lists = nested(given.lists(model), "score", float)
    users = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(lists)

    def mean(measure):
        return sum(values[measure] for values in users.values()) / len(qrels)

    for name in CUT:
        for k in given.cutoffs:
            yield name, k, lambda m=f"{name}_{k}": mean(m)
    for name in (*WHOLE, *LEVELS):
        yield name, None, lambda m=name: mean(m)
    for name in COUNTS:
        yield name, None, lambda m=name: sum(values[m] for values in users.values())
    # the relevant documents of every query, as with -c: the binding has those of queries with lists
    yield (
        "num_rel",
        None,
        lambda: sum(grade > 0 for of_q in qrels.values() for grade in of_q.values()),
    )


main(measure)
