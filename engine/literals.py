"""Write literals as N-Triples terms, and read their values back."""

from __future__ import annotations

import re

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"})
_NOT_IN_AN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_TERM = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@[A-Za-z][A-Za-z0-9-]*|\^\^<[^<>\s]*>)?', re.DOTALL)
_TYPED = re.compile(r"(.*)\^\^<?[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+>?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def literal_term(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """Return the N-Triples term of a literal."""
    quoted = f'"{value.translate(_ESCAPED)}"'
    if language:
        return f"{quoted}@{language}"
    return f"{quoted}^^<{iri_text(datatype)}>" if datatype else quoted


def iri_text(text: str) -> str:
    """Return a text with the characters escaped that an IRI cannot contain."""
    return _NOT_IN_AN_IRI.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def lexical_value(text: str) -> str:
    """Return the value of a literal written as an N-Triples term or as ``value^^type``; return other text unchanged."""
    if term := _TERM.fullmatch(text):
        return _ESCAPE.sub(_unescape, term[1])
    typed = _TYPED.fullmatch(text)
    return typed[1] if typed else text


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code is None:
        return _CHARACTERS.get(found[3], found[3])
    point = int(code, 16)
    return chr(point) if point <= 0x10FFFF else found[0]
