"""replay-rec: time, last n and ratio splitters, on pandas and on Polars."""

from datetime import datetime

import pandas as pd
import polars as pl
from replay.splitters import LastNSplitter, RatioSplitter, TimeSplitter

from split_given import main

COLUMNS = {"query_column": "user_id", "item_column": "item_id"}
AT = "2023-12-20 00:00:00"


def splitters():
    """Yield the name of a splitter, the splitter, and our rule."""
    at = datetime.fromisoformat(AT)
    yield f"TimeSplitter({AT})", TimeSplitter(at, **COLUMNS), {"by": "time", "at": AT}
    for share in (0.2, 0.35):
        found = TimeSplitter(share, **COLUMNS)
        yield f"TimeSplitter({share})", found, {"by": "time", "share": share}
    for n in (1, 2):
        found = LastNSplitter(n, divide_column="user_id", **COLUMNS)
        yield f"LastNSplitter({n})", found, {"by": f"last={n}"}
    for share in (0.2, 0.4, 0.5):
        found = RatioSplitter(share, divide_column="user_id", **COLUMNS)
        yield f"RatioSplitter({share})", found, {"by": f"last-share={share}"}
        found = RatioSplitter(share, divide_column="user_id", split_by_fractions=False, **COLUMNS)
        rule = {"by": f"last-share={share}", "rounding": "floor"}
        yield f"RatioSplitter({share}, split_by_fractions=False)", found, rule
    cold = {"drop_cold_users": True, "drop_cold_items": True}
    found = TimeSplitter(0.5, **COLUMNS, **cold)
    rule = {"by": "time", "share": 0.5, "drop": ["cold_users", "cold_items"]}
    yield "TimeSplitter(0.5, drop_cold_users, drop_cold_items)", found, rule


def splits(events):
    """Yield the held-out rows."""
    events["timestamp"] = pd.to_datetime(events["timestamp"], unit="s")
    for name, splitter, rule in splitters():
        for kind, frame in (("pandas", events.copy()), ("polars", pl.from_pandas(events))):
            yield f"{name} on {kind}", rule, list(splitter.split(frame)[1]["row"])


main(splits)
