"""Read how much memory and how many processors this process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

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
