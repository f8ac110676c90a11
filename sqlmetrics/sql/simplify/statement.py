"""A statement: its relations, and what follows from them as they are now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from sqlmetrics.sql.simplify.facts import HAS_ROWS, Facts, of_relation
from sqlmetrics.sql.simplify.origins import Origins
from sqlmetrics.sql.simplify.relations import Relation, relation_name
from sqlmetrics.sql.trees import find_all

# name of a relation -> the relations that read it, and their tables that stand for it
Readers: TypeAlias = dict[str, list[tuple[Relation, exp.Table]]]
_Pass: TypeAlias = Callable[[Relation, "Statement"], None]


class Statement:
    """The relations of a statement, each after those that it reads; the last is the result.

    A version of a relation is a hash of its query and of the versions of all relations that it
    reads: what follows from these queries stays true as long as the version stays.

    Attributes:
        relations: the relations.
        facts: what was certain of their rows when `each` was last there. Later passes change
            queries, but not their rows, so it stays true. (`ungroup` adds a row, for a reader that
            reads it as it read the missing one; it is the last to use facts.)
        origins: where columns come from.
    """

    def __init__(self, relations: list[Relation]) -> None:
        self.relations = relations
        self.facts: dict[str, Facts] = {}
        self.origins = Origins(relations)
        self._versions: dict[str, int] = {}
        self._tables: dict[str, tuple[exp.Expr, int, list[exp.Table]]] = {}
        self._facts: dict[int, Facts] = {}
        self._done: set[tuple[_Pass, int]] = set()

    def version(self) -> int:
        """Compute the version of all relations as they are now."""
        self._versions = {}
        for relation in self.relations:
            self._versions[relation.name] = self._version(relation)
        return hash(tuple(self._versions.values()))

    def _version(self, relation: Relation) -> int:
        """Compute the version of a relation from its query and the versions before it."""
        sources = [
            (self._versions.get(relation_name(table)), table.meta_get(HAS_ROWS))
            for table in self.tables(relation)
        ]
        return hash((relation.name, relation.tree, *sources))

    def tables(self, relation: Relation) -> list[exp.Table]:
        """Return the tables in a query."""
        tree, hash_, tables = self._tables.get(relation.name, (None, 0, []))
        if tree is not relation.tree or hash_ != hash(tree):
            tables = find_all(relation.tree, exp.Table)
            self._tables[relation.name] = relation.tree, hash(relation.tree), tables
        return tables

    def readers(self) -> Readers:
        """Find the places where relations are read, by name."""
        places: Readers = {relation.name: [] for relation in self.relations}
        for relation in self.relations:
            for table in self.tables(relation):
                name = relation_name(table)
                if name in places:
                    places[name].append((relation, table))
        return places

    def each(self, *passes: _Pass) -> None:
        """Apply passes to one relation after the other, each until nothing changes.

        A pass is left out where it had no effect on the same version before.
        """
        self.facts, self.origins, self._versions = {}, Origins(self.relations), {}
        for relation in self.relations:
            before, version = None, self._version(relation)
            while before != version and not relation.is_fixed:
                before = version
                for simplify in passes:
                    if (simplify, version) in self._done:
                        continue
                    simplify(relation, self)
                    new = self._version(relation)
                    if new == version:
                        self._done.add((simplify, version))
                    version = new
            if version not in self._facts:
                self._facts[version] = of_relation(relation, self.facts)
            self.facts[relation.name] = self._facts[version]
            self._versions[relation.name] = version
