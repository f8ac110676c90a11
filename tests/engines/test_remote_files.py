"""Files of an S3 server on this machine are read under the lock of the connection."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main

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
    with sm.Evaluator(*sources) as evaluator:
        found: list[float] = evaluator.evaluate("recall@2")["value"].tolist()
    return found


def test_files_and_globs_are_read() -> None:
    assert values("s3://shop/runs/als.parquet", "s3://shop/truth.parquet") == [3 / 4]
    assert values("s3://shop/runs/k*.parquet", TRUTH) == [1 / 2]
    models = {name: f"s3://shop/runs/{name}.parquet" for name in ("als", "knn")}
    assert values(models, "s3://shop/truth.parquet") == [3 / 4, 1 / 2]


def test_only_the_named_prefixes_can_be_read() -> None:
    import duckdb

    with sm.Evaluator("s3://shop/runs/*.parquet", "s3://shop/truth.parquet") as evaluator:
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


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    def missing(name: str) -> None:
        raise ImportError(f"no package for {name}")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    with pytest.raises(sm.UsageError, match=r"httpfs, which is not installed .* package s3fs"):
        values("s3://shop/runs/als.parquet", TRUTH)
