"""One question as a line of text has it."""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.errors import InputError
from ..message_text import shown


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; `where` is its place for messages, `path` that of its file."""

    text: str
    number: int
    where: str
    path: str

    @property
    def found(self) -> str:
        """As much of it as may stand in a message."""
        return shown(self.text)

    def fault(self, expected: str) -> InputError:
        """Return the error that says what was expected instead of this line."""
        return InputError(f"{self.where}: expected {expected}, found {self.found}: correct the line or remove it")
