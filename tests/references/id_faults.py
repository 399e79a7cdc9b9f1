"""What cannot be an id or a relation: the reference that the SQL of the stage is held to."""

from __future__ import annotations

from lodestar.engine.neo4j.templates import quote_identifier

MAX_ID_BYTES = 8_000
"""Neo4j's range index takes keys of about 8,160 bytes."""


def fault_of_id(id_: str) -> str | None:
    """Return why this cannot be an entity's id, or None when it can."""
    if not id_:
        return "an id is empty"
    if "\0" in id_:
        return "an id has a zero byte in it"
    if len(id_) > MAX_ID_BYTES // 4 and len(id_.encode()) > MAX_ID_BYTES:
        return f"an id is longer than {MAX_ID_BYTES:,} bytes"
    return None


def fault_of_relation(name: str) -> str | None:
    """Return why this cannot be a relation's name, or None when it can."""
    if not name:
        return "the relation is empty"
    if len(name.encode()) > MAX_ID_BYTES:
        return f"the relation is longer than {MAX_ID_BYTES:,} bytes"
    try:
        quote_identifier(name)
    except ValueError:
        return "the relation has a zero byte or \\u in it, which Neo4j cannot have in a relationship type"
    return None
