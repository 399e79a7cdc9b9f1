"""Ids of questions: there for each, and distinct in their set."""

from __future__ import annotations


class QuestionIds:
    """Gives ids in the order of the set: to a question without one the set's name and its number in the file.

    A later question of the same id has `#2`, `#3` and so on after it.
    """

    def __init__(self, set_name: str) -> None:
        self._set_name = set_name
        self._times: dict[str, int] = {}

    def id_of(self, given: str, number: int) -> str:
        """Return the id of the next question, which was given this one, or none, and stands at this place."""
        own = given.strip() or f"{self._set_name}:{number}"
        free = own
        while free in self._times:
            self._times[own] += 1
            free = f"{own}#{self._times[own]}"
        self._times[free] = 1
        return free
