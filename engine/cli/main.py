"""Run the `lodestar` command: import a verb's module on use, and print errors in one line."""

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

from ...models.message_text import one_line
from ..errors import LodestarError, StorageError
from .terminal import echo, show_warnings, supports_colour

MAX_MESSAGE_CHARS = 1_500
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

VERBS = {
    "ask": "Answer questions from the graph, and show the paths behind the answers.",
    "browse": "Open retrieved paths in Neo4j Browser.",
    "db": "Run a Neo4j of your own, and look after its graph.",
    "demo": "Load a small world, ask fifteen questions, and show the answers.",
    "describe": "Describe relations by the phrases that people use.",
    "doctor": "Check what works, what is missing, and what to do about it.",
    "eval": "Ask every question of a set, and report metrics with their intervals.",
    "explain": "Show what decided for an answer, and which words a score came from.",
    "export": "Write the graph to files: TSV, N-Triples or parquet.",
    "load": "Load a knowledge graph into Neo4j, list what was loaded, or delete it.",
    "mcp": "Serve the graph to an agent over standard input and output.",
    "mine": "Mine training paths for a retriever.",
    "recipes": "List recipes and parts, with all their options.",
    "refine": "Select training supervision from candidate pools.",
    "search": "Find entities by a text, and relations by their words.",
    "serve": "Serve questions over HTTP, with a page.",
    "train": "Train a scorer on questions with answers.",
}
"""The purpose of each verb, whose module has its name."""

GROUPS = {
    "Start here": ("demo", "db", "load", "ask", "doctor"),
    "Ask": ("search", "explain", "browse", "serve", "mcp", "recipes"),
    "Train": ("train", "mine", "refine", "eval"),
}
"""The verbs of each section of --help, in order; all others maintain a graph."""


class LazyGroup(click.Group):
    """Import a verb's module when the verb is used, so that --help is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in alphabetical order."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the verb's file and return its command."""
        if cmd_name not in VERBS:
            return None
        command = import_module(f"..{cmd_name}", __name__).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs in groups, without importing them."""
        grouped = {verb for verbs in GROUPS.values() for verb in verbs}
        for title, verbs in (*GROUPS.items(), ("Maintain", sorted(VERBS.keys() - grouped))):
            with formatter.section(title):
                formatter.write_dl([(verb, VERBS[verb]) for verb in verbs if verb in VERBS])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
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
    """Run the command line; a `LodestarError` becomes one line and an exit code."""
    show_warnings()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    _escape_unencodable()
    try:
        code = main(standalone_mode=False, color=None if supports_colour() else False)
    except LodestarError as error:
        from .terminal import printable

        echo(f"lodestar: {printable(one_line(error, MAX_MESSAGE_CHARS))}", err=True)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        from ..extras import make_missing_extra_error

        verb = next((word for word in sys.argv[1:] if word in VERBS), "")
        if (missing := make_missing_extra_error(error, f"lodestar {verb}".rstrip())) is None:
            raise
        echo(f"lodestar: {missing}", err=True)
        sys.exit(missing.exit_code)
    except click.ClickException as error:
        vars(error)["message"] = one_line(error.message, MAX_MESSAGE_CHARS)
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        echo("lodestar: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would write the rest again at exit
        sys.exit(1)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        sys.stdout = io.StringIO()  # else Python would write the rest again at exit
        place = f" ({error.filename})" if error.filename else ""
        echo(f"lodestar: no room left for the output{place}: write it to another disk or make room", err=True)
        sys.exit(StorageError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _escape_unencodable() -> None:
    """Escape a character that the terminal's encoding lacks as JSON would, so that JSON output stays equivalent."""

    def escape(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error("lodestar", escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="lodestar")
