"""Texts are sent to the database in requests of a bounded size."""

from __future__ import annotations

import pytest
from lodestar.engine.neo4j import split_into_requests


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["a", "b", "c"], [["a", "b"], ["c"]]),
        (["a" * 9, "bb", "c"], [["a" * 9], ["bb", "c"]]),
        (["a", "b" * 11, "c"], [["a"], ["b" * 11], ["c"]]),
        (["a" * 5, "b" * 5, "c"], [["a" * 5, "b" * 5], ["c"]]),
    ],
)
def test_a_request_has_so_many_texts_and_so_many_characters(texts: list[str], expected: list[list[str]]) -> None:
    assert list(split_into_requests(texts, 2, len, 10)) == expected
