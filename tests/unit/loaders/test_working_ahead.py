"""Work done ahead: in order, as far ahead as was asked, and with its failures."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from lodestar.loaders.plain_lines.working_ahead import mapped_ahead


@pytest.mark.parametrize("ahead", [0, 1, 3, 50])
def test_results_come_in_order_and_no_further_ahead_than_asked(ahead: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            taken.append(item)
            yield item

    with ThreadPoolExecutor(2) as pool:
        for i, result in enumerate(mapped_ahead(pool, lambda item: item * item, items(), ahead)):
            assert result == i * i
            assert len(taken) == min(i + 1 + ahead, 20)
    assert len(taken) == 20


def test_a_failure_comes_in_the_place_of_its_result() -> None:
    with ThreadPoolExecutor(2) as pool:
        results = mapped_ahead(pool, lambda item: 1 // item, [2, 1, 0, 1], 2)
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ZeroDivisionError):
            next(results)


def test_a_failure_of_the_items_comes_after_what_was_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    with ThreadPoolExecutor(1) as pool:
        results = mapped_ahead(pool, str, items(), 0)
        assert next(results) == "1"
        with pytest.raises(OSError, match="gone"):
            next(results)
