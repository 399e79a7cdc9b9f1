"""Choose the memory of a server, and of an import, by that of the machine."""

from __future__ import annotations

MIN_HEAP_MB = 512
MAX_HEAP_MB = 4096
MIN_PAGECACHE_MB = 256
MAX_PAGECACHE_MB = 4096
MIN_IMPORT_HEAP_MB = 1024
MAX_IMPORT_HEAP_MB = 2048
_SHARE = 6
_LARGEST_SHARE = 3
_ROOM_TO_GROW = 1.2


def default_heap_mb(total_mb: int) -> int:
    """Return the default Java heap: a sixth of the memory, between 512 MB and 4 GB."""
    return min(max(total_mb // _SHARE, MIN_HEAP_MB), MAX_HEAP_MB)


def default_pagecache_mb(total_mb: int, store_mb: int = 0) -> int:
    """Return the default page cache for a store of this size.

    It is a sixth of the memory, between 256 MB and 4 GB; for a larger store its size and a fifth, at most a third of
    the memory.
    """
    usual_mb = min(max(total_mb // _SHARE, MIN_PAGECACHE_MB), MAX_PAGECACHE_MB)
    return max(usual_mb, min(round(store_mb * _ROOM_TO_GROW), total_mb // _LARGEST_SHARE))


def default_import_heap_mb(total_mb: int) -> int:
    """Return the Java heap of an import: a sixth of the memory, between 1 and 2 GB; larger graphs need no more."""
    return min(max(total_mb // _SHARE, MIN_IMPORT_HEAP_MB), MAX_IMPORT_HEAP_MB)


def default_off_heap_mb(total_mb: int) -> int:
    """Return the memory that an import may use outside its heap: a third."""
    return total_mb // 3
