"""Find entities by a text, and relations by their words (`lodestar search`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from ..progress import print_to_stderr
from . import asks_for_json, show
from .options import engine_options, json_option

if TYPE_CHECKING:
    from ..api import Engine
    from ..neo4j.catalogue import RelationInfo
    from ..relations.descriptions import AmbiguousPhrase
    from ..values import Topic


@click.command()
@click.argument("text", required=False)
@click.option("--relations", "of_relations", is_flag=True, help="Find relations; without a text list all with words.")
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Relations to show.")
@json_option
@engine_options
def command(engine: Engine, text: str | None, of_relations: bool, top_k: int) -> None:
    """Find the entities that a text mentions, or with --relations the relations nearest to it, best first.

    A relation has its label, its description, the kinds of things at its ends, and by source the phrases that ask for
    its tails (→) and its heads (←). Without a text, phrases that several relations have are listed too.

    \b
    Examples:
      lodestar search "Which countries border Swizerland?"
      lodestar search --relations "where was someone born"
    """
    from ..errors import UsageError
    from ..evidence.json_data import serialise_topic
    from ..relations.descriptions import find_ambiguous_phrases

    if of_relations:
        scored = engine.relations(text, top_k=top_k) if text is not None else []
        relations = [each.value for each in scored] if text is not None else engine.read_relations()
        scores = [each.score for each in scored] or [None] * len(relations)
        found = list(zip(relations, scores, strict=True))
        lines = chain.from_iterable(relation_lines(*each) for each in found)
        show([relation_row(*each) for each in found], lines)
        if text is None and not asks_for_json():
            say_ambiguous_phrases(find_ambiguous_phrases(relations, lexicon=True))
    elif text is not None:
        topics = engine.link(text)
        show([*map(serialise_topic, topics)], map(_topic_line, topics))
        if not topics and not asks_for_json():
            print_to_stderr("no known entity in the text")
    else:
        raise UsageError("expected a text, or --relations to list all relations")


def _topic_line(topic: Topic) -> str:
    kind = f", {topic.kind}" if topic.kind else ""
    matched = f"(“{topic.mention}” is {topic.matched_name!r}{kind}, {topic.degree:,} edges)"
    return f"{topic.score:6.3f}  {topic.entity.id:<20}  {topic.entity.label}  {matched}"


def relation_row(relation: RelationInfo, score: float | None = None) -> dict[str, Any]:
    """Return a relation with its words, and how near it is, as plain data."""
    from ..neo4j.catalogue import list_relation_phrases

    return {
        "relation": relation.name,
        "number": relation.number,
        "count": relation.count,
        "label": relation.shown_label,
        "description": relation.description,
        "head": relation.head.kind,
        "tail": relation.tail.kind,
        "phrases": [
            {"text": p.text, "origin": p.origin, "inverse": p.inverse} for p in list_relation_phrases(relation)
        ],
        **({} if score is None else {"score": round(score, 4)}),
    }


def relation_lines(relation: RelationInfo, score: float | None = None) -> Iterator[str]:
    """Yield a relation and what is known of its meaning, the phrases by direction and source."""
    from ..neo4j.catalogue import list_relation_phrases

    label = "" if relation.shown_label == relation.name else f": {relation.shown_label}"
    ends = f"({relation.head} → {relation.tail}, {relation.count:,} triples)"
    before = "" if score is None else f"{score:6.3f}  "
    yield f"{before}{relation.name}{label}  {ends}"
    if relation.description:
        yield f"  {relation.description}"
    texts: dict[tuple[bool, str], list[str]] = {}
    for phrase in list_relation_phrases(relation):
        texts.setdefault((phrase.inverse, phrase.origin), []).append(phrase.text)
    for (inverse, origin), some in sorted(texts.items(), key=lambda item: item[0][0]):
        yield f"  {'←' if inverse else '→'} {origin}: {'; '.join(some)}"


def say_ambiguous_phrases(found: Sequence[AmbiguousPhrase]) -> None:
    """Say which phrases ask for several relations."""
    for each in found:
        print_to_stderr(f"  “{each.phrase}” asks for {', '.join(each.relations)}: questions may take one for the other")
