"""Open retrieved paths in Neo4j Browser (`lodestar browse`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..progress import print_to_stderr
from . import print_report, show
from .ask import raise_fault
from .options import NO_QUESTION, json_option, question_options, recipe_options

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings
    from ..values import Question


@click.command()
@question_options
@click.option("--clear", is_flag=True, help="Only remove all pictures from the database.")
@click.option("--no-open", is_flag=True, help="Print the links without opening the web browser.")
@recipe_options
@json_option
def command(
    questions: list[Question],
    settings: Settings,
    recipe: Recipe,
    clear: bool,
    no_open: bool,
) -> None:
    """Open the paths retrieved for questions in Neo4j Browser: ranked, scored, without the rest of the graph.

    The paths are stored beside the graph, under separate labels, until --clear. Asking again replaces a picture.

    \b
    Examples:
      lodestar browse "Which currency is used in the country whose capital is Lima?"
      lodestar browse --clear
    """
    from .. import neo4j_browser
    from ..api import Engine
    from ..errors import UsageError
    from ..neo4j.embedded import EmbeddedServer

    if clear and questions:
        raise UsageError("--clear removes every picture: give it without a question")
    if not clear and not questions:
        raise UsageError(NO_QUESTION)
    with Engine(settings, recipe=recipe) as engine:
        gateway = engine.gateway()
        if clear:
            removed = neo4j_browser.delete_pictures(gateway)
            shown = ", ".join(f"{number:,} {name}" for name, number in removed.items())
            print_report(f"removed the pictures: {shown}", removed)
            return
        found = engine.retrieve_batch(questions)
        if len(found) == 1:
            raise_fault(found[0])
        url, links = neo4j_browser.get_browser_url(engine), []
        for evidence in found:
            question = evidence.question
            if not evidence.items:
                print_to_stderr(f"nothing to show for {question.text!r}: {evidence.note or 'no path was found'}")
                continue
            links.append(neo4j_browser.write_picture(gateway, url, evidence))
            data = {"id": question.id, "question": question.text, "link": links[-1]}
            show(data, links[-1:])
        if links:
            password = "your password"  # noqa: S105 - what to type
            if not engine.settings.uri:
                password = f"the password in {EmbeddedServer.of(engine.settings).status().password_file}"
            print_to_stderr(f"log in as {engine.connection.user} with {password}, then press Enter")
        if links and not no_open and not neo4j_browser.open_link(links[0]):
            print_to_stderr("no web browser found here: open the link yourself")
