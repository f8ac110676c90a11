"""Checks of the user, one file each."""

from pathlib import Path

import pytest

import sqlmetrics as sm
from tests.support.calls import findings_of
from tests.support.survey import GOOD

OWN = """{#---
title = "items from the old shop"
level = "error"
table = "recommendations"
needs = ["recommendations"]
found = "{n} {n:row recommends|rows recommend} items of the old shop"
remedy = "export again"
---#}
-- one row per recommended item of the old shop
SELECT
    {{ user_keys }},
    item_id,
    count(*) OVER () AS n_found
FROM recommendations
WHERE item_id > 12
"""


def own_folder(path: Path, text: str) -> Path:
    (path / "checks").mkdir()
    (path / "checks" / "old_shop.sql.j2").write_text(text)
    return path


def test_a_check_of_ones_own_is_a_file(tmp_path: Path) -> None:
    with sm.Evaluator(**GOOD, templates=own_folder(tmp_path, OWN)) as evaluator:
        (finding,) = findings_of(evaluator, k=2)
    assert (finding.level, finding.check, finding.n) == ("error", "old_shop", 1)
    assert finding.text.startswith("recommendations: 1 row recommends items of the old shop")
    assert list(finding.examples) == [{"user_id": 2, "item_id": 13}]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('level = "error"', 'level = "bad"', "level must be 'error' or 'warning' or 'note', not"),
        ("{n} {n:row", "{many} {n:row", "in braces: 'many'"),
        ("AS n_found", "AS n", "a check needs a column n_found"),
        ('level = "error"', 'level = "note"\non = "ranked"', "must have the level error"),
        (
            "item_id > 12",
            "item > 12",
            r"old_shop\.sql\.j2, line 15: recommendations has no",
        ),
    ],
)
def test_a_check_of_ones_own_that_is_wrong(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    folder = own_folder(tmp_path, OWN.replace(old, new))
    with (
        pytest.raises(sm.TemplateError, match=message),
        sm.Evaluator(**GOOD, templates=folder) as evaluator,
    ):
        findings_of(evaluator, k=2)
