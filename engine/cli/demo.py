"""Load a small world and answer questions about it (`lodestar demo`)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from . import echo, print_json, say
from .options import json_option, settings_from

if TYPE_CHECKING:
    from ...loaders.report import LoadReport
    from ..settings import Settings

SECTION = "Start here"
DEMO_NAME = "demo"
"""The embedded server of the demo: a separate graph, so your data stays untouched."""

QUESTIONS = (
    "What is the capital of Peru?",
    "Which currency is used in the country whose capital is Lima?",
    "Which countries share a border with Switzerland?",
    "Nairobi is the capital of which country?",
    "Who is the president of Kenya?",
)
"""One hop; two hops; several answers; inverse of the relation; not in the graph."""

FORMS = (
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
"""One question of each form (docs/questions.md)."""


@click.command()
@json_option
@click.option("--name", default=DEMO_NAME, show_default=True, help="The embedded server to use.")
def command(as_json: bool, name: str) -> None:
    """Load a small world into a separate Neo4j, ask five questions and ten of sets and numbers, and show the answers.

    You can run it again: it reuses what it finds.

    \b
    Example:
      lodestar demo
    """
    started = time.perf_counter()
    settings = settings_from(name=name)

    from ..api import Engine
    from ..browser import write_picture
    from ..neo4j.embedded import EmbeddedServer
    from .render import answer_lines

    say(f"1. Neo4j, embedded, called {settings.name!r}")
    instance = EmbeddedServer.of(settings)
    status = instance.start()
    say(f"   {status.version} at {status.bolt_uri}")
    say("2. The world: countries, capitals, borders, currencies, languages, cities")
    say(f"   {load_world(settings)}")
    say("3. The sentence encoder")
    with Engine(settings, connection=instance.connection()) as engine:
        engine.prepare()
        say(f"   ready {time.perf_counter() - started:.1f} s after the start\n")
        answers = []
        for text in QUESTIONS + FORMS:
            answers.append(engine.ask(text))
            if as_json:
                print_json(answers[-1].to_dict())
            else:
                echo("\n".join(answer_lines(answers[-1], max_items=3)) + "\n")
        link = write_picture(engine.gateway(), status.browser_url, answers[1].evidence)
    echo(f"See the second one in Neo4j Browser: {link}", err=as_json)
    echo(f"  user neo4j, password in {status.password_file}", err=as_json)
    say(f'\nAsk your own:  lodestar ask --name {settings.name} "…"    Stop:  lodestar db stop --name {settings.name}')


def load_world(settings: Settings) -> LoadReport:
    """Load the demonstration's world into the running embedded server, unless it is there."""
    from ...loaders.formats import source_class
    from ...loaders.loading import LoadOptions, load
    from ..neo4j.gateway import Gateway
    from ..progress import progress_bar
    from ..settings import loading_connection

    with Gateway(loading_connection(settings)) as gateway:
        source = source_class("geonames")()
        with progress_bar(source.name) as (progress, _):
            return load(source, gateway, LoadOptions(staging=settings.home_dir / "staging"), progress)
