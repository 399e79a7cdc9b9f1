"""GraphML, as NetworkX and others write it: an edge is a triple, a node's name or label its name.

An edge's relation is its data called relation, predicate, type or label, failing that its id, unless that is a number.
Elements are read one by one; where no name is given, a node's id is its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from ...engine.errors import InputError
from ..message_text import shown
from ..reading.byte_file import ByteFile
from ..rows import StatementRow, name_row, reject_row, row_batches, triple_row
from ..source import NO_ID, Part, RowPart
from .file_source import FileSource

RELATION_KEYS = ("relation", "predicate", "type", "label")
NAME_KEYS = ("name", "label")

_BLOCK_BYTES = 1 << 20


class GraphmlSource(FileSource):
    """The file (``-`` is standard input), gzip or plain."""

    kind = "graphml"
    unnamed_ids = NO_ID

    def __init__(self, path: str) -> None:
        self.max_rejects = 0
        self.languages: Sequence[str] = ()
        self._file = ByteFile(path)
        super().__init__([self._file])

    def parts(self) -> Iterator[Part]:
        """Yield nodes and edges as they come."""
        yield RowPart(self._file.shown, row_batches(self._rows()))

    def _rows(self) -> Iterator[StatementRow]:
        reading = _Reading()
        with self._file.faults_translated(reading.line), self._file.unpacked() as stream:
            at_end = False
            while not at_end:
                block = stream.read(_BLOCK_BYTES) or b""
                at_end = not block
                try:
                    reading.parser.Parse(block, at_end)
                except expat.ExpatError as error:
                    fault = expat.ErrorString(error.code)
                    raise InputError(
                        f"{self._file.shown}:{error.lineno}: expected GraphML, found a fault: {fault}"
                    ) from error
                yield from reading.rows
                reading.rows.clear()
        if not reading.is_graphml:
            raise InputError(f"{self._file.shown}: expected GraphML, found another kind of XML")


@dataclass(frozen=True, slots=True)
class _Element:
    """A node or an edge: its attributes, and its data by what their key is called."""

    attributes: Mapping[str, str]
    data: dict[str, str] = field(default_factory=dict)

    def first(self, keys: Sequence[str]) -> str:
        """Return the first of the data that is not blank, empty without one."""
        return next((self.data[key].strip() for key in keys if self.data.get(key, "").strip()), "")


class _Reading:
    """What is known while elements go by, and the rows of those that ended."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.rows: list[StatementRow] = []
        self.is_graphml = False
        self._keys: dict[str, str] = {}
        self._open: list[_Element] = []
        """The nodes and edges that are still to end, which hold each other where graphs are nested."""
        self._key: str | None = None

    def line(self) -> int:
        """Return the line that the reading has come to."""
        return self.parser.CurrentLineNumber

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        name = qualified.rpartition(" ")[2]
        if name == "graphml":
            self.is_graphml = True
        elif name == "key":
            self._keys[attributes.get("id", "")] = attributes.get("attr.name", "").lower()
        elif name in {"node", "edge"}:
            self._open.append(_Element(attributes))
            self._key = None
        elif name == "data" and self._open:
            key = attributes.get("key", "")
            self._key = self._keys.get(key, key)
            self._open[-1].data[self._key] = ""

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._open[-1].data[self._key] += text

    def _end(self, qualified: str) -> None:
        name = qualified.rpartition(" ")[2]
        if name in {"data", "node", "edge"}:
            self._key = None
        if name == "node":
            self._end_node(self._open.pop())
        elif name == "edge":
            self._end_edge(self._open.pop())

    def _end_node(self, node: _Element) -> None:
        id_, name = node.attributes.get("id", ""), node.first(NAME_KEYS)
        if id_ and name:
            self.rows.append(name_row(self.line(), id_, name))

    def _end_edge(self, edge: _Element) -> None:
        key = edge.attributes.get("id", "")
        relation = edge.first(RELATION_KEYS) or ("" if key.isdigit() else key)
        ends = [edge.attributes.get(end, "") for end in ("source", "target")]
        if relation and all(ends):
            self.rows.append(triple_row(self.line(), ends[0], relation, ends[1]))
        else:
            missing = "a relation" if all(ends) else "a source and a target"
            reason = f"expected {missing} of an edge, found none"
            self.rows.append(reject_row(self.line(), reason, shown(str({**edge.attributes, **edge.data}))))
