"""Token sequences that may be written, as a trie: what may follow on what has been written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class Trie:
    """Closed at its dead ends: after what begins no sequence nothing may follow."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        self._root: dict[int, Any] = {}
        for sequence in sequences:
            node = self._root
            for token in sequence:
                node = node.setdefault(token, {})

    def after(self, written: Iterable[int]) -> list[int]:
        """Return the tokens that may follow, none after a whole sequence or what is the beginning of none."""
        node = self._root
        for token in written:
            if token not in node:
                return []
            node = node[token]
        return list(node)
