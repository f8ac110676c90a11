"""The compared systems, and the way each is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SYSTEMS_FOLDER = Path(__file__).resolve().parent / "systems"

#: The reference system of ratios.
REFERENCE = "sqlmetrics"

#: Kinds of lists: ordered by rank or by score.
KINDS = ("rank", "score")


@dataclass(frozen=True)
class System:
    """A system, or one way to use it.

    Attributes:
        name: the name in options and in the history.
        title: the name in tables and plots.
        folder: the folder in systems/ with `run.py`, which prints the system's numbers, and
            `requirements.txt`, from which its environment is created.
        package: the package whose version is that of the system.
        kinds: the kinds of lists that it accepts.
        arguments: the arguments of `run.py` after the two files; `{kind}` is the kind of lists.
        convention: the convention of sqlmetrics that gives the same numbers.
        settings: settings that differ from the convention because `run.py` changes the tables.
        repeats: the handling of duplicate items in a list.
        newest_python: the newest Python that all pinned packages support.
    """

    name: str
    title: str
    folder: str
    package: str
    kinds: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    convention: str = "standard"
    settings: Mapping[str, str] = field(default_factory=dict)
    repeats: str = "not checked"
    newest_python: tuple[int, int] = (3, 13)

    @property
    def script(self) -> Path:
        return SYSTEMS_FOLDER / self.folder / "run.py"

    @property
    def requirements(self) -> Path:
        return SYSTEMS_FOLDER / self.folder / "requirements.txt"


_LAST_COUNTS = "last one counts"

SYSTEMS = (
    System(
        name="sqlmetrics",
        title="sqlmetrics",
        folder="sqlmetrics",
        package="sqlmetrics",
        kinds=KINDS,
        repeats="error",
    ),
    System(
        name="sqlmetrics_trusted",
        title="sqlmetrics, trusted input",
        folder="sqlmetrics",
        package="sqlmetrics",
        kinds=KINDS,
        arguments=("trusted",),
    ),
    System(
        name="duckdb",
        title="DuckDB, by hand",
        folder="duckdb",
        package="duckdb",
        kinds=KINDS,
        arguments=("{kind}",),
        repeats="error",
    ),
    System(
        name="polars",
        title="Polars, by hand",
        folder="polars",
        package="polars",
        kinds=KINDS,
        arguments=("{kind}",),
    ),
    System(
        name="rectools",
        title="RecTools",
        folder="rectools",
        package="RecTools",
        kinds=("rank",),
        convention="rectools",
        newest_python=(3, 12),
    ),
    System(
        name="lenskit",
        title="LensKit",
        folder="lenskit",
        package="lenskit",
        kinds=("rank",),
        convention="lenskit",
        settings={"audience": "both"},
    ),
    System(
        name="rs_metrics",
        title="rs_metrics",
        folder="rs_metrics",
        package="rs-metrics",
        kinds=("rank",),
        convention="rs_metrics",
    ),
    System(
        name="replay_polars",
        title="RePlay, Polars",
        folder="replay",
        package="replay-rec",
        kinds=("score",),
        arguments=("polars",),
        convention="replay",
        repeats="warning",
    ),
    System(
        name="replay_pandas",
        title="RePlay, pandas",
        folder="replay",
        package="replay-rec",
        kinds=("score",),
        arguments=("pandas",),
        convention="replay",
        repeats="warning",
    ),
    System(
        name="pytrec_eval",
        title="pytrec_eval",
        folder="pytrec_eval",
        package="pytrec_eval-terrier",
        kinds=("score",),
        convention="trec_eval",
        repeats=_LAST_COUNTS,
    ),
    System(
        name="ir_measures",
        title="ir_measures",
        folder="ir_measures",
        package="ir_measures",
        kinds=("score",),
        convention="ir_measures",
        repeats=_LAST_COUNTS,
    ),
    System(
        name="ranx",
        title="ranx",
        folder="ranx",
        package="ranx",
        kinds=("score",),
        convention="ranx",
        repeats=_LAST_COUNTS,
    ),
    System(
        name="recommenders",
        title="Recommenders",
        folder="recommenders",
        package="recommenders",
        kinds=("score",),
        convention="recommenders",
    ),
    System(
        name="jurity",
        title="Jurity",
        folder="jurity",
        package="jurity",
        kinds=("score",),
        convention="jurity",
    ),
)
BY_NAME = {system.name: system for system in SYSTEMS}

#: Systems whose environments are created quickly, for a smoke test.
QUICK = ("sqlmetrics", "sqlmetrics_trusted", "duckdb", "polars", "rectools", "pytrec_eval")
