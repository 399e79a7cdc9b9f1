"""The entity index of the graph that is there: from a gateway to files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...models.encoder import EncoderUnavailableError, SentenceEncoder
from ..database.catalogue import read_catalogue, read_edition, read_graph_state
from ..database.gateway import Gateway
from ..database.requests import Request
from ..database.templates import template
from ..errors import EncoderError, UsageError
from ..progress.phases import Progress, silent
from ..server.file_lock import locked
from ..values import Entity
from ..whole_file import storing
from .building import EntityIndexReport, build_entity_index
from .texts import Kinds, entity_text

PAGE = 10_000
MAX_ENTITIES = 1_000_000
"""Entities beyond which an index has to be asked for: docs/linking.md has what it takes."""


def index_entities(
    gateway: Gateway,
    folder: Path,
    encoder: SentenceEncoder,
    *,
    max_entities: int = MAX_ENTITIES,
    progress: Progress = silent,
) -> EntityIndexReport:
    """Bring the entity index of a graph up to date.

    Interrupted it goes on where it was. Raises `GraphError` where there is no graph, `UsageError` for one with more
    than `max_entities`, `EncoderError` without the encoder, `StorageError` where the folder cannot be written.
    """
    state = gateway.fetch(read_graph_state())
    if state.is_empty:
        state.check()
    if state.num_entities > max_entities:
        raise UsageError(
            f"the graph has {state.num_entities:,} entities, an index of which takes long and much room "
            f"(docs/linking.md): expected at most {max_entities:,}; raise it with --max-entities"
        )
    edition = gateway.fetch(read_edition())
    kinds = Kinds(gateway.fetch(read_catalogue()))

    def pages() -> Iterator[list[tuple[str, str]]]:
        after = ""
        while page := gateway.fetch(_read_kinds(after)):
            after = page[-1][0].id
            yield [(entity.id, entity_text(entity, kinds.of(signature))) for entity, signature in page]

    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".entities.lock", f"another process writes the entity index in {folder}"):
            try:
                return build_entity_index(folder, pages, state.num_entities, edition, encoder, progress=progress)
            except EncoderUnavailableError as error:
                raise EncoderError(str(error)) from error


def _read_kinds(after: str) -> Request[list[tuple[Entity, tuple[int, ...]]]]:
    return Request(
        template("read_entity_kinds"),
        {"after": after, "limit": PAGE},
        lambda rows: [(Entity(id_, name), tuple(signature)) for id_, name, signature in rows],
    )
