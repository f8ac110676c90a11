"""LensKit: the Gini coefficient of exposure, which it adds up in single precision."""

from lenskit.data import ItemList
from lenskit.metrics.ranking._gini import ExposureGini

from given import main


def measure(given, model):
    of_user = given.by_user(given.lists(model))
    lists = [ItemList(item_ids=items, ordered=True) for items in of_user.values()]
    n_items = len(given.rows("items"))
    for k in given.cutoffs:
        metric = ExposureGini(k, items=n_items)
        yield (
            "ExposureGini",
            k,
            lambda m=metric: m.global_aggregate([m.compute_list_data(of, None) for of in lists]),
        )


main(measure)
