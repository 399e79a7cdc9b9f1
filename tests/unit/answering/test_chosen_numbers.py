"""What language models write when they choose chains by number."""

from __future__ import annotations

import pytest
from lodestar.engine.llm import read_numbers


@pytest.mark.parametrize(
    ("content", "chosen"),
    [
        ('{"chains": [1, 3], "why": "both"}', (0, 2)),
        ('```json\n{"chains": [3, 1, 3]}\n```', (0, 2)),
        ('<think>{"chains": [2]} or rather</think>\nSo: {"chains": [1]}.', (0,)),
        ('First I thought {"chains": [2]}, but it is {"chains": [4]}', (3,)),
        ('{"numbers": "1, 4"}', (0, 3)),
        ('{"selected": 2}', (1,)),
        ('{"chains": [{"number": 1, "why": "of 1990"}, {"id": "2"}]}', (0, 1)),
        ('{"chains": [2, 2.5, true, null, 99, 0, -1]}', (1,)),
        ("[1, 2]", (0, 1)),
        ("The chosen ones are [2].", (1,)),
    ],
)
def test_numbers_are_read(content: str, chosen: tuple[int, ...]) -> None:
    assert read_numbers(content, 4, in_list=True) == {place + 1 for place in chosen}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "None of them.",
        '{"chains": []}',
        '{"chains": [7]}',
        '{"why": "3 of them"}',
        "It was founded in 1990.",
        "[" * 9_999,
        '{"chains": ' + "[" * 600 + "]" * 600 + "}",
    ],
)
def test_a_reply_without_a_chain_chooses_none(content: str) -> None:
    assert not read_numbers(content, 4, in_list=True)
