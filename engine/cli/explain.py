"""`lodestar explain`: what a trained scorer attended to in a question and its paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .options import FORCE, database_options, json_option, read_by, settings_and_recipe, walking_options
from .terminal import echo


@click.command()
@click.argument("question")
@click.option("--topic", "topics", multiple=True, help="Id of an entity the question is about; can be repeated.")
@click.option("--top-k", type=int, default=5, show_default=True, help="Paths to explain.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page that needs nothing else.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture, for a paper or a slide.")
@FORCE
@walking_options
@json_option
@database_options
def command(
    question: str,
    topics: tuple[str, ...],
    top_k: int,
    html: Path | None,
    svg: Path | None,
    force: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Show what the scores of a question's best paths rest on, word by word.

    For each path what a checkpoint with the cross-attentive scorer attends to: [QSP] in the question, [PSP] in the path
    (STAR, section 5.4). Of other scorers, what the score loses when a word is left out. With the recipe gril: how the
    subgraph grew and was pruned, layer by layer. With the answerer reader: which features decided for the answer.

    \b
    Examples:
      lodestar explain "Which currency is used in Peru?"
      lodestar explain "Which currency is used in Peru?" --checkpoint star
      lodestar explain "Which currency is used in Peru?" --checkpoint star --svg why.svg --html why.html
      lodestar explain "Which currency is used in Peru?" --recipe gril --checkpoint gril --svg growth.svg
    """
    from ..api import Engine
    from ..explaining.attention import has_path_scores
    from ..explaining.growing import growing_part
    from ..explaining.growth import growth_data, growth_lines
    from ..explaining.growth_svg import growth_page, growth_svg
    from ..explaining.page import explanation_page
    from ..explaining.plain import explanation_data
    from ..explaining.svg import svg as drawn
    from ..values import Question
    from ..whole_file import check_apart, check_output
    from .asking.attention_lines import explanation_lines
    from .terminal import in_colour

    files = [(option, file) for option, file in (("--html", html), ("--svg", svg)) if file is not None]
    check_apart(files)
    for option, file in files:
        check_output(option, file, reads=read_by(flags), force=force)
    settings, recipe = settings_and_recipe(flags)
    asked = Question(question, topics)
    if growing_part(recipe) is not None:
        with Engine(settings, recipe=recipe) as engine:
            growth = engine.growth(asked)
        if as_json:
            echo(json.dumps(growth_data(growth), ensure_ascii=False))
        else:
            echo("\n".join(growth_lines(growth)))
        _write((svg, growth_svg(growth)), (html, growth_page(growth)))
        return
    with Engine(settings, recipe=recipe) as engine:
        answer = engine.ask(asked) if recipe.answerer.name == "reader" else None
        if answer is not None and not as_json:
            echo(f"{answer.text}\n  because: {'; '.join(answer.why) or 'nothing else was found'}\n")
        if answer is not None and not has_path_scores(recipe) and not (html or svg):
            if as_json:
                echo(json.dumps({"answer": answer.text, "why": answer.why}, ensure_ascii=False))
            return
        explanation = engine.explain(asked, top_k=top_k)
    if as_json:
        said = {} if answer is None else {"answer": answer.text, "why": answer.why}
        echo(json.dumps({**explanation_data(explanation), **said}, ensure_ascii=False))
    else:
        colour = in_colour()
        echo("\n".join(explanation_lines(explanation, colour=colour)), color=colour)
    _write((svg, drawn(explanation)), (html, explanation_page(explanation)))


def _write(*files: tuple[Path | None, str]) -> None:
    from ..whole_file import write_whole

    for file, text in files:
        if file is not None:
            write_whole(file, text)
            echo(f"written: {file}", err=True)
