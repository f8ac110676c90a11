"""Trace the values of columns to the relations that contain all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    equal_columns,
    is_outer,
    joins_of,
    parts_of,
    relation_name,
    tables_of,
    values_of,
)

# columns of one relation, in order
_Columns = tuple[str, tuple[str, ...]]


class Origins:
    """Follow columns through the relations of a statement."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self.selects: Mapping[str, exp.Select] = {
            relation.name: relation.select for relation in relations if relation.select is not None
        }
        self.unions: Mapping[str, Sequence[exp.Select]] = {
            relation.name: relation.branches() for relation in relations if relation.is_union
        }

    def is_found(self, select: exp.Select, join: exp.Join) -> bool:
        """Does every row of a SELECT find a row in a table that it joins by equal columns?"""
        pairs = [(own.name, other) for own, other in equal_columns(join) or []]
        return bool(pairs) and self._is_found(relation_name(join.this), pairs, select, join)

    def _is_found(
        self,
        name: str,
        pairs: Sequence[tuple[str, exp.Column]],
        select: exp.Select,
        join: exp.Join,
    ) -> bool:
        """Is there a row of a relation with the values of these columns of a SELECT?"""
        others = [other for _, other in pairs]
        complete = self._complete((name, tuple(column for column, _ in pairs)))
        if complete & self._of_columns(select, others, join):
            return True
        product = self.selects.get(name)
        if product is None or not _is_product(product):
            return False
        values = values_of(product)
        found = [(values.get(column), other) for column, other in pairs]
        return all(
            self._is_found(
                relation_name(table),
                [
                    (value.name, other)
                    for value, other in found
                    if isinstance(value, exp.Column) and value.table == alias_of(table)
                ],
                select,
                join,
            )
            for table in tables_of(product)
        )

    def _complete(self, columns: _Columns) -> set[_Columns]:
        """Find the columns of relations whose values are all in these columns."""
        result = {columns}
        select = self.selects.get(columns[0])
        if select is None or any(select.args.get(part) for part in ("joins", "where", "having")):
            return result
        expressions = values_of(select)
        values = [expressions.get(name) for name in columns[1]]
        group = select.args.get("group")
        if group is not None and any(value not in group.expressions for value in values):
            return result
        tables = tables_of(select)
        if len(tables) == 1 and all(isinstance(value, exp.Column) for value in values):
            source = _name_of(tables[0]), tuple(value.name for value in values if value)
            result |= self._complete(source)
        return result

    def _of_columns(
        self, select: exp.Select, columns: Sequence[exp.Column], without: exp.Join | None = None
    ) -> set[_Columns]:
        """Find the columns of relations that have all values of some columns in a SELECT."""
        tables = {alias_of(table): table for table in tables_of(select)}
        result: set[_Columns] = set()
        for alias, table in tables.items():
            if without is not None and table is without.this:
                continue
            own = [_equal_in(select, alias, column, without) for column in columns]
            if all(own):
                found = _name_of(table), tuple(filter(None, own))
                result |= {found} | self.of_relation(found)
        return result

    def of_relation(self, columns: _Columns) -> set[_Columns]:
        """Find the columns of other relations that have all values of columns of a relation.

        Values of one row are values of one row there.
        """
        if branches := self.unions.get(columns[0]):
            names = branches[0].named_selects
            if any(name not in names for name in columns[1]):  # in another case, for example
                return set()
            places = [names.index(name) for name in columns[1]]
            of_branches = [
                self._of_values(branch, [branch.selects[place].unalias() for place in places])
                for branch in branches
            ]
            return set.intersection(*of_branches)
        select = self.selects.get(columns[0])
        if select is None:
            return set()
        expressions = values_of(select)
        return self._of_values(select, [expressions.get(name) for name in columns[1]])

    def _of_values(self, select: exp.Select, values: Sequence[exp.Expr | None]) -> set[_Columns]:
        of_select = [value for value in values if isinstance(value, exp.Column)]
        return self._of_columns(select, of_select) if len(of_select) == len(values) else set()


def _is_product(select: exp.Select) -> bool:
    """Does a SELECT return every pair of rows of its tables?"""
    parts = ("where", "group", "having", "distinct", "limit")
    return len(tables_of(select)) == 2 and not (
        any(select.args.get(part) for part in parts)
        or any(join.kind != "CROSS" for join in joins_of(select))
    )


def _name_of(table: exp.Expr) -> str:
    """Return the name of a relation, or the text of a user's table."""
    if relation_name(table):
        return relation_name(table)
    bare = table.copy()
    bare.set("alias", None)
    return bare.sql()


def _equal_in(
    select: exp.Select, alias: str, column: exp.Column, without: exp.Join | None
) -> str | None:
    """Find the column of a table that is equal to a column in all rows of a SELECT."""
    if column.table == alias:
        return None if is_outer(select, alias) else str(column.name)
    for join in joins_of(select):
        if join.side or join is without:
            continue
        for part in parts_of(join.args.get("on")):
            if isinstance(part, exp.EQ):
                for own, other in ((part.this, part.expression), (part.expression, part.this)):
                    is_own = isinstance(own, exp.Column) and own.table == alias
                    if is_own and other == column and not is_outer(select, alias):
                        return str(own.name)
    return None
