"""Open retrieved paths in Neo4j Browser (`lodestar browse`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .options import NO_QUESTION, json_option, question_options, recipe_options
from .terminal import echo, printable

if TYPE_CHECKING:
    from ..api import Engine
    from ..evidence.evidence import Evidence, Item
    from ..neo4j.embedded import Status
    from ..recipes import Recipe
    from ..settings import Settings
    from ..show.browser import BrowserPictureWriter
    from ..values import Question


SECTION = "Ask"


@click.command()
@question_options
@click.option("--clear", is_flag=True, help="Only remove all pictures from the database.")
@click.option("--no-open", is_flag=True, help="Print the links without opening the web browser.")
@click.option(
    "--source", is_flag=True, help="Show the nodes themselves, in the Neo4j that `load neo4j` read; write nothing."
)
@click.option("--browser-url", help="Browser's address (default: the server's own, with http and port 7474).")
@recipe_options
@json_option
def command(
    questions: list[Question],
    settings: Settings,
    recipe: Recipe,
    clear: bool,
    no_open: bool,
    source: bool,
    browser_url: str | None,
    as_json: bool,
) -> None:
    """Open the paths retrieved for questions in Neo4j Browser: ranked, scored, without the rest of the graph.

    The paths are stored beside the graph, under separate labels, until --clear. Asking again replaces a picture.

    \b
    Examples:
      lodestar browse "Which currency is used in the country whose capital is Lima?"
      lodestar browse --no-open --file questions.txt
      lodestar browse --source "Who directed Cloud Atlas?"
      lodestar browse --clear
    """
    from ..api import Engine
    from ..errors import UsageError

    if clear and questions:
        raise UsageError("--clear removes every picture: give it without a question")
    if source and clear:
        raise UsageError("--source writes no picture: give it without --clear")
    if not clear and not questions:
        raise UsageError(NO_QUESTION)
    with Engine(settings, recipe=recipe) as engine:
        if source:
            _show_in_source(engine, questions, browser_url, as_json=as_json, no_open=no_open)
            return
        view = _view(engine, browser_url)
        if clear:
            _clear(view, as_json=as_json)
            return
        shown = _show(view, _retrieve(engine, questions))
        style_link = view.style_link()
        for evidence, link in shown:
            echo(_json_line(evidence.question, link, style_link) if as_json else link)
        _open(engine, [link for _, link in shown], style_link, no_open=no_open)


def _retrieve(engine: Engine, questions: Sequence[Question]) -> Sequence[Evidence[Item]]:
    return [engine.retrieve(questions[0])] if len(questions) == 1 else engine.retrieve_batch(questions)


def _show_in_source(
    engine: Engine, questions: Sequence[Question], browser_url: str | None, *, as_json: bool, no_open: bool
) -> None:
    """Print links to the nodes in the database that they were loaded from, and open the first."""
    from ..errors import UsageError
    from ..neo4j.catalogue import read_loads
    from ..show.browser import check_url, comes_from_neo4j, open_link, source_link

    loads = engine.gateway().run(read_loads())
    if not any(map(comes_from_neo4j, loads)):
        raise UsageError("--source leads to the Neo4j that `lodestar load neo4j` read: this graph has another source")
    links = []
    for evidence in _retrieve(engine, questions):
        if link := source_link(evidence, loads, check_url(browser_url) if browser_url else None):
            links.append(link)
            echo(_json_line(evidence.question, link, None) if as_json else link)
        else:
            reason = evidence.note or "no path has a node of that Neo4j"
            echo(printable(f"nothing to show for {evidence.question.text!r}: {reason}"), err=True)
    if links and not no_open and not open_link(links[0]):
        echo("no web browser found here: open the link yourself", err=True)


def _view(engine: Engine, browser_url: str | None) -> BrowserPictureWriter:
    from ..show.browser import BrowserPictureWriter, default_browser_url

    if not browser_url:
        browser_url = (
            default_browser_url(engine.connection.uri)
            if engine.settings.uri
            else _show_embedded_status(engine).browser_url
        )
    return BrowserPictureWriter(engine.gateway(), browser_url)


def _show_embedded_status(engine: Engine) -> Status:
    from ..neo4j.embedded import EmbeddedServer

    return EmbeddedServer.of(engine.settings).status()


def _show(view: BrowserPictureWriter, found: Sequence[Evidence[Item]]) -> list[tuple[Evidence[Item], str]]:
    """Write evidence that has items, and print why the rest has nothing to show."""
    links = []
    for evidence in found:
        if evidence.items:
            links.append((evidence, view.show(evidence)))
        else:
            reason = evidence.note or "no path was found"
            echo(printable(f"nothing to show for {evidence.question.text!r}: {reason}"), err=True)
    return links


def _open(engine: Engine, links: Sequence[str], style_link: str | None, *, no_open: bool) -> None:
    """Print what the reader must do, and open the first link."""
    from ..show.browser import open_link

    if not links:
        return
    if style_link is not None:
        echo(f"for its colours, once in each web browser (Enter runs it): {style_link}", err=True)
    secret = (
        "with your password"
        if engine.settings.uri
        else f"with the password in {_show_embedded_status(engine).password_file}"
    )
    echo(f"log in as {engine.connection.user} {secret}, then press Enter", err=True)
    if not no_open and not open_link(links[0]):
        echo("no web browser found here: open the link yourself", err=True)


def _clear(view: BrowserPictureWriter, *, as_json: bool) -> None:
    report = view.clear()
    if as_json:
        echo(json.dumps({name.removeprefix("num_"): number for name, number in report._asdict().items()}))
        return
    size = f"{report.num_nodes:,} nodes, {report.num_relationships:,} relationships"
    questions = "1 question" if report.num_questions == 1 else f"{report.num_questions:,} questions"
    echo(f"removed the pictures of {questions}: {size}", err=True)


def _json_line(question: Question, link: str, style_link: str | None) -> str:
    line = {"id": question.id, "question": question.text, "link": link, "style_link": style_link}
    return json.dumps(line, ensure_ascii=False)
