"""Jurity: every grade but 0 is a click; AUC takes clicks alone, so it gets 0 and 1."""

import pandas as pd
from jurity.recommenders import BinaryRecoMetrics, DiversityRecoMetrics, RankingRecoMetrics

from given import columns, main

PAIR = {"user_id": "user_id", "item_id": "item_id"}


def measure(given, model):
    lists = pd.DataFrame(columns(given.lists(model), **PAIR, click="score"))
    grades = pd.DataFrame(columns(given.rows("interactions"), **PAIR, click="relevance"))
    clicks = grades.assign(click=(grades["click"] != 0).astype(int))
    logged = given.rows("logs")
    more = {"propensity": "propensity"} if logged and "propensity" in logged[0] else {}
    logs = pd.DataFrame(columns(logged, **PAIR, click="reward", **more))
    features = pd.DataFrame(given.rows("items"))

    binary, ranking, diversity = BinaryRecoMetrics, RankingRecoMetrics, DiversityRecoMetrics
    for k in given.cutoffs:
        options = {"click_column": "click", "k": k}
        made = {
            "BinaryRecoMetrics.AUC": (binary.AUC(**options), clicks),
            "RankingRecoMetrics.Precision": (ranking.Precision(**options), grades),
            "RankingRecoMetrics.Recall": (ranking.Recall(**options), grades),
            "RankingRecoMetrics.MAP": (ranking.MAP(**options), grades),
            "RankingRecoMetrics.NDCG": (ranking.NDCG(**options), grades),
            "DiversityRecoMetrics.InterListDiversity": (
                diversity.InterListDiversity(**options),
                grades,
            ),
            "DiversityRecoMetrics.IntraListDiversity": (
                diversity.IntraListDiversity(features, **options),
                grades,
            ),
        }
        made['DiversityRecoMetrics.IntraListDiversity(metric="euclidean")'] = (
            diversity.IntraListDiversity(features, metric="euclidean", **options),
            grades,
        )
        for estimation in ("matching", "ips", "dr"):
            name = f'BinaryRecoMetrics.CTR(estimation="{estimation}")'
            made[name] = (binary.CTR(estimation=estimation, **options), logs)
        for name, (metric, actual) in made.items():
            yield name, k, lambda m=metric, a=actual: m.get_score(a.copy(), lists.copy())


main(measure)
