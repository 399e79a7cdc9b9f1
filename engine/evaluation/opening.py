"""From a recipe to an engine, with the whole graph for the parts and the diagnosis that need it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..api import Engine
from ..database.catalogue import read_graph_state
from ..questions.gold import GoldQuestion
from ..questions.in_graph import with_known_answers, with_topic_ids
from ..recipes.recipe import Recipe
from ..resources import Resources
from ..settings import Settings
from .baselines.parts import OVER_THE_WHOLE_GRAPH, WholeSet
from .diagnosis import Diagnosis
from .gold_ids import GoldIds
from .unanswerable import without_their_relations
from .whole_graph import MAX_TRIPLES, WholeGraph


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine with the questions as its graph knows them; `warning` is what to tell of their answers, or empty."""

    engine: Engine
    questions: tuple[GoldQuestion, ...]
    diagnosis: Diagnosis | None
    warning: str


@contextmanager
def opened(
    asked: Sequence[GoldQuestion],
    recipe: Recipe,
    settings: Settings,
    *,
    diagnose: bool,
    unanswerable: bool = False,
    resources: Resources | None = None,
) -> Iterator[Opened]:
    """Open the engine of a recipe, and the whole graph where baselines or the diagnosis of misses need it.

    With `unanswerable` each question follows again without its relations, which the whole graph is needed for, too.
    resources: what runs over the same graph share.
    """
    with Engine(settings, recipe=recipe, resources=resources) as engine:
        gateway = engine.gateway()
        known = with_known_answers(asked, gateway)
        questions = with_topic_ids(known.questions, gateway)
        needed = any(isinstance(part, OVER_THE_WHOLE_GRAPH) for part in recipe.parts.values())
        fits = gateway.fetch(read_graph_state()).num_triples <= MAX_TRIPLES
        diagnosis = None
        if needed or unanswerable or (diagnose and fits):
            gold = engine.resources.once("whole graph", lambda: GoldIds(WholeGraph.read(gateway)))
            if unanswerable:
                questions += without_their_relations(
                    questions, gold, _max_hop(recipe), return_to_topic=_returns(recipe)
                )
            engine.resources.provide(WholeSet(gold, questions))
            diagnosis = Diagnosis(gold, _max_hop(recipe), return_to_topic=_returns(recipe))
        engine.prepare()
        yield Opened(engine, questions, diagnosis, known.warning)


def _max_hop(recipe: Recipe) -> int:
    """Return the longest path in hops that any part of the recipe finds."""
    return max((getattr(part, "max_hop", 0) for part in recipe.parts.values()), default=0) or 2


def _returns(recipe: Recipe) -> bool:
    return any(getattr(part, "return_to_topic", False) for part in recipe.parts.values())
