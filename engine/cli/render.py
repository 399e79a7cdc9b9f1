"""Answers and paths as a reader in a terminal sees them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace

import click

from ..answering.evidence import one_line
from ..values import Answer, Entity, EntityCandidate, Path, Retrieval, RetrievedPath, Scored

MAX_ENDS = 5


def answer_lines(answer: Answer, max_paths: int) -> Iterator[str]:
    """Yield the question, the answer, what it rests on, and what it took."""
    retrieval = answer.retrieval
    yield click.style(printable(retrieval.question.text), bold=True)
    yield f"  {click.style(printable(answer.text), fg='green' if answer.found else 'yellow')}"
    own = [entity for entity in answer.entities if entity.origin == "model"]
    if own:
        yield f"  not in the evidence, the model's own: {printable(', '.join(entity.name for entity in own))}"
    if answer.found and answer.entities[0].origin == "graph":
        ranks = ", ".join(str(index + 1) for index in answer.entities[0].evidence)
        yield click.style(f"  confidence {answer.entities[0].confidence:.2f}, resting on path {ranks}", dim=True)
    yield from retrieval_lines(retrieval, max_paths)


def retrieval_lines(retrieval: Retrieval, max_paths: int) -> Iterator[str]:
    """Yield the ranked paths, the linked entities, and what it took."""
    for rank, path in enumerate(retrieval.paths[:max_paths], start=1):
        yield f"  {rank:>2}. {path.score:6.3f}  {printable(path_line(path.value))}"
    if retrieval.cuts:
        yield click.style(f"  bounds cut {len(retrieval.cuts)} of the paths: not all their ends were read", dim=True)
    total = sum(retrieval.seconds.values())
    topics = ", ".join(dict.fromkeys(path.value.topic.label for path in retrieval.paths))
    yield click.style(
        f"  about {printable(topics) or 'nothing known'}; {total * 1000:.0f} ms, "
        f"{retrieval.round_trips} round trip{'' if retrieval.round_trips == 1 else 's'} to the database",
        dim=True,
    )


def path_line(path: RetrievedPath) -> str:
    """Return one line for a path: its first entity path, with the other ends after it."""
    others = [_shown(end) for end in path.ends[1:MAX_ENDS]]
    more = len(path.ends) - 1 - len(others)
    tail = f"; also {', '.join(others)}" if others else ""
    return entity_path_line(path.instances[0]) + tail + (f" and {more:,} more" if more > 0 else "")


def entity_path_line(path: Path) -> str:
    """Return an entity path as text; the arrows show which way each relation points."""
    if not path.end.is_literal:
        return str(path)
    end = replace(path.end, name=_shown(path.end))
    last = replace(path.triples[-1], tail=end)
    return str(Path((*path.triples[:-1], last), path.inverses))


def _shown(entity: Entity) -> str:
    """Return the label of an entity, or a literal's value on one line, cut where it is long."""
    return one_line(entity.label) if entity.is_literal else entity.label


def candidate_line(candidate: Scored[EntityCandidate]) -> str:
    """Return one line for a linked entity."""
    value = candidate.value
    return printable(
        f"{candidate.score:6.3f}  {value.entity.id:<20}  {value.entity.label}  "
        f"(“{value.mention}” is {value.matched_name!r}, {value.degree:,} edges)"
    )


def printable(text: str) -> str:
    """Return the text with control characters shown, so that no name can steer a terminal."""
    return "".join(
        c
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in "\u200c\u200d"
        else f"\\x{ord(c):02x}"
        for c in text
    )
