"""Download Neo4j's jars once, and check them against pinned hashes.

A download gets its name only after its SHA-256 matched, so an interrupted one leaves no partial jar. ``verified.json``
records the size and modification time of each jar at the time of the check: a jar that still has both is trusted, any
other is hashed again, and downloaded again if the hash is wrong.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from ...models.whole_file import atomic_write, file_sha256
from ..errors import DownloadError
from ..progress import Progress, ignore_progress, progress_bar
from ..whole_file import lock_file

if TYPE_CHECKING:
    import requests


class _Received:
    """Counts the bytes that several threads receive."""

    def __init__(self, total_bytes: int, progress: Progress) -> None:
        self._total_bytes, self._progress = total_bytes, progress
        self._done_bytes = 0
        self._counting = threading.Lock()

    def advance(self, size_bytes: int) -> None:
        """Add bytes; negative when a download starts over."""
        with self._counting:
            self._done_bytes += size_bytes
            self._progress("downloading", self._done_bytes, self._total_bytes)


NEO4J_VERSION = "5.26.30"


@dataclass(frozen=True, slots=True)
class Jar:
    """One pinned jar."""

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
        """The path of the jar below the repository's address."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


@cache
def read_pinned_jars() -> tuple[Jar, ...]:
    return read_pins(Path(__file__).with_name("jars.tsv"))


def read_pins(path: Path) -> tuple[Jar, ...]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(_parse_jar(line) for line in lines if line and not line.startswith("#"))


def _parse_jar(line: str) -> Jar:
    coordinate, sha256, size_bytes = line.split("\t")
    group, artifact, version, *classifier = coordinate.split(":")
    return Jar(group, artifact, version, "".join(classifier), sha256, int(size_bytes))


MAVEN_CENTRAL_URL = "https://repo.maven.apache.org/maven2"
MIRROR_VARIABLE = "LODESTAR_MAVEN_URL"

_THREADS = 16
_RETRIES = 2
_RETRY_S = 1.0
_CHUNK_BYTES = 1 << 16
_TIMEOUT_S = (10.0, 20.0)  # connecting, and waiting for the next bytes


def repository_url() -> str:
    """Return the Maven repository to download from: the mirror in ``LODESTAR_MAVEN_URL``, or Maven Central."""
    if mirror := os.environ.get(MIRROR_VARIABLE):
        if not mirror.startswith(("http://", "https://")):
            raise DownloadError(f"{MIRROR_VARIABLE}: expected an http:// or https:// address, found {mirror!r}")
        return mirror.rstrip("/")
    return MAVEN_CENTRAL_URL


def fetch_all(jars: Sequence[Jar], folder: Path, received: _Received, on_done: Callable[[Jar], None]) -> None:
    """Download the jars into the folder and call `on_done` with each.

    The first failure, or Ctrl-C, cancels the other downloads and is raised after they have ended: `DownloadError` for
    network errors, `OSError` for disk errors.
    """
    base_url = repository_url()
    cancelled = threading.Event()
    with _session() as session, ThreadPoolExecutor(_THREADS, thread_name_prefix="lodestar-download") as pool:
        try:
            jar_of = {pool.submit(_fetch, jar, base_url, folder, session, received, cancelled): jar for jar in jars}
            for future in as_completed(jar_of):
                future.result()
                on_done(jar_of[future])
        finally:
            cancelled.set()
            pool.shutdown(cancel_futures=True)


def _fetch(
    jar: Jar, base_url: str, folder: Path, session: requests.Session, received: _Received, cancelled: threading.Event
) -> None:
    """Download one jar; a broken connection is tried again. The jar gets its name once its hash is right."""
    import requests

    shown_url = f"{_without_credentials(base_url)}/{jar.url_path}"
    for last in (*[False] * _RETRIES, True):
        try:
            with atomic_write(folder / jar.file_name) as draft:
                _receive(jar, f"{base_url}/{jar.url_path}", draft, session, received, cancelled)
                if file_sha256(draft) != jar.sha256:
                    raise _WrongFileError
            return
        except _WrongFileError:
            raise DownloadError(
                f"{shown_url} is not the pinned file: expected SHA-256 {jar.sha256[:12]}…; the download was discarded; "
                f"check {MIRROR_VARIABLE} or try again"
            ) from None
        except requests.HTTPError as error:
            code = error.response.status_code if error.response is not None else "no status"
            raise DownloadError(f"{shown_url}: expected the jar, found HTTP {code}: check {MIRROR_VARIABLE}") from None
        except requests.RequestException as error:
            if last or cancelled.is_set():
                raise DownloadError(
                    f"{jar.file_name} could not be downloaded from {_without_credentials(base_url)} "
                    f"({_reason(error)}): check the network, or name a mirror in {MIRROR_VARIABLE}"
                ) from None
            time.sleep(_RETRY_S)


class _CancelledError(Exception):
    """Raised in a download that was cancelled."""


class _WrongFileError(Exception):
    """Raised for a file that is not the pinned one."""


def _receive(
    jar: Jar, url: str, file: Path, session: requests.Session, received: _Received, cancelled: threading.Event
) -> None:
    """Write what an address sends to a file, and count its bytes; stop when cancelled or when it is too large."""
    received_bytes = 0
    try:
        with session.get(url, stream=True, timeout=_TIMEOUT_S) as response, file.open("wb") as opened:
            response.raise_for_status()
            for chunk in response.iter_content(_CHUNK_BYTES):
                if cancelled.is_set():
                    raise _CancelledError
                opened.write(chunk)
                received_bytes += len(chunk)
                received.advance(len(chunk))
                if received_bytes > jar.size_bytes:
                    raise _WrongFileError
    except BaseException:
        received.advance(-received_bytes)
        raise


def _session() -> requests.Session:
    """Return a session with one connection per thread."""
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_THREADS))
    return session


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _reason(error: BaseException) -> str:
    """Return the innermost cause in a few words; the outer ones repeat the address."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return getattr(error, "strerror", None) or type(error).__name__


class JarCache:
    """A folder of the cache with pinned jars: Neo4j's in ``neo4j-<version>``, or others under a name of their own."""

    def __init__(self, cache_dir: Path, jars: tuple[Jar, ...] | None = None, name: str = "Neo4j") -> None:
        self.name = f"Neo4j {NEO4J_VERSION}" if name == "Neo4j" else name
        self.folder = cache_dir.absolute() / self.name.lower().replace(" ", "-")
        self.jars = read_pinned_jars() if jars is None else jars

    @property
    def class_path(self) -> list[Path]:
        """The paths of the jars, whether they exist or not."""
        return [self.folder / jar.file_name for jar in self.jars]

    def missing(self) -> list[Jar]:
        """Return the jars that are missing or changed since their hash was checked."""
        verified = self._read_verified()
        found = {jar: _fingerprint(self.folder / jar.file_name) for jar in self.jars}
        return [jar for jar, now in found.items() if now is None or now != verified.get(jar.file_name)]

    def ensure(self, *, progress: bool = True) -> list[Path]:
        """Download the missing jars and return the class path.

        Raises `DownloadError` if a jar cannot be downloaded: no network, a file other than the pinned one, a full disk,
        or a folder that cannot be written.
        """
        if not self.missing():
            return self.class_path
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with lock_file(self.folder / ".lock", f"another lodestar is downloading {self.name}"):
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
            with ExitStack() as shown:
                show = ignore_progress
                if progress:
                    bar = progress_bar(f"{self.name} ({total_bytes / 1e6:,.0f} MB)", "downloading")
                    show, _ = shown.enter_context(bar)
                fetch_all(wanted, self.folder, _Received(total_bytes, show), done.append)
        finally:
            self._record(done)

    def _sweep(self) -> None:
        """Delete the remains of killed downloads, and jars of the wrong size."""
        sizes = {jar.file_name: jar.size_bytes for jar in self.jars}
        for path in self.folder.iterdir():
            half = path.name in sizes and path.stat().st_size != sizes[path.name]
            if half or path.name.endswith(".part"):
                path.unlink()

    def _record(self, jars: Collection[Jar]) -> None:
        if not jars:
            return
        verified = self._read_verified() | {jar.file_name: _fingerprint(self.folder / jar.file_name) for jar in jars}
        with atomic_write(self.folder / "verified.json") as draft:
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
    return path.is_file() and file_sha256(path) == jar.sha256
