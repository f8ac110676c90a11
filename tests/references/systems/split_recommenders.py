"""recommenders: chronological splits of the events of each user, and k-cores."""

from recommenders.datasets.python_splitters import python_chrono_split
from recommenders.datasets.split_utils import filter_k_core

from split_given import main

NAMES = {"col_user": "user_id", "col_item": "item_id"}


def splits(events):
    """Yield the held-out rows."""
    for ratio in (0.75, 0.6, 0.5, 0.8):
        _, test = python_chrono_split(
            events.copy(), ratio=ratio, col_timestamp="timestamp", **NAMES
        )
        rule = {"by": f"last-share={round(1 - ratio, 2)}", "rounding": "train"}
        yield f"python_chrono_split(ratio={ratio})", rule, test["row"]
    # the core counts rows, ours pairs: one row per pair
    names = {"user_id": "userID", "item_id": "itemID"}
    pairs = events.drop_duplicates(["user_id", "item_id"]).rename(columns=names)
    core = filter_k_core(pairs, 3).rename(columns={new: old for old, new in names.items()})
    _, test = python_chrono_split(core.copy(), ratio=0.6, col_timestamp="timestamp", **NAMES)
    rule = {"by": "last-share=0.4", "rounding": "train", "core": [3, 3], "core_of": "events"}
    yield "filter_k_core(3), python_chrono_split(ratio=0.6), first row of a pair", rule, test["row"]


main(splits)
