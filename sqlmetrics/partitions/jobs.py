"""Write parts of a result in several jobs, and combine the parts.

Every job writes the following files to a common folder: one Parquet file per piece, `reduce.sql`,
the statement that combines the pieces, and finally a small manifest.
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
from sqlmetrics.rows import Rows
from sqlmetrics.shapes import made, read
from sqlmetrics.sql.query_graph import Node, Plan, parse
from sqlmetrics.sql.quoting import literal, path_literal
from sqlmetrics.stats.gates import EVALUATION, Verdict, raise_failed, read_gates, verdicts
from sqlmetrics.version import __version__
from sqlmetrics.wording import and_more, shown

if TYPE_CHECKING:
    import pandas as pd

STATEMENT = "reduce.sql"
_AGAIN = Argument("force", True)
_OURS = "-- combines the results of "  # first words of a statement written by a job
_HEADER = f"""\
{_OURS}{{of}} partitions; run it in DuckDB in this folder, sqlmetrics is not needed
"""


class _SlicedBy(TypedDict):
    """A column of a table that the result is sliced by."""

    name: str
    of: str
    table: str


class _File(TypedDict):
    """The file of a part for one piece."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The manifest that a job writes beside the files of its part.

    Attributes:
        partition: the users of the part.
        plan: the identity of the result, equal for all parts of a result.
        asked: the metrics, for messages.
        sliced_by: the columns of tables that the result is sliced by.
        versions: the versions of sqlmetrics and the engine.
        tables: the folders of the pieces.
        files: for each folder with a file of the part, its number of rows, its size and its hash.
        statement: a hash of reduce.sql, equal for all parts of a result.
        data: fingerprints of the tables that were read, equal for all parts of a result.
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
        """Return the path of the part's file for a piece."""
        return folder / table / f"{self.partition.stem}.parquet"

    def write(self, folder: Path) -> None:
        """Write the manifest; a failed write leaves no partial file."""
        entries = {**vars(self), "partition": str(self.partition)}
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        _write_text(folder / f"{self.partition.stem}.json", text)

    @classmethod
    def read_all(cls, folder: Path) -> list[Manifest]:
        """Read the manifests of a folder, sorted by partition number.

        Raises:
            DataError: a manifest is damaged.
        """
        manifests = []
        for path in sorted(folder.glob("part-*-of-*.json")):
            try:
                text = path.read_text(encoding="utf-8")
                entries = read(json.loads(text), dict[str, Any], "it")
                partition = Partition.parse(entries.pop("partition", ""))
                if path.stem != partition.stem:
                    raise ValueError(f"it is the manifest of part {partition}")
                manifest = made(entries, cls, partition=partition)
                if not manifest.files.keys() <= set(manifest.tables):
                    raise ValueError(f"its files are {shown(entries['files'])}, unlike its tables")
                manifests.append(manifest)
            except (OSError, ValueError, TypeError, RecursionError) as error:
                raise DataError(
                    f"{path} cannot be read ({error}); delete it and run the job again"
                ) from error
        return sorted(
            manifests, key=lambda manifest: (manifest.partition.of, manifest.partition.number)
        )


def versions() -> dict[str, str]:
    """Return the versions that must be equal in all jobs."""
    return {"sqlmetrics": __version__, "duckdb": duckdb.__version__}


# ---- writing ------------------------------------------------------------------------------------


def check_folder(folder: Path, partition: Partition, force: bool) -> None:
    """Check that a part can be written to a folder, before computing it.

    Raises:
        DataError: without `force`, the part exists, or the folder has only files that jobs did not
            write; with or without `force`, the folder is a file, its parent is missing, or its
            reduce.sql was not written by a job.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder for the parts instead")
    if not folder.exists() and not folder.parent.is_dir():
        raise DataError(f"cannot write {folder}: there is no folder {folder.parent}")
    if not force and (folder / f"{partition.stem}.json").exists():
        raise DataError(
            f"{folder} already has part {partition}",
            remedy=Message("add ", Argument("force", True), " to overwrite it"),
        )
    if folder.is_dir():
        _check_statement_is_ours(folder)
        strange = sorted(path.name for path in folder.iterdir() if not _may_be_ours(path))
        if strange and not force and not any(folder.glob("part-*-of-*.json")):
            raise DataError(
                f"{folder} has no parts but other files ({', '.join(strange[:3])})",
                remedy=Message(
                    "name a new folder for the parts, or write them to this folder with ", _AGAIN
                ),
            )


def _check_statement_is_ours(folder: Path) -> None:
    """Check that reduce.sql, if it exists, was written by a job.

    Raises:
        DataError: the file was not written by a job.
    """
    path = folder / STATEMENT
    try:
        start = path.read_bytes()[: len(_OURS)] if path.exists() else _OURS.encode()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if start != _OURS.encode():
        raise DataError(
            f"{path} was not written by sqlmetrics and is not overwritten; move it, or name "
            "another folder for the parts"
        )


def _may_be_ours(path: Path) -> bool:
    """Return whether a running or interrupted job may have written this file."""
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
    """Compute the pieces of a partition and write them; a failed run leaves no part.

    Raises:
        DataError: without `force`, the folder has this part or parts of another result.
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
    if others:  # check before computing anything
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
            check_folder(folder, partition, force)  # another job may have written it
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
    """Return two SQL lists of the files of a piece: all parts, and the first part alone.

    The lists name every file, so a missing file is an error and additional files are not read.
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
    """List the files that jobs have written to a folder, complete or not."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.name == STATEMENT or re.fullmatch(r"part-\d+-of-\d+\.(json|parquet)", path.name)
    ]


# ---- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Printed(Node):
    """A statement that was printed earlier."""

    text: str = ""
    parents: Mapping[str, Node] = field(default_factory=dict)

    def reads(self) -> Sequence[str]:
        """Return no parents."""
        return []

    def sql(self, names: Mapping[str, str], pretty: bool, dialect: str = "") -> str:  # noqa: ARG002
        """Return the statement."""
        return self.text

    def named(self, names: Mapping[str, str]) -> exp.Expr:  # noqa: ARG002
        """Return the parsed statement."""
        return parse(self.text, self.name)


@dataclass(frozen=True)
class Parts:
    """The parts of a result, and the engine that combines them.

    `verdicts` are those of the gates of `frame`, by gate and row.
    """

    plan: Plan
    sliced_by: Sequence[Attribute]
    engine: EmbeddedEngine
    verdicts: list[Verdict] = field(default_factory=list)

    @classmethod
    @contextmanager
    def opened(cls, folder: str | Path, **of_engine: Any) -> Iterator[Parts]:
        """Open the parts in a folder.

        Raises:
            DataError: a part is missing, or the parts belong to different results.
        """
        manifests = _complete(Path(folder))
        path = Path(folder) / STATEMENT
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        if hashes.of_texts(text) != manifests[0].statement:
            raise DataError(
                f"{path} does not match the statement written with the parts",
                remedy=Message("delete it and run one of the jobs again with ", _AGAIN),
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

    def frame(self, fail_if: str | Iterable[str] = ()) -> pd.DataFrame:
        """Return the data frame that `evaluate` would return.

        Raises:
            GateError: the frame fails a gate of `fail_if`; the error has the frame.
            UsageError: a gate cannot be parsed, or applies to no row.
        """
        gates = read_gates(fail_if, EVALUATION)
        frame = self.engine.frame(self.plan)
        warn_of_empty_slices(frame, self.sliced_by)
        if gates:
            self.verdicts[:] = verdicts(Rows.of_frame(frame), gates, EVALUATION)
            raise_failed(self.verdicts, frame, EVALUATION)
        return frame

    def write_parquet(self, path: str | Path, force: bool = False) -> None:
        """Write the result to a Parquet file; `force` overwrites an existing file."""
        with self.engine.new_file(path, force) as target:
            self.engine.write_parquet(self.plan, target, force)


def reduce(
    folder: str | Path,
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    temp_limit: str | None = None,
    fail_if: str | Iterable[str] = (),
) -> pd.DataFrame:
    """Combine the parts that `Evaluator.write_partition` has written for all partitions of a run.

    Args:
        folder: the folder of the parts.
        threads, memory_limit, temp_directory, temp_limit: options of the engine.
        fail_if: gates, such as `"ndcg@10 < 0.2"`, with the metrics named as in the result.

    Returns:
        The result of `Evaluator.evaluate` for the whole run.

    Raises:
        DataError: a part is missing, or the parts are of different results or versions.
        GateError: the result fails a gate; the error has the result.
        UsageError: a gate cannot be parsed, or applies to no row.
    """
    with Parts.opened(
        folder,
        threads=threads,
        memory_limit=memory_limit,
        temp_directory=temp_directory,
        temp_limit=temp_limit,
    ) as parts:
        return parts.frame(fail_if)


def _complete(folder: Path) -> list[Manifest]:
    """Read the manifests and check that no part is missing."""
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
            f"{and_more(missing, 5)}; run the jobs of these parts"
        )
    if versions() != first.versions:
        raise DataError(
            f"{folder}: the parts were written by {_spelled(first.versions)}, but this is "
            f"{_spelled(versions())}; use the same versions"
        )
    for manifest in manifests:
        _check_files(folder, manifest)
    return manifests


def _check_files(folder: Path, manifest: Manifest) -> None:
    """Check that the files of a part are those that its job wrote.

    Raises:
        DataError: a file differs; names the first such file.
    """
    again = Message(f"run the job of part {manifest.partition} again with ", _AGAIN)
    for table, wanted in manifest.files.items():
        path = manifest.path(folder, table)
        if not path.is_file():
            raise DataError(f"{path} is missing", remedy=again)
        size = path.stat().st_size
        if size != wanted["bytes"]:
            problem = f"{path} has {size} bytes, but its job wrote {wanted['bytes']}"
            raise DataError(problem, remedy=again)
        if hashes.of_file(path) != wanted["sha256"]:
            raise DataError(f"{path} has other content than its job wrote", remedy=again)


def _described(path: Path) -> _File:
    """Return the number of rows, the size and the hash of a Parquet file."""
    import pyarrow.parquet as pq

    rows = pq.read_metadata(path).num_rows
    return {"rows": rows, "bytes": path.stat().st_size, "sha256": hashes.of_file(path)}


def _check_same(folder: Path, manifests: Sequence[Manifest]) -> None:
    """Check that all parts are of one result and were written by the same versions.

    Raises:
        DataError: the parts differ; describes two of the groups.
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
        what = "parts of runs with different numbers of partitions"
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
    raise DataError(f"{folder} has {what} ({described}). Use a separate folder for every run")


def _spelled(names: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in names.items())


def _bound(text: str, manifests: Sequence[Manifest], folder: Path) -> str:
    """Bind the statement to the paths of the parts' files, so that it runs in any directory."""
    for name in manifests[0].tables:
        paths = [str(m.path(folder, name).resolve()) for m in manifests if name in m.files]
        for files in _files(name, manifests[0].partition.of):
            text = text.replace(f"read_parquet({files},", f"read_parquet({path_literal(paths)},")
    return text.removesuffix(";\n")
