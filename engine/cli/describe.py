"""Describe relations by the phrases that people use for them (`lodestar describe`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..progress import print_to_stderr
from . import asks_for_json, show
from .options import engine_options, json_option
from .search import relation_lines, relation_row, say_ambiguous_phrases

if TYPE_CHECKING:
    from ..api import Engine


@click.command()
@click.argument("relation", required=False)
@click.argument("phrases", nargs=-1)
@click.option("--file", metavar="FILE", help="Lines of a relation and phrases, separated by tabs; - is standard input.")
@click.option("--llm", is_flag=True, help="Ask the language model (docs/llm.md), once for each relation.")
@click.option("--undo", is_flag=True, help="Remove the phrases of this relation, or of all.")
@json_option
@engine_options
def command(
    engine: Engine,
    relation: str | None,
    phrases: tuple[str, ...],
    file: str | None,
    llm: bool,
    undo: bool,
) -> None:
    """Describe relations by the phrases that people use to ask for them.

    They are kept with the graph, whatever is loaded later, and used wherever questions meet relations. ^RELATION has
    phrases for the other direction; label=… and description=… name and explain a relation. A relation alone is shown.

    \b
    Example:
      lodestar describe owned_by "who looks after" "in charge of"
      lodestar describe ^owned_by "what does it look after"
      lodestar describe --file phrases.tsv
      LODESTAR_LLM_MAX_CALLS=100 lodestar describe --llm
      lodestar describe --undo owned_by
    """
    from ..errors import UsageError

    if sum((bool(phrases), file is not None, llm, undo)) > 1 or not (relation or file is not None or llm or undo):
        raise UsageError("describe: expected one of phrases of a relation, --file, --llm and --undo")
    if undo:
        done = engine.undescribe([relation] if relation else [])
    elif llm:
        from ..relations.llm_phrases import describe_by_llm

        done = describe_by_llm(engine.gateway(), engine.settings, engine.resources.vectors, say=print_to_stderr)
    elif file is not None:
        done = engine.describe(file)
    elif relation and phrases:
        done = engine.describe({relation: phrases})
    else:
        for each in engine.read_relations(relation):
            show(relation_row(each), relation_lines(each))
        return
    collisions = {each.phrase: list(each.relations) for each in done.collisions}
    data = {"relations": done.num_relations, "phrases": done.num_phrases, "collisions": collisions}
    line = f"{done.num_relations:,} relations changed, {done.num_phrases:,} phrases {'taken back' if undo else 'new'}"
    show(data | {"left_out": dict(done.left_out)}, [line])
    if not asks_for_json():
        for reason, number in done.left_out.items():
            print_to_stderr(f"  left out: {number:,} {reason}")
        say_ambiguous_phrases(done.collisions[:10])
