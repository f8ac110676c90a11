"""Print statements and packages that run without sqlmetrics."""

from __future__ import annotations

from pathlib import Path

from sqlmetrics.errors import UsageError
from sqlmetrics.plan.per_user import per_user
from sqlmetrics.plan.physical import physical as physical_plan
from sqlmetrics.plan.request import Request
from sqlmetrics.plan.summary import summary
from sqlmetrics.run.path import results
from sqlmetrics.run.session import Session
from sqlmetrics.sql.dialects import checked
from sqlmetrics.sql.query_graph import Plan, Query
from sqlmetrics.sql.statement import statement as readable
from sqlmetrics.sql.statement import to_run
from sqlmetrics.texts.messages import Argument, Message


def statement(session: Session, asked: Request, dialect: str | None, physical: bool = False) -> str:
    """Return the statement of a request.

    `physical` returns the statement that the engine runs, with alternatives and exact sums.

    Raises:
        UsageError: see `Evaluator.sql`.
    """
    dialect = session.engine.dialect if dialect is None else checked(dialect)
    planner = session.printing_planner(dialect)
    of = results(session, asked, planner)
    plan = per_user(of, asked.long) if asked.per_user else summary(of)
    require_names(session, plan, dialect)
    session.warn(plan.warnings)
    if physical:
        return to_run(physical_plan(planner, plan, session.engine), dialect) + ";\n"
    text = planner.once(("printed", plan.root.key), lambda: readable(plan, dialect))
    return f"{text};\n"


def dbt(
    session: Session,
    asked: Request,
    folder: str | Path,
    dialect: str | None,
    name: str,
    command: str,
    force: bool,
) -> list[Path]:
    """Write a dbt package that computes a request.

    Raises:
        UsageError, DataError: see `Evaluator.dbt`.
    """
    from sqlmetrics.export import dbt_package

    dialect = session.engine.dialect if dialect is None else checked(dialect)
    of = results(session, asked, session.printing_planner(dialect))
    files = dbt_package.package(of, dialect, name, command)
    session.warn(summary(of).warnings)
    return dbt_package.write(Path(folder), files, force)


def require_names(session: Session, plan: Plan, dialect: str) -> None:
    """Check that a statement reads only tables that exist outside this process.

    Raises:
        UsageError: names the table that exists only in this process.
    """
    elsewhere = dialect != session.engine.dialect
    for node in plan.nodes():
        owner = node.table if isinstance(node, Query) else ""
        table = session.tables.get(owner)
        for source in () if table is None else table.sources:
            from_stdin = any(session.engine.shown(file) != file for file in source.files)
            if from_stdin or (elsewhere and not source.only_named):
                raise UsageError(
                    f"{dialect if elsewhere else 'a statement'} cannot read {source.label} "
                    f"({owner})",
                    table=owner,
                    remedy=Message(
                        "" if elsewhere else "give a file, or ",
                        "give the name of the table in the warehouse with ",
                        Argument(f"{owner}_table", "NAME"),
                    ),
                )
