"""Own templates: further columns of the user's tables, and errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.calls import findings_of
from tests.support.evaluators import Evaluator

LISTS = {1: [11, 12], 2: [12, 13], 3: [13, 11]}
TRUTH = {1: [11], 2: [13], 3: [12]}
USERS = pd.DataFrame({"user_id": [1, 2, 3], "Age": [19, 42, 44]})
ITEMS = pd.DataFrame({"item_id": [11, 12, 13], "genres": [["a", "b"], [], ["a"]]})

DECADE = """{#---
title = "users by decade"
of = "users"
---#}
{{- need("users", "age") -}}
SELECT {{ user_keys }}, CAST(age // 10 AS VARCHAR) || '0s' AS label, age // 10 AS position
FROM users
"""
WITHOUT_GENRE = """{#---
title = "items without a genre"
level = "warning"
table = "items"
needs = ["items.genres"]
found = "{n} items have no genre"
remedy = "add genres"
---#}
SELECT item_id, count(*) OVER () AS n_found
FROM items
WHERE array_length(genres) = 0
"""


def folder_with(folder: Path, **files: str) -> Path:
    """Write templates; `slices__decade` is the file decade in the folder slices."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.sql.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_slices_and_checks_read_further_columns(tmp_path: Path) -> None:
    own = folder_with(tmp_path, slices__decade=DECADE, checks__no_genre=WITHOUT_GENRE)
    tables = {"users": USERS, "items": ITEMS, "templates": own}
    with Evaluator(LISTS, TRUTH, **tables) as evaluator:
        found = evaluator.evaluate("recall@2", by="decade")
        assert list(zip(found["decade"], found["n_users"], strict=True)) == [("10s", 1), ("40s", 2)]
        (finding,) = [f for f in findings_of(evaluator, k=2) if f.check == "no_genre"]
        assert (finding.n, finding.examples) == (1, [{"item_id": 12}])
        assert len(evaluator.stage("items")) == 3  # lists stay in their rows
    renamed = USERS.rename(columns={"Age": "years"})
    mapped = {**tables, "users": renamed, "columns": {"users.age": "years"}}
    with Evaluator(LISTS, TRUTH, **mapped) as evaluator:
        pd.testing.assert_frame_equal(evaluator.evaluate("recall@2", by="decade"), found)
    with (
        Evaluator(LISTS, TRUTH, **{**tables, "users": renamed}) as evaluator,
        pytest.raises(sm.MissingTableError, match="needs the column age of the table users"),
    ):
        evaluator.evaluate("recall@2", by="decade")


BROKEN = {
    "a column that a stage does not have": (
        {"first": "SELECT {{ keys }}, k,\n  max(hit_no) AS value -- x\nFROM hits GROUP BY 1, 2"},
        r"first\.sql\.j2, line 5: hits has no column 'hit_no'; did you mean 'hit_number' or "
        r"'n_hits'\? It has user_id, item_id, rank, .*, n_recommended, k$",
    ),
    "k of a stage without cutoffs": (
        {"first": "SELECT {{ keys }}, k, 1 AS value FROM ranked GROUP BY {{ keys }}, k"},
        r"line 4: ranked has no column 'k'\. It has user_id, item_id, rank$",
    ),
    "a column of two tables": (
        {"first": "SELECT {{ keys_of('hits') }}, hits.k, max(scor) AS value FROM hits "
                  "INNER JOIN lists USING (user_id) GROUP BY 1, 2"},
        r"line 4: no table of the query has a column 'scor'.* hits has user_id.*; lists has",
    ),
    "a column of another template is not blamed": (
        {"first": "SELECT {{ keys }}, k, cuont(*) AS value FROM hits GROUP BY 1, 2",
         "second": "SELECT {{ keys }}, k, max(scor) AS value FROM hits GROUP BY 1, 2"},
        r"cuont does not exist.*; your own templates: .*first\.sql\.j2, .*second\.sql\.j2$",
    ),
    "a column of a subquery": (
        {"first": "SELECT {{ keys }}, k, max(scor) AS value\n"
                  "FROM (SELECT user_id, k, rank FROM hits) AS own GROUP BY 1, 2"},
        r"line 4: own has no column 'scor'\. It has user_id, k, rank$",
    ),
    "columns of a subquery with a star are not known": (
        {"first": "SELECT {{ keys }}, k, max(scor) AS value\n"
                  "FROM (SELECT * FROM hits) AS own GROUP BY 1, 2"},
        r'"scor" not found.*; your own templates: .*first\.sql\.j2$',
    ),
    "columns of the key": (
        {"first": "SELECT rank, k, 1 AS value FROM hits"},
        r"must return the columns user_id, k, value, not rank, k, value. Select \{\{ keys \}\}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_errors_name_the_file_and_the_line(case: str, tmp_path: Path) -> None:
    files, message = BROKEN[case]
    header = '{#---\ntitle = "x"\n---#}\n'
    own = folder_with(tmp_path, **{name: header + sql for name, sql in files.items()})
    with (
        Evaluator(LISTS, TRUTH, templates=own) as evaluator,
        pytest.raises(sm.TemplateError, match=message),
    ):
        evaluator.evaluate("first@2")


def test_all_columns_are_an_order(tmp_path: Path) -> None:
    sql = "WITH few AS (SELECT user_id, k, rank FROM hits ORDER BY ALL LIMIT 1)\n"
    text = sql + "SELECT {{ keys }}, k, max(rank) AS value FROM few GROUP BY {{ keys }}, k"
    own = folder_with(tmp_path, first='{#---\ntitle = "x"\nwhen_empty = 0\n---#}\n' + text)
    with Evaluator(LISTS, TRUTH, templates=own) as evaluator:
        found = evaluator.per_user("first@2").set_index("user_id")["first@2"]
    assert (found > 0).sum() == 1


def test_a_further_column_that_is_not_declared(tmp_path: Path) -> None:
    text = DECADE.replace('{{- need("users", "age") -}}\n', "")
    own = folder_with(tmp_path, slices__decade=text)
    with Evaluator(LISTS, TRUTH, users=USERS, templates=own) as evaluator:
        with pytest.raises(sm.TemplateError, match=r"decade\.sql\.j2, line 5: users") as raised:
            evaluator.evaluate("recall@2", by="decade")
        assert '{{ need("users", "age") }}' in str(raised.value.remedy)


def test_errors_in_the_header_have_the_line_of_the_file(tmp_path: Path) -> None:
    own = folder_with(tmp_path, first='{#---\ntitle = "x"\ngrain = \n---#}\nSELECT 1')
    with pytest.raises(sm.TemplateError, match=r"not valid TOML: .*line 3"):
        Evaluator(LISTS, TRUTH, templates=own)
