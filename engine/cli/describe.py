"""Describe relations by the phrases that people use for them (`lodestar describe`)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import engine_options, json_option
from .search import print_ambiguous_phrases, print_relation, relation_row
from .terminal import echo, say

if TYPE_CHECKING:
    from ..api import Engine
    from ..neo4j.catalogue import RelationInfo
    from ..relations.describing import DescriptionReport


@click.command()
@click.argument("relation", required=False)
@click.argument("phrases", nargs=-1)
@click.option("--file", metavar="FILE", help="Lines of a relation and phrases, separated by tabs; - is standard input.")
@click.option(
    "--llm", is_flag=True, help="Ask the language model of the settings (docs/llm.md), once for each relation."
)
@click.option(
    "--max-calls", type=click.IntRange(0), default=None, help="The most calls of the language model; 0: no limit."
)
@click.option("--undo", is_flag=True, help="Remove the phrases of this relation, or of all.")
@click.option("--origin", type=click.Choice(("user", "source", "llm")), help="With --undo: only from this origin.")
@click.option("--show", is_flag=True, help="Print the descriptions, and change nothing.")
@json_option
@engine_options
def command(
    engine: Engine,
    relation: str | None,
    phrases: tuple[str, ...],
    file: str | None,
    llm: bool,
    max_calls: int | None,
    undo: bool,
    origin: str | None,
    show: bool,
    as_json: bool,
) -> None:
    """Describe relations by the phrases that people use to ask for them.

    They are kept with the graph, whatever is loaded later, and used wherever questions meet relations. ^RELATION has
    phrases for the other direction; label=… and description=… name and explain a relation. Without anything it asks
    for each relation in turn: phrases parted by commas, an empty line to go on, a full stop to end.

    \b
    Example:
      lodestar describe owned_by "who looks after" "in charge of"
      lodestar describe ^owned_by "what does it look after"
      lodestar describe --file phrases.tsv
      lodestar describe --llm --max-calls 100
      lodestar describe --undo owned_by
    """
    from ..errors import UsageError

    if sum((bool(phrases), file is not None, llm, undo, show)) > 1:
        raise UsageError("describe: expected one of phrases, --file, --llm, --undo and --show")
    if origin and not undo:
        raise UsageError("describe: --origin goes with --undo")
    if show or (relation and not phrases and not undo and not llm):
        for each in engine.read_relations(relation):
            echo(json.dumps(relation_row(each), ensure_ascii=False)) if as_json else print_relation(each)
        return
    if undo:
        done = engine.undescribe([relation] if relation else [], origin=origin)
    elif llm:
        done = engine.describe_by_llm(max_calls=max_calls, say=say)
    elif file is not None:
        done = engine.describe_file("/dev/stdin" if file == "-" else Path(file))
    elif relation:
        done = engine.describe({relation: phrases})
    else:
        done = engine.describe(_ask_for_phrases(engine.read_relations()))
    _report(done, undo=undo, as_json=as_json)


def _ask_for_phrases(relations: list[RelationInfo]) -> dict[str, list[str]]:
    """Ask for the phrases of each relation, those with most triples first."""
    from ..errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("describe: expected a relation and phrases, --file or --llm; it asks one by one in a terminal")
    said: dict[str, list[str]] = {}
    for relation in sorted(relations, key=lambda r: (-r.count, r.number)):
        shown = f"{relation.name} ({relation.head} → {relation.tail}, {relation.count:,} triples)"
        line = click.prompt(shown, default="", show_default=False, err=True)
        if line.strip() == ".":
            break
        if texts := [text for text in (each.strip() for each in line.split(",")) if text]:
            said[relation.name] = texts
    return said


def _report(done: DescriptionReport, *, undo: bool, as_json: bool) -> None:
    if as_json:
        data = {
            "relations": done.num_relations,
            "phrases": done.num_phrases,
            "collisions": {each.phrase: list(each.relations) for each in done.collisions},
            "left_out": dict(done.left_out),
        }
        echo(json.dumps(data, ensure_ascii=False))
        return
    verb = "taken back" if undo else "new"
    echo(f"{done.num_relations:,} relations changed, {done.num_phrases:,} phrases {verb}")
    for reason, number in done.left_out.items():
        echo(f"  left out: {number:,} {reason}", err=True)
    print_ambiguous_phrases(done.collisions, 10)
