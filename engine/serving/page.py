"""Serve the web page, the documentation of the endpoints, and the drawing of an answer's paths.

The browser loads nothing from other hosts. Libraries come from pinned jars, which are fetched once into the cache and
checked by their SHA-256. If they are unavailable, the page says so and shows everything but the drawing.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from .. import serving
from ..errors import DownloadError
from ..evidence.bridges import to_chains
from ..evidence.evidence import Answer
from ..evidence.text import one_line, relation_words
from ..neo4j.jars import JarCache, read_pins
from ..values import Entity

_log = logging.getLogger(__name__)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, and no script that stands in the page: no name of a graph can run. Libraries set styles."""

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_OWN = ("page.css", "page.js", "docs.js", "icon.svg")
_IN_JARS = {
    "cytoscape.min.js": ("cytoscape", "dist/cytoscape.min.js"),
    "swagger-ui-bundle.js": ("swagger-ui", "swagger-ui-bundle.js"),
    "swagger-ui.css": ("swagger-ui", "swagger-ui.css"),
}


class Assets:
    """The files of the pages; those in jars are read at first use."""

    def __init__(self, cache_dir: Path) -> None:
        jars = read_pins(Path(__file__).with_name("webjars.tsv"))
        self._jars = JarCache(cache_dir, jars, name="webjars")
        self._read: dict[str, bytes] = {}

    def fetch(self, *, progress: bool = True) -> bool:
        """Fetch the jars unless they are cached; return whether they are available."""
        try:
            self._jars.ensure(progress=progress)
        except DownloadError as error:
            _log.warning("the page draws no paths, and /docs shows no form: %s", error)
            return False
        return True

    def content(self, name: str) -> bytes | None:
        """Return a file; None if there is none of this name, or its jar is missing."""
        if name in _OWN:
            return resources.files(serving).joinpath("page", name).read_bytes()
        if name in _IN_JARS and name not in self._read and not self._jars.missing():
            self._read[name] = self._in_jar(name)
        return self._read.get(name)

    def _in_jar(self, name: str) -> bytes:
        artifact, inner = _IN_JARS[name]
        jar = next(jar for jar in self._jars.jars if jar.artifact == artifact)
        with zipfile.ZipFile(self._jars.folder / jar.file_name) as opened:
            return opened.read(f"META-INF/resources/webjars/{artifact}/{jar.version}/{inner}")


def make_page_routes(assets: Assets) -> list[Route]:
    """Return the routes of the page, of the documentation, and of their files."""

    def html(name: str) -> Response:
        body = resources.files(serving).joinpath("page", name).read_bytes()
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
        return Response(body, media_type="text/html", headers=headers)

    async def index(_request: object) -> Response:
        return html("index.html")

    async def docs(_request: object) -> Response:
        return html("docs.html")

    async def asset(request: object) -> Response:
        name = request.path_params["name"]  # type: ignore[attr-defined]
        content = assets.content(name)
        if content is None:
            return Response("there is no such file here", status_code=404, media_type="text/plain")
        headers = {"cache-control": "public, max-age=86400" if name in _IN_JARS else "no-cache"}
        return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)

    return [Route("/", index), Route("/docs", docs), Route("/assets/{name}", asset)]


# The drawing: topics at the left, then the entities on the way, then the ends

MAX_PATHS = 6
MAX_INSTANCES = 4
"""Entity paths of each relation path that are drawn."""


def draw(answer: Answer) -> dict[str, Any]:
    """Return the best paths of an answer's evidence as nodes and edges of a drawing.

    A node has a `column` from 0 at the left, a `row` from 0 at the top, in halves too, and the ranks of the paths it is
    on, from 1. An edge has its source and target by their places among the nodes, and its relations in walking order;
    inverse: they point the other way. left_out says in words what is not drawn.
    """
    chains = to_chains(answer.evidence)
    shown = chains.items[:MAX_PATHS]
    column: dict[Entity, int] = {}
    ranks: dict[Entity, list[int]] = {}
    starts, ends = set[Entity](), set[Entity]()
    edges: dict[tuple[Entity, Entity, bool], tuple[list[str], list[int]]] = {}
    left_out = []
    for rank, scored in enumerate(shown, start=1):
        chain = scored.value
        instances = chain.instances(MAX_INSTANCES)
        if more := len(chain.ends) - len(instances):
            left_out.append(f"path {rank}: {more:,} more {'end' if more == 1 else 'ends'}")
        if chain.cut:
            left_out.append(f"path {rank}: a bound cut it, so that the graph may have more")
        for path in instances:
            starts.add(path.start)
            ends.add(path.end)
            for place, entity in enumerate(path.entities):
                column[entity] = min(place, column.get(entity, place))
                _add(ranks.setdefault(entity, []), rank)
            for triple, inverse, source, target in zip(
                path.triples, path.inverses, path.entities_before, path.entities_after, strict=True
            ):
                words, on = edges.setdefault((source, target, inverse), ([], []))
                _add(words, relation_words(triple.relation))
                _add(on, rank)
    if more := len(chains.items) - len(shown):
        left_out.append(f"{more:,} more {'path' if more == 1 else 'paths'}")
    rows = _rows(list(column), column, [(source, target) for source, target, _ in edges])
    places = {entity: place for place, entity in enumerate(column)}
    answering = {entity.id for entity in answer.entities if entity.id}

    def kind(entity: Entity) -> str:
        if entity.is_mediator:
            return "mediator"
        if entity.id in answering:
            return "answer"
        return "topic" if entity in starts else "end" if entity in ends else "inner"

    return {
        "nodes": [
            {
                "id": entity.id,
                "label": one_line(entity.label),
                "kind": kind(entity),
                "column": column[entity],
                "row": rows[entity],
                "ranks": ranks[entity],
            }
            for entity in column
        ],
        "edges": [
            {"source": places[source], "target": places[target], "relations": words, "inverse": inverse, "ranks": on}
            for (source, target, inverse), (words, on) in edges.items()
        ],
        "left_out": [*left_out, *(one_line(each) for each in answer.evidence.left_out)],
        "columns": 1 + max(column.values(), default=0),
        "rows": 1 + max(rows.values(), default=0.0),
    }


def _rows(
    order: Sequence[Entity], column: dict[Entity, int], edges: Sequence[tuple[Entity, Entity]]
) -> dict[Entity, float]:
    """Return a row for each node: near the mean of what leads to it, in the order of ranks, none on another."""
    columns: dict[int, list[Entity]] = {}
    for entity in order:
        columns.setdefault(column[entity], []).append(entity)
    tallest = max(map(len, columns.values()), default=0)
    rows: dict[Entity, float] = {}
    for number in sorted(columns):
        before = {
            entity: [rows[source] for source, target in edges if target == entity and source in rows]
            for entity in columns[number]
        }
        some = sorted(columns[number], key=lambda entity: sum(near) / len(near) if (near := before[entity]) else 0.0)
        offset = (tallest - len(some)) / 2
        rows |= {entity: offset + place for place, entity in enumerate(some)}
    return rows


def _add(some: list[Any], value: Any) -> None:
    if value not in some:
        some.append(value)
