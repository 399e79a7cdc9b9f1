"""Answers and evidence as a reader in a terminal sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from ..evidence.answer import Answer
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..evidence.quotes import Quotes
from ..evidence.text import one_line, relation_words
from ..values import Entity, EntityCandidate, Path, Scored
from .terminal import printable
from .understood import about, close_ones

MAX_ENDS = 5


def answer_lines(answer: Answer, max_items: int, num_asked: int = 1, quotes: Quotes = ()) -> Iterator[str]:
    """Yield the question, the answer, what it rests on, and what its batch of `num_asked` questions took.

    quotes: the snippets of its first items, in a graph made of text.
    """
    evidence = answer.evidence
    yield click.style(printable(evidence.question.text), bold=True)
    yield f"  {click.style(printable(answer.text), fg='green' if answer.found else 'yellow')}"
    own = [entity for entity in answer.entities if entity.origin == "model"]
    if own:
        yield f"  not in the evidence, the model's own: {printable(', '.join(entity.name for entity in own))}"
    if answer.found and answer.entities[0].origin != "model":
        ranks = ", ".join(str(index + 1) for index in answer.entities[0].evidence)
        kind = "path" if evidence.kind == "chain" else "triple"
        confidence = answer.entities[0].confidence if answer.confidence is None else answer.confidence
        how_sure = (
            "no confidence (these scores have no calibration, so that nothing is abstained from)"
            if confidence is None
            else f"confidence {confidence:.2f}"
        )
        yield click.style(f"  {how_sure}, resting on {kind} {ranks}", dim=True)
    if answer.why:
        yield click.style(f"  because: {printable('; '.join(answer.why))}", dim=True)
    yield from evidence_lines(evidence, max_items, num_asked, quotes)


def evidence_lines(evidence: Evidence[Item], max_items: int, num_asked: int = 1, quotes: Quotes = ()) -> Iterator[str]:
    """Yield the ranked items with their snippets, the linked entities, and what its batch of questions took."""
    for rank, item in enumerate(evidence.items[:max_items], start=1):
        group = f"[{evidence.group(rank - 1) + 1}] " if evidence.groups else ""
        yield f"  {rank:>2}. {item.score:6.3f}  {group}{printable(item_line(item.value))}"
        for snippet in quotes[rank - 1] if rank <= len(quotes) else ():
            yield click.style(f"      “{printable(snippet)}”", dim=True)
    if evidence.cuts:
        yield click.style(f"  bounds cut {len(evidence.cuts)} of the paths: not all their ends were read", dim=True)
    trips = evidence.round_trips
    yield click.style(
        f"  about {printable(about(evidence)) or 'nothing known'}; {evidence.seconds * 1000:.0f} ms, "
        f"{trips} round trip{'' if trips == 1 else 's'} to the database"
        + (f" for all {num_asked:,} questions" if num_asked > 1 else ""),
        dim=True,
    )
    if others := printable(close_ones(evidence)):
        yield click.style(f"  not {others}: --topic to choose", dim=True)


def item_line(item: Item) -> str:
    """Return one line for a chain or a triple."""
    return chain_line(item) if isinstance(item, Chain) else entity_path_line(Path((item,), (False,)))


def chain_line(chain: Chain) -> str:
    """Return one line for a chain: its first entity path, with the other ends after it."""
    others = [_shown(end) for end in chain.ends[1:MAX_ENDS]]
    more = len(chain.ends) - 1 - len(others)
    tail = f"; also {', '.join(others)}" if others else ""
    return entity_path_line(chain.instances(1)[0]) + tail + (f" and {more:,} more" if more > 0 else "")


def entity_path_line(path: Path) -> str:
    """Return an entity path as text; the arrows show which way each relation points, IRIs by their last part."""
    triples = [
        replace(triple, relation=relation_words(triple.relation)) if "://" in triple.relation else triple
        for triple in path.triples
    ]
    if path.end.is_literal:
        triples[-1] = replace(triples[-1], tail=replace(path.end, name=_shown(path.end)))
    return str(Path(tuple(triples), path.inverses))


def _shown(entity: Entity) -> str:
    """Return the label of an entity, or a literal's value on one line, cut where it is long."""
    return one_line(entity.label) if entity.is_literal else entity.label


def candidate_line(candidate: Scored[EntityCandidate]) -> str:
    """Return one line for a linked entity."""
    value = candidate.value
    return printable(
        f"{candidate.score:6.3f}  {value.entity.id:<20}  {value.entity.label}  "
        f"(“{value.mention}” is {value.matched_name!r}{', ' * bool(value.kind)}{value.kind}, {value.degree:,} edges)"
    )
