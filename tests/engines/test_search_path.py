"""Objects of another role in the search path of a Postgres session do not run as the caller.

A role that may create objects in a schema of the search path can create a function, an operator or
a type that a statement without schemas then uses (CVE-2018-1058). A schema of these tests has such
objects for all of pg_catalog, and for operands for which pg_catalog has no exact match. Whatever a
client sends in its statements, the first use of one of them is an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sqlmetrics as sm
from tests.engines.databases import LISTS, MRR, TRUTH, columns, evaluated, names
from tests.engines.runners import Engine
from tests.engines.worlds import awkward
from tests.support.evaluators import Evaluator
from tests.support.worlds import OF_LISTS

# A read-only transaction may write a file, which is not undone with it. `plant` tries to create an
# object; pg_catalog has functions with arguments that no other function may have.
TRAPS = """
CREATE SCHEMA evil;
CREATE TABLE evil.planted (kind text);
CREATE TABLE evil.operands AS SELECT unnest(ARRAY[
    'integer', 'bigint', 'double precision', 'numeric', 'text', 'boolean', 'date', 'timestamp',
    'timestamptz', 'text[]', 'bigint[]', 'name[]'
]) AS type;
CREATE FUNCTION evil.trap(what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE pg_catalog.format(
        'COPY (SELECT 1) TO %L',
        pg_catalog.concat(pg_catalog.current_setting('data_directory'), '/trapped')
    );
    RAISE EXCEPTION 'trap: %', what;
END $$;
CREATE FUNCTION evil.plant(kind text, statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    INSERT INTO evil.planted VALUES (kind);
EXCEPTION
    WHEN feature_not_supported OR invalid_function_definition OR duplicate_function
        OR invalid_table_definition OR syntax_error THEN NULL;
END $$;
CREATE FUNCTION evil.plant_function(name text, arguments text) RETURNS void LANGUAGE sql AS $$
    SELECT evil.plant('function', format(
        'CREATE FUNCTION evil.%I(%s) RETURNS boolean LANGUAGE plpgsql AS '
        || quote_literal(format('BEGIN RETURN evil.trap(%L); END', name)),
        name, arguments
    ))
$$;
"""
# every function of pg_catalog that another function can replace exactly
FUNCTIONS = """
SELECT evil.plant_function(proname, pg_get_function_identity_arguments(oid))
FROM pg_proc
WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a', 'w')
    AND NOT proargtypes::oid[] && '{2275, 2281}'::oid[] -- cstring, internal
"""
# functions of any type, such as array_length and concat, with the types of our statements
POLYMORPHIC = """
SELECT evil.plant_function(name, arguments)
FROM (
    SELECT DISTINCT proname AS name, pronargs AS n
    FROM pg_proc INNER JOIN pg_type ON pg_type.oid = ANY(proargtypes)
    WHERE pronamespace = 'pg_catalog'::regnamespace AND typtype = 'p' AND pronargs BETWEEN 1 AND 3
        AND typname IN ('any', 'anyarray', 'anyelement', 'anycompatible', 'anycompatiblearray')
) AS polymorphic,
LATERAL (
    SELECT one.type AS arguments FROM evil.operands AS one WHERE n = 1 OR name = 'concat'
    UNION ALL
    SELECT concat_ws(', ', one.type, two.type) FROM evil.operands AS one, evil.operands AS two
    WHERE n = 2 OR name = 'concat'
    UNION ALL
    SELECT concat_ws(', ', one.type, 'text', two.type)
    FROM evil.operands AS one, evil.operands AS two
    WHERE name = 'concat'
) AS planted
"""
# every operator of pg_catalog, and those of two different types, such as the =(oid, integer) with
# which a superuser's call wrote a file
OPERATORS = """
WITH both_sides AS (
    SELECT type FROM evil.operands
    UNION ALL
    SELECT unnest('{oid, name, "\\"char\\"", smallint, varchar}'::text[])
)

SELECT evil.plant('operator', format(
    'CREATE FUNCTION evil.%I(%s, %s) RETURNS boolean LANGUAGE plpgsql AS '
    || quote_literal('BEGIN RETURN evil.trap(''operator''); END')
    || '; CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.%I)',
    'operator_' || number, one, two, name, one, two, 'operator_' || number
))
FROM (
    SELECT name, one, two, row_number() OVER () AS number
    FROM (
        SELECT oprname AS name, oprleft::regtype::text AS one, oprright::regtype::text AS two
        FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b'
        UNION
        SELECT name, one.type, two.type
        FROM unnest('{=,<>,<,<=,>,>=,+,-,*,/,||,~,!~,~~}'::text[]) AS name, both_sides AS one,
            both_sides AS two
    ) AS operators
) AS numbered
"""
# types whose values cannot be made, and relations that cannot be read
TYPES = """
SELECT evil.plant('type', format(
    'CREATE DOMAIN evil.%I AS pg_catalog.%I CHECK (evil.trap(%L))', typname, typname, typname
))
FROM pg_type
WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typelem = 0
"""
RELATIONS = """
SELECT evil.plant('relation', format(
    'CREATE VIEW evil.%I AS SELECT * FROM pg_catalog.%I WHERE evil.trap(%L)',
    relname, relname, relname
))
FROM pg_class
WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
"""
# pg_catalog comes first, unless it is given
PATHS = ["evil", "evil, pg_catalog"]


@pytest.fixture(scope="module")
def server(engines: Callable[[str], Engine]) -> Iterator[Any]:
    """Return the running Postgres, with the tables of a world and the schema with traps."""
    engine: Any = engines("postgres")
    engine.given = names(engine, awkward())
    engine.load({"recs": LISTS, "truth": TRUTH}, schema="small")
    for statement in (TRAPS, TYPES, RELATIONS, FUNCTIONS, POLYMORPHIC, OPERATORS):
        engine.execute(statement)
    engine.execute("CREATE TABLE evil.recs AS SELECT 'u1' AS user_id, 'b' AS item_id, 1 AS rank")
    engine.execute("CREATE TABLE evil.truth AS SELECT 'u1' AS user_id, 'b' AS item_id")
    yield engine
    engine.execute("SET client_min_messages = error; DROP SCHEMA evil CASCADE; "
                   "RESET client_min_messages")  # fmt: skip


Clients = dict[str, Callable[[Any, str], contextlib.AbstractContextManager[Any]]]


@contextlib.contextmanager
def by_url(server: Any, path: str) -> Iterator[Any]:
    yield f"{_url(server)}?options=-csearch_path%3D{path.replace(', ', '%2C')}"


@contextlib.contextmanager
def by_psycopg(server: Any, path: str, **options: Any) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(_url(server), **options) as connection:
        connection.execute(f"SET search_path = {path}")
        if not connection.autocommit:
            connection.commit()
        yield connection
        assert connection.execute("SHOW search_path").fetchone() == (path,)


@contextlib.contextmanager
def by_adbc(server: Any, path: str) -> Iterator[Any]:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with dbapi.connect(_url(server)) as connection:
        with connection.cursor() as cursor:  # the driver reads pg_type when it connects
            cursor.execute(f"SET search_path = {path}")
        connection.commit()
        yield connection
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_catalog.current_setting('search_path')")
            assert cursor.fetchone() == (path,)


@contextlib.contextmanager
def by_sqlalchemy(server: Any, path: str) -> Iterator[Any]:
    import sqlalchemy

    pool = sqlalchemy.create_engine(_url(server).replace("postgresql:", "postgresql+psycopg:"))
    with pool.connect() as connection:
        connection.exec_driver_sql(f"SET search_path = {path}")
        connection.commit()
        yield connection
        assert connection.exec_driver_sql("SHOW search_path").scalar() == path
    pool.dispose()


@contextlib.contextmanager
def by_ibis(server: Any, path: str) -> Iterator[Any]:
    import ibis

    with by_psycopg(server, path, autocommit=True) as connection:
        yield ibis.postgres.from_connection(connection)


def _url(server: Any) -> str:
    return f"postgresql://tests@127.0.0.1:{server.server.port}/postgres"


CLIENTS: Clients = {
    "url": by_url,
    "psycopg": by_psycopg,
    "adbc": by_adbc,
    "sqlalchemy": by_sqlalchemy,
    "ibis": by_ibis,
}


@pytest.fixture
def uses(server: Any) -> Iterator[None]:
    """Check that no trap has been used, also where an error was handled."""
    yield
    assert not is_used(server)


def is_used(server: Any) -> bool:
    (row,) = server.run("SELECT (pg_stat_file('trapped', true)).size AS n_bytes")
    return row["n_bytes"] is not None


@pytest.mark.parametrize("path", PATHS)
def test_traps(server: Any, path: str) -> None:
    """Statements of an unsafe session use the objects of the schema."""
    import psycopg

    ordinary = {
        "SELECT attname FROM pg_catalog.pg_attribute WHERE attrelid = 1259 AND attnum > 0",
        "SELECT 1.5 > 1::bigint",
    }
    exact = {
        "SELECT set_config('TimeZone', 'UTC', true)",
        "SELECT to_regclass('evil.recs')",
        "SELECT name FROM pg_catalog.pg_settings WHERE name = 'work_mem'",
        "SELECT sum(1)",
        "SELECT row_number() OVER (ORDER BY 1)",
        "SELECT 1::int8 = 1::int8",
        "SELECT 'x'::text",
        "SELECT * FROM pg_settings",
    }
    with by_psycopg(server, path, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = on")  # as in a call
        for statement in ordinary | (exact if "," in path else set()):
            with pytest.raises(psycopg.Error, match=r"trap|row_number is not a window function"):
                connection.execute(statement)
    assert is_used(server)
    server.execute("COPY (SELECT 1) TO PROGRAM 'rm trapped'")


@pytest.mark.usefixtures("uses")
@pytest.mark.parametrize(
    ("client", "path"), [("psycopg", "evil"), *((client, "evil, pg_catalog") for client in CLIENTS)]
)
def test_no_call_uses_an_object_of_another_role(server: Any, client: str, path: str) -> None:
    given = {"columns": columns(awkward()), "where": {"users": "country = upper(country)"}}
    with (
        CLIENTS[client](server, path) as engine,
        Evaluator(**server.given, **given, engine=engine) as evaluator,
    ):
        assert len(evaluator.evaluate(["ndcg", "gini"], 5, by="country"))
        if client == "psycopg":  # the other clients send the same statements
            assert len(evaluator.evaluate([*OF_LISTS], 5))
            assert len(evaluator.compare("recall@5", baseline="als"))
            assert len(evaluator.check())
            # as docs/explanation/trust.md says for printed statements
            engine.execute("SET LOCAL search_path = pg_catalog, pg_temp")
            assert engine.execute(evaluator.sql("ndcg@5")).fetchall()
            engine.rollback()


@pytest.mark.usefixtures("uses")
@pytest.mark.parametrize("client", CLIENTS)
def test_names_are_looked_up_as_the_session_does(server: Any, client: str) -> None:
    with CLIENTS[client](server, "small, evil") as engine:
        # evil has tables of the same names, with another value
        assert evaluated("recs", "truth", engine=engine) == pytest.approx(MRR)
        assert evaluated("evil.recs", "evil.truth", engine=engine) == 1
        told = r"no table rec; did you mean 'recs'\?"
        with pytest.raises(sm.DataError, match=told):
            Evaluator("rec", engine=engine)
    with CLIENTS[client](server, "evil, pg_catalog, small") as engine:
        assert evaluated("recs", "truth", engine=engine) == 1
