"""Evaluators of the table of five users under conventions."""

from __future__ import annotations

from typing import Any

import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention, conventions
from sqlmetrics.metrics.spec import parse_spec
from tests.support.evaluators import Evaluator
from tests.support.five_users import INTERACTIONS, RECOMMENDATIONS
from tests.support.notation import interaction_frame, recommendation_frame

CATALOG = Catalog.load()
NAMES = list(conventions())
FIVE_USERS = {
    "recommendations": recommendation_frame(RECOMMENDATIONS),
    "interactions": interaction_frame(INTERACTIONS),
}
TWO_MODELS = {
    "recommendations": {
        "one": FIVE_USERS["recommendations"],
        "two": FIVE_USERS["recommendations"].query("user_id != 'u1'"),
    },
    "interactions": FIVE_USERS["interactions"],
}


def covers(name: str, metric: str) -> bool:
    """Does the system of a convention have a metric?"""
    known = Convention.load(name).covers
    specs = [] if known is None else map(parse_spec, known.values())
    return known is None or metric in {CATALOG.metric(spec.metric)[0].name for spec in specs}


def evaluator(**options: Any) -> sm.Evaluator:
    return Evaluator(**{"threads": 1, **FIVE_USERS, **options})


def exactly(expected: Any) -> Any:
    return pytest.approx(expected, rel=0, abs=1e-12)
