"""Jars of a Maven repository, fetched in parallel; each gets its own name only when its SHA-256 is right.

`pooch` writes each file under a temporary name, checks it, renames it, and tries again when the connection broke.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

from ...errors import DownloadError
from .byte_progress import ByteProgress

if TYPE_CHECKING:
    import requests

    from .pinned import Jar

MIRROR_VARIABLE = "LODESTAR_MAVEN_URL"

_THREADS = 16
_RETRIES = 2
_CHUNK_BYTES = 1 << 16
_TIMEOUT_S = (10.0, 20.0)  # connecting, and waiting for the next bytes


def repository_url() -> str:
    """Return the Maven repository to download from: the mirror in ``LODESTAR_MAVEN_URL`` or Maven Central."""
    if mirror := os.environ.get(MIRROR_VARIABLE):
        if not mirror.startswith(("http://", "https://")):
            raise DownloadError(f"{MIRROR_VARIABLE}: expected an http:// or https:// address, found {mirror!r}")
        return mirror.rstrip("/")
    from jgo.constants import MAVEN_CENTRAL_URL

    return str(MAVEN_CENTRAL_URL).rstrip("/")


def fetch_all(jars: Sequence[Jar], folder: Path, bar: ByteProgress, on_done: Callable[[Jar], None]) -> None:
    """Fetch the jars into the folder and call `on_done` with each that is there.

    The first failure, or Ctrl-C, cancels the other downloads and is raised when they have ended: `DownloadError` for
    what the network did, `OSError` for what the disk did.
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
            f"{shown_url}/{jar.url_path} is not the pinned file: expected SHA-256 {jar.sha256[:12]}…, nothing of "
            f"what came was kept; check {MIRROR_VARIABLE} or try again"
        ) from None


class _CancelledError(Exception):
    """Ends a download whose result nobody waits for any more."""


class _Download:
    """What `pooch` calls to fetch one jar: streams it, counts the bytes, stops when cancelled or past its size."""

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
    """Return a session that keeps one connection per thread."""
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
