"""recpack: its metrics, given matrices of users and items as its pipeline hands them over.

The package imports its algorithms, and with them torch: only its metrics are loaded here.
"""

import importlib.util
import sys
import types

import numpy
from scipy.sparse import csr_matrix

from given import main

package = types.ModuleType("recpack")
package.__path__ = importlib.util.find_spec("recpack").submodule_search_locations
sys.modules["recpack"] = package

from recpack import metrics  # noqa: E402 - after its stand-in

NAMES = ["RecallK", "CalibratedRecallK", "PrecisionK", "NDCGK", "DCGK", "HitK", "ReciprocalRankK"]


def matrix(rows, column, users, items):
    """Return the matrix of a column; scores of 0 would be no recommendations."""
    where = [users[r["user_id"]] for r in rows], [items[r["item_id"]] for r in rows]
    values = [1 if column is None else r[column] for r in rows]
    return csr_matrix((numpy.array(values, dtype=float), where), shape=(len(users), len(items)))


def measure(given, model):
    truth, lists = given.rows("interactions"), given.lists(model)
    users = {u: n for n, u in enumerate(sorted({r["user_id"] for r in [*truth, *lists]}))}
    items = {row["item_id"]: n for n, row in enumerate(given.rows("items"))}
    y_true = matrix(truth, None, users, items)
    y_pred = matrix(lists, "score", users, items)
    history = given.rows("history")
    known = {u: n for n, u in enumerate(sorted({r["user_id"] for r in history}))}
    past = (matrix(history, None, known, items) > 0).astype(float)  # users, as documented

    def calculated(metric):
        metric.calculate(y_true, y_pred)
        return metric.value

    def weighted(k):
        metric = metrics.IPSHitRateK(k)
        metric.fit(past)
        return calculated(metric)

    for k in given.cutoffs:
        yield "IPSHitRateK", k, lambda k=k: weighted(k)
    for name in NAMES:
        for k in given.cutoffs:
            yield name, k, lambda n=name, k=k: calculated(getattr(metrics, n)(k))


main(measure)
