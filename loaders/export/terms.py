"""How ids, relations and literals are written in N-Triples and in TSV, such that reading them gives the same back.

N-Triples: an id that is an absolute IRI is written as it is, one that is a blank node's label too; any other has a base
put before it, which a reader takes off again. TSV: ids as they are; a literal as `value^^datatype` where that is
unmistakable, else as in N-Triples.
"""

from __future__ import annotations

import re

from ...engine.errors import InputError
from ...engine.literals import iri_text, literal_term
from ..message_text import SHOWN_CHARS

_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")

_NOT_IN_A_CELL = re.compile(r"[\t\n\r\0]")
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
_HTTP_IRI = re.compile(r'https?://(?:(?!\^\^)[^\x00-\x20<>"{}|`\\])+')
_CODE_POINT = r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_LIKE_A_LITERAL = re.compile(
    rf"""
    "(?:[^"\\]|\\[tbnrf"'\\]|{_CODE_POINT})*"
    (?:@[A-Za-z]+(?:-[A-Za-z0-9]+)* | \^\^<(?:[^\x00-\x20<>"{{}}|^`\\]|{_CODE_POINT})+> | \^\^xsd:[A-Za-z]+)
    | (?!").*\^\^(?:https?://[^\ \t\r]+ | <https?://[^<>"\ \t\r]+> | xsd:[A-Za-z]+)
    """,
    re.DOTALL | re.VERBOSE,
)


def is_absolute_iri(id_: str) -> bool:
    """Return whether this is an IRI with a scheme, without characters that an IRI cannot have."""
    return _ABSOLUTE_IRI.fullmatch(id_) is not None


class Iris:
    """Ids as IRIs, with `base` put before those that are none.

    Raises `InputError` when other ids begin with the base as they are: a reader would take it off all of them.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self._with_base = ""
        self._without = ""

    @property
    def is_base_used(self) -> bool:
        """Whether the base was put before an id."""
        return bool(self._without)

    def iri(self, id_: str) -> str:
        """Return the IRI, in angle brackets, of an entity or a relation."""
        if not is_absolute_iri(id_):
            if not self._without:
                self._without = id_
                self._check()
            return f"<{self.base}{iri_text(id_)}>"
        if not self._with_base and id_.startswith(self.base):
            self._with_base = id_
            self._check()
        return f"<{id_}>"

    def node(self, id_: str) -> str:
        """Return the term of an entity: an IRI, or a blank node when the id is the label of one."""
        return id_ if id_.startswith("_:") and _BLANK_NODE.fullmatch(id_) else self.iri(id_)

    def _check(self) -> None:
        if self._with_base and self._without:
            raise InputError(
                f"the graph has ids like {_shown(self._without)} and like {_shown(self._with_base)}: "
                "give a --base that none of them begins with"
            )


def ntriples_literal(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """Return the term of a literal; raise `InputError` for a language that is no language tag."""
    if language and not _LANGUAGE.fullmatch(language):
        raise InputError(f"expected a language as `en` or `zh-Hans`, found {_shown(language)} with {_shown(value)}")
    return literal_term(value, datatype, language)


def tsv_text(text: str) -> str:
    """Return a relation or a name; raise `InputError` for one that does not fit into a column."""
    if _NOT_IN_A_CELL.search(text):
        raise InputError(f"TSV cannot have the tab or line end in {_shown(text)}: use --format ntriples or parquet")
    return text


def tsv_id(id_: str) -> str:
    """Return an entity's id; raise `InputError` for one that a reader would take for something else."""
    if _LIKE_A_LITERAL.fullmatch(id_):
        raise InputError(f"TSV would make a literal of the entity {_shown(id_)}: use --format ntriples or parquet")
    return tsv_text(id_)


def tsv_literal(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """Return the cell of a literal; one without datatype and language is of xsd:string, which is the same.

    Text in quotes alone is no literal in TSV: graphs whose ids are names have it.
    """
    datatype = datatype or (None if language else XSD_STRING)
    plain = datatype and not language and not value.startswith('"') and not _NOT_IN_A_CELL.search(value)
    if plain and datatype and _HTTP_IRI.fullmatch(datatype):
        return f"{value}^^{datatype}"
    return ntriples_literal(value, datatype, language)


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…")
