"""Laws of training data and of scoring, for whatever data there is."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from lodestar.models.mined import (
    AnswerPath,
    MinedFileError,
    MinedFileOrigin,
    MinedQuestion,
    MinedTopic,
    NegativePath,
    PathTrie,
    is_mined,
    read_mined_file,
    write_mined_file,
)
from lodestar.models.star.network import mix_shortlist_scores
from lodestar.models.star.training import listwise_loss, path_weighted_contrastive_loss, path_weights

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
        assert is_mined(path)
        assert [each.name for each in Path(folder).iterdir()] == [path.name]
    assert found.mining == mining
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
        is_mined(path)
        if cut:
            with pytest.raises(MinedFileError, match=f"^{path}") as caught:
                read_mined_file(path)
            assert "\n" not in str(caught.value)
        else:
            try:
                read_mined_file(path)
            except MinedFileError as error:
                assert "\n" not in str(error)


SCORES = npst.arrays(np.float32, st.integers(1, 12), elements=st.floats(-50, 50, width=32))


@given(stop=SCORES, data=st.data(), mix=st.floats(0, 1))
def test_the_shortlist_stays_above_all_others(stop: np.ndarray, data: st.DataObject, mix: float) -> None:
    rows = np.argsort(-stop, kind="stable")[: data.draw(st.integers(1, len(stop)))]
    cross = data.draw(npst.arrays(np.float32, len(rows), elements=st.floats(-50, 50, width=32)))
    found = mix_shortlist_scores(stop, cross, rows, mix)
    rest = np.setdiff1d(np.arange(len(stop)), rows)
    assert found[rows] == pytest.approx((1 - mix) * stop[rows] + mix * cross, abs=1e-3)
    if len(rest):
        assert found[rest].max() < found[rows].min()
        assert np.ptp(found[rest] - stop[rest]) < 1e-4  # all move alike


PATHS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40)


@given(paths=PATHS, others=PATHS, bounds=st.tuples(SHARE, SHARE))
def test_rarer_paths_weigh_more_within_the_bounds(
    paths: list[str], others: list[str], bounds: tuple[float, float]
) -> None:
    least, most = sorted(bounds)
    assume(most - least > 1e-6)  # nearer ones round to the same weight
    weights, beside = path_weights(paths, others, least, most).values()
    assert (set(weights), set(beside)) == (set(paths), set(others))
    assert max(*weights.values(), *beside.values()) == pytest.approx(most)
    for one in weights:
        assert least - 1e-9 <= weights[one] <= most + 1e-9
        for other in weights:
            if paths.count(one) < paths.count(other):
                assert weights[one] > weights[other]


@given(scores=SCORES, data=st.data())
def test_losses_do_not_depend_on_the_order_and_are_not_negative(scores: np.ndarray, data: st.DataObject) -> None:
    positive = data.draw(npst.arrays(np.bool_, len(scores)))
    weights = data.draw(npst.arrays(np.float32, len(scores), elements=st.floats(0, 2, width=32)))
    order = np.array(data.draw(st.permutations(range(len(scores)))))
    given_scores, is_positive, weighed = (torch.from_numpy(each) for each in (scores, positive, weights))
    shares = is_positive / is_positive.sum().clamp(min=1)
    contrast = path_weighted_contrastive_loss(given_scores, is_positive, weighed, 0.5).item()
    assert contrast >= -1e-4
    again = path_weighted_contrastive_loss(given_scores[order], is_positive[order], weighed[order], 0.5).item()
    assert again == pytest.approx(contrast, rel=1e-3, abs=1e-3)
    cross_entropy = listwise_loss(given_scores, shares).item()
    assert cross_entropy >= -1e-4
    assert listwise_loss(given_scores[order], shares[order]).item() == pytest.approx(cross_entropy, rel=1e-3, abs=1e-3)
