"""Two runs over the same questions: a paired test of each figure, and the questions won and lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UsageError
from ..metrics.uncertainty import Paired, paired_test
from ..records.record import Record

COMPARED = (
    "strict/hits_at_1",
    "strict/f1",
    "rog/f1",
    "path/hits_at_1_any",
    "path/hits_at_1_expected",
    "path/answer_recall@10",
    "mrr",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run a against run b. `won` are the questions whose first answer is right in a alone, `lost` in b alone."""

    tests: dict[str, Paired]
    won: tuple[Record, ...]
    lost: tuple[Record, ...]
    num_questions: int


def compared(a: Sequence[Record], b: Sequence[Record], seed: int = 0) -> Comparison:
    """Return the comparison; raise `UsageError` unless both runs asked the same questions.

    Questions that were asked again without their relations are left out.
    """
    a, b = ([record for record in run if not record.without] for run in (a, b))
    of_b = {record.id: record for record in b}
    if {record.id for record in a} != set(of_b):
        only = len({record.id for record in a} ^ set(of_b))
        raise UsageError(f"expected two runs over the same questions, found {only:,} that only one of them asked")
    pairs = [(record, of_b[record.id]) for record in a]
    if not pairs:
        raise UsageError("expected two runs with questions, found none")
    if any(not set(COMPARED) <= record.scores.keys() for record in (*a, *b)):
        raise UsageError(f"expected the figures {', '.join(COMPARED)} of every question: run it again")
    tests = {
        metric: paired_test(
            [mine.scores[metric] for mine, _ in pairs], [theirs.scores[metric] for _, theirs in pairs], seed=seed
        )
        for metric in COMPARED
    }
    hits = [(mine, theirs, mine.scores[COMPARED[0]] - theirs.scores[COMPARED[0]]) for mine, theirs in pairs]
    return Comparison(
        tests,
        tuple(mine for mine, _, difference in hits if difference > 0),
        tuple(theirs for _, theirs, difference in hits if difference < 0),
        len(pairs),
    )
