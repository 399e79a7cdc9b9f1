"""The line formats read one line at a time, character by character: what the SQL parsers must agree with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lodestar.loaders.formats.freebase import NoiseRule

PREFIX = "<http://rdf.freebase.com/ns/"
XSD = "http://www.w3.org/2001/XMLSchema#"
STRING = "http://www.w3.org/2001/XMLSchema#string"
ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
HEX = frozenset("0123456789abcdefABCDEF")
WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
WORD_OR_DIGIT = WORD | frozenset("0123456789")


class Parsed(NamedTuple):
    """What a line is; fields that its category does not have are None."""

    category: str
    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    is_literal: bool = False
    datatype: str | None = None
    language: str | None = None
    tag: str | None = None
    reason: str | None = None


class LiteralError(Exception):
    """A literal that is none, and why."""


class Literal(NamedTuple):
    """A literal, and where in the text it ends."""

    value: str
    language: str | None
    datatype: str | None
    end: int


def code_point(text: str, at: int) -> tuple[str, int] | None:
    """Return the character of the escape at a backslash and where it ends; None for what is no such escape."""
    length = {"u": 4, "U": 8}.get(text[at + 1 : at + 2], 0)
    digits = text[at + 2 : at + 2 + length]
    if not length or len(digits) != length or not set(digits) <= HEX:
        return None
    number = int(digits, 16)
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return None
    return chr(number), at + 2 + length


def unescaped_iri(text: str) -> str:
    done, at = "", 0
    while at < len(text):
        character, at = (text[at] == "\\" and code_point(text, at)) or (text[at], at + 1)
        done += character
    return done


def literal_at(text: str, at: int) -> Literal:
    """Read the literal whose quote is at this place, with the language or datatype that follows if any does."""
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    if end >= len(text):
        raise LiteralError("does not end")
    value, i = "", at + 1
    while i < end:
        if text[i] != "\\":
            value, i = value + text[i], i + 1
        elif text[i + 1] in ESCAPED:
            value, i = value + ESCAPED[text[i + 1]], i + 2
        elif found := code_point(text, i):
            value, i = value + found[0], found[1]
        else:
            raise LiteralError("has an escape that is none")
    end += 1
    if language := language_at(text, end):
        return Literal(value, language, None, end + 1 + len(language))
    if text.startswith("^^<", end) and (datatype := iri_at(text, end + 2)):
        known = unescaped_iri(datatype)
        return Literal(value, None, None if known == STRING else known, end + 4 + len(datatype))
    return Literal(value, None, None, end)


def language_at(text: str, at: int) -> str:
    if text[at : at + 1] != "@":
        return ""
    end = at + 1
    while end < len(text) and text[end] in WORD:
        end += 1
    if end == at + 1:
        return ""
    while text[end : end + 1] == "-" and text[end + 1 : end + 2] and text[end + 1] in WORD_OR_DIGIT:
        end += 2
        while end < len(text) and text[end] in WORD_OR_DIGIT:
            end += 1
    return text[at + 1 : end]


def iri_at(text: str, at: int) -> str:
    """Return what stands in the angle brackets at this place, empty where no IRI does."""
    if text[at : at + 1] != "<":
        return ""
    end = at + 1
    while end < len(text) and text[end] not in '<>" \t':
        end += 1
    return text[at + 1 : end] if text[end : end + 1] == ">" else ""


def no_statement(line: str) -> Parsed | None:
    if not line.strip(" \t"):
        return Parsed("blank")
    return Parsed("comment") if line.lstrip(" \t").startswith("#") else None


def found(text: str) -> str:
    if not text:
        return "nothing"
    if text[0] == '"':
        return "a literal"
    if text.startswith("_:"):
        return "a blank node"
    if text.startswith("<>"):
        return "an empty IRI"
    if iri_at(text, 0):
        return "an IRI"
    if text[0] == "<":
        return "an IRI with a space, a quote or a bracket in it" if ">" in text else "an IRI that does not end"
    return "other text"


def name(id_: str, text: str, language: str | None, tag: str, chosen: Sequence[str], every: bool) -> Parsed:
    if language and not every and language.lower() not in chosen:
        return Parsed("other language")
    if not text.strip(" "):
        return Parsed("empty name")
    return Parsed("name", head=id_, tail=text, language=language, tag=tag)


# Freebase


def freebase(line: str, languages: Sequence[str], every: bool, rules: Sequence[NoiseRule]) -> Parsed:
    def rejected(reason: str) -> Parsed:
        return no_statement(line) or Parsed("reject", reason=reason)

    columns = line.split("\t")
    if len(columns) != 4:
        counted = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        return rejected(f"expected subject, predicate, object and a full stop parted by tabs, found {counted}")
    if columns[3] != ".":
        return rejected(f"expected a full stop in column 4, found {'other text' if columns[3] else 'nothing'}")
    for number, column in enumerate(columns[:2], start=1):
        if not is_bracketed(column):
            return rejected(f"expected an IRI in column {number}, found {found_column(column)}")
    literal = None
    if columns[2].startswith('"'):
        try:
            literal = literal_at(columns[2], 0)
            if literal.end != len(columns[2]):
                return rejected("expected @language or ^^<datatype> after the literal in column 3")
        except LiteralError as fault:
            return rejected(f"the literal in column 3 {fault}")
    elif not is_bracketed(columns[2]):
        return rejected(f"expected an IRI or a literal in column 3, found {found_column(columns[2])}")
    ids = [freebase_id(column) for column in columns[:2] + ([] if literal else [columns[2]])]
    for number, id_ in enumerate(ids, start=1):
        if not id_:
            return rejected(f"expected an identifier after the prefix in column {number}, found nothing")
    head, relation = ids[:2]
    if relation in {"type.object.name", "common.topic.alias"}:
        if literal is None:
            return rejected("expected a literal as a name in column 3, found an IRI")
        tag = "name" if relation == "type.object.name" else "alias"
        return name(head, literal.value, literal.language, tag, languages, every)
    tail = literal.value if literal else ids[2]
    noise = False
    for rule in rules:
        if glob(rule.relation, relation) and glob(rule.tail, tail):
            noise = rule.noise
    if noise:
        return Parsed("noise")
    if literal:
        return Parsed("triple", head, relation, tail, True, literal.datatype, literal.language)
    return Parsed("triple", head, relation, tail)


def is_bracketed(column: str) -> bool:
    return len(column) > 2 and column[0] == "<" and column.find(">") == len(column) - 1


def found_column(column: str) -> str:
    end = column.find(">")
    return "an IRI and more" if column.startswith("<") and end > 1 else found(column)


def freebase_id(column: str) -> str:
    for prefix in (PREFIX, "</", "<"):
        if column.startswith(prefix):
            return unescaped_iri(column[len(prefix) : -1])
    raise AssertionError(column)


def glob(pattern: str, text: str) -> bool:
    translated = "".join({"*": ".*", "?": "."}.get(character) or re.escape(character) for character in pattern)
    return re.fullmatch(translated, text, re.DOTALL) is not None


# Delimited


def delimited(
    line: str,
    separator: str = "\t",
    quoted: bool = False,
    columns: Sequence[int] = (1, 2, 3),
    width: int = 3,
    expected: str = "head, relation and tail parted by tabs",
    literals: bool = True,
    value_pattern: str | None = None,
) -> Parsed:
    if not line:
        return Parsed("blank")
    cells = quoted_cells(line, separator) if quoted else line.split(separator)
    if cells is None:
        return Parsed("reject", reason="a quote is out of place, or does not end")
    if len(cells) != width:
        counted = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
        return Parsed("reject", reason=f"expected {expected}, found {counted}")
    head, relation, tail = (cells[column - 1] for column in columns)
    for what, cell in (("head", head), ("relation", relation), ("tail", tail)):
        if not cell:
            return Parsed("reject", reason=f"the {what} is empty")
    if literals and written_literal(head):
        return Parsed("reject", reason="a literal cannot be the head of a triple")
    if literals and (literal := written_literal(tail)):
        return Parsed("triple", head, relation, literal.value, True, literal.datatype, literal.language)
    if value_pattern and re.fullmatch(value_pattern, tail):
        return Parsed("triple", head, relation, tail, True, tag="value")
    return Parsed("triple", head, relation, tail)


def quoted_cells(line: str, separator: str) -> list[str] | None:
    cells, at = [], 0
    while True:
        cell = ""
        after = at + len(line[at:]) - len(line[at:].lstrip(" "))
        if line[after : after + 1] == '"' and separator != " ":
            at = after
        if line[at : at + 1] == '"':
            at += 1
            while True:
                if at >= len(line):
                    return None
                if line.startswith('""', at):
                    cell, at = cell + '"', at + 2
                elif line[at] == '"':
                    at += 1
                    break
                else:
                    cell, at = cell + line[at], at + 1
            while line[at : at + 1] == " " != separator:
                at += 1
            if at < len(line) and line[at] != separator:
                return None
        else:
            while at < len(line) and line[at] != separator:
                if line[at] == '"':
                    return None
                cell, at = cell + line[at], at + 1
            cell = cell.strip(" ")
        cells.append(cell)
        if at >= len(line):
            return cells
        at += 1


def written_literal(cell: str) -> Literal | None:
    if cell.startswith('"') and cell.endswith('"'):
        return None
    if cell.startswith('"'):
        if short := re.fullmatch(r"(.*\")\^\^xsd:([A-Za-z]+)", cell, flags=re.DOTALL):
            cell = f"{short[1]}^^<{XSD}{short[2]}>"
        try:
            literal = literal_at(cell, 0)
        except LiteralError:
            return None
        return literal if literal.end == len(cell) else None
    at = cell.rfind("^^")
    while at >= 0:
        if datatype := written_datatype(cell[at + 2 :]):
            return Literal(cell[:at], None, None if datatype == STRING else datatype, len(cell))
        at = cell.rfind("^^", 0, at + 1)
    return None


def written_datatype(text: str) -> str | None:
    if text.startswith("xsd:"):
        name = text.removeprefix("xsd:")
        return XSD + name if name and name.isascii() and name.isalpha() else None
    bare = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    scheme, _, rest = bare.partition("://")
    unlike = ' \t\r<>"' if bare is not text else " \t\r"
    return bare if scheme in {"http", "https"} and rest and not set(bare) & set(unlike) else None


def names(line: str) -> list[Parsed]:
    if not line:
        return [Parsed("blank")]
    id_, *texts = line.split("\t")
    if not texts:
        return [Parsed("reject", reason="expected an id and a name parted by a tab, found 1 column")]
    if not id_:
        return [Parsed("reject", reason="the id is empty")]
    first = Parsed("name", head=id_, tail=texts[0]) if texts[0].strip(" ") else Parsed("empty name")
    return [first, *(Parsed("name", head=id_, tail=text, tag="alias") for text in texts[1:] if text.strip(" "))]
