"""The prose of the pages, docstrings, help texts and messages keeps to the style of the project.

Two short tables: turns of phrase that are hard to read, and terms that have one spelling.
To allow an exception, put code between backticks; to change the rules, change the tables.
"""

from __future__ import annotations

import pytest

from tests.support.prose import Passage, Phrase, find, markdown, package, pages, python, template

# the start of a page, a text, a paragraph, an item of a list, a cell or a sentence
START = r"(?:\A(?:# )?|\n\n|\n[-*] |\n#+ |[.!?] |\| )"
NOUN = "a noun that names the thing"

BANNED = [
    Phrase(START + r"Of [a-z]", "the subject first", ignore_case=False),
    Phrase(
        START + r"(?:What|Who|Which|How) [^.?!|:`]*(?:\.(?=\s|\Z)|\||\Z|\n\n)",
        NOUN + " instead of a clause (questions end in '?')",
        ignore_case=False,
    ),
    Phrase(
        START + r"That (?:it|they|an?|the|no|all) ",
        "the subject first, then what holds for it",
        ignore_case=False,
    ),
    Phrase(
        r"\bwhat (?:is|are) (?:left|asked|asked for|equal|given|missing|wanted|meant)\b"
        r"(?= (?:of|is|are|to|there|instead)\b|[.,;:)])",
        NOUN + ", such as 'the remaining rows' or 'the request'",
    ),
    Phrase(r"\b(?:of|for|by|from|to|with|on|over) what (?:is|are|has|have|exceeds)\b", NOUN),
    Phrase(r"\b(?:has|have|gets?|got) which\b", NOUN + ", such as 'distribution of values'"),
    Phrase(r"\b(?:is|are|was|were) so(?:(?= (?:under|in|if|for|by)\b)|[.,;:)])", "'applies to …'"),
    Phrase(r"\band so (?:do|does|is|are)\b", "'also' after the subject"),
    Phrase(r"\bsay(?:s|ing)? so\b", "the content of the message"),
    Phrase(r"\b(?:say|tell)s? of (?:what|which|whom?)\b", "the content of the message"),
    Phrase(r"\bif (?:it is|they are) (?:one|some)\b", "the noun again, such as 'is boolean'"),
    Phrase(r"\b(?:was|were|is|are) not looked for\b", "what was skipped"),
    Phrase(r"\bto be told\b|\b(?:is|are) told\b", "'specify' or 'state', in the active voice"),
    Phrase(r"\b(?:is|be|are) had\b", "who has it"),
    Phrase(r"\bat the door\b", "'input validation'"),
    Phrase(r"\bin turn\b", "'one after the other', or the order"),
    Phrase(r"\bnumbers of the run\b", "'user counts', 'row counts' or 'results'"),
    Phrase(r"\bjudged on\b", "'held-out interactions' or 'evaluated with'"),
    Phrase(r"\bas it is configured\b", "whose configuration: 'default: Spark's configuration'"),
    Phrase(r"\bthe price of (?:it|this|that|\w+ing)\b", "'cost' with a number, or the drawback"),
    Phrase(r"\bwhose definitions?\b", "'defined in' or 'the definition of'"),
    Phrase(r"\bof one's own\b", "'custom' or 'your own'"),
    Phrase(r"\bbeside (?:us|ours)\b", "'in a separate environment' or 'next to'"),
    Phrase(
        r"\bleft out\b|\b(?:leave|leaves|leaving) (?:(?:it|them) )?out\b", "'omit' or 'omitted'"
    ),
    Phrase(r"\b(the|an|of|to|is|are|and|in|for|with) \1\b", "the word once", ignore_case=False),
]

VOCABULARY = [
    Phrase(  # a catalog of Spark is another thing
        r"\b(?:items?|whole|full|entire|the) catalogs? (?:of items|coverage|size)\b"
        r"|\bitems? catalogs?\b|\bcatalogs? (?:coverage|items?|size)\b",
        "catalogue",
    ),
    Phrase(r"\bnormaliz(?:e|es|ing|ation)\b", "normalise"),  # normalized is a value of a setting
    Phrase(
        r"\b(?:optim|organ|recogn|initial|visual|categor|parametr|general|minim|maxim"
        r"|util|standard|serial)iz(?:e|es|ed|er|ing|ation)\b|\brandomization tests?\b",
        "-ise, -isation",
    ),
    Phrase(r"\b(?:behavior|neighbor|favor)\w*|\b(?:label|model|cancel)ed\b", "British spelling"),
    Phrase(r"\bcut-offs?\b", "cutoff"),
    Phrase(r"\b(?:heldout|held out (?:interactions|items|rows|data))\b", "held-out"),
    Phrase(r"\btie breaking\b|\btie-?breakers?\b", "tie-breaking"),
    Phrase(r"\bper user values?\b", "per-user values"),
    Phrase(r"\bp values?\b", "p-value"),
    Phrase(r"\bdata sets?\b|\bdata-sets?\b", "dataset"),
    Phrase(r"\b(?:D|d)ataframes?\b", "data frame, or DataFrame for Spark's", ignore_case=False),
    Phrase(r"\b(?:nDcg|Ndcg|NDcg|ndCG|NDCG)\b", "nDCG, or `ndcg` in code", ignore_case=False),
    Phrase(r"\b(?:Duckdb|DuckDb|duckDB|Duck DB)\b", "DuckDB", ignore_case=False),
    Phrase(r"\b(?:in|as|from|of|to|read|write) parquet\b", "Parquet", ignore_case=False),
    Phrase(r"\b(?:Clickhouse|ClickHOUSE|Click House)\b", "ClickHouse", ignore_case=False),
    Phrase(r"\b(?:Bigquery|Big Query)\b", "BigQuery", ignore_case=False),
    Phrase(r"\b(?:Pandas|Numpy|Github|Javascript)\b", "pandas, NumPy, …", ignore_case=False),
]


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    return pages() + package()


def test_no_banned_turn_of_phrase(passages: list[Passage]) -> None:
    found = find(passages, BANNED)
    assert not found, "\n".join(found)


def test_every_term_has_one_spelling(passages: list[Passage]) -> None:
    found = find(passages, VOCABULARY)
    assert not found, "\n".join(found)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Of the session, nothing changes.", "Of t"),
        ("A page.\n\nWhat a table lacks is rewritten.", ". What a table lacks is rewritten."),
        ("# How good the recommendations are", "# How good the recommendations are"),
        ("Slow. That it is fast is new.", ". That it "),
        ("Exit with code 3 if a row is so.", "is so."),
        ("Use the catalog of items.", "the catalog of items"),
        ("The mean\nof one's\nown.", "of one's own"),
        ("Read the the table.", "the the"),
    ],
)
def test_a_banned_phrase_is_found(text: str, words: str) -> None:
    (found,) = find([markdown("page.md", text)], BANNED + VOCABULARY)
    assert found.startswith("page.md:")
    assert f"{words.strip()!r}: write " in found


@pytest.mark.every_case
@pytest.mark.parametrize(
    "text",
    [
        "What is a cutoff?",
        "The lists of which users have an item",
        "It is so large that memory is full.",
        "Run `sqlmetrics check` at once; `catalog` is code.",
        "```text\nat the door\n```\n<!-- at the door -->\n[catalogue](catalog.md)",
    ],
)
def test_plain_text_and_code_are_not_found(text: str) -> None:
    assert find([markdown("page.md", text)], BANNED + VOCABULARY) == []


def test_findings_name_the_line_in_modules_and_templates() -> None:
    module = 'def f():\n    """Check at the door."""\n    # judged on\n    return f"in turn {f}"\n'
    assert [line.split(": write")[0] for line in find(python("m.py", module), BANNED)] == [
        "m.py:2: 'at the door'",
        "m.py:3: 'judged on'",
        "m.py:4: 'in turn'",
    ]
    sql = '{#---\ntitle = "Hits at the door"\n---#}\nSELECT catalog\n-- says so\nFROM t\n'
    assert [line.split(": write")[0] for line in find([template("t.sql", sql)], BANNED)] == [
        "t.sql:2: 'at the door'",
        "t.sql:5: 'says so'",
    ]
