"""NGCF: the evaluation file of its repository, as published.

Its list has the items with the highest scores up to the largest cutoff: the length of the lists is
one of the cutoffs here. The modules with its arguments and its data have stand-ins.
"""

import sys
import types
from pathlib import Path

import numpy

from given import main

NAMES = ["precision", "recall", "hit_ratio", "ndcg"]
utility = types.ModuleType("utility")
utility.__path__ = [str(Path(sys.prefix) / "source")]
parser, load_data = types.ModuleType("utility.parser"), types.ModuleType("utility.load_data")
options = {"Ks": "[1]", "test_flag": "part", "batch_size": 1, "data_path": "", "dataset": ""}
parser.parse_args = lambda: types.SimpleNamespace(**options)


class Data:
    """The data, as the file reads them."""

    n_users = n_items = n_train = n_test = 0

    def __init__(self, path, batch_size):
        pass


load_data.Data, load_data.np = Data, numpy
modules = [utility, parser, load_data]
sys.modules.update({module.__name__: module for module in modules})

from utility import batch_test  # noqa: E402 - after its stand-ins


def measure(given, model):
    lists, truth = {}, {}
    for row in given.lists(model):
        lists.setdefault(row["user_id"], {})[row["item_id"]] = row["score"]
    for row in given.rows("interactions"):
        truth.setdefault(row["user_id"], []).append(row["item_id"])
    items = sorted({i for of in [*lists.values(), *truth.values()] for i in of})
    numbers = {item: number for number, item in enumerate(items)}
    cutoffs = [*given.cutoffs, len(next(iter(lists.values())))]
    batch_test.Ks, batch_test.ITEM_NUM = cutoffs, len(items)
    batch_test.data_generator.train_items = {}
    batch_test.data_generator.test_set = {u: [numbers[i] for i in of] for u, of in truth.items()}
    users = [user for user in truth if user in lists]
    results = []
    for user in users:
        scores = [lists[user].get(item, -numpy.inf) for item in items]
        results.append(batch_test.test_one_user((scores, user)))
    for name in NAMES:
        for place, k in enumerate(given.cutoffs):
            yield name, k, lambda n=name, p=place: sum(r[n][p] / len(users) for r in results)


main(measure)
