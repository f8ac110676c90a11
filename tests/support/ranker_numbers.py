"""Numbers that libraries for learning to rank printed for five lists."""

from __future__ import annotations

# labels and scores in the order of rows
LISTS = {
    "graded": ([1, 3, 0, 2], [0.9, 0.8, 0.7, 0.6]),
    "nothing": ([0, 0, 0], [0.9, 0.8, 0.7]),
    "ties": ([0, 2, 1, 0], [0.5, 0.5, 0.5, 0.1]),
    "ties in another order": ([2, 0, 1, 0], [0.5, 0.5, 0.5, 0.1]),
    "last": ([0, 0, 1], [0.9, 0.8, 0.7]),
}
# Printed by LightGBM 4.7.0, xgboost-cpu 3.2.0, CatBoost 1.2.10 and scikit-learn 1.9.1, with the
# scores as initial scores: (library, spec): {(list, k): value}
NUMBERS: dict[tuple[str, str], dict[tuple[str, int], float]] = {
    ("lightgbm", "ndcg"): {
        ("graded", 2): 0.609090, ("graded", 4): 0.714222, ("nothing", 2): 1,
        ("ties", 2): 0.521296, ("ties in another order", 2): 0.826235, ("last", 4): 0.5,
    },
    ("lightgbm", "map"): {
        ("graded", 2): 1, ("graded", 4): 0.916667, ("nothing", 2): 1,
        ("ties", 2): 0.25, ("ties in another order", 2): 0.5, ("last", 4): 0.333333,
    },
    ("xgboost", "ndcg"): {
        ("graded", 2): 0.609090, ("graded", 4): 0.714222, ("nothing", 2): 1,
        ("ties", 2): 0.521296, ("ties in another order", 2): 0.826235, ("last", 4): 0.5,
    },
    ("xgboost", "ndcg(no_relevant=zero)"): {("graded", 2): 0.609090, ("nothing", 2): 0},  # ndcg-
    ("xgboost", "ndcg(gain=linear)"): {  # ndcg_exp_gain=false
        ("graded", 2): 0.678762, ("graded", 4): 0.788377, ("nothing", 2): 1,
        ("ties", 2): 0.479625, ("ties in another order", 2): 0.760188, ("last", 4): 0.5,
    },
    ("xgboost", "map"): {
        ("graded", 2): 1, ("graded", 4): 0.916667, ("nothing", 2): 1,
        ("ties", 2): 0.25, ("ties in another order", 2): 0.5, ("last", 4): 0.333333,
    },
    ("xgboost", "map(no_relevant=zero)"): {("nothing", 2): 0},  # map-
    ("xgboost", "precision"): {
        ("graded", 2): 1, ("graded", 4): 0.75, ("nothing", 2): 0,
        ("ties", 2): 0.5, ("ties in another order", 2): 0.5, ("last", 4): 0.333333,
    },
    ("catboost", "ndcg"): {
        ("graded", 2): 0.678762, ("graded", 4): 0.788377, ("nothing", 2): 1,
        ("ties", 2): 0.239812, ("ties in another order", 2): 0.239812, ("ties", 4): 0.619906,
        ("last", 4): 0.5,
    },
    ("catboost", "ndcg(gain=exponential)"): {
        ("graded", 2): 0.609090, ("graded", 4): 0.714222, ("nothing", 2): 1,
        ("ties", 2): 0.173765, ("ties in another order", 2): 0.173765, ("last", 4): 0.5,
    },
    ("catboost", "map"): {
        ("graded", 2): 1, ("graded", 4): 0.916667, ("nothing", 2): 0,
        ("ties", 2): 0.25, ("ties in another order", 2): 0.25, ("last", 4): 0.333333,
    },
    ("catboost", "precision"): {
        ("graded", 2): 1, ("graded", 4): 0.75, ("nothing", 2): 0,
        ("ties", 2): 0.5, ("ties in another order", 2): 0.5, ("last", 4): 0.333333,
    },
    ("catboost", "recall"): {
        ("graded", 2): 0.666667, ("graded", 4): 1, ("nothing", 2): 1,
        ("ties", 2): 0.5, ("ties in another order", 2): 0.5, ("last", 4): 1,
    },
    ("sklearn", "ndcg"): {
        ("graded", 2): 0.678762, ("graded", 4): 0.788377, ("nothing", 2): 0,
        ("ties", 2): 0.619906, ("ties", 4): 0.809953, ("ties in another order", 2): 0.619906,
        ("last", 4): 0.5,
    },
    ("sklearn", "ndcg(ties=row_reversed)"): {  # ignore_ties=True
        ("graded", 2): 0.678762, ("nothing", 2): 0, ("ties", 2): 0.859719,
        ("ties in another order", 2): 0.380094, ("last", 4): 0.5,
    },
}  # fmt: skip
# Printed by the same releases for lists with weights, without the list "nothing" and with it:
# LightGBM and XGBoost add 1 for its nDCG, whatever its weight
WEIGHTS = {"graded": 2, "ties": 1, "last": 0.5, "nothing": 3}
WEIGHTED: dict[tuple[str, str], dict[tuple[bool, int], float]] = {
    ("lightgbm", "ndcg"): {
        (False, 2): 0.49699310375144634, (False, 4): 0.6678417326055148,
        (True, 2): 0.42145782509693264, (True, 4): 0.5134532406337388,
    },
    ("lightgbm", "map"): {
        (False, 2): 0.6428571428571429, (False, 4): 0.738095238095238,
        (True, 2): 0.8076923076923077, (True, 4): 0.8589743589743589,
    },
    ("xgboost", "ndcg"): {
        (False, 2): 0.49699310375144634, (False, 4): 0.6678417326055148,
        (True, 2): 0.42145782509693264, (True, 4): 0.5134532406337388,
    },
    ("catboost", "ndcg"): {
        (False, 2): 0.45638197871099534, (False, 4): 0.6990460046442324,
        (True, 2): 0.7072826039213052, (True, 4): 0.8379478486545866,
    },
}  # fmt: skip
# printed by CatBoost for the grades of "graded" divided by 4, which are probabilities
AS_PROBABILITIES = {"err": 0.5546875, "pfound": 0.785699}
LRAP = {"graded": 0.916667, "nothing": 1, "ties": 0.666667, "last": 0.333333}
