"""Write and read the records of a run."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from ...models.message_text import one_line
from ...models.training.kind import decode_dataclass
from ..errors import InputError
from ..whole_file import translate_storage_errors

Scores = Mapping[str, float]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PathRecord:
    """A retrieved path: `relations` in walking order, with a leading ``^`` if inverse.

    `ends` are the ids of its first ends; `num_right` of its `num_ends` ends are right answers.
    """

    score: float
    topic: str
    relations: tuple[str, ...]
    num_hops: int
    ends: tuple[str, ...]
    num_ends: int
    num_right: int
    text: str
    """One entity path, to a right answer if there is one, as shown to a reader."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer, in the order of the answers."""

    name: str
    id: str | None
    confidence: float | None
    origin: str


@dataclass(frozen=True, slots=True)
class Miss:
    """Why the first answer is wrong: one of `diagnosis.KINDS`, with the hop of the loss or the rank of the path."""

    kind: str
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One question of a run. `failure` is an error in one line; a failed question counts as wrong.

    `scores` are the question's metrics, `rog_exceeded` tells whether the substring rule gave more than 1.
    """

    id: str
    question: str
    topics: tuple[str, ...]
    paths: tuple[PathRecord, ...] = ()
    answers: tuple[AnswerRecord, ...] = ()
    text: str = ""
    failure: str | None = None
    scores: Scores = field(default_factory=dict)
    counted: tuple[int, int, int] = (0, 0, 0)
    """Right, given and gold answers, for micro-averages."""
    rog_exceeded: bool = False
    miss: Miss | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    round_trips: Mapping[str, int] = field(default_factory=dict)
    confidence: float | None = None
    """Confidence of the whole answer, which the answerer compares with its thresholds; None if unknown."""
    excluded_relations: tuple[str, ...] = ()
    """Excluded relations; with them excluded the question has no right answer."""
    num_prompt_tokens: int | None = None
    num_completion_tokens: int | None = None

    @property
    def shown_confidence(self) -> float | None:
        """The confidence shown beside the answer, in [0, 1]: its own, else the first entity's; None without either."""
        if not self.answers:
            return None
        confidence = self.answers[0].confidence if self.confidence is None else self.confidence
        return None if confidence is None else min(max(confidence, 0.0), 1.0)

    @property
    def abstained(self) -> bool:
        """Whether the system abstained; a failure is no abstention."""
        return not self.answers and self.failure is None

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return dataclasses.asdict(self)


class RecordWriter:
    """Appends records to a file. A line that a kill cut short is removed first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._adding = threading.Lock()
        self._file: IO[bytes] | None = None

    def read(self) -> list[Record]:
        """Return the complete records, in the order of writing. Raises `InputError` for an invalid line."""
        if not self.path.exists():
            return []
        records: list[Record] = []
        for number, line in enumerate(self._complete_lines(), start=1):
            try:
                # Until 0.1 the key was `without`; as text of a string it would have escaped quotes.
                current = line.replace(b',"without":[', b',"excluded_relations":[')
                if current != line and not records:
                    _log.warning("%s: `without` is now `excluded_relations`; new records have the new name", self.path)
                records.append(decode_dataclass(Record, current))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.path}:{number}: expected a record of a run: {one_line(error)}") from error
        return records

    def add(self, record: Record) -> None:
        """Write a record to the disk before returning; thread-safe."""
        line = json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._adding, translate_storage_errors(self.path):
            assert self._file
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        with translate_storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = sum(map(len, self._complete_lines())) if self.path.exists() else 0
            self._file = self.path.open("ab")
            self._file.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _complete_lines(self) -> list[bytes]:
        return [line for line in self.path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
