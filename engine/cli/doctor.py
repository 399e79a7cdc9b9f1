"""Check the installation part by part, and say what to do about what is missing (`lodestar doctor`)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from ..errors import (
    EXTRAS,
    GraphError,
    LodestarError,
    format_install_command,
    missing_packages,
    translate_import_errors,
)
from ..progress import make_printable
from . import show
from .options import database_options, json_option

if TYPE_CHECKING:
    from ..settings import Settings

MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("–", "yellow")}
LLM_TIMEOUT_S = 5.0


class Finding(NamedTuple):
    """The state of one part, with advice where it is missing, or optional and absent."""

    part: str
    level: Literal["ok", "missing", "optional"]
    found: str
    advice: str = ""

    def line(self) -> str:
        mark, colour = MARKS[self.level]
        advice = click.style(f" → {self.advice}", dim=True) if self.advice else ""
        return f"{click.style(mark, fg=colour)} {self.part:<9} {make_printable(self.found)}{advice}"


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
    show([each._asdict() for each in findings], [each.line() for each in findings], styled=True)
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
        except (LodestarError, EncoderUnavailableError, OSError) as error:
            yield Finding(part, "missing", str(error))
    missing = [extra for extra in EXTRAS if missing_packages(extra)]
    yield Finding("extras", "ok", f"installed: {', '.join(each for each in EXTRAS if each not in missing) or 'none'}")
    if missing:
        found = f"not installed: {', '.join(missing)} (docs/install.md says what for)"
        yield Finding("extras", "optional", found, format_install_command("NAME"))
    if not {"index", "gpu"} & {*missing}:
        found = "faiss-cpu and faiss-gpu-cu12 write to one folder, and `import faiss` may fail"
        yield Finding("faiss", "missing", found, f"uninstall both, then {format_install_command('gpu')}")


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
    from ...models.text.encoders import SentenceEncoder

    encoder = SentenceEncoder(settings.encoder)
    if not Path(encoder.location).is_dir() and find_spec("sentence_transformers"):
        yield Finding("encoder", "optional", f"{settings.encoder}, from the hub or its cache", "fetched at first use")
        return
    with translate_import_errors(f"the encoder {settings.encoder}"):
        yield Finding("encoder", "ok", f"{settings.encoder} makes vectors of {encoder.dimension} numbers")


def _llm(settings: Settings) -> Iterator[Finding]:
    """Ask the language model's endpoint which models it has; this call costs nothing."""
    from ..llm.gateway import ChatGateway

    if not (settings.llm_model or settings.llm_base_url):
        yield Finding("LLM", "optional", "not configured", "set LODESTAR_LLM_MODEL to use one")
        return
    with closing(ChatGateway.of(replace(settings, llm_cache=""))) as chat:  # do not create the cache
        listed = chat.endpoint.models(min(settings.llm_timeout_s, LLM_TIMEOUT_S))
    where, model = chat.endpoint.where, chat.endpoint.model
    if listed is None or model in listed:
        yield Finding("LLM", "ok", f"{where} is reachable{f' and lists {model!r}' if listed else ''}")
    else:
        yield Finding("LLM", "optional", f"{where} does not list {model!r}", "check LODESTAR_LLM_MODEL")
