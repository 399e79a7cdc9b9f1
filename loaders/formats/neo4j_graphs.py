"""Read a Neo4j that is already there, or a dump or a Cypher script, which a server of its own takes for the time.

Nothing is written to one that is there: every query runs with access mode READ. An entity's id is its node's element
id, a record's the relationship's.

A dump is loaded by Neo4j's own `database load`. A script is code: it runs only where the user says so, against an empty
database, with what `LOAD CSV` names from the script's folder and nothing from the web.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from ...engine.errors import EmbeddedServerError, InputError, UsageError
from ...engine.file_access import read_text_file
from ...engine.neo4j import Request, Row, load_query, server_process
from ...engine.neo4j.embedded import EmbeddedServer
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.server_home import choose_port
from ...engine.settings import LOAD_TIMEOUT_S, Settings, resolve_settings
from ...models import quote_line
from ...models.atomic_files import make_private_folder
from ..mapping import MAX_NUMBERS
from ..property_graph import Element, Node, PropertyGraph, Relationship
from ..reading import RereadableFile

MAX_SCRIPT_BYTES = 500_000_000
HEAP_MB, PAGE_CACHE_MB = 1_024, 256
_STARTS = (b"DZV1", b"DGV1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # how dumps begin
_CSV = re.compile(r"""(?is)(\bLOAD\s+CSV\s+(?:WITH\s+HEADERS\s+)?FROM\s+)(["'])(.+?)\2""")
_PIECES = re.compile(r"""(?s)//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`|;|[^;"'`/]+|/""")


FETCH_SIZE = 2_000


class Neo4jGraph(PropertyGraph):
    kind = "neo4j"

    def __init__(self, gateway: Gateway) -> None:
        connection = gateway.connection
        super().__init__(f"{connection.where}/{connection.database}")
        self._gateway = gateway
        self.options = {"from": connection.where, "from_database": connection.database, "from_user": connection.user}
        self.expected = (
            f"expected nodes in database {connection.database!r}, found none that {connection.user!r} may read: check "
            "--from-database, and the user's rights"
        )

    def elements(self) -> Iterator[Element]:
        for id_, labels, properties in self._stream("read_nodes"):
            yield Node(id_, labels, sorted(properties))
        for id_, type_, start, end, properties in self._stream("read_relationships"):
            yield Relationship(id_, type_, start, end, sorted(properties))

    def _stream(self, query: str) -> Iterator[Row]:
        return self._gateway.stream(Request(load_query(query), {"most": MAX_NUMBERS}, lambda rows: rows[0]), FETCH_SIZE)


def split_script(text: str) -> Iterator[tuple[str, int]]:
    """Yield the statements of a script, which semicolons end, each with the line where it begins; commands of the
    shell, such as `:begin`, are left out."""
    text = re.sub(r"(?m)^:.*$", "", text.removeprefix("\ufeff"))
    begin = line = 1
    pieces: list[str] = []
    for piece in (*(found[0] for found in _PIECES.finditer(text)), ";"):
        if piece == ";":
            if "".join(pieces).strip():
                yield "".join(pieces).strip(), begin
            pieces = []
        elif not piece.startswith(("//", "/*")):
            if not "".join(pieces).strip():
                begin = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
            pieces.append(piece)
        line += piece.count("\n")


class TemporaryServerGraph(PropertyGraph):
    """A graph that a server of its own has for the time of the reading; its ids are ``n17`` and ``r17``."""

    kind = "neo4j"

    def __init__(self, path: str | Path, settings: Settings | None = None) -> None:
        super().__init__(Path(path).name)
        self.options = {"from": self.name}
        self._path = Path(path)
        self._settings = settings or resolve_settings()

    def elements(self) -> Iterator[Element]:
        with _server(self._settings) as server:
            self.fill(server)
            with Gateway(server.connection(LOAD_TIMEOUT_S)) as gateway:
                for each in Neo4jGraph(gateway).elements():  # ids without that of the database
                    id_ = each.id.rpartition(":")[2]
                    if isinstance(each, Node):
                        yield each._replace(id=f"n{id_}")
                    else:
                        start, end = (f"n{end.rpartition(':')[2]}" for end in (each.start, each.end))
                        yield each._replace(id=f"r{id_}", start=start, end=end)

    def fill(self, server: EmbeddedServer) -> None:
        raise NotImplementedError


class DumpGraph(TemporaryServerGraph):
    """The graph of a dump. Raises `InputError` for what is no dump, or one of a version that Neo4j cannot load."""

    def __init__(self, path: str | Path, settings: Settings | None = None) -> None:
        super().__init__(path, settings)
        with RereadableFile(str(path)).translate_faults(), self._path.open("rb") as file:
            start = file.read(4)
        if not start.startswith(_STARTS):
            raise InputError(f"{path}: expected a dump that `neo4j-admin database dump` wrote, found something else")

    def fill(self, server: EmbeddedServer) -> None:
        with TemporaryDirectory(dir=server.home_dir) as folder:
            (Path(folder) / "neo4j.dump").symlink_to(self._path.resolve())
            arguments = ("database", "load", "neo4j", f"--from-path={folder}", "--overwrite-destination=true")
            try:
                server_process.run_admin_command(server.home, server.jars.ensure(), arguments)
                _start(server)
            except EmbeddedServerError as error:
                raise InputError(f"{self._path}: the dump cannot be loaded: {error}") from error


class ScriptGraph(TemporaryServerGraph):
    """What a Cypher script creates.

    Raises `UsageError` unless the user allows to run it, `InputError` with the line of a statement that fails.
    """

    def __init__(self, path: str | Path, settings: Settings | None = None, *, run_script: bool = False) -> None:
        super().__init__(path, settings)
        if not run_script:
            raise UsageError(
                f"{path}: a Cypher script is code: give --run-script to run it in a server of its own, which is read"
            )
        self._files: set[str] = set()
        statements = split_script(read_text_file(self._path, "the script", MAX_SCRIPT_BYTES))
        self._statements = [(self._with_local_files(*each), each[1]) for each in statements]

    def _with_local_files(self, statement: str, line: int) -> str:

        def local(found: re.Match[str]) -> str:
            name = Path(unquote(urlsplit(found[3]).path)).name
            if not name or not (self._path.parent / name).is_file():
                raise InputError(
                    f"{self._path}:{line}: LOAD CSV reads {quote_line(found[3])}, and nothing is fetched: "
                    f"put {name or 'the file'} beside the script"
                )
            self._files.add(name)
            return f"{found[1]}{found[2]}file:///{name}{found[2]}"

        return _CSV.sub(local, statement)

    def fill(self, server: EmbeddedServer) -> None:
        imports = server.home.folder / "import"
        imports.mkdir(exist_ok=True)
        for name in self._files:
            shutil.copyfile(self._path.parent / name, imports / name)
        _start(server)
        connection = server.connection(LOAD_TIMEOUT_S)
        with GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
            for statement, line in self._statements:
                try:
                    with driver.session(database="neo4j") as session:
                        session.run(statement).consume()  # pyright: ignore[reportArgumentType] - the user's own
                except (Neo4jError, DriverError) as error:
                    reason = str(getattr(error, "message", None) or error).splitlines()[0]
                    raise InputError(f"{self._path}:{line}: the statement fails: {reason}") from error


@contextmanager
def _server(settings: Settings) -> Iterator[EmbeddedServer]:
    staging = settings.home_dir / "staging"
    make_private_folder(staging)
    with TemporaryDirectory(dir=staging, prefix="server-") as folder:
        server = EmbeddedServer("source", Path(folder), settings.cache_dir)
        server.home.create()
        try:
            yield server
        finally:
            server.reset()


def _start(server: EmbeddedServer) -> None:
    bolt_port = choose_port()
    http_port = choose_port(avoid=bolt_port)
    server.start(bolt_port=bolt_port, http_port=http_port, heap_mb=HEAP_MB, pagecache_mb=PAGE_CACHE_MB, progress=False)
