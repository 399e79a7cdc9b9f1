"""Read GraphML and GEXF, as NetworkX, Gephi, yEd, igraph and APOC write them, as a property graph.

An edge's relation is its data named relation, predicate, type, label or edge label, its attribute `label`, or an id
that is a word, as NetworkX writes an edge's key; without any it is `linked_to`. A node's labels are APOC's `labels`, or
its data named kind or type. Aliases in one text are separated by `|` (GraphML has no lists; the separator is ours).
Elements are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element as Xml

from ...engine.errors import InputError
from ...models import quote_line
from ..mapping import ALIASES, fold
from ..naming import XSD
from ..property_graph import Element, FileGraph, LiteralText, Node, Relationship
from ..reading import RereadableFile, check_xml, read_pieces

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
    if fold(key.name) in ALIASES:
        return [alias for alias in map(str.strip, text.split("|")) if alias]
    type_ = {"int": "integer", "long": "integer", "float": "double"}.get(key.type.lower(), key.type.lower())
    return LiteralText(text, f"{XSD}{type_}") if type_ in ("integer", "double", "boolean") else text
