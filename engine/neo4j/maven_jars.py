"""Download pinned jars (Neo4j's, or the web page's libraries) once into the cache.

A download gets its name only after its SHA-256 matched, so a jar of the right size under its name is the pinned one.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from ssl import SSLError
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from ...models import one_line
from ...models.atomic_files import atomic_write, compute_file_sha256
from ..errors import DownloadError
from ..file_access import lock_file
from ..progress import ignore_progress, show_progress_bar

NEO4J_VERSION = "5.26.30"
MAVEN_CENTRAL_URL = "https://repo.maven.apache.org/maven2"
MIRROR_VARIABLE = "LODESTAR_MAVEN_URL"

_THREADS = 16
_TRIES = 3
_RETRY_S = 1.0
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Jar:
    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.jar"

    @property
    def url_path(self) -> str:
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


def read_pinned_jars(path: Path) -> tuple[Jar, ...]:
    """Return the jars of a list: lines of coordinate, SHA-256 and size, separated by tabs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(_parse_pin(line) for line in lines if line and not line.startswith("#"))


def _parse_pin(line: str) -> Jar:
    coordinate, sha256, size_bytes = line.split("\t")
    group, artifact, version, *classifier = coordinate.split(":")
    return Jar(group, artifact, version, "".join(classifier), sha256, int(size_bytes))


class JarCache:
    """A folder of the cache with pinned jars: Neo4j's in ``neo4j-<version>``, or others under a name of their own."""

    def __init__(self, cache_dir: Path, jars: tuple[Jar, ...] | None = None, name: str = "") -> None:
        self.name = name or f"Neo4j {NEO4J_VERSION}"
        self.folder = cache_dir.absolute() / self.name.lower().replace(" ", "-")
        self.jars = read_pinned_jars(Path(__file__).with_name("jars.tsv")) if jars is None else jars

    def missing(self) -> list[Jar]:
        paths = {jar: self.folder / jar.file_name for jar in self.jars}
        return [jar for jar, path in paths.items() if not path.is_file() or path.stat().st_size != jar.size_bytes]

    def ensure(self, *, progress: bool = True) -> list[Path]:
        """Download the missing jars and return the paths of all.

        Raises `DownloadError` if a jar cannot be downloaded: no network, a file other than the pinned one, a full disk,
        or a folder that cannot be written.
        """
        try:
            if self.missing():
                self.folder.mkdir(parents=True, exist_ok=True)
                with lock_file(self.folder / ".lock", f"another lodestar is downloading {self.name}"):
                    self._download(self.missing(), progress=progress)
        except OSError as error:
            raise DownloadError(
                f"{self.folder} cannot be written ({error.strerror or error}); {self.name} needs "
                f"{sum(jar.size_bytes for jar in self.jars) / 1e6:.0f} MB there: make room, or name another folder in "
                "LODESTAR_CACHE"
            ) from error
        return [self.folder / jar.file_name for jar in self.jars]

    def _download(self, jars: Sequence[Jar], *, progress: bool) -> None:
        total_bytes = sum(jar.size_bytes for jar in jars)
        with ExitStack() as opened:
            show = ignore_progress
            if progress:
                bar = show_progress_bar(f"{self.name} ({total_bytes / 1e6:,.0f} MB)", "downloading")
                show, _ = opened.enter_context(bar)
            pool = opened.enter_context(ThreadPoolExecutor(_THREADS, thread_name_prefix="lodestar-download"))
            cancelled, done_bytes = threading.Event(), 0
            try:  # the first failure, or Ctrl-C, ends the other downloads
                jar_of = {pool.submit(_fetch, jar, self.folder, cancelled): jar for jar in jars}
                for future in as_completed(jar_of):
                    future.result()
                    done_bytes += jar_of[future].size_bytes
                    show("downloading", done_bytes, total_bytes)
            finally:
                cancelled.set()
                pool.shutdown(cancel_futures=True)


def _fetch(jar: Jar, folder: Path, cancelled: threading.Event) -> None:
    """Download a jar, with another try where the connection breaks; raise `OSError` for errors of the disk."""
    where = os.environ.get(MIRROR_VARIABLE, MAVEN_CENTRAL_URL).rstrip("/")
    if "@" in where or not where.startswith(("http://", "https://")):
        raise DownloadError(f"{MIRROR_VARIABLE}: expected an http:// or https:// address without a password")
    for tried in range(1, _TRIES + 1):
        try:
            with atomic_write(folder / jar.file_name) as draft:
                with draft.open("wb") as file, urlopen(f"{where}/{jar.url_path}", timeout=_TIMEOUT_S) as response:  # noqa: S310 - http or https, as was checked
                    while (
                        file.tell() <= jar.size_bytes and not cancelled.is_set() and (piece := response.read(1 << 16))
                    ):
                        file.write(piece)
                if draft.stat().st_size < jar.size_bytes:
                    raise ConnectionError(errno.ECONNRESET, "the connection was cut")
                if compute_file_sha256(draft) != jar.sha256:
                    raise DownloadError(
                        f"{where}/{jar.url_path} is not the pinned file: expected SHA-256 {jar.sha256[:12]}…; the "
                        f"download was discarded; check {MIRROR_VARIABLE} or try again"
                    )
            return
        except (URLError, SSLError, ConnectionError, TimeoutError, HTTPException, ValueError) as error:
            if isinstance(error, HTTPError) or tried == _TRIES or cancelled.is_set():
                raise DownloadError(
                    f"{jar.file_name} could not be downloaded from {where} ({one_line(str(error), 200)}): check the "
                    f"network, or name a mirror in {MIRROR_VARIABLE}"
                ) from None
            time.sleep(_RETRY_S)
