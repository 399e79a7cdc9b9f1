"""From evidence to what the cross-attentive scorer attended to in it (STAR, section 5.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..errors import CheckpointError, UsageError
from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..recipes.recipe import Recipe
from ..recipes.searching import Star
from ..resources import GraphResources, Resources
from ..retrieval.dual_encoder import StarScorer
from ..values import Scored, Topic
from .explanation import ExplainedPath, Explanation
from .words import joined_words, spelling_of

if TYPE_CHECKING:
    from ...models.star.config import Description

NOT_USED = "the order is the dual encoder's alone: this checkpoint gives the scorer that attends no weight beside it"


def attentive_part(recipe: Recipe, resources: Resources) -> Star:
    """Return the part of a recipe that has attention to show.

    Raises `UsageError` where there is none, `CheckpointError` where its checkpoint has no cross-attentive scorer.
    """
    part = next((part for part in recipe.parts.values() if isinstance(part, Star)), None)
    if part is None:
        raise UsageError(
            f"recipe {recipe.name} has no attention to show: name the folder of a trained scorer with --checkpoint, or "
            "a recipe with the part star"
        )
    description = cast("Description", resources.describe(part.checkpoint, *part.kinds)[1])
    scorer = description.scorer
    if scorer != "cross":
        raise CheckpointError(
            f"{part.checkpoint}: expected a checkpoint with the cross-attentive scorer, found the scorer {scorer}, "
            "which has no attention to show: train one with `lodestar train star`, without --scorer similarity"
        )
    return part


def explained(evidence: Evidence[Item], part: Star, graph: GraphResources) -> Explanation:
    """Return the evidence's chains with what the scorer attended to in each, read with the question once more."""
    scorer = part.scorer(graph)
    topics = {topic.entity.id: topic for topic in evidence.topics}
    mix = scorer.model.checkpoint.description.mix if part.mix is None else part.mix
    return Explanation(
        evidence.question,
        tuple(
            _explained(evidence.question.text, topics[chain.value.topic.id], chain, scorer)
            for chain in to_chains(evidence).items
        ),
        evidence.note or ("" if mix else NOT_USED),
    )


def _explained(question: str, topic: Topic, chain: Scored[Chain], scorer: StarScorer) -> ExplainedPath:
    read = scorer.attention(question, topic, chain.value.relation_path)
    spelling = spelling_of(token for token, _ in (*read.question, *read.path))
    return ExplainedPath(
        chain.value,
        score=chain.score,
        cross_score=read.score,
        question=joined_words(read.question, spelling),
        words=joined_words(read.path, spelling),
    )
