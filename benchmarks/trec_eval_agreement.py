"""Compare every per-user value with trec_eval's binding on your own data.

    python benchmarks/trec_eval_agreement.py --truth truth.parquet --recommendations recs.parquet …
        [--relevance COLUMN] [--by rank]

The lists have the columns `user_id`, `item_id` and `score` (and `rank`, if compared by rank), the
truth has `user_id` and `item_id`. Values are compared under `--convention trec_eval` at k = 1, 5,
10, 20, 100 and for whole lists, to 1e-9. The binding returns values only for users in both tables;
judged users without a list must have 0 here. The exit code is 1 if a value differs.
"""

from __future__ import annotations

import argparse
import ctypes
import sys

import pandas as pd
import pytrec_eval

import sqlmetrics as sm

CUTOFFS = [1, 5, 10, 20, 100]
# ours -> theirs: with its own cutoff, on the list cut at k, and on the whole list
AT_K = {"precision": "P", "recall": "recall", "ndcg": "ndcg_cut", "map": "map_cut"} | {
    "hit_rate": "success"
}
OF_LIST = {"mrr": "recip_rank", "r_precision": "Rprec"}
WHOLE = OF_LIST | {"map": "map", "ndcg": "ndcg", "precision": "set_P", "recall": "set_recall"}


def cut(scores: dict[str, float], k: int) -> dict[str, float]:
    """Return the first k items in trec_eval's order: float scores, ties by text id, descending."""

    def key(item: str) -> tuple[float, bytes]:
        return ctypes.c_float(scores[item]).value, item.encode()

    return {item: scores[item] for item in sorted(scores, key=key, reverse=True)[:k]}


def ours(frame: pd.DataFrame, name: str, k: int | None) -> dict[str, float]:
    rows = frame[frame["k"].isna() if k is None else (frame["k"] == k).fillna(False)]
    return dict(zip(rows["user_id"].astype(str), rows[name].astype(float), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", required=True)
    parser.add_argument("--recommendations", required=True, nargs="+")
    parser.add_argument("--relevance", help="relevance column of the truth; default: all 1")
    parser.add_argument("--by", choices=["score", "rank"], default="score")
    options = parser.parse_args()

    truth = pd.read_parquet(options.truth)
    grades = truth[options.relevance] if options.relevance else pd.Series(1, truth.index)
    table = truth[["user_id", "item_id"]].assign(relevance=grades)
    qrels: dict[str, dict[str, int]] = {}
    for user, item, grade in table.itertuples(index=False):
        qrels.setdefault(str(user), {})[str(item)] = int(grade)
    at = ",".join(map(str, CUTOFFS))
    measures = {f"{name}.{at}" for name in AT_K.values()} | set(WHOLE.values())
    binding = pytrec_eval.RelevanceEvaluator(qrels, measures)

    cells = agreed = 0
    worst = 0.0
    for path in options.recommendations:
        frame = pd.read_parquet(path)[["user_id", "item_id", options.by]]
        lists: dict[str, dict[str, float]] = {}
        for user, item, value in frame.itertuples(index=False):
            score = float(value) if options.by == "score" else -float(value)
            lists.setdefault(str(user), {})[str(item)] = score
        with sm.Evaluator(frame, table, convention="trec_eval") as evaluator:
            users = evaluator.per_user([*AT_K, *OF_LIST], k=CUTOFFS, long=True)
            whole_users = evaluator.per_user([*WHOLE], long=True)
        whole = binding.evaluate(lists)
        pairs = [(whole, m, ours(whole_users, name, None)) for name, m in WHOLE.items()]
        for k in CUTOFFS:
            pairs += [(whole, f"{m}_{k}", ours(users, name, k)) for name, m in AT_K.items()]
            at_k = binding.evaluate({user: cut(scores, k) for user, scores in lists.items()})
            pairs += [(at_k, m, ours(users, name, k)) for name, m in OF_LIST.items()]
        for theirs, measure, mine in pairs:
            for user in qrels:
                difference = abs(theirs.get(user, {}).get(measure, 0.0) - mine[user])
                cells += 1
                agreed += difference <= 1e-9
                worst = max(worst, difference)
    print(f"{cells} cells compared, {agreed} agree to 1e-9, largest difference {worst:.1e}")
    return int(cells != agreed)


if __name__ == "__main__":
    sys.exit(main())
