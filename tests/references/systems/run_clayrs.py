"""ClayRS: its metrics of predictions and ratings, for the users of both, as its evaluator does.

The package imports its models: only its metrics and its table of ratings are loaded here.
"""

import importlib.util
import sys
import types

from given import main

FOLDER = importlib.util.find_spec("clayrs").submodule_search_locations[0]
for name in ("", ".content_analyzer", ".content_analyzer.ratings_manager", ".utils", ".evaluation"):
    package = types.ModuleType("clayrs" + name)
    package.__path__ = [FOLDER + name.replace(".", "/")]
    sys.modules["clayrs" + name] = package

from clayrs.content_analyzer.ratings_manager.ratings import Ratings  # noqa: E402 - after stand-ins
from clayrs.evaluation import metrics  # noqa: E402
from clayrs.evaluation.eval_pipeline_modules.metric_evaluator import (  # noqa: E402
    MetricEvaluator,
)
from clayrs.evaluation.metrics.ranking_metrics import MAPAtK  # noqa: E402

# without it, an item is relevant from the mean relevance of the user's items on
FROM = {"relevant_threshold": 1}
AT = {
    "PrecisionAtK": lambda k: metrics.PrecisionAtK(k, **FROM),
    "RecallAtK": lambda k: metrics.RecallAtK(k, **FROM),
    "FMeasureAtK": lambda k: metrics.FMeasureAtK(k, **FROM),
    "MRRAtK": lambda k: metrics.MRRAtK(k, **FROM),
    "MAPAtK": lambda k: MAPAtK(k, **FROM),
    "NDCGAtK": metrics.NDCGAtK,
    "NDCGAtK(gains=exponential)": lambda k: metrics.NDCGAtK(k, gains="exponential"),
    "Correlation(method=pearson)": lambda k: metrics.Correlation("pearson", top_n=k),
    "Correlation(method=kendall)": lambda k: metrics.Correlation("kendall", top_n=k),
    "Correlation(method=spearman)": lambda k: metrics.Correlation("spearman", top_n=k),
    "GiniIndex": lambda k: metrics.GiniIndex(top_n=k),
}
WHOLE = {
    "RPrecision": lambda: metrics.RPrecision(**FROM),
    "MAE": metrics.MAE,
    "MSE": metrics.MSE,
    "RMSE": metrics.RMSE,
}
# the convention names how they differ if items have no rating, or are not recommended
OF_LABELLED_LISTS = ("NDCGAtK", "NDCGAtK(gains=exponential)", "RPrecision", "GiniIndex")


def measure(given, model):
    truth = [(r["user_id"], r["item_id"], r["relevance"]) for r in given.rows("interactions")]
    lists = [
        (row["user_id"], row["item_id"], row["score"])
        for row in sorted(given.lists(model), key=lambda row: (row["user_id"], row["rank"]))
    ]
    labelled = {row[:2] for row in lists} <= {row[:2] for row in truth}

    def value(metric):
        evaluator = MetricEvaluator([Ratings.from_list(lists)], [Ratings.from_list(truth)])
        of_system, _ = evaluator.eval_metrics([metric])
        return of_system.loc["sys - mean"].item()

    for name, metric in AT.items():
        if labelled or name not in OF_LABELLED_LISTS:
            for k in given.cutoffs:
                yield name, k, lambda m=metric, k=k: value(m(k))
    for name, metric in WHOLE.items():
        if labelled or name not in OF_LABELLED_LISTS:
            yield name, None, lambda m=metric: value(m())


main(measure)
