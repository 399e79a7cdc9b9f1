"""What every format of question sets is to the reading."""

from __future__ import annotations

from typing import Protocol, TypeVar

from ...engine.questions.gold import GoldQuestion

ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
"""What one question is written as: `QuestionFields` or a `Line`."""


class QuestionFormat(Protocol[ItemT_contra]):
    """One format: how a question is written in it, how that is told from others, and what it says."""

    @property
    def shape(self) -> str:
        """What a question looks like in it, as it may stand in a message."""
        ...

    def recognises(self, item: ItemT_contra) -> bool:
        """Return whether the first question of a file tells that the file is of this format."""
        ...

    def question(self, item: ItemT_contra) -> GoldQuestion:
        """Return the question, its id empty where the set gives none; raise `InputError` with its place."""
        ...
