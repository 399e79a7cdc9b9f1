"""From a recipe to an engine: its stages, and the whole graph for those that need it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..answering.calibrated import extractive_answerer
from ..answering.llm import LLMAnswerer
from ..api import Engine
from ..database.catalogue import read_graph_state
from ..database.gateway import Gateway
from ..errors import UsageError
from ..questions.gold import GoldQuestion
from ..recipes.recipe import Recipe
from ..server.connecting import connection_of
from ..settings import Settings
from ..stages import Answerer, Retriever
from .baselines.chance import RandomRetriever
from .baselines.nearest import ShortestPathRetriever
from .baselines.oracle import OracleRetriever
from .baselines.pagerank import PageRankRetriever
from .diagnosis import Diagnosis
from .whole_graph import MAX_TRIPLES, WholeGraph


@contextmanager
def opened(
    asked: Sequence[GoldQuestion], recipe: Recipe, settings: Settings, *, diagnose: bool
) -> Iterator[tuple[Engine, Diagnosis | None]]:
    """Open the engine of a recipe, and the whole graph where baselines or the diagnosis of misses need it."""
    if recipe.needs_checkpoint and not recipe.search.checkpoint:
        raise UsageError(
            f"recipe {recipe.name}: expected the folder of a trained scorer, found none: give "
            "--set search.checkpoint=FOLDER, or train one with `lodestar train star`"
        )
    connection = connection_of(settings)
    checkpoint = recipe.search.checkpoint if recipe.retriever == "beam" else ""
    answerer: Answerer = extractive_answerer(checkpoint, min_probability=recipe.answerer.min_probability)
    if recipe.answerer.kind == "llm":
        answerer = LLMAnswerer.of(settings)
    graph = None
    with Gateway(connection) as gateway:
        gateway.version()
        fits = gateway.fetch(read_graph_state()).num_triples <= MAX_TRIPLES
        if recipe.retriever != "beam" or (diagnose and fits):
            graph = WholeGraph.read(gateway)
    returns = recipe.search.return_to_topic
    diagnosis = Diagnosis(graph, recipe.search.max_hop, return_to_topic=returns) if graph else None
    retriever = _retriever(recipe, graph, diagnosis, asked)
    with Engine(
        settings, options=recipe.search, retriever=retriever, answerer=answerer, connection=connection
    ) as engine:
        engine.prepare()
        yield engine, diagnosis


def _retriever(
    recipe: Recipe, graph: WholeGraph | None, diagnosis: Diagnosis | None, asked: Sequence[GoldQuestion]
) -> Retriever | None:
    """Return the retriever of a baseline, None for the engine's own beam search."""
    if graph is None or diagnosis is None or recipe.retriever == "beam":
        return None
    max_hop = recipe.search.max_hop
    if recipe.retriever == "oracle":
        gold = {question.id: diagnosis.gold_ids(question) for question in asked}
        return OracleRetriever(graph, max_hop, gold, return_to_topic=recipe.search.return_to_topic)
    if recipe.retriever == "random":
        return RandomRetriever(graph, max_hop, recipe.seed)
    return {"pagerank": PageRankRetriever, "shortest": ShortestPathRetriever}[recipe.retriever](graph, max_hop)
