"""Read GraphML, as NetworkX and others write it: an edge is a triple, a node's name or label its name.

An edge's relation is its data named relation, predicate, type or label, else its id, unless that is a number. A node's
data named alias, aliases, altLabel or alt_label are aliases, several in one separated by `|` (GraphML has no lists; the
separator is ours). A node's other data are triples with literal tails. A relation is described by the `desc` of such
data, or by what all its edges say under description; a label on which they agree beside their relation is a phrase for
it. A triple has no data: those of edges are counted, and so are nodes without any statement. Elements are read one by
one; without a name, a node's id is its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from ...engine.errors import InputError
from ...models.message_text import quote_line
from ..reading.files import RereadableFile
from ..source import (
    NO_ID,
    FileSource,
    Part,
    SourceRowBatches,
    StatementRow,
    alias_row,
    comment_row,
    name_row,
    reject_row,
    row_batches,
    triple_row,
)

RELATION_KEYS = ("relation", "predicate", "type", "label")
NAME_KEYS = ("name", "label")
ALIAS_KEYS = ("alias", "aliases", "altlabel", "alt_label")
COMMENT_KEYS = ("description", "comment")
TYPES = {name: f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("boolean", "int", "long", "float", "double")}
"""Datatypes of literals by GraphML's type; text has none."""

_BLOCK_BYTES = 1 << 20


class GraphmlSource(FileSource):
    """The file (``-`` is standard input), gzip or plain."""

    kind = "graphml"
    unnamed_ids = NO_ID

    def __init__(self, path: str) -> None:
        self._file = RereadableFile(path)
        super().__init__([self._file])

    def parts(self) -> Iterator[Part]:
        yield SourceRowBatches(self._file.shown, row_batches(self._rows()))

    def _rows(self) -> Iterator[StatementRow]:
        reading = _Reading()
        with self._file.translate_faults(reading.line), self._file.open_unpacked() as stream:
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
        yield from reading.last_rows()
        if not reading.is_graphml:
            raise InputError(f"{self._file.shown}: expected GraphML, found another kind of XML")


class _Key(NamedTuple):
    """The name and the type of data."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class _Element:
    """A node or an edge: its attributes, and its data by key."""

    attributes: Mapping[str, str]
    data: dict[_Key, str] = field(default_factory=dict)

    def take(self, names: Sequence[str]) -> str:
        """Remove and return the first data of these names that are not blank; empty if there are none."""
        for name in names:
            for key, value in self.data.items():
                if key.name.lower() == name and value.strip():
                    del self.data[key]
                    return value.strip()
        return ""

    def rest(self) -> list[tuple[_Key, str]]:
        """Return the remaining data that are not blank."""
        return [(key, value.strip()) for key, value in self.data.items() if value.strip()]


class _Reading:
    """The parser's state, and the rows of finished elements."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.rows: list[StatementRow] = []
        self.is_graphml = False
        self._keys: dict[str, _Key] = {}
        self._open: list[_Element] = []
        """The open nodes and edges, nested if graphs are."""
        self._key: _Key | None = None
        self._described = ""
        """The id of the open key."""
        self._descriptions: dict[str, str] = {}
        """What is said of data, by the ids of their keys."""
        self._words: dict[tuple[str, bool], str] = {}
        """What all edges of a relation call it beside its name, or if true say of it; empty if they differ."""
        self._said: set[str] = set()
        """The nodes with a statement."""
        self._lone: dict[str, int] = {}
        """The other nodes so far, and their lines."""

    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        name = qualified.rpartition(" ")[2]
        if name == "graphml":
            self.is_graphml = True
        elif name == "key":
            called, type_ = attributes.get("attr.name", ""), attributes.get("attr.type", "")
            self._described = attributes.get("id", "")
            self._keys[self._described] = _Key(called, type_)
        elif name == "desc" and self._described:
            self._descriptions[self._described] = ""
        elif name in {"node", "edge"}:
            self._open.append(_Element(attributes))
            self._key = None
        elif name == "data" and self._open:
            key = attributes.get("key", "")
            self._key = self._keys.get(key, _Key(key))
            self._open[-1].data[self._key] = ""

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._open[-1].data[self._key] += text
        elif self._described in self._descriptions:
            self._descriptions[self._described] += text

    def _end(self, qualified: str) -> None:
        name = qualified.rpartition(" ")[2]
        if name in {"data", "node", "edge"}:
            self._key = None
        if name == "key":
            self._end_key()
        if name == "node":
            self._end_node(self._open.pop())
        elif name == "edge":
            self._end_edge(self._open.pop())

    def _end_key(self) -> None:
        relation = self._keys[self._described].name
        if relation and (text := self._descriptions.get(self._described, "").strip()):
            self.rows.append(comment_row(self.line(), relation, text))
        self._described = ""

    def _end_node(self, node: _Element) -> None:
        id_, name = node.attributes.get("id", ""), node.take(NAME_KEYS)
        if not id_:
            self.rows.append(reject_row(self.line(), "expected an id of a node, found none", _describe_element(node)))
            return
        if name:
            self.rows.append(name_row(self.line(), id_, name))
        for key, value in node.rest():
            if key.name.lower() in ALIAS_KEYS:
                aliases = list(filter(None, map(str.strip, value.split("|"))))
                self.rows += [alias_row(self.line(), id_, alias) for alias in aliases]
                name = name or "".join(aliases)
            elif key.name:
                self.rows.append(_literal_row(self.line(), id_, key, value))
                name = value
            else:
                self.rows.append(StatementRow(self.line(), "data without a name"))
        if name:
            self._said.add(id_)
        elif id_ not in self._said:
            self._lone[id_] = self.line()

    def last_rows(self) -> Iterator[StatementRow]:
        """Yield, after reading everything, the words for relations and the nodes without a statement."""
        for (relation, is_comment), text in self._words.items():
            if text:
                yield (comment_row if is_comment else alias_row)(self.line(), relation, text)
        yield from (StatementRow(line, "isolated node") for line in self._lone.values())

    def _end_edge(self, edge: _Element) -> None:
        key = edge.attributes.get("id", "")
        relation = edge.take(RELATION_KEYS) or ("" if key.isdigit() else key)
        ends = [edge.attributes.get(end, "") for end in ("source", "target")]
        if relation and all(ends):
            self.rows.append(triple_row(self.line(), ends[0], relation, ends[1]))
            for (name, _), value in edge.rest():
                if name.lower() in (*RELATION_KEYS, *COMMENT_KEYS):
                    place = (relation, name.lower() in COMMENT_KEYS)
                    self._words[place] = value if self._words.get(place, value) == value else ""
            self.rows.extend(StatementRow(self.line(), "data of an edge") for _ in edge.rest())
            self._said.update(ends)
            for end in ends:
                self._lone.pop(end, None)
        else:
            missing = "a relation" if all(ends) else "a source and a target"
            reason = f"expected {missing} of an edge, found none"
            self.rows.append(reject_row(self.line(), reason, _describe_element(edge)))


def _literal_row(line: int, head: str, key: _Key, value: str) -> StatementRow:
    return StatementRow(line, "triple", head, key.name, value, True, TYPES.get(key.type.lower()))


def _describe_element(element: _Element) -> str:
    return quote_line(str({**element.attributes, **{key.name: value for key, value in element.data.items()}}))
