"""Read GraphML and GEXF, as NetworkX, Gephi, yEd, igraph and APOC write them, as a property graph.

An edge's relation is its data named relation, predicate, type, label or edge label, its attribute `label`, or an id
that is a word, as NetworkX writes an edge's key; without any it is `linked_to`. A node's labels are APOC's `labels`, or
its data named kind or type. Aliases in one text are separated by `|` (GraphML has no lists; the separator is ours).
Elements are read one by one; entities are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BufferedReader
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element as Xml
from xml.parsers import expat

from ...engine.errors import InputError
from ...models import quote_line
from ..mapping import ALIASES, fold
from ..naming import XSD
from ..property_graph import (
    EDGE_RECORDS,
    ID,
    LINKED_TO,
    UNNAMED_EDGES,
    Element,
    LiteralText,
    Node,
    PropertyGraph,
    Relationship,
    pop_kind,
    pop_relation,
)
from ..reading import RereadableFile, read_pieces

_WORD = re.compile(r"[^\W\d_][^\W\d]{2,}")


class GraphmlGraph(PropertyGraph):
    """The graph in a file (``-`` is standard input), packed or plain."""

    kind = "graphml"
    unnamed_ids = EDGE_RECORDS
    needs_edges = True

    def __init__(self, path: str) -> None:
        self._file = RereadableFile(path)
        self.name = self._file.name
        self._num_unnamed = 0

    def notes(self) -> Mapping[str, int]:
        return {UNNAMED_EDGES: self._num_unnamed}

    def elements(self) -> Iterator[Element]:
        shown, form = self._file.shown, "GEXF" if self.kind == "gexf" else "GraphML"
        _refuse_entities(self._file)
        with self._file.open_buffered() as reader:
            try:
                yield from self._elements(reader, form)
            except ElementTree.ParseError as error:
                if "encoding" in str(error):
                    raise InputError(f"{shown}: its encoding is not read: {_CONVERT}") from error
                fault = str(error).partition(":")[0]
                raise InputError(f"{shown}:{error.position[0]}: expected {form}, found a fault: {fault}") from error
            except (ValueError, LookupError) as error:  # what expat makes of encodings that it does not know
                raise InputError(f"{shown}: its encoding is not read ({error}): {_CONVERT}") from error

    def _elements(self, reader: BufferedReader[Any], form: str) -> Iterator[Element]:
        reading = _Reading()
        is_graph = False
        self._num_unnamed = 0
        open_: list[Xml] = []
        for event, element in _events(reader):
            tag = _tag(element)
            if event == "start":
                is_graph = is_graph or tag == self.kind
                open_.append(element)
                continue
            open_.pop()
            if tag in ("key", "attribute"):
                reading.add_key(element, open_[-1])
            elif tag in ("node", "edge"):
                open_[-1].remove(element)
                found = reading.node(element) if tag == "node" else reading.edge(element)
                if found is None:
                    wants = "an id of a node" if tag == "node" else "a source and a target of an edge"
                    has = quote_line(str(element.attrib))
                    raise InputError(f"{self._file.shown}: expected {wants}, found none: {has}")
                self._num_unnamed = reading.num_unnamed
                yield found
        if not is_graph:
            raise InputError(f"{self._file.shown}: expected {form}, found another kind of XML")


def _events(reader: BufferedReader[Any]) -> Iterator[Any]:
    parser = ElementTree.XMLPullParser(("start", "end"))
    for piece in read_pieces(reader):
        parser.feed(piece)
        yield from parser.read_events()
    parser.close()
    yield from parser.read_events()


_CONVERT = "convert it to UTF-8, as by `iconv -t UTF-8`, and take `encoding` from its first line"


class GexfGraph(GraphmlGraph):
    """The same of GEXF."""

    kind = "gexf"


class _RootBeginsError(Exception):
    """Nothing is declared any more."""


def _refuse_entities(file: RereadableFile) -> None:
    """Raise `InputError` for a file that declares entities; of any other fault the reading says more."""
    parser = expat.ParserCreate()

    def refuse(name: str, *_: object) -> None:
        raise InputError(
            f"{file.shown}: expected a graph without entities of its own, found {quote_line(name)}: they are not read"
        )

    def stop(*_: object) -> None:
        raise _RootBeginsError

    parser.EntityDeclHandler, parser.StartElementHandler = refuse, stop
    with suppress(_RootBeginsError, expat.ExpatError, ValueError, LookupError), file.open_buffered() as reader:
        for piece in read_pieces(reader):
            parser.Parse(piece)


def _tag(element: Xml) -> str:
    return element.tag.rpartition("}")[2]


class _Key(NamedTuple):
    """The name and the type of data, and what elements without it have."""

    name: str
    type: str = ""
    default: str = ""


class _Reading:
    """Makes nodes and relationships of elements by the keys that were read before."""

    def __init__(self) -> None:
        self.num_unnamed = 0
        self._num_edges = 0
        self._keys: dict[tuple[str, str], _Key] = {}
        """By what they are of (node, edge or all) and their id."""

    def add_key(self, element: Xml, parent: Xml) -> None:
        id_ = element.get("id", "")
        of = element.get("for") or parent.get("class", "all")
        is_drawing = "yfiles.type" in element.attrib
        name = element.get("attr.name") or element.get("title") or ("" if is_drawing else id_)
        default = "".join(child.text or "" for child in element if _tag(child) == "default").strip()
        self._keys[of, id_] = _Key(name, element.get("attr.type") or element.get("type", ""), default)

    def node(self, element: Xml) -> Node | None:
        """Return a node; None without an id."""
        id_ = element.get("id", "")
        values = self._values(element)
        text = element.get("labels") or str(values.get("labels", ""))
        labels = [label for label in text.split(":") if label] if text.startswith(":") else []
        if labels:
            values.pop("labels", None)
        labels = labels or pop_kind(values)
        if label := element.get("label"):
            values.setdefault("label", label)
        return Node(id_, labels, [(ID, id_), *values.items()], ID) if id_ else None

    def edge(self, element: Xml) -> Relationship | None:
        """Return a relationship; None without both ends."""
        start, end = element.get("source", ""), element.get("target", "")
        values = self._values(element)
        if kind := element.get("kind"):
            values.setdefault("relation", kind)
        weight = element.get("weight", "1")
        if weight.removesuffix(".0") != "1":
            values.setdefault("weight", LiteralText(weight, f"{XSD}double"))
        id_ = element.get("id", "")
        relation = pop_relation(values) or element.get("label") or (id_ if _WORD.fullmatch(id_) else "")
        self.num_unnamed += not relation
        self._num_edges += 1
        properties = list(values.items())
        return (
            Relationship(f"edge/{self._num_edges}", relation or LINKED_TO, start, end, properties)
            if start and end
            else None
        )

    def _values(self, element: Xml) -> dict[str, Any]:
        """Return the data of a node or an edge, by name."""
        of = _tag(element)
        texts: dict[_Key, str] = {}
        for child in element.iter():
            tag = _tag(child)
            if tag == "data":
                texts[self._key(of, child.get("key", ""))] = child.text or ""
            elif tag == "attvalue":
                texts[self._key(of, child.get("for") or child.get("id", ""))] = child.get("value", "")
            elif tag in ("NodeLabel", "EdgeLabel"):
                texts[_Key("label")] = child.text or ""
        found = {key.name: _value(key, text.strip()) for key, text in texts.items() if key.name and text.strip()}
        for (of_, _), key in self._keys.items():
            if key.default and of_ in (of, "all") and key not in texts:
                found[key.name] = _value(key, key.default)
        return found

    def _key(self, of: str, id_: str) -> _Key:
        return self._keys.get((of, id_)) or self._keys.get(("all", id_)) or _Key(id_)


def _value(key: _Key, text: str) -> str | LiteralText | list[str]:
    if fold(key.name) in ALIASES:
        return [alias for alias in map(str.strip, text.split("|")) if alias]
    type_ = {"int": "integer", "long": "integer", "float": "double"}.get(key.type.lower(), key.type.lower())
    return LiteralText(text, f"{XSD}{type_}") if type_ in ("integer", "double", "boolean") else text
