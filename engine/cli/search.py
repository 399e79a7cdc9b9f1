"""Find entities by a text, and relations by their words (`lodestar search`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import engine_options, json_option
from .terminal import echo, print_json, printable, say

if TYPE_CHECKING:
    from ..api import Engine
    from ..neo4j.catalogue import RelationInfo
    from ..relations.describing import AmbiguousPhrase

SECTION = "Ask"


@click.command()
@click.argument("text", required=False)
@click.option("--relations", "of_relations", is_flag=True, help="Find relations; without a text list all with words.")
@click.option(
    "--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="With --relations: how many to show."
)
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
      lodestar search --relations
    """
    from ..errors import UsageError
    from ..relations.describing import find_ambiguous_phrases

    if not of_relations:
        if text is None:
            raise UsageError("expected a text, or --relations to list all relations")
        _show_entities(engine, text, as_json=as_json)
        return
    found = [] if text is None else engine.relations(text, top_k=top_k)
    relations = list(engine.read_relations()) if text is None else [each.value for each in found]
    scores = [each.score for each in found]
    if as_json:
        score = [{"score": round(each, 4)} for each in scores] or [{}] * len(relations)
        print_json([relation_row(relation) | more for relation, more in zip(relations, score, strict=True)])
        return
    for place, relation in enumerate(relations):
        print_relation(relation, f"{scores[place]:6.3f}  " if scores else "")
    if text is None:
        ambiguous = find_ambiguous_phrases(relations, lexicon=True)
        print_ambiguous_phrases(ambiguous, len(ambiguous))


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
    from ..relations.describing import phrases_of

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
    from ..relations.describing import phrases_of

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


def print_ambiguous_phrases(found: Sequence[AmbiguousPhrase], most: int) -> None:
    """Print, to standard error, the phrases that ask for several relations."""
    for each in found[:most]:
        say(printable(f"  “{each.phrase}” asks for {', '.join(each.relations)}: questions may take one for the other"))
    if len(found) > most:
        say(f"  and {len(found) - most:,} more phrases of several relations")
