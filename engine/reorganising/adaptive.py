"""GRIL's complexity assessment as a stage: as many triples as the hops that the question seems to take allow."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.gril.network import HopModel
from ..evidence.bridges import triples_of
from ..evidence.evidence import Evidence, Item, Kind
from ..steps import Steps
from ..values import check_finite


class AdaptiveK:
    """A `Reorganiser` of either kind: the best `per_hop` · c triples, c hops predicted from the question's text.

    Of chains, ours: the best ones whose triples together are no more, and at least one.
    """

    takes: Kind | None = None
    gives: Kind | None = None

    def __init__(self, model: HopModel, *, per_hop: int) -> None:
        self._model = model
        self._per_hop = per_hop

    def reorganise(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Evidence[Item]]]:
        """Return the evidence, cut."""
        yield from ()
        hops = predict_hops(self._model, [each.question.text for each in evidence])
        return [each.cut_to(number_kept(each, self._per_hop * c)) for each, c in zip(evidence, hops, strict=True)]


def predict_hops(model: HopModel, questions: Sequence[str]) -> list[int]:
    """Return the number of hops that each question seems to take."""
    logits = model.logits(questions)
    check_finite(logits, "the hop predictor of a checkpoint of kind gril")
    return [place + 1 for place in logits.argmax(axis=1).tolist()]


def number_kept(evidence: Evidence[Item], num_triples: int) -> int:
    """Return how many items have no more than so many triples together; one where there is one."""
    found: set[object] = set()
    for place, item in enumerate(evidence.items):
        found.update(triples_of(item.value))
        if len(found) > num_triples and place:
            return place
    return len(evidence.items)
