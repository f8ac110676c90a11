"""RePlay 0.9 to 0.12, on one core of Spark: the order of rows stays what it was.

These versions import PyTorch and seaborn, which no metric uses: make.py puts stand-ins for them on
the path, which the Python processes of Spark have too.
"""

from functools import lru_cache

import pandas as pd
import torch
from pyspark.sql import SparkSession
from replay import metrics

from given import columns, main

try:
    from replay.session_handler import State
except ImportError:
    from replay.utils.session_handler import State

NAMES = {"user_idx": "user_id", "item_idx": "item_id"}
ACCURACY = ("HitRate", "Precision", "Recall", "MAP", "MRR", "NDCG", "RocAuc")

SESSION = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.memory", "4g")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "localhost")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
SESSION.sparkContext.setLogLevel("ERROR")
State(SESSION, device=torch.device())


def spark(rows, **more):
    frame = pd.DataFrame(columns(rows, **NAMES, **more))
    return SESSION.createDataFrame(frame).coalesce(1).cache()


def has_ties(rows):
    return len({(row["user_id"], row["score"]) for row in rows}) < len(rows)


def measure(given, model):
    rows = given.lists(model)
    lists = spark(rows, relevance="score")
    truth = spark(given.rows("interactions"), relevance="relevance")
    history = spark(given.rows("history"))
    baseline = given.rows("baseline")
    # a largest k that cuts nothing: which of equal scores is cut off is left to Spark
    cutoffs = [*given.cutoffs, 1000] if has_ties(rows + baseline) else list(given.cutoffs)

    @lru_cache
    def values(name):
        if name in ACCURACY:
            return getattr(metrics, name)()(lists, truth, cutoffs)
        second = spark(baseline, relevance="score") if name == "Unexpectedness" else history
        return getattr(metrics, name)(second)(lists, cutoffs)

    for name in (*ACCURACY, "Surprisal", "Unexpectedness", "Coverage"):
        for k in given.cutoffs:
            yield name, k, lambda n=name, k=k: values(n)[k]


main(measure)
