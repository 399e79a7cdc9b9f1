"""Load a small world and answer questions about it (`lodestar demo`)."""

from __future__ import annotations

import os
import shutil
import sys

import click

from ..progress import print_to_stderr, show_progress_bar
from . import show
from .options import json_option, settings_from

QUESTIONS = (
    "What is the capital of Peru?",
    "Which currency is used in the country whose capital is Lima?",
    "Which countries share a border with Switzerland?",
    "Nairobi is the capital of which country?",
    "Who is the president of Kenya?",
    "How many official languages does Switzerland have?",
    "Does Spain border Portugal?",
    "Which country in South America has the largest area?",
    "Which neighbouring country of Germany has the smallest population?",
    "Which cities in Italy have a population over 1,000,000?",
    "Which countries in South America border Chile?",
    "Which countries border both Brazil and Argentina?",
    "Which countries border Portugal or Spain?",
    "Which countries border France but not Germany?",
    "How big is Bolivia?",
)
"""One hop; two hops; several answers; inverse of the relation; not in the graph; and one of each form of a plan
(docs/questions.md)."""


@click.command()
@json_option
@click.option("--name", default="demo", show_default=True, help="The embedded server to use.")
def demo_command(name: str) -> None:
    """Load a small world into a separate Neo4j, ask five questions and ten of sets and numbers, and show the answers.

    You can run it again: it reuses what it finds.

    \b
    Example:
      lodestar demo
    """
    from ...loaders.formats import source_class
    from ...loaders.loading import LoadOptions, load_source
    from ..api import Engine
    from .render import result_lines

    settings = settings_from(name=name)
    with show_progress_bar("countries, capitals, borders, currencies, languages, cities") as (progress, tell):
        options = LoadOptions(settings.home_dir / "staging")
        report = load_source(source_class("geonames")(), settings, options, progress, tell)
    print_to_stderr(f"{report}\n")
    with Engine(settings) as engine:
        for text in QUESTIONS:
            answer = engine.ask(text)
            show(answer.to_dict(), (*result_lines(answer, max_items=3), ""), styled=True)
    command = "lodestar" if shutil.which("lodestar") else os.path.relpath(sys.argv[0])
    print_to_stderr(f'Ask it:         {command} ask --name {name} "{QUESTIONS[2]}"')
    print_to_stderr(f"Load yours:     {command} load FOLDER-OR-FILE")
    print_to_stderr(f"Open the page:  {command} serve --name {name}")
