"""Live comparison with ranx on generated tables, where it is installed.

ranx compiles its metrics when they are first called, which takes longer than most tests here, so it
is an extra of its own, which .ci/run installs: `pip install -e '.[peers]'`. Its numbers for other
tables are stored in references/ranx.json and always compared.

Lists have no equal scores beyond fifteen items: an unstable sort orders them there. In shorter ones
it keeps the order of rows, and equal scores are compared.
"""

import random
import warnings

import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec
from tests.support.notation import interaction_frame, recommendation_frame

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ranx = pytest.importorskip(
        "ranx", reason="ranx is not installed; its stored numbers are compared all the same"
    )

CUTOFFS = [1, 3, 5, 10, 20]
WHOLE_LISTS_ALONE = {"r-precision"}  # it ignores a cutoff

Rows = list[tuple[str, str, float]]


def world(seed: int) -> tuple[Rows, Rows]:
    """Return lists with scores, and grades."""
    draw = random.Random(seed)
    items = [f"d{number}" for number in range(1, 200)]
    lists: Rows = []
    grades: Rows = []
    for number in range(1, 81):
        query = f"q{number}"
        chosen: list[str] = []
        if number % 10 != 7:
            chosen = draw.sample(items, draw.choice([1, 2, 4, 9, 15, 16, 40, 120]))
            tied = len(chosen) <= 15 and number % 2 == 0
            scores = [draw.randint(1, 3) if tied else draw.random() for _ in chosen]
            rows = [(query, item, float(s)) for item, s in zip(chosen, scores, strict=True)]
            lists += rows
        if number % 10 != 3:
            judged = draw.sample(chosen, min(len(chosen), draw.choice([0, 1, 4, 12])))
            judged += draw.sample(items, draw.choice([1, 2, 20]))
            levels = [0] if number % 10 == 5 else [0, 1, 1, 2, 4]
            grades += [(query, item, draw.choice(levels)) for item in dict.fromkeys(judged)]
    return lists, grades


def nested(rows: Rows) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, item, value in rows:
        found.setdefault(query, {})[item] = value
    return found


@pytest.mark.filterwarnings("ignore")  # of the compiler
@pytest.mark.parametrize("seed", [1, 2])
def test_convention_agrees_with_ranx(seed: int) -> None:
    lists, grades = world(seed)
    qrels, run = ranx.Qrels(nested(grades)), ranx.Run(nested(lists))
    covers = Convention.load("ranx").covers
    assert covers is not None
    settings = Settings(Catalog.load(), Convention.load("ranx"), {})
    with sm.Evaluator(
        recommendations=recommendation_frame(lists),
        interactions=interaction_frame(grades),
        convention="ranx",
    ) as evaluator:
        cut = evaluator.evaluate(sorted(set(covers.values())), k=CUTOFFS)
        whole = evaluator.evaluate([covers[name] for name in sorted(WHOLE_LISTS_ALONE)])
    wrong = []
    for theirs, spec in covers.items():
        request = settings.request(parse_spec(spec))
        for k in [None] if theirs in WHOLE_LISTS_ALONE else CUTOFFS:
            rows = whole if k is None else cut[cut["k"] == k]
            (ours,) = rows.loc[rows["metric"] == request.name, "value"]
            name = theirs if k is None else f"{theirs}@{k}"
            expected = float(ranx.evaluate(qrels, run, name, make_comparable=True))
            if not abs(ours - expected) <= 1e-9:
                wrong.append(f"{name}: {expected} there, {ours} here")
    assert not wrong, "\n".join(wrong)
