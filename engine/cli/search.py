"""Find entities by a text, and relations by their words (`lodestar search`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from . import echo, print_json, printable, say
from .options import engine_options, json_option

if TYPE_CHECKING:
    from ..api import Engine
    from ..neo4j.catalogue import RelationInfo
    from ..relations.describing import AmbiguousPhrase

SECTION = "Ask"


@click.command()
@click.argument("text", required=False)
@click.option("--relations", "of_relations", is_flag=True, help="Find relations; without a text list all with words.")
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Relations to show.")
@json_option
@engine_options
def command(engine: Engine, text: str | None, of_relations: bool, top_k: int, as_json: bool) -> None:
    """Find the entities that a text mentions, or with --relations the relations nearest to it, best first.

    A relation has its label, its description, the kinds of things at its ends, and by source the phrases that ask for
    its tails (→) and its heads (←). Without a text, phrases that several relations have are listed too.

    \b
    Examples:
      lodestar search "Which countries border Swizerland?"
      lodestar search --relations "where was someone born"
    """
    from ..errors import UsageError
    from ..relations.describing import find_ambiguous_phrases

    if not of_relations and text is None:
        raise UsageError("expected a text, or --relations to list all relations")
    if not of_relations:
        _show_entities(engine, text or "", as_json=as_json)
        return
    found = [] if text is None else engine.relations(text, top_k=top_k)
    relations = engine.read_relations() if text is None else [each.value for each in found]
    if as_json:
        scores = [{"score": round(each.score, 4)} for each in found] or [{}] * len(relations)
        print_json([relation_row(relation) | more for relation, more in zip(relations, scores, strict=True)])
        return
    for place, relation in enumerate(relations):
        print_relation(relation, f"{found[place].score:6.3f}  " if found else "")
    for line in ambiguous_phrase_lines(find_ambiguous_phrases(relations, lexicon=True)) if text is None else ():
        say(line)


def _show_entities(engine: Engine, text: str, *, as_json: bool) -> None:
    from ..evidence.data import topic_data

    topics = engine.link(text)
    if as_json:
        print_json([topic_data(topic) for topic in topics])
        return
    for topic in topics:
        kind = f", {topic.kind}" if topic.kind else ""
        matched = f"(“{topic.mention}” is {topic.matched_name!r}{kind}, {topic.degree:,} edges)"
        echo(printable(f"{topic.score:6.3f}  {topic.entity.id:<20}  {topic.entity.label}  {matched}"))
    if not topics:
        say("no known entity in the text")


def relation_row(relation: RelationInfo) -> dict[str, Any]:
    """Return a relation with its words as plain data."""
    from ..neo4j.catalogue import phrases_of

    return {
        "relation": relation.name,
        "number": relation.number,
        "count": relation.count,
        "label": relation.shown_label,
        "description": relation.description,
        "head": relation.head.kind,
        "tail": relation.tail.kind,
        "phrases": [{"text": p.text, "origin": p.origin, "inverse": p.inverse} for p in phrases_of(relation)],
    }


def print_relation(relation: RelationInfo, before: str = "") -> None:
    """Print a relation and what is known of its meaning, the phrases by direction and source."""
    from ..neo4j.catalogue import phrases_of

    label = "" if relation.shown_label == relation.name else f": {relation.shown_label}"
    ends = f"({relation.head} → {relation.tail}, {relation.count:,} triples)"
    echo(printable(f"{before}{relation.name}{label}  {ends}"))
    if relation.description:
        echo(printable(f"  {relation.description}"))
    texts: dict[tuple[bool, str], list[str]] = {}
    for phrase in phrases_of(relation):
        texts.setdefault((phrase.inverse, phrase.origin), []).append(phrase.text)
    for (inverse, origin), some in sorted(texts.items(), key=lambda item: item[0][0]):
        echo(printable(f"  {'←' if inverse else '→'} {origin}: {'; '.join(some)}"))


def ambiguous_phrase_lines(found: Sequence[AmbiguousPhrase]) -> Iterator[str]:
    """Yield the phrases that ask for several relations."""
    for each in found:
        yield printable(f"  “{each.phrase}” asks for {', '.join(each.relations)}: questions may take one for the other")
