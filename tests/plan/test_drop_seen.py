"""The setting drop_seen: items of the history are removed before ranking."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.describe.metric import describe_metric
from sqlmetrics.metrics.catalog import Catalog
from tests.support.evaluators import Evaluator
from tests.support.seen_items import (
    DROP,
    HISTORY,
    ITEMS,
    LEFT,
    LISTS,
    RELEVANT,
    SEEN,
    pairs,
    ranked,
    refused,
    scored,
)


def same(one: sm.Evaluator, other: sm.Evaluator, metrics: Any, k: Any = (1, 2, 3)) -> None:
    pd.testing.assert_frame_equal(one.evaluate(metrics, k=k), other.evaluate(metrics, k=k))
    metrics = [metric for metric in metrics if metric not in ("coverage", "inter_list_diversity")]
    pd.testing.assert_frame_equal(
        one.per_user(metrics, k=k, long=True), other.per_user(metrics, k=k, long=True)
    )


def test_what_is_left_is_ranked_again() -> None:
    """Of u1's a b c d, a and c were seen: d moves to place 2. So does b in u2's c a b."""
    with Evaluator(ranked(LISTS), RELEVANT, history=HISTORY, settings=DROP) as evaluator:
        places = evaluator.stage("ranked").sort_values(["user_id", "rank"])
        assert places.groupby("user_id")["item_id"].apply("".join).to_dict() == LEFT
        assert places.groupby("user_id")["rank"].apply(list).to_dict() == {
            "u1": [1, 2], "u2": [1, 2], "u3": [1, 2, 3],
        }  # fmt: skip
        users = evaluator.per_user(["mrr", "recall", "hit_rate"], k=2, long=True).set_index(
            "user_id"
        )
    assert users["mrr"].to_dict() == {"u1": 1 / 2, "u2": 1 / 2, "u3": 1.0}
    # a of u1 was seen and is relevant: it counts among the relevant items, and cannot be hit
    assert users["recall"].to_dict() == {"u1": 1 / 2, "u2": 1.0, "u3": 1 / 2}


@pytest.mark.parametrize(
    ("of", "convention"),
    [
        (ranked, ["rectools", "standard"]),
        (scored, "standard"),
    ],
)
def test_lists_without_seen_items_give_the_same_numbers(of: Any, convention: Any) -> None:
    """Whatever reads the lists: accuracy alone, which looks hits up, and with all else."""
    more: dict[str, Any] = {
        "interactions": RELEVANT, "history": HISTORY, "items": ITEMS, "convention": convention,
        "fallback": "standard",
        "aspects": ITEMS[["item_id", "category"]].rename(columns={"category": "aspect"}),
    }  # fmt: skip
    kept = of(LISTS)
    kept = kept[[pair not in SEEN for pair in zip(kept["user_id"], kept["item_id"], strict=True)]]
    if "rank" in kept:
        kept = kept.assign(rank=kept.groupby("user_id").cumcount() + 1)
    baseline = {"u1": "dcab", "u2": "ac"}
    left = {"u1": "db", "u2": "c"}
    with (
        Evaluator(of(LISTS), baseline=of(baseline), settings=DROP, **more) as one,
        Evaluator(kept, baseline=ranked(left), **more) as other,
    ):
        same(one, other, ["ndcg", "map", "precision"])
        everything = ["surprisal", "popularity", "coverage", "inter_list_diversity", "roc_auc"]
        everything += ["intra_list_diversity", "money_recall", "money_precision", "alpha_ndcg"]
        everything += ["unexpectedness", "r_precision", "unexpectedness(audience=baseline)"]
        same(one, other, everything)


def test_several_models_keys_of_ones_own_and_slices() -> None:
    def keyed(frame: pd.DataFrame) -> pd.DataFrame:
        user = frame.pop("user_id")
        return frame.assign(shop="s", session=user)

    more: dict[str, Any] = {
        "interactions": keyed(RELEVANT.copy()), "history": keyed(HISTORY.copy()), "items": ITEMS,
        "key": ("shop", "session"), "baseline": "als",
    }  # fmt: skip
    models = {"als": LISTS, "popular": dict.fromkeys(LISTS, "dcba")}
    left = {"als": LEFT, "popular": {"u1": "db", "u2": "dcb", "u3": "dcba"}}
    sources = [{name: keyed(ranked(of)) for name, of in some.items()} for some in (models, left)]
    # u2 has had d: the popular list of u2 loses it too
    sources[1]["popular"] = keyed(ranked({**left["popular"], "u2": "cb"}))
    with (
        Evaluator(sources[0], settings=DROP, **more) as one,
        Evaluator(sources[1], **more) as other,
    ):
        same(one, other, ["ndcg", "unexpectedness", "coverage"])
        for options in ({"by": "activity"}, {"by_item": "category"}):
            found, expected = (
                evaluator.evaluate(["ndcg", "recall"], k=2, **options) for evaluator in (one, other)
            )
            pd.testing.assert_frame_equal(found, expected)
        found, expected = (evaluator.compare("ndcg@2") for evaluator in (one, other))
        pd.testing.assert_frame_equal(found, expected)


ROWS = """
{#---
title = "Rows of the lists"
grain = "run"
---#}
SELECT recommendations.model, cutoffs.k, count(*) AS value
FROM recommendations
CROSS JOIN cutoffs
GROUP BY recommendations.model, cutoffs.k
"""


def test_a_metric_that_reads_the_table_itself(tmp_path: Path) -> None:
    """It finds what is left, and has no slices, as without the setting."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "n_rows.sql.j2").write_text(ROWS.lstrip())
    models = {"als": ranked(LISTS), "other": ranked(LEFT)}
    given: dict[str, Any] = {"history": HISTORY, "templates": tmp_path, "settings": DROP}
    with Evaluator(models, RELEVANT, **given) as evaluator:
        assert evaluator.evaluate("n_rows")["value"].to_list() == [7, 7]
        with pytest.raises(sm.UsageError, match="n_rows reads the table recommendations directly"):
            evaluator.evaluate("n_rows", by="activity")


def test_lists_in_one_row() -> None:
    lists = pd.DataFrame({"user_id": list(LISTS), "item_id": [list(of) for of in LISTS.values()]})
    with (
        Evaluator(lists, RELEVANT, history=HISTORY, settings=DROP) as one,
        Evaluator(ranked(LEFT), RELEVANT, history=HISTORY) as other,
    ):
        same(one, other, ["ndcg", "popularity"])


def test_gaps_of_the_ranks_as_given_are_refused_all_the_same() -> None:
    gaps = ranked(LISTS).query("user_id != 'u1' or item_id != 'b'")  # ranks 1, 3, 4
    given = {"recommendations": gaps, "interactions": RELEVANT, "history": HISTORY}
    refused(sm.DataError, "1 of 3 lists has gaps", "u1", settings=DROP, **given)
    with Evaluator(**given, settings={**DROP, "rank_gaps": "close"}) as evaluator:
        lists = evaluator.stage("ranked").sort_values("rank")
        assert list(lists[lists["user_id"] == "u1"]["rank"]) == [1]


def test_copies_of_seen_items_are_refused_all_the_same() -> None:
    copies = scored({**LISTS, "u1": "aab"})
    given = {"recommendations": copies, "interactions": RELEVANT, "history": HISTORY}
    refused(sm.DataError, "1 of 9 rows repeats an item", settings=DROP, **given)
    # b of u1 is not relevant, b of u2 is second, after c, and so is d of u3: equal scores, c first
    with Evaluator(**given, settings={**DROP, "duplicate_recommendations": "keep"}) as evaluator:
        assert evaluator.per_user("mrr")["mrr"].to_list() == [0, 1 / 2, 1 / 2]


def test_users_whose_lists_are_gone_have_no_recommendations() -> None:
    history = pairs([("u1", item) for item in "abcd"])
    with Evaluator(ranked(LISTS), RELEVANT, history=history, settings=DROP) as evaluator:
        users = evaluator.per_user(["hit_rate", "hit_rate(audience=recommended)"], k=3, long=True)
        assert users["hit_rate"].to_list() == [0, 1, 1]
        assert math.isnan(users["hit_rate(audience=recommended)"].iloc[0])


def test_seen_items_need_a_history() -> None:
    needed_by = {"ndcg@2": "drop_seen=true", "all": "the metric accuracy"}  # the first of all
    for metrics, reader in needed_by.items():
        refused(
            sm.UsageError, f"{reader} needs the table history", "history=…",
            recommendations=ranked(LISTS), interactions=RELEVANT, settings=DROP, metrics=metrics,
        )  # fmt: skip
    evaluator = Evaluator(ranked(LISTS), RELEVANT, settings=DROP)
    with pytest.raises(sm.UsageError, match="needs the table history"):
        evaluator.evaluate("ndcg@2", skip_missing=True)


def test_lists_of_seen_items_alone_are_refused() -> None:
    history = pairs([(user, item) for user in LISTS for item in "abcd"])
    given: dict[str, Any] = {"interactions": RELEVANT, "history": history, "settings": DROP}
    words = ("removed all rows", "drop_seen=true")
    refused(sm.DataError, "recommendations: ", *words, recommendations=ranked(LISTS), **given)
    models = {"als": ranked(LISTS), "other": ranked({"u1": "e", "u2": "a"})}
    for source in (models, pd.concat([one.assign(model=m) for m, one in models.items()])):
        refused(sm.DataError, "recommendations of als: ", *words, recommendations=source, **given)
    given["history"] = pairs([("u1", "a")])
    refused(
        sm.DataError, "baseline: ", *words, recommendations=ranked(LISTS),
        baseline=ranked({"u1": "a"}), metrics="unexpectedness@2", **given,
    )  # fmt: skip


def test_a_convention_may_say_it_and_explain_walks_there(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('title = "Ours"\n[settings]\ndrop_seen = true\n')
    with Evaluator(ranked(LISTS), RELEVANT, history=HISTORY) as evaluator:
        steps = evaluator.explain("mrr@2", start=path)
    assert steps["setting"].to_list()[1:] == ["drop_seen"]
    assert steps[["before", "after"]].iloc[1].to_list() == ["true", "false"]
    assert steps["value"].to_list() == pytest.approx([2 / 3, (1 + 0 + 1) / 3])


def test_describe_says_them() -> None:
    text = describe_metric(Catalog.load(), "ndcg")
    assert "drop_seen = false | true [false]" in text
    assert "masked_scores = error | drop [error]" in text
