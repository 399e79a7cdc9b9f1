"""Whatever bytes a file, a setting or a reply has: it is read, or refused in one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lodestar.engine.answering.llm import parse_reply
from lodestar.engine.errors import InputError, LLMError
from lodestar.engine.llm import Prompt
from lodestar.engine.llm.endpoint import parse_completion
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.triples import CsvSource, TsvSource
from lodestar.models.kinds import BadCheckpointError, load_description, read_weights, translate_read_errors
from lodestar.models.star import StarDescription

from tests.conftest import examples
from tests.made.tiny_checkpoint import write_tiny_checkpoint
from tests.references.read_source import read_source

BODY = b'{"choices":[{"message":{"content":"{\\"answers\\":[\\"Lima\\"]}"}}],"usage":{"total_tokens":3}}'
GRAPHML = b'<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b" label="r"/></graph></graphml>'

damage = st.tuples(
    st.floats(0, 1), st.integers(0, 30), st.binary(max_size=20) | st.sampled_from([b"-1", b"NaN", b"{}"])
)
many = settings(
    max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
Damage = tuple[float, int, bytes]


def damaged(good: bytes, how: Damage) -> bytes:
    """Replace some bytes at a place by others."""
    place = int(how[0] * len(good))
    return good[:place] + how[2] + good[place + how[1] :]


def in_one_line(read: Callable[[], object], *errors: type[Exception]) -> None:
    try:
        read()
    except errors as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 600


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@many
@given(how=damage)
def test_a_checkpoint(checkpoint: Path, tmp_path: Path, how: Damage) -> None:
    (tmp_path / "star.json").write_bytes(damaged((checkpoint / "star.json").read_bytes(), how))
    weights = next(checkpoint.rglob("*.safetensors")).read_bytes()
    (tmp_path / "model.safetensors").write_bytes(damaged(weights, how))

    def read_description() -> None:
        found, _ = load_description(tmp_path, StarDescription)
        assert all(map(math.isfinite, found.calibration))

    def read_network() -> None:
        with translate_read_errors(tmp_path):
            assert all(tensor.isfinite().all() for tensor in read_weights(tmp_path).values())

    in_one_line(read_description, BadCheckpointError)
    in_one_line(read_network, BadCheckpointError)


@settings(many, max_examples=examples(6))
@given(how=damage)
def test_a_file_of_a_graph(tmp_path: Path, how: Damage) -> None:
    path = tmp_path / "kg"
    for good, source in (
        (GRAPHML, source_class("graphml")),
        (b"a\tr\tb\n" * 9, TsvSource),
        (b'"a","r","b"\n' * 9, CsvSource),
    ):
        path.write_bytes(damaged(good, how))
        in_one_line(lambda source=source: read_source(source(str(path))), InputError)
        in_one_line(lambda: detect_format(str(path)), InputError)


@many
@given(how=damage, text=st.text(max_size=60))
def test_a_reply(how: Damage, text: str) -> None:
    in_one_line(lambda: parse_completion(damaged(BODY, how), Prompt("q"), "m", "the model"), LLMError)
    in_one_line(lambda: parse_reply(text), LLMError)
    in_one_line(
        lambda: parse_reply(damaged(b'{"answers": [{"name": "Lima"}]}', how).decode("utf-8", "replace")), LLMError
    )
