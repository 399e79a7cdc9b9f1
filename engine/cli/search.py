"""Find entities and relations by a text, and describe relations by phrases (`lodestar search`, `describe`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..progress import print_to_stderr
from . import asks_for_json, show
from .options import engine_options, json_option

if TYPE_CHECKING:
    from ..api import Engine
    from ..data_model import Topic
    from ..neo4j.catalogue import RelationInfo
    from ..relations.descriptions import AmbiguousPhrase


@click.command()
@click.argument("text", required=False)
@click.option("--relations", "of_relations", is_flag=True, help="Find relations; without a text list all with words.")
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Relations to show.")
@json_option
@engine_options
def search_command(engine: Engine, text: str | None, of_relations: bool, top_k: int) -> None:
    """Find the entities that a text mentions, or with --relations the relations nearest to it, best first.

    A relation has its label, its description, the kinds of things at its ends, and by source the phrases that ask for
    its tails (→) and its heads (←). Without a text, phrases that several relations have are listed too.

    \b
    Examples:
      lodestar search "Which countries border Swizerland?"
      lodestar search --relations "where was someone born"
    """
    from ..evidence.json_data import serialise_topic
    from ..relations.descriptions import find_ambiguous_phrases

    if text is None:
        if not of_relations:
            raise UsageError("expected a text, or --relations to list all relations")
        relations = engine.read_relations()
        _show_relations([_relation_row(each) for each in relations])
        _warn_of_ambiguous_phrases(find_ambiguous_phrases(relations, lexicon=True))
    elif of_relations:
        found = engine.relations(text, top_k=top_k)
        _show_relations([_relation_row(each.value) | {"score": round(each.score, 4)} for each in found])
    else:
        topics = engine.link(text)
        show([*map(serialise_topic, topics)], map(_topic_line, topics))
        if not topics and not asks_for_json():
            print_to_stderr("no known entity in the text")


@click.command()
@click.argument("relation", required=False)
@click.argument("phrases", nargs=-1)
@click.option("--file", metavar="FILE", help="Lines of a relation and phrases, separated by tabs; - is standard input.")
@click.option("--undo", is_flag=True, help="Remove the phrases of this relation, or of all.")
@json_option
@engine_options
def describe_command(
    engine: Engine, relation: str | None, phrases: tuple[str, ...], file: str | None, undo: bool
) -> None:
    """Describe relations by the phrases that people use to ask for them.

    They are kept with the graph, whatever is loaded later, and used wherever questions meet relations. ^RELATION has
    phrases for the other direction; label=… and description=… name and explain a relation. A relation alone is shown.

    \b
    Example:
      lodestar describe owned_by "who looks after" "in charge of"
      lodestar describe ^owned_by "what does it look after"
      lodestar describe --file phrases.tsv
      lodestar describe --undo owned_by
    """
    if sum((bool(phrases), file is not None, undo)) > 1 or not (relation or file is not None or undo):
        raise UsageError("describe: expected one of phrases of a relation, --file and --undo")
    if undo:
        done = engine.undescribe([relation] if relation else [])
    elif file is not None:
        done = engine.describe(file)
    elif relation and phrases:
        done = engine.describe({relation: phrases})
    else:
        _show_relations([_relation_row(each) for each in engine.read_relations(relation)])
        return
    collisions = {each.phrase: list(each.relations) for each in done.collisions}
    line = f"{done.num_relations:,} relations changed, {done.num_phrases:,} phrases {'taken back' if undo else 'new'}"
    show({"relations": done.num_relations, "phrases": done.num_phrases, "collisions": collisions}, [line])
    _warn_of_ambiguous_phrases(done.collisions[:10])


def _topic_line(topic: Topic) -> str:
    kind = f", {topic.kind}" if topic.kind else ""
    matched = f"(“{topic.mention}” is {topic.matched_name!r}{kind}, {topic.degree:,} edges)"
    return f"{topic.score:6.3f}  {topic.entity.id:<20}  {topic.entity.label}  {matched}"


def _relation_row(relation: RelationInfo) -> dict[str, Any]:
    """Return a relation with its words as plain data."""
    from ..neo4j.catalogue import list_relation_phrases

    return {
        "relation": relation.name,
        "number": relation.number,
        "count": relation.count,
        "label": relation.shown_label,
        "description": relation.description,
        "head": relation.head.kind,
        "tail": relation.tail.kind,
        "phrases": [asdict(phrase) for phrase in list_relation_phrases(relation)],
    }


def _show_relations(rows: list[dict[str, Any]]) -> None:
    show(rows, chain.from_iterable(map(_relation_lines, rows)))


def _relation_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a relation and what is known of its meaning, the phrases by direction and source."""
    score = f"{row['score']:6.3f}  " if "score" in row else ""
    label = "" if row["label"] == row["relation"] else f": {row['label']}"
    yield f"{score}{row['relation']}{label}  ({row['head']} → {row['tail']}, {row['count']:,} triples)"
    if row["description"]:
        yield f"  {row['description']}"
    by_source: dict[tuple[bool, str], list[str]] = {}
    for phrase in row["phrases"]:
        by_source.setdefault((phrase["inverse"], phrase["origin"]), []).append(phrase["text"])
    for (inverse, origin), texts in sorted(by_source.items(), key=lambda item: item[0][0]):
        yield f"  {'←' if inverse else '→'} {origin}: {'; '.join(texts)}"


def _warn_of_ambiguous_phrases(found: Sequence[AmbiguousPhrase]) -> None:
    for each in found:
        print_to_stderr(f"  “{each.phrase}” asks for {', '.join(each.relations)}: questions may take one for the other")
