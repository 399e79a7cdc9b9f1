"""The extractive answerer: the ends of the best path, each with the paths it rests on. No language model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..values import Answer, AnswerEntity, Retrieval

NO_ANSWER = "no answer found"


@dataclass(frozen=True, slots=True)
class ExtractiveAnswerer:
    """Answers with the entities at the end of the best path; where it meets a path from another topic, with those only.

    The confidence of an entity is the probability that the best path is right times the share of the paths that lead to
    the entity, both our own reading of the scores: P = σ(slope · score + intercept), fitted on the training questions
    of FB15k-237 (``benchmarks.calibration``), and paths weighted by softmax(score / `temperature`). Where P is below
    `min_probability` the best path is taken to be about something else: no answer.
    """

    slope: float = 3.17
    intercept: float = -2.26
    min_probability: float = 0.3
    temperature: float = 0.1
    max_named: int = 10

    def answer(self, retrieval: Retrieval) -> Answer:
        """Return the answer; one without entities where nothing was found."""
        paths = retrieval.paths
        right = _sigmoid(self.slope * paths[0].score + self.intercept) if paths else 0.0
        if not paths or right < self.min_probability:
            reason = retrieval.note or ("no path fits the question" if paths else "no path leads on from its entities")
            return Answer(retrieval, (), f"{NO_ANSWER}: {reason}", "extractive")
        weights = [math.exp((path.score - paths[0].score) / self.temperature) for path in paths]
        answers = paths[0].value.meeting or paths[0].value.ends
        evidence: dict[str, list[int]] = {end.id: [] for end in answers}
        for index, path in enumerate(paths):
            for end in path.value.ends:
                if end.id in evidence:
                    evidence[end.id].append(index)
        entities = [
            AnswerEntity(
                name=end.label,
                id=end.id,
                confidence=right * sum(weights[i] for i in evidence[end.id]) / sum(weights),
                origin="graph",
                evidence=tuple(evidence[end.id]),
            )
            for end in answers
        ]
        entities.sort(key=lambda entity: (-entity.confidence, entity.name, entity.id or ""))
        return Answer(retrieval, tuple(entities), self._text(entities), "extractive")

    async def aanswer(self, retrieval: Retrieval) -> Answer:
        """Return the same: nothing here waits."""
        return self.answer(retrieval)

    def _text(self, entities: list[AnswerEntity]) -> str:
        named = ", ".join(entity.name for entity in entities[: self.max_named])
        more = len(entities) - self.max_named
        return f"{named} and {more:,} more" if more > 0 else named


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(min(x, 700.0), -700.0)))
