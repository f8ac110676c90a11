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
        heads = [line for line in text.splitlines() if "=" in line[:10]]  # keys are not wrapped
        if width >= 60:
            assert all(len(line) < width for line in text.splitlines() if line not in heads)


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


def test_records_below_each_other() -> None:
    assert table_text(RESULT, {}, 60).splitlines() == [
        "model=als v2.1 (ours)  country=DE  metric=ndcg  k=10",
        "  value 0.1234  n_users 1017  std 0.2  ci_low 0.1111",
        "  ci_high 0.1357",
        "model=日本  country=AT  metric=ndcg(gain=exponential)  k=5",
        "  value 0.9876  n_users    7  std 0.3  ci_low",
        "  ci_high 0.9999",
    ]


def test_a_leaderboard_is_split() -> None:
    text = table_text(SCORES, MARKS, 50)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("│ als")] == [
        "als", "als",
    ]  # fmt: skip
    assert "│ als     │     487 │ 0.1767 * │  0.1917 * │" in text
    assert "│ popular │     487 │ 0.0445   │  0.0495 = │" in text
    assert "│ popular │     487 │          99.1 │" in text
