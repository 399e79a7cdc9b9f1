"""One question to the engine, and what became of it as a record."""

from __future__ import annotations

import time
from dataclasses import replace

from ..api import Engine
from ..errors import LodestarError
from ..questions.gold import GoldQuestion
from .diagnosis import Diagnosis
from .judging import failed, judged
from .records.record import Miss, Record
from .unanswerable import check_left_out


class Asker:
    """Asks questions with the topic entities that the set gives or, with `link`, lets the engine find them.

    Without a `diagnosis` misses have no kind, nor have questions that are asked without their relations.
    """

    def __init__(self, engine: Engine, diagnosis: Diagnosis | None, *, link: bool) -> None:
        self._engine = engine
        self._diagnosis = diagnosis
        self._link = link

    def ask(self, question: GoldQuestion) -> Record:
        """Return the record of a question; an error of the engine is a failure in it, a bug is raised."""
        started_s = time.perf_counter()
        try:
            (answer,) = self._engine.ask_batch([question.asked(() if self._link else question.topic_ids)])
            if answer.failure is not None:
                raise answer.failure
        except LodestarError as error:
            seconds = {"failed": time.perf_counter() - started_s}
            miss = Miss("failed") if self._diagnosis and not question.without else None
            return replace(failed(question, f"{type(error).__name__}: {error}"), seconds=seconds, miss=miss)
        check_left_out(question, answer.evidence)
        total_s = time.perf_counter() - started_s
        record = judged(question, answer)
        right = record.scores["strict/hits_at_1"] == 1 or bool(question.without)
        return replace(
            record,
            seconds={**record.seconds, "total": total_s},
            miss=None if right or not self._diagnosis else self._diagnosis.miss(question, answer),
        )
