"""Small tables of every kind, with metric values worked out by hand."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog

# the tables are tiny: checks would warn of them
Evaluator = functools.partial(sm.Evaluator, threads=1, check=False)
RANKED = pa.table({"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "rank": [1, 2, 1, 2]})
SCORED = RANKED.append_column("score", pa.array([4.0, 3.0, 2.0, 1.0]))
TRUTH = pa.table({"user_id": [1, 2], "item_id": [10, 12]})
GRADED = pa.table({"user_id": [1, 1, 2, 2], "item_id": [10, 11, 10, 12], "relevance": [2, 0, 0, 1]})
# three users: 10 is known to two of them, the others to one each
HISTORY = pa.table({"user_id": [1, 1, 2, 3, 3], "item_id": [10, 11, 10, 12, 13]})
ITEMS = pa.table(
    {
        "item_id": [10, 11, 12, 13],
        "price": [3.0, 1.0, 4.0, 8.0],
        "category": [["a"], ["b"], ["a", "b"], ["a"]],
        "item_group": ["m", "n", "n", "m"],
        "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]],
        "propensity": [0.5, 1.0, 0.25, 1.0],
        "group_target": [0.75, 0.25, 0.25, 0.75],
    }
)
PLANE = pa.table({"item_id": [10, 11, 12], "f1": [1.0, 0.0, 1.0], "f2": [0.0, 1.0, 1.0]})
ASPECTS = pa.table({"item_id": [10, 11, 12], "aspect": ["x", "y", "x"]})
ASPECTS_OF_USERS = pa.table(
    {"user_id": [1, 1, 2], "item_id": [10, 11, 12], "aspect": ["x", "y", "x"]}
)
BASELINE = pa.table({"user_id": [1, 1, 2], "item_id": [10, 13, 11], "rank": [1, 2, 1]})
BASELINE_SCORES = pa.table(
    {"user_id": [1, 1, 2], "item_id": [10, 13, 11], "score": [2.0, 1.0, 3.0]}
)
LOGS = pa.table(
    {
        "user_id": [1, 1, 2],
        "item_id": [10, 11, 12],
        "reward": [1.0, 0.0, 1.0],
        "propensity": [0.5, 0.25, 1.0],
    }
)
TABLES = {
    "history": HISTORY,
    "items": ITEMS,
    "aspects": ASPECTS,
    "baseline": BASELINE,
    "logs": LOGS,
}
# user 1 hits at rank 1, user 2 at rank 2
VALUES = {
    "mrr": (1 + 1 / 2) / 2,
    "coverage": 3 / 4,
    "coverage(catalogue=items)": 3 / 4,
    "popularity": (2 / 3 + 1 / 3) / 2,  # the same for both users
    "surprisal": (math.log2(3 / 2) + math.log2(3)) / 2,  # the same for both users
    "money_precision": (3 / (3 + 1) + 4 / (3 + 4)) / 2,
    "money_recall": 1.0,
    "money_recall@1": (3 / 3 + 0) / 2,
    # [1, 0] and [0, 1] have the cosine 0; [1, 0] and [1, 1] have 1/sqrt(2)
    "intra_list_diversity": (1 + (1 - 1 / math.sqrt(2))) / 2,
    "intra_list_diversity(over=category)": (1 + (1 - 1 / math.sqrt(2))) / 2,
    "alpha_ndcg": (1 + 1 / math.log2(3)) / 2,
    # two items of the group m at rank 1, two of n at rank 2; both have two items
    "awrf(target=given)": 1 / 12,  # m has the share 2/3 at patience 1/2, and should have 3/4
    "ndkl(target=given)": (math.log(4 / 3) + math.log(4 / 3) / 2 / math.log2(3))
    / (1 + 1 / math.log2(3)),
    "exposure_parity": 1 / math.log2(3),
    "exposure_parity(catalogue=items)": 1 / math.log2(3),
    "statistical_parity": (1 - 2 / 3) / (1 + 2 / 3),  # m: 2 listed, 2 unseen; n: 2 and 3
    "unexpectedness": ((1 - 1 / 2) + 1) / 2,
    "unexpectedness@1": (0 + 1) / 2,
    "ctr": (1 + 0 + 1) / 3,
    "ips": (1 / 0.5 + 0 + 1 / 1) / 4,
    "ips_recall": 1.0,
    "ips_recall(propensity=column)": 1.0,
    "effective_relevant": 1.0,
    "ips(divisor=weights)": (1 / 0.5 + 1 / 1) / (1 / 0.5 + 1 / 0.25 + 1 / 1),
}
DIVERSITY, BY_CATEGORY = "intra_list_diversity", "intra_list_diversity(over=category)"
CATALOG = Catalog.load()
# what `all` stands for: ratings and probabilities are left to those who name them
ALL = {name: metric for name, metric in CATALOG.metrics.items() if metric.in_all}
EVERYTHING = {"recommendations": SCORED, "interactions": GRADED, **TABLES}


def evaluate(
    metrics: Any, recommendations: Any = RANKED, interactions: Any = TRUTH, **options: Any
) -> pd.DataFrame:
    call = {name: options.pop(name) for name in ("k", "confidence") if name in options}
    with Evaluator(recommendations, interactions, **options) as evaluator:
        return evaluator.evaluate(metrics, **call)


def value(metric: str, **options: Any) -> float:
    return float(evaluate(metric, **options)["value"].item())


def close(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-12)


def changed(table: pa.Table, column: str, row: int, new: Any) -> pa.Table:
    """Put another value into one cell; NaN stays NaN."""
    values = table[column].to_pylist()
    values[row] = new
    kept = table[column].type if isinstance(new, float | None) else None
    return table.set_column(table.column_names.index(column), column, pa.array(values, kept))


def more(table: pa.Table, *rows: Mapping[str, Any]) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist(list(rows), table.schema)])


def without(table: pa.Table, item: int) -> pa.Table:
    return table.filter(pc.not_equal(table["item_id"], item))


def check_refused(
    call: Callable[[], Any], table: str, column: str, found: str, row: Mapping[str, Any],
    remedy: str,
) -> None:  # fmt: skip
    """Check every part of the message of a broken rule."""
    with pytest.raises(sm.DataError) as caught:
        call()
    message = str(caught.value)
    first, header, *rows, last = message.splitlines()
    assert re.match(rf"{table}[,:]", first), message
    assert re.search(rf"\b{column}\b", f"{first} {header}"), message
    assert re.search(found, first), message
    shown = [dict(zip(header.split(), line.split(), strict=True)) for line in rows]
    expected = {name: str(cell) for name, cell in row.items()}
    assert any(expected.items() <= cells.items() for cells in shown), message
    assert last.startswith("What to do: "), message
    assert remedy in last, message


def renamed(table: pa.Table, *columns: str) -> pa.Table:
    names = [f"the_{name}" if name in columns else name for name in table.column_names]
    return table.rename_columns(names)


OF_GROUPS = [
    "awrf", "ndkl", "bias_disparity", "equal_opportunity", "expected_exposure",
    "exposure_parity", "exposure_utility", "gain_utility", "pairwise_parity", "statistical_parity",
]  # fmt: skip
# table -> the metrics that need it, each with the column that the table may lack
NEEDS: dict[str, dict[str, str | None]] = {
    "history": dict.fromkeys(
        [
            "accuracy",
            "coverage",
            "efd",
            "effective_relevant",
            "epc",
            *OF_GROUPS,
            "gini",
            "group_popularity_lift",
            "iaa",
            "intra_list_diversity(over=history)",
            "ips_ndcg",
            "ips_recall",
            "mcc",
            "percentile_rank",
            "popularity",
            "popularity_lift",
            "psndcg",
            "psp",
            "serendipity",
            "surprisal",
            "tail_count",
            "tail_share",
            "unseen",
            "valid_items",
        ]
    ),
    "items": {
        "intra_list_diversity": "features",
        "intra_list_diversity(over=category)": "category",
        "attribute_shift": "category",
        "calibration": "category",
        "category_coverage": "category",
        "category_entropy": "category",
        **dict.fromkeys([*OF_GROUPS, "iaa(groups=column)"], "item_group"),
        **dict.fromkeys(["awrf(target=given)", "ndkl(target=given)"], "group_target"),
        "effective_relevant(propensity=column)": "propensity",
        "ips_recall(propensity=column)": "propensity",
        "money_precision": "price",
        "money_recall": "price",
    },
    "aspects": dict.fromkeys(["alpha_ndcg", "err_ia", "map_ia", "nrbp", "p_ia", "subtopic_recall"]),
    "baseline": dict.fromkeys(["least_item_promoted", "overlap", "rbo", "unexpectedness"]),
    "logs": {"ctr": None, "ips": None, "doubly_robust": None},
    "recommendations": {"doubly_robust": "score"},
    "interactions": dict.fromkeys(
        [
            "auc",
            "bpref",
            "err",
            "fallout",
            "inf_ap",
            "kendall_tau",
            "ndpm",
            "pairwise_accuracy",
            "pfound",
            "pwa",
            "relevance_position",
            "spearman_rho",
        ],
        "relevance",
    ),
}
# what ranks and a truth without relevance are not enough for
NEED_MORE = {metric.partition("(")[0] for metrics in NEEDS.values() for metric in metrics}


def left_out(message: str) -> dict[str, str]:
    """Read the message about omitted metrics: metric -> what it lacks."""
    start, *groups = re.split(r"(?: |; )because ", message)
    assert start == "omitted", message
    pairs = [group.rpartition(": ") for group in groups]
    return {metric: reason for reason, _, metrics in pairs for metric in metrics.split(", ")}


WITHOUT = LOGS.drop_columns("propensity")
Z = {confidence: NormalDist().inv_cdf((1 + confidence) / 2) for confidence in (0.9, 0.95)}
