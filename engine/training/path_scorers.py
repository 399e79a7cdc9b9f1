"""A path scorer by name over an engine's graph, for what is done with its scores beside asking."""

from __future__ import annotations

from collections.abc import Collection

from ..api import Engine
from ..database.catalogue import read_catalogue
from ..evidence.calibration import SIMILARITY, Calibration
from ..retrieval.scoring import PathScorer


def path_scorer(engine: Engine, name: str, log_odds: float) -> tuple[PathScorer, Collection[str], float]:
    """Return the scorer `similarity`, or that of a checkpoint's folder, with the relations that it knows and how much
    score so many log-odds are.

    Raises `CheckpointError` for a checkpoint that cannot be read or is of another graph.
    """
    from ..recipes.searching import Star
    from ..retrieval.similarity import SimilarityScorer

    graph = engine.resources.of_graph(engine.gateway().fetch(read_catalogue()))
    if name == "similarity":
        shared = graph.shared
        return (
            SimilarityScorer(graph.words, shared.encoder, shortlist=1_000, vectors=shared.vectors),
            graph.words.keys(),
            SIMILARITY.from_log_odds(log_odds),
        )
    scorer = Star(checkpoint=name).scorer(graph)
    calibration = Calibration("logit", *scorer.model.checkpoint.description.calibration)
    return scorer, graph.words.keys(), calibration.from_log_odds(log_odds)
