"""RecTools: lists with ranks."""

import pandas as pd
from rectools import metrics
from rectools.metrics.distances import PairwiseHammingDistanceCalculator

from given import columns, main

ACCURACY = {
    "HitRate": (metrics.HitRate, {}),
    "Precision": (metrics.Precision, {}),
    "Precision(r_precision=True)": (metrics.Precision, {"r_precision": True}),
    "Recall": (metrics.Recall, {}),
    "F1Beta": (metrics.F1Beta, {}),
    "MAP": (metrics.MAP, {}),
    "MAP(divide_by_k=True)": (metrics.MAP, {"divide_by_k": True}),
    "MRR": (metrics.MRR, {}),
    "NDCG": (metrics.NDCG, {}),
    "NDCG(divide_by_achievable=True)": (metrics.NDCG, {"divide_by_achievable": True}),
    "PartialAUC": (metrics.PartialAUC, {}),
    "PAP": (metrics.PAP, {}),
}
OF_CONFUSIONS = {"Accuracy": metrics.Accuracy, "MCC": metrics.MCC}
OF_HISTORY = {
    "MeanInvUserFreq": (metrics.MeanInvUserFreq, {}),
    "AvgRecPopularity": (metrics.AvgRecPopularity, {}),
    "AvgRecPopularity(normalize=True)": (metrics.AvgRecPopularity, {"normalize": True}),
}
OF_CATALOGUE = {
    "CatalogCoverage": (metrics.CatalogCoverage, {}),
    "CatalogCoverage(normalize=True)": (metrics.CatalogCoverage, {"normalize": True}),
}


def measure(given, model):
    pair = {"user_id": "user_id", "item_id": "item_id"}
    lists = pd.DataFrame(columns(given.lists(model), **pair, rank="rank"))
    interactions = pd.DataFrame(columns(given.rows("interactions"), **pair))
    history = pd.DataFrame(columns(given.rows("history"), **pair))
    catalogue = [row["item_id"] for row in given.rows("items")]
    for table, group in (
        (interactions, ACCURACY),
        (history, OF_HISTORY),
        (catalogue, OF_CATALOGUE),
    ):
        for name, (metric, options) in group.items():
            for k in given.cutoffs:
                yield (
                    name,
                    k,
                    lambda m=metric, o=options, k=k, t=table: m(k=k, **o).calc(lists, t),
                )
    for name, metric, options in (
        ("SufficientReco", metrics.SufficientReco, {}),
        ("SufficientReco(deep=True)", metrics.SufficientReco, {"deep": True}),
        ("UnrepeatedReco", metrics.UnrepeatedReco, {}),
        ("UnrepeatedReco(deep=True)", metrics.UnrepeatedReco, {"deep": True}),
    ):
        for k in given.cutoffs:
            yield name, k, lambda m=metric, o=options, k=k: m(k=k, **o).calc(lists)
    features = pd.DataFrame(given.rows("items")).set_index("item_id")
    hamming = PairwiseHammingDistanceCalculator(features)
    for k in given.cutoffs:
        covered = metrics.CoveredUsers(k=k)
        yield "CoveredUsers", k, lambda m=covered: m.calc(lists, interactions)
        for name, metric in OF_CONFUSIONS.items():
            yield name, k, lambda m=metric, k=k: m(k=k).calc(lists, interactions, catalogue)
        if not lists.duplicated(["user_id", "item_id"]).any():
            diversity = metrics.IntraListDiversity(k=k, distance_calculator=hamming)
            yield "IntraListDiversity(Hamming)", k, lambda m=diversity: m.calc(lists)
    baseline = pd.DataFrame(columns(given.rows("baseline"), **pair, rank="rank"))
    for k in given.cutoffs:
        serendipity = metrics.Serendipity(k=k)
        yield (
            "Serendipity",
            k,
            lambda m=serendipity: m.calc(lists, interactions, history, catalogue),
        )
        overlap = metrics.Intersection(k=k)
        yield "Intersection", k, lambda m=overlap: m.calc(lists, baseline)
        overlap = metrics.Intersection(k=k, ref_k=4)
        yield "Intersection(ref_k=4)", k, lambda m=overlap: m.calc(lists, baseline)


main(measure)
