"""Read the machine's memory and processors, and find free ports."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import EmbeddedServerError, PortTakenError
from .home import LOOPBACK

MIN_HEAP_MB = 512
MAX_HEAP_MB = 4096
MIN_PAGECACHE_MB = 256
MAX_PAGECACHE_MB = 4096
MIN_IMPORT_HEAP_MB = 1024
MAX_IMPORT_HEAP_MB = 2048
_SHARE = 6
_LARGEST_SHARE = 3
_ROOM_TO_GROW = 1.2

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def memory_mb() -> int:
    """Return the memory that this process may use in MB: the machine's, or a control group's lower limit."""
    import psutil

    total_bytes = psutil.virtual_memory().total
    for folder in _cgroup_folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # no such file, or "max"
                total_bytes = min(total_bytes, int((folder / name).read_text(encoding="ascii")))
    return total_bytes >> 20


def free_memory_mb() -> int:
    """Return the memory in MB that is free now, at most what this process may use."""
    import psutil

    return min(psutil.virtual_memory().available >> 20, memory_mb())


def num_cpus() -> int:
    """Return the number of processors that this process may use, by its affinity and quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _cgroup_folders("cpu"):
        with suppress(OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
            quota_us, period_us = _cpu_quota_us(folder)
            if quota_us > 0:  # -1: no quota
                allowed = min(allowed, -(-quota_us // period_us))
    return max(allowed, 1)


def _cpu_quota_us(folder: Path) -> tuple[int, int]:
    """Return quota and period of a control group's processor time, in microseconds."""
    if (folder / "cpu.max").exists():
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
    else:
        quota, period = ((folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period"))
    return int(quota), int(period)


def _cgroup_folders(controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups of this process: its own and their parents."""
    groups = [(_CGROUPS, ""), (_CGROUPS / controller, "")]  # inside a container
    with suppress(OSError, ValueError):
        for line in _OWN_CGROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                groups.append((_CGROUPS, path))
            elif controller in controllers.split(","):
                groups.append((_CGROUPS / controller, path))
    for root, path in groups:
        folder = root / path.lstrip("/")
        yield from (folder, *(around for around in folder.parents if around.is_relative_to(root)))


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


def is_free(port: int) -> bool:
    """Return whether a server may listen at the port of the loopback address.

    Raises `EmbeddedServerError` if this user may not listen at the port.
    """
    with socket.socket() as probe:
        if os.name == "posix":  # on Windows the option would let two servers share the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                raise EmbeddedServerError(
                    f"port {port}: this user may not listen there: give one above 1023"
                ) from error
            return False
    return True


def choose_port(given: int | None, remembered: int | None, usual: int, option: str, avoid: Container[int]) -> int:
    """Return the port to listen at: the given one, else the remembered, the usual, or any free one.

    `avoid` are reserved ports. Raises `PortTakenError` if the given port is not free.
    """
    if given is not None:
        if not is_free(given):
            raise PortTakenError(
                f"port {given} is taken by another process: give another with {option}, or leave it out to have a "
                "free one chosen"
            )
        return given
    for port in (remembered, usual):
        if port and port not in avoid and is_free(port):
            return port
    return free_port(avoid)


def free_port(avoid: Container[int] = ()) -> int:
    """Return a port that is free now and not among those to avoid."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in avoid:
            return port
