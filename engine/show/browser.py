"""Write retrieved paths into the graph as a picture for Neo4j Browser, and link to it.

Browser has one style sheet, in the web browser's storage. The command ``:style`` replaces it: you type it, or the
server runs it after each connection (setting ``browser.post_connect_cmd``). Browser ignores ``:style`` beside a query
in the same text, so without the server's help it is a separate step, once in each web browser.

Browser draws every relationship between the nodes that it shows. So a picture has separate nodes, under labels that
nothing else reads; each has a relationship to its entity, from which you can explore further.
"""

from __future__ import annotations

import json
import os
import re
import webbrowser
from functools import cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import neo4j.exceptions

from ..errors import DatabaseError, UsageError
from ..evidence.evidence import Evidence, Item
from ..neo4j.connection import Connection
from ..neo4j.gateway import Gateway
from ..neo4j.templates import Request
from .growth import Growth
from .picture import (
    MAX_INSTANCES,
    MAX_PATHS,
    ClearReport,
    clear_pictures,
    picture_of,
    picture_of_growth,
    picture_query,
    read_browser_command,
    write_picture,
)

_RULE = re.compile(r"([\w.]+)\s*\{((?:[^{}']|'[^']*')*)\}")
_DECLARATION = re.compile(r"([\w-]+)\s*:\s*(?:'([^']*)'|([^;]+?))\s*;")


@cache
def style_sheet() -> str:
    """Return the style sheet as GraSS, on one line.

    It has no ``#`` and no ``&``, because Browser cuts the text of a link there, even if encoded.
    """
    text = Path(__file__).with_name("style.grass").read_text(encoding="utf-8")
    return " ".join(text.split())


def style_rules() -> dict[str, dict[str, str]]:
    """Return the style sheet as selector → property → value."""
    return {
        selector: {name: quoted or plain for name, quoted, plain in _DECLARATION.findall(body)}
        for selector, body in _RULE.findall(style_sheet())
    }


def style_command() -> str:
    """Return the Browser command that applies the style sheet."""
    return f":style {style_sheet()}"


def post_connect_command() -> str:
    """Return the value of ``browser.post_connect_cmd`` with which a server applies the style sheet itself.

    The sheet is in JSON, because the setting separates commands by semicolons, which GraSS also has.
    """
    return f"style {json.dumps(style_rules(), separators=(',', ':'))}"


def styles_pictures(command: str) -> bool:
    """Return whether a server with this ``browser.post_connect_cmd`` styles the pictures itself."""
    return "node.LodestarQuestion" in command


T = TypeVar("T")

_CLEAR_BATCH = 10_000
_READ_ONLY_CODES = ("Forbidden", "AccessMode", "ReadOnly")


class BrowserPictureWriter:
    """Writes pictures of evidence into one database.

    `browser_url` is Browser's own address, such as ``http://127.0.0.1:7474/browser/``. A picture has at most
    `max_paths` paths with `max_instances` entity paths each. Raises `UsageError` for an invalid address.
    """

    def __init__(
        self,
        gateway: Gateway,
        browser_url: str,
        *,
        max_paths: int = MAX_PATHS,
        max_instances: int = MAX_INSTANCES,
    ) -> None:
        self._gateway = gateway
        self._browser_url = check_url(browser_url)
        self._max_paths = max_paths
        self._max_instances = max_instances

    def show(self, evidence: Evidence[Item]) -> str:
        """Write a picture of the evidence, replacing an earlier one of the same question; return its link.

        Raises `UsageError` if nothing was retrieved, `DatabaseError` if the user may not write.
        """
        if not evidence.items:
            reason = evidence.note or "no path was found"
            raise UsageError(f"nothing to show for {evidence.question.text!r}: {reason}")
        picture = picture_of(evidence, self._max_paths, self._max_instances)
        self._write(write_picture(picture))
        return browser_link(self._browser_url, self._gateway.connection, picture_query(picture.question_id))

    def show_growth(self, growth: Growth) -> str:
        """Write a picture of a subgraph's growth, replacing an earlier one; return its link.

        Raises `UsageError` if nothing grew, `DatabaseError` if the user may not write.
        """
        if not any(layer.edges for layer in growth.layers):
            raise UsageError(f"nothing to show for {growth.question.text!r}: nothing grew from its entities")
        picture = picture_of_growth(growth)
        self._write(write_picture(picture))
        return browser_link(self._browser_url, self._gateway.connection, picture_query(picture.question_id))

    def style_link(self) -> str | None:
        """Return the link that styles Browser, or None if the server does so itself."""
        if styles_pictures(self._server_command()):
            return None
        return browser_link(self._browser_url, self._gateway.connection, style_command())

    def clear(self) -> ClearReport:
        """Remove every picture from the database, and return the counts."""
        removed = ClearReport(0, 0, 0)
        while (batch := self._write(clear_pictures(_CLEAR_BATCH))).num_nodes:
            removed = ClearReport(*map(sum, zip(removed, batch, strict=True)))
        return removed

    def _server_command(self) -> str:
        try:
            return self._gateway.fetch(read_browser_command())
        except DatabaseError as error:
            if type(error) is DatabaseError:  # a hosted server that hides its settings
                return ""
            raise

    def _write(self, request: Request[T]) -> T:
        try:
            return self._gateway.fetch(request)
        except DatabaseError as error:
            if not _is_read_only(error):
                raise
            connection = self._gateway.connection
            raise DatabaseError(
                f"{connection.where} does not let {connection.user!r} write to database {connection.database!r}: "
                "pictures for Browser are written as nodes; use a user that may write"
            ) from error


def browser_link(browser_url: str, connection: Connection, command: str) -> str:
    """Return the link that opens Browser at this database with `command` in its editor.

    It contains the user's name but never a password.
    """
    parts = urlsplit(connection.uri)
    scheme = parts.scheme.replace("+ssc", "+s")  # Browser has no +ssc: the web browser checks certificates
    server = f"{scheme}://{quote(connection.user, safe='')}@{parts.netloc.rpartition('@')[2]}"
    values = {"dbms": server, "db": connection.database, "cmd": "edit", "arg": command}
    return f"{browser_url}?{urlencode(values, safe='', quote_via=quote)}"


def default_browser_url(uri: str) -> str:
    """Return the default address of Browser for a driver's address."""
    parts = urlsplit(uri)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or "localhost"
    return f"https://{host}:7473/browser/" if "+s" in parts.scheme else f"http://{host}:7474/browser/"


def check_url(url: str) -> str:
    """Return the address of a Browser. Raises `UsageError` if it is invalid."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise UsageError(f"Browser's address: expected one like http://localhost:7474/browser/, found {url!r}")
    return url if url.endswith("/") else f"{url}/"


def open_link(link: str) -> bool:
    """Open the link in the user's web browser; return whether there is one.

    A text browser would take over the terminal, so it is used only if ``BROWSER`` names it.
    """
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return False
    in_terminal = isinstance(found, webbrowser.GenericBrowser) and not isinstance(found, webbrowser.BackgroundBrowser)
    if in_terminal and not os.environ.get("BROWSER"):
        return False
    return found.open(link)


def _is_read_only(error: DatabaseError) -> bool:
    cause = error.__cause__
    return isinstance(cause, neo4j.exceptions.Neo4jError) and any(c in (cause.code or "") for c in _READ_ONLY_CODES)
