"""ReG@Path as a path scorer: what a decoder says of the paths that a beam search can walk.

The search is the constraint: at every hop it offers the decoder the relations that the database has at the frontier
and no others, so that every plan that it writes is one that can be walked, and is grounded as it grows. Where a path
cannot go on it is a dead end: it may end there, or is left; no relation is made up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...models.reg_path.network import PathModel, Vocabulary
from ...models.text.verbalise import RelationWords
from ..values import check_finite
from .scoring import PathQuery, PathScores, masked_question


class PathDecoderScorer:
    """A `PathScorer` by a checkpoint; `words` has the words of every relation.

    extend: the log-probability of the path as the beginning of one; stop: of the path followed by END. Neither is made
    up for what cannot be walked: probabilities are of all relations of the graph.
    """

    def __init__(self, words: Mapping[str, RelationWords], model: PathModel) -> None:
        self._model = model
        self._vocabulary = Vocabulary.of(words)
        self._tokens = model.tokens(self._vocabulary)

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoder so far."""
        return self._model.vectors.encoding_s

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; all of them are scored together."""
        paths = [[str(step) for step in path.steps] for query in queries for path in query.paths]
        masked = [text for query in queries for text in _masked(query)]
        extend, stop = self._model.score(masked, self._vocabulary.written(paths), self._tokens)
        check_finite(np.stack([extend, stop]), "a checkpoint of kind reg-path", log_probabilities=True)
        found, at = [], 0
        for query in queries:
            rows = slice(at, at + len(query.paths))
            found.append(PathScores(stop[rows], extend[rows]))
            at = rows.stop
        return found


def _masked(query: PathQuery) -> list[str]:
    texts = {topic: masked_question(query.question, topic) for topic in dict.fromkeys(query.topics)}
    return [texts[topic] for topic in query.topics]
