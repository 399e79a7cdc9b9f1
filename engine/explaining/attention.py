"""Explain scores of paths: what the cross-attentive scorer attended to (STAR, section 5.4), or what words are worth."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...models.verbalise import verbalise_hop
from ..errors import UsageError
from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..recipes.recipe import Recipe
from ..recipes.searching import Similarity, Star
from ..resources import GraphResources
from ..retrieval.dual_encoder import StarScorer
from ..retrieval.hops import hops_of
from ..retrieval.scoring import PathQuery, PathScorer, mention_of
from ..values import Scored, Topic
from .explanation import ExplainedPath, Explanation, Word
from .words import joined_words, spelling_of

PUNCTUATION = string.punctuation + "“”‘’"
NOT_USED = "the order is the dual encoder's alone: this checkpoint gives the scorer that attends no weight beside it"
OCCLUSION = "no attention to show: the weights are what a path's score loses when a word is left out"


def has_path_scores(recipe: Recipe) -> bool:
    """Return whether a recipe has a part whose scores can be explained."""
    return any(isinstance(part, Star | Similarity) for part in recipe.parts.values())


def explaining_part(recipe: Recipe) -> Star | Similarity:
    """Return the part of a recipe whose scores can be explained; raise `UsageError` where there is none."""
    part = next((part for part in recipe.parts.values() if isinstance(part, Star | Similarity)), None)
    if part is None:
        raise UsageError(
            f"recipe {recipe.name} has no scores of paths to explain: take a recipe with the part similarity or star, "
            "or name the folder of a trained scorer with --checkpoint"
        )
    return part


def explained(evidence: Evidence[Item], part: Star | Similarity, graph: GraphResources) -> Explanation:
    """Return the evidence's chains with what their scores rest on, each read with the question once more.

    That is what the cross-attentive scorer attended to; where there is none, what a score loses without each word.
    """
    scorer = part.scorer(graph)
    topics = {topic.entity.id: topic for topic in evidence.topics}
    chains = to_chains(evidence).items
    if not isinstance(part, Star) or not isinstance(scorer, StarScorer) or scorer.model.checkpoint.cross is None:
        starts = [topics[each.value.topic.id] for each in chains]
        paths = occluded(evidence.question.text, starts, chains, scorer, graph)
        return Explanation(evidence.question, paths, evidence.note or OCCLUSION)
    mix = scorer.model.checkpoint.description.mix if part.mix is None else part.mix
    return Explanation(
        evidence.question,
        tuple(_explained(evidence.question.text, topics[chain.value.topic.id], chain, scorer) for chain in chains),
        evidence.note or ("" if mix else NOT_USED),
    )


def occluded(
    question: str,
    topics: Sequence[Topic],
    chains: Sequence[Scored[Chain]],
    scorer: PathScorer,
    graph: GraphResources,
) -> tuple[ExplainedPath, ...]:
    """Return the chains with what their scores lose when a word of the question is left out (Zeiler and Fergus 2014).

    The words that name a topic have no weight: scorers do not read them. A word of the path weighs what the path's
    likeness to the question loses without it, whatever the scorer: our own.
    """
    if not chains:
        return ()
    words = question.split()
    paths = tuple(chain.value.relation_path for chain in chains)
    texts = [question, *(" ".join(words[:at] + words[at + 1 :]) or "?" for at in range(len(words)))]
    queries = [PathQuery(text, tuple(topics), paths, (0.0,) * len(paths)) for text in texts]
    scores = np.array([found.stop for found in scorer.score(queries)], dtype=np.float64)
    found = []
    for number, (topic, chain) in enumerate(zip(topics, chains, strict=True)):
        named = set(mention_of(topic).lower().split())
        lost = [
            0.0 if word.lower().strip(PUNCTUATION) in named else max(0.0, scores[0, number] - scores[at, number])
            for at, word in enumerate(words, start=1)
        ]
        of_path = " ".join(verbalise_hop(hop) for hop in hops_of(chain.value.relation_path, graph.words)).split()
        left_out = [" ".join(of_path[:at] + of_path[at + 1 :]) or "?" for at in range(len(of_path))]
        vectors = graph.shared.vectors.stacked([question, " ".join(of_path), *left_out])
        likeness = vectors[1:] @ vectors[0]
        found.append(
            ExplainedPath(
                chain.value,
                score=chain.score,
                cross_score=None,
                question=_weighted(words, np.array(lost)),
                words=_weighted(of_path, np.maximum(likeness[0] - likeness[1:], 0.0)),
            )
        )
    return tuple(found)


def _weighted(words: Sequence[str], lost: npt.NDArray[np.floating]) -> tuple[Word, ...]:
    """Return words with weights that add up to 1, equal ones where none matters."""
    total = float(lost.sum())
    weights = lost / total if total > 0 else np.full(len(words), 1 / max(len(words), 1))
    return tuple(Word(word, weight, ((word, weight),)) for word, weight in zip(words, weights.tolist(), strict=True))


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
