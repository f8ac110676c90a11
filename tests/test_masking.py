"""No secret of a URL is in a message, a record, a report or another text for people."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.messages import Argument, Message
from sqlmetrics.texts.wording import shown
from tests.support.evaluators import Evaluator

# a signature of AWS, as long as a real one
SIGNED = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=s3cr" + "0" * 60


SECRETS = {
    "https://me:s3cr@h/a.parquet: 403": "https://me:***@h/a.parquet: 403",
    "'https://me:it's3cr@h/a' and more": "'https://me:***@h/a' and more",
    "https://s3cr@h/a": "https://***@h/a",
    "(see https://h/a?token=s3cr).": "(see https://h/a?token=***).",
    "https://h/a?sv=2024&sig=s3cr%2F, x": "https://h/a?sv=2024&sig=***, x",
    "s3://b/a,https://me:s3cr@h/b": "s3://b/a,https://me:***@h/b",
    "https://me:s3/cr@h/a": "https://me:***@h/a",
    "https://me:s3@cr@h/a@3": "https://me:***@h/a@3",
    "s3://b/a?s3_secret_access_key=s3cr&s3_region=eu": (
        "s3://b/a?s3_secret_access_key=***&s3_region=eu"
    ),
    "iceberg:https://me:s3cr@h/t#a.b": "iceberg:https://me:***@h/t#a.b",
    "ducklake:postgres://me:s3cr@h/db": "ducklake:postgres://me:***@h/db",
    "mongodb+srv://me:s3cr@h/db": "mongodb+srv://me:***@h/db",
    "Max retries exceeded with url: /v1/config?token=s3cr (Caused": (
        "Max retries exceeded with url: /v1/config?token=*** (Caused"
    ),
    "HTTPS://H/a?TOKEN=s3cr": "HTTPS://H/a?TOKEN=***",
    "https://h/a?what=s3cr0000000000000000": "https://h/a?what=***",
    "grpc://h:1?what=s3cr": "grpc://h:1?what=***",
}
OTHERS = [
    "postgres://USER@HOST:PORT/DATABASE, clickhouse://USER@HOST or a",
    "abfss://container@account.dfs.core.windows.net/a",
    "http://127.0.0.1:8080/t@3",
    "s3://b/year=2024/part-?.parquet and me@example.com",
    "https://shop.example/item?id=5&page=2",
    "ndcg@10: 0.5 > 0.4? yes",
    "SELECT a::INT FROM t WHERE b = '?x' -- no URL",
]


def test_secrets_in_a_text() -> None:
    for text, expected in SECRETS.items():
        assert masked(text) == masked(masked(text)) == expected
    for text in OTHERS:
        assert masked(text) == text


def test_messages() -> None:
    url = "https://me:s3cr@h/a.parquet"
    message = Message(f"{url} is ", Message("no ", Argument("recommendations", url)))
    assert (
        str(message)
        == "https://me:***@h/a.parquet is no recommendations='https://me:***@h/a.parquet'"
    )
    error = sm.DataError(message, remedy=f"give {url}")
    for text in (str(error), repr(error), str(error.remedy), str(error.with_text(url))):
        assert "s3cr" not in text
    # hidden before the text is cut, which could remove the @
    assert "s3cr" not in shown("https://me:" + 30 * "s3cr" + "@h/a.parquet")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("lists.csv").write_text("user_id,item_id,rank\n1,11,1\n1,12,2\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> str:
    """A catalogue of Iceberg whose client quotes its address, as requests does."""

    def load_catalog(name: str) -> None:
        raise OSError(
            f"{name}: HTTPSConnectionPool(host='h'): url: /v1/config?token=s3cr (Caused by "
            f"https://me:s3cr@h/v1/config?{SIGNED})"
        )

    module = types.ModuleType("pyiceberg.catalog")
    module.load_catalog = load_catalog  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyiceberg", types.ModuleType("pyiceberg"))
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", module)
    return "iceberg:prod#shop.recs"


@pytest.mark.usefixtures("folder")
def test_errors_about_tables(catalogue: str) -> None:
    for source in (
        catalogue,
        f"https://me:s3cr@127.0.0.1:1/a.txt?{SIGNED}",
        "delta:https://me:s3cr@127.0.0.1:1/t?token=s3cr",
        "gopher://me:s3cr@h/a",
    ):
        for given in (source, f"a={source}"):
            result = CliRunner().invoke(main, ["evaluate", "mrr", "-r", given, "-i", "lists.csv"])
            assert result.exit_code in (1, 2)
            assert "error: recommendations" in result.output
            assert "s3cr" not in result.output
    assert "***" in run("evaluate", "mrr", "-r", catalogue, "-i", "lists.csv", code=1)
    assert "***" in run("compare", "mrr", "--test", "https://me:s3cr@h", code=2)


QUERY = f"SELECT *, 'https://me:s3cr@h/a?{SIGNED}' AS url FROM read_csv('lists.csv')"


def test_records_and_reports(folder: Path) -> None:
    given = ["-r", QUERY, "-i", "lists.csv", "mrr", "--no-check"]
    run("evaluate", *given, "--record", "run.json")
    run("report", *given, "-o", "report.html")
    for name in ("run.json", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "s3cr" not in text
        assert "https://me:***@h/a?" in text
    with Evaluator(QUERY, "lists.csv", check=False) as evaluator:
        assert "s3cr" not in repr(evaluator)


def test_a_record_whose_secrets_are_hidden(folder: Path) -> None:
    run("evaluate", "-r", "lists.csv", "-i", "lists.csv", "mrr", "--no-check", "--record", "a.json")
    record = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    record["sources"][0]["source"] = masked("https://me:s3cr@h/lists.csv")
    (folder / "a.json").write_text(json.dumps(record), encoding="utf-8")
    again = ["evaluate", "--from-record", "a.json", "--trust-record", "--no-check"]
    output = run(*again, code=2)
    assert 'the record hides the secrets of the URL "https://me:***@h/lists.csv"' in output
    assert "give the table with -r FILE" in output
    assert "the same as in a.json" in run(*again, "-r", "lists.csv")


def test_the_command_of_a_dbt_package(folder: Path) -> None:
    tables = ["--recommendations-table", "a", "--interactions-table", "b"]
    run("dbt", "package", "mrr@5", *tables, "--temp-directory", "https://me:s3cr@h")
    texts = [path.read_text(encoding="utf-8") for path in (folder / "package").rglob("*.*")]
    assert any("https://me:***@h" in text for text in texts)
    assert not any("s3cr" in text for text in texts)
