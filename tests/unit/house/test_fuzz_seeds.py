"""What the fuzzer starts from, and what it found before, through its targets once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.places import ROOT

SEEDS = ROOT / "tests" / "fuzz" / "seeds"


@pytest.mark.parametrize("seed", sorted(path.relative_to(SEEDS) for path in SEEDS.glob("*/*")), ids=str)
def test_a_seed_holds(tmp_path: Path, seed: Path) -> None:
    TARGETS[seed.parts[0]]((SEEDS / seed).read_bytes(), tmp_path)


def test_every_target_has_seeds() -> None:
    assert {path.name for path in SEEDS.iterdir()} == set(TARGETS)


def test_a_target_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.references.parsers.unescaped_iri", lambda text: text + "x")
    with pytest.raises(AssertionError, match=r"freebase: .* found Parsed"):
        TARGETS["parsers"]((SEEDS / "parsers/freebase").read_bytes(), tmp_path)
    monkeypatch.setattr("tests.fuzz.targets.reference_lines", lambda raw, limit: ([], []))
    with pytest.raises(AssertionError):
        TARGETS["lines"]((SEEDS / "lines/plain").read_bytes(), tmp_path)
    monkeypatch.setattr("lodestar.engine.llm.limits._is_count", lambda value: isinstance(value, int))
    with pytest.raises(AssertionError):
        TARGETS["replies"]((SEEDS / "replies/body-huge-usage").read_bytes(), tmp_path)
