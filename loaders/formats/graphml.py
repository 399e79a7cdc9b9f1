"""Read GraphML and GEXF, as NetworkX, Gephi, yEd, igraph and APOC write them, as a property graph.

An edge's relation is its data named relation, predicate, type, label or edge label, its attribute `label`, or an id
that is a word, as NetworkX writes an edge's key; without any it is `linked_to`. A node's labels are APOC's `labels`, or
its data named kind or type. Aliases in one text are separated by `|` (GraphML has no lists; the separator is ours).
Elements are read one by one, in time linear in the size of the file; entities are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.parsers import expat

from ...engine.errors import InputError
from ...models.message_text import quote_line
from ..mapping import ALIASES, Choices, Survey, fold
from ..property_graph import (
    LINKED_TO,
    XSD,
    Element,
    LiteralText,
    Node,
    PropertyGraph,
    PropertyGraphSource,
    Relationship,
    map_graph,
    survey_elements,
)
from ..reading.files import RereadableFile

RELATION_KEYS = ("relation", "predicate", "type", "label", "edgelabel", "relationship")
KIND_KEYS = ("kind", "type", "nodetype", "entitytype")
ID = "id"
"""The property that has a node's id, by which it is called without a name."""

EDGE_RECORDS = r"edge/\d+"
"""The ids of the records that edges with properties are."""

_BLOCK_BYTES = 1 << 20
_WORD = re.compile(r"[^\W\d_][^\W\d]{2,}")


class XmlGraph(PropertyGraph):
    """The graph in a file (``-`` is standard input), packed or plain."""

    unnamed_ids = EDGE_RECORDS

    def __init__(self, path: str, kind: str = "graphml") -> None:
        self.kind = kind
        self._file = RereadableFile(path)
        self.name = self._file.name
        self._notes: Counter[str] = Counter()

    def survey(self) -> Survey:
        found = survey_elements(self.elements(), ID)
        if not found.num_relationships:
            raise InputError(f"{self._file.shown}: expected edges, found none and {found.num_nodes:,} nodes")
        return found

    def digest(self) -> str:
        return self._file.digest()

    def notes(self) -> Mapping[str, int]:
        return self._notes

    def elements(self) -> Iterator[Element]:
        reading = _Gexf() if self.kind == "gexf" else _Graphml()
        shown, form = self._file.shown, "GEXF" if self.kind == "gexf" else "GraphML"
        with self._file.translate_faults(reading.line), self._file.open_unpacked() as stream:
            at_end = False
            while not at_end:
                block = stream.read(_BLOCK_BYTES) or b""
                at_end = not block
                try:
                    reading.parser.Parse(block, at_end)
                except expat.ExpatError as error:
                    fault = expat.ErrorString(error.code)
                    if "encoding" in fault:
                        raise InputError(f"{shown}: its encoding is not read: {_CONVERT}") from error
                    raise InputError(f"{shown}:{error.lineno}: expected {form}, found a fault: {fault}") from error
                except (ValueError, LookupError) as error:  # what expat makes of encodings that it does not know
                    raise InputError(f"{shown}: its encoding is not read ({error}): {_CONVERT}") from error
                except _ElementError as error:
                    raise InputError(f"{shown}:{reading.line()}: {error}") from error
                yield from reading.found
                reading.found.clear()
        if not reading.is_graph:
            raise InputError(f"{shown}: expected {form}, found another kind of XML")
        self._notes = Counter({"edges without a relation, which are called linked_to": reading.num_unnamed})


_CONVERT = "convert it to UTF-8, as by `iconv -t UTF-8`, and take `encoding` from its first line"


def graphml_source(path: str) -> PropertyGraphSource:
    """Return the source of a GraphML file with the mapping that is guessed."""
    return map_graph(XmlGraph(path), Choices())


def gexf_source(path: str) -> PropertyGraphSource:
    """Return the source of a GEXF file with the mapping that is guessed."""
    return map_graph(XmlGraph(path, "gexf"), Choices())


class _ElementError(Exception):
    """What an element lacks, or what is refused."""


class _Key(NamedTuple):
    """The name and the type of data, which elements it is of, and what those have that say nothing."""

    name: str
    type: str = ""
    of: str = "all"
    default: str = ""


@dataclass(slots=True)
class _Open:
    """A node or an edge that is read: its attributes, and its data by name, each as pieces of text."""

    tag: str
    attributes: Mapping[str, str]
    data: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def texts(self) -> dict[str, str]:
        joined = ((name, "".join(pieces).strip()) for name, pieces in self.data.items())
        return {name: text for name, text in joined if text}


class _Reading:
    """The parser's state, and the finished elements. A form of XML says what its elements mean by `start` and `end`."""

    root = ""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = lambda name, attributes: self._start(name.rpartition(" ")[2], attributes)
        self.parser.EndElementHandler = lambda name: self._end(name.rpartition(" ")[2])
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse_entity
        self.found: list[Element] = []
        self.num_unnamed = 0
        self.is_graph = False
        self.keys: dict[tuple[str, str], _Key] = {}
        self.open: list[_Open] = []
        """The open nodes and edges, nested if graphs are."""
        self.pieces: list[str] | None = None
        """Where text goes."""
        self._num_edges = 0

    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def end(self, tag: str) -> None:
        raise NotImplementedError

    def begin_data(self, key: _Key) -> None:
        """Take the text that follows as data of the open element."""
        open_ = self.open[-1]
        self.pieces = open_.data[key.name] = []
        open_.types[key.name] = key.type

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == self.root:
            self.is_graph = True
        elif tag in {"node", "edge"}:
            self.open.append(_Open(tag, attributes))
            self.pieces = None
        else:
            self.start(tag, attributes)

    def _end(self, tag: str) -> None:
        if tag in {"node", "edge"}:
            self.pieces = None
            (self._end_node if tag == "node" else self._end_edge)(self.open.pop())
        else:
            self.end(tag)

    def _text(self, text: str) -> None:
        if self.pieces is not None:
            self.pieces.append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise _ElementError(
            f"expected a graph without entities of its own, found {quote_line(name)}: they are not read"
        )

    def _end_node(self, node: _Open) -> None:
        id_ = node.attributes.get("id", "")
        if not id_:
            raise _ElementError(f"expected an id of a node, found none: {_describe(node)}")
        texts = self._with_defaults(node)
        said = node.attributes.get("labels") or next(
            (texts.pop(key) for key in list(texts) if key.lower() == "labels" and texts[key].startswith(":")), ""
        )
        labels = [label for label in said.split(":") if label]
        if said:
            texts.pop("labels", None)
        kinds = ((key, text) for key, text in texts.items() if not labels and fold(key) in KIND_KEYS)
        if kind := next(kinds, None):
            labels = [kind[1]]
            texts.pop(kind[0])
        if label := node.attributes.get("label"):
            texts.setdefault("label", label)
        self.found.append(Node(id_, labels, [(ID, id_), *_values(texts, node.types)]))

    def _end_edge(self, edge: _Open) -> None:
        start, end = (edge.attributes.get(end, "") for end in ("source", "target"))
        if not start or not end:
            raise _ElementError(f"expected a source and a target of an edge, found none: {_describe(edge)}")
        texts = self._with_defaults(edge)
        by_name = {fold(key): key for key in reversed(texts)}
        named = next((by_name[key] for key in RELATION_KEYS if key in by_name), None)
        relation = texts.pop(named) if named is not None else ""
        label, id_ = (edge.attributes.get(name, "") for name in ("label", "id"))
        relation = relation or label or (id_ if _WORD.fullmatch(id_) else "")
        self.num_unnamed += not relation
        self._num_edges += 1
        record = f"edge/{self._num_edges}"
        self.found.append(Relationship(record, relation or LINKED_TO, start, end, _values(texts, edge.types)))

    def _with_defaults(self, element: _Open) -> dict[str, str]:
        texts = element.texts()
        for key in self.keys.values():
            if key.default and key.of in (element.tag, "all") and key.name not in element.data:
                texts[key.name] = key.default
                element.types[key.name] = key.type
        return texts


def _values(texts: Mapping[str, str], types: Mapping[str, str]) -> list[tuple[str, Any]]:
    return [(key, _value(key, text, types.get(key, "").lower())) for key, text in texts.items() if key]


def _value(key: str, text: str, type_: str) -> str | LiteralText | list[str]:
    if fold(key) in ALIASES:
        return [alias for alias in map(str.strip, text.split("|")) if alias]
    type_ = {"int": "integer", "long": "integer", "float": "double"}.get(type_, type_)
    return LiteralText(text, f"{XSD}{type_}") if type_ in ("integer", "double", "boolean") else text


def _describe(element: _Open) -> str:
    return quote_line(str({**element.attributes, **element.texts()}))


class _Graphml(_Reading):
    root = "graphml"

    def __init__(self) -> None:
        super().__init__()
        self._key: tuple[str, str] | None = None
        """The open key."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "key":
            id_, of = attributes.get("id", ""), attributes.get("for", "all")
            name = attributes.get("attr.name") or ("" if "yfiles.type" in attributes else id_)
            self._key = (of, id_)
            self.keys[self._key] = _Key(name, attributes.get("attr.type", ""), of)
        elif tag == "default" and self._key:
            self.pieces = []
        elif tag == "data" and self.open:
            self.begin_data(self._key_of(attributes.get("key", "")))
        elif tag in {"NodeLabel", "EdgeLabel"} and self.open:
            self.begin_data(_Key("label"))

    def end(self, tag: str) -> None:
        if tag == "default" and self._key:
            self.keys[self._key] = self.keys[self._key]._replace(default="".join(self.pieces or ()).strip())
        elif tag == "key":
            self._key = None
        if tag in {"default", "data", "NodeLabel", "EdgeLabel"}:
            self.pieces = None

    def _key_of(self, id_: str) -> _Key:
        found = (self.keys.get((of, id_)) for of in (self.open[-1].tag, "all"))
        return next((key for key in found if key), _Key(id_))


class _Gexf(_Reading):
    root = "gexf"

    def __init__(self) -> None:
        super().__init__()
        self._of = "node"
        self._attribute = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "attributes":
            self._of = attributes.get("class", "node")
        elif tag == "attribute":
            self._attribute = attributes.get("id", "")
            name = attributes.get("title") or self._attribute
            self.keys[self._of, self._attribute] = _Key(name, attributes.get("type", ""), self._of)
        elif tag == "default":
            self.pieces = []
        elif tag == "attvalue" and self.open:
            id_ = attributes.get("for") or attributes.get("id", "")
            self.begin_data(self.keys.get((self.open[-1].tag, id_), _Key(id_)))
            assert self.pieces is not None
            self.pieces.append(attributes.get("value", ""))
            self.pieces = None

    def end(self, tag: str) -> None:
        if tag == "default":
            key = self._of, self._attribute
            self.keys[key] = self.keys[key]._replace(default="".join(self.pieces or ()).strip())
            self.pieces = None

    def _end_edge(self, edge: _Open) -> None:
        weight = edge.attributes.get("weight", "1")
        kind = edge.attributes.get("kind", "")
        if kind:
            edge.data.setdefault("relation", [kind])
        if weight.removesuffix(".0") != "1":
            edge.data.setdefault("weight", [weight])
            edge.types.setdefault("weight", "double")
        super()._end_edge(edge)
