"""Average RecTools' debiased metrics over many random states, for tests/peers/test_debias.py.

    PYTHONPATH=tests/references RECTOOLS_PYTHON tests/references/systems/debias_rectools.py

Run it with the Python of the environment of make.py for rectools. It prints the border, and for
each metric the mean over the states and its standard error; the test has them as literals. The
truth is the history of the table `plain` of data.py, where few items have most of the users, and
the lists are those of its baseline.
"""

import json
import math
import statistics

import data
import pandas as pd
from rectools import metrics

STATES = 4000
K = 5


def main() -> None:
    """Print the averages."""
    made = data.tables("plain")
    truth = pd.DataFrame(made["history"])[["user_id", "item_id"]].drop_duplicates()
    lists = pd.DataFrame(made["baseline"])[["user_id", "item_id", "rank"]]
    found: dict[str, list[float]] = {"users": []}
    asked = {
        "recall": metrics.Recall(K),
        "precision": metrics.Precision(K),
        "ndcg": metrics.NDCG(K),
        "hit_rate": metrics.HitRate(K),
    }
    for state in range(STATES):
        config = metrics.DebiasConfig(iqr_coef=1.5, random_state=state)
        left = metrics.debias_interactions(truth, config)
        found["users"].append(left["user_id"].nunique())
        for name, metric in asked.items():
            found.setdefault(name, []).append(metric.calc(lists, left))
    popular = left.groupby("item_id").size().max()
    print(json.dumps({"border": int(popular)}))
    for name, values in found.items():
        error = statistics.stdev(values) / math.sqrt(STATES)
        print(json.dumps({name: [round(statistics.fmean(values), 7), round(error, 7)]}))


main()
