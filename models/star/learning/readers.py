"""How a network reads the candidates of questions: the cross-attentive scorer each with its question, the dual encoder
questions and paths apart. What learns from pools of candidates is the same for both (STAR's ablation)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor, nn

from ..inputs.batches import cross_batch, dual_batch, path_words
from ..inputs.examples import Candidates, Example, ExampleSet
from ..inputs.texts import Texts
from ..networks.backbone import device_of

Asked = Sequence[tuple[Example, Candidates]]
"""Examples of one file, each with some of its candidates."""


class Reader(Protocol):
    """Reads candidates with a network."""

    def logits(self, network: nn.Module, texts: Texts, examples: ExampleSet, asked: Asked) -> Tensor:
        """Return the logits of all candidates, one example after the other, (num_candidates,)."""
        ...

    def score(self, logits: Tensor, temperature: float) -> Tensor:
        """Return the score s of STAR's contrastive loss, whose s / τ is taken to the power of e, (num_candidates,)."""
        ...


class CrossReader:
    """Reads question and path together; s is the sigmoid of the logit."""

    def logits(self, network: nn.Module, texts: Texts, examples: ExampleSet, asked: Asked) -> Tensor:
        """Return the logits of all candidates, (num_candidates,)."""
        pairs = [pair for example, candidates in asked for pair in pairs_of(examples, example, candidates)]
        found: Tensor = network(cross_batch(texts, pairs).to(device_of(network)))
        return found

    def score(self, logits: Tensor, temperature: float) -> Tensor:  # noqa: ARG002 - it is the same at each
        """Return σ(logit)."""
        return logits.sigmoid()


class DualReader:
    """Reads question and path apart; s is the stop score times τ: the network has a scale of its own."""

    def logits(self, network: nn.Module, texts: Texts, examples: ExampleSet, asked: Asked) -> Tensor:
        """Return the stop scores of all candidates, (num_candidates,)."""
        some, candidates = zip(*asked, strict=True)
        stop, extend = network(dual_batch(texts, examples.table, some, candidates).to(device_of(network)))
        found: Tensor = stop + 0.0 * extend  # every output takes part: ranks could not be joined without
        return found

    def score(self, logits: Tensor, temperature: float) -> Tensor:
        """Return the logits times τ."""
        return logits * temperature


def pairs_of(examples: ExampleSet, example: Example, candidates: Candidates) -> list[tuple[str, str]]:
    """Return the question with the words of each path."""
    return [
        (example.text, path_words(example.mentions[topic], examples.table.path_hops(path)))
        for path, topic in zip(candidates.paths.tolist(), candidates.topics.tolist(), strict=True)
    ]
