"""Read a Neo4j dump or a Cypher script: a server of its own takes it and is read, and is deleted afterwards.

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
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from neo4j import Driver, GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from ...engine.errors import EmbeddedServerError, InputError, UsageError
from ...engine.neo4j import process
from ...engine.neo4j.embedded import EmbeddedServer
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.home import free_port
from ...engine.settings import LOAD_TIMEOUT_S, Settings, resolve
from ...engine.whole_file import read_text
from ...models import quote_line
from ...models.whole_file import make_private_folder
from ..property_graph import PropertyGraphSource, map_graph
from .existing_neo4j import Neo4jGraph

MAX_SCRIPT_BYTES = 500_000_000
HEAP_MB, PAGE_CACHE_MB = 1_024, 256
_STARTS = (b"DZV1", b"DGV1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How dumps begin."""
_CSV = re.compile(r"""(?is)(\bLOAD\s+CSV\s+(?:WITH\s+HEADERS\s+)?FROM\s+)(["'])(.+?)\2""")
_PIECES = re.compile(r"""(?s)//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`|;|[^;"'`/]+|/""")


@contextmanager
def open_dump(path: Path, settings: Settings) -> Iterator[Gateway]:
    """Yield a gateway to a server with the database of a dump.

    Raises `InputError` for what is no dump, or one of a version that Neo4j cannot load.
    """
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not start.startswith(_STARTS):
        raise InputError(f"{path}: expected a dump that `neo4j-admin database dump` wrote, found something else")
    with _server(settings) as server, TemporaryDirectory(dir=server.home_dir) as folder:
        (Path(folder) / "neo4j.dump").symlink_to(path.resolve())
        arguments = ("database", "load", "neo4j", f"--from-path={folder}", "--overwrite-destination=true")
        try:
            process.run_admin(server.home, server.jars.ensure(), arguments)
            _start(server)
        except EmbeddedServerError as error:
            raise InputError(f"{path}: the dump cannot be loaded: {error}") from error
        with Gateway(server.connection(LOAD_TIMEOUT_S)) as gateway:
            yield gateway


@contextmanager
def open_script(path: Path, settings: Settings, *, run_script: bool) -> Iterator[Gateway]:
    """Yield a gateway to a server in which a Cypher script ran.

    Raises `UsageError` unless the user allows it, `InputError` with the line of a statement that fails.
    """
    if not run_script:
        raise UsageError(
            f"{path}: a Cypher script is code: give --run-script to run it in a server of its own, which is then read"
        )
    statements = [*split_script(read_text(path, "the script", MAX_SCRIPT_BYTES))]
    with _server(settings) as server:
        imports = server.home.folder / "import"
        statements = [each._replace(text=_with_local_files(each, path, imports)) for each in statements]
        _start(server)
        connection = server.connection(LOAD_TIMEOUT_S)
        with GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
            for statement in statements:
                _run(driver, statement, path)
        with Gateway(connection) as gateway:
            yield gateway


class Statement(NamedTuple):
    """A statement of a script, and the line where it begins."""

    text: str
    line: int


def split_script(text: str) -> Iterator[Statement]:
    """Yield the statements of a script, which semicolons end; commands of the shell, such as `:begin`, are left out."""
    text = re.sub(r"(?m)^:.*$", "", text.removeprefix("\ufeff"))
    begin = line = 1
    pieces: list[str] = []
    for found in _PIECES.finditer(text):
        piece = found[0]
        if piece == ";":
            if "".join(pieces).strip():
                yield Statement("".join(pieces).strip(), begin)
            pieces = []
        elif not piece.startswith(("//", "/*")):
            if not "".join(pieces).strip():
                begin = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
            pieces.append(piece)
        line += piece.count("\n")
    if "".join(pieces).strip():
        yield Statement("".join(pieces).strip(), begin)


def _with_local_files(statement: Statement, script: Path, imports: Path) -> str:
    """Return the statement with the files of the script's folder in the place of addresses; they are copied there."""

    def local(found: re.Match[str]) -> str:
        name = Path(unquote(urlsplit(found[3]).path)).name
        if not name or not (script.parent / name).is_file():
            raise InputError(
                f"{script}:{statement.line}: LOAD CSV reads {quote_line(found[3])}, and nothing is fetched: put "
                f"{name or 'the file'} beside the script"
            )
        imports.mkdir(exist_ok=True)
        shutil.copyfile(script.parent / name, imports / name)
        return f"{found[1]}{found[2]}file:///{name}{found[2]}"

    return _CSV.sub(local, statement.text)


def _run(driver: Driver, statement: Statement, path: Path) -> None:
    try:
        with driver.session(database="neo4j") as session:
            session.run(statement.text).consume()  # pyright: ignore[reportArgumentType] - the user's own text
    except (Neo4jError, DriverError) as error:
        reason = str(getattr(error, "message", None) or error).splitlines()[0]
        raise InputError(f"{path}:{statement.line}: the statement fails: {reason}") from error


@contextmanager
def _server(settings: Settings) -> Iterator[EmbeddedServer]:
    """Yield an embedded server with a folder of its own; it is stopped and deleted at the end."""
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
    """Start the server at ports of its own: the usual ones are for those that stay."""
    bolt_port = free_port()
    http_port = free_port((bolt_port,))
    server.start(bolt_port=bolt_port, http_port=http_port, heap_mb=HEAP_MB, pagecache_mb=PAGE_CACHE_MB, progress=False)


def dump_source(path: str) -> PropertyGraphSource:
    """Return the source of a dump with the mapping that is guessed."""
    with open_dump(Path(path), resolve()) as gateway:
        return map_graph(Neo4jGraph(gateway, Path(path).name))


def script_source(path: str, run_script: bool = False) -> PropertyGraphSource:
    """Return the source of a Cypher script with the mapping that is guessed."""
    with open_script(Path(path), resolve(), run_script=run_script) as gateway:
        return map_graph(Neo4jGraph(gateway, Path(path).name))
