"""Read property graphs: GraphML and GEXF of NetworkX, Gephi, yEd, igraph and APOC; JSON documents of nodes and links
(NetworkX, D3, Cytoscape), and lines that APOC exports.

An edge's relation is its data named relation, predicate, type, label or edge label, its attribute `label`, or an id
that is a word, as NetworkX writes an edge's key; without any it is `linked_to`. A node's labels are APOC's `labels`, or
its data named kind or type. Aliases in one text are separated by `|` (GraphML has no lists; the separator is ours).
Elements are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element as Xml

from ...engine.data_model import XSD
from ...engine.errors import InputError
from ...models import quote_line
from ..mapping import ALIASES, fold_key
from ..property_graph import Element, FileGraph, LiteralText, Node, Relationship
from ..reading import RereadableFile, check_xml, read_json_records, read_pieces

_WORD = re.compile(r"[^\W\d_][^\W\d]{2,}")


class GraphmlGraph(FileGraph):
    kind = "graphml"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._keys: dict[tuple[str, str], _Key] = {}  # by what they are of (node, edge or all) and their id

    def elements(self) -> Iterator[Element]:
        form = "GEXF" if self.kind == "gexf" else "GraphML"
        check_xml(self._file, form)
        is_graph = False
        open_: list[Xml] = []
        for event, element in _events(self._file):
            tag = _tag(element)
            if event == "start":
                is_graph = is_graph or tag == self.kind
                open_.append(element)
                continue
            open_.pop()
            if tag in ("key", "attribute"):
                self._add_key(element, open_[-1])
            elif tag in ("node", "edge"):
                open_[-1].remove(element)
                yield self._node(element) if tag == "node" else self._edge(element)
        if not is_graph:
            raise InputError(f"{self.shown}: expected {form}, found another kind of XML")

    def _add_key(self, element: Xml, parent: Xml) -> None:
        id_ = element.get("id", "")
        of = element.get("for") or parent.get("class", "all")
        is_drawing = "yfiles.type" in element.attrib
        name = element.get("attr.name") or element.get("title") or ("" if is_drawing else id_)
        default = "".join(child.text or "" for child in element if _tag(child) == "default").strip()
        self._keys[of, id_] = _Key(name, element.get("attr.type") or element.get("type", ""), default)

    def _node(self, element: Xml) -> Node:
        (id_,) = self._attributes(element, "an id of a node", "id")
        values = self._values(element)
        text = element.get("labels") or str(values.get("labels", ""))
        labels = [label for label in text.split(":") if label] if text.startswith(":") else []
        if labels:
            values.pop("labels", None)
        if label := element.get("label"):
            values.setdefault("label", label)
        return self.node(id_, values, labels)

    def _attributes(self, element: Xml, expected: str, *names: str) -> list[str]:
        found = [element.get(name, "") for name in names]
        if not all(found):
            raise InputError(f"{self.shown}: expected {expected}, found none: {quote_line(str(element.attrib))}")
        return found

    def _edge(self, element: Xml) -> Relationship:
        start, end = self._attributes(element, "a source and a target of an edge", "source", "target")
        values = self._values(element)
        if kind := element.get("kind"):
            values.setdefault("relation", kind)
        weight = element.get("weight", "1")
        if weight.removesuffix(".0") != "1":
            values.setdefault("weight", LiteralText(weight, f"{XSD}double"))
        id_ = element.get("id", "")
        return self.edge(start, end, values, element.get("label") or (id_ if _WORD.fullmatch(id_) else ""))

    def _values(self, element: Xml) -> dict[str, Any]:
        of = _tag(element)
        texts: dict[_Key, str] = {}
        for child in element.iter():
            tag = _tag(child)
            if tag == "data":
                texts[self._key(of, child.get("key", ""))] = child.text or ""
            elif tag == "attvalue":
                texts[self._key(of, child.get("for") or child.get("id", ""))] = child.get("value", "")
            elif tag in ("NodeLabel", "EdgeLabel"):
                texts[_Key("label")] = " ".join((child.text or "").split())
        found = {key.name: _value(key, text.strip()) for key, text in texts.items() if key.name and text.strip()}
        for (of_, _), key in self._keys.items():
            if key.default and of_ in (of, "all") and key not in texts:
                found[key.name] = _value(key, key.default)
        return found

    def _key(self, of: str, id_: str) -> _Key:
        return self._keys.get((of, id_)) or self._keys.get(("all", id_)) or _Key(id_)


class GexfGraph(GraphmlGraph):
    kind = "gexf"


def _events(file: RereadableFile) -> Iterator[Any]:
    parser = ElementTree.XMLPullParser(("start", "end"))
    with file.open_buffered() as reader:
        for piece in read_pieces(reader):
            parser.feed(piece)
            yield from parser.read_events()
    parser.close()
    yield from parser.read_events()


def _tag(element: Xml) -> str:
    return element.tag.rpartition("}")[2]


class _Key(NamedTuple):
    name: str
    type: str = ""
    default: str = ""


def _value(key: _Key, text: str) -> str | LiteralText | list[str]:
    if fold_key(key.name) in ALIASES:
        return [alias for alias in map(str.strip, text.split("|")) if alias]
    type_ = {"int": "integer", "long": "integer", "float": "double"}.get(key.type.lower(), key.type.lower())
    return LiteralText(text, f"{XSD}{type_}") if type_ in ("integer", "double", "boolean") else text


LINKS = ("links", "edges", "relationships")  # how the list of edges of a document is called
_LINES = ("node", "relationship")  # the types of APOC's lines
_ENDS = (("source", "target"), ("from", "to"), ("start", "end"))


class JsonGraph(FileGraph):
    kind = "json"

    def elements(self) -> Iterator[Element]:
        for line, record, fault in read_json_records(self._file):
            try:
                if fault:
                    raise ValueError(fault)
                if record.get("type") in _LINES:
                    is_node = record.pop("type") == "node"
                    yield self._node(record) if is_node else self._edge(record)
                    continue
                document = record.get("elements", record)
                yield from map(self._node, document["nodes"])
                links = [name for name in LINKS if name in document] or LINKS
                yield from map(self._edge, document[links[0]])
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                reason = f"expected nodes and links, found a fault ({error!r}): {quote_line(str(record))}"
                raise InputError(f"{self.shown}:{line}: {reason}") from error

    def _node(self, given: Mapping[str, Any]) -> Node:
        values = _json_values(given)
        id_ = str(values.pop("id") if "id" in values else values.pop("key"))
        return self.node(id_, values, [str(label) for label in values.pop("labels", [])])

    def _edge(self, given: Mapping[str, Any]) -> Relationship:
        values = _json_values(given)
        names = next((pair for pair in _ENDS if values.keys() >= {*pair}), _ENDS[0])
        start, end = (str(each["id"] if isinstance(each := values.pop(name), Mapping) else each) for name in names)
        values.pop("id", None)
        return self.edge(start, end, values)


def _json_values(given: Mapping[str, Any]) -> dict[str, Any]:
    own = {**given, **(given.get("data") or {}), **(given.get("properties") or {})}
    ends = {name for pair in _ENDS for name in pair}
    return {
        key: each for key, each in own.items() if each is not None and (key in ends or not isinstance(each, Mapping))
    }
