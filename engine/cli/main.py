"""Run the `lodestar` command: find the verbs in this folder, and print an error as one line with its exit code."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from importlib import import_module
from typing import NoReturn

import click

from ...models import one_line
from ..errors import NO_ROOM, LodestarError, StorageError, translate_import_errors
from ..progress import print_to_stderr
from . import WarningLines

MAX_MESSAGE_CHARS = 1_500
SECTIONS = {
    "Start here": ("ask", "db", "demo", "doctor", "load"),
    "Ask": ("browse", "explain", "mcp", "recipes", "search", "serve"),
    "Train": ("eval", "mine", "refine", "train"),
    "Maintain": ("describe", "export"),
}
"""The verbs, as --help lists them; the verb `ask` is `ask_command`, in the file of that name or in one of `FILES`."""
VERBS = [verb for verbs in SECTIONS.values() for verb in verbs]
FILES = {"browse": "ask", "explain": "ask", "export": "load", "describe": "search", "recipes": "search"}
FILES |= dict.fromkeys(("demo", "doctor", "mcp", "serve"), "start")
FILES |= dict.fromkeys(("eval", "mine", "refine"), "question_sets")


class VerbGroup(click.Group):
    """Imports a verb's file when the verb is used, so that it starts fast."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of a verb, None for any other word."""
        if cmd_name not in VERBS:
            return None
        file = import_module(f".{FILES.get(cmd_name, cmd_name)}", __package__)
        found: click.Command = getattr(file, f"{cmd_name}_command")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, verbs in SECTIONS.items():
            commands = {verb: self.get_command(ctx, verb) for verb in verbs}
            with formatter.section(section):
                formatter.write_dl([(verb, each.get_short_help_str(100)) for verb, each in commands.items() if each])


@click.group(
    cls=VerbGroup,
    commands=dict.fromkeys(VERBS, click.Command(None)),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="lodestar-kg", prog_name="lodestar")
def main() -> None:
    """Reasoning paths from a knowledge graph in Neo4j, ranked and explained.

    \b
    Example:
      lodestar db start
      lodestar load geonames
      lodestar ask "What is the capital of Peru?"
    """


_signals = [int(signal.SIGINT)]
"""By which this process was asked to end; DuckDB makes an interrupt of every signal in the middle of a query."""


def _exit_by_signal(number: int, _: object) -> NoReturn:
    _signals.append(number)
    sys.exit(128 + number)


def run() -> None:
    """Run the command line; an error that a user can act on becomes one line and an exit code."""
    logging.getLogger("lodestar").handlers = [WarningLines(logging.WARNING)]
    signal.signal(signal.SIGTERM, _exit_by_signal)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # https://no-color.org
        verb = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        with translate_import_errors(f"lodestar {verb}".rstrip()):
            code = main(prog_name="lodestar", standalone_mode=False, color=False if plain else None)
    except (LodestarError, click.ClickException, click.Abort, OSError) as error:
        _end(error)
    sys.exit(code if isinstance(code, int) else 0)


def _end(error: Exception) -> NoReturn:
    """Print an error in one line and exit with its code; raise it again if it is a bug."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.message)
        sys.exit(0)
    if isinstance(error, click.ClickException):
        vars(error)["message"] = one_line(error.message, MAX_MESSAGE_CHARS)
        error.show()
        sys.exit(error.exit_code)
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would write the rest again at exit
        sys.exit(1)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        sys.stdout = io.StringIO()  # else Python would write the rest again at exit
        place = f" ({error.filename})" if error.filename else ""
        error = StorageError(f"no room left for the output{place}: write it to another disk or make room")
    if not isinstance(error, LodestarError | click.Abort):
        raise error
    ended = "interrupted", 128 + _signals[-1]
    message, code = ended if isinstance(error, click.Abort) else (str(error), error.exit_code)
    print_to_stderr(f"lodestar: {one_line(message, MAX_MESSAGE_CHARS)}")
    sys.exit(code)
