"""Laws of training data and of scoring, for whatever data there is."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.models.mined_files import (
    AnswerPath,
    MinedFileError,
    MinedFileOrigin,
    MinedQuestion,
    MinedTopic,
    NegativePath,
    PathTrie,
    is_mined_file,
    read_mined_file,
    write_mined_file,
)

from tests.conftest import examples

RELATIONS = {"a": ("", "alpha"), "b.c": ("b", "see"), "d|e": ("d", "e", "f"), "é_ü": ("é", "ü")}
STEPS = st.sampled_from([f"{sign}{name}" for name in RELATIONS for sign in ("", "^")])
HOP = st.one_of(STEPS, st.tuples(STEPS, STEPS).map(" → ".join))
HOPS = st.lists(HOP, min_size=1, max_size=3).map(tuple)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SHARE = st.floats(0, 1)


def trie(paths: list[tuple[str, ...]]) -> PathTrie:
    root: dict[str, dict] = {}
    for path in paths:
        node = root
        for hop in path:
            node = node.setdefault(hop, {})
    return root


@st.composite
def questions(draw: st.DrawFn) -> MinedQuestion:
    topics = draw(st.lists(st.builds(MinedTopic, TEXT, TEXT), min_size=1, max_size=2))
    topic = st.integers(0, len(topics) - 1)
    return MinedQuestion(
        id=draw(TEXT),
        text=draw(TEXT),
        topics=tuple(topics),
        paths=tuple(
            draw(st.lists(st.builds(AnswerPath, topic, HOPS, SHARE, SHARE, SHARE, *[st.booleans()] * 3), max_size=3))
        ),
        negatives=tuple(draw(st.lists(st.builds(NegativePath, topic, HOPS, TEXT), max_size=3))),
        reach=tuple(trie(draw(st.lists(HOPS, min_size=1, max_size=4))) for _ in topics),
    )


MINING = st.builds(
    MinedFileOrigin,
    questions=TEXT,
    questions_sha256=TEXT,
    graph=TEXT,
    encoder=TEXT,
    max_hop=st.integers(3, 8),
    relations=st.just(RELATIONS),
    options=st.dictionaries(TEXT, st.integers() | TEXT),
)


@settings(max_examples=examples(50))
@given(mining=MINING, many=st.lists(questions(), max_size=4), packed=st.booleans())
def test_what_is_written_is_read(mining: MinedFileOrigin, many: list[MinedQuestion], packed: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("mined.jsonl.gz" if packed else "mined.jsonl")
        write_mined_file(path, mining, many)
        found = read_mined_file(path)
        assert is_mined_file(path)
        assert [each.name for each in Path(folder).iterdir()] == [path.name]
    assert found.header == mining
    assert found.questions == tuple(many)


@settings(max_examples=examples(50))
@given(
    many=st.lists(questions(), min_size=1, max_size=3), place=st.floats(0, 1), packed=st.booleans(), cut=st.booleans()
)
def test_a_damaged_file_is_refused_or_read_and_never_anything_else(
    many: list[MinedQuestion], place: float, packed: bool, cut: bool
) -> None:
    mining = MinedFileOrigin("some", "1", "2", "3", 2, RELATIONS, counts={"questions": len(many)})
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("mined.jsonl.gz" if packed else "mined.jsonl")
        write_mined_file(path, mining, many)
        content = bytearray(path.read_bytes())
        at = min(int(place * len(content)), len(content) - 2)
        path.write_bytes(content[:at] if cut else content[:at] + bytes([content[at] ^ 0x15]) + content[at + 1 :])
        is_mined_file(path)
        if cut:
            with pytest.raises(MinedFileError, match=f"^{path}") as caught:
                read_mined_file(path)
            assert "\n" not in str(caught.value)
        else:
            try:
                read_mined_file(path)
            except MinedFileError as error:
                assert "\n" not in str(error)
