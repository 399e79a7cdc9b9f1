"""Which copy of a graph is asked next: in turn, without those that are gone or behind, which are tried again."""

from __future__ import annotations

import logging

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.neo4j.catalogue import Edition
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.copies import LOOK_S, REST_S, ReplicaPool
from lodestar.engine.settings import resolve

OLD: Edition = (1, "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z", 7, None, 0)
CHANGED: Edition = (*OLD[:5], 1)
LOADED: Edition = (2, "2026-01-02T10:00:00Z", OLD[2], 9, None, 0)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def copies_of(clock: Clock, num: int = 3) -> ReplicaPool:
    first, *others = (f"bolt://c{number}:7687" for number in range(num))
    return ReplicaPool(Connection(first, copies=tuple(others)), clock)


def test_each_request_begins_with_the_next(clock: Clock) -> None:
    copies = copies_of(clock)
    assert [list(copies.turns()) for _ in range(4)] == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]


def test_one_that_is_gone_is_left_out_and_tried_again(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    copies = copies_of(clock)
    assert copies.is_current(1, OLD)
    assert not copies.is_due(1)
    for _ in range(2):
        copies.leave_out_gone(1, OSError("refused"))
    assert {tuple(copies.turns()) for _ in range(3)} == {(0, 2), (2, 0)}
    clock.now_s += REST_S
    assert list(copies.turns()) == [0, 1, 2]
    assert copies.is_due(1)
    assert copies.is_current(1, OLD)
    assert [record.message for record in caplog.records] == [
        f"bolt://c1:7687 does not answer: left out, tried again every {REST_S:g} s",
        "bolt://c1:7687 answers again",
    ]
    assert all(record.levelno == logging.WARNING for record in caplog.records)


@pytest.mark.parametrize("newer", [CHANGED, LOADED])
def test_one_with_an_older_graph_is_left_out_until_it_has_the_same(clock: Clock, newer: Edition) -> None:
    copies = copies_of(clock)
    assert copies.is_current(0, OLD)
    assert copies.is_current(1, newer)
    assert copies.is_due(0), "what was current before the newer one is looked at again"
    assert not copies.is_current(0, OLD)
    assert list(copies.turns()) == [1, 2]
    clock.now_s += REST_S
    assert copies.is_current(0, newer)
    assert 0 in copies.turns()


def test_a_copy_is_looked_at_again_after_a_while(clock: Clock) -> None:
    copies = copies_of(clock)
    assert copies.is_due(0)
    copies.is_current(0, OLD)
    assert not copies.is_due(0)
    clock.now_s += LOOK_S
    assert copies.is_due(0)


def test_when_none_is_left_the_error_says_why(clock: Clock) -> None:
    copies = copies_of(clock, 2)
    copies.is_current(1, LOADED)
    copies.is_current(0, OLD)
    copies.leave_out_gone(1, OSError("refused"))
    assert list(copies.turns()) == []
    said = str(copies.make_error())
    assert "bolt://c0:7687 is behind" in said
    assert "bolt://c1:7687 does not answer" in said


def test_an_only_server_is_never_left_out(clock: Clock) -> None:
    copies = copies_of(clock, 1)
    assert not copies.is_due(0)
    with pytest.raises(OSError, match="refused"):
        copies.leave_out_gone(0, OSError("refused"))
    assert list(copies.turns()) == [0]
    copies.check_writable()


def test_several_are_only_read(clock: Clock) -> None:
    with pytest.raises(UsageError, match="names 3 copies, which are only read"):
        copies_of(clock).check_writable()


def test_addresses_are_parted_by_commas_and_each_is_checked() -> None:
    settings = resolve({}, {"LODESTAR_URI": "bolt://a:7687, bolt://b:7687"})
    assert settings.uris == ("bolt://a:7687", "bolt://b:7687")
    with pytest.raises(UsageError, match="database address"):
        resolve({"uri": "bolt://a:7687,b:7687"}, {})
