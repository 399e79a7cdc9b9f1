"""`lodestar train fi`: the thresholds of GraphRAG-FI's integration."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, recipe_options, settings_and_recipe
from .terminal import echo


@click.command()
@click.option("--dev", "file", required=True, help="Questions with answers, a question set.")
@click.option("--against", help="A recipe whose answers take the place of the language model's own.")
@click.option("--link", is_flag=True, help="Link topic entities, instead of taking those that the set gives.")
@click.option("--limit", type=click.IntRange(1), help="Ask a sample of so many questions, the same for a seed.")
@recipe_options
@json_option
@database_options
def command(file: str, against: str | None, link: bool, limit: int | None, as_json: bool, **flags: Any) -> None:
    """Fit how sure answers with the evidence and without it have to be.

    The recipe has the part fi. Every question is asked on both sides; what is best on them is printed as --set takes
    it, with F1 of the graph's answers alone, the other side's, and both merged whole.

    \b
    Example:
      lodestar train fi --dev questions-dev.jsonl.gz --recipe "similarity + fi" --set answerer.kind=llm
      lodestar train fi --dev questions-dev.jsonl.gz --recipe "similarity + fi" --set fi.fine=false --against cosine
    """
    from ...loaders.questions.reading import read_questions
    from ..progress import progress_bar
    from ..recipes.recipe import read_recipe
    from ..training.fi_thresholds import fit_thresholds

    settings, recipe = settings_and_recipe(flags)
    other = read_recipe(against) if against else None
    questions = read_questions(file).sampled(limit, recipe.seed)
    with progress_bar("train fi", "asking") as (progress, _):
        best = fit_thresholds(
            questions,
            recipe,
            settings,
            against=other,
            link=link,
            done=lambda done, total: progress("asked", done, total),
        )
    found = {"tau_graph": best.thresholds.graph, "tau_model": best.thresholds.model}
    figures = {"f1": best.f1, "f1_graph": best.f1_graph, "f1_model": best.f1_model, "f1_merged": best.f1_merged}
    if as_json:
        echo(json.dumps({**found, **{name: round(value, 6) for name, value in figures.items()}}))
        return
    echo(" ".join(f"--set fi.{name}={value:.4g}" for name, value in found.items()))
    for name, value in figures.items():
        echo(f"{name:<12}{value:.3f}", err=True)
