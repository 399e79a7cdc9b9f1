"""Tokens of BERT, RoBERTa and SentencePiece joined into words, with nothing of their weights lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.explaining import join_tokens

BERT = ["which", "curr", "##en", "##cy", "is", "used", "?", "[END]"]
ROBERTA = ["Which", "Ġcurr", "ency", "Ġis", "Ġused", "Ġin", "ĠPer", "Ãº", "?", "[END]"]
SENTENCEPIECE = ["▁Which", "▁curr", "ency", "?", "▁Perú", "[END]"]
TOKENS = st.lists(st.tuples(st.sampled_from([*BERT, *ROBERTA, *SENTENCEPIECE, "Ġ", "Ã"]), st.floats(0, 1)), max_size=12)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (BERT, ["which", "currency", "is", "used", "?", "[END]"]),
        (ROBERTA, ["Which", "currency", "is", "used", "in", "PerÃº?", "[END]"]),
        (SENTENCEPIECE, ["Which", "currency?", "Perú", "[END]"]),
    ],
)
def test_pieces_are_joined(tokens: list[str], words: list[str]) -> None:
    assert [word.text for word in join_tokens([(token, 0.1) for token in tokens])] == words


@settings(max_examples=50)
@given(tokens=TOKENS)
def test_no_weight_is_lost(tokens: list[tuple[str, float]]) -> None:
    words = join_tokens(tokens)
    assert sum(word.weight for word in words) == pytest.approx(sum(weight for _, weight in tokens))
    assert all(word.text for word in words)
