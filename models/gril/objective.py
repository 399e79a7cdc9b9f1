"""Train GRIL's retriever by graph supervision: binary cross-entropy over the entities on right paths (section 4.3).

Ours: the mean is over a question's seen entities without its topics, then over questions. The selection metric is the
recall of right triples within the most triples a reader gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy

from ..training.kind import Figures, NothingToLearnError
from ..training.trainer import ShuffledObjective
from .config import CHOOSE_AT, RECALL_AT, RETRIEVER_FIGURES, GrilConfig
from .network import CLAMP, EncodedSubgraphs, GraphRetriever, GrowInputs, GrownSubgraph, logit

TIE_BREAK = 1e-3


def graph_supervision(grown: GrownSubgraph, inputs: GrowInputs, on_path: Tensor) -> Tensor:
    """Return the loss of a batch, a scalar.

    on_path: (num_nodes,) 1 for entities on a shortest path from a topic to an answer. Unseen entities do not count, as
    no gradient could change their probability.
    """
    num_questions = len(inputs.questions)
    seen = torch.zeros_like(inputs.is_topic)
    seen = seen.index_fill(0, inputs.heads[grown.is_seen], True).index_fill(0, inputs.tails[grown.is_seen], True)
    seen = seen & ~inputs.is_topic
    losses = binary_cross_entropy(grown.entity_probability.clamp(CLAMP, 1 - CLAMP), on_path, reduction="none") * seen
    questions = inputs.question_of
    total = losses.new_zeros(num_questions).index_add(0, questions, losses)
    count = losses.new_zeros(num_questions).index_add(0, questions, seen.to(losses.dtype))
    return (total / count.clamp(min=1)).mean()


class RetrieverObjective(ShuffledObjective[GraphRetriever, tuple[int, int]]):
    """An `Objective`. Questions without a right triple in their subgraph are skipped in training and on dev."""

    def __init__(
        self,
        network: GraphRetriever,
        train: Sequence[EncodedSubgraphs],
        dev: Sequence[EncodedSubgraphs],
        config: GrilConfig,
    ) -> None:
        questions = [
            (place, question)
            for place, each in enumerate(train)
            for question in range(len(each.graphs))
            if each.graphs.is_positive[each.graphs.triples_of(question)].any()
        ]
        if not questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        super().__init__(network, questions, config.training, config.batch_size)
        self._train, self._dev = train, dev

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of questions."""
        batch = self.batch(step, shard)
        losses = []
        for place, encoded in enumerate(self._train):
            chosen = [question for of, question in batch if of == place]
            if chosen:
                inputs = encoded.inputs(chosen, supervised=True)
                with self.autocast():
                    grown = network(inputs)
                losses.append(graph_supervision(grown, inputs, encoded.on_path(chosen)) * len(chosen))
        return torch.stack(losses).sum() / len(batch)

    def evaluate(self) -> Figures:
        """Return recall on dev."""
        return figures_of(list(self.iterate_logits()))

    def iterate_logits(self) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]:
        """Yield the logits of each dev question's triples, and which are right."""
        yield from score_triples(self.network, self._dev)


def score_triples(
    network: GraphRetriever, sets: Sequence[EncodedSubgraphs]
) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]:
    """Yield the logits of each question's triples, −∞ of pruned ones, and which are right."""
    with torch.no_grad():
        for encoded in sets:
            for question in range(len(encoded.graphs)):
                grown = network(encoded.inputs([question]))
                scores = logit(grown.path_probability).masked_fill(~grown.is_kept, float("-inf")).cpu().numpy()
                yield scores, encoded.graphs.is_positive[encoded.graphs.triples_of(question)]


def figures_of(scored: Sequence[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]) -> Figures:
    """Return `RETRIEVER_FIGURES` over questions with right triples, and the selection metric."""
    found = [retriever_figures(scores, right) for scores, right in scored if right.any()]
    if not found:
        raise NothingToLearnError("no question to choose by has an answer in its subgraph")
    figures = dict(zip(RETRIEVER_FIGURES, np.mean(found, axis=0).tolist(), strict=True))
    return figures | {"selection_metric": figures[f"recall_at_{CHOOSE_AT}"] + TIE_BREAK * figures["average_precision"]}


def retriever_figures(scores: npt.NDArray[np.float32], right: npt.NDArray[np.bool_]) -> list[float]:
    """Return `RETRIEVER_FIGURES` of a question with right triples; the earlier of equal scores ranks higher.

    What is pruned, with a score of −∞, is not found.
    """
    order = np.argsort(-scores, kind="stable")
    ranks = np.flatnonzero(right[order] & np.isfinite(scores[order])) + 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return [float(each) / int(right.sum()) for each in (*((ranks <= k).sum() for k in RECALL_AT), precisions.sum())]
