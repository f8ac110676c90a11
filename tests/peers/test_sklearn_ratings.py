"""Live comparison of ratings, probabilities and labels of lists with scikit-learn.

Errors and probabilities are pooled over the judged items in the top k of all lists. The metrics of
labels compare the items in the top k of one list; scikit-learn has a value for lists without a hit
too, which is another one (see `WITHOUT_HIT`). Scores have ties inside lists and across cutoffs, but
the order of equal scores is that of the item ids here, so cuts are the same.
"""

import random
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn

import sqlmetrics as sm
from tests.support.calls import at_k, values_by_user

CUTOFFS = [1, 3, 100]
Pooled = Callable[[np.ndarray, np.ndarray], float]  # of the relevance (or 0 and 1) and the scores
OF_RATINGS: dict[str, Pooled] = {
    "mae": sklearn.mean_absolute_error,
    "mse": sklearn.mean_squared_error,
    "rmse": sklearn.root_mean_squared_error,
    "r2": sklearn.r2_score,
    "explained_variance": sklearn.explained_variance_score,
}
OF_PROBABILITIES: dict[str, Pooled] = {
    "log_loss": sklearn.log_loss,
    "normalised_entropy": lambda labels, scores: 1 - sklearn.d2_log_loss_score(labels, scores),
    "brier": sklearn.brier_score_loss,
    "pr_auc": sklearn.average_precision_score,
    "auc": sklearn.roc_auc_score,
    "calibration_ratio": lambda labels, scores: scores.sum() / labels.sum(),
}
OF_LABELS: dict[str, Pooled] = {
    "lrap": sklearn.label_ranking_average_precision_score,
    "coverage_error": sklearn.coverage_error,
    "ranking_loss": sklearn.label_ranking_loss,
}
WITHOUT_HIT = {"lrap": 0.0, "ranking_loss": 1.0}  # coverage_error is undefined


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    draw = random.Random(25)
    lists, truth = [], []
    for user in range(80):
        chosen = draw.sample(range(60), draw.choice([0, 1, 2, 5, 20]))
        lists += [(user, item, draw.randint(1, 15) / 16) for item in chosen]
        judged = {*draw.sample(chosen, len(chosen) // 2), *draw.sample(range(60), 6)}
        truth += [(user, item, draw.choice([0, 0, 0.5, 1, 2])) for item in sorted(judged)]
    return {
        "recommendations": pd.DataFrame(lists, columns=["user_id", "item_id", "score"]),
        "interactions": pd.DataFrame(truth, columns=["user_id", "item_id", "relevance"]),
    }


def test_ratings_probabilities_and_labels(tables: dict[str, pd.DataFrame]) -> None:
    by_score = tables["recommendations"].sort_values(
        ["user_id", "score", "item_id"], ascending=[True, False, True]
    )
    by_score["rank"] = by_score.groupby("user_id").cumcount() + 1
    joined = by_score.merge(tables["interactions"], how="left", on=["user_id", "item_id"])
    with sm.Evaluator(**tables, check=False) as evaluator:
        result = evaluator.evaluate([*OF_RATINGS, *OF_PROBABILITIES], k=CUTOFFS)
        users = evaluator.per_user(list(OF_LABELS), k=CUTOFFS, long=True)
    for k in CUTOFFS:
        top = joined[joined["rank"] <= k]
        judged = top[top["relevance"].notna()]
        truth, scores = judged["relevance"].to_numpy(), judged["score"].to_numpy()
        expected = {name: of_ratings(truth, scores) for name, of_ratings in OF_RATINGS.items()}
        labels = (truth > 0).astype(int)
        expected |= {name: pooled(labels, scores) for name, pooled in OF_PROBABILITIES.items()}
        found = at_k(result, k).set_index("metric")["value"].to_dict()
        assert found == pytest.approx(expected, rel=0, abs=1e-12), k
        for name, of_labels in OF_LABELS.items():
            values = values_by_user(users, name, k)
            assert len(values) > 10
            for user, of_user in top.groupby("user_id"):
                hits = (of_user["relevance"] > 0).to_numpy().astype(int)[None]
                if user in values and hits.size > 1:  # scikit-learn rejects lists of one item
                    predicted = of_user["score"].to_numpy()[None]
                    wanted = of_labels(hits, predicted) if hits.any() else WITHOUT_HIT[name]
                    assert values[user] == pytest.approx(wanted, rel=0, abs=1e-12)
