"""Fixtures for the tests of reports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlmetrics as sm
from sqlmetrics.report import page as laid_out
from sqlmetrics.report.analysis import Question, Study
from tests.support.calls import studied
from tests.support.evaluators import Evaluator
from tests.support.report_html import BUNDLE
from tests.support.reports import FAIR, GOOD, METRICS, RECOMMENDED, TABLES, TRUTH, TWO, K


@pytest.fixture(scope="module")
def evaluator() -> Iterator[sm.Evaluator]:
    with Evaluator(RECOMMENDED, TRUTH, **TABLES) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def study(evaluator: sm.Evaluator) -> Iterator[Study]:
    with studied(evaluator, Question(METRICS, K)) as study:
        yield study


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("tables")
    for name, frame in {"good": GOOD, "fair": FAIR, "truth": TRUTH}.items():
        frame.to_parquet(folder / f"{name}.parquet")
    lists = [f"-r{name}={folder}/{name}.parquet" for name in TWO]
    return ["report", "precision@4", *lists, f"-i{folder}/truth.parquet"]


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the scripts of Vega, which take seconds to bundle, by a short text."""
    monkeypatch.setattr(laid_out, "_vega", lambda: laid_out._script(BUNDLE))
