"""Tokens of BERT, RoBERTa and SentencePiece joined into words, with nothing of their weights lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.show.explanation import Spelling, detect_subword_marker, join_tokens

from tests.made.tiny_checkpoint import tiny_backbone

BERT = ["which", "curr", "##en", "##cy", "is", "used", "?", "[END]"]
ROBERTA = ["Which", "Ġcurr", "ency", "Ġis", "Ġused", "Ġin", "ĠPer", "Ãº", "?", "[END]"]
SENTENCEPIECE = ["▁Which", "▁curr", "ency", "?", "▁", "Perú", "[END]"]
TOKENS = st.lists(st.tuples(st.sampled_from([*BERT, *ROBERTA, *SENTENCEPIECE, "Ġ", "Ã"]), st.floats(0, 1)), max_size=12)
TOKENIZER = tiny_backbone().tokenizer


def joined(tokens: Sequence[str]) -> list[str]:
    return [word.text for word in join_tokens([(token, 0.1) for token in tokens], detect_subword_marker(tokens))]


def test_pieces_of_bert_are_joined() -> None:
    assert joined(BERT) == ["which", "currency", "is", "used", "?", "[END]"]


def test_pieces_of_roberta_are_joined() -> None:
    assert joined(ROBERTA) == ["Which", "currency", "is", "used", "in", "PerÃº", "?", "[END]"]


def test_pieces_of_sentencepiece_are_joined() -> None:
    assert joined(SENTENCEPIECE) == ["Which", "currency", "?", "Perú", "[END]"]


@settings(max_examples=50)
@given(tokens=TOKENS, spelling=st.sampled_from(["##", "Ġ", "▁"]))
def test_no_weight_is_lost(tokens: list[tuple[str, float]], spelling: Spelling) -> None:
    words = join_tokens(tokens, spelling)
    assert sum(word.weight for word in words) == pytest.approx(sum(weight for _, weight in tokens))
    assert all(word.text for word in words)


@settings(max_examples=50)
@given(st.lists(st.text("abcxyz0", min_size=1, max_size=9), min_size=1, max_size=5))
def test_what_a_tokenizer_takes_apart_is_put_together(texts: list[str]) -> None:
    ids = TOKENIZER(" ".join(texts), add_special_tokens=False)["input_ids"]
    assert joined(list(TOKENIZER.convert_ids_to_tokens(ids))) == texts
