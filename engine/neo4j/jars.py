"""Download pinned jars (Neo4j's, or the web page's libraries) once into the cache.

A download gets its name only after its SHA-256 matched, so a jar of the right size under its name is the pinned one.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from ssl import SSLError
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from ...models.whole_file import atomic_write, file_sha256
from ..errors import DownloadError
from ..progress import ignore_progress, progress_bar
from ..whole_file import lock_file

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


def read_pins(path: Path) -> tuple[Jar, ...]:
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
        self.jars = read_pins(Path(__file__).with_name("jars.tsv")) if jars is None else jars

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
                    for left in self.folder.glob(".*.part"):  # of a killed download
                        left.unlink()
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
        if shutil.disk_usage(self.folder).free < total_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with ExitStack() as shown:
            show = ignore_progress
            if progress:
                bar = progress_bar(f"{self.name} ({total_bytes / 1e6:,.0f} MB)", "downloading")
                show, _ = shown.enter_context(bar)
            _fetch_all(jars, self.folder, lambda done_bytes: show("downloading", done_bytes, total_bytes))


def _fetch_all(jars: Sequence[Jar], folder: Path, on_bytes: Callable[[int], None]) -> None:
    """Download the jars into the folder and report the bytes of those that are done.

    The first failure, or Ctrl-C, cancels the other downloads and is raised after they have ended: `DownloadError` for
    network errors, `OSError` for disk errors.
    """
    cancelled = threading.Event()
    done_bytes = 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="lodestar-download") as pool:
        try:
            jar_of = {pool.submit(_fetch, jar, folder, cancelled): jar for jar in jars}
            for future in as_completed(jar_of):
                future.result()
                done_bytes += jar_of[future].size_bytes
                on_bytes(done_bytes)
        finally:
            cancelled.set()
            pool.shutdown(cancel_futures=True)


class _BrokenError(Exception):
    """Raised for a download that ended before its end; `is_final` where another try is in vain."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


def _fetch(jar: Jar, folder: Path, cancelled: threading.Event) -> None:
    where = os.environ.get(MIRROR_VARIABLE, MAVEN_CENTRAL_URL).rstrip("/")
    if "@" in where or not where.startswith(("http://", "https://")):
        raise DownloadError(f"{MIRROR_VARIABLE}: expected an http:// or https:// address without a password")
    for tried in range(1, _TRIES + 1):
        try:
            with atomic_write(folder / jar.file_name) as draft:
                _receive(f"{where}/{jar.url_path}", draft, jar.size_bytes, cancelled)
                if file_sha256(draft) != jar.sha256:
                    raise DownloadError(
                        f"{where}/{jar.url_path} is not the pinned file: expected SHA-256 {jar.sha256[:12]}…; the "
                        f"download was discarded; check {MIRROR_VARIABLE} or try again"
                    )
            return
        except _BrokenError as error:
            if error.is_final or tried == _TRIES or cancelled.is_set():
                raise DownloadError(
                    f"{jar.file_name} could not be downloaded from {where} ({error}): check the network, or name a "
                    f"mirror in {MIRROR_VARIABLE}"
                ) from None
            time.sleep(_RETRY_S)


def _receive(url: str, draft: Path, size_bytes: int, cancelled: threading.Event) -> None:
    """Write what an address sends, at most a piece too much; raise `_BrokenError` for what the network does."""
    num_bytes = 0
    with draft.open("wb") as opened:
        try:
            with urlopen(url, timeout=_TIMEOUT_S) as response:  # noqa: S310 - http or https, as was checked
                while num_bytes <= size_bytes and not cancelled.is_set() and (piece := response.read(1 << 16)):
                    num_bytes += opened.write(piece)
        except HTTPError as error:
            raise _BrokenError(f"HTTP {error.code}", is_final=True) from None
        except (URLError, SSLError, ConnectionError, TimeoutError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise _BrokenError(getattr(reason, "strerror", None) or type(reason).__name__) from None
    if num_bytes < size_bytes:
        raise _BrokenError("the connection was cut")
