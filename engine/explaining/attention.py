"""From a retrieval to what the cross-attentive scorer attended to in it (STAR, section 5.4)."""

from __future__ import annotations

from ..errors import CheckpointError
from ..retrieval.star import StarScorer
from ..trained import checkpoint_description
from ..values import EntityCandidate, Retrieval, RetrievedPath, Scored
from .explanation import ExplainedPath, Explanation
from .words import joined_words, spelling_of

NOT_USED = "the order is the dual encoder's alone: this checkpoint gives the scorer that attends no weight beside it"


def check_attentive(folder: str) -> None:
    """Raise `CheckpointError` where a checkpoint has no cross-attentive scorer."""
    scorer = checkpoint_description(folder).scorer
    if scorer != "cross":
        raise CheckpointError(
            f"{folder}: expected a checkpoint with the cross-attentive scorer, found the scorer {scorer}, which has no "
            "attention to show: train one with `lodestar train star`, without --scorer similarity"
        )


def explained(retrieval: Retrieval, scorer: StarScorer) -> Explanation:
    """Return the retrieval's paths with what the scorer attended to in each, read with the question once more."""
    topics = {topic.value.entity.id: topic.value for topic in retrieval.topics}
    return Explanation(
        retrieval.question,
        tuple(_explained(retrieval, topics[path.value.topic.id], path, scorer) for path in retrieval.paths),
        retrieval.note or ("" if scorer.mix else NOT_USED),
    )


def _explained(
    retrieval: Retrieval, topic: EntityCandidate, path: Scored[RetrievedPath], scorer: StarScorer
) -> ExplainedPath:
    read = scorer.attention(retrieval.question.text, topic, path.value.relation_path)
    spelling = spelling_of(token for token, _ in (*read.question, *read.path))
    return ExplainedPath(
        path.value,
        score=path.score,
        cross_score=read.score,
        question=joined_words(read.question, spelling),
        words=joined_words(read.path, spelling),
    )
