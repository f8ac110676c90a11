"""CatBoost: eval_metric, with the scores as predictions."""

from catboost.utils import eval_metric

from given import main

NAMES = ("NDCG", "DCG", "MRR", "MAP", "PrecisionAt", "RecallAt")


def measure(given, model):
    lists = given.labelled(model)
    labels = [float(label) for of_list, _ in lists for label in of_list]
    scores = [score for _, of_list in lists for score in of_list]
    groups = [number for number, (of_list, _) in enumerate(lists) for _ in of_list]
    for name in NAMES:
        for k in given.cutoffs:
            yield (
                name,
                k,
                lambda m=f"{name}:top={k}": eval_metric(labels, scores, m, group_id=groups)[0],
            )


main(measure)
