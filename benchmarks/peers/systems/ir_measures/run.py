"""ir_measures: `calc_aggregate` on data frames; unlike the others, RR is not from trec_eval."""

import json
import sys

import ir_measures
import pandas as pd
from ir_measures import AP, RR, P, R, Success, nDCG

recommendations, interactions = sys.argv[1:]
measures = {
    measure @ k: (str(measure), k)
    for measure in (P, R, AP, nDCG, RR, Success)
    for k in (1, 5, 10, 20, 100)
}


def table(path, **names):
    """Return the columns under the library's names, with ids as text."""
    frame = pd.read_parquet(path, columns=list(names)).rename(columns=names)
    return frame.astype({"query_id": str, "doc_id": str})


ids = {"user_id": "query_id", "item_id": "doc_id"}
qrels = table(interactions, **ids, relevance="relevance")
run = table(recommendations, **ids, score="score")
values = ir_measures.calc_aggregate(list(measures), qrels, run)

print(json.dumps([(*measures[measure], value) for measure, value in values.items()]))
