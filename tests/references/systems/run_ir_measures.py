"""ir_measures: its measure strings, each computed by the first provider that knows the measure.

Runs are in the order of queries, as in a file of TREC; cwl_eval is wrong about others.
"""

import ir_measures

from given import main

AT = ["P", "P(rel=2)", "R", "Success"]
EITHER = ["AP", "AP(rel=2)", "nDCG", "RR", "Judged"]
WHOLE = ["SetP", "SetR", "SetF", "Rprec", "Bpref"]
WHOLE += ["RBP(rel=1)", "RBP(rel=1, p=0.5)", "NumRet", "NumRel", "NumRelRet"]
WHOLE += [f"IPrec@{tenths / 10}" for tenths in range(11)]


def measure(given, model):
    qrels = [
        ir_measures.Qrel(r["user_id"], r["item_id"], r["relevance"])
        for r in given.rows("interactions")
    ]
    run = [
        ir_measures.ScoredDoc(r["user_id"], r["item_id"], float(r["score"]))
        for r in sorted(given.lists(model), key=lambda r: r["user_id"])
    ]
    asked = [(name, k) for name in AT for k in given.cutoffs]
    asked += [(name, k) for name in EITHER for k in [None, *given.cutoffs]]
    asked += [(name, None) for name in WHOLE]
    for name, k in asked:
        parsed = ir_measures.parse_measure(name if k is None else f"{name}@{k}")
        yield name, k, lambda m=parsed: ir_measures.calc_aggregate([m], qrels, run)[m]


main(measure)
