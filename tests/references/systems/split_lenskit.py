"""lenskit: global times, and the last events of each user."""

import pandas as pd
from lenskit.data import DatasetBuilder, ItemList
from lenskit.splitting import LastFrac, LastN, split_global_time, split_temporal_fraction

from split_given import main

AT = "2023-12-20T00:00:00"


def splits(events):
    """Yield the held-out rows."""
    builder = DatasetBuilder()
    builder.add_interactions(
        "events",
        events.assign(timestamp=pd.to_datetime(events["timestamp"], unit="s")),
        entities=["user", "item"],
        missing="insert",
        allow_repeats=True,
        default=True,
    )
    data = builder.build()
    split = split_global_time(data, AT)
    yield f"split_global_time({AT})", {"by": "time", "at": AT}, rows_of(split.test)
    for share in (0.2, 0.35):
        split = split_temporal_fraction(data, share)
        rule = {"by": "time", "share": share}
        yield f"split_temporal_fraction({share})", rule, rows_of(split.test)
    lists = [ItemList.from_df(of_user) for _, of_user in events.groupby("user_id")]
    holdouts = [(f"LastN({n})", LastN(n), {"by": f"last={n}"}) for n in (1, 2)]
    for share in (0.2, 0.4, 0.5):
        rule = {"by": f"last-share={share}", "rounding": "round"}
        holdouts.append((f"LastFrac({share})", LastFrac(share), rule))
    for name, holdout, rule in holdouts:
        yield name, rule, [row for items in lists for row in holdout(items).field("row")]


def rows_of(test):
    """Return the rows of a test set."""
    return test.to_df()["row"]


main(splits)
