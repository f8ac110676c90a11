"""rs_metrics, any version: the order of a list is its rank."""

import pandas as pd
import rs_metrics

from given import columns, main


def measure(given, model):
    lists = given.by_user(given.lists(model))
    truth = given.by_user(given.rows("interactions"))
    log = pd.DataFrame(columns(given.rows("history"), user_id="user_id", item_id="item_id"))
    items = [row["item_id"] for row in given.rows("items")]
    first = {
        **dict.fromkeys(("hitrate", "precision", "recall", "mrr", "mapr", "mar", "ndcg"), truth),
        **dict.fromkeys(("popularity", "surprisal"), log),
        "coverage": items,
    }
    for name, table in first.items():
        function = getattr(rs_metrics, name, None)
        if function is None:  # mar is in old versions only
            continue
        for k in given.cutoffs:
            yield name, k, lambda f=function, t=table, k=k: f(t, lists, k=k)


main(measure)
