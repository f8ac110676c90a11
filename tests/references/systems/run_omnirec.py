"""OmniRec: the metrics of its repository, without the package around them, which loads its data."""

import sys
import types
from pathlib import Path

import pandas

from given import columns, main

for name in ("omnirec", "omnirec.metrics"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(Path(sys.prefix) / "source")]

from omnirec.metrics import ranking  # noqa: E402 - after its stand-ins


def measure(given, model):
    lists = pandas.DataFrame(
        columns(given.lists(model), user="user_id", item="item_id", score="score", rank="rank")
    )
    test = pandas.DataFrame(columns(given.rows("interactions"), user="user_id", item="item_id"))
    for name in ("HR", "Recall", "NDCG"):
        metric = getattr(ranking, name)(given.cutoffs)
        for k in given.cutoffs:
            yield name, k, lambda m=metric, k=k: m.calculate(lists, test).result[k]


main(measure)
