"""Find entities by a text, and relations by their words (`lodestar search`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from . import printable, say, show
from .options import engine_options, json_option

if TYPE_CHECKING:
    from ..api import Engine
    from ..neo4j.catalogue import RelationInfo
    from ..relations.describing import AmbiguousPhrase
    from ..values import Topic

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
    elif text is not None:
        found = engine.relations(text, top_k=top_k)
        rows = [relation_row(each.value) | {"score": round(each.score, 4)} for each in found]
        lines = (line for each in found for line in relation_lines(each.value, f"{each.score:6.3f}  "))
        show(rows, lines, as_json=as_json)
    else:
        relations = engine.read_relations()
        show([*map(relation_row, relations)], chain.from_iterable(map(relation_lines, relations)), as_json=as_json)
        for line in () if as_json else ambiguous_phrase_lines(find_ambiguous_phrases(relations, lexicon=True)):
            say(line)


def _show_entities(engine: Engine, text: str, *, as_json: bool) -> None:
    from ..evidence.data import topic_data

    topics = engine.link(text)
    show([*map(topic_data, topics)], map(_topic_line, topics), as_json=as_json)
    if not topics and not as_json:
        say("no known entity in the text")


def _topic_line(topic: Topic) -> str:
    kind = f", {topic.kind}" if topic.kind else ""
    matched = f"(“{topic.mention}” is {topic.matched_name!r}{kind}, {topic.degree:,} edges)"
    return f"{topic.score:6.3f}  {topic.entity.id:<20}  {topic.entity.label}  {matched}"


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


def relation_lines(relation: RelationInfo, before: str = "") -> Iterator[str]:
    """Yield a relation and what is known of its meaning, the phrases by direction and source."""
    from ..neo4j.catalogue import phrases_of

    label = "" if relation.shown_label == relation.name else f": {relation.shown_label}"
    ends = f"({relation.head} → {relation.tail}, {relation.count:,} triples)"
    yield f"{before}{relation.name}{label}  {ends}"
    if relation.description:
        yield f"  {relation.description}"
    texts: dict[tuple[bool, str], list[str]] = {}
    for phrase in phrases_of(relation):
        texts.setdefault((phrase.inverse, phrase.origin), []).append(phrase.text)
    for (inverse, origin), some in sorted(texts.items(), key=lambda item: item[0][0]):
        yield f"  {'←' if inverse else '→'} {origin}: {'; '.join(some)}"


def ambiguous_phrase_lines(found: Sequence[AmbiguousPhrase]) -> Iterator[str]:
    """Yield the phrases that ask for several relations."""
    for each in found:
        yield printable(f"  “{each.phrase}” asks for {', '.join(each.relations)}: questions may take one for the other")
