"""What each option of `lodestar load` changes, by its --dry-run, which reads a small source whole and needs no database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.main import main
from lodestar.engine.errors import UsageError

Preview = Callable[..., dict[str, Any]]

CHAIN = "a\tx.to\tb\nb\tx.to\tc\nc\ty.to\td\nhub\ty.of\ta\nhub\ty.of\td\nhub\tz.of\te\n"
BASE = "http://kg.example/"


@pytest.fixture
def previewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Preview:
    """Write a source, and return what a load of it with these options would do."""
    monkeypatch.chdir(tmp_path)

    def call(kind: str, content: str, *options: str) -> dict[str, Any]:
        Path("kg").write_text(content, encoding="utf-8")
        ran = CliRunner().invoke(main, ["load", kind, "kg", "--dry-run", "--json", "--home", "home", *options])
        if ran.exception and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        assert ran.exit_code == 0, ran.output
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    return call


def num_triples(shown: dict[str, Any]) -> int:
    return int(shown["estimated_triples"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], 6),
        (["--around", "a"], 2),  # to b and from the hub
        (["--around", "a", "--hops", "2"], 5),  # what b and the hub have, too
        (["--around", "a", "--hops", "2", "--max-degree", "2"], 3),  # the hub has three, and is reached only
        (["--around", "c", "--around", "e"], 3),
        (["--max-degree", "2"], 3),
        (["--domains", "x"], 2),
        (["--domains", "x,z"], 3),
        (["--relations", "wanted.txt"], 4),
    ],
)
def test_a_subset(previewed: Preview, options: list[str], expected: int) -> None:
    Path("wanted.txt").write_text("# mine\n*.to\nz.of\n")
    assert num_triples(previewed("tsv", CHAIN, "--header", "no", *options)) == expected


def test_hops_without_a_place_to_start_from_are_refused(previewed: Preview) -> None:
    with pytest.raises(UsageError, match="--hops sets how far --around reaches: give --around as well"):
        previewed("tsv", CHAIN, "--hops", "2")


def line(subject: str, relation: str, name: str) -> str:
    return f"<{BASE}{subject}> <{BASE}{relation}> {name} .\n"


NAMED = line("peru", "capital", f"<{BASE}lima>") + "".join(
    line(*each)
    for each in (
        ("lima", "called", '"Lima"@en'),
        ("lima", "called", '"Ciudad de los Reyes"@es'),
        ("peru", "also", '"Perú"@es'),
        ("peru", "also", '"Peru"@en'),
    )
)


def names(shown: dict[str, Any]) -> set[tuple[str, ...]]:
    return set(map(tuple, shown["names"]))


def test_relations_of_names_and_of_aliases_are_named_by_options(previewed: Preview) -> None:
    base = ("--base", BASE)
    plain = previewed("ntriples", NAMED, *base)
    assert (num_triples(plain), names(plain)) == (5, set())
    named = previewed("ntriples", NAMED, *base, "--name-relation", f"{BASE}called", "--languages", "en")
    assert (num_triples(named), names(named)) == (3, {("lima", "Lima")})
    both = ("--name-relation", f"{BASE}called", "--alias-relation", f"{BASE}also")
    assert num_triples(previewed("ntriples", NAMED, *base, *both)) == 1
