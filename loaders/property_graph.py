"""Turn a property graph into statements as a mapping says: its nodes and relationships with their properties.

The graph is read once: into a temporary file, while it is surveyed. Then a mapping is found, and the file is mapped.
A relationship with properties is an unnamed record of its own: start and end hang on it by the relationship's type, so
that walking through it is one hop, as through Freebase's mediators.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date, time
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from ..engine.data_model import XSD
from ..engine.errors import InputError
from ..engine.progress import Progress, ignore_progress
from ..engine.writing import RelationMetadata
from ..engine.writing.changing import LiteralValue
from . import mapping as mappings
from . import source as source_rows
from .mapping import MAX_NUMBERS, NO_LABEL, Choices, LabelMapping, PropertySample, Survey, fold_key
from .reading import RereadableFile, write_spool_file
from .source import Source, StatementRow

TYPE = "type"  # the relation between a node and its labels
LINKED_TO = "linked_to"  # the relation of edges that have no type
UNNAMED_EDGES = "edges without a relation, which are called linked_to"
ID = "id"  # the property that has a node's id, by which it is called without a name
EDGE_RECORDS = r"edge/\d+"  # the ids of the records that edges with properties are
RELATION_KEYS = ("relation", "predicate", "type", "label", "edgelabel", "relationship")
"""What the property of an edge is called that is its relation."""
KIND_KEYS = ("kind", "type", "nodetype", "entitytype")  # what the property of a node is called that is its label


_NUMBERED = re.compile(r"[A-Za-z]{0,2}[-_:]?\d+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\d+(?:[-/]\d+)*")
"""Keys that say nothing without the kind of thing that has them."""


_WORDED = re.compile(r"(?=.*[^\W\d_]{3})[^@/\\:<>{}]{3,80}")
"""Texts that may be names, whatever their property is called."""


class Node(NamedTuple):
    """A node; `key` is the property that is known to be its key."""

    id: str
    labels: Sequence[str]
    properties: Sequence[tuple[str, Any]] = ()
    key: str = ""


class Relationship(NamedTuple):
    """A relationship; `id` is that of the record that it is where it has properties."""

    id: str
    type: str
    start: str
    end: str
    properties: Sequence[tuple[str, Any]] = ()


Element = Node | Relationship


class PropertyGraph(ABC):
    kind: str
    unnamed_ids: str | None = None  # as a `Source` has it: None where all names are given
    needs_edges = False
    expected = "expected nodes, found none"  # what is said of a graph without nodes
    keys_are_codes = False  # whether short texts that are keys are what people call things, such as ALFKI

    def __init__(self, name: str, shown: str = "") -> None:
        self.name = name
        self.shown = shown or name  # as messages name it
        self.options: Mapping[str, object] = {}  # where it is, as plain data for JSON
        self.notes: Counter[str] = Counter()  # what was left out or assumed when it was read, with counts

    @abstractmethod
    def elements(self) -> Iterator[Element]:
        """Yield its nodes, then its relationships."""

    def hints(self) -> Iterator[str]:
        """Yield what may be meant otherwise than it is read, with the option that says so."""
        yield from ()


class EdgeGraph(PropertyGraph):
    """A graph of nodes and edges with data, among which are their kinds and relations; edges need no ids."""

    unnamed_ids = EDGE_RECORDS
    needs_edges = True
    _num_edges = 0

    def node(self, id_: str, values: dict[str, Any], labels: Sequence[str] = ()) -> Node:
        """Return the node with this data; its label is among them where none is given."""
        is_kind = (key for key, value in values.items() if fold_key(key) in KIND_KEYS and isinstance(value, str))
        if not labels and (kind := next(is_kind, None)):
            labels = [values.pop(kind)]
        return Node(id_, labels, [(ID, id_), *values.items()], ID)

    def edge(self, start: str, end: str, values: dict[str, Any], relation: object = "") -> Relationship:
        """Return the edge with this data; its relation is among them, else `relation` if that is a text."""
        by_name = {fold_key(key): key for key in reversed(values)}
        named = next((by_name[name] for name in RELATION_KEYS if name in by_name), None)
        relation = str(values.pop(named)) if named else relation if isinstance(relation, str) else ""
        self.notes[UNNAMED_EDGES] += not relation
        self._num_edges += 1
        return Relationship(f"edge/{self._num_edges}", relation or LINKED_TO, start, end, [*values.items()])


class FileGraph(EdgeGraph):
    """The graph in a file (``-`` is standard input), packed or plain."""

    def __init__(self, path: str) -> None:
        self._file = RereadableFile(path)
        super().__init__(self._file.name, self._file.shown)


SAMPLE_SIZE = 1_000  # values of each property of a label that are looked at


def _sample(key: str, values: Sequence[Any]) -> PropertySample:
    types = Counter(map(_type_of, values))
    texts = [value.text if isinstance(value, LiteralText) else str(value) for value in values]
    return PropertySample(
        key,
        max(types, key=lambda each: (types[each], each), default="STRING"),
        len(values),
        len({text[:200] for text in texts}),
        max((len(value) for value in values if isinstance(value, list)), default=0),
        sum(map(len, texts)) / max(len(texts), 1),
        sum(_WORDED.fullmatch(text) is not None for text in texts),
    )


def _type_of(value: object) -> str:
    if isinstance(value, list):
        return f"LIST<{_type_of(value[0]) if value else 'STRING'}>"
    if isinstance(value, LiteralText):
        return value.type
    names = ((bool, "BOOLEAN"), (int, "INTEGER"), (float, "FLOAT"), (str, "STRING"))
    return next((name for type_, name in names if isinstance(value, type_)), "OTHER")


NO_CHOICES = Choices()


class PropertyGraphSource(Source):
    """A property graph, which is read now, mapped as guessed or as a file says, and as options change that.

    It is kept in a temporary file, with its values as literals. The survey has counts of everything, and samples of
    each property. Raises `InputError` for a graph without nodes, or without edges where these make it.
    """

    def __init__(
        self,
        graph: PropertyGraph,
        choices: Choices = NO_CHOICES,
        mapping_file: Path | None = None,
        progress: Progress = ignore_progress,
    ) -> None:
        given = mappings.read_mapping(mapping_file) if mapping_file else None  # a fault in it is told at once
        self.kind, self.name, self.unnamed_ids = graph.kind, graph.name, graph.unnamed_ids
        self._graph = graph
        self._progress = progress
        self._values: dict[tuple[str, str], list[Any]] = {}
        self._kinds: dict[str, tuple[str, ...]] = {}
        """The labels of each node, of one that comes twice those with its key."""
        self._hash = hashlib.sha256()
        self.survey = Survey({}, {})
        self._file = write_spool_file(self._write, "the graph")
        for (label, name), sample in self._values.items():
            self.survey.labels[label].samples[name] = _sample(name, sample)
        num_nodes = self.survey.num_nodes
        if not num_nodes or (graph.needs_edges and not self.survey.num_relationships):
            expected = f"expected edges, found none and {num_nodes:,} nodes" if graph.needs_edges else graph.expected
            raise InputError(f"{graph.shown}: {expected}")
        self.mapping = mappings.resolve_mapping(self.survey, choices, given, mapping_file)
        self._left_out: Counter[str] = Counter()
        self._only_some = set(self.mapping.labels) != set(self.survey.labels)
        """Whether labels are left out, so that relationships of their nodes are, too."""
        self._kept: set[str] = set()  # the nodes that are read, where not all are
        self._mapped: dict[tuple[str, ...], list[tuple[str, LabelMapping]]] = {}

    def _write(self, file: IO[bytes]) -> None:
        for number, each in enumerate(self._graph.elements(), 1):
            self._look_at(each)
            properties = [(key, [*read_literals(value)]) for key, value in each.properties]
            line = json.dumps(each._replace(properties=properties), ensure_ascii=False).encode("utf-8", "replace")
            self._hash.update(line)
            file.write(line + b"\n")
            if number % source_rows.BATCH_ROWS == 0:
                self._progress("fetching", number, 0)

    def _look_at(self, each: Element) -> None:
        found = {key: value for key, value in each.properties if value is not None}
        if isinstance(each, Relationship):
            of_type = self.survey.relationships.setdefault(each.type, mappings.TypeFacts())
            of_type.num += 1
            of_type.num_with_keys += bool(found)
            of_type.keys.update(found.keys())
            of_type.start_labels.update(self._kinds.get(each.start, ()))
            of_type.end_labels.update(self._kinds.get(each.end, ()))
            return
        self.survey.num_nodes += 1
        if each.key or each.id not in self._kinds:
            self._kinds[each.id] = tuple(each.labels)
        for label in each.labels or (NO_LABEL,):
            new = mappings.LabelFacts(key_is_code=self._graph.keys_are_codes)
            facts = self.survey.labels.setdefault(label, new)
            facts.num += 1
            facts.key = facts.key or (each.key if each.key in found else "")
            facts.keys.update(found.keys())
            for name, value in found.items():
                values = self._values.setdefault((label, name), [])
                if len(values) < SAMPLE_SIZE:
                    values.append(value)

    def _elements(self) -> Iterator[Element]:
        self._file.seek(0)
        for line in self._file:
            fields: list[Any] = json.loads(line)
            is_node = isinstance(fields[1], list)
            place = 2 if is_node else 4
            fields[place] = [(key, [LiteralText(*each) for each in found]) for key, found in fields[place]]
            yield Node(*fields) if is_node else Relationship(*fields)

    def digest(self) -> str:
        return source_rows.hash_source(self.kind, asdict(self.mapping), [self._hash.hexdigest()])

    def options(self) -> Mapping[str, object]:
        return self._graph.options

    @property
    def left_out(self) -> Mapping[str, int]:
        return {what: num for what, num in (self._left_out + self._graph.notes).items() if num}

    def preview(self) -> tuple[dict[str, Any], Iterator[str]]:
        """Return what becomes of each label and type, as plain data and as lines."""
        found, hints = (self.survey, self.mapping), [*self._graph.hints()]
        lines = chain(mappings.describe_mapping(*found), ["hints"] * bool(hints), (f"  {each}" for each in hints))
        return {**mappings.describe_mapping_as_json(*found), "hints": hints}, lines

    def parts(self) -> Iterator[source_rows.Part]:
        yield source_rows.SourceRowBatches(self.name, source_rows.record_batches(self._rows()))

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        types = self.survey.relationships
        return {type_: RelationMetadata(range=types[type_].ends[1] or None) for type_ in self.mapping.relationships}

    def _rows(self) -> Iterator[StatementRow]:
        self._left_out = Counter()
        nodes = (each for each in self._elements() if isinstance(each, Node)) if self._only_some else ()
        self._kept = {node.id for node in nodes if self._map_labels(tuple(node.labels))}
        if self.mapping.types:
            yield from (source_rows.name_row(0, label, label) for label in self.mapping.labels if label)
        for number, each in enumerate(self._elements(), 1):
            yield from self._of_node(number, each) if isinstance(each, Node) else self._of_relationship(number, each)

    def _of_node(self, line: int, node: Node) -> Iterator[StatementRow]:
        mapped = self._map_labels(tuple(node.labels))
        if not mapped:
            self._left_out["nodes"] += 1
            return
        if self.mapping.types:
            yield from (source_rows.triple_row(line, node.id, TYPE, label) for label, _ in mapped if label)
        texts = {key: [each.text.strip() for each in found] for key, found in node.properties}
        named_by = next((each.name for _, each in mapped if any(texts.get(key) for key in each.name)), ())
        if named_by:
            yield source_rows.name_row(line, node.id, " ".join(texts[key][0] for key in named_by if texts.get(key)))
        elif numbered := next(((label, each.key) for label, each in mapped if texts.get(each.key)), None):
            label, key = numbered
            text = texts[key][0]
            name = f"{label[:1].upper()}{label[1:]} {text}" if label and _NUMBERED.fullmatch(text) else text
            yield source_rows.name_row(line, node.id, name)
        aliases = dict.fromkeys(key for _, each in mapped for key in each.aliases if key not in named_by)
        other_names = [text for key in named_by for text in texts.get(key, [])[1:]] if len(named_by) == 1 else []
        other_names += [text for key in aliases for text in texts.get(key, [])]
        yield from (source_rows.alias_row(line, node.id, text) for text in other_names)
        keys = {each.key for _, each in mapped}
        kept = {key for _, each in mapped for key in each.kept}.difference(named_by, aliases, keys)
        others = [(key, found) for key, found in node.properties if key not in {*aliases, *named_by, *keys}]
        yield from self._literals(line, node.id, others, kept)

    def _of_relationship(self, line: int, found: Relationship) -> Iterator[StatementRow]:
        keys = self.mapping.relationships.get(found.type)
        if keys is None or (self._only_some and not self._kept >= {found.start, found.end}):
            self._left_out["relationships"] += 1
            return
        literals = [*self._literals(line, found.id, found.properties, keys)]
        if literals:
            yield source_rows.triple_row(line, found.start, found.type, found.id)
            yield source_rows.triple_row(line, found.id, found.type, found.end)
            yield from literals
        else:
            yield source_rows.triple_row(line, found.start, found.type, found.end)

    def _map_labels(self, labels: tuple[str, ...]) -> list[tuple[str, LabelMapping]]:
        if labels not in self._mapped:
            known = self.mapping.labels.items()
            self._mapped[labels] = [(label, each) for label, each in known if label in (labels or (NO_LABEL,))]
        return self._mapped[labels]

    def _literals(
        self, line: int, head: str, properties: Sequence[tuple[str, list[LiteralText]]], kept: Collection[str]
    ) -> Iterator[StatementRow]:
        for key, found in properties:
            if key not in kept:
                self._left_out["properties"] += 1
            elif not found:
                self._left_out["values that are no literals"] += 1
            else:
                yield from (StatementRow(line, "triple", head, key, each.text, True, each.datatype) for each in found)


WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"


class LiteralText(NamedTuple):
    text: str
    datatype: str | None = None

    @property
    def type(self) -> str:
        name = (self.datatype or "").removeprefix(XSD)
        return {"": "STRING", "integer": "INTEGER", "decimal": "FLOAT", "double": "FLOAT"}.get(name, name.upper())


def read_literals(value: object) -> Iterator[LiteralText]:
    """Yield the literals of a property's value: one of a scalar, one of each distinct item of a list.

    Bytes, vectors and blank texts have none. Times are in ISO 8601, points in well-known text: longitude or x first.
    """
    if isinstance(value, list):
        if len(value) > MAX_NUMBERS and isinstance(value[0], int | float):
            return
        yield from dict.fromkeys(found for item in value for found in read_literals(item))
    elif (found := _literal_of(value)) is not None:
        yield found


def _literal_of(value: object) -> LiteralText | None:
    match value:
        case LiteralText():
            return value
        case str():
            return LiteralText(value) if value.strip() else None
        case bool() | int() | float() | Decimal() | date() | time():
            found = LiteralValue.of(value)
            return LiteralText(found.value, found.datatype)
        case Point():
            parts = " ".join(repr(part).removesuffix(".0") for part in value)
            return LiteralText(f"POINT{' Z' if len(value) > 2 else ''}({parts})", WKT)
        case DateTime() | Date() | Time() | Duration():
            kind = {DateTime: "dateTime", Date: "date", Time: "time"}.get(type(value), "duration")
            text = value.iso_format()
            if "." in text and kind in ("dateTime", "time"):  # zeros that end the fraction of seconds
                text = re.sub(r"\.?0*(?=$|[Z+-]\d*:?\d*$)", "", text, count=1)
            return LiteralText(text, f"{XSD}{kind}")
    return None
