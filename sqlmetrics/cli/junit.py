"""Lay out verdicts of gates as XML in the form of JUnit, which CI systems show as tests."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from sqlmetrics.cli.tables import texts_of
from sqlmetrics.texts.terminal import one_line

if TYPE_CHECKING:
    from sqlmetrics.rows import Rows

PASSED, FAILED = "pass", "FAIL"


def suites(verdicts: Rows, digits: int | None) -> str:
    """Return a suite per test of the file, with a test case per gate and row of a result."""
    rows = [
        dict(zip(verdicts.names, map(one_line, row), strict=True))
        for row in texts_of(verdicts, digits).values
    ]
    root = _suite("testsuites", "sqlmetrics", rows)
    for name, group in itertools.groupby(rows, key=lambda row: row["test"]):
        cases = list(group)
        suite = _suite("testsuite", name, cases)
        root.append(suite)
        for row in cases:
            gate = f"{row['row']}: {row['gate']}"
            case = ET.SubElement(suite, "testcase", {"classname": name, "name": gate})
            if row["verdict"] == FAILED:
                found = f"{row['row']}: {row['column']} is {row['number']}; gate: {row['gate']}"
                ET.SubElement(case, "failure", {"message": found})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(tag: str, name: str, rows: list[dict[str, str]]) -> ET.Element:
    failed = sum(row["verdict"] == FAILED for row in rows)
    return ET.Element(tag, {"name": name, "tests": str(len(rows)), "failures": str(failed)})
