"""Slices: groups of users or of relevant items with separate values.

A slice of users is a part of the audience. Per-user values are averaged over the users in the
slice; metrics with one value for a run are computed from the lists of these users alone. A slice of
items is a part of the ground truth: only the relevant items in the slice count, while lists and
ranks stay complete. A user therefore counts in every slice that contains one of their items.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sqlmetrics.errors import (
    DataError,
    MissingTableError,
    SqlmetricsWarning,
    TemplateError,
    UsageError,
    issue,
    suggestion,
)
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Slice, template_root
from sqlmetrics.metrics.requests import MetricCall, cutoff_context
from sqlmetrics.metrics.spec import MetricSpec, Value, parse_spec
from sqlmetrics.plan.bins import Bins, parse_bins
from sqlmetrics.plan.planner import Planner
from sqlmetrics.rows import Rows
from sqlmetrics.sql.binding import input_node
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables.levels import Levels, levels_of
from sqlmetrics.tables.runs import RUN
from sqlmetrics.tables.schema import (
    ROUND,
    Source,
    SourceColumn,
    Table,
    is_number,
    of_row,
    type_family,
    unreadable_column,
)
from sqlmetrics.texts.messages import Argument, Message, give, how_to_give, set_to
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd

FEW_USERS = 30  # below, the interval of a mean covers it too rarely: see docs/explanation

_ALL = "(all)"  # in the column of a slice, for rows of all its values

Frame = TypeVar("Frame", "pd.DataFrame", "Rows")
"""The rows of a result: a data frame, or plain values."""

_CLOSE = 0.85  # similarity of a name to that of a slice that counts as a slip
_USER_TABLES = ("users", "recommendations", "interactions")
_ROUND_TABLES = ("logs", "users")
_ITEM_TABLES = ("items", "interactions")
_OF_ROUNDS = (
    "rounds of the logs have no relevant items to slice by; slice them by a column of logs or "
    "users, or by activity"
)
# columns of results
_TAKEN = [
    "model", "convention", "metric", "k", "value", "n_users", "std", "ci_low", "ci_high",
    "n_runs", "std_runs", "n_clusters", "standard_error",
    "baseline", "baseline_value", "difference", "relative", "wins", "ties", "losses", "test",
    "p_value", "p_adjusted", "effect_size",
    # further columns in the queries of comparisons
    "position", "gap", "interval_low", "interval_high", "n_extreme", "n_resamples", "n_nonzero",
    "positive_ranks", "negative_ranks", "tie_term", "few_ranks",
]  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """An attribute to slice by: a column of a table, or a query of `sql_templates/slices`.

    `of` is "users", "items", "interactions" (items of one user) or "lists" (the run of the model
    that made the list). `bins` divide a column of numbers. `levels` are the values of an ordered
    categorical column.
    """

    name: str
    of: str
    table: str = ""
    template: Slice | None = None
    params: Mapping[str, Value] = field(default_factory=dict)
    bins: Bins | None = None
    levels: Levels = ()

    @property
    def is_key(self) -> bool:
        """Return whether the slices are the values of a column that identifies a list."""
        return self.template is None and not self.table

    @property
    def is_plain(self) -> bool:
        """Return whether the slices are the values of a column."""
        return self.template is None and self.bins is None

    @property
    def is_ordered(self) -> bool:
        """Return whether the slices have an order other than that of text or numbers."""
        return self.template is not None or self.bins is not None or bool(self.levels)

    @property
    def built_in(self) -> bool:
        """Return whether the attribute is a built-in query."""
        return self.template is not None and template_root() in self.template.path.parents

    @property
    def is_of_every_item(self) -> bool:
        """Return whether each item of the interactions of a user has one row in the query."""
        return self.of == "interactions" and (self.is_plain or self.built_in)

    @property
    def is_single(self) -> bool:
        """Return whether no user, or no item of a user, is in several slices."""
        return self.of in ("users", "lists") or self.is_of_every_item

    @property
    def missing(self) -> str:
        """Return the name of the slice of users or items without a value."""
        return Slice.missing if self.template is None else self.template.missing


def attributes_of(
    by: str | Iterable[str] | None,
    by_item: str | Iterable[str] | None,
    catalog: Catalog,
    tables: Mapping[str, Table],
    user_keys: Sequence[str],
) -> list[Attribute]:
    """Find the attribute for each name in `by` and `by_item`.

    Raises:
        UsageError: a name is unknown, ambiguous or the name of a result column.
        MissingTableError: the table of the column was not given.
    """
    named = [("by", name) for name in _names(by, "by")]
    named += [("by_item", name) for name in _names(by_item, "by_item")]
    if ROUND in user_keys and named and named[-1][0] == "by_item":
        raise UsageError(f"by_item: {_OF_ROUNDS}")
    attributes = [
        _key(name, option, tables, user_keys)
        or _attribute(name, option, catalog, tables, user_keys)
        for option, name in named
    ]
    for position, attribute in enumerate(attributes):
        if ROUND in user_keys and attribute.of in ("items", "interactions"):
            raise UsageError(f"by: {attribute.name} has slices of items; {_OF_ROUNDS}")
        is_key = attribute.name.lower() in (key.lower() for key in user_keys)
        if is_key and len(user_keys) > 1 and not attribute.is_key:
            raise UsageError(
                f"by: {attribute.name} is a column of the key, which all tables of users share; "
                f"write {attribute.name} without a table"
            )
        if attribute.name.lower() in _TAKEN or (is_key and not attribute.is_key):
            raise UsageError(
                f"by: {attribute.name} is also the name of a result column; rename the column of "
                "the table, or read the table through a view with another column name"
            )
        if any(attribute.name.lower() == other.name.lower() for other in attributes[:position]):
            raise UsageError(f"by: {attribute.name} is given twice; remove one of them")
    return attributes


def attribute_of_clusters(
    name: str, catalog: Catalog, tables: Mapping[str, Table], user_keys: Sequence[str]
) -> Attribute:
    """Find the column of clusters called `name`.

    Raises:
        UsageError: there is no such column, or it is not a column with one value per list.
        MissingTableError: the table of the column was not given.
    """
    (column,) = _names(name, "cluster")
    own = next((key for key in user_keys if key.lower() == column.lower()), None)
    if own is not None:
        return Attribute(own, "users")
    _key(column, "cluster", tables, user_keys)  # model and run are not attributes
    attribute = _attribute(column, "cluster", catalog, tables, user_keys)
    if attribute.of != "users" or not attribute.is_plain:
        raise UsageError(
            f"cluster: {name} is not a column with one value per list; name a column of the key, "
            "of users, recommendations, interactions or logs"
        )
    return attribute


def _names(names: str | Iterable[str] | None, option: str) -> list[str]:
    if names is None:
        return []
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    for name in listed:
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"{option}: {name!r} is not the name of a column or slice")
    return [str(name).strip() for name in listed]


def _key(
    name: str, option: str, tables: Mapping[str, Table], user_keys: Sequence[str]
) -> Attribute | None:
    """Return the attribute of the run, or of a column of the key, if the key has several."""
    if name.lower() == "model":
        raise UsageError(f"{option}: model is already in each row of the result; omit it")
    lists = tables.get("recommendations")
    has_runs = lists is not None and RUN in lists.columns
    if has_runs and name.lower() in (RUN, f"recommendations.{RUN}"):
        if option == "by_item":
            raise UsageError("by_item: runs have lists, not items of their own; use by instead")
        return Attribute(RUN, "lists")
    own = next((key for key in user_keys if key.lower() == name.lower()), None)
    return Attribute(own, "users") if own and option == "by" and len(user_keys) > 1 else None


def _attribute(
    name: str,
    option: str,
    catalog: Catalog,
    tables: Mapping[str, Table],
    user_keys: Sequence[str],
) -> Attribute:
    """Find the attribute called `name`; `option` is by or by_item, for messages."""
    of_items = option == "by_item"
    if name.partition("(")[0].strip().lower() not in catalog.slices:
        binned = parse_bins(name, option)
        if binned is not None:
            column, bins = binned
            attribute = _attribute(column, option, catalog, tables, user_keys)
            return _binned(attribute, bins, name, option, tables)
    is_id = name.lower() in ("item_id", *(key.lower() for key in user_keys))
    of_users = _ROUND_TABLES if ROUND in user_keys else _USER_TABLES
    owners = [
        owner
        for owner in (_ITEM_TABLES if of_items else of_users)
        if owner in tables
        and _has(tables[owner].sources[0], name)
        and not (of_items and owner == "interactions" and is_id)
    ]
    # a table of scores is read as recommendations and as interactions
    owners = list({tables[owner].sources[0].label: owner for owner in reversed(owners)}.values())[
        ::-1
    ]
    if not (owners or of_items) and "logs" in tables and _has(tables["logs"].sources[0], name):
        owners = ["logs"]
    template = catalog.slices.get(name.lower())
    if template is not None and of_items and template.of == "users":
        template = None
    if len(owners) + (template is not None) > 1:
        options = [f"{owner}.{name}" for owner in owners]
        options += [f"{template.name}()"] if template else []
        there = [f"a column of {owner}" for owner in owners]
        there += ["a slice of the package"] if template else []
        raise UsageError(f"{option}: {name} is {' and '.join(there)}; write {' or '.join(options)}")
    if owners:
        return _column(owners[0], name, name, option, tables)
    table, dot, column = name.partition(".")
    if dot and "(" not in table:
        if of_items and table not in _ITEM_TABLES:
            raise UsageError(
                f"by_item: {name} is not a column of items or interactions; use by instead"
            )
        return _column(table, column, name, option, tables)
    try:
        call = parse_spec(name)
    except UsageError:
        call = MetricSpec(name)
    template = catalog.slices.get(call.metric)
    if template is None or (of_items and template.of == "users"):
        home = "items" if of_items else "users"
        is_new = name.isidentifier() and not _is_slip(name, catalog.slices)
        if is_new and home in tables and _only_named(tables[home]):
            return _column(home, name, name, option, tables)  # the name declares the column
        raise _unknown(name, option, catalog, tables, ROUND in user_keys)
    if call.cutoff is not None:
        raise UsageError(f"{option}: {name}: slices have no cutoffs; remove @k")
    for param in (param for param, _ in call.params if param not in template.params):
        close = suggestion(param, template.params)
        raise UsageError(f"{option}: {name}: {template.name} has no parameter {param!r}{close}")
    given = dict(call.params)
    params = {
        param.name: param.parse(given.get(param.name, param.default), f"{option}: {name}")
        for param in template.params.values()
    }
    return Attribute(template.name, template.of, template=template, params=params)


def _binned(
    attribute: Attribute, bins: Bins, asked: str, option: str, tables: Mapping[str, Table]
) -> Attribute:
    for source in tables[attribute.table].sources:
        held = _found(source, attribute.name).type
        if not (is_number(of_row(held)) or source.only_named):
            raise UsageError(
                f"{option}: {asked}: the column {attribute.name} of {source.label} has the type "
                f"{held}, but only numbers can be divided; remove the parentheses to slice by its "
                "values"
            )
    return replace(attribute, bins=bins)


def _is_slip(name: str, slices: Iterable[str]) -> bool:
    """Return whether a name is that of a slice but for a slip."""
    from difflib import get_close_matches

    return bool(get_close_matches(name.lower(), list(slices), 1, _CLOSE))


def _only_named(table: Table) -> bool:
    return all(source.only_named for source in table.sources)


def _has(source: Source, name: str) -> bool:
    return source.find(name) is not None or name in source.unread


def _column(
    table: str, name: str, asked: str, option: str, tables: Mapping[str, Table]
) -> Attribute:
    of = "items" if table == "items" else "users"
    if option == "by_item" and table == "interactions":
        of = "interactions"
    known = (*_USER_TABLES, "logs", "items")
    if table not in known:
        raise UsageError(
            f"{option}: {asked}: columns to slice by are in {', '.join(known)}, not in "
            f"{table!r}{suggestion(table, known)}"
        )
    for source, column in columns_there(table, name, f"{option}: {asked}", option, tables):
        if column.type.startswith(("STRUCT", "MAP", "UNION")) or (of != "items" and column.is_list):
            raise DataError(
                f"{table}, column {name}: the type in {source.label} is {column.type}, which "
                "cannot define slices; export one value per row"
            )
    return Attribute(name, of, table, levels=levels_of(tables[table].sources, name))


def columns_there(
    table: str, name: str, what: str, option: str, tables: Mapping[str, Table]
) -> Iterator[tuple[Source, SourceColumn]]:
    """Yield the sources of a table with a column of theirs; `what` was asked for, by an option.

    Raises:
        MissingTableError: the table was not given.
        UsageError, DataError: a source has no such column, or it cannot be read.
    """
    if table not in tables:
        raise MissingTableError(
            f"{what} is in the table {table}, which was not given",
            table=table,
            column=name,
            remedy=how_to_give(table),
        )
    for source in tables[table].sources:
        column = source.find(name) or source.assume(name)
        if column is None and name in source.unread:
            raise unreadable_column(table, name, source.unread[name])
        if column is None:
            raise UsageError(
                f"{option}: {source.label} ({table}) has no column {name!r}"
                f"{suggestion(name, source.types)}; it has {listed(source.types)}"
            )
        yield source, column


def _unknown(
    name: str, option: str, catalog: Catalog, tables: Mapping[str, Table], of_rounds: bool
) -> UsageError:
    of_items = option == "by_item"
    of_users = _ROUND_TABLES if of_rounds else _USER_TABLES
    owners = [t for t in (_ITEM_TABLES if of_items else of_users) if t in tables]
    columns = {owner: list(tables[owner].sources[0].types) for owner in owners}
    slices = [
        slice_.name
        for slice_ in catalog.slices.values()
        if (slice_.of == "users" and not of_items) or (slice_.of != "users" and not of_rounds)
    ]
    items = tables.get("items")
    if (
        not (of_items or of_rounds)
        and items is not None
        and items.sources[0].find(name) is not None
    ):
        other = Argument("by_item", name)
        hint = Message(f"; it is a column of items: write items.{name}, or ", other)
    else:
        known = [*(c for names in columns.values() for c in names), *slices]
        hint = Message(suggestion(name, known).rstrip("?"))
    absent = "items" if of_items else "users"
    if named := [owner for owner in owners if _only_named(tables[owner])]:
        forms = " or ".join(f"{owner}.{name}" for owner in named)
        close = suggestion(name, slices).rstrip("?")
        hint = Message(f"{close}; for a column of a table that is only named, write {forms}")
    elif absent not in tables:
        hint = Message(hint, f"; the table {absent} was not given (", give(absent), ")")
    there = [f"columns of {owner}: {listed(names)}" for owner, names in columns.items()]
    known_names = "; ".join([*there, f"slices: {', '.join(slices)}"])
    where = "by" if of_items else option
    return UsageError(f"{where}: unknown column or slice {name!r}", hint, f"; {known_names}")


@dataclass(frozen=True)
class SliceColumn:
    """A column with the names of slices, as text.

    Attributes:
        attribute: the attribute whose values are the names.
        column: the name of the column in queries; results have that of the attribute.
        node: the query with the values, or with names in the column `label`; None for the run and
            for a column of the key, which the rows have.
        source: the name of this query where it is joined.
        value: the column of this query.
        position: the column with the sort keys of slices; empty if slices sort by their names.
        types: the types of the values; none for names.
    """

    attribute: Attribute
    column: str
    node: Node | None = field(repr=False)
    source: str
    value: str
    position: str
    types: Sequence[str]

    @property
    def name(self) -> str:
        """Return the name of the column of results."""
        return self.attribute.name

    @property
    def table(self) -> str:
        """Return the name of the query with one row per slice."""
        return {"users": "slice_names", "lists": "models"}.get(
            self.attribute.of, "item_slice_names"
        )

    @property
    def is_text(self) -> bool:
        """Return whether the values are text, as booleans are once they are read."""
        return all(type_ in ("VARCHAR", "BOOLEAN") for type_ in self.types)

    @property
    def is_complete(self) -> bool:
        """Return whether all rows have a value, or the label of those without one."""
        attribute = self.attribute
        return attribute.is_key or (attribute.is_of_every_item and not attribute.is_plain)

    @property
    def is_quoted(self) -> bool:
        """Return whether a value may be the text (all)."""
        if not self.attribute.is_plain:
            return not self.attribute.built_in and self.attribute.bins is None
        return not all(
            is_number(type_) or type_.startswith(("BOOLEAN", "DATE", "TIME"))
            for type_ in self.types
        )


class Slicing:
    """The slices of a run: their users or items, and their names.

    Args:
        planner: plans queries without slices.
        attributes: the attributes to slice by.
        combinations: whether to slice also by all subsets of the attributes.
        values: settings for the stages that built-in slices read.
    """

    def __init__(
        self,
        planner: Planner,
        attributes: Sequence[Attribute],
        combinations: bool,
        values: Mapping[str, Any],
    ) -> None:
        self.planner = planner
        self.combinations = combinations
        self.values = {**values, **cutoff_context([None])}
        self.attributes = list(attributes)
        self.of_users = [attribute for attribute in attributes if attribute.of == "users"]
        self.of_lists = [attribute for attribute in attributes if attribute.of == "lists"]
        others = (*self.of_users, *self.of_lists)
        self.of_items = [attribute for attribute in attributes if attribute not in others]
        self._known: dict[bool, list[SliceColumn]] = {}  # of users, and of items

    def check_settings(self, calls: Iterable[MetricCall]) -> None:
        """Check that metrics have the settings that the slices need.

        Raises:
            UsageError: a metric has another value of such a setting.
        """
        for attribute, call in itertools.product(self.attributes, calls):
            only_with = {} if attribute.template is None else attribute.template.only_with
            for name, needed in only_with.items():
                if call.values[name] != needed["value"]:
                    raise UsageError(
                        f"by: {attribute.name} has no meaning for {call.name}: {needed['why']}",
                        remedy=Message("set ", set_to(name, needed["value"])),
                    )

    # ---- nodes ---------------------------------------------------------------------------------

    def sliced(
        self,
        rows: Node,
        names: Sequence[str],
        name: str,
        of_users: bool = True,
        with_positions: bool = False,
    ) -> Node:
        """Repeat rows for every slice of their users (or of their users and items).

        `names` are the columns of `rows`; the names of the slices are added, and their sort keys.
        """
        columns = [
            replace(column, source="members") if column.node is rows else column
            for column in self.columns(of_users)
        ]
        others = {column.source: column for column in columns if column.source != "members"}
        subsets = itertools.product((0, 1), repeat=len(columns)) if self.combinations else ()
        return self.planner.rendered(
            "sliced",
            {
                "members": rows,
                **{source: column.node for source, column in others.items() if column.node},
            },
            name=name,
            names=names,
            of_users=of_users,
            repeats=any(not column.attribute.is_single for column in columns),
            slice_columns=columns,
            joined={
                source: [identifier(key) for key in self._keys(column.attribute)]
                for source, column in others.items()
            },
            with_positions=with_positions,
            rollups=list(subsets),
        )

    def slices(self, members: Sequence[Node], of_users: bool) -> tuple[Node, Node]:
        """Plan the members of every slice and the names of the slices.

        `members` are queries whose users (or relevant items) are assigned to slices.
        """
        keys = self.member_keys(of_users)
        # of the items of interactions, a query with their values has one row each
        columns = () if of_users else self.columns(of_users)
        every = next((one.node for one in columns if one.attribute.is_of_every_item), None)
        every = every or self.planner.members(
            members, "sliced_users" if of_users else "sliced_items", keys, of_users
        )
        name = "slices" if of_users else "item_slices"
        slices = named = self.sliced(every, keys, name, of_users)
        if any(column.position for column in self.columns(of_users)):
            named = self.sliced(every, [], "slice_positions", of_users, with_positions=True)
        return slices, self.names(named, of_users)

    def names(self, sliced: Node, of_users: bool) -> Node:
        """Plan the names of the slices of some rows, from `sliced`, with their sort keys."""
        return self.planner.rendered(
            "slice_names",
            {"slices": sliced},
            name="slice_names" if of_users else "item_slice_names",
            slice_columns=self.columns(of_users),
        )

    def member_keys(self, of_users: bool) -> list[str]:
        """Return the columns that identify the user, or the user and relevant item, of a row.

        The user is included also for slices of items alone, so that a slice and its user come from
        one table. With two tables, an engine might join on the slice without the user.
        """
        keys = list(self.planner.user_keys)
        return keys if of_users else [*keys, "item_id"]

    def _keys(self, attribute: Attribute) -> list[str]:
        users = self.planner.keys_of_rows(attribute.table)
        return {"users": users, "items": ["item_id"], "interactions": [*users, "item_id"]}[
            attribute.of
        ]

    def columns(self, of_users: bool) -> list[SliceColumn]:
        """Return the columns with the names of slices of users, or of items."""
        if of_users not in self._known:
            named = ("slice", self.of_users) if of_users else ("item_slice", self.of_items)
            self._known[of_users] = self._columns(*named)
        return self._known[of_users]

    @property
    def columns_of_lists(self) -> list[SliceColumn]:
        """Return the columns of lists that are slices: the run, by its own name and values."""
        return [
            SliceColumn(one, one.name, None, "members", one.name, "", []) for one in self.of_lists
        ]

    def _columns(self, name: str, attributes: Sequence[Attribute]) -> list[SliceColumn]:
        columns: list[SliceColumn] = []
        nodes: list[Node] = []
        for number, attribute in enumerate(attributes, start=1):
            if attribute.is_key:
                columns.append(self._of_key(attribute, number, name, len(attributes) > 1))
                continue
            node, types = self.values_of(attribute), []
            nodes += [node] if node not in nodes else []
            if attribute.is_plain:
                sources = self.planner.tables[attribute.table].sources
                types = [of_row(_found(source, attribute.name).type) for source in sources]
            column = SliceColumn(
                attribute,
                name if len(attributes) == 1 else f"{name}_{number}",
                node,
                f"values_{nodes.index(node) + 1}",
                identifier(self._value(attribute)) if attribute.is_plain else "label",
                f"position_{number}",
                types,
            )
            has_position = not isinstance(node, Query) or "position" in node.columns
            if column.is_text and not attribute.levels and (types or not has_position):
                column = replace(column, position="")
            columns.append(column)
        return columns

    def _of_key(
        self, attribute: Attribute, number: int, name: str, is_numbered: bool
    ) -> SliceColumn:
        home = self.planner.home
        if attribute.name == ROUND:
            self.planner.inputs.require(home, ROUND)
        source = self.planner.tables[home].sources[0]
        types = [of_row(_found(source, attribute.name).type)]
        return SliceColumn(
            attribute,
            f"{name}_{number}" if is_numbered else name,
            None,
            "members",
            identifier(attribute.name),
            "" if types == ["VARCHAR"] else f"position_{number}",
            types,
        )

    def _value(self, attribute: Attribute) -> str:
        """Return the name of a column in the query with its values: its own, unless it is a key."""
        keys = {key.lower() for key in self._keys(attribute)}
        return "value" if attribute.name.lower() in keys else attribute.name

    def values_of(self, attribute: Attribute) -> Node:
        """Plan the values to slice by, with the keys of their users or items.

        Returns: a query with the values of a column, beside those of the other columns of users of
            the same table; for bins and templates, a query with `label` and maybe `position`.
        """
        if attribute.template is None:
            of_users = attribute.of == "users"
            together = [attribute]
            if of_users and attribute.is_plain:
                same = (other for other in self.of_users if other.is_plain and not other.is_key)
                together = [other for other in same if other.table == attribute.table]
            names = {other.name: self._value(other) for other in together}
            bins = attribute.bins
            return self.planner.rendered(
                "attribute_values" if bins is None else "binned_values",
                {"attribute": self.read(attribute, names if bins is None else None)},
                name=f"values_of_{attribute.table if len(together) > 1 else attribute.name}",
                of_users=of_users,
                one_value=attribute.of != "items",
                attribute_keys=[*map(identifier, self._keys(attribute))],
                **(
                    {"values": [*map(identifier, names.values())]}
                    if bins is None
                    else {"bins": bins.cases, "n_groups": bins.groups}
                ),
            )
        template = attribute.template
        values = {**self.values, **attribute.params}
        planner = self.planner.stages.of_checks(self.planner)  # for rounds: one of their users
        try:
            text = planner.text(template, values)
            node = planner.bound(template.name, text, values)
        except MissingTableError as error:
            message = Message(f"by: {attribute.name}: ", error)
            raise MissingTableError(message, table=error.table, column=error.column) from error
        expected = [*self._keys(attribute), "label", "position"]
        if node.columns not in (expected, expected[:-1]):
            raise TemplateError(
                f"{template.path}: the query must return the columns {', '.join(expected)}, "
                f"not {', '.join(node.columns)}"
            )
        return node

    def uneven(self, attribute: Attribute) -> Plan:
        """Plan a query for users with several values of a column or rows of a slice query."""
        if attribute.template is not None:
            reads: dict[str, Node] = {"attribute": self.values_of(attribute)}
            return Plan(self.planner.rendered("repeated_users", reads))
        keys = [identifier(key) for key in self._keys(attribute)]
        reads = {"attribute": self.read(attribute)}
        return Plan(self.planner.rendered("uneven_attribute", reads, attribute_keys=keys))

    def named_missing(self, attribute: Attribute) -> Plan:
        """Plan a query for the values of a column that are the name of rows without a value."""
        reads = {"attribute": self.read(attribute)}
        return Plan(self.planner.rendered("named_missing", reads, missing=attribute.missing))

    def is_text(self, attribute: Attribute) -> bool:
        """Return whether a column may hold any text."""
        if not attribute.is_plain or attribute.is_key or attribute.levels:
            return False
        sources = self.planner.tables[attribute.table].sources
        return any(type_family(_found(source, attribute.name).type) == "text" for source in sources)

    def read(self, attribute: Attribute, names: Mapping[str, str] | None = None) -> Query:
        """Plan the reading of columns with the key columns of their table.

        `names` maps columns of the table to names in the query; by default, that of the attribute
        is called `value`.
        """
        names = names or {attribute.name: "value"}
        keys = self._keys(attribute)
        sources = [
            {"relation": source.relation, "about": [_found(source, key) for key in keys],
             "read": [(_found(source, name), own) for name, own in names.items()],
             "where": source.where}
            for source in self.planner.tables[attribute.table].sources
        ]  # fmt: skip
        context = {**self.planner.keys.context, "table": attribute.table, "sources": sources}
        text = render_file("inputs/attribute", context)
        name = f"{'_and_'.join(names)}_of_{attribute.table}"
        return input_node(name, text, attribute.table)


def _found(source: Source, name: str) -> SourceColumn:
    column = source.find(name) or source.assume(name)
    assert column is not None
    return column


def warn_of_empty_slices(frame: Frame, sliced_by: Iterable[Attribute]) -> None:
    """Warn if no row has a value of a column, which may mean that ids do not match."""
    for attribute in sliced_by:
        labels = set(frame[attribute.name]) - {_ALL}
        if attribute.table and labels == {attribute.missing}:
            who = "user" if attribute.of == "users" else "relevant item"
            problem = f"by: no {who} has a value of {attribute.name} in the table {attribute.table}"
            issue(
                SqlmetricsWarning(
                    problem,
                    table=attribute.table,
                    column=attribute.name,
                    remedy="check that the table has rows, and that its ids match those of the "
                    "other tables",
                )
            )


def small_slices(
    frame: Frame, sliced_by: Sequence[Attribute]
) -> tuple[dict[tuple[str, ...], int], int]:
    """Return the slices with too few users to say anything, the smallest first.

    Returns: the labels of each slice with its number of users, and the number of all slices; slices
        of users or items without a value do not count.
    """
    names = [attribute.name for attribute in sliced_by]
    missing = [attribute.missing for attribute in sliced_by]
    sizes: dict[tuple[str, ...], int] = {}
    for n_users, *labels in zip(frame["n_users"], *(frame[name] for name in names), strict=True):
        is_named = all(label != none for label, none in zip(labels, missing, strict=True))
        if is_named and hasattr(n_users, "__index__"):  # missing for values of the whole run
            sizes[*labels] = max(int(n_users), sizes.get((*labels,), 0))
    ordered = sorted(sizes.items(), key=lambda known: known[1])
    return {labels: size for labels, size in ordered if size < FEW_USERS}, len(sizes)


def warn_of_small_slices(frame: Frame, sliced_by: Sequence[Attribute]) -> None:
    """Warn if a slice whose values are compared has too few users to say anything."""
    small, n_slices = small_slices(frame, sliced_by)
    if small:
        least, size = next(iter(small.items()))
        names = [attribute.name for attribute in sliced_by]
        slice_ = ", ".join(f"{name}={label}" for name, label in zip(names, least, strict=True))
        issue(
            SqlmetricsWarning(
                f"gap: {len(small)} of {n_slices} slices have fewer than {FEW_USERS} users, such "
                f"as {slice_} with {size}; differences of this size can come by chance",
                remedy=Message(
                    "look at the p_value, and at the interval with ", Argument("ci", "bootstrap")
                ),
            )
        )
