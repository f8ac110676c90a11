"""trec_eval through pytrec-eval-terrier: means over the queries of the run, as by default."""

import pytrec_eval

from given import main

CUT = {"success": "success", "P": "P", "relative_P": "relative_P", "recall": "recall"}
CUT.update({"map_cut": "map_cut", "ndcg_cut": "ndcg_cut"})
WHOLE = ["set_P", "set_relative_P", "set_recall", "set_F", "map", "recip_rank", "ndcg", "Rprec"]
WHOLE += ["set_map", "bpref", "infAP", "11pt_avg"]
GEOMETRIC = ["gm_map", "gm_bpref"]
LEVELS = [f"iprec_at_recall_{tenths / 10:.2f}" for tenths in range(11)]
COUNTS = ("num_q", "num_ret", "num_rel", "num_rel_ret")


def nested(rows, column, kind):
    found = {}
    for row in rows:
        found.setdefault(str(row["user_id"]), {})[str(row["item_id"])] = kind(row[column])
    return found


def measure(given, model):
    qrels = nested(given.rows("interactions"), "relevance", int)
    at = ",".join(map(str, given.cutoffs))
    measures = {f"{name}.{at}" for name in CUT} | {*WHOLE, *COUNTS, "iprec_at_recall"}
    measures |= {*GEOMETRIC}
    lists = nested(given.lists(model), "score", float)
    users = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(lists)

    def mean(measure):
        return sum(values[measure] for values in users.values()) / len(users)

    for name in CUT:
        for k in given.cutoffs:
            yield name, k, lambda m=f"{name}_{k}": mean(m)
    for name in (*WHOLE, *LEVELS):
        yield name, None, lambda m=name: mean(m)
    for name in GEOMETRIC:
        said = [values[name] for values in users.values()]
        yield name, None, lambda n=name, s=said: pytrec_eval.compute_aggregated_measure(n, s)
    for name in COUNTS:
        yield name, None, lambda m=name: sum(values[m] for values in users.values())


main(measure)
