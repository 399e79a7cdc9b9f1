"""The tokens of paths: each relation of a graph in each direction, with the words that an encoder gets to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...verbalise import Directed, RelationWords, verbalise_hop
from .network import NO_TOKEN

INVERSE = "^"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """texts: of each token. tokens: by relation as it is walked, ``^`` before one from tail to head."""

    texts: tuple[str, ...]
    tokens: Mapping[str, int] = field(repr=False)

    @classmethod
    def of(cls, words: Mapping[str, RelationWords]) -> Vocabulary:
        """Return the tokens of relations, by name."""
        steps = {f"{INVERSE * inverse}{name}": (name, bool(inverse)) for name in words for inverse in (0, 1)}
        texts = (verbalise_hop((Directed(words[name], inverse),)) for name, inverse in steps.values())
        return cls(
            tuple(
                f"{text} backwards" if inverse else text
                for text, (_, inverse) in zip(texts, steps.values(), strict=True)
            ),
            {step: token for token, step in enumerate(steps)},
        )

    def written(self, paths: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
        """Return paths as tokens, (num_paths, max_length); raise `KeyError` for a relation that there is not."""
        found = np.full((len(paths), max(map(len, paths), default=0)), NO_TOKEN, dtype=np.int64)
        for row, path in zip(found, paths, strict=True):
            row[: len(path)] = [self.tokens[step] for step in path]
        return found

    def knows(self, path: Sequence[str]) -> bool:
        """Whether all relations of a path are there."""
        return all(step in self.tokens for step in path)
