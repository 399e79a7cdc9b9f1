"""Read what this process runs on: memory, processors, and the code itself."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def memory_mb() -> int:
    """Return the memory that this process may use in MB: the machine's, or a control group's lower limit."""
    import psutil

    total_bytes = psutil.virtual_memory().total
    for folder in _cgroup_folders():
        with suppress(OSError, ValueError):  # no such file, or "max"
            total_bytes = min(total_bytes, int((folder / "memory.max").read_text(encoding="ascii")))
    return total_bytes >> 20


def free_memory_mb() -> int:
    """Return the memory in MB that is free now, at most what this process may use."""
    import psutil

    return min(psutil.virtual_memory().available >> 20, memory_mb())


def num_cpus() -> int:
    """Return the number of processors that this process may use, by its affinity and quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _cgroup_folders():
        with suppress(OSError, ValueError):  # no such file, or "max"
            quota_us, period_us = map(int, (folder / "cpu.max").read_text(encoding="ascii").split())
            allowed = min(allowed, -(-quota_us // period_us))
    return max(allowed, 1)


def num_free_cpus() -> int:
    """Return how many of these processors had nothing to do in the last minute, at least one."""
    return max(1, round(num_cpus() - os.getloadavg()[0]))


def _cgroup_folders() -> Iterator[Path]:
    yield _CGROUPS  # inside a container
    with suppress(OSError, ValueError):
        for line in _OWN_CGROUPS.read_text(encoding="utf-8").splitlines():
            folder = _CGROUPS / line.split(":", 2)[2].lstrip("/")
            yield from (folder, *(around for around in folder.parents if around.is_relative_to(_CGROUPS)))


ROOT = Path(__file__).parents[1]
_CODE = ("*.py", "*.cypher", "*.toml", "*.txt", "*.sql", "*.tsv")


def code_sha256() -> str:
    """Return the hash of the package's code, whether it is installed or a checkout."""
    digest = hashlib.sha256()
    for package in ("engine", "models", "cypher"):
        for pattern in _CODE:
            for path in sorted((ROOT / package).rglob(pattern)):
                digest.update(f"{path.relative_to(ROOT).as_posix()}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def describe_machine() -> dict[str, Any]:
    import psutil

    torch = sys.modules.get("torch")  # what was not imported computed nothing
    return {
        "processor": _processor(),
        "num_cores": num_cpus(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "gpu": torch.cuda.get_device_name() if torch and torch.cuda.is_available() else None,
        "system": platform.platform(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
