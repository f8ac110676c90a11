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


def of_group(metric, lists, truth):
    evaluator = MetricEvaluator([Ratings.from_list(lists)], [Ratings.from_list(truth)])
    of_system, _ = evaluator.eval_metrics([metric])
    (column,) = of_system.columns
    return of_system.loc["sys - mean", column].item()


def measure(given, model):
    truth = [(r["user_id"], r["item_id"], r["relevance"]) for r in given.rows("interactions")]
    ranked = [
        (row["user_id"], row["item_id"], row["score"], row["rank"])
        for row in sorted(given.lists(model), key=lambda row: (row["user_id"], row["rank"]))
    ]
    lists = [row[:3] for row in ranked]
    labelled = {row[:2] for row in lists} <= {row[:2] for row in truth}

    def value(metric):
        evaluator = MetricEvaluator([Ratings.from_list(lists)], [Ratings.from_list(truth)])
        of_system, _ = evaluator.eval_metrics([metric])
        return of_system.loc["sys - mean"].item()

    past = {(row["user_id"], row["item_id"], 1.0): None for row in given.rows("history")}
    if past and {row[0] for row in lists} <= {row[0] for row in truth}:
        known = Ratings.from_list(list(past))
        for k in given.cutoffs:  # its top_n fails: NumPy stacks no generators
            first = [row[:3] for row in ranked if row[3] <= k]
            lift = metrics.DeltaGap({"everyone": 1.0}, known, known)
            yield "DeltaGap", k, lambda m=lift, f=first: of_group(m, f, truth)
    for name, metric in AT.items():
        if labelled or name not in OF_LABELLED_LISTS:
            for k in given.cutoffs:
                yield name, k, lambda m=metric, k=k: value(m(k))
    for name, metric in WHOLE.items():
        if labelled or name not in OF_LABELLED_LISTS:
            yield name, None, lambda m=metric: value(m())


main(measure)
