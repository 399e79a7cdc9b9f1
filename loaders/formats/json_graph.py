"""Read property graphs in JSON: documents of nodes and links (NetworkX, D3, Cytoscape), and lines that APOC exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...engine.errors import InputError
from ...models import quote_line
from ..property_graph import Element, FileGraph, Node, Relationship
from ..reading import read_records

LINKS = ("links", "edges", "relationships")  # how the list of edges of a document is called
_LINES = ("node", "relationship")  # the types of APOC's lines
_ENDS = (("source", "target"), ("from", "to"), ("start", "end"))


class JsonGraph(FileGraph):
    kind = "json"

    def elements(self) -> Iterator[Element]:
        for line, record, fault in read_records(self._file):
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
        values = _values(given)
        id_ = str(values.pop("id") if "id" in values else values.pop("key"))
        return self.node(id_, values, [str(label) for label in values.pop("labels", [])])

    def _edge(self, given: Mapping[str, Any]) -> Relationship:
        values = _values(given)
        names = next((pair for pair in _ENDS if values.keys() >= {*pair}), _ENDS[0])
        start, end = (str(each["id"] if isinstance(each := values.pop(name), Mapping) else each) for name in names)
        values.pop("id", None)
        return self.edge(start, end, values)


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    own = {**given, **(given.get("data") or {}), **(given.get("properties") or {})}
    ends = {name for pair in _ENDS for name in pair}
    return {
        key: each for key, each in own.items() if each is not None and (key in ends or not isinstance(each, Mapping))
    }
