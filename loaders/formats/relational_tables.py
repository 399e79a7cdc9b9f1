"""Find what tables mean as a property graph.

A table is a kind of node, a row a node, a column a property. A column that refers to another table's key is a
relationship; a table that only joins two others is one too, with its other columns as properties. Keys and references
are the declared ones. Else a key is a column whose values all differ, and a reference a column whose values are among
those of a key, where its name says so too: `customerID` and `ship_customer_id` refer to customers, `reportsTo` to its
own table. Two tables that share a key are one kind of thing and more of it: a row of both is one node with two labels.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

from ...engine.errors import UsageError
from ...models.wording import singularise
from .. import property_graph as graphs
from ..mapping import NO_LABEL, fold_key
from ..stage import translate_interrupts
from .columns import EndColumns, find_end_columns, words_of
from .tables import Column, Database, Reference, Table, quote_column_names, quote_name, read_tables

_KEY_ENDS = ("identifier", "number", "code", "uuid", "guid", "key", "id", "no", "nr", "fk", "ref")
_PLAIN_KEYS = ("id", "pk", "rowid", *_KEY_ENDS)
_END = re.compile(
    rf"(?:[_\-\s.]|(?<=[a-z\d])(?=[A-Z]))(?i:{'|'.join(_KEY_ENDS)}|name)s?$|(?<=[a-z]{{4}})ids?$|(?<=[A-Z]{{4}})IDS?$"
)
"""What a column of a key ends with, as customer_id, customerID and customerid do."""
_OWN = re.compile(
    r"(?i)parent|manager|boss|supervisor|reports?_?to|leader|superior|mentor|predecessor|successor|prerequisite|"
    r"previous|next|original|replaced|reply|spouse|partner"
)
"""What a column is called that refers to its own table."""
_SAYS_NOTHING = {"info", "detail", "list", "table", "map", "mapping", "rel", "relation", "link", "edge", "join", "xref"}
_MOST_MISSING = (0, 0, 0.1, 0.5)
"""The largest share of a column's values that the key lacks that it refers to, by how far names say that it does."""
_MOST_DIFFERING = 0.1
"""The largest share of things of which the rows of a table may say two things where one is to be expected."""
_MOST_UNKNOWN = 0.1
"""The largest share of a column's values that no key is where it is told that they are keys."""
LEAST_DISTINCT = 3
"""The fewest values that differ in a column of texts that refers to a table although its name does not say so."""


def label_of(name: str) -> str:
    """Return what a row of a table is: the table's words, the last one in the singular: order detail."""
    words = words_of(name)
    return " ".join([*words[:-1], singularise(words[-1])]) if words and words[-1] not in ("nodes", "node") else NO_LABEL


def _num_shared(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _stem(column: str) -> list[str]:
    """Return the words of a column without what says that it is a key."""
    while (shorter := _END.sub("", column)) not in (column, ""):
        column = shorter
    words = words_of(column)
    return [*words[:-1], singularise(words[-1])] if words else []


def relation_of(column: str) -> str:
    """Return what a column that refers to a table is called as a relation: supplierID is supplier."""
    return _END.sub("", column) or column


class TableGraph(graphs.PropertyGraph):
    kind = "tables"
    expected = "expected tables with rows, found none"
    keys_are_codes = True

    def __init__(self, database: Database, name: str, references: Sequence[str] = ()) -> None:
        super().__init__(name)
        self._database = database
        self._tables = database.tables
        for table in self._tables.values():
            table.root = table.name
            table.key = table.key or _guess_key(table)
            database.part_lists(table)
        self._find_edge_lists()
        self._find_named_columns()
        is_declared = any(table.references for table in self._tables.values() if table.is_declared)
        for each in references:
            self._add_reference(each)
        self._find_references(is_declared)
        for table in self._tables.values():
            table.key = table.key or self._find_wider_key(table)
        self._find_composite_references()
        self._find_joins()
        self._find_roots()
        self._name_kinds()

    def elements(self) -> Iterator[graphs.Element]:
        self.notes = Counter(self._database.notes)
        self.notes["tables without rows"] = sum(not table.num_rows for table in self._tables.values())
        for table in self._tables.values():
            yield from () if table.joins else self._rows(table)
            for reference in table.references:
                yield from self._missing_ends(table, reference)
        for table in self._tables.values():
            yield from self._joining_rows(table) if table.joins else self._referring_rows(table)

    def hints(self) -> Iterator[str]:
        """Yield the columns that are properties although nearly all of their values are keys of one table alone."""
        for table in self._tables.values():
            for name in [] if table.joins else table.properties:
                column = table.columns[name]
                if name in table.key or not self._may_refer(column) or column.num_distinct < LEAST_DISTINCT:
                    continue
                most = _MOST_UNKNOWN * column.num_distinct
                others = [each for each in self._tables.values() if len(each.key) == 1]
                holding = [each for each in others if self._num_missing(table, (name,), each) <= most]
                if len(holding) == 1:
                    given, target = f"{table.name}.{name}", holding[0].name
                    option = f"--reference {shlex.quote(f'{given}={target}')}"
                    yield f"the values of {given} are keys of {target}: {option} makes it a relation"

    # What tables mean

    def _add_reference(self, given: str) -> None:
        source, _, target = given.partition("=")
        name, _, column = source.rpartition(".")
        table, other = self._tables.get(name), self._tables.get(target)
        if table is None or other is None or column not in table.columns or len(other.key) != 1 or table.joins:
            known = (
                f"columns of {name} are {', '.join(table.columns)}"
                if table and other
                else f"tables are {', '.join(self._tables)}"
            )
            raise UsageError(
                f"--reference {given}: expected TABLE.COLUMN=TABLE, the last with a key of one column; {known}"
            )
        kept = [each for each in table.references if each.columns != (column,)]
        table.references = [*kept, Reference((column,), other.name, other.key)]

    def _find_edge_lists(self) -> None:
        for table in list(self._tables.values()):
            found = find_end_columns(list(table.columns))
            if found is None or any(
                table.columns[end].type not in (None, "integer") for end in next(iter(found.values()))
            ):
                continue
            table.key = tuple(name for name in table.key if fold_key(name) in _PLAIN_KEYS)
            suffix = self._key_of_ends(table, found)
            ends = found[suffix]
            targets = [other for other in self._tables.values() if other is not table and len(other.key) == 1]
            holding = [each for each in targets if not any(self._num_missing(table, (end,), each) for end in ends)]
            target = max(holding, key=lambda each: _num_shared(each.name, table.name), default=None)
            target = target or self._make_ends(table, found, suffix)
            for name in (name for pair in found.values() if pair != ends for name in pair):
                del table.columns[name]
            first, second = (Reference((end,), target.name, target.key) for end in ends)
            table.references, table.joins = [first, second], (first, second)
            plain = {fold_key(name): name for name in table.columns if name not in ends}
            texts = [name for name in plain.values() if table.columns[name].type is None]
            named = [plain[name] for name in graphs.RELATION_KEYS if plain.get(name) in texts]
            named = [name for name in named if not self._is_direction(table, name)] or (
                texts if len(plain) == 1 else []
            )
            table.relation_column = next(iter(named), "")

    def _is_direction(self, table: Table, name: str) -> bool:
        column = quote_name(name)
        of_all = f"SELECT coalesce(bool_and(lower({column}) IN ('directed', 'undirected')), false) FROM {table.view}"
        if is_one := bool(self._database.value(of_all)):
            del table.columns[name]
        return is_one

    def _key_of_ends(self, table: Table, found: EndColumns) -> str:
        for suffix, columns in found.items():
            others = [others for of, others in found.items() if of != suffix]
            if all(self._is_determined(table, columns[end], other[end], 0) for other in others for end in (0, 1)):
                return suffix
        return next(iter(found))

    def _make_ends(self, table: Table, found: EndColumns, suffix: str) -> Table:
        name = f"{table.name} nodes"
        called = {of: of or "id" for of in found} if len(found) > 1 else {suffix: "name"}
        chosen = " UNION ALL ".join(
            f"SELECT {', '.join(f'{quote_name(pair[end])} AS {quote_name(called[of])}' for of, pair in found.items())} "
            f"FROM {table.view}"
            for end in (0, 1)
        )
        made = self._make_table(
            name, f"({chosen})", called[suffix], [each for of, each in called.items() if of != suffix]
        )
        made.columns[called[suffix]].type = None
        return made

    def _make_table(self, name: str, of: str, key: str, others: Sequence[str]) -> Table:
        """Make a table of what a column of another has, with what other columns say of it."""
        said = "".join(f", any_value({quote_name(each)}) AS {quote_name(each)}" for each in others)
        rows = f"SELECT {quote_name(key)}{said} FROM {of} WHERE {quote_name(key)} IS NOT NULL GROUP BY 1 ORDER BY 1"
        made = self._database.add(name, self._database.connection.sql(rows), name)
        made.key, made.root = (key,), name
        return made

    def _find_named_columns(self) -> None:
        """Find things that a table has by two columns, an id and a name, as customerID and customerName: they get a
        table of their own, where there is none.
        """
        for table in [each for each in self._tables.values() if not each.joins]:
            own = _own_names(table, ())
            plain = {fold_key(name): name for name in table.columns}
            for name in list(table.columns):
                stem = " ".join(_stem(name))
                ends = [f"{fold_key(of)}{end}" for of in (stem, name) for end in ("name", "label", "title")]
                named = next((plain[each] for each in ends if each in plain and plain[each] != name), "")
                taken = own | {fold_key(label_of(each)) for each in self._tables}
                if (
                    not stem
                    or not named
                    or name in table.key
                    or fold_key(stem) in taken
                    or not self._is_id(table, name)
                ):
                    continue
                if self._is_determined(table, name, named, 0):
                    self._make_table(stem, table.view, name, [named])
                    del table.columns[named]
                    table.references.append(Reference((name,), stem, (name,)))

    def _is_id(self, table: Table, name: str) -> bool:
        column = quote_name(name)
        are_iris = f"SELECT coalesce(bool_and(contains({column}, '://')), false) FROM {table.view}"
        return fold_key(name).endswith(_KEY_ENDS) or bool(self._database.value(are_iris))

    def _find_references(self, is_declared: bool) -> None:
        by_fold = {fold_key(name): table for name, table in self._tables.items()}
        for table in self._tables.values():
            known = []
            for columns, target, to in table.references:
                other = by_fold.get(fold_key(target))
                if other is not None and (to or other.key):
                    known.append(Reference(columns, other.name, to or other.key))
            table.references = known
            taken = {name for reference in known for name in reference.columns}
            for name, column in [] if table.joins else table.columns.items():
                if name not in taken and (found := self._guess_reference(table, column, 2 if is_declared else 1)):
                    table.references.append(found)

    @staticmethod
    def _may_refer(column: Column) -> bool:
        return bool(column.num) and not column.is_list and column.type in (None, "integer")

    def _guess_reference(self, table: Table, column: Column, least: int) -> Reference | None:
        if not self._may_refer(column):
            return None
        found: list[tuple[int, int, Reference]] = []
        for other in self._tables.values():
            for target in _targets(other):
                evidence = _evidence(table, column, other, target)
                if evidence < least or (evidence == 1 and column.is_number != target.is_number):
                    continue
                missing = self._num_missing(table, (column.name,), other, (target.name,))
                if missing <= _MOST_MISSING[evidence] * column.num_distinct:
                    shared = _num_shared(other.name, table.name)
                    found.append((evidence, shared, Reference((column.name,), other.name, (target.name,))))
        return max(found, key=lambda each: each[:2])[2] if found else None

    def _num_missing(self, table: Table, columns: Sequence[str], other: Table, target: Sequence[str] = ()) -> int:
        return self._database.count_distinct(
            table, columns, f"EXCEPT SELECT {quote_column_names(target or other.key)} FROM {other.view}"
        )

    def _find_wider_key(self, table: Table) -> tuple[str, ...]:
        """Return the key of a table without a column whose values all differ.

        It is two or three columns together; or what a table is about, where its rows say several things of the same:
        river and traverse. Then all other columns but references say one thing for each.
        """
        if not table.num_rows or table.joins:
            return ()
        refers = [name for reference in table.references for name in reference.columns]
        about = [name for name in table.columns if fold_key(name) in _own_names(table, ("name", "title"))]
        for name in about if refers else ():
            others = {*table.columns} - {name, *refers}
            if table.columns[name].num == table.num_rows and all(self._is_determined(table, name, o) for o in others):
                return (name,)
        keys = [name for name in table.columns if fold_key(name).endswith(_KEY_ENDS)]
        likely = [*dict.fromkeys([*refers, *about, *keys])][:8]
        for names in chain(combinations(likely, 2), combinations(likely, 3)):
            if self._database.count_distinct(table, names) == table.num_rows:
                return names
        return ()

    def _is_determined(self, table: Table, name: str, other: str, most: float = _MOST_DIFFERING) -> bool:
        differing = self._database.value(
            f"SELECT count(*) FROM (SELECT 1 FROM {table.view} GROUP BY {quote_name(name)} "
            f"HAVING count(DISTINCT {quote_name(other)}) > 1)"
        )
        return int(differing) <= most * table.columns[name].num_distinct

    def _find_composite_references(self) -> None:
        for other in self._tables.values():
            if len(other.key) < 2:
                continue
            for table in self._tables.values():
                if table is other or not set(other.key) <= set(table.columns) or not table.num_rows:
                    continue
                if set(table.key) != set(other.key) and not self._num_missing(table, other.key, other):
                    kept = [each for each in table.references if not set(each.columns) <= set(other.key)]
                    table.references = [*kept, Reference(other.key, other.name, other.key)]

    def _find_roots(self) -> None:
        """Find tables whose key is another's: their rows are more of the same things."""
        for table in self._tables.values():
            for reference in [] if table.joins else list(table.references):
                other = self._tables[reference.table]
                if reference.columns == table.key and reference.target == other.key and other is not table:
                    table.references.remove(reference)
                    if self._root(other) is not table:
                        table.root = other.name
                        break

    def _root(self, table: Table) -> Table:
        while table.root != table.name:
            table = self._tables[table.root]
        return table

    def _find_joins(self) -> None:
        referred = {reference.table for table in self._tables.values() for reference in table.references}
        for table in self._tables.values():
            if len(table.references) != 2 or table.name in referred:
                continue
            refers = {name for reference in table.references for name in reference.columns}
            only_joins = set(table.columns) <= refers | set(table.key)
            is_surrogate = len(table.key) == 1 and (table.key[0] in refers or fold_key(table.key[0]) in _PLAIN_KEYS)
            if (len(table.key) != 1 and set(table.key) <= refers) or (only_joins and is_surrogate):
                table.joins = (table.references[0], table.references[1])

    def _name_kinds(self) -> None:
        """Give each table the label of its rows: the singular, or its own name where two would have the same."""
        labels = {name: label_of(name) for name in self._tables}
        often = Counter(labels.values())
        for name, table in self._tables.items():
            table.label = labels[name] if often[labels[name]] == 1 or not labels[name] else name

    def _relation(self, reference: Reference) -> str:
        (name, *more) = reference.columns
        return relation_of(name) if not more else self._tables[reference.table].label

    def _own_relation(self, table: Table, reference: Reference) -> str:
        """Return a reference's relation, with the table's label where another kind refers to the same one by it: the
        keeper of a clock is not that of a repair."""
        relation = self._relation(reference)
        others = (each for each in self._tables.values() if not each.joins and each.root != table.root)
        same = (each for other in others for each in other.references if each.table == reference.table)
        is_shared = table.label and any(fold_key(self._relation(each)) == fold_key(relation) for each in same)
        return f"{table.label} {relation}".replace(" ", "_") if is_shared else relation

    def _relation_of_join(self, table: Table) -> str:
        """Return the relation that a joining table is: its second end, or its own name between things of one kind."""
        assert table.joins
        first, second = table.joins
        if find_end_columns([name for each in table.joins for name in each.columns]):
            return graphs.LINKED_TO
        if first.table != second.table:
            return self._relation(second)
        words = [word for word in words_of(table.name) if singularise(word) not in _SAYS_NOTHING]
        return "_".join(words) or graphs.LINKED_TO

    # What rows are

    def _id(self, table: Table, values: Sequence[str]) -> str:
        root = self._root(table)
        return "/".join([*([root.label or root.name] if root.label else []), *values])

    def _rows(self, table: Table) -> Iterator[graphs.Node]:
        kind = "" if table.label else self._kind_column(table)
        key = table.key[0] if len(table.key) == 1 and table.root == table.name else ""
        for number, row in self._database.rows(table, list(table.columns)):
            if (id_ := self._id_of_row(table, number, row)) is None:
                self.notes["rows without a key"] += 1
            else:
                label = row[kind] if kind else table.label
                yield graphs.Node(id_, [label] if label else [], self._values(table, row, kind), key)

    def _kind_column(self, table: Table) -> str:
        texts = {
            fold_key(name): name for name, each in table.columns.items() if each.type is None and name not in table.key
        }
        is_named = not texts.keys().isdisjoint(("name", "title"))
        likely = (*graphs.KIND_KEYS, *(("label", "labels", "category") if is_named else ()))
        found = (texts[each] for each in likely if each in texts)
        return next((name for name in found if table.columns[name].num_distinct < table.num_rows), "")

    def _id_of_row(self, table: Table, number: int, row: Mapping[str, Any]) -> str | None:
        key = [row[name] for name in table.key] or [f"row {number}"]
        return None if None in key else self._id(table, key)

    def _referring_rows(self, table: Table) -> Iterator[graphs.Relationship]:
        ends = [(self._own_relation(table, each), self._find_end(each)) for each in table.references]
        for number, row in self._database.rows(table, list(table.columns)) if ends else ():
            id_ = self._id_of_row(table, number, row)
            for relation, find in ends:
                if id_ is not None and (other := find(row)) is not None:
                    yield graphs.Relationship("", relation, id_, other)

    def _joining_rows(self, table: Table) -> Iterator[graphs.Element]:
        assert table.joins
        find_start, find_end = map(self._find_end, table.joins)
        relation = self._relation_of_join(table)
        for number, row in self._database.rows(table, list(table.columns)):
            start, end = find_start(row), find_end(row)
            if start is None or end is None:
                self.notes["rows without both ends"] += 1
                continue
            own = row[table.relation_column] if table.relation_column else ""
            yield graphs.Relationship(f"{table.name}/{number}", own or relation, start, end, self._values(table, row))

    def _values(self, table: Table, row: Mapping[str, Any], but: str = "") -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for name in table.properties:
            if name != but and (value := row[name]) is not None:
                type_ = table.columns[name].type
                found.append((name, graphs.LiteralText(value, f"{graphs.XSD}{type_}") if type_ else value))
        return found

    def _find_end(self, reference: Reference) -> Callable[[Mapping[str, Any]], str | None]:
        """Return what finds the id of the node that a row refers to."""
        other = self._tables[reference.table]
        keys: dict[tuple[str, ...], Sequence[str]] = {}
        if reference.target != other.key:
            rows = self._database.rows(other, [*dict.fromkeys([*reference.target, *other.key])])
            keys = {(row[reference.target[0]],): [row[name] for name in other.key] for _, row in rows}

        def find(row: Mapping[str, Any]) -> str | None:
            values = tuple(row[name] for name in reference.columns)
            found = None if None in values else values if reference.target == other.key else keys.get(values)
            return self._id(other, found) if found else None

        return find

    def _missing_ends(self, table: Table, reference: Reference) -> Iterator[graphs.Node]:
        other = self._tables[reference.table]
        if len(other.key) != 1 or reference.target != other.key or other.joins:
            return
        name, key = reference.columns[0], other.key[0]
        column = quote_name(name)
        missing = f"WHERE {column} IS NOT NULL EXCEPT SELECT {quote_name(key)} FROM {other.view} ORDER BY 1"
        for (value,) in self._database.connection.execute(f"SELECT {column} FROM {table.view} {missing}").fetchall():
            self.notes[f"values of {table.name}.{name} that {other.name} lacks"] += 1
            yield graphs.Node(self._id(other, [value]), [other.label] if other.label else [], [(key, value)], key)


def _own_names(table: Table, ends: Sequence[str]) -> set[str]:
    own = {
        fold_key(table.name),
        fold_key(label_of(table.name)),
        fold_key((label_of(table.name).split() or [""])[-1]),
    } - {""}
    return own | {f"{name}{end}" for name in own for end in ends}


def _guess_key(table: Table) -> tuple[str, ...]:
    own, names = _own_names(table, _KEY_ENDS), {"name", "title"} | _own_names(table, ("name", "title"))
    found: list[tuple[int, int, str]] = []
    for place, (name, column) in enumerate(table.columns.items()):
        plain = fold_key(name)
        is_first = place == 0 and column.type in (None, "integer") and column.num_chars <= 40
        if not table.num_rows or column.num != table.num_rows or column.num_distinct != table.num_rows:
            continue
        ranks = (
            plain in _PLAIN_KEYS or plain in own,
            is_first and plain.endswith(_KEY_ENDS),
            plain in names,
            is_first,
            plain.endswith(_KEY_ENDS),
        )
        if any(ranks) and not column.is_list and column.type not in ("decimal", "double"):
            found.append((ranks.index(True), place, name))
    return (min(found)[2],) if found else ()


def _targets(table: Table) -> list[Column]:
    names = {"name", "title"} | _own_names(table, ("name", "title"))
    found = dict.fromkeys(table.key if len(table.key) == 1 else ())
    for name, column in table.columns.items() if table.key else ():
        if fold_key(name) in names and column.num_distinct == column.num == table.num_rows:
            found[name] = None
    return [table.columns[name] for name in found]


def _evidence(table: Table, column: Column, other: Table, target: Column) -> int:  # noqa: PLR0911 - a line a sign
    """Return how far names say that a column refers to a column: 3 plainly, 1 if only the values can, 0 not at all."""
    plain, stem, own = fold_key(column.name), _stem(column.name), label_of(other.name).split()
    if table is other:
        return 2 if column.name != target.name and _OWN.search(column.name) else 0
    is_own_key = table.key == (column.name,)
    if is_own_key and stem == label_of(table.name).split():
        return 0
    if stem and stem == own:
        return 3
    if plain == fold_key(target.name) and plain not in ("name", "title", *_PLAIN_KEYS):
        return 3
    if is_own_key:
        return 0
    if stem and own and (stem[-len(own) :] == own or own[-len(stem) :] == stem):
        return 2
    if column.is_number:
        return int(bool(stem and own) and len(stem[0]) >= 4 and own[-1].startswith(stem[0]))
    is_text = column.num_distinct >= LEAST_DISTINCT and column.num_chars >= 2 and not plain.endswith("name")
    return int(is_text)


# The files of `neo4j-admin database import`: the header says what columns are, `personId:ID,name,:LABEL`. APOC's export
# is the same in one file: `_id,_labels,name,_start,_end,_type`.

_HEADER = re.compile(r"(?P<name>[^:]*):(?P<kind>[A-Za-z_]+)(?P<array>\[\])?(?:\((?P<group>[^)]*)\))?(?:\{.*\})?")
_BY_APOC = {"_id": ":ID", "_labels": ":LABEL", "_start": ":START_ID", "_end": ":END_ID", "_type": ":TYPE"}
_ENDS = {"ID", "START_ID", "END_ID", "LABEL", "TYPE", "IGNORE"}


class _Role(NamedTuple):
    """What a column is: one of `_ENDS`, or empty for a property; the group of its ids; whether it holds lists."""

    column: str
    name: str
    kind: str = ""
    group: str = ""
    is_list: bool = False


def _roles(table: Table) -> list[_Role]:
    found = []
    for column in table.columns:
        called = _BY_APOC.get(column, column)
        name, kind, array, group = parts.groups() if (parts := _HEADER.fullmatch(called)) else (called, "", "", "")
        found.append(_Role(column, name or "id", kind if kind in _ENDS else "", group or "", bool(array)))
    return found


class AdminGraph(graphs.PropertyGraph):
    kind = "tables"
    expected = "expected files of nodes with a column :ID, found none"

    def __init__(self, database: Database, name: str) -> None:
        super().__init__(name)
        self._database = database

    def elements(self) -> Iterator[graphs.Element]:
        self.notes = Counter(self._database.notes)
        tables = [(table, _roles(table)) for table in self._database.tables.values()]
        for table, roles in sorted(tables, key=lambda each: not any(role.kind == "ID" for role in each[1])):
            for number, row in self._database.rows(table, list(table.columns)):
                yield from self._element(table, number, {role: row[role.column] for role in roles})

    def _element(self, table: Table, number: int, row: Mapping[_Role, Any]) -> Iterator[graphs.Element]:
        special = {role.kind: value for role, value in row.items() if role.kind}
        ids = {role.kind: f"{role.group}/{value}".removeprefix("/") for role, value in row.items() if value}
        values = [
            (role.name, _value(table, role, value))
            for role, value in row.items()
            if value is not None and role.kind in ("", "ID")
        ]
        if "ID" not in ids and ("START_ID" in special or "END_ID" in special):
            type_ = special.get("TYPE", table.name)
            if "START_ID" in ids and "END_ID" in ids and type_:
                yield graphs.Relationship(f"{table.name}/{number}", type_, ids["START_ID"], ids["END_ID"], values)
            else:
                self.notes["rows without both ends"] += 1
        elif "ID" in ids:
            labels = [label for label in re.split("[;:]", special.get("LABEL", table.name) or "") if label]
            yield graphs.Node(ids["ID"], labels, values, next(role.name for role in row if role.kind == "ID"))
        else:
            self.notes["rows without an id"] += 1


def _value(table: Table, role: _Role, value: str) -> Any:
    if role.is_list:
        return [item for item in value.split(";") if item]
    type_ = table.columns[role.column].type
    return graphs.LiteralText(value, f"{graphs.XSD}{type_}") if type_ else value


def open_tables(path: str, references: Sequence[str] = ()) -> TableGraph | AdminGraph:
    """Return the graph of the tables in a folder or file. references: such as ``boats.owned_by=persons``."""
    name = "stdin" if path == "-" else Path(path).name
    with translate_interrupts():
        database = read_tables(path)
        kinds = {role.kind for table in database.tables.values() for role in _roles(table)}
        is_plain = kinds.isdisjoint(("ID", "START_ID"))
        if references and not is_plain:
            raise UsageError(f"--reference {references[0]}: the headers of these tables say what refers to what")
        return TableGraph(database, name, references) if is_plain else AdminGraph(database, name)
