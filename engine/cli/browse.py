"""Open retrieved paths in Neo4j Browser (`lodestar browse`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import NO_QUESTION, json_option, question_options, recipe_options
from .terminal import echo, print_json, printable

if TYPE_CHECKING:
    from ..api import Engine
    from ..evidence.evidence import Evidence, Item
    from ..neo4j.gateway import Gateway
    from ..recipes import Recipe
    from ..settings import Settings
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
    from ..show import browser

    if clear and (questions or source):
        raise UsageError("--clear removes every picture: give it without a question and without --source")
    if not clear and not questions:
        raise UsageError(NO_QUESTION)
    given_url = browser.check_url(browser_url) if browser_url else None
    with Engine(settings, recipe=recipe) as engine:
        gateway = engine.gateway()
        if clear:
            _clear(gateway, as_json=as_json)
            return
        loads = browser.read_source_loads(gateway) if source else []
        if source and not loads:
            raise UsageError(
                "--source leads to the Neo4j that `lodestar load neo4j` read: this graph has another source"
            )
        url = given_url or ("" if source else browser.browser_url_of(engine))
        found = _retrieve(engine, questions)
        style_link = None if source else browser.style_link(gateway, url)
        links: list[str] = []
        for evidence in found:
            question, link = evidence.question, None
            if source:
                link = browser.source_link(evidence, loads, given_url)
            elif evidence.items:
                link = browser.write_picture(gateway, url, evidence)
            if link is None:
                reason = evidence.note or ("no path has a node of that Neo4j" if source else "no path was found")
                echo(printable(f"nothing to show for {question.text!r}: {reason}"), err=True)
                continue
            links.append(link)
            if as_json:
                print_json({"id": question.id, "question": question.text, "link": link, "style_link": style_link})
            else:
                echo(link)
        if links and not source:
            _say_how(engine, style_link)
        if links and not no_open and not browser.open_link(links[0]):
            echo("no web browser found here: open the link yourself", err=True)


def _retrieve(engine: Engine, questions: list[Question]) -> list[Evidence[Item]]:
    """Return the evidence of each question; raise why a question alone could not be asked."""
    from ..api import find_fault

    found = engine.retrieve_batch(questions)
    if len(found) == 1 and (fault := find_fault(found[0])) is not None:
        raise fault
    return found


def _say_how(engine: Engine, style_link: str | None) -> None:
    from ..neo4j.embedded import EmbeddedServer

    if style_link is not None:
        echo(f"for its colours, once in each web browser (Enter runs it): {style_link}", err=True)
    where = "" if engine.settings.uri else f" in {EmbeddedServer.of(engine.settings).status().password_file}"
    of = "the" if where else "your"
    echo(f"log in as {engine.connection.user} with {of} password{where}, then press Enter", err=True)


def _clear(gateway: Gateway, *, as_json: bool) -> None:
    from ..show.browser import clear_pictures

    questions, nodes, relationships = clear_pictures(gateway)
    if as_json:
        print_json({"questions": questions, "nodes": nodes, "relationships": relationships})
        return
    of = "1 question" if questions == 1 else f"{questions:,} questions"
    echo(f"removed the pictures of {of}: {nodes:,} nodes, {relationships:,} relationships", err=True)
