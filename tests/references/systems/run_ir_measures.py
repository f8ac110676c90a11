"""ir_measures: its measure strings, each computed by the first provider that knows the measure.

Runs are in the order of queries, as in a file of TREC; cwl_eval is wrong about others. gdeval takes
queries that are numbers only.
"""

import ir_measures

from given import main

AT = ["P", "P(rel=2)", "R", "Success"]
EITHER = ["AP", "AP(rel=2)", "nDCG", "RR", "Judged"]
AT += [f"{name}(judged_only=True)" for name in ("P", "R", "Success")]
EITHER += [f"{name}(judged_only=True)" for name in ("AP", "nDCG")]
OF_ASPECTS_AT = ["ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "alpha_nDCG(alpha=0.3)", "P_IA"]
OF_ASPECTS_AT += ["StRecall"]
OF_ASPECTS = ["NRBP", "nNRBP", "NRBP(alpha=0.3, beta=0.8)", "AP_IA"]
WHOLE = ["SetP", "SetP(relative=True)", "SetR", "SetF", "Rprec", "Bpref", "infAP"]
WHOLE += [f"{name}(judged_only=True)" for name in ("SetP", "SetF", "Rprec", "RR")]
WHOLE += ["SetAP", "SetAP(judged_only=True)", "NumQ", "INSQ(max_rel=3)", "INST(max_rel=3)"]
WHOLE += ["INST(T=2.0, max_rel=3)", "NERR10(max_rel=3)", "NERR11(max_rel=3)"]
OF_CWL_AT = [f"{name}(max_rel=3)" for name in ("BPM", "NERR8", "NERR9", "SDCG")]
OF_GDEVAL = ["nDCG(dcg='exp-log2')", "ERR"]
WHOLE += ["RBP(rel=1)", "RBP(rel=1, p=0.5)", "NumRet", "NumRel", "NumRelRet"]
WHOLE += ["Compat", "Compat(p=0.8)", "Compat(p=0.8, normalize=False)"]
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
    if aspects := given.rows("aspects"):
        grades = {(r["user_id"], r["item_id"]): r["relevance"] for r in given.rows("interactions")}
        qrels = [
            ir_measures.Qrel(
                r["user_id"], r["item_id"], grades[r["user_id"], r["item_id"]], r["aspect"]
            )
            for r in aspects
        ]
        # at 1, ndeval does not divide two of them
        undivided = {("ERR_IA", 1), ("alpha_DCG", 1)}
        asked = [(name, k) for name in OF_ASPECTS_AT for k in given.cutoffs]
        asked = [cell for cell in asked if cell not in undivided]
        asked += [(name, None) for name in OF_ASPECTS]
        yield from cells(asked, qrels, run)
        return
    asked = [(name, k) for name in AT for k in given.cutoffs]
    asked += [(name, k) for name in EITHER for k in [None, *given.cutoffs]]
    asked += [(name, k) for name in OF_CWL_AT for k in given.cutoffs]
    asked += [(name, None) for name in WHOLE]
    yield from cells(asked, qrels, run)
    numbered, runs = (
        [r._replace(query_id=r.query_id.lstrip("u")) for r in rows] for rows in (qrels, run)
    )
    yield from cells([(name, k) for name in OF_GDEVAL for k in given.cutoffs], numbered, runs)


def cells(asked, qrels, run):
    for name, k in asked:
        parsed = ir_measures.parse_measure(name if k is None else f"{name}@{k}")
        yield name, k, lambda m=parsed: ir_measures.calc_aggregate([m], qrels, run)[m]


main(measure)
