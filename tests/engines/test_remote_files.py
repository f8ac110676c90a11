"""Files of an S3 server on this machine are read under the lock of the connection."""

from __future__ import annotations

import functools
import http.server
import io
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.evaluators import Evaluator

SECRET = "a-secret-key-of-the-user"
LISTS = pa.table({"user_id": [1, 1, 2], "item_id": [11, 12, 13], "rank": [1, 2, 1]})
TRUTH = pa.table({"user_id": [1, 1, 2], "item_id": [11, 14, 13]})  # recall: (1/2 + 1) / 2
FILES = {
    "runs/als.parquet": LISTS,
    "runs/knn.parquet": LISTS.slice(2),  # recall: (0 + 1) / 2
    "truth.parquet": TRUTH,
    "private/other.parquet": LISTS,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server with a bucket of files; returns its URL."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    url = f"http://{host}:{port}"
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1",
        aws_access_key_id="me", aws_secret_access_key=SECRET,
    )  # fmt: skip
    client.create_bucket(Bucket="shop")
    for name, table in FILES.items():
        path = tmp_path_factory.mktemp("files") / "rows.parquet"
        pq.write_table(table, path)
        client.upload_file(str(path), "shop", name)
    client.close()
    yield url
    moto.stop()


@pytest.fixture(autouse=True)
def account(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment as users of S3 do."""
    import fsspec

    values = {
        "AWS_ENDPOINT_URL": server, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def values(*sources: Any) -> list[float]:
    with Evaluator(*sources) as evaluator:
        found: list[float] = evaluator.evaluate("recall@2")["value"].tolist()
    return found


def test_files_and_globs_are_read() -> None:
    assert values("s3://shop/runs/als.parquet", "s3://shop/truth.parquet") == [3 / 4]
    assert values("s3://shop/runs/k*.parquet", TRUTH) == [1 / 2]
    models = {name: f"s3://shop/runs/{name}.parquet" for name in ("als", "knn")}
    assert values(models, "s3://shop/truth.parquet") == [3 / 4, 1 / 2]


def test_only_the_named_prefixes_can_be_read() -> None:
    import duckdb

    with Evaluator("s3://shop/runs/*.parquet", "s3://shop/truth.parquet") as evaluator:
        connection = evaluator.engine.connection
        for path in ("s3://shop/private/other.parquet", "s3://shop/*/other.parquet"):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(f"SELECT count(*) FROM '{path}'")


def test_a_missing_file_and_a_missing_bucket_are_named() -> None:
    for path in ("s3://shop/none.parquet", "s3://nobody/none.parquet"):
        with pytest.raises(sm.DataError, match=f"^recommendations: .*{path}") as error:
            values(path, TRUTH)
        assert SECRET not in str(error.value)


def test_a_delta_table_in_a_bucket(server: str) -> None:
    import deltalake

    options = {"AWS_ENDPOINT_URL": server, "AWS_ALLOW_HTTP": "true"}
    deltalake.write_deltalake("s3://shop/lake", LISTS, storage_options=options)
    table = deltalake.DeltaTable("s3://shop/lake", storage_options=options)
    table.delete("item_id = 13")
    assert values(table, TRUTH) == [1 / 4]


def test_records_have_no_credentials(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    result = CliRunner().invoke(
        main,
        [
            "evaluate", "recall@2", "-r", "s3://shop/runs/als.parquet",
            "-i", "s3://shop/truth.parquet", "--record", str(record), "--format", "csv",
        ],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    text = record.read_text()
    assert "s3://shop/runs/als.parquet" in text
    assert SECRET not in text + result.output


class Files(http.server.SimpleHTTPRequestHandler):
    """A server of files that answers requests for a range of bytes, as most servers do."""

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

    def send_head(self) -> Any:
        """Send the headers, and return the bytes to send."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return None
        content = path.read_bytes()
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        part = content[int(span[1]) : int(span[2] or len(content)) + 1] if span else content
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes")
        if span:
            end = int(span[1]) + len(part) - 1
            self.send_header("Content-Range", f"bytes {span[1]}-{end}/{len(content)}")
        self.end_headers()
        return io.BytesIO(part)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve a folder with files of each format over HTTP; returns its URL."""
    pq.write_table(LISTS, tmp_path / "lists.parquet")
    LISTS.to_pandas().to_csv(tmp_path / "lists.csv", index=False)
    LISTS.to_pandas().to_json(tmp_path / "lists.jsonl", orient="records", lines=True)
    handler = functools.partial(Files, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web.server_port}"
        web.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["lists.parquet", "lists.csv", "lists.jsonl"])
def test_files_of_a_web_server_are_read(site: str, name: str) -> None:
    assert values(f"{site}/{name}", TRUTH) == [3 / 4]


def test_a_missing_file_of_a_web_server_is_named(site: str) -> None:
    with pytest.raises(sm.DataError, match=f"^recommendations: {site}/none.parquet cannot be read"):
        values(f"{site}/none.parquet", TRUTH)


def test_errors_of_python_packages_have_no_traceback() -> None:
    for path in ("s3://nobody/none.parquet", "http://127.0.0.1:9/none.parquet"):
        with pytest.raises(sm.DataError, match=f"^recommendations: {path} cannot be read") as told:
            values(path, TRUTH)
        assert "Traceback" not in str(told.value)
        assert "site-packages" not in str(told.value)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    def missing(name: str, **_: object) -> None:
        raise ImportError(f"no package for {name}")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    with pytest.raises(sm.UsageError, match=r"httpfs, which is not installed .* package s3fs"):
        values("s3://shop/runs/als.parquet", TRUTH)
