"""Fixtures that every test may ask for: a real Neo4j, started once per run and only when a test needs it.

The jars come from the user's own cache (or from ``LODESTAR_CACHE``), so a run downloads them at most once per machine.
Where the server cannot be had the tests that need it fail. ``LODESTAR_TEST_URI`` and ``LODESTAR_TEST_PASSWORD`` name a
running server to use instead: all its data is deleted.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.server_process import find_java
from lodestar.engine.settings import Connection, Settings
from lodestar.loaders.source import Source

from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.places import clean_environment

HEAP_MB = 512
PAGECACHE_MB = 128

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
"""No framework under test asks the network for anything."""
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Threads of PyTorch and NumPy wait for each other by spinning, which takes far longer than the tiny networks of the
tests. NumPy of this process is loaded already; the commands that tests start have one thread."""
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
"""A test's server ends before what the JVM's second compiler costs pays off: a quarter of the processor time."""
signal.signal(signal.SIGINT, signal.default_int_handler)
"""A run in the background ignores Ctrl-C, and so would the commands under test, which inherit it."""


def examples(number: int) -> int:
    """Return a law's number of examples times ``LODESTAR_EXAMPLES``: a fifth; `make test-long` says 3."""
    return max(5, round(number * float(os.environ.get("LODESTAR_EXAMPLES", "0.2"))))


if find_spec("hypothesis"):  # the slim environment has none
    import hypothesis

    hypothesis.settings.register_profile(
        "lodestar",
        max_examples=examples(100),
        deadline=None,  # a busy machine is no fault of the code
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("lodestar")


@pytest.fixture(scope="session")
def java_classes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give every Java that is started its own classes as an archive, which its package lacks: a start parses them no more.

    A server starts and loads its first graph with a fifth less processor time.
    """
    archive = tmp_path_factory.mktemp("java") / "classes.jsa"
    subprocess.run(
        [find_java(), "-Xshare:dump", f"-XX:SharedArchiveFile={archive}", "-XX:+UseG1GC"],
        check=True,
        capture_output=True,
    )
    os.environ["JDK_JAVA_OPTIONS"] += f" -XX:SharedArchiveFile={archive}"


@pytest.fixture(scope="session")
def cache_dir(java_classes: None) -> Path:
    """The folder of downloads, shared with the user's own Lodestar."""
    return Settings(cache=os.environ.get("LODESTAR_CACHE", "")).cache_dir


IN_MEMORY, ROOM = Path("/dev/shm"), 4 << 30


@pytest.fixture(scope="session")
def home_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of this run's own, in memory where there is room: a server waits for the disk at each commit."""
    if not (IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free >= ROOM):
        yield tmp_path_factory.mktemp("home")
        return
    with tempfile.TemporaryDirectory(dir=IN_MEMORY, prefix="lodestar-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def server(home_dir: Path, cache_dir: Path) -> Iterator[EmbeddedServer]:
    """An embedded Neo4j called ``default`` in this run's home, stopped and deleted at the end."""
    yield from run_server("default", home_dir, cache_dir)


def run_server(name: str, home_dir: Path, cache_dir: Path) -> Iterator[EmbeddedServer]:
    instance = EmbeddedServer(name, home_dir, cache_dir)
    instance.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
    try:
        yield instance
    finally:
        instance.reset()


@pytest.fixture(scope="session")
def external_uri() -> str:
    """The address of the server to use instead of an embedded one, or ""."""
    return os.environ.get("LODESTAR_TEST_URI", "")


@pytest.fixture(scope="session")
def settings(request: pytest.FixtureRequest, external_uri: str, home_dir: Path, cache_dir: Path) -> Settings:
    """Settings that lead to the test server; `environment` has them for a command line."""
    if external_uri:
        password = os.environ.get("LODESTAR_TEST_PASSWORD", "")
        return Settings(uri=external_uri, password=password, home=str(home_dir), cache=str(cache_dir))
    request.getfixturevalue("server")
    return Settings(home=str(home_dir), cache=str(cache_dir))


@pytest.fixture(scope="session")
def environment(settings: Settings) -> dict[str, str]:
    """The environment in which `lodestar` finds the test server and nothing of the user's."""
    given = {"LODESTAR_HOME": settings.home, "LODESTAR_CACHE": settings.cache}
    if settings.uri:
        given |= {"LODESTAR_URI": settings.uri, "LODESTAR_PASSWORD": settings.password}
    return clean_environment(**given)


@pytest.fixture(scope="session")
def connection(settings: Settings) -> Connection:
    """The connection to the test server."""
    from lodestar.engine.settings import make_connection

    return make_connection(settings)


@pytest.fixture(scope="session")
def gateway(connection: Connection) -> Iterator[Gateway]:
    """A blocking gateway to the test server."""
    with Gateway(connection) as gateway:
        gateway.version()
        yield gateway


@pytest.fixture(scope="session")
def driver(connection: Connection) -> Iterator[neo4j.Driver]:
    """A plain driver, for what a test arranges or looks up behind the library's back."""
    with neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
        yield driver


@pytest.fixture
def empty_graph(driver: neo4j.Driver, connection: Connection) -> None:
    """Delete all nodes and relationships before the test."""
    clear_database(driver, connection.database)


@pytest.fixture
def new_database(driver: neo4j.Driver, connection: Connection) -> Iterator[None]:
    """Delete all constraints and indexes, too, before the test and after it: what is tested begins or leaves a schema."""
    clear_database(driver, connection.database, schema=True)
    yield
    clear_database(driver, connection.database, schema=True)


def clear_database(driver: neo4j.Driver, database: str, *, schema: bool = False) -> None:
    """Delete all nodes and relationships, and with `schema` all constraints and indexes.

    Neo4j plans every query again after a change of the schema: a load takes a second instead of a tenth.
    """
    with driver.session(database=database) as session:
        if schema:
            for name in session.run("SHOW CONSTRAINTS YIELD name").value():
                session.run("DROP CONSTRAINT $name", name=name).consume()
            for name in session.run("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name").value():
                session.run("DROP INDEX $name", name=name).consume()
        # Relationships first: a hub with all of its own would not fit into one transaction's memory.
        session.run("MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF 10000 ROWS").consume()
        session.run("MATCH (n) CALL (n) { DELETE n } IN TRANSACTIONS OF 10000 ROWS").consume()


OpenOver = Callable[..., AbstractContextManager[Engine]]


@pytest.fixture(scope="module")
def open_over(gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> OpenOver:
    """Opens an engine over what a source says, which replaces whatever the graph held; options are the engine's."""

    @contextmanager
    def opened(source: Source, **options: Any) -> Iterator[Engine]:
        clear_database(driver, connection.database)
        load(source, gateway)
        with Engine(settings, **options) as engine:
            yield engine

    return opened


@pytest.fixture(scope="module")
def engine(open_over: OpenOver) -> Iterator[Engine]:
    """An engine over `tests.made.graphs.COUNTRIES`."""
    with open_over(TripleSource(COUNTRIES, COUNTRY_NAMES)) as engine:
        yield engine


@pytest.fixture(scope="module")
def checkpoint(engine: Engine, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint of STAR with random weights for the graph of `engine`."""
    from tests.made.tiny_checkpoint import write_tiny_checkpoint

    folder, vocabulary = tmp_path_factory.mktemp("checkpoints") / "tiny", gateway.run(read_catalogue()).vocabulary
    return str(write_tiny_checkpoint(folder, graph=vocabulary, calibration=(0.5, 1.5)))


@pytest.fixture(scope="session")
def source_server(home_dir: Path, cache_dir: Path) -> Iterator[EmbeddedServer]:
    """A second embedded Neo4j, which `lodestar load neo4j` reads."""
    yield from run_server("source", home_dir, cache_dir)
