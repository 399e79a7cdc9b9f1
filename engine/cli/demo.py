"""Load a small world and answer questions about it (`lodestar demo`)."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import click

from ..errors import format_install_command, missing_packages
from ..progress import make_printable, print_to_stderr, show_progress_bar
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
    from ..neo4j.embedded import EmbeddedServer
    from .render import answer_lines

    started = time.perf_counter()
    settings = settings_from(name=name)
    print_to_stderr(f"1. Neo4j, embedded, called {settings.name!r}")
    print_to_stderr(f"   {EmbeddedServer.of(settings).start().bolt_uri}")
    print_to_stderr("2. The world: countries, capitals, borders, currencies, languages, cities")
    with show_progress_bar("geonames") as (progress, _):
        options = LoadOptions(settings.home_dir / "staging")
        report = load_source(source_class("geonames")(), settings, options, progress)
    print_to_stderr(f"   {report}")
    print_to_stderr("3. The sentence encoder")
    with Engine(settings) as engine:
        engine.prepare()
        print_to_stderr(f"   ready {time.perf_counter() - started:.1f} s after the start\n")
        for text in QUESTIONS:
            answer = engine.ask(text)
            show(answer.to_dict(), (*answer_lines(answer, max_items=3), ""), styled=True)
    print_to_stderr("\n".join(_next_steps(settings.name, QUESTIONS[2])))


def print_running_servers() -> None:
    """Print which servers run here and what they hold, and what to type next."""
    from ..errors import LodestarError
    from ..neo4j.catalogue import read_graph_state
    from ..neo4j.embedded import EmbeddedServer
    from ..neo4j.gateway import Gateway
    from ..settings import make_connection
    from ..suggesting import suggest_question

    settings = settings_from()
    server = EmbeddedServer.of(settings)
    running = [replace(settings, name=each.name) for each in (server, *server.others()) if each.status().running]
    name, question = "", ""
    for each in [settings] if settings.uri else running:
        try:
            with Gateway(make_connection(each)) as gateway:
                state = gateway.run(read_graph_state())
                shown = gateway.connection.where if each.uri else each.name
                click.echo(make_printable(f"{shown}: {state.counts if state.num_triples else 'running, empty'}"))
                question = question or suggest_question(gateway)
        except LodestarError as error:
            click.echo(make_printable(str(error)))
        name = name or each.name
    if not settings.uri and not running:
        click.echo("No graph is running here. See it work:  lodestar demo")
    click.echo("\n".join(map(make_printable, _next_steps(name or settings.name, question))))
    click.echo("All commands:   lodestar --help")


def _next_steps(name: str, question: str) -> Iterator[str]:
    """Yield the lines that say what to type: ask this graph, load another one, open the page."""
    command = "lodestar" if shutil.which("lodestar") else os.path.relpath(sys.argv[0])
    named = "" if name == "default" else f" --name {name}"
    first = f"{format_install_command('serve')} && " if missing_packages("serve") else ""
    if question:
        yield f"Ask it:         {command} ask{named} {shlex.quote(question)}"
    yield f"Load yours:     {command} load FOLDER-OR-FILE"
    yield f"Open the page:  {first}{command} serve{named}"
