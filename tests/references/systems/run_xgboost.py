"""XGBoost: its metrics of given scores, which are the margins of a model without trees.

map and pre take binary labels only: they get 1 for every grade above 0.
"""

import numpy
import xgboost

from given import main

BINARY = {"ndcg": False, "map": True, "pre": True}


def measure(given, model):
    lists = given.labelled(model)
    grades = numpy.concatenate([labels for labels, _ in lists])
    for name, is_binary in BINARY.items():
        data = xgboost.DMatrix(
            numpy.zeros((len(grades), 1)),
            label=grades > 0 if is_binary else grades,
            base_margin=numpy.concatenate([scores for _, scores in lists]),
        )
        data.set_group([len(labels) for labels, _ in lists])
        for k in given.cutoffs:
            booster = xgboost.train({"eval_metric": f"{name}@{k}"}, data, num_boost_round=0)
            yield name, k, lambda b=booster, d=data: b.eval(d).rsplit(":", 1)[1]


main(measure)
