"""A function over parts: in order or as they finish, its errors, what each process opens, and what `--ray` needs."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from lodestar.engine.errors import MissingExtraError, UsageError
from lodestar.engine.parallel import PerProcess, Workers

opened: list[int] = []


@contextmanager
def open_one(number: int) -> Iterator[int]:
    opened.append(number)
    yield number
    opened.append(-number)


def add(base: PerProcess[int], part: int) -> int:
    return base.value + part


@pytest.mark.parametrize("num", [0, 1, 3])
def test_results_are_in_the_order_of_the_parts(num: int) -> None:
    last_is_done = threading.Event()

    def work(part: int) -> int:
        if part == 4:
            last_is_done.set()
        elif part == 0 and num == 3:
            assert last_is_done.wait(30)
        return part * part

    assert list(Workers(num).map(work, range(5))) == [0, 1, 4, 9, 16]


def test_results_come_as_they_are_finished() -> None:
    second_is_told = threading.Event()

    def work(part: int) -> int:
        assert part or second_is_told.wait(30)
        return part

    results = Workers(2).map(work, [0, 1], ordered=False)
    assert next(results) == 1
    second_is_told.set()
    assert list(results) == [0]


@pytest.mark.parametrize("num", [1, 2])
def test_an_error_ends_it_and_waiting_parts_are_left_undone(num: int) -> None:
    begun: list[int] = []

    def work(part: int) -> int:
        begun.append(part)
        raise UsageError(f"part {part}")

    with pytest.raises(UsageError, match="part 0"):
        list(Workers(num).map(work, range(1_000)))
    assert len(begun) < 1_000


def test_each_process_opens_its_own_and_closes_it() -> None:
    opened.clear()
    with PerProcess(partial(open_one, 5)) as base:
        assert list(Workers(4).map(partial(add, base), range(20))) == list(range(5, 25))
        assert opened == [5]
        copied = pickle.loads(pickle.dumps(partial(add, base)))
        assert opened == [5]
        assert copied(1) == 6
        assert opened == [5, 5]
    assert opened == [5, 5, -5]


def test_a_missing_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.errors._is_installed", lambda name: name != "ray")
    with pytest.raises(MissingExtraError, match=r"--ray needs ray.* install .*\[ray\]"):
        next(Workers(ray="local").map(abs, [1]))


def test_no_cluster_at_the_address_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.errors._is_installed", lambda _: True)
    with pytest.raises(UsageError, match=r"^--ray 127\.0\.0\.1:1: no Ray of this version answers there: .*refused$"):
        next(Workers(ray="127.0.0.1:1").map(abs, [1]))
