"""Decide which of several read-only copies of a graph is asked next: in turn, without those that are gone or behind.

Neo4j Community has no cluster, so its copies know nothing of each other: `lodestar db copy` makes one. A copy is looked
at before it is asked, at most every `LOOK_S`; one that is left out is tried again after `REST_S`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neo4j import exceptions as driver_errors

from ..errors import DatabaseUnavailableError, UsageError
from .catalogue import Edition
from .connection import Connection

LOOK_S = 5.0
REST_S = 15.0
GONE = (driver_errors.ServiceUnavailable, driver_errors.SessionExpired, driver_errors.DatabaseUnavailable, OSError)
"""What a copy that cannot be asked now makes the driver raise."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Copy:
    where: str
    looked_s: float = float("-inf")
    rests_until_s: float = float("-inf")
    why: str = ""


class ReplicaPool:
    """The copies of a connection, by number. Thread-safe; a connection with one address has one that is never left out.

    clock: seconds that only grow.
    """

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.monotonic) -> None:
        self._copies = [_Copy(uri.partition("?")[0]) for uri in connection.uris]
        self._clock = clock
        self._turn = threading.Lock()
        self._next = 0
        self._newest: tuple[str, int] = ("", 0)

    def check_writable(self) -> None:
        """Raise `UsageError` if there are several copies."""
        if len(self._copies) > 1:
            raise UsageError(
                f"--uri names {len(self._copies)} copies, which are only read: name one address to change its graph, "
                "then make the others anew"
            )

    def turns(self) -> Iterator[int]:
        """Yield the copies to try for one request, beginning with the next in turn."""
        num = len(self._copies)
        with self._turn:
            first, self._next = self._next, (self._next + 1) % num
        for number in ((first + offset) % num for offset in range(num)):
            if self._copies[number].rests_until_s <= self._clock():
                yield number

    def make_error(self) -> DatabaseUnavailableError:
        """Return the error for a request that no copy could be asked."""
        left_out = "; ".join(f"{copy.where} {copy.why}" for copy in self._copies)
        return DatabaseUnavailableError(f"no copy of the graph can be asked: {left_out}")

    def is_due(self, number: int) -> bool:
        """Return whether a copy has to be looked at before it is asked."""
        return len(self._copies) > 1 and self._clock() - self._copies[number].looked_s >= LOOK_S

    def is_current(self, number: int, edition: Edition) -> bool:
        """Note the edition of a copy that was looked at; leave it out if another has a newer one."""
        age = _age(edition)
        with self._turn:
            copy = self._copies[number]
            copy.looked_s = self._clock()
            if age > self._newest:
                self._newest = age
                for other in self._copies:
                    if other is not copy:
                        other.looked_s = float("-inf")
            current = age == self._newest
            if current and copy.why:
                _log.warning("%s answers again", copy.where)
                copy.why = ""
        if not current:
            self.leave_out(number, "is behind: its graph is older than another copy's")
        return current

    def leave_out(self, number: int, why: str) -> None:
        """Leave a copy out for a while, and look at it before it is asked again."""
        copy = self._copies[number]
        with self._turn:
            if copy.why != why:
                _log.warning("%s %s: left out, tried again every %g s", copy.where, why, REST_S)
            copy.why, copy.rests_until_s, copy.looked_s = why, self._clock() + REST_S, float("-inf")

    def leave_out_gone(self, number: int, error: Exception) -> None:
        """Leave out a copy that raised one of `GONE`; raise the error if it is the only copy."""
        if len(self._copies) == 1:
            raise error
        self.leave_out(number, "does not answer")


def _age(edition: Edition) -> tuple[str, int]:
    """Return what grows with each change of a graph: the last time of a load or a description, and small changes."""
    _, started, finished, _, described, num_changes = edition
    return max(filter(None, (started, finished, described)), default=""), num_changes
