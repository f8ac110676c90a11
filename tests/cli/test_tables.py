"""Tables on a terminal: no name, key or number is shortened."""

from __future__ import annotations

import itertools

from sqlmetrics.cli.tables import Marks, table_text
from sqlmetrics.rows import COUNT, NUMBER, PROSE, TEXT, Rows
from sqlmetrics.stats.leaderboard import BEST, NOT_WORSE

RESULT = Rows(
    ["model", "country", "metric", "k", "value", "n_users", "std", "ci_low", "ci_high"],
    [TEXT, TEXT, TEXT, COUNT, NUMBER, COUNT, NUMBER, NUMBER, NUMBER],
    [
        ("als v2.1 (ours)", "DE", "ndcg", "10", "0.1234", "1017", "0.2", "0.1111", "0.1357"),
        ("日本", "AT", "ndcg(gain=exponential)", "5", "0.9876", "7", "0.3", "", "0.9999"),
    ],
)
LIST = Rows(
    ["metric", "family", "title", "settings"],
    [TEXT, TEXT, PROSE, PROSE],
    [
        ("inter_list_diversity", "diversity", "Inter-list diversity of users", "runs seed"),
        ("ndcg", "accuracy", "Normalised discounted cumulative gain", "gain discount ideal"),
    ],
)
SCORES = Rows(
    ["model", "n_users", "ndcg@10", "recall@10", "popularity@10"],
    [TEXT, COUNT, NUMBER, NUMBER, NUMBER],
    [("als", "487", "0.1767", "0.1917", "12.3"), ("popular", "487", "0.0445", "0.0495", "99.1")],
)
MARKS: Marks = {2: [BEST, ""], 3: [BEST, NOT_WORSE]}


def test_every_word_is_shown_at_every_width() -> None:
    shown = [(RESULT, {}), (LIST, {}), (SCORES, {}), (SCORES, MARKS)]
    for width, (cells, marks) in itertools.product((20, 40, 60, 79, 80, 90, 100, 120), shown):
        text = table_text(cells, marks, width)
        assert "…" not in text
        every = [*cells.names, *(cell for row in cells.values for cell in row)]
        assert [word for cell in every for word in cell.split() if word not in text] == []
        if width >= (60 if cells is not RESULT else 79):  # keys are not wrapped
            assert all(len(line) < width for line in text.splitlines())


def test_a_table_that_fits_has_lines() -> None:
    wide = table_text(RESULT, {}, 200)
    assert wide == table_text(RESULT, {})  # standard output is not a terminal here
    assert wide.startswith("┏━")
    needed = len(wide.splitlines()[0])
    assert table_text(RESULT, {}, needed + 1) == wide
    assert "┃" not in table_text(RESULT, {}, needed)


def test_without_lines_if_that_fits() -> None:
    lines = table_text(SCORES, {}, 53).splitlines()
    assert [line.rstrip() for line in lines] == [
        "model    n_users  ndcg@10  recall@10  popularity@10",
        "───────────────────────────────────────────────────",
        "als          487   0.1767     0.1917           12.3",
        "popular      487   0.0445     0.0495           99.1",
    ]


def test_prose_is_wrapped_between_words() -> None:
    assert [line.rstrip() for line in table_text(LIST, {}, 65).splitlines()[2:]] == [
        "inter_list_diversity  diversity  Inter-list           runs seed",
        "                                 diversity of users",
        "ndcg                  accuracy   Normalised           gain",
        "                                 discounted           discount",
        "                                 cumulative gain      ideal",
    ]


def test_long_words_are_wrapped_after_underscores() -> None:
    cells = Rows(["metric", "settings"], [TEXT, PROSE], [("ndcg", "k drop_seen_items ties")])
    assert [line.split() for line in table_text(cells, {}, 20).splitlines()[2:]] == [
        ["ndcg", "k", "drop_"], ["seen_items"], ["ties"],
    ]  # fmt: skip


def test_lists_with_prose_become_records() -> None:
    assert table_text(LIST, {}, 40).splitlines() == [
        "metric=inter_list_diversity",
        "  family diversity",
        "  title Inter-list diversity of users",
        "  settings runs seed",
        "metric=ndcg",
        "  family accuracy",
        "  title Normalised discounted cumulative gain",
        "  settings gain discount ideal",
    ]


def test_a_result_is_split_into_tables_of_some_columns() -> None:
    """Values of one column stand below each other, so that rows can be compared."""
    text = table_text(RESULT, {}, 80)
    tables = [part.splitlines() for part in text.split("┏")[1:]]
    heads = [[cell.strip() for cell in table[1].strip("┃").split("┃")] for table in tables]
    assert [name for head in heads for name in head[4:]] == RESULT.names[4:]
    assert all(head[:4] == RESULT.names[:4] for head in heads)
    assert len(tables) > 1
    for table in tables:
        assert "als v2.1 (ours)" in table[3]
        assert "日本" in table[4]


def test_a_leaderboard_is_split() -> None:
    text = table_text(SCORES, MARKS, 50)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("│ als")] == [
        "als", "als",
    ]  # fmt: skip
    assert "│ als     │     487 │ 0.1767 * │  0.1917 * │" in text
    assert "│ popular │     487 │ 0.0445   │  0.0495 = │" in text
    assert "│ popular │     487 │          99.1 │" in text
