"""Find entities by a text, and relations by their words (`lodestar search`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import engine_options, json_option
from .terminal import echo

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

    if text is None and not of_relations:
        raise UsageError("expected a text, or --relations to list all relations")
    if of_relations:
        _search_relations(engine, text, top_k, as_json=as_json)
    elif text is not None:
        _search_entities(engine, text, as_json=as_json)


def _search_entities(engine: Engine, text: str, *, as_json: bool) -> None:
    from ..evidence.evidence import topic_data
    from .render import candidate_line

    candidates = engine.link(text)
    if as_json:
        echo(json.dumps([topic_data(candidate) for candidate in candidates], ensure_ascii=False))
        return
    for candidate in candidates:
        echo(candidate_line(candidate))
    if not candidates:
        echo("no known entity in the text", err=True)


def _search_relations(engine: Engine, text: str | None, top_k: int, *, as_json: bool) -> None:
    from ..relations.describing import find_ambiguous_phrases

    scores: list[float] = []
    if text is None:
        shown = list(engine.read_relations())
    else:
        found = engine.relations(text, top_k=top_k)
        shown, scores = [each.value for each in found], [each.score for each in found]
    if as_json:
        rows = [relation_row(relation) for relation in shown]
        for row, score in zip(rows, scores, strict=False):
            row["score"] = round(score, 4)
        echo(json.dumps(rows, ensure_ascii=False))
        return
    for place, relation in enumerate(shown):
        print_relation(relation, f"{scores[place]:6.3f}  " if scores else "")
    if text is None:
        ambiguous = find_ambiguous_phrases(shown, lexicon=True)
        print_ambiguous_phrases(ambiguous, len(ambiguous))


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
