"""The folder that jobs write partitions to, and the result of all of them.

Every job writes its results, one Parquet file for each query that is handed over, `reduce.sql`, the
statement that puts them together, and, at last, a small file that says what was written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import duckdb
from sqlglot import exp

from sqlmetrics import hashes, interrupts
from sqlmetrics.engines.base import EmbeddedEngine
from sqlmetrics.engines.open import open_embedded
from sqlmetrics.errors import DataError
from sqlmetrics.files import (
    MadeFolders,
    OwnFolder,
    check_replaceable,
    is_temporary,
    make_like,
    whole_file,
)
from sqlmetrics.messages import Argument, Command, Message
from sqlmetrics.partitions.exchange import Written, columns_of, named, reduction, write_rows
from sqlmetrics.partitions.split import Partition, Split
from sqlmetrics.plan.slices import Attribute, warn_of_empty_slices
from sqlmetrics.record import fingerprints
from sqlmetrics.shapes import made, read
from sqlmetrics.sql.query_graph import Node, Plan, parse
from sqlmetrics.sql.quoting import literal, path_literal
from sqlmetrics.version import __version__
from sqlmetrics.wording import and_more, shown

if TYPE_CHECKING:
    import pandas as pd

STATEMENT = "reduce.sql"
_AGAIN = Argument("force", True)
_OURS = "-- puts the results of "  # how a statement of ours starts
_HEADER = f"""\
{_OURS}{{of}} partitions together; it runs alone in DuckDB, in this folder
"""


class _SlicedBy(TypedDict):
    """A column of a table that a result is sliced by."""

    name: str
    of: str
    table: str


class _File(TypedDict):
    """The file of a part in one folder."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The description that a job writes beside the files of its part.

    Attributes:
        partition: the users of the part.
        plan: the identity of the result, the same for all parts of one result.
        asked: the metrics, for messages.
        sliced_by: the columns of tables that the result is sliced by.
        versions: the versions of sqlmetrics and the engine.
        tables: the folders of the pieces.
        files: for each folder with a file of the part, its numbers of rows and bytes and its hash.
        statement: a hash of reduce.sql, the same for all parts of one result.
        data: for each table that was read a fingerprint, the same for all parts of one result.
    """

    partition: Partition
    plan: str
    asked: Sequence[str]
    sliced_by: Sequence[_SlicedBy]
    versions: Mapping[str, str]
    statement: str
    tables: Sequence[str]
    files: Mapping[str, _File]
    data: Mapping[str, str]

    def path(self, folder: Path, table: str) -> Path:
        """Say where the part of a table is."""
        return folder / table / f"{self.partition.stem}.parquet"

    def write(self, folder: Path) -> None:
        """Write it, whole or not at all."""
        entries = {**vars(self), "partition": str(self.partition)}
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        _write_text(folder / f"{self.partition.stem}.json", text)

    @classmethod
    def read_all(cls, folder: Path) -> list[Manifest]:
        """Read those of a folder, in the order of their numbers.

        Raises:
            DataError: one of them is damaged.
        """
        manifests = []
        for path in sorted(folder.glob("part-*-of-*.json")):
            try:
                text = path.read_text(encoding="utf-8")
                entries = read(json.loads(text), dict[str, Any], "it")
                partition = Partition.parse(entries.pop("partition", ""))
                if path.stem != partition.stem:
                    raise ValueError(f"it is that of part {partition}")
                manifest = made(entries, cls, partition=partition)
                if not manifest.files.keys() <= set(manifest.tables):
                    raise ValueError(f"files is {shown(entries['files'])}, not of its tables")
                manifests.append(manifest)
            except (OSError, ValueError, TypeError) as error:
                raise DataError(
                    f"{path} cannot be read ({error}); delete it and run its job again"
                ) from error
        return sorted(
            manifests, key=lambda manifest: (manifest.partition.of, manifest.partition.number)
        )


def versions() -> dict[str, str]:
    """Name what has to be the same in all jobs."""
    return {"sqlmetrics": __version__, "duckdb": duckdb.__version__}


# ---- writing ------------------------------------------------------------------------------------


def check_folder(folder: Path, partition: Partition, force: bool) -> None:
    """Check that a part can be written there, before it is computed.

    Raises:
        DataError: the part is there already, or the folder has files that are not ours and no
            parts, and `force` is not set; or the folder cannot be one; or its reduce.sql is not
            ours, with `force` too.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder for the parts")
    if not folder.exists() and not folder.parent.is_dir():
        raise DataError(f"cannot write {folder}: there is no folder {folder.parent}")
    if not force and (folder / f"{partition.stem}.json").exists():
        raise DataError(
            f"{folder} has part {partition} already, which is not overwritten",
            remedy=Message("add ", Argument("force", True), " to replace it"),
        )
    if folder.is_dir():
        _check_statement_is_ours(folder)
        strange = sorted(path.name for path in folder.iterdir() if not _may_be_ours(path))
        if strange and not force and not any(folder.glob("part-*-of-*.json")):
            raise DataError(
                f"{folder} has no parts, but other files ({', '.join(strange[:3])})",
                remedy=Message(
                    "name a new folder for the parts, or write them there with ", _AGAIN
                ),
            )


def _check_statement_is_ours(folder: Path) -> None:
    """Check that reduce.sql, if there is one, was written by a job.

    Raises:
        DataError: it was not.
    """
    path = folder / STATEMENT
    try:
        start = path.read_bytes()[: len(_OURS)] if path.exists() else _OURS.encode()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if start != _OURS.encode():
        raise DataError(
            f"{path} was not written by sqlmetrics and is not overwritten; move it away, or name "
            "another folder for the parts"
        )


def _may_be_ours(path: Path) -> bool:
    """Is it what a job leaves in a folder, be it at work or stopped halfway?"""
    if is_temporary(path):
        return True
    if path.is_dir():
        return all(re.match(r"\.?part-\d+-of-\d+\.parquet", file.name) for file in path.iterdir())
    return re.match(rf"\.?({re.escape(STATEMENT)}|part-\d+-of-\d+\.json)", path.name) is not None


def write_part(
    engine: EmbeddedEngine,
    split: Split,
    root: Node,
    partition: Partition,
    folder: Path,
    *,
    asked: Sequence[str],
    sliced_by: Iterable[Attribute],
    force: bool = False,
) -> None:
    """Compute what a partition hands over, and write it: whole or not at all.

    Raises:
        DataError: the folder has this part, or those of another result, and `force` is not set.
    """
    check_folder(folder, partition, force)
    manifest = Manifest(
        partition=partition,
        plan=fingerprints.identity(root),
        asked=list(asked),
        sliced_by=[
            {"name": attribute.name, "of": attribute.of, "table": attribute.table}
            for attribute in sliced_by
            if attribute.table
        ],
        versions=versions(),
        statement="",
        tables=[],
        files={},
        data=fingerprints.of_tables(engine, root),
    )
    others = [] if force else Manifest.read_all(folder)
    if others:  # before anything is computed
        _check_same(folder, [*others, replace(manifest, statement=others[0].statement)])
    drafts: dict[Path, Path] = {}
    with OwnFolder(folder, hidden=True) as temporary, MadeFolders() as made:
        written = []
        for name, piece in named(split.pieces(root)).items():
            node = piece.node if piece.once else split.piece_of(piece.node, partition)
            columns = columns_of(engine, piece, node)
            if not piece.once or partition.number == 1:
                path = folder / name / f"{partition.stem}.parquet"
                drafts[path] = temporary / name
                write_rows(engine, node, columns, drafts[path])
            files = _files(name, partition.of)[piece.once]
            written.append(Written(name, piece, columns, files))
        plan = reduction(split, root, written)
        statement = _HEADER.format(of=partition.of) + plan.statement() + ";\n"
        manifest = replace(
            manifest,
            statement=hashes.of_texts(statement),
            tables=[table.name for table in written],
            files={path.parent.name: _described(rows) for path, rows in drafts.items()},
        )
        if not force:
            _check_same(folder, [*Manifest.read_all(folder), manifest])
            check_folder(folder, partition, force)  # somebody else may have written it meanwhile
        _check_statement_is_ours(folder)
        check_replaceable(drafts)
        interrupts.decide()
        (folder / f"{partition.stem}.json").unlink(missing_ok=True)
        for path, draft in drafts.items():
            made.make(path.parent)
            make_like(draft, path)
            os.replace(draft, path)
        _write_text(folder / STATEMENT, statement)
        manifest.write(folder)


def _files(name: str, of: int) -> tuple[str, str]:
    """Spell the files of a table in SQL: those of all parts, and that of the first alone.

    Each is named, so that one that is missing is missed, and one that is too many is not read.
    """
    every = f"{name}/part-{{:04d}}-of-{of:04}.parquet"
    numbers = f"range(1, {of + 1})"
    return (
        f"[format({literal(every)}, number) FOR number IN {numbers}]",
        literal(f"{name}/{Partition(1, of).stem}.parquet"),
    )


def _write_text(path: Path, text: str) -> None:
    with whole_file(path, force=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def files_of(folder: Path) -> list[str]:
    """List what jobs have written to a folder, complete or not."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.name == STATEMENT or re.fullmatch(r"part-\d+-of-\d+\.(json|parquet)", path.name)
    ]


# ---- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Printed(Node):
    """A statement that was printed before."""

    text: str = ""
    parents: Mapping[str, Node] = field(default_factory=dict)

    def reads(self) -> Sequence[str]:
        """Return no parents."""
        return []

    def sql(self, names: Mapping[str, str], pretty: bool, dialect: str = "") -> str:  # noqa: ARG002
        """Return the text."""
        return self.text

    def named(self, names: Mapping[str, str]) -> exp.Expr:  # noqa: ARG002
        """Return the parsed text."""
        return parse(self.text, self.name)


@dataclass(frozen=True)
class Parts:
    """The parts of a result, and the engine that puts them together."""

    plan: Plan
    sliced_by: Sequence[Attribute]
    engine: EmbeddedEngine

    @classmethod
    @contextmanager
    def opened(cls, folder: str | Path, **of_engine: Any) -> Iterator[Parts]:
        """Read the parts of a folder.

        Raises:
            DataError: a part is missing, or they are not of one result.
        """
        manifests = _complete(Path(folder))
        path = Path(folder) / STATEMENT
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        if hashes.of_texts(text) != manifests[0].statement:
            raise DataError(
                f"{path} is not the statement that the parts were written with",
                remedy=Message("delete it, and run one of the jobs again with ", _AGAIN),
            )
        engine = open_embedded(**of_engine)
        try:
            files = [
                manifest.path(Path(folder), table)
                for manifest in manifests
                for table in manifest.files
            ]
            engine.lock(dict.fromkeys((str(file.resolve()) for file in files), str(folder)))
            text = _bound(text, manifests, Path(folder))
            plan = Plan(_Printed("summary", "summary", text=text))
            sliced_by = [
                Attribute(entry["name"], entry["of"], entry["table"])
                for entry in manifests[0].sliced_by
            ]
            yield cls(plan, sliced_by, engine)
        finally:
            engine.close()

    def frame(self) -> pd.DataFrame:
        """Return the data frame that `evaluate` would have returned."""
        frame = self.engine.frame(self.plan)
        warn_of_empty_slices(frame, self.sliced_by)
        return frame

    def write_parquet(self, path: str | Path, force: bool = False) -> None:
        """Write it to a file; an existing one only with `force`."""
        with self.engine.new_file(path, force) as target:
            self.engine.write_parquet(self.plan, target, force)


def reduce(
    folder: str | Path,
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    temp_limit: str | None = None,
) -> pd.DataFrame:
    """Put together what `Evaluator.write_partition` has written for every partition of a run.

    Args:
        folder: where the parts are.
        threads: the number of threads of the engine.
        memory_limit: the memory of the engine, such as `"4GB"`.
        temp_directory: the directory for temporary files.
        temp_limit: the largest size of the temporary files, such as `"20GB"`.

    Returns:
        What `Evaluator.evaluate` returns of the whole run.

    Raises:
        DataError: a part is missing, or they are not of one result or of one version.
    """
    with Parts.opened(
        folder,
        threads=threads,
        memory_limit=memory_limit,
        temp_directory=temp_directory,
        temp_limit=temp_limit,
    ) as parts:
        return parts.frame()


def _complete(folder: Path) -> list[Manifest]:
    """Read what the jobs say, and check that nothing is missing."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}")
    manifests = Manifest.read_all(folder)
    if not manifests:
        raise DataError(
            f"{folder} has no parts", remedy=Message("write them with ", Command("write_partition"))
        )
    _check_same(folder, manifests)
    first = manifests[0]
    there = {manifest.partition.number for manifest in manifests}
    missing = [
        Partition(number, first.partition.of)
        for number in range(1, first.partition.of + 1)
        if number not in there
    ]
    if missing:
        raise DataError(
            f"{folder}: {len(missing)} of {first.partition.of} parts are missing: "
            f"{and_more(missing, 5)}; run their jobs"
        )
    if versions() != first.versions:
        raise DataError(
            f"{folder}: the parts were written by {_spelled(first.versions)}, this is "
            f"{_spelled(versions())}; use the same versions"
        )
    for manifest in manifests:
        _check_files(folder, manifest)
    return manifests


def _check_files(folder: Path, manifest: Manifest) -> None:
    """Check that the files of a part are those that its job wrote.

    Raises:
        DataError: names the first file that differs.
    """
    again = Message(f"run the job of part {manifest.partition} again with ", _AGAIN)
    for table, wanted in manifest.files.items():
        path = manifest.path(folder, table)
        if not path.is_file():
            raise DataError(f"{path} is missing", remedy=again)
        size = path.stat().st_size
        if size != wanted["bytes"]:
            problem = f"{path} has {size} bytes, not the {wanted['bytes']} that its job wrote"
            raise DataError(problem, remedy=again)
        if hashes.of_file(path) != wanted["sha256"]:
            raise DataError(f"{path} has other values than its job wrote", remedy=again)


def _described(path: Path) -> _File:
    """Count the rows and bytes of a Parquet file, and hash it."""
    import pyarrow.parquet as pq

    rows = pq.read_metadata(path).num_rows
    return {"rows": rows, "bytes": path.stat().st_size, "sha256": hashes.of_file(path)}


def _check_same(folder: Path, manifests: Sequence[Manifest]) -> None:
    """Check that parts are of one result, and were written by the same versions.

    Raises:
        DataError: says which are not.
    """
    kinds: dict[tuple[Any, ...], list[Manifest]] = {}
    for manifest in manifests:
        kind = (
            manifest.partition.of,
            _spelled(manifest.versions),
            manifest.plan,
            manifest.statement,
            *sorted(manifest.data.items()),
        )
        kinds.setdefault(kind, []).append(manifest)
    if len(kinds) < 2:
        return
    (of, by, *request), (other_of, other_by, *other_request) = list(kinds)[:2]
    ours, theirs = list(kinds.values())[:2]
    if by != other_by:
        what = "parts of different versions"
        names = [by, other_by]
    elif of != other_of:
        what = "parts of runs that are split in different ways"
        names = [f"{of} partitions", f"{other_of} partitions"]
    elif request[:1] == other_request[:1]:
        first, second = ours[0].data, theirs[0].data
        tables = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        what = f"parts of different data: {', '.join(tables) or 'types of columns'} differ"
        names = [" ".join(some[0].asked) for some in (ours, theirs)]
    else:
        what = "parts of different requests: metrics, options or tables differ"
        names = [" ".join(some[0].asked) for some in (ours, theirs)]
    described = "; ".join(
        f"{and_more([manifest.partition for manifest in some], 5)} of {name}"
        for some, name in zip((ours, theirs), names, strict=True)
    )
    raise DataError(
        f"{folder} has {what} ({described}). Write the parts of every run to a folder of their own"
    )


def _spelled(names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in names.items())


def _bound(text: str, manifests: Sequence[Manifest], folder: Path) -> str:
    """Let the statement read exactly the files of the parts, from wherever it runs."""
    for name in manifests[0].tables:
        paths = [str(m.path(folder, name).resolve()) for m in manifests if name in m.files]
        for files in _files(name, manifests[0].partition.of):
            text = text.replace(f"read_parquet({files},", f"read_parquet({path_literal(paths)},")
    return text.removesuffix(";\n")
