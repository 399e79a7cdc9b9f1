"""Supervision refined where there is no language model: by how well a path scorer says chains agree with the question.

Our own, in place of ReG's language model and not as good as one: a scorer reads relation paths from topics, so that it
chooses among shortest paths alone, and neighbourhoods are left to a language model. It takes away what agrees with an
answer by chance, the paper's case (I), and adds nothing, its case (II).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ....models.mined.pool import PoolChain, PooledQuestion
from ...retrieval.scoring import PathQuery, PathScorer
from ...values import Entity, RelationPath, Step, Topic

INVERSE = "^"


class ScorerRefiner:
    """Keeps of a question's shortest paths those whose score is within `margin` of the best one's.

    margin: in units of the score; see `Calibration.from_log_odds`.
    """

    def __init__(self, scorer: PathScorer, margin: float) -> None:
        self._scorer = scorer
        self._margin = margin
        self.counts: Counter[str] = Counter({"refined": 0})

    def refine(self, questions: Sequence[PooledQuestion]) -> list[PooledQuestion]:
        """Return the questions with what was chosen."""
        scores = self._scorer.score([_query(question) for question in questions])
        refined = []
        for question, score in zip(questions, scores, strict=True):
            best = score.stop.max(initial=float("-inf"))
            kept = [
                number for number, each in zip(question.weak, score.stop, strict=True) if each >= best - self._margin
            ]
            refined.append(replace(question, chosen=tuple(kept), how="refined"))
            self.counts["refined"] += 1
        return refined


def _query(question: PooledQuestion) -> PathQuery:
    chains = [question.chains[number] for number in question.weak]
    return PathQuery(
        question.text,
        tuple(Topic(Entity(chain.start, chain.names[0] or None)) for chain in chains),
        tuple(map(_path, chains)),
        (0.0,) * len(chains),
    )


def _path(chain: PoolChain) -> RelationPath:
    return RelationPath(
        tuple(
            Step(step.removeprefix(INVERSE), inverse=step.startswith(INVERSE), to_mediator=not name)
            for step, name in zip(chain.steps, chain.names[1:], strict=True)
        )
    )
