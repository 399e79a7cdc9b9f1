"""The pinned jars of Neo4j: downloaded once into the cache, checked against their SHA-256, and put on a class path.

A jar is written under a temporary name and takes its own only after its SHA-256 was right, so an interrupted
download leaves no half jar. ``verified.json`` beside the jars records size and modification time of each jar when its
hash was checked: a jar that still has both is taken as it is, any other is hashed again, and fetched again when
the hash is wrong.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from ....models.whole_file import whole
from ...errors import DownloadError
from ..file_lock import locked
from .byte_progress import ByteProgress
from .download import fetch_all
from .pinned import NEO4J_VERSION, Jar, pinned


class JarCache:
    """A folder of the cache with pinned jars: Neo4j's in ``neo4j-<version>``, or others under a name of their own."""

    def __init__(self, cache_dir: Path, jars: tuple[Jar, ...] | None = None, name: str = "Neo4j") -> None:
        self.name = f"Neo4j {NEO4J_VERSION}" if name == "Neo4j" else name
        self.folder = cache_dir.absolute() / self.name.lower().replace(" ", "-")
        self.jars = pinned() if jars is None else jars

    @property
    def class_path(self) -> list[Path]:
        """The jars' paths, whether they are there or not."""
        return [self.folder / jar.file_name for jar in self.jars]

    def missing(self) -> list[Jar]:
        """Return the jars that are not there as they were when their hash was checked."""
        verified = self._read_verified()
        found = {jar: _fingerprint(self.folder / jar.file_name) for jar in self.jars}
        return [jar for jar, now in found.items() if now is None or now != verified.get(jar.file_name)]

    def ensure(self, *, progress: bool = True) -> list[Path]:
        """Download what is missing and return the class path.

        Raises `DownloadError` when a jar cannot be had: no network, another file than the pinned one, no room, or a
        folder that cannot be written.
        """
        if not self.missing():
            return self.class_path
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with locked(self.folder / ".lock", f"another lodestar is downloading {self.name}"):
                if missing := self.missing():
                    self._sweep()
                    self._download(missing, progress=progress)
        except OSError as error:
            raise self._unwritable(error) from error
        return self.class_path

    def _download(self, missing: list[Jar], *, progress: bool) -> None:
        wanted = [jar for jar in missing if not _has_hash(self.folder / jar.file_name, jar)]
        self._record(set(missing) - set(wanted))
        if not wanted:
            return
        total_bytes = sum(jar.size_bytes for jar in wanted)
        if shutil.disk_usage(self.folder).free < total_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done: list[Jar] = []
        try:
            with ByteProgress(self.name, total_bytes, shown=progress) as bar:
                fetch_all(wanted, self.folder, bar, done.append)
        finally:
            self._record(done)

    def _sweep(self) -> None:
        """Delete what killed downloads left behind, and jars of the wrong size."""
        sizes = {jar.file_name: jar.size_bytes for jar in self.jars}
        for path in self.folder.iterdir():
            half = path.name in sizes and path.stat().st_size != sizes[path.name]
            if half or path.name.startswith("tmp"):
                path.unlink()

    def _record(self, jars: Collection[Jar]) -> None:
        if not jars:
            return
        verified = self._read_verified() | {jar.file_name: _fingerprint(self.folder / jar.file_name) for jar in jars}
        with whole(self.folder / "verified.json") as draft:
            draft.write_text(json.dumps(verified, indent=0), encoding="utf-8")

    def _read_verified(self) -> dict[str, list[int] | None]:
        try:
            verified = json.loads((self.folder / "verified.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # never verified: every jar is hashed again
        return verified if isinstance(verified, dict) else {}

    def _unwritable(self, error: OSError) -> DownloadError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            needed_mb = sum(jar.size_bytes for jar in self.missing()) / 1e6
            return DownloadError(
                f"no room in {self.folder}: {self.name} needs {needed_mb:.0f} MB more there ({error.strerror}); "
                "make room or name another folder in LODESTAR_CACHE"
            )
        return DownloadError(
            f"{self.folder} cannot be written ({error.strerror or error}): name another folder in LODESTAR_CACHE"
        )


def _fingerprint(path: Path) -> list[int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return [stat.st_size, stat.st_mtime_ns]


def _has_hash(path: Path, jar: Jar) -> bool:
    import pooch

    return path.is_file() and pooch.file_hash(str(path)) == jar.sha256
