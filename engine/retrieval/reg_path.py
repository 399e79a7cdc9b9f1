"""Score the paths of a beam search with ReG@Path's language model.

The search is the constraint: at every hop the model writes along a trie of the relations that the database has at the
frontier, so that every path that it writes can be walked. Where a path cannot go on, it ends there or is dropped; what
is offered and not written is not walked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...models.text import RelationWords
from ..evidence import Calibration
from ..parts import TrainedPart, option, part
from . import PathQuery, PathScores
from .beam import BeamRetriever, OpenedSearch

if TYPE_CHECKING:
    from ...models.reg.paths import PathModel
    from ..resources import GraphResources

Place = tuple[str, tuple[str, ...]]


@part("reg-path")
@dataclass(frozen=True)
class RegPath(TrainedPart, BeamRetriever):
    """Beam search over relation paths from a language model with a LoRA (ReG@Path, docs/papers.md)."""

    kinds: ClassVar[tuple[str, ...]] = ("reg-path",)

    model: str = option("", "language model of the LoRA, by name or folder", source="the checkpoint")

    def open(self, graph: GraphResources) -> OpenedSearch:
        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph, language_model=self.model)
        scorer = GenerativePathScorer(graph.words, model, self.beam_width)
        return self.open_search(graph, scorer, Calibration("logit", *model.description.calibration))


class GenerativePathScorer:
    """A `PathScorer` by a checkpoint; `words` has the words of every relation, `num_beams` are written of each prefix.

    extend: the log-probability of the path as the beginning of one; stop: of the path followed by END; minus infinity
    of what was not written.
    """

    def __init__(self, words: Mapping[str, RelationWords], model: PathModel, num_beams: int) -> None:
        from ...models.reg.paths import make_relation_texts  # with PyTorch

        self._model = model
        self._text = model.text(make_relation_texts(words))
        self._num_beams = num_beams

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; all of them are written together."""
        from ...models.reg.paths import RelationPathPrefix

        places = [_rows_by_place(query) for query in queries]
        prefixes = [
            RelationPathPrefix(query.question, topic, path, tuple(rows))
            for query, each in zip(queries, places, strict=True)
            for (topic, path), rows in each.items()
        ]
        written = iter(self._model.write(prefixes, self._text, self._num_beams))
        found = []
        for query, each in zip(queries, places, strict=True):
            scores = np.full((2, len(query.paths)), -np.inf, dtype=np.float32)
            for rows in each.values():
                for step, (begun, whole) in next(written).items():
                    scores[:, rows[step]] = np.array([[whole], [begun]])
            found.append(PathScores(scores[0], scores[1]))
        return found


def _rows_by_place(query: PathQuery) -> dict[Place, dict[str, list[int]]]:
    """Return, for each topic and path so far, the rows of the steps that lead on."""
    found: dict[Place, dict[str, list[int]]] = {}
    for row, (topic, path) in enumerate(zip(query.topics, query.paths, strict=True)):
        *before, step = (str(each) for each in path.steps)
        found.setdefault((topic.entity.label, tuple(before)), {}).setdefault(step, []).append(row)
    return found
