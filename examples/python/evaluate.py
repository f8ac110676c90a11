"""Evaluates two models, and says whether their difference is more than chance.

python evaluate.py DATA
"""

import sys
from pathlib import Path

import sqlmetrics as sm

data = Path(sys.argv[1])
evaluator = sm.Evaluator(
    {name: data / f"recommendations_{name}.parquet" for name in ("als", "popular")},
    data / "interactions.parquet",
    history=data / "history.parquet",
    check=False,
)
print(evaluator.evaluate(["ndcg", "recall", "coverage"], k=10).to_string(index=False))
result = evaluator.compare("ndcg@10", baseline="popular")
print(result[["model", "metric", "k", "difference", "ci_low", "ci_high"]].to_string(index=False))
