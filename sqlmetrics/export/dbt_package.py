"""Write a plan as a dbt package: a model per query, with tests and descriptions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlmetrics import interrupts
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.export.dbt_models import DataTest, Maker, Model, escaped
from sqlmetrics.files import OwnFolder, already_there, check_replaceable, exchange
from sqlmetrics.plan.per_user import per_user_long
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.summary import summary
from sqlmetrics.sql.query_graph import Plan, Query
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.texts.messages import Argument, Message

NAME = "sqlmetrics"
_MARK = "made by sqlmetrics dbt"  # in the first line of every file that may be overwritten
_PROJECT = "dbt_project.yml"
_LEAST_DBT = "1.8.0"  # the first version that reads data_tests
_OF_YAML = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")  # need quotes


def package(results: Results, dialect: str, name: str, command: str) -> dict[str, str]:
    """Return the files of a package: path -> text.

    Args:
        results: results planned for `dialect`.
        dialect: the dialect of the warehouse.
        name: the name of the package, and the prefix of its models.
        command: the command to show in the README of the package.

    Raises:
        UsageError: a table has no name in the warehouse, the dialect cannot express a query, or
            `name` is not a valid package name.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(
            f"{name!r} is not a valid dbt package name; use lower-case letters, digits and _, "
            "starting with a letter"
        )
    long = per_user_long(results)
    plans = [summary(results), *([] if long is None else [long])]
    _require_names(results, plans)
    maker = Maker(results, dialect, name)
    models = maker.models(plans)
    tests = [*maker.unique_tests(models), *maker.range_tests(), *maker.checks()]
    return {
        _PROJECT: _project(name, models),
        "README.md": _readme(name, models, tests, command),
        "models/schema.yml": _schema(models),
        **{model.path: f"{{# {_MARK} #}}\n{model.sql}\n" for model in models},
        **{test.path: f"{{# {_MARK} #}}\n{test.sql}\n" for test in tests},
    }


def write(folder: Path, files: Mapping[str, str], force: bool = False) -> list[Path]:
    """Write the files to a folder, all of them or none.

    `force` replaces all files of an earlier call.

    Raises:
        DataError: a file exists, the folder is another dbt project, or it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder for the package instead")
    project = folder / _PROJECT
    if project.exists() and not _is_ours(project):
        raise DataError(
            f"{folder} is another dbt project and is not overwritten; name another folder for "
            f"the package, e.g. {folder / NAME}"
        )
    targets = {name: folder / name for name in files}
    old = [target for target in targets.values() if target.exists()]
    if old and not force:
        raise already_there(old[0])
    if force:
        for path in sorted([*folder.glob("models/**/*.sql"), *folder.glob("tests/**/*.sql")]):
            if path not in old and _is_ours(path):
                old.append(path)
    check_replaceable([*targets.values(), *old])
    try:
        with OwnFolder(folder.absolute().parent, hidden=True) as draft:
            new = draft / "new"
            for name, text in files.items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_text(text, encoding="utf-8", newline="")
            if folder.exists():
                exchange(folder, draft, files, old)
            else:
                interrupts.decide()
                os.rename(new, folder)
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error}") from error
    return list(targets.values())


def _is_ours(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as lines:
        return _MARK in lines.readline()


# ---- plans --------------------------------------------------------------------------------------


def _require_names(results: Results, plans: Iterable[Plan]) -> None:
    for node in [node for plan in plans for node in plan.nodes()]:
        table = results.planner.tables.get(node.table) if isinstance(node, Query) else None
        for source in () if table is None else table.sources:
            if not source.only_named:
                assert table is not None
                name = f"{table.name}_table"
                raise UsageError(
                    f"a dbt package can read only named tables, not {source.label}",
                    table=table.name,
                    remedy=Message(
                        f"pass the name of the table {table.name} with ", Argument(name, "NAME"),
                        " or ", Argument(name, "{{ ref('MODEL') }}"),
                    ),
                )  # fmt: skip


# ---- files beside the SQL -----------------------------------------------------------------------


def _project(name: str, models: Sequence[Model]) -> str:
    """Return dbt_project.yml; projects that use the package may override its model settings."""
    tables: dict[str, Any] = {}
    for model in models:
        if model.is_table:
            tables.setdefault(model.folder, {})[model.name] = {"+materialized": "table"}
    content = {
        "name": name,
        "version": version("sqlmetrics"),
        "config-version": 2,
        "require-dbt-version": f">={_LEAST_DBT}",
        "model-paths": ["models"],
        "test-paths": ["tests"],
        "models": {name: {"+materialized": "view", **tables}},
    }
    return f"# {_MARK}\n" + "".join(f"{line}\n" for line in _yaml(content))


def _schema(models: Sequence[Model]) -> str:
    entries = []
    for model in models:
        columns = []
        for column in model.columns:
            entry: dict[str, Any] = {"name": column.name}
            if identifier(column.name) != column.name:
                entry["quote"] = True
            if column.description:
                entry["description"] = escaped(column.description)
            if column.not_null:
                entry["data_tests"] = ["not_null"]
            columns.append(entry)
        entry = {"name": model.name, "description": escaped(model.description)}
        entries.append(entry | ({"columns": columns} if columns else {}))
    content = {"version": 2, "models": entries}
    return f"# {_MARK}\n" + "".join(f"{line}\n" for line in _yaml(content))


def _yaml(value: Any) -> list[str]:
    """Return dicts and lists as lines of YAML; quote texts that are not plain words."""
    lines = []
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, Mapping | list) and inner:
                lines += [f"{key}:", *(f"  {line}" for line in _yaml(inner))]
            else:
                lines.append(f"{key}: {_scalar(inner)}")
        return lines
    for entry in value:
        inner_lines = _yaml(entry) if isinstance(entry, Mapping | list) else [_scalar(entry)]
        lines += [f"- {inner_lines[0]}", *(f"  {line}" for line in inner_lines[1:])]
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        plain = re.fullmatch(r"[a-z_][a-z0-9_]*", value) and value not in _OF_YAML
        return value if plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def _readme(name: str, models: Sequence[Model], tests: Sequence[DataTest], command: str) -> str:
    results = [model for model in models if model.folder == "results"]
    kinds = {True: "table", False: "view"}
    rows = "\n".join(f"| `{m.name}` | {kinds[m.is_table]} | {m.description} |" for m in results)
    rules = "\n".join(f"- `{test.name}`: {test.finds}" for test in tests)
    return f"""<!-- {_MARK} -->
# {name}

A dbt package that computes metrics of recommendations, created by sqlmetrics
{version("sqlmetrics")}:

```sh
{command}
```

To change it, run the command again with `--force`; it overwrites the files of sqlmetrics.

## Use

In a project, add the folder to `packages.yml`, then run `dbt deps` and `dbt build`:

```yaml
packages:
  - local: path/of/this/folder
```

Without a project, if no table is a `ref` or `source` of another project, run
`dbt build --profile PROFILE` in this folder.

## Models

| model | kind | content |
|---|---|---|
{rows}

The other models compute these: `inputs`, `stages` and `values`, described in `models/schema.yml`.
Results, small models and models that are read several times are tables; the rest are views. To
change this, or the schema, set `models: {name}:` in the `dbt_project.yml` of your project.

## Tests

Key columns are not NULL. In addition, a test fails if it finds:

{rules}
"""
