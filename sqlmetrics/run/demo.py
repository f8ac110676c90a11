"""Write realistic example tables of any size, reproducible by their seed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlmetrics.errors import DataError, EngineError, UsageError
from sqlmetrics.files import OwnFolder, exchange, replaced
from sqlmetrics.sql.quoting import literal
from sqlmetrics.sql.templates import demo_macros, render_file

#: Maximum list length. The engine unrolls the lists of 2048 users at a time, 160 MB at this length.
MAX_PER_USER = 10_000
#: Maximum number of users. Ids times a factor of 31 bits still fit in 63 bits.
MAX_USERS = 2_000_000_000


@dataclass(frozen=True)
class _Model:
    """The quality of the lists of a model.

    Attributes:
        name: the name of the model, in its file name `recommendations_<name>.parquet`.
        number: 1 to 3; gives each model its own random numbers.
        template: the template of the query for its lists.
        hits_per_million: the probability, in millionths, that an item liked by the user gets the
            list position reserved for it.
        group_width: the number of list positions that share one possible hit.
        decay: the number of groups after which hits are half as likely.
        jitter: the number of positions by which a score may be off.
        resolution: the number of distinct scores between 0 and 1; fewer scores give more ties.
    """

    name: str
    number: int
    template: str
    hits_per_million: int
    group_width: int = 1
    decay: int = 1
    jitter: int = 0
    resolution: int = 1


_MODELS = (
    _Model("als", 1, "recommendations", 960_000, 3, 100, 3, 1_000_000),
    _Model("item_knn", 2, "recommendations", 600_000, 4, 60, 6, 200),
    _Model("popular", 3, "recommendations_popular", 140_000),
)
_TABLES = ("interactions", "history", "items", "aspects", "users", "logs")


def write_demo(
    directory: Path,
    *,
    users: int = 500,
    per_user: int = 20,
    seed: int = 1,
    models: int = 3,
    threads: int | None = None,
    memory_limit: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write example tables as Parquet files into `directory`, which is created if needed.

    The files, with their columns:

    - `recommendations_<model>`: user_id, item_id, score; models als, item_knn and popular
    - `interactions` (held-out): user_id, item_id, relevance (1 to 3), timestamp
    - `history`: user_id, item_id, timestamp
    - `items`: item_id, title, price, category (a list), seller_size ("large" or "small"),
      item_group (the brand), features (a list of 16 numbers)
    - `aspects`: item_id, aspect
    - `users`: user_id, country, age_group, device
    - `logs`: user_id, item_id, reward (0 or 1), propensity (above 0, up to 1)

    The catalogue has one item per five users, at least 200 and at most 50,000 items, but always at
    least twice the list length. The order of rows does not depend on the number of threads. Memory
    use hardly grows with the number of users.

    Args:
        directory: the directory of the files.
        users: the number of users.
        per_user: the length of a ranked list; some users have shorter lists or none.
        seed: the random seed.
        models: the number of models to write, the best model first.
        threads: the number of engine threads; the contents do not depend on it.
        memory_limit: the memory limit of the engine, such as `"2GB"`.
        force: overwrite existing files.

    Returns:
        The files, in the order of writing.

    Raises:
        UsageError: an argument is out of range.
        DataError: a file exists and `force` is not set, or the directory cannot be written to.
        EngineError: the engine failed, for example because of too little memory or disk space.
    """
    _check_range("users", users, 1, MAX_USERS)
    _check_range("per_user", per_user, 1, MAX_PER_USER)
    _check_range("models", models, 1, len(_MODELS))
    if threads is not None:
        _check_range("threads", threads, 1, 1024)

    # Items come in pairs: if a user owns one of them, the other may be recommended.
    n_items = max(200, 2 * per_user, min(users // 5, 50_000))
    context = {
        "users": users,
        "per_user": per_user,
        "seed": seed,
        "levels": n_items // 2,
        "models": _MODELS,
    }
    jobs: list[tuple[str, str, _Model | None]] = [
        *((f"recommendations_{model.name}", model.template, model) for model in _MODELS[:models]),
        *((table, table, None) for table in _TABLES),
    ]
    targets = [directory / f"{name}.parquet" for name, _, _ in jobs]
    replaced(targets, force)

    # All tables are complete before the first file is moved, so that a failure changes nothing.
    try:
        with (
            OwnFolder(directory, hidden=True) as folder,
            _connect(threads, memory_limit) as connection,
        ):
            (folder / "new").mkdir()
            connection.execute(
                "CREATE TEMP VIEW user_ids AS "
                f"SELECT ids.range AS user_id FROM range(1, {users + 1}) AS ids"
            )
            connection.execute(
                f"CREATE TEMP VIEW user_profile AS\n{_render('user_profile', context)}"
            )
            for (_, template, model), target in zip(jobs, targets, strict=True):
                query = _render(template, {**context, "model": model})
                draft = literal(str(folder / "new" / target.name))
                how = "(FORMAT parquet, COMPRESSION zstd)"
                _execute(connection, f"COPY (\n{query}\n) TO {draft} {how}")
            old = replaced(targets, force)
            exchange(directory, folder, [target.name for target in targets], old)
    except OSError as error:
        raise DataError(f"cannot write to {directory}: {error}") from error
    except duckdb.Error as error:
        raise EngineError(f"cannot write the demo tables: {error}") from error
    return targets


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(f"{name} must be from {low} to {high}, not {value}")


def _render(template: str, context: dict[str, object]) -> str:
    return render_file(f"demo/{template}", demo_macros() | context)


def _execute(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Run a statement that Ctrl-C can interrupt.

    In the main thread, the engine checks for Ctrl-C only about every hundred thousand users.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(connection.execute, statement)
        try:
            running.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def _connect(threads: int | None, memory_limit: str | None) -> duckdb.DuckDBPyConnection:
    """Open an in-memory database that never spills to disk, because all large queries stream."""
    connection = duckdb.connect()
    connection.execute("SET temp_directory = ''")
    if threads is not None:
        connection.execute(f"SET threads = {threads}")
    if memory_limit is not None:
        try:
            connection.execute(f"SET memory_limit = {literal(memory_limit)}")
        except duckdb.Error as error:
            raise UsageError(f"memory_limit cannot be {memory_limit!r}: {error}") from error
    return connection
