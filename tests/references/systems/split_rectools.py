"""RecTools: splits by time and of the last events of each user, with its filters."""

import pandas as pd
from rectools import Columns
from rectools.dataset import Interactions
from rectools.model_selection import LastNSplitter, TimeRangeSplitter

from split_given import main

NO_FILTERS = {"filter_cold_users": False, "filter_cold_items": False, "filter_already_seen": False}
DROPS = ["cold_users", "cold_items", "seen"]


def splits(events):
    """Yield the held-out rows."""
    frame = events.rename(columns={"timestamp": Columns.Datetime})
    frame[Columns.Datetime] = pd.to_datetime(frame[Columns.Datetime], unit="s")
    interactions = Interactions(frame.assign(weight=1.0)[Columns.Interactions])
    choices = [(NO_FILTERS, [])]
    if not events.duplicated(["user_id", "timestamp"]).any():
        choices.append(({}, DROPS))  # which items are new depends on which event of a tie is
    for filters, drop in choices:
        said = "" if drop else ", without filters"
        for days in (7, 20):
            splitter = TimeRangeSplitter(f"{days}D", **filters)
            ((_, test, info),) = splitter.split(interactions)
            rule = {"by": "time", "at": str(info["start"]), "drop": drop}
            yield f"TimeRangeSplitter({days}D{said})", rule, events["row"].iloc[test]
        for n in (1, 2):
            ((_, test, _),) = LastNSplitter(n, n_splits=1, **filters).split(interactions)
            rule = {"by": f"last={n}", "drop": drop}
            yield f"LastNSplitter({n}{said})", rule, events["row"].iloc[test]


main(splits)
