"""Metrics: an answer is counted as what it is, whatever its evidence holds."""

from __future__ import annotations

from lodestar.engine.errors import LLMError
from lodestar.engine.evidence import Answer, make_failed_answer
from lodestar.engine.serving.server import Metrics
from lodestar.engine.values import AnswerEntity, Entity

from tests.made.evidence import evidence_of, leads, ranked

PERU = Entity("m.peru", "Peru")


def test_each_outcome_is_counted_by_its_reason() -> None:
    evidence = evidence_of(*ranked(leads("capital", Entity("m.lima", "Lima"), topic=PERU)))
    found = Answer(evidence, (AnswerEntity("Lima", "m.lima", 0.9, "graph", (0,)),), "Lima", "extractive")
    only_retrieved, nothing = Answer(evidence, (), "", "none"), Answer(evidence_of(), (), "", "none")
    failed = make_failed_answer(evidence, LLMError("no"))
    metrics = Metrics()
    metrics.count_batch([found, only_retrieved, nothing, found.withhold(("not",)), failed])
    counted = {
        sample.labels["outcome"]: sample.value
        for family in metrics.questions.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    assert counted == {"found": 2, "nothing": 1, "not understood": 1, "failed": 1}
