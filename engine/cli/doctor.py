"""Check the installation part by part, and say what to do about what is missing (`lodestar doctor`)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ..errors import LodestarError
from . import echo, print_json, printable
from .options import database_options, json_option

if TYPE_CHECKING:
    from ..settings import Settings

SECTION = "Start here"
MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("–", "yellow")}
LLM_TIMEOUT_S = 5.0

Level = Literal["ok", "missing", "optional"]
Found = tuple[Level, str] | tuple[Level, str, str]
"""What a check finds: level, what there is, and where something is missing or optional and absent an advice."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one part, with advice where it is missing, or optional and absent."""

    part: str
    level: Level
    found: str
    advice: str = ""


@click.command()
@json_option
@database_options
def command(settings: Settings, as_json: bool) -> None:
    """Check what works, what is missing, and what to do about it.

    Exits with 1 if something required is missing.

    \b
    Example:
      lodestar doctor --uri neo4j+s://graph.example.org
    """
    findings = list(examine(settings))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    for finding in () if as_json else findings:
        mark, colour = MARKS[finding.level]
        advice = click.style(f" → {finding.advice}", dim=True) if finding.advice else ""
        echo(f"{click.style(mark, fg=colour)} {finding.part:<9} {printable(finding.found)}{advice}")
    if any(finding.level == "missing" for finding in findings):
        raise click.exceptions.Exit(1)


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield the findings, each part after those that it depends on. This changes nothing."""
    from ..errors import EXTRAS, how_to_install

    yield Finding("Python", "ok", f"{platform.python_version()} at {sys.executable}, Lodestar {version('lodestar-kg')}")
    yield from _database(settings)
    yield _attempt("encoder", lambda: _encoder(settings), "set LODESTAR_ENCODER to a folder with a model")
    yield _attempt("LLM", lambda: _llm(settings), "answers from the graph alone need none")
    missing = [extra.name for extra in EXTRAS if extra.missing]
    if installed := [extra.name for extra in EXTRAS if not extra.missing]:
        yield Finding("extras", "ok", f"installed: {', '.join(installed)}")
    if missing:
        found = f"not installed: {', '.join(missing)} (docs/install.md says what for)"
        yield Finding("extras", "optional", found, how_to_install("NAME"))
    if not {"index", "gpu"} & {*missing}:
        found = "faiss-cpu and faiss-gpu-cu12 write to one folder, and `import faiss` may fail"
        yield Finding("faiss", "missing", found, f"uninstall both, then {how_to_install('gpu')}")


def _attempt(part: str, look: Callable[[], Found], advice: str) -> Finding:
    """Return what a check finds, or that the part is missing where the check fails."""
    try:
        level, found, *more = look()
    except (LodestarError, OSError, ImportError) as error:
        return Finding(part, "missing", str(error), advice)
    return Finding(part, level, found, *more)


def _database(settings: Settings) -> Iterator[Finding]:
    """Yield what is known of the database, its graph and its loads."""
    from ..neo4j.catalogue import read_full_state
    from ..neo4j.gateway import Gateway
    from ..settings import make_connection

    try:
        with Gateway(make_connection(settings)) as gateway:
            yield Finding("database", "ok", f"Neo4j {gateway.version()} at {gateway.connection.where}")
            state = read_full_state(gateway)
    except LodestarError as error:
        yield Finding("database", "missing", str(error), "lodestar db start, or --uri with LODESTAR_PASSWORD")
        return
    try:
        state.check()
    except LodestarError as error:
        yield Finding("graph", "missing", str(error), "lodestar load geonames, or lodestar load tsv FILE")
        return
    yield Finding("graph", "ok", state.counts)
    for source in (*state.unfinished_loads, *state.deleting_loads):
        what = "load" if source in state.unfinished_loads else "deletion of the load"
        found = f"the {what} of {source} {'is under way' if state.under_way else 'did not finish'}"
        yield Finding("load", "optional", found, "wait" if state.under_way else "run the same command again")


def _encoder(settings: Settings) -> Found:
    from ...models.text.encoders import BUNDLED, INSTALL_WEIGHTS, EncoderUnavailableError, SentenceEncoder
    from ..errors import how_to_install

    encoder = SentenceEncoder(settings.encoder)
    try:
        is_plain = encoder.is_plain
    except EncoderUnavailableError as error:
        return "missing", str(error), "the encoder without an adapter is all-MiniLM-L6-v2"
    if not is_plain and find_spec("sentence_transformers") is None:
        advice = INSTALL_WEIGHTS if settings.encoder in BUNDLED else how_to_install("train")
        return "missing", f"{settings.encoder} cannot run here", advice
    if Path(encoder.location).is_dir():
        return "ok", f"{settings.encoder}, files at hand, no network needed"
    return "optional", f"{settings.encoder}, from the hub or its cache", "fetched at first use"


def _llm(settings: Settings) -> Found:
    """Ask the language model's endpoint which models it has; this call costs nothing."""
    from ..llm.gateway import ChatGateway

    if not (settings.llm_model or settings.llm_base_url):
        return "optional", "not configured", "answers come from the graph alone; set LODESTAR_LLM_MODEL to use one"
    with closing(ChatGateway.of(replace(settings, llm_cache=""))) as chat:  # do not create the cache
        listed = chat.endpoint.models(min(settings.llm_timeout_s, LLM_TIMEOUT_S))
    where, model = chat.endpoint.where, chat.endpoint.model
    if listed is not None and model not in listed:
        return "optional", f"{where} is reachable but does not list {model!r}", "check LODESTAR_LLM_MODEL"
    return "ok", f"{where} is reachable{f' and lists {model!r}' if listed is not None else ''}"
