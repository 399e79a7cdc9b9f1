"""Triples with one separator between their columns: TSV and CSV; names in a file of their own.

The names file has an id and a name a line, parted by tabs. Further columns are aliases, and so are the names of further
lines for the same id. Without a names file the ids are the names, as in graphs that have no other; with one, a tail
that it does not name may be a value (`tail_values.py`), and any other id that it does not name is an unnamed mediator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from ...engine.errors import InputError
from ..message_text import shown
from ..reading.lines import LineFile
from ..source import NO_ID, LinePart, Part
from .delimited_columns import NUM_COLUMNS, Header, layout_of
from .file_source import FileSource
from .tail_values import Values, value_pattern


class DelimitedSource(FileSource):
    """A file of triples (``-`` is standard input) and, optionally, one of names; both gzip or plain.

    `columns` are three numbers (from 1) or, where there is a header, names. With `literals`, a tail written as
    ``value^^datatype`` or in the syntax of N-Triples is a literal. `values` says which tails are literals that
    the names file does not name and that are no heads: those that are written as values, all, or none.
    """

    default_separator: ClassVar[str]
    quoted: ClassVar[bool] = False

    def __init__(
        self,
        path: str,
        names_path: str | None = None,
        *,
        separator: str | None = None,
        columns: Sequence[str] | None = None,
        header: Header = "auto",
        literals: bool = True,
        values: Values = "auto",
    ) -> None:
        if path == names_path == "-":
            raise InputError("stdin: expected triples or names, asked to be both")
        if columns is not None and len(columns) != NUM_COLUMNS:
            raise InputError(
                f"expected three columns, those of head, relation and tail, found {shown(','.join(columns))}"
            )
        self.max_rejects = 0
        self.languages: Sequence[str] = ()
        self.unnamed_ids = NO_ID if names_path is None else None
        self._separator = self._checked(self.default_separator if separator is None else separator)
        self._columns = columns
        self._header: Header = header
        self._literals = literals
        self._values = values
        self._file = LineFile(path)
        self._names = LineFile(names_path) if names_path is not None else None
        super().__init__([self._file, *([self._names] if self._names else [])])

    def options(self) -> Mapping[str, object]:
        """Return the separator, which columns, whether there are a header, literals and names, and what are values."""
        return {
            **({"values": self._values} if self._names else {}),
            "separator": self._separator,
            "columns": None if self._columns is None else list(self._columns),
            "header": self._header,
            "literals": self._literals,
            "names": self._names is not None,
        }

    def parts(self) -> Iterator[Part]:
        """Yield the triples, then the names."""
        number, first = next(((number, text) for number, text in self._file.first_lines() if text), (1, ""))
        place = f"{self._file.shown}:{number}"
        layout = layout_of(first, place, self._separator, self.quoted, self._columns, self._header)
        header_line = number if layout.has_header else 0
        pattern = self._value_pattern()
        parameters = {
            "separator": self._separator,
            "quoted": self.quoted,
            "columns": list(layout.columns),
            "width": layout.width,
            "expected": layout.expected,
            "header_line": header_line,
            "literals": self._literals,
            "value_pattern": pattern,
        }
        yield LinePart(self._file, "delimited", parameters)
        if self._names:
            yield LinePart(self._names, "names", {})

    def _value_pattern(self) -> str | None:
        if self._names is None or not self._literals:
            return None
        return value_pattern(self._values, (text.partition("\t")[0] for _, text in self._names.first_lines() if text))

    def _checked(self, separator: str) -> str:
        if not separator or set(separator) & set('"\r\n\0') or (self.quoted and len(separator) != 1):
            wanted = "one character" if self.quoted else "characters"
            raise InputError(f"expected a separator of {wanted}, no quote and no line end, found {shown(separator)}")
        return separator


class TsvSource(DelimitedSource):
    """Triples parted by tabs or another separator, without quoting."""

    kind = "tsv"
    default_separator = "\t"


class CsvSource(DelimitedSource):
    """Triples parted by commas or another separator; a column may stand in double quotes, on one line.

    Spaces around a column are none of it.
    """

    kind = "csv"
    default_separator = ","
    quoted = True
