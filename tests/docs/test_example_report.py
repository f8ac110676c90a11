"""The example of a report: its page has the numbers of its tables, its notebook runs."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.evaluators import Evaluator
from tests.support.pages import shell_blocks, shell_output
from tests.support.paths import DATA
from tests.support.processes import PATIENCE

EXAMPLE = DATA.parent / "report"
PAGE = (EXAMPLE / "report.html").read_text(encoding="utf-8")
NOTEBOOK = EXAMPLE / "notebook.ipynb"
MODELS = ("als", "item_knn", "popular")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder like that of the example: the tables are beside it."""
    (tmp_path / "data").symlink_to(DATA)
    (tmp_path / "report").mkdir()
    return tmp_path / "report"


class Board(HTMLParser):
    """Reads the leaderboard of a page: `rows`, each a list of the texts of its cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.within = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.within = "leaderboard" in (dict(attrs).get("class") or "").split()
        elif tag == "tr" and self.within:
            self.rows.append([])
        elif tag in ("th", "td") and self.within:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.within = self.within and tag != "table"

    def handle_data(self, data: str) -> None:
        if self.within and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_the_page_has_the_numbers_of_its_tables() -> None:
    """Compare with `evaluate`: other versions of what draws the charts write another file."""
    header, *rows = [[cell.strip() for cell in row] for row in Board(PAGE).rows]
    metrics = header[1:]  # no column of users: metrics are means over different ones
    assert metrics[0] == "ndcg@10"
    assert {"recall@10", "coverage@10", "surprisal@10"} < set(metrics)
    with Evaluator(
        {model: DATA / f"recommendations_{model}.parquet" for model in MODELS},
        DATA / "interactions.parquet",
        history=DATA / "history.parquet",
        items=DATA / "items.parquet",
    ) as evaluator:
        result = evaluator.evaluate(metrics)
    found = {
        (row["model"], f"{row['metric']}@{row['k']}"): [
            row["value"],
            (row["ci_high"] - row["ci_low"]) / 2,
        ]
        for row in result.to_dict("records")
    }
    assert [row[0] for row in rows] == list(MODELS)  # the best first
    for model, *cells in rows:
        for metric, cell in zip(metrics, cells, strict=True):
            numbers = re.findall("\N{MINUS SIGN}?[0-9][0-9.,e]*", cell)
            digits = {len(number.partition(".")[2]) for number in numbers}
            assert len(digits) == 1  # the decimals of a column are aligned
            expected = [f"{number:.{max(digits)}f}" for number in found[model, metric]]
            assert numbers == [text for text in expected if text != "nan"], (model, metric)


def test_the_page_is_made_in_its_folder() -> None:
    read = set(re.findall(r"read_parquet\(&#39;(.*?)/[a-z_]+\.parquet&#39;", PAGE))
    assert read == {"../data"}


def test_the_command_gives_the_page(folder: Path) -> None:
    ((command, shows),) = shell_blocks((EXAMPLE / "README.md").read_text(encoding="utf-8"))
    assert shell_output(command, folder) == shows == ""
    assert Board((folder / "report.html").read_text(encoding="utf-8")).rows == Board(PAGE).rows


# ---------------------------------------------------------------- the notebook


def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_is_stored_without_outputs() -> None:
    nbformat.validate(notebook())
    for cell in notebook().cells:
        assert cell.cell_type == "markdown" or (cell.outputs, cell.execution_count) == ([], None)
        if cell.cell_type == "code":
            compile(cell.source, cell.id, "exec")
    for path in re.findall(r"\]\(([^)]+)\)", "".join(cell.source for cell in notebook().cells)):
        assert (EXAMPLE / path).exists(), path


def test_the_notebook_runs(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = pytest.importorskip("ipykernel.kernelspec", reason="in the extra ci")
    client_of = pytest.importorskip("nbclient", reason="in the extra ci").NotebookClient
    kernels.write_kernel_spec(tmp_path / "jupyter" / "kernels" / "python3")  # of this Python
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    run = notebook()
    run.cells.append(nbformat.v4.new_code_cell("import sys; print(sys.executable)"))
    client = client_of(run, timeout=PATIENCE, resources={"metadata": {"path": str(folder)}})
    client.execute()  # raises the first error of a cell

    outputs = {cell.id: cell.outputs for cell in run.cells if cell.cell_type == "code"}
    (python,) = run.cells[-1].outputs
    assert python.text.strip() == sys.executable
    for name, shown_by in outputs.items():
        assert not [one for one in shown_by if one.get("name") == "stderr"], name
    plots = [name for name in outputs if name.startswith("plot-")]
    assert len(plots) == 6
    for name in plots:
        (output,) = outputs[name]
        assert "vegaEmbed" in output.data["text/html"], name
        assert "vega-lite" in output.data["text/html"], name
    (report,) = outputs["report"]
    page = report.data["text/html"]
    assert page.startswith("<iframe srcdoc=")
    assert 'title="Three models"' in page
    assert "&lt;h1&gt;" in page
    (saved,) = outputs["save-report"]
    assert saved.data["text/plain"] == "['ndcg.png', 'report.html']"
    (sql,) = outputs["sql"]
    assert sql.text.startswith("WITH ")
    assert "0.176718" in outputs["evaluate"][0].data["text/plain"]
    assert list(folder.iterdir()) == []  # what it writes is elsewhere
