"""The network of ReG@Path without a language model: a small decoder over a frozen encoder writes relations as tokens.

P(path | question) = Π P(relation | question, relations before) · P(END | question, path), as ReG@Path's language model
has it (appendix D.3). Our own in its place: a question is the encoder's vector of it, a token is a relation in a
direction, known by the vector of its words, so that relations that were not learned from have a probability too.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

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
        """Return the log-probability of each path as the beginning of one, and of it as a whole one, (num_paths,) each.

        questions: (num_paths, dimension). tokens: (num_tokens, dimension), of each relation and direction. paths:
        (num_paths, max_length) tokens, `NO_TOKEN` after a path's end.
        """
        asked = torch.relu(self.of_question(questions))
        read = self.of_token(tokens)
        written = torch.cat([self.to_token(tokens), self.end[None]])
        state = asked.new_zeros(len(paths), self.cell.hidden_size)
        before = self.start.expand(len(paths), -1)
        begun = asked.new_zeros(len(paths))
        ended = asked.new_zeros(len(paths))
        lengths = (paths != NO_TOKEN).sum(1)
        for place in range(paths.shape[1] + 1):
            state = self.cell(torch.cat([before, asked], dim=1), state)
            logits = torch.relu(self.state_out(torch.cat([state, asked], dim=1))) @ written.T
            log_probabilities = logits.log_softmax(dim=1)
            ended = torch.where(lengths == place, log_probabilities[:, -1], ended)
            if place < paths.shape[1]:
                token = paths[:, place].clamp(min=0)
                said = log_probabilities.gather(1, token[:, None]).squeeze(1)
                begun = begun + torch.where(paths[:, place] != NO_TOKEN, said, 0.0)
                before = read[token]
        return begun, begun + ended
