"""Downloads against a repository of this test's own, over a real socket: what comes wrong, half, or not at all."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lodestar.engine.errors import DownloadError
from lodestar.engine.neo4j.maven_jars import MIRROR_VARIABLE, Jar, JarCache

CONTENTS = {f"part{n}": bytes([n]) * (200_000 + n) for n in range(12)}
JARS = tuple(
    Jar("org.example", name, "1.0", "", hashlib.sha256(content).hexdigest(), len(content))
    for name, content in CONTENTS.items()
)


@dataclass
class Repository:
    """A Maven repository that can misbehave: `wrong` content, `broken` after so many half answers, `gone`."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    broken: dict[str, int] = field(default_factory=dict)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        artifact = handler.path.split("/")[-3]
        self.requests.append(artifact)
        if artifact in self.gone:
            handler.send_error(404)
            return
        content = CONTENTS[artifact]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        if self.broken.get(artifact, 0):
            self.broken[artifact] -= 1
            handler.wfile.write(content[:1000])
            handler.close_connection = True
            return
        handler.wfile.write(b"x" * len(content) if artifact in self.wrong else content)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    behaviour = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behaviour.answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    behaviour.url = f"http://127.0.0.1:{server.server_port}/maven2"
    monkeypatch.setenv(MIRROR_VARIABLE, behaviour.url)
    monkeypatch.setattr("lodestar.engine.neo4j.maven_jars._RETRY_S", 0)
    yield behaviour
    server.shutdown()
    server.server_close()
    thread.join()


def whole(cache: JarCache) -> bool:
    return all((cache.folder / jar.file_name).read_bytes() == CONTENTS[jar.artifact] for jar in JARS)


def leftovers(cache: JarCache) -> list[str]:
    kept = {jar.file_name for jar in JARS} | {".lock"}
    return [path.name for path in cache.folder.iterdir() if path.name not in kept]


def test_a_half_jar_is_fetched_again_and_nothing_else(repository: Repository, tmp_path: Path) -> None:
    cache = JarCache(tmp_path, JARS)
    cache.ensure(progress=False)
    repository.requests.clear()
    (cache.folder / "part3-1.0.jar").write_bytes(CONTENTS["part3"][:777])
    cache.ensure(progress=False)
    assert repository.requests == ["part3"]
    assert whole(cache)
    assert leftovers(cache) == []


def test_a_connection_that_breaks_is_tried_again(repository: Repository, tmp_path: Path) -> None:
    repository.broken = {"part5": 2}
    cache = JarCache(tmp_path, JARS)
    cache.ensure(progress=False)
    assert repository.requests.count("part5") == 3
    assert whole(cache)


def test_another_file_than_the_pinned_one_is_not_kept(repository: Repository, tmp_path: Path) -> None:
    repository.wrong = {"part7"}
    cache = JarCache(tmp_path, JARS)
    with pytest.raises(DownloadError, match=r"part7-1\.0\.jar is not the pinned file"):
        cache.ensure(progress=False)
    assert not (cache.folder / "part7-1.0.jar").exists()
    assert leftovers(cache) == []
    repository.wrong = set()
    cache.ensure(progress=False)
    assert whole(cache)


def test_no_network_and_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, "http://127.0.0.1:9/maven2")
    monkeypatch.setattr("lodestar.engine.neo4j.maven_jars._RETRY_S", 0)
    with pytest.raises(DownloadError, match=r"Connection refused.*LODESTAR_MAVEN_URL"):
        JarCache(tmp_path, JARS).ensure(progress=False)
