"""Published numbers of the table of five users, under the conventions of the systems."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.five_users import (
    ALL_RELEVANT,
    GRADED_EXPONENTIAL,
    GRADED_LINEAR,
    IDCG3,
    LENSKIT,
    U1,
    U2,
)


class Published(NamedTuple):
    """A number: the digits that were printed, their closed form, the spec of each convention."""

    printed: str
    exact: str
    specs: dict[str, str]


def same(spec: str, *names: str) -> dict[str, str]:
    """Return the spec of each convention; trec_eval counts users without a list with -c."""
    complete = {"trec_eval": f"{spec}(no_recommendations=zero)"}
    return {name: complete.get(name, spec) for name in names}


REPLAY = ("replay-0.9", "replay-0.12", "replay")
RS = ("rs_metrics-0.2", "rs_metrics")

FIVE_USERS = [
    Published("0.6", "3/5", same("hit_rate", *REPLAY, *RS, "rectools", "ranx", "trec_eval",
        "recbole", "lenskit", "course")),
    Published("0.75", "3/4", same("hit_rate", "elliot")),
    Published("0.333333333333", "5/3 / 5", same("precision", "replay-0.12", "replay", "rectools",
        "ranx", "trec_eval", "recbole", "tutorial")),
    Published("0.366666666667", "(2/3 + 1/2 + 2/3) / 5",
        same("precision", "replay-0.9", "lenskit", "course")),
    Published("0.416666666667", "5/3 / 4", same("precision", "recommenders", "elliot")),
    Published("0.458333333333", "(2/3 + 1/2 + 2/3) / 4", same("precision", "jurity")),
    Published("0.466666666667", "(2/3 + 1 + 2/3) / 5",
        {"rectools": "precision(divisor=min_k_relevant)"}),
    Published("0.3", "(6/12 + 2/3 + 5/15) / 5", same("partial_auc", "rectools")),
    Published("0.377777777778", "(6/9 + 2/3 + 5/9) / 5", same("pap", "rectools")),
    Published("0.38", "(2/4 + 1 + 2/5) / 5", same("recall", *REPLAY, *RS, "jurity", "rectools",
        "ranx", "trec_eval", "recbole", "course", "tutorial")),
    Published("0.475", "(2/4 + 1 + 2/5) / 4", same("recall", "recommenders", "elliot")),
    Published("0.466666666667", "(2/3 + 1 + 2/3) / 5", same("recall", "lenskit")),
    Published("0.314285714286", "(4/7 + 1/2 + 1/2) / 5",
        same("f1", "rectools", "ranx", "tutorial")),
    Published("0.392857142857", "(4/7 + 1/2 + 1/2) / 4", same("f1", "elliot")),
    Published("0.322222222222", "(5/9 + 1/2 + 5/9) / 5",
        same("map", "replay-0.9", "replay", "recbole")),
    Published("0.402777777778", "(5/9 + 1/2 + 5/9) / 4", same("map", "jurity", "recommenders")),
    Published("0.255555555556", "(5/9 + 1/6 + 5/9) / 5",
        {"replay-0.12": "map", "rectools": "map(divisor=k)"}),
    Published("0.25", "(5/12 + 1/2 + 5/15) / 5",
        same("map", "rectools", "ranx", "trec_eval", "rs_metrics")),
    Published("0.3125", "(5/12 + 1/2 + 5/15) / 4", {"recommenders": "map(divisor=relevant)"}),
    # by formula, both; the tutorial with 0 for the user without a hit
    Published("0.433333333333", "(5/6 + 1/2 + 5/6) / 5", same("map", "course", "tutorial")),
    Published("0.430555555556", "(13/18 + 5/18 + 13/18) / 4", same("map", "elliot")),
    # by the formula of its page
    Published("0.156666666667", "(1/4 + 1/3 + 1/5) / 5", {"rs_metrics-0.2": "mar(divisor=k)"}),
    Published("0.316666666667", "(1/3 + 2/3 + 4/15) / 4", same("mar", "elliot")),
    Published("0.5", "(1 + 1/2 + 1) / 5", same("mrr", *REPLAY, *RS, "rectools", "ranx", "trec_eval",
        "recbole", "lenskit", "course", "tutorial")),
    Published("0.625", "(1 + 1/2 + 1) / 4", same("mrr", "elliot")),
    Published("0.407753186328", f"(2*{U1} + {U2}) / 5", {
        **same("ndcg", *REPLAY, "rs_metrics", "recbole", "recommenders"),
        "rectools": "ndcg(ideal=min_k_relevant)",
    }),
    Published("0.340783617807", f"(2*{U1} + {U2}/{IDCG3}) / 5",
        same("ndcg", "rectools", "rs_metrics-0.2")),
    Published("0.345048027294", f"{ALL_RELEVANT} / 5", same("ndcg", "jurity")),
    Published("0.447962493", f"{LENSKIT} / 5", same("ndcg", "lenskit")),
    Published("0.509691482910", f"(2*{U1} + {U2}) / 4", {"elliot": "ndcg(gain=binary)"}),
    Published("0.378188345619", f"{GRADED_LINEAR} / 5", {
        **same("ndcg", "ranx", "trec_eval", "tutorial"), "recommenders": "ndcg(gain=linear)",
    }),
    Published("0.381701105306", f"{GRADED_EXPONENTIAL} / 5",
        same("ndcg(gain=exponential)", "ranx", "recommenders")),
    Published("0.477126381633", f"{GRADED_EXPONENTIAL} / 4", {"elliot": "ndcg(relevant_from=1)"}),
    Published("0.2", "(1/2 + 1/2) / 5", same("roc_auc", *REPLAY, "course")),
    Published("0.18", "(2/4 + 0 + 2/5) / 5", same("r_precision", "ranx", "trec_eval")),
    Published("0.45", "(2/4 + 2/5) / 2", same("r_precision", "recommenders")),
    # by formula; the highest grade is 3
    Published("0.289583333333",
        "(7/8 + 1/8 * 1/8 / 3 + 3/8 / 2 + 1/8 + 7/8 * 7/8 / 3) / 5", same("err", "course")),
    Published("0.476333333333",
        "(1 + 2/3 * 0.85 + 1/3 + 2/3 * 0.85**2) / 5", same("pfound", "course")),
    # 1.96 standard errors of 2/3, 1/3, 0, 0, 2/3
    Published("0.2921741801922", "1.9599639845400545 * (1/3) / sqrt(5)",
        {"replay": "precision(aggregate=half_width)"}),
]  # fmt: skip
