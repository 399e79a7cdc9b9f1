"""Recipes: those that come with Lodestar, a user's own, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError, LodestarError, UsageError
from lodestar.engine.recipes.recipe import Recipe, read_recipe, recipe_names


@pytest.mark.parametrize("name", recipe_names())
def test_what_is_resolved_can_be_read_again(name: str) -> None:
    recipe = read_recipe(name, ["search.max_hop=3", "seed=7"])
    assert (recipe.name, recipe.search.max_hop, recipe.seed) == (name, 3, 7)
    assert recipe.description
    assert Recipe.of(json.loads(json.dumps(recipe.as_json()))) == recipe


def test_the_default_is_what_the_command_line_does() -> None:
    assert read_recipe("similarity").search == Recipe("x").search
    assert read_recipe("cosine").search.weights.support == 0


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('retriever = "random"\nseed = 3\n[search]\ntop_k = 4\nweights = { hop = 1 }\n')
    recipe = read_recipe(str(path))
    assert (recipe.name, recipe.retriever, recipe.seed, recipe.search.top_k) == ("mine", "random", 3, 4)
    assert recipe.search.weights.hop == 1.0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("search.width=1", "there is no option 'width': expected some of top_k, beam_width"),
        ("search.max_hop=far", "expected int for max_hop, found 'far'"),
        ("search.max_hop=9", "max_hop: expected 1 to 4, found 9"),
        ("search=1", "expected options of search, found 1"),
        ("seed", r"expected KEY=VALUE, as search\.max_hop=3, found 'seed'"),
        ("seed.x.y=1", "seed has no options of its own"),
        ("retriever=magic", "expected one of beam, oracle, pagerank, random, shortest, found 'magic'"),
        ("answerer.kind=oracle", "expected one of extractive, llm, found 'oracle'"),
    ],
)
def test_a_wrong_option_is_said(change: str, fault: str) -> None:
    changes = ["seed=1", change] if change.startswith("seed.") else [change]
    with pytest.raises(UsageError, match=fault):
        read_recipe("cosine", changes)


def test_what_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no recipe is called 'nova': name one of cosine, oracle"):
        read_recipe("nova")
    path = tmp_path / "bad.toml"
    for content, kind in ((b"a = = 1", InputError), (b"\xff", InputError), (b"color = 1", UsageError)):
        path.write_bytes(content)
        with pytest.raises(kind) as raised:
            read_recipe(str(path))
        assert isinstance(raised.value, LodestarError)
    with pytest.raises(InputError, match="cannot be read"):
        read_recipe(str(tmp_path / "none.toml"))
