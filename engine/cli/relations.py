"""Show the relations of the graph with their words, or find those nearest to a text (`lodestar relations`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo

if TYPE_CHECKING:
    from ..neo4j.catalogue import RelationInfo
    from ..relations.describing import AmbiguousPhrase
    from ..values import Scored


@click.command()
@click.argument("text", required=False)
@click.option(
    "--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many of a text to show."
)
@json_option
@database_options
def command(text: str | None, top_k: int, as_json: bool, **flags: Any) -> None:
    """Find the relations nearest to a text; without a text show all, with the phrases that several of them have.

    Each has its label, its description, the kinds of things at its ends, and by source the phrases that ask for its
    tails (→) and its heads (←).

    \b
    Example:
      lodestar relations "where was someone born"
      lodestar relations
    """
    from ..api import Engine
    from ..relations.describing import find_ambiguous_phrases
    from ..values import Scored

    with Engine(settings_from(**flags)) as engine:
        if text is None:
            shown = [Scored(relation, 0.0) for relation in engine.read_relations()]
        else:
            shown = engine.relations(text, top_k=top_k)
    found = find_ambiguous_phrases([each.value for each in shown], lexicon=True) if text is None else ()
    if as_json:
        echo(json.dumps([_row(each, scored_by_text=text is not None) for each in shown], ensure_ascii=False))
        return
    for each in shown:
        print_relation(each.value, f"{each.score:6.3f}  " if text is not None else "")
    print_ambiguous_phrases(found, len(found))


def relation_row(relation: RelationInfo) -> dict[str, Any]:
    """Return a relation with its words as plain data."""
    from ..relations.words import phrases_of

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


def _row(scored: Scored[RelationInfo], *, scored_by_text: bool = True) -> dict[str, Any]:
    return relation_row(scored.value) | ({"score": round(scored.score, 4)} if scored_by_text else {})


def print_relation(relation: RelationInfo, before: str = "") -> None:
    """Print a relation and what is known of its meaning, the phrases by direction and source."""
    from ..relations.words import phrases_of
    from .terminal import printable

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
    from .terminal import printable

    for each in found[:most]:
        names = ", ".join(each.relations)
        echo(printable(f"  “{each.phrase}” asks for {names}: questions may take one for the other"), err=True)
    if len(found) > most:
        echo(f"  and {len(found) - most:,} more phrases of several relations", err=True)
