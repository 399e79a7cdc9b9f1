"""Decode relation paths step by step: ReG@Path.

P(path | question) = Π P(relation | question, relations before) · P(END | question, path), as in ReG@Path's language
model (appendix D.3). Ours, in place of the language model: the question is its encoder vector; a token is a relation
with its direction, represented by the vector of its words, so that unseen relations have a probability, too.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..text.vectors import TextVectors
from ..text.verbalise import DirectedRelation, RelationWords, verbalise_hop
from .config import PathDescription

INVERSE = "^"


@dataclass(frozen=True, slots=True)
class RelationTokens:
    """texts: of each token. tokens: by relation and direction; ``^`` marks an inverse step (tail to head)."""

    texts: tuple[str, ...]
    tokens: Mapping[str, int] = field(repr=False)

    @classmethod
    def of(cls, words: Mapping[str, RelationWords], num_phrases: int = 0) -> RelationTokens:
        """Return the tokens of relations by name; num_phrases: see `verbalise_hop`."""
        steps = {f"{INVERSE * inverse}{name}": (name, bool(inverse)) for name in words for inverse in (0, 1)}
        texts = (
            verbalise_hop((DirectedRelation(words[name], inverse),), num_phrases) for name, inverse in steps.values()
        )
        return cls(
            tuple(
                f"{text} backwards" if inverse else text
                for text, (_, inverse) in zip(texts, steps.values(), strict=True)
            ),
            {step: token for token, step in enumerate(steps)},
        )

    def encode_paths(self, paths: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
        """Return paths as tokens, (num_paths, max_length); raise `KeyError` for an unknown relation."""
        found = np.full((len(paths), max(map(len, paths), default=0)), NO_TOKEN)
        for row, path in zip(found, paths, strict=True):
            row[: len(path)] = [self.tokens[step] for step in path]
        return found

    def knows(self, path: Sequence[str]) -> bool:
        """Whether all relations of a path are known."""
        return all(step in self.tokens for step in path)


NO_TOKEN = -1


class PathDecoder(nn.Module):
    """dimension: of the text vectors. hidden: units of the recurrent state."""

    def __init__(self, dimension: int, hidden: int) -> None:
        super().__init__()
        self.of_question = nn.Linear(dimension, hidden)
        self.of_token = nn.Linear(dimension, hidden)
        self.cell = nn.GRUCell(2 * hidden, hidden)
        self.start = nn.Parameter(torch.zeros(hidden))
        self.to_token = nn.Linear(dimension, hidden)
        self.end = nn.Parameter(torch.zeros(hidden))
        self.state_out = nn.Linear(2 * hidden, hidden)

    def forward(self, questions: Tensor, tokens: Tensor, paths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each path as a prefix, and as a whole path, (num_paths,) each.

        questions: (num_paths, dimension). tokens: (num_tokens, dimension), of each relation and direction. paths:
        (num_paths, max_length) tokens, `NO_TOKEN` after a path's end.
        """
        asked = torch.relu(self.of_question(questions))
        read = self.of_token(tokens)
        written = torch.cat([self.to_token(tokens), self.end[None]])
        state = asked.new_zeros(len(paths), self.cell.hidden_size)
        before = self.start.expand(len(paths), -1)
        prefix = asked.new_zeros(len(paths))
        ended = asked.new_zeros(len(paths))
        lengths = (paths != NO_TOKEN).sum(1)
        for place in range(paths.shape[1] + 1):
            state = self.cell(torch.cat([before, asked], dim=1), state)
            logits = torch.relu(self.state_out(torch.cat([state, asked], dim=1))) @ written.T
            log_probabilities = logits.log_softmax(dim=1)
            ended = torch.where(lengths == place, log_probabilities[:, -1], ended)
            if place < paths.shape[1]:
                token = paths[:, place].clamp(min=0)
                chosen = log_probabilities.gather(1, token[:, None]).squeeze(1)
                prefix = prefix + torch.where(paths[:, place] != NO_TOKEN, chosen, 0.0)
                before = read[token]
        return prefix, prefix + ended


Floats = npt.NDArray[np.float32]
AT_A_TIME = 512
"""Paths per block; each has a probability for every token."""


class PathModel:
    """Scores paths over a graph's relations. Threads take turns; `vectors` must come from its training's encoder."""

    def __init__(self, description: PathDescription, network: PathDecoder, vectors: TextVectors) -> None:
        self.description = description
        self.vectors = vectors
        self._network = network
        self._turn = threading.RLock()

    def tokens(self, vocabulary: RelationTokens) -> Tensor:
        """Return the vectors of a vocabulary, (num_tokens, dimension)."""
        return self._encode(vocabulary.texts)

    def score(self, questions: Sequence[str], paths: npt.NDArray[np.int64], tokens: Tensor) -> tuple[Floats, Floats]:
        """Return the log-probability of each path as a prefix, and as a whole path.

        questions: the masked question of each path. paths: (num_paths, max_length), see `RelationTokens.encode_paths`.
        """
        if not len(paths):
            return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32)
        texts = list(dict.fromkeys(questions))
        row = {text: place for place, text in enumerate(texts)}
        with self._turn, torch.no_grad():
            encoded = self._encode(texts)
            asked = torch.tensor([row[text] for text in questions]).to(tokens.device)
            written = torch.from_numpy(paths).to(tokens.device)
            found = [
                self._network(encoded[asked[at : at + AT_A_TIME]], tokens, written[at : at + AT_A_TIME])
                for at in range(0, len(paths), AT_A_TIME)
            ]
        prefix, whole = (torch.cat(parts).float().cpu().numpy() for parts in zip(*found, strict=True))
        return prefix, whole

    def _encode(self, texts: Sequence[str]) -> Tensor:
        self.vectors.encode(texts)
        stacked = np.stack([self.vectors.sentence(text) for text in texts])
        return torch.from_numpy(stacked).to(self._network.start.device)
