"""Serve the web page and the documentation of the endpoints.

The browser loads nothing from other hosts. Libraries come from pinned jars, which are fetched once into the cache and
checked by their SHA-256. If they are unavailable, the page says so and shows everything but the drawing.
"""

from __future__ import annotations

import logging
import zipfile
from importlib import resources
from pathlib import Path

from starlette.responses import Response
from starlette.routing import Route

from .. import serving
from ..errors import DownloadError
from ..neo4j.jars import JarCache, read_pins

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
