"""GRIL's joint training (section 4.3, equations 6 and 7): one forward of the reader serves both terms.

The loss is −log P_φψ(a | G_s, q), minimised in the reader φ and the bridge ψ (equation 6), and, with φ and ψ held
fixed, in the retriever θ, together with −log P_θ(G_s | q) (equation 7). Both first parts are one number, whose gradient
in φ and ψ is that of the first term and whose gradient in θ, by way of the soft token, is that of the second: one
backward pass gives both, and the rest depends on θ alone.

Ours: P_θ(G_s | q) is the mean of log P over the triples that the reader is given, weighted by `prior_weight`; these are
the 5 · c most probable ones, c predicted, or a fixed number of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..bridge import Bridge, mask_of
from ..config import JointOptions
from ..inputs import EncodedQuestions
from ..learning import graph_supervision
from ..mask import CLAMP
from ..network import GraphRetriever, GrowInputs, Grown
from .asked import Asked, JointReader, Judged, Wanted
from .passages import Passage

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Read:
    """What came of a batch: what grew, what the reader was asked with the graph tokens, and the parts of the loss."""

    grown: Grown
    asked: list[Asked]
    tokens: Tensor | None
    losses: dict[str, Tensor]

    @property
    def loss(self) -> Tensor:
        """The sum of all parts."""
        return torch.stack(list(self.losses.values())).sum()


class JointNetwork(nn.Module):
    """Retriever θ, bridge ψ and reader φ. wanted: what is known of questions beside their subgraphs, by id."""

    def __init__(
        self,
        retriever: GraphRetriever,
        bridge: Bridge,
        reader: JointReader,
        options: JointOptions,
        wanted: Mapping[str, Wanted] | None = None,
    ) -> None:
        super().__init__()
        self.retriever, self.bridge = retriever, bridge
        self.reader: Any = reader
        self.options = options
        self._wanted = wanted or {}

    def forward(
        self,
        encoded: EncodedQuestions,
        questions: Sequence[int],
        num_triples: Sequence[int],
        precision: torch.dtype | None = None,
    ) -> Read:
        """Return what comes of some questions, with its loss. num_triples: how many each is given."""
        options = self.options
        grown, inputs, asked, tokens, given = self._asked(encoded, questions, num_triples)
        losses = {"reading": self.reader.loss(asked, tokens, precision)}
        if options.graph_supervision:
            losses["graph"] = graph_supervision(grown, inputs, encoded.on_path(questions))
        if options.prior_weight:
            _, triples = encoded.rows(questions)
            chosen = torch.from_numpy(np.isin(triples, np.concatenate(given))).to(grown.reached.device)
            prior = -grown.probabilities[chosen].clamp(min=CLAMP).log()
            losses["prior"] = options.prior_weight * prior.sum() / max(len(prior), 1)
        return Read(grown, asked, tokens, losses)

    def judged(
        self,
        encoded: EncodedQuestions,
        questions: Sequence[int],
        num_triples: Sequence[int],
        precision: torch.dtype | None = None,
    ) -> list[Judged]:
        """Return what the reader says to some questions."""
        _, _, asked, tokens, _ = self._asked(encoded, questions, num_triples)
        found: list[Judged] = self.reader.judged(asked, tokens, precision)
        return found

    def learned(self) -> dict[str, Tensor]:
        """Return the weights that a training changes, themselves."""
        parts = {"retriever": self.retriever.state_dict(), "bridge": self.bridge.state_dict()}
        parts["reader"] = dict(self.reader.learned())
        return {f"{name}.{key}": weight for name, part in parts.items() for key, weight in part.items()}

    def _asked(
        self, encoded: EncodedQuestions, questions: Sequence[int], num_triples: Sequence[int]
    ) -> tuple[Grown, GrowInputs, list[Asked], Tensor | None, list[Ints]]:
        inputs = encoded.inputs(questions, supervised=self.training and self.options.graph_supervision)
        grown = self.retriever(inputs)
        tokens = None
        if self.options.token:
            mask = mask_of(grown, self.retriever.options.temperature, is_sampled=self.training)
            tokens = self.bridge(grown, inputs, mask)
        given = given_triples(grown, encoded, questions, num_triples)
        asked = [self.asked_of(encoded, question, rows) for question, rows in zip(questions, given, strict=True)]
        return grown, inputs, asked, tokens, given

    def asked_of(self, encoded: EncodedQuestions, question: int, rows: Ints) -> Asked:
        """Return a question with what its reader is given."""
        graphs = encoded.graphs
        passage, nodes = passage_of(encoded, question, rows)
        is_answer = graphs.is_answer[graphs.nodes_of(question)]
        wanted = self._wanted.get(graphs.texts.ids[question])
        if wanted is None:
            texts = graphs.text_of[graphs.nodes_of(question)][is_answer].tolist()
            wanted = Wanted(tuple(dict.fromkeys(graphs.texts.entities[place] for place in texts if place >= 0)))
        return Asked(passage, tuple(graphs.is_answer[nodes].tolist()), int(is_answer.sum()), wanted)


def given_triples(
    grown: Grown, encoded: EncodedQuestions, questions: Sequence[int], num_triples: Sequence[int]
) -> list[Ints]:
    """Return the rows of the triples that the reader is given of each question: the most probable that were seen."""
    probabilities = grown.probabilities.detach().cpu().numpy()
    seen = grown.is_seen.cpu().numpy()
    given: list[Ints] = []
    start = 0
    for question, number in zip(questions, num_triples, strict=True):
        span = encoded.graphs.triples_of(question)
        after = start + span.stop - span.start
        rows = np.flatnonzero(seen[start:after])
        best = rows[np.argsort(-probabilities[start:after][rows], kind="stable")[:number]]
        given.append(best + span.start)
        start = after
    return given


def passage_of(encoded: EncodedQuestions, question: int, rows: Ints) -> tuple[Passage, Ints]:
    """Return what is read of a question, and the node of each candidate: the named ends of the triples, no topics."""
    graphs = encoded.graphs
    texts = graphs.texts
    nodes = np.unique(np.concatenate([graphs.heads[rows], graphs.tails[rows]]))
    names = tuple(texts.entities[place] if place >= 0 else None for place in graphs.text_of[nodes].tolist())
    heads, tails = (np.searchsorted(nodes, ends[rows]).tolist() for ends in (graphs.heads, graphs.tails))
    relations = [texts.relations[place] for place in graphs.relation_of[rows].tolist()]
    may = [place for place, name in enumerate(names) if name is not None and not graphs.is_topic[nodes[place]]]
    triples = tuple(zip(heads, relations, tails, strict=True))
    return Passage(texts.questions[question], names, triples, tuple(may)), nodes[may]
