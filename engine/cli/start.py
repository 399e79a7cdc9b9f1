"""Try Lodestar on a small world, check what is installed, serve it (`lodestar demo`, `doctor`, `serve`, `mcp`)."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from ..errors import GraphError, LodestarError, format_install_command, missing_packages, read_extras
from ..progress import print_to_stderr, show_progress_bar
from . import show
from .options import database_options, json_option, recipe_options, settings_from

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings

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
    from ...loaders.loading import LoadOptions, load_into_configured_database
    from ..api import Engine
    from .render import result_lines

    settings = settings_from(name=name)
    with show_progress_bar("countries, capitals, borders, currencies, languages, cities") as (progress, tell):
        options = LoadOptions(settings.home_dir / "staging")
        report = load_into_configured_database(source_class("geonames")(), settings, options, progress, tell)
    print_to_stderr(f"{report}\n")
    with Engine(settings) as engine:
        for text in QUESTIONS:
            answer = engine.ask(text)
            show(answer.to_dict(), (*result_lines(answer, max_items=3), ""), styled=True)
    print_to_stderr(f'Ask it:         {sys.argv[0]} ask --name {name} "{QUESTIONS[2]}"')
    print_to_stderr(f"Load yours:     {sys.argv[0]} load FOLDER-OR-FILE")
    print_to_stderr(f"Open the page:  {sys.argv[0]} serve --name {name}")


MARKS = {"ok": "✓", "missing": "✗", "optional": "–"}
LLM_TIMEOUT_S = 5.0


class Finding(NamedTuple):
    """The state of one part, with what to do where it is missing, or optional and absent."""

    part: str
    level: Literal["ok", "missing", "optional"]
    found: str


@click.command()
@json_option
@database_options
def doctor_command(settings: Settings) -> None:
    """Check what works, what is missing, and what to do about it.

    Exits with 1 if something required is missing.

    \b
    Example:
      lodestar doctor --uri neo4j+s://graph.example.org
    """
    findings = list(check_installation(settings))
    lines = (f"{MARKS[each.level]} {each.part:<9} {each.found}" for each in findings)
    show([each._asdict() for each in findings], lines)
    if any(finding.level == "missing" for finding in findings):
        raise click.exceptions.Exit(1)


def check_installation(settings: Settings) -> Iterator[Finding]:
    """Yield the findings, each part after those that it depends on. This changes nothing."""
    from ...models.text.encoders import EncoderUnavailableError

    yield Finding("Python", "ok", f"{platform.python_version()} at {sys.executable}, Lodestar {version('lodestar-kg')}")
    for part, look in (("database", _database), ("encoder", _encoder), ("LLM", _llm)):
        try:
            yield from look(settings)
        except GraphError as error:
            yield Finding("graph", "missing", str(error))
        except (LodestarError, EncoderUnavailableError, ImportError, OSError) as error:
            yield Finding(part, "missing", str(error))
    extras = read_extras()
    missing = [extra for extra in extras if missing_packages(extra)]
    yield Finding("extras", "ok", f"installed: {', '.join(each for each in extras if each not in missing) or 'none'}")
    if missing:
        command = format_install_command("NAME")
        yield Finding("extras", "optional", f"not installed: {', '.join(missing)} (docs/install.md): {command}")
    if not {"index", "gpu"} & {*missing}:
        found = "faiss-cpu and faiss-gpu-cu12 write to one folder, and `import faiss` may fail: uninstall both, then "
        yield Finding("faiss", "missing", found + format_install_command("gpu"))


def _database(settings: Settings) -> Iterator[Finding]:
    from ..neo4j.catalogue import read_graph_state
    from ..neo4j.gateway import Gateway
    from ..settings import make_connection

    with Gateway(make_connection(settings)) as gateway:
        yield Finding("database", "ok", f"Neo4j {gateway.version()} at {gateway.connection.where}")
        state = gateway.run(read_graph_state())
    state.check()
    yield Finding("graph", "ok", state.counts)
    for warning in state.warnings:
        yield Finding("load", "optional", warning)


def _encoder(settings: Settings) -> Iterator[Finding]:
    """Encode a text, unless the encoder would be fetched for that."""
    from ...models.text.encoders import SentenceEncoder, read_adapter

    encoder = SentenceEncoder(settings.encoder)
    if encoder.adapter is not None:
        read_adapter(encoder.adapter)
    if not Path(encoder.location).is_dir() and find_spec("sentence_transformers"):
        yield Finding("encoder", "optional", f"{settings.encoder} is fetched from the hub at first use")
    else:
        yield Finding("encoder", "ok", f"{settings.encoder} makes vectors of {encoder.dimension} numbers")


def _llm(settings: Settings) -> Iterator[Finding]:
    """Ask the language model's endpoint which models it has; this call costs nothing."""
    from ..llm.gateway import ChatGateway

    if not (settings.llm_model or settings.llm_base_url):
        yield Finding("LLM", "optional", "not configured: set LODESTAR_LLM_MODEL to use one")
        return
    with closing(ChatGateway.of(replace(settings, llm_cache=""))) as chat:  # do not create the cache
        listed = chat.endpoint.models(min(settings.llm_timeout_s, LLM_TIMEOUT_S))
    where, model = chat.endpoint.where, chat.endpoint.model
    is_known = listed is None or model in listed
    advice = "" if is_known else f", but does not list {model!r}: check LODESTAR_LLM_MODEL"
    yield Finding("LLM", "ok" if is_known else "optional", f"{where} is reachable{advice}")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; another needs LODESTAR_TOKEN.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port; 0: any free one.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="Another host name to accept; repeatable.")
@recipe_options
def serve_command(settings: Settings, recipe: Recipe, **how: Any) -> None:
    """Serve questions over HTTP, with a page at / and documentation at /docs, until Ctrl-C.

    It listens on this machine alone; with LODESTAR_TOKEN set, requests need that token. MCP is at /mcp where the extra
    mcp is installed. See docs/serving.md.

    \b
    Examples:
      lodestar serve
      lodestar serve --recipe star --checkpoint star
      LODESTAR_TOKEN=… lodestar serve --host 0.0.0.0 --allow-host graph.example.org
    """
    from ..serving.server import ServerOptions, run_server

    run_server(settings, recipe, ServerOptions(**how))


@click.command()
@recipe_options
def mcp_command(settings: Settings, recipe: Recipe) -> None:
    """Serve the Model Context Protocol over standard input and output, for an agent that starts this command.

    Six tools, all read-only: ask, retrieve_paths, find_entities, list_relations, get_neighbours, verify_path. See
    docs/serving.md for what to write into a client's configuration.

    \b
    Example:
      lodestar mcp --name demo
    """
    from ..serving import Service
    from ..serving.mcp import McpTools

    asyncio.run(McpTools(Service(settings, recipe)).run_stdio())
