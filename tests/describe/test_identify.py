"""The conventions behind reported numbers.

Values of the table of five users are those of docs/reference/conventions/README.md.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.run import identifying
from tests.support.conventions import FIVE_USERS, NAMES, TWO_MODELS, covers, evaluator, exactly
from tests.support.notation import number

COLUMNS = [
    "metric", "k", "reported", "rank", "convention", "theirs", "value", "difference", "matches",
    "n_matched", "change", "settings",
]  # fmt: skip


def told(numbers: Any, options: dict[str, Any] | None = None, **tables: Any) -> Any:
    """Return the rows, and the messages about them."""
    with warnings.catch_warnings(record=True) as caught, evaluator(**tables) as found:
        warnings.simplefilter("always")
        frame = found.identify(numbers, **(options or {}))
    return frame, "\n".join(str(warning.message) for warning in caught)


@functools.cache
def identified(*numbers: str) -> tuple[pd.DataFrame, str]:
    found: tuple[pd.DataFrame, str] = told(list(numbers))
    return found


def test_the_last_digit_of_a_value_decides_no_order() -> None:
    """Sums of several threads differ there from run to run."""
    values = [0.25, 0.25 - 2e-16, 0.5, 0.25 + 2e-16, 0.5 - 2e-16]
    found: Any = [
        identifying._Found(None, None, None, None, value, False, abs(value - 0.2), 0)
        for value in values
    ]
    assert [(row.value, row.rank) for row in identifying._ranked(found)] == [
        (values[0], 1), (values[1], 1), (values[3], 1), (values[2], 2), (values[4], 2),
    ]  # fmt: skip


def test_conventions_with_equal_values_have_equal_ranks() -> None:
    """Six divide by all relevant items and count the user without a list as 0."""
    frame, messages = identified("map@3=0.2500")
    assert frame.columns.tolist() == COLUMNS
    assert frame["convention"].tolist() == [
        "evidently", "ir_measures", "ranx", "rectools", "rexmex", "rs_metrics",
    ]  # fmt: skip
    assert frame["rank"].tolist() == [1] * 6
    assert frame["value"].tolist() == exactly([0.25] * 6)
    assert frame["matches"].all()
    assert set(frame["n_matched"]) == {1}
    assert set(frame["change"]) == {""}
    assert frame["theirs"].tolist() == [
        "MAP", "AP", "map", "MAP", "mean_average_recall_at_k", "mapr",
    ]  # fmt: skip
    settings = frame.set_index("convention")["settings"]
    assert settings["rectools"] == "relevant_from=-inf, divisor=relevant"
    assert messages == ""


def test_two_numbers_tell_conventions_apart() -> None:
    """Recommenders has Jurity's map, but not its ndcg."""
    frame, _ = identified("map@3=0.4028", "ndcg@3=.345")
    rows = frame[["metric", "reported", "rank", "convention", "n_matched"]]
    assert list(rows.itertuples(index=False, name=None)) == [
        ("map", "0.4028", 1, "jurity", 2),
        ("map", "0.4028", 2, "recommenders", 1),
        ("ndcg", ".345", 1, "jurity", 2),
    ]
    assert frame["settings"][0] == "audience=both"
    assert frame["difference"][0] == exactly(frame["value"][0] - 0.4028)


def test_the_settings_give_the_number_under_the_standard() -> None:
    frame, _ = identified("map@3=0.4028", "ndcg@3=.345")
    with evaluator() as ours:
        for row in frame.to_dict("records"):
            value = ours.evaluate(f"{row['metric']}({row['settings']})@{row['k']}")["value"][0]
            assert value == exactly(row["value"])


def test_a_convention_with_one_setting_changed() -> None:
    """(5/9 + 1/2 + 5/9) / 3: the standard, but only users with a hit."""
    frame, messages = identified("map@3=0.5370")
    first = frame.iloc[0]
    assert (first["convention"], first["change"]) == ("standard", "no_hits=drop")
    assert first["settings"] == "no_hits=drop"
    assert first["value"] == exactly((5 / 9 + 1 / 2 + 5 / 9) / 3)
    assert set(frame["change"]) == {"no_hits=drop"}
    assert "no convention gives map@3=0.5370 as it is" in messages


def test_the_nearest_values_where_nothing_matches() -> None:
    frame, messages = identified("mrr@3=0.99")
    assert not frame["matches"].any()
    assert set(frame["rank"]) == {1, 2, 3}
    distances = frame["difference"].abs().tolist()
    assert distances == sorted(distances)
    assert set(frame["n_matched"]) == {0}
    assert "no convention gives mrr@3=0.99, nor does any with one setting changed" in messages
    assert "nearest value is" in messages
    one, _ = told("mrr@3=0.99", {"nearest": 1, "convention": "standard"})
    assert set(one["rank"]) == {1}
    assert set(one["convention"]) == {"standard"}


def test_a_known_mistake_is_named() -> None:
    """u1 and u6 find 2 of 4 and of 5, u2 has its only item at 2: an ideal of 2, 1 and 2 hits.

    The lists of u1 and u6 have 3 hits and 2.
    """
    u1, u6 = "(3/2) / (3/2 + 1/log2(3))", "(3/2) / (1 + 1/log2(3))"
    theirs = number(f"({u1} + 1/log2(3) + {u6}) / 5")
    frame, messages = told(f"ndcg@3={theirs:.6f}")
    assert frame["convention"].tolist() == ["ngcf"]
    standard = number("(2 * (3/2) / (3/2 + 1/log2(3)) + 1/log2(3)) / 5")
    assert messages == (
        f"ndcg@3={theirs:.6f}: ngcf has ideal=hits_of_list: the ideal list has only the relevant "
        f"items that the model found (a known mistake; standard: {standard:.6g})"
    )
    both = number(f"(2 * {u6} + 1/log2(3)) / 5")
    frame, messages = told(f"ndcg@3={both:.6f}")
    assert frame["change"].unique().tolist() == ["ideal=hits"]
    assert "standard has ideal=hits: the ideal list" in messages
    assert "mistake" not in told(f"ndcg@3={standard:.6f}")[1]


def test_lists_are_cut_at_the_largest_cutoff_of_ngcf() -> None:
    """u finds a at 1, b at 12 and c at 25, not z: cut at 20, the ideal list has two hits."""
    items = ["a", *map(str, range(10)), "b", *map(str, range(10, 22)), "c"]
    scores = range(len(items), 0, -1)
    lists = pd.DataFrame({"user_id": "u", "item_id": items, "score": scores})
    tables = {"recommendations": lists, "interactions": {"u": list("abcz")}}
    theirs = number("1 / (1 + 1/log2(3))")
    frame, messages = told(f"ndcg@10={theirs:.6f}", **tables)
    assert frame[["convention", "change"]].to_numpy().tolist() == [["ngcf", "list_k=20"]]
    assert "a known mistake" in messages


def test_every_relevance_is_tried_as_threshold() -> None:
    """Relevant from 4: a, which is first. From 5: nothing, so the user does not count."""
    truth = pd.DataFrame({"user_id": ["u", "u", "u", "v", "v"], "item_id": list("abcab"),
                          "relevance": [4, 1, 2, 5, 3]})  # fmt: skip
    lists = {"u": ["a", "b", "c"], "v": ["b", "a"]}
    tables = {"recommendations": lists, "interactions": truth}
    frame, messages = told("mrr@3=0.75", **tables)
    assert {"relevant_from=4"} == set(frame["change"])
    assert messages.startswith("no convention gives mrr@3=0.75 as it is")
    frame, _ = told("precision@2=0.5", **tables)
    assert "relevant_from=4" in set(frame["change"])


def test_at_most_twenty_relevances_are_tried() -> None:
    """Of 41 values, those at even distances, and the highest one."""
    truth = pd.DataFrame({"user_id": ["u"] * 41, "item_id": [f"i{n}" for n in range(41)],
                          "relevance": range(1, 42)})  # fmt: skip
    lists = {"u": [f"i{n}" for n in range(41)]}
    tried = []
    for n_relevant in range(1, 7):
        frame, _ = told(f"n_relevant={n_relevant}", {"convention": "standard"},
                        recommendations=lists, interactions=truth)  # fmt: skip
        tried += [(n_relevant, change) for change in frame[frame["matches"]]["change"]]
    assert tried == [(1, "relevant_from=41"), (3, "relevant_from=39"), (5, "relevant_from=37")]


def test_lists_are_cut_for_a_number_without_a_cutoff() -> None:
    """Precision of whole lists: 2/5, 1/2, 0, 2/3 … of the top 1: 1, 0, 0, 1 and no list."""
    frame, messages = told("precision=0.4", {"convention": "standard"})
    assert frame["k"].tolist() == [1]
    assert frame["matches"].all()
    assert (
        messages == "no convention gives precision=0.4 for whole lists; the rows for it cut lists"
    )


def test_numbers_in_single_precision() -> None:
    """2/3 in single precision, with the digits that it has in double precision and its own."""
    lists, truth = {"u": ["a", "x", "b"]}, {"u": ["a", "b"]}
    for text in ("0.6666666865348816", "0.6666667"):
        frame, messages = told(f"precision@3={text}", recommendations=lists, interactions=truth)
        assert "standard" in set(frame[frame["matches"]]["convention"]), text
        assert ("single precision" in messages) == (len(text) > 9)
    frame, _ = told("precision@3=0.66666", recommendations=lists, interactions=truth)
    assert not frame["matches"].any()


def test_changes_that_have_no_effect_in_the_standard_are_found_alike() -> None:
    """A change of ngcf and of the conventions that equal it on these tables is found in both."""
    two = ["map@3=0.5370", "precision@3=0.5556"]  # without users who have no hit
    frame, _ = told(two)
    assert set(frame["change"]) == {"no_hits=drop"}
    assert frame["n_matched"].max() == 2


def test_percentages() -> None:
    frame, messages = identified("map@3=25.00")
    assert frame["convention"].tolist() == [
        "evidently", "ir_measures", "ranx", "rectools", "rexmex", "rs_metrics",
    ]  # fmt: skip
    assert frame["reported"][0] == "25.00"
    assert frame["value"][0] == exactly(0.25)
    assert frame["difference"][0] == exactly(0)
    assert (
        "25.00 is more than 1, the largest value of map; it is also read as a percent" in messages
    )
    with_sign, messages = identified("map@3=25.00%")
    assert with_sign["convention"].tolist() == frame["convention"].tolist()
    assert messages == ""


def test_every_convention_is_found_or_named() -> None:
    frame, messages = told({"mrr@3": 0.5})
    other_users = {
        "clayrs",
        "elliot",
        "mteb",
        "trec_eval",
    }  # only users with a list, of whom it is 0.625
    covering = {name for name in NAMES if covers(name, "mrr")}
    assert {"standard", "lenskit", "torchmetrics"} < covering
    assert not covering & {"jurity", "recommenders", "sklearn", "lightgbm"}
    assert set(frame["convention"]) == covering - other_users
    assert messages == ""
    named, messages = told({"mrr@3": 0.5}, {"convention": ["jurity", "sklearn", "standard"]})
    assert named["convention"].tolist() == ["standard"]
    assert messages == "mrr: omitted jurity, sklearn: there is no such metric there"


def test_names_of_the_library() -> None:
    """Recommenders has two averages; that of all relevant items has the name map."""
    frame, _ = told("map@3=0.3125", {"convention": "recommenders"})
    assert frame["theirs"].tolist() == ["map"]
    assert frame["settings"].tolist() == ["audience=both, ties=row, relevant_from=-inf, "
                                          "divisor=relevant"]  # fmt: skip
    frame, _ = told("map(divisor=k)@3=0.2833", {"convention": ["recommenders", "standard"]})
    assert "divisor" not in "".join(frame["change"])


def test_cutoffs_to_try() -> None:
    frame, _ = told("map=0.25", {"k": [1, 3, 5], "convention": "rectools"})
    assert frame["k"].tolist() == [3]
    whole, _ = told("recall=0.43", {"convention": "standard"})
    assert whole["k"].isna().all()
    assert whole["matches"].all()


def test_models() -> None:
    both, _ = told({"map@3": 0.3222}, {"convention": "standard"}, **TWO_MODELS)
    assert both.columns.tolist() == ["model", *COLUMNS]
    assert both["model"].tolist() == ["one"]
    of_each = ["one: map@3=0.3222", "two: map@3=0.2111"]
    two, _ = told(of_each, {"convention": ["jurity", "standard"]}, **TWO_MODELS)
    assert two["model"].tolist() == ["one", "two"]
    assert two["convention"].tolist() == ["standard"] * 2
    assert two["n_matched"].tolist() == [2, 2]
    with pytest.raises(sm.UsageError, match=r"no model 'tow'.*did you mean 'two'"):
        told("tow: map@3=0.2", **TWO_MODELS)
    with pytest.raises(sm.UsageError, match="models are not named here"):
        told("one: map@3=0.2")


def test_conventions_that_refuse_the_rows_are_named() -> None:
    lists = pd.concat([FIVE_USERS["recommendations"], FIVE_USERS["recommendations"].head(1)])
    frame, messages = told("recall@3=0.38", recommendations=lists)
    assert "recall: omitted standard, " in messages
    assert "repeats an item" in messages
    assert {"replay-0.9", "rs_metrics"} <= set(frame["convention"])
    settings = frame.set_index("convention")["settings"]
    assert "duplicate_recommendations=count_once" in settings["rs_metrics"]
    kept, _ = told("recall@3=0.38", {"convention": "standard"}, recommendations=lists,
                   settings={"duplicate_recommendations": "dedup_then_cut"})  # fmt: skip
    assert kept["matches"].all()
    with pytest.raises(sm.DataError, match="repeats an item"):
        told("recall@3=0.38", {"convention": "standard"}, recommendations=lists)


def test_what_is_missing() -> None:
    with pytest.raises(sm.UsageError, match="history"):
        told("surprisal@3=0.5")
    frame, messages = told(["surprisal@3=0.5", "recall@3=0.38"], {"skip_missing": True})
    assert set(frame["metric"]) == {"recall"}
    assert "history" in messages
    with pytest.raises(sm.UsageError, match="mrr is not a metric of jurity"):
        told("mrr@3=0.5", {"convention": "jurity"})
    with pytest.raises(sm.UsageError, match="did you mean 'ndcg'"):
        told("ndgc@3=0.5")
    with pytest.raises(sm.UsageError, match="nearest"):
        told("ndcg@3=0.5", {"nearest": 0})


def test_a_convention_of_ones_own(tmp_path: Any) -> None:
    path = tmp_path / "team.toml"
    path.write_text('[settings]\naudience = "both"\n[metrics.map]\ndivisor = "k"\n')
    with evaluator(convention=path) as ours:
        value = ours.evaluate("map@3")["value"][0]
        found = ours.identify({"map@3": value})
    assert "team" in set(found.loc[found["rank"] == 1, "convention"])
