"""Link from retrieved paths to the same nodes in the Neo4j that the graph was loaded from (`lodestar load neo4j`).

Ids of entities are element ids there. So the link needs nothing but a query, and nothing is written: Browser draws the
nodes with the relationships between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ..evidence.bridges import to_chains
from ..evidence.evidence import Evidence, Item
from ..neo4j.catalogue import LoadManifest
from ..neo4j.connection import Connection
from ..neo4j.templates import template
from ..settings import check_address
from .browser import browser_link, default_browser_url
from .picture import MAX_INSTANCES, MAX_PATHS

_ELEMENT_ID = re.compile(r"\d+:[\w-]+:\d+")
_OPTIONS = {"from", "from_user", "from_database", "elements"}


def source_link(
    evidence: Evidence[Item], loads: tuple[LoadManifest, ...], browser_url: str | None = None
) -> str | None:
    """Return the link to the nodes of the best paths in the database that they were loaded from.

    browser_url: Browser's address there; None is the usual one. None is returned where no path has such nodes.
    """
    for load in filter(comes_from_neo4j, loads):
        options = json.loads(load.options)
        if ids := list(dict.fromkeys(_element_ids(evidence, options["elements"]))):
            connection = Connection(options["from"], options["from_user"], database=options["from_database"])
            check_address(connection.uri)
            return browser_link(browser_url or default_browser_url(connection.uri), connection, _query(ids))
    return None


def comes_from_neo4j(load: LoadManifest) -> bool:
    """Return whether ids of a load are element ids of a Neo4j, which its options name."""
    return load.kind == "neo4j" and json.loads(load.options or "{}").keys() >= _OPTIONS


def _element_ids(evidence: Evidence[Item], prefix: str) -> Iterator[str]:
    """Yield the ids of nodes, which become part of a query: of element ids only, whatever the graph has."""
    for path in to_chains(evidence).items[:MAX_PATHS]:
        for instance in path.value.instances(MAX_INSTANCES):
            for entity in instance.entities:
                if not entity.is_literal and entity.id.startswith(prefix) and _ELEMENT_ID.fullmatch(entity.id):
                    yield entity.id


def _query(ids: Sequence[str]) -> str:
    text = template("show_elements").render({})
    return " ".join(text.replace("$ids", str(list(ids))).split())
