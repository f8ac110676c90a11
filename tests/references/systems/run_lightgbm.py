"""LightGBM: its metrics of given scores, which are initial scores that no tree changes."""

import lightgbm
import numpy

from given import main

NAMES = ("ndcg", "map")


def measure(given, model):
    lists = given.labelled(model)
    labels = numpy.concatenate([labels for labels, _ in lists])
    data = lightgbm.Dataset(
        numpy.zeros((len(labels), 1)),  # a feature without a split
        label=labels,
        group=[len(labels) for labels, _ in lists],
        init_score=numpy.concatenate([scores for _, scores in lists]),
        params={"verbose": -1},
    )
    told = {}
    lightgbm.train(
        {"objective": "lambdarank", "metric": NAMES, "eval_at": given.cutoffs, "verbose": -1},
        data,
        num_boost_round=1,
        valid_sets=[data],
        valid_names=["lists"],
        callbacks=[lightgbm.record_evaluation(told)],
    )
    for name in NAMES:
        for k in given.cutoffs:
            yield name, k, lambda key=f"{name}@{k}": told["lists"][key][0]


main(measure)
