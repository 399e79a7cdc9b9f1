"""Download Neo4j's jars once, check them against pinned hashes, and link them into a home.

`pooch` downloads each jar under a temporary name, retries broken connections, and renames it only after its SHA-256
matched, so an interrupted download leaves no partial jar. ``verified.json`` records the size and modification time of
each jar at the time of the check: a jar that still has both is trusted, any other is hashed again, and downloaded again
if the hash is wrong.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit, urlunsplit

from ...models.whole_file import atomic_write
from ..errors import DownloadError
from ..progress import say
from ..whole_file import lock_file

if TYPE_CHECKING:
    import requests
    from rich.progress import Progress


class ByteProgress:
    """A progress bar on stderr that several threads may advance."""

    def __init__(self, what: str, total_bytes: int, *, shown: bool = True) -> None:
        self.what = what
        self.total_bytes = total_bytes
        self._shown = shown
        self._started_s = time.monotonic()
        self._bar = _bar() if shown and sys.stderr.isatty() else None
        self._task = self._bar.add_task(f"downloading {what}", total=total_bytes) if self._bar else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        elif self._shown:
            say(f"downloading {self.what}: {self.total_bytes / 1e6:,.0f} MB …")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar:
            self._bar.stop()
        if self._shown and kind is None:
            elapsed_s = time.monotonic() - self._started_s
            say(f"{self.what}: {self.total_bytes / 1e6:,.0f} MB in {elapsed_s:.1f} s")

    def advance(self, size_bytes: int) -> None:
        """Add bytes; negative when a download starts over."""
        if self._bar and self._task is not None:
            self._bar.advance(self._task, size_bytes)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


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
        """The file name, in the repository and in the cache."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.jar"

    @property
    def url_path(self) -> str:
        """The path of the jar below the repository's address."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


@cache
def read_pinned_jars() -> tuple[Jar, ...]:
    """Read the jars of ``jars.tsv``."""
    return read_pins(Path(__file__).with_name("jars.tsv"))


def read_pins(path: Path) -> tuple[Jar, ...]:
    """Read the jars that a file pins."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(_parse_jar(line) for line in lines if line and not line.startswith("#"))


def _parse_jar(line: str) -> Jar:
    coordinate, sha256, size_bytes = line.split("\t")
    group, artifact, version, *classifier = coordinate.split(":")
    return Jar(group, artifact, version, "".join(classifier), sha256, int(size_bytes))


MIRROR_VARIABLE = "LODESTAR_MAVEN_URL"

_THREADS = 16
_RETRIES = 2
_CHUNK_BYTES = 1 << 16
_TIMEOUT_S = (10.0, 20.0)  # connecting, and waiting for the next bytes


def repository_url() -> str:
    """Return the Maven repository to download from: the mirror in ``LODESTAR_MAVEN_URL``, or Maven Central."""
    if mirror := os.environ.get(MIRROR_VARIABLE):
        if not mirror.startswith(("http://", "https://")):
            raise DownloadError(f"{MIRROR_VARIABLE}: expected an http:// or https:// address, found {mirror!r}")
        return mirror.rstrip("/")
    from jgo.constants import MAVEN_CENTRAL_URL

    return str(MAVEN_CENTRAL_URL).rstrip("/")


def fetch_all(jars: Sequence[Jar], folder: Path, bar: ByteProgress, on_done: Callable[[Jar], None]) -> None:
    """Download the jars into the folder and call `on_done` with each.

    The first failure, or Ctrl-C, cancels the other downloads and is raised after they have ended: `DownloadError` for
    network errors, `OSError` for disk errors.
    """
    base_url = repository_url()
    cancelled = threading.Event()
    with _session() as session, ThreadPoolExecutor(_THREADS, thread_name_prefix="lodestar-download") as pool:
        download = _Download(session, bar, cancelled)
        try:
            jar_of = {pool.submit(_fetch, jar, base_url, folder, download): jar for jar in jars}
            for future in as_completed(jar_of):
                future.result()
                on_done(jar_of[future])
        finally:
            cancelled.set()
            pool.shutdown(cancel_futures=True)


def _fetch(jar: Jar, base_url: str, folder: Path, download: _Download) -> None:
    import pooch
    import requests

    shown_url = _without_credentials(base_url)
    store = pooch.create(
        folder,
        base_url=f"{base_url}/",
        registry={jar.file_name: f"sha256:{jar.sha256}"},
        urls={jar.file_name: f"{base_url}/{jar.url_path}"},
        retry_if_failed=_RETRIES,
    )
    pooch.get_logger().setLevel("ERROR")
    try:
        store.fetch(jar.file_name, downloader=cast(Any, partial(download, jar)))
    except requests.HTTPError as error:
        code = error.response.status_code if error.response is not None else "no status"
        raise DownloadError(
            f"{shown_url}/{jar.url_path}: expected the jar, found HTTP {code}: check {MIRROR_VARIABLE}"
        ) from None
    except requests.RequestException as error:
        raise DownloadError(
            f"{jar.file_name} could not be downloaded from {shown_url} ({_reason(error)}): "
            f"check the network, or name a mirror in {MIRROR_VARIABLE}"
        ) from None
    except ValueError:
        raise DownloadError(
            f"{shown_url}/{jar.url_path} is not the pinned file: expected SHA-256 {jar.sha256[:12]}…; the "
            f"download was discarded; check {MIRROR_VARIABLE} or try again"
        ) from None


class _CancelledError(Exception):
    """Raised in a download that was cancelled."""


class _Download:
    """Download one jar for `pooch`, count its bytes, and stop when cancelled or when it is too large."""

    def __init__(self, session: requests.Session, bar: ByteProgress, cancelled: threading.Event) -> None:
        self.session, self.bar, self.cancelled = session, bar, cancelled

    def __call__(self, jar: Jar, url: str, output_file: str, _pooch: object) -> None:
        received_bytes = 0
        try:
            self._check()
            with self.session.get(url, stream=True, timeout=_TIMEOUT_S) as response:
                response.raise_for_status()
                with Path(output_file).open("wb") as file:
                    for chunk in response.iter_content(_CHUNK_BYTES):
                        self._check()
                        file.write(chunk)
                        received_bytes += len(chunk)
                        self.bar.advance(len(chunk))
                        if received_bytes > jar.size_bytes:
                            raise ValueError("larger than the pinned file")
        except BaseException:
            self.bar.advance(-received_bytes)
            raise

    def _check(self) -> None:
        if self.cancelled.is_set():
            raise _CancelledError


def _session() -> requests.Session:
    """Return a session with one connection per thread."""
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.mount("https://", HTTPAdapter(pool_maxsize=_THREADS))
    session.mount("http://", HTTPAdapter(pool_maxsize=_THREADS))
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
            with ByteProgress(self.name, total_bytes, shown=progress) as bar:
                fetch_all(wanted, self.folder, bar, done.append)
        finally:
            self._record(done)

    def _sweep(self) -> None:
        """Delete the remains of killed downloads, and jars of the wrong size."""
        sizes = {jar.file_name: jar.size_bytes for jar in self.jars}
        for path in self.folder.iterdir():
            half = path.name in sizes and path.stat().st_size != sizes[path.name]
            if half or path.name.startswith("tmp"):
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
    import pooch

    return path.is_file() and pooch.file_hash(str(path)) == jar.sha256
