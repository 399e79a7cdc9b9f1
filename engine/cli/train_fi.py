"""Fit the thresholds of GraphRAG-FI's integration (`lodestar train fi`)."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, recipe_options, settings_and_recipe
from .terminal import echo


@click.command()
@click.option("--dev", "file", required=True, help="Question set with answers.")
@click.option("--against", help="A recipe whose answers replace the language model's own.")
@click.option("--link", is_flag=True, help="Link topic entities instead of using those of the set.")
@click.option("--limit", type=click.IntRange(1), help="Ask a random sample of this size; it is always the same.")
@recipe_options
@json_option
@database_options
def command(file: str, against: str | None, link: bool, limit: int | None, as_json: bool, **flags: Any) -> None:
    """Fit the confidence thresholds of answers with and without the evidence.

    The recipe needs the part fi. Every question is asked with and without evidence. The best thresholds are printed for
    --set, with F1 of the graph's answers alone, the other side's, and both merged.

    \b
    Example:
      lodestar train fi --dev questions-dev.jsonl.gz --recipe "similarity + fi" --set answerer.kind=llm
      lodestar train fi --dev questions-dev.jsonl.gz --recipe "similarity + fi" --set fi.fine=false --against cosine
    """
    from ...loaders.questions.question_sets import read_questions
    from ..progress import progress_bar
    from ..recipes.recipe import read_recipe
    from ..training.fi_thresholds import fit_thresholds

    settings, recipe = settings_and_recipe(flags)
    other = read_recipe(against) if against else None
    questions = read_questions(file).sample(limit, recipe.seed)
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
