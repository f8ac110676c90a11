"""Spark: RankingMetrics, with one row for each user who has labels, also if none is above 0."""

from pyspark.mllib.evaluation import RankingMetrics
from pyspark.sql import SparkSession

from given import main

NAMES = ("precisionAt", "recallAt", "meanAveragePrecisionAt", "ndcgAt")


def measure(given, model):
    context = SparkSession.builder.master("local[1]").getOrCreate().sparkContext
    truth = {}
    for row in given.rows("interactions"):
        items = truth.setdefault(row["user_id"], [])
        if row["relevance"] > 0:
            items.append(row["item_id"])
    lists = given.by_user(given.lists(model))
    pairs = [(lists.get(user, []), items) for user, items in truth.items()]
    metrics = RankingMetrics(context.parallelize(pairs, 1))
    for k in given.cutoffs:
        for name in NAMES:
            yield name, k, lambda n=name, k=k: getattr(metrics, n)(k)


main(measure)
