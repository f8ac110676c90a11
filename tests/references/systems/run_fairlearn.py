"""fairlearn: gaps between the groups of users of MetricFrame, given recall and hits of the users.

The group of a user is the remainder of the number in the id.
"""

import numpy as np
from fairlearn.metrics import MetricFrame

from given import main


def mean_value(y_true, y_pred):  # noqa: ARG001
    return np.mean(y_pred)


def measure(given, model):
    liked = {}
    for row in given.rows("interactions"):
        if row["relevance"] > 0:
            liked.setdefault(row["user_id"], set()).add(row["item_id"])
    lists = given.by_user(given.lists(model))
    for n_groups in (2, 3, 5):
        groups = [int(user[1:]) % n_groups for user in liked]
        for k in given.cutoffs:
            hits = {user: len(liked[user] & set(lists.get(user, [])[:k])) for user in liked}
            values = {
                "recall": [hits[user] / len(liked[user]) for user in liked],
                "hit_rate": [min(hits[user], 1) for user in liked],
            }
            for name, of_users in values.items():
                frame = MetricFrame(
                    metrics=mean_value,
                    y_true=of_users,
                    y_pred=of_users,
                    sensitive_features=groups,
                )
                yield f"{name} of {n_groups} groups: difference", k, frame.difference
                yield f"{name} of {n_groups} groups: ratio", k, frame.ratio


main(measure)
