"""Keep the most recently used values by key: an LRU cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class LRUCache(Generic[KeyT, ValueT]):
    """Keeps at most `size` values by key. Not thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[KeyT, ValueT] = OrderedDict()

    def __contains__(self, key: KeyT) -> bool:
        return key in self._values

    def __getitem__(self, key: KeyT) -> ValueT:
        self._values.move_to_end(key)
        return self._values[key]

    def keep(self, key: KeyT, value: ValueT) -> None:
        """Keep a value; drop the least recently used one if there is no room."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._size:
            self._values.popitem(last=False)
