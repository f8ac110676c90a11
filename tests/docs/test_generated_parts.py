"""The code in the documentation runs, and its generated parts are current."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.metrics.catalog import Catalog
from tests.support.calls import findings_of
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
RUN = "run python docs/generate.py"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture(scope="module")
def generate() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")  # a script imports what lies beside it
        yield importlib.import_module("generate")
        for name in ("generate", "metric_pages", "conventions_page", "dialects_page"):
            sys.modules.pop(name, None)


def test_generated_tables_are_current(generate: ModuleType) -> None:
    """`python docs/generate.py --check` also runs commands and Python, which takes minutes."""
    wanted = generate.tables(Catalog.load())
    stale = [str(path) for path, text in wanted.items() if text_of(path) != text]
    assert stale == [], RUN


def test_pages_of_metrics_describe_their_templates_and_cases(generate: ModuleType) -> None:
    catalog = Catalog.load()
    stale = []
    for name, metric in catalog.metrics.items():
        page = text_of(ROOT / "docs" / "metrics" / f"{name}.md")
        before, after = sys.modules[generate.metric_pages.__module__].descriptions(catalog, metric)
        if not all(part in page for part in [*before, *after]):
            stale.append(name)
    assert stale == [], RUN


@pytest.mark.filterwarnings("ignore::sqlmetrics.errors.DataWarning")  # of the example tables
def test_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 1
    names: dict[str, object] = {}
    exec(blocks[0], names)
    evaluator = names["evaluator"]
    assert isinstance(evaluator, sm.Evaluator)
    result = evaluator.evaluate(["ndcg", "map"], k=[5, 10])
    assert result["model"].unique().tolist() == ["als", "popular"]
    assert len(result) == 8


def test_check_of_the_page_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "checks.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"<!-- custom -->\n```sql\n(.*?)```", page, re.DOTALL)
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "sold_out.sql.j2").write_text(text, encoding="utf-8")
    items = pd.DataFrame({"item_id": ["a", "b"], "price": [0.0, 2.0]})
    with sm.Evaluator({"u": ["a", "b"]}, {"u": ["b"]}, items=items, templates=tmp_path) as one:
        (finding,) = findings_of(one, "ndcg@2")
    assert (finding.level, finding.check) == ("warning", "sold_out")
    assert str(finding.found) == "1 recommended items cost nothing, which stands for sold out"
    assert list(finding.examples) == [{"item_id": "a", "n_recommended": 1}]


def test_convention_of_the_page_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "own-convention.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "ours.toml").write_text(text, encoding="utf-8")
    lists, truth = {"u": ["a", "b"], "other": ["a"]}, {"u": ["b"]}
    with sm.Evaluator(lists, truth, convention=tmp_path / "ours.toml") as evaluator:
        result = evaluator.evaluate(["map@2", "ndcg@2"])
    assert result["n_users"].tolist() == [2, 2]
    assert result["value"][0] == pytest.approx(1 / 2 / 2 / 2)


def test_every_command_is_documented() -> None:
    pages = ("how-to/command-line.md", "reference/options.md")
    documented = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    for name in cli.commands:
        assert f"`{name}`" in documented or f"sqlmetrics {name}" in documented, name


def test_every_metric_is_in_the_index() -> None:
    index = text_of(ROOT / "docs" / "metrics" / "README.md")
    assert [name for name in Catalog.load().metrics if f"]({name}.md)" not in index] == [], RUN


def test_the_example_of_the_readme_is_what_pandas_computes() -> None:
    """Recall at 10 of the als list, without any SQL."""
    folder = ROOT / "examples" / "data"
    lists = pd.read_parquet(folder / "recommendations_als.parquet")
    truth = pd.read_parquet(folder / "interactions.parquet")
    top = lists.sort_values(["user_id", "score", "item_id"], ascending=[True, False, True])
    top = top.groupby("user_id").head(10)
    hits = top.merge(truth, on=["user_id", "item_id"]).groupby("user_id").size()
    relevant = truth.groupby("user_id").size()
    recall = (hits.reindex(relevant.index).fillna(0) / relevant).mean()
    assert f"│ als     │ recall │ 10 │ {recall:.4f} │" in README
