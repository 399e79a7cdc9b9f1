"""The values: for each path of a question what the trained scorer attended to, word by word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..evidence.chain import Chain
from ..values import Question


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the scorer read it; `weight` is the sum of its tokens' weights, `tokens` are as in the vocabulary."""

    text: str
    weight: float
    tokens: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ExplainedPath:
    """A chain with what was attended to. The weights of `question` add up to 1, and so do those of `words`.

    score: what the search ranks by. cross_score: s(q, p) of the cross-attentive scorer, in 0 to 1; None where there is
    none. question: what `[QSP]` attends to, or what the score loses without each word. words: what `[PSP]` attends to,
    in the words of the path, or what its likeness to the question loses.
    """

    path: Chain
    score: float
    cross_score: float | None
    question: tuple[Word, ...]
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The best paths of a question, best first; `paths` is empty where none was found, and `note` may say why."""

    question: Question
    paths: tuple[ExplainedPath, ...]
    note: str = ""

    @property
    def labels(self) -> tuple[str, str]:
        """What the weights of the question's and of the path's words are called: by attention, else by occlusion."""
        has_attention = all(path.cross_score is not None for path in self.paths)
        return ("[QSP]", "[PSP]") if has_attention else ("question", "path")

    @property
    def most_of_question(self) -> float:
        """The largest weight of a word of the question, over all paths: what is shaded darkest."""
        return _most(word for path in self.paths for word in path.question)

    @property
    def most_of_path(self) -> float:
        """The same of the words of the paths."""
        return _most(word for path in self.paths for word in path.words)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from .page import explanation_page, in_notebook

        return in_notebook(explanation_page(self))


def percent(weight: float) -> str:
    """Return a weight as a whole number of per cent, without the sign."""
    return f"{100 * weight:.0f}"


def _most(words: Iterable[Word]) -> float:
    return max((word.weight for word in words), default=0.0) or 1.0
