"""Find entities and relations, describe relations, list recipes (`lodestar search`, `describe`, `recipes`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..progress import format_count, print_to_stderr
from . import asks_for_json, show
from .options import engine_options, json_option

if TYPE_CHECKING:
    from ..api import Engine
    from ..data_model import Topic
    from ..neo4j.catalogue import RelationInfo


@click.command()
@click.argument("text", required=False)
@click.option("--relations", "of_relations", is_flag=True, help="Find relations; without a text list all with words.")
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Relations to show.")
@json_option
@engine_options
def search_command(engine: Engine, text: str | None, of_relations: bool, top_k: int) -> None:
    """Find the entities that a text mentions, or with --relations the relations nearest to it, best first.

    A relation has its label, its description, the kinds of things at its ends, and by source the phrases that ask for
    its tails (→) and its heads (←).

    \b
    Examples:
      lodestar search "Which countries border Swizerland?"
      lodestar search --relations "where was someone born"
    """
    from ..evidence.json_data import serialise_topic
    from ..neo4j.catalogue import read_catalogue

    if of_relations:
        rows = (
            [_relation_row(each) for each in engine.gateway().run(read_catalogue()).relations]
            if text is None
            else [_relation_row(each.value, each.score) for each in engine.relations(text, top_k=top_k)]
        )
        show(rows, chain.from_iterable(map(_relation_lines, rows)))
    elif text is None:
        raise UsageError("expected a text, or --relations to list all relations")
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
    phrases for the other direction; label=… and description=… name and explain a relation. See them by
    `lodestar search --relations`.

    \b
    Example:
      lodestar describe owned_by "who looks after" "in charge of"
      lodestar describe ^owned_by "what does it look after"
      lodestar describe --file phrases.tsv
      lodestar describe --undo owned_by
    """
    if [bool(phrases), file is not None, undo].count(True) != 1:
        raise UsageError("describe: expected one of phrases of a relation, --file and --undo")
    from ..neo4j.catalogue import read_catalogue
    from ..relations import descriptions

    gateway = engine.gateway()
    catalogue = gateway.run(read_catalogue())
    if undo:
        done = descriptions.remove_descriptions(gateway, catalogue, [relation] if relation else [])
    elif file is not None:
        words = descriptions.read_descriptions(Path(file), catalogue)
        done = descriptions.add_relation_descriptions(gateway, catalogue, words)
    else:
        words = descriptions.parse_relation_phrases(catalogue, relation or "", phrases)
        done = descriptions.add_relation_descriptions(gateway, catalogue, words)
    collisions = {each.phrase: list(each.relations) for each in done.collisions}
    said = format_count(done.num_phrases, "phrase")
    line = f"{format_count(done.num_relations, 'relation')} changed, {said} {'taken back' if undo else 'new'}"
    show({"relations": done.num_relations, "phrases": done.num_phrases, "collisions": collisions}, [line])
    for each in done.collisions[:10]:
        print_to_stderr(f"  “{each.phrase}” asks for {', '.join(each.relations)}: questions may take one for the other")


def _topic_line(topic: Topic) -> str:
    kind = f", {topic.kind}" if topic.kind else ""
    matched = f"(“{topic.mention}” is {topic.matched_name!r}{kind}, {topic.degree:,} edges)"
    return f"{topic.score:6.3f}  {topic.entity.id:<20}  {topic.entity.label}  {matched}"


def _relation_row(relation: RelationInfo, score: float | None = None) -> dict[str, Any]:
    """Return a relation with its words, and how near it is, as plain data."""
    from ..neo4j.catalogue import list_relation_phrases

    phrases = [asdict(phrase) for phrase in list_relation_phrases(relation)]
    named = {"relation": relation.name, "label": relation.shown_label, "phrases": phrases}
    return asdict(relation) | named | ({} if score is None else {"score": round(score, 4)})


def _relation_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a relation and what is known of its meaning, the phrases by direction and source."""
    score = f"{row['score']:6.3f}  " if "score" in row else ""
    label = "" if row["label"] == row["relation"] else f": {row['label']}"
    yield f"{score}{row['relation']}{label}  ({row['head']['kind']} → {row['tail']['kind']}, {row['count']:,} triples)"
    if row["description"]:
        yield f"  {row['description']}"
    by_source: dict[tuple[bool, str], list[str]] = {}
    for phrase in row["phrases"]:
        by_source.setdefault((phrase["inverse"], phrase["origin"]), []).append(phrase["text"])
    for (inverse, origin), texts in sorted(by_source.items(), key=lambda item: item[0][0]):
        yield f"  {'←' if inverse else '→'} {origin}: {'; '.join(texts)}"


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def recipes_command(names: tuple[str, ...]) -> None:
    """List recipes and parts with all options, their defaults and sources.

    A recipe can be an expression of parts: a + b passes the results of a to b, a | b joins both results.

    \b
    Example:
      lodestar recipes star
    """
    from ..recipes import list_parts, list_recipes

    recipes, parts = list_recipes(), list_parts()
    known = {each["name"] for each in (*recipes, *parts)}
    if unknown := sorted({*names} - known):
        raise UsageError(f"there is no recipe or part {unknown[0]!r}: expected one of {', '.join(sorted(known))}")
    recipes, parts = ([each for each in some if not names or each["name"] in names] for some in (recipes, parts))
    lines = chain.from_iterable((*map(_recipe_lines, recipes), *map(_part_lines, parts)))
    show({"recipes": recipes, "parts": parts}, lines)


def _recipe_lines(recipe: dict[str, Any]) -> Iterator[str]:
    yield f"Recipe {recipe['name']}: {' '.join(recipe['resolved'])}; answerer {recipe['answerer']['kind']}"
    yield f"  {recipe['description']}"


def _part_lines(part: dict[str, Any]) -> Iterator[str]:
    flow = " → ".join(kind for kind in (part["takes"], part["gives"]) if kind)
    yield ""
    yield f"{part['role'].capitalize()} {part['name']}{f' ({flow})' if flow else ''}"
    yield f"  {part['description']}"
    if part["checkpoint_kinds"]:
        yield f"  takes a checkpoint of kind {' or '.join(part['checkpoint_kinds'])}"
    for option in part["options"]:
        default = json.dumps(option["default"], ensure_ascii=False)
        yield f"  {option['name']:<16} {default:<10} {option['help']} [{option['source']}]"
