"""Run the `lodestar` command: import a verb's module on use, and print errors in one line."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import click

from ...models.message_text import one_line
from ..errors import LodestarError, StorageError
from .terminal import echo, show_warnings, supports_colour

MAX_MESSAGE_CHARS = 1_500
AGAIN_S = 0.1
"""After which an interrupt that Python ignored is sent again."""
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

VERBS = {
    "ask": ("ask", "Answer questions from the graph, and show the paths behind the answers."),
    "browse": ("browse", "Open retrieved paths in Neo4j Browser."),
    "db": ("db", "Start, stop, show, copy or reset a Neo4j of your own."),
    "demo": ("demo", "Load a small world, ask fifteen questions, and show the answers."),
    "describe": ("describe", "Describe relations by the phrases that people use."),
    "doctor": ("doctor", "Check what works, what is missing, and what to do about it."),
    "entities": ("entities", "Find the entities that a text mentions."),
    "eval": ("eval", "Ask every question of a set, and report metrics with their intervals."),
    "explain": ("explain", "Show what decided for an answer, and which words a score came from."),
    "export": ("export", "Write the graph to files: TSV, N-Triples or parquet."),
    "index": ("index", "Update the indexes of a graph without loading it again."),
    "load": ("load", "Load a knowledge graph into Neo4j."),
    "loads": ("loads", "List the loads of the graph, or delete one."),
    "mcp": ("mcp", "Serve the graph to an agent over standard input and output."),
    "mine": ("mine", "Mine training paths for a retriever."),
    "recipes": ("recipes", "List recipes and parts, with all their options."),
    "refine": ("refine", "Select training supervision from candidate pools."),
    "refresh": ("refresh", "Put right what other programs changed in the graph."),
    "relations": ("relations", "Show the relations with their words, or the nearest to a text."),
    "retrieve": ("retrieve", "Find and rank the reasoning paths for questions."),
    "serve": ("serve", "Serve questions over HTTP, with a page."),
    "train": ("train", "Train a scorer on questions with answers."),
    "stats": ("stats", "Show what the graph holds: sizes, degrees, relations, hubs, components."),
    "verify": ("verify", "Check the graph against the manifests of its loads."),
}
"""The module and purpose of each verb."""


class LazyGroup(click.Group):
    """Import a verb's module when the verb is used, so that --help is fast."""

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
    signal.signal(signal.SIGTERM, _end)
    _escape_unencodable()
    try:
        code = _call_command()
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
        echo("lodestar: ended by a signal" if _signals else "lodestar: interrupted", err=True)
        sys.exit(128 + (_signals[-1] if _signals else signal.SIGINT))
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


_signals: list[int] = []
"""The signals received; the command then cleans up as after Ctrl-C."""


def _end(number: int, _frame: object) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def _call_command() -> object:
    """Call the command; an error during the clean-up after Ctrl-C is raised as the interrupt."""
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_repeat_interrupt, hook)
    try:
        return main(standalone_mode=False, color=None if supports_colour() else False)
    except Exception as error:
        if _signals or is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = hook


def _repeat_interrupt(hook: Callable[[Any], object], ignored: Any) -> None:
    """Send an interrupt again that came while an object was put away, where Python ignores what is raised."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        again = threading.Timer(AGAIN_S, signal.raise_signal, (signal.SIGINT,))
        again.daemon = True
        again.start()  # here it would be ignored, too
    else:
        hook(ignored)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error was caused by an interrupt, or raised while one was handled."""
    found = [error] if error is not None else []
    for each in found:  # grows during the loop
        found += [
            other
            for other in (each.__cause__, each.__context__)
            if other is not None and all(other is not f for f in found)
        ]
    return any(isinstance(each, KeyboardInterrupt) for each in found)
