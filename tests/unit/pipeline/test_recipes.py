"""Recipes: those that come with Lodestar, a user's own in TOML, one line or Python, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError, LodestarError, UsageError
from lodestar.engine.recipes import Recipe, list_recipe_names, read_recipe
from lodestar.engine.reorganising import Merge
from lodestar.engine.retrieval.similarity import Similarity
from lodestar.engine.retrieval.star import Star


@pytest.mark.parametrize("name", list_recipe_names())
def test_what_is_resolved_can_be_read_again(name: str) -> None:
    recipe = read_recipe(name, ["top_k=3", "seed=7", "linker.top_k=4"])
    assert (recipe.name, recipe.top_k, recipe.seed) == (name, 3, 7)
    assert recipe.description
    assert Recipe.of(json.loads(json.dumps(recipe.as_json()))) == recipe


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'stages = "similarity | wide + merge"\nseed = 3\ntop_k = 4\n[similarity]\nmeeting_bonus = 0.5\n'
        '[wide]\nbeam_width = 30\n[parts]\nwide = "similarity"\n[answerer]\nkind = "llm"\n'
    )
    recipe = read_recipe(str(path), ["wide.max_hop=3"])
    assert (recipe.name, str(recipe.stages), recipe.seed, recipe.top_k) == ("mine", "similarity | wide + merge", 3, 4)
    narrow, wide = recipe.parts["similarity"], recipe.parts["wide"]
    assert isinstance(narrow, Similarity)
    assert isinstance(wide, Similarity)
    assert (narrow.meeting_bonus, narrow.beam_width, wide.beam_width, wide.max_hop) == (0.5, 10, 30, 3)
    assert recipe.answerer.name == "llm"


def test_a_line_is_a_recipe_named_for_what_stands_in_it() -> None:
    recipe = read_recipe("similarity+merge | star", options={"star.checkpoint": "x", "merge": {"bonus": 1.0}})
    assert (recipe.name, str(recipe.stages)) == ("similarity+merge-or-star", "similarity + merge | star")
    assert recipe.as_json()["resolved"] == ["similarity", "merge", "|", "star"]
    assert recipe.parts["merge"] == Merge(bonus=1.0)


def test_python_joins_parts_as_a_line_does() -> None:
    written = Similarity(max_hop=3) + Merge(bonus=0.5) | Star(checkpoint="x")
    recipe = read_recipe(written)
    options = {"similarity.max_hop": 3, "merge.bonus": 0.5, "star.checkpoint": "x"}
    assert recipe == read_recipe("similarity + merge | star", options=options)
    assert read_recipe(Similarity(max_hop=3)).parts == {"similarity": Similarity(max_hop=3)}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("star +", r"expected parts joined by \+ and \|"),
        ("(star", r"expected parts joined by \+ and \|"),
        ("star(merge)", "expected a part between two signs"),
        ("(" * 1_000 + "star" + ")" * 900, r"expected parts joined by \+ and \|"),
        ("star & merge", r"expected names of parts, \+ and \|, found '&'"),
        (
            "star + nova",
            "there is no part 'nova': expected one of adaptive-k, fi, gril, merge, model-answers, path-pooling, plans",
        ),
        (
            "merge + star",
            r"merge is a reorganiser, which needs evidence: put it after a retriever, such as similarity \+ merge",
        ),
        ("star + similarity", r"join two retrievers by \|, such as star \| similarity"),
    ],
)
def test_a_wrong_line_is_said(line: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_recipe(line)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("similarity.width=1", "there is no option 'width': expected some of beam_width, max_hop"),
        ("similarity.max_hop=far", "similarity.max_hop: input should be a valid integer, found 'far'"),
        ("similarity.meeting_bonus=nan", "similarity.meeting_bonus: input should be a finite number, found nan"),
        ("top_k=many", "expected a whole number from 0 to 1,000 for top_k, found 'many'"),
        ("seed", r"expected KEY=VALUE, as star\.checkpoint=FOLDER, found 'seed'"),
        (
            "answerer.kind=oracle",
            "expected one of closed-book, extractive, gril, llm, reader for answerer.kind, found 'oracle'",
        ),
        ("linker.kind=magic", "expected one of full-text for linker.kind, found 'magic'"),
        ("star.max_hop=3", "there is no part or option 'star' in it: expected some of similarity"),
        ("parts.x=json:loads", "expected a class derived from a part, with __call__, found json:loads"),
        ("parts.x=tests.fakes.raising_module:Thing", "tests.fakes.raising_module:Thing cannot be imported: 1 / 0"),
        ("parts.x=lodestar.engine.parts:Retriever", "expected a class derived from a part, with __call__"),
        ("parts.star=json:loads", "your own part cannot be called 'star'"),
        ("parts.x=nonsense", "expected module:Class or the name of a part, found 'nonsense'"),
    ],
)
def test_a_wrong_option_is_said(change: str, fault: str) -> None:
    changes = ["seed=1", change] if change.startswith("seed.") else [change]
    changes += ["stages=similarity | x"] if change.startswith("parts.x") else []
    with pytest.raises(UsageError, match=fault):
        read_recipe("cosine", changes, allow_parts=True)


def test_what_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no recipe is called 'nova': name one of closed-book, cosine, similarity"):
        read_recipe("nova")
    path = tmp_path / "bad.toml"
    for content, kind in ((b"a = = 1", InputError), (b"\xff", InputError), (b"color = 1", UsageError)):
        path.write_bytes(content)
        with pytest.raises(kind) as raised:
            read_recipe(str(path))
        assert isinstance(raised.value, LodestarError)
    with pytest.raises(InputError, match="cannot be read"):
        read_recipe(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("line", ["similarity + plans + merge", "similarity + plans | star", "similarity + fi + plans"])
def test_plans_stand_wherever_there_is_evidence(line: str) -> None:
    stages = read_recipe(line).as_json()["resolved"]
    assert stages == line.replace(" + ", " ").split()
