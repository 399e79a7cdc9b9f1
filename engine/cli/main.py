"""The `lodestar` command: finds the verb's file, runs it, prints errors as one line."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import signal
import sys
from importlib import import_module

import click

from ...models.one_line import one_line
from ..errors import LodestarError, StorageError
from .terminal import echo, in_colour
from .warnings import show_warnings

MAX_MESSAGE_CHARS = 1_500
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

VERBS = {
    "ask": ("ask", "Answer questions from the graph, with the paths the answers rest on."),
    "browse": ("browse", "Open retrieved paths in Neo4j Browser."),
    "db": ("setup.db", "Start, stop, show or reset a Neo4j of your own."),
    "demo": ("setup.demo", "Load a small world, ask fifteen questions, show the answers."),
    "describe": ("graph.describe", "Say what relations mean, in the words that people ask in."),
    "doctor": ("setup.doctor", "Say what is there, what is missing, and what to do about it."),
    "entities": ("graph.entities", "Find the entities that a text mentions."),
    "eval": ("eval", "Ask every question of a set, and report figures with their intervals."),
    "explain": ("explain", "Show what a trained scorer attended to in a question and its paths."),
    "export": ("graph.export", "Write the graph to files: TSV, N-Triples or parquet."),
    "index": ("graph.index", "Bring what a graph is searched by up to date, without loading it again."),
    "load": ("graph.load", "Load a knowledge graph into Neo4j."),
    "loads": ("graph.loads", "List what was loaded into the graph, or delete a load."),
    "mine": ("training.mine", "Find the paths that a retriever is trained on."),
    "recipes": ("recipes", "List recipes and parts, with all their options."),
    "refine": ("training.refine", "Choose the supervision of questions from their candidate pools."),
    "relations": ("graph.relations", "Find the relations nearest to a text."),
    "retrieve": ("retrieve", "Find and rank the reasoning paths for questions."),
    "train": ("training.train", "Train a scorer on questions with answers."),
    "stats": ("graph.stats", "Show what the graph holds: sizes, degrees, relations, hubs, components."),
    "verify": ("graph.verify", "Check the graph against the manifests of its loads."),
}
"""Where each verb's file is, and what it is for."""


class Verbs(click.Group):
    """Imports a verb's module when the verb is used, so that --help answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in alphabetical order."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the verb's file and return its command."""
        if cmd_name not in VERBS:
            return None
        command = import_module(f"..{VERBS[cmd_name][0]}", __name__).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, purpose) for verb, (_, purpose) in sorted(VERBS.items())])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lodestar-kg", prog_name="lodestar")
def main() -> None:
    """Reasoning paths from a knowledge graph in Neo4j, ranked and explained.

    \b
    Example:
      lodestar db start
      lodestar load geonames
      lodestar ask "What is the capital of Peru?"
    """


def run() -> None:
    """Run the command line; errors that are answers become one line and an exit code."""
    show_warnings()
    signal.signal(signal.SIGTERM, _end)
    _escape_what_cannot_be_written()
    try:
        code = _called()
    except LodestarError as error:
        from .terminal import printable

        echo(f"lodestar: {printable(one_line(error, MAX_MESSAGE_CHARS))}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        vars(error)["message"] = one_line(error.message, MAX_MESSAGE_CHARS)
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        echo("lodestar: ended by a signal" if _signals else "lodestar: interrupted", err=True)
        sys.exit(128 + (_signals[-1] if _signals else signal.SIGINT))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what could not be written would be tried again at the exit
        sys.exit(1)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        sys.stdout = io.StringIO()  # what could not be written would be tried again at the exit
        place = f" ({error.filename})" if error.filename else ""
        echo(f"lodestar: no room left for the output{place}: write it to another disk or make room", err=True)
        sys.exit(StorageError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _escape_what_cannot_be_written() -> None:
    """Write a character that the terminal's encoding lacks as JSON would: in JSON it stays what it is."""

    def escaped(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error("lodestar", escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="lodestar")


_signals: list[int] = []
"""Those that asked the process to end: things are put away as after Ctrl-C."""


def _end(number: int, _frame: object) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def _called() -> object:
    """Call the command; what fails while things are put away after Ctrl-C is no news, and raised as the interrupt."""
    try:
        return main(standalone_mode=False, color=None if in_colour() else False)
    except Exception as error:
        if _signals or is_interrupt(error):
            raise KeyboardInterrupt from error
        raise


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error came of an interrupt, or while one was handled, whatever cause it names itself."""
    found = [error] if error is not None else []
    for each in found:  # grows while it is walked
        found += [
            other
            for other in (each.__cause__, each.__context__)
            if other is not None and all(other is not f for f in found)
        ]
    return any(isinstance(each, KeyboardInterrupt) for each in found)
