"""What noise costs: one recipe asked with more and more noise among its evidence, with its filter and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..questions.gold import QuestionSet
from ..recipes.filtering import FI, Filter
from ..recipes.line import Joined, Leaf, Node
from ..recipes.recipe import Recipe
from ..resources import Resources
from ..server.connecting import connection_of
from ..settings import Settings
from .baselines.parts import Noise
from .running import Run, RunOptions, run_all

NOISE = "noise"

Progress = Callable[[str, int, int], None]
"""Called with the name of a run and the number of its questions done and of all."""


@dataclass(frozen=True, slots=True)
class NoiseRun:
    """A run with `num` pieces of noise among the evidence of each question."""

    num: int
    run: Run


@dataclass(frozen=True, slots=True)
class NoiseCurve:
    """The runs of one recipe, by their noise, the first without any."""

    name: str
    is_filtered: bool
    runs: tuple[NoiseRun, ...]


def noise_curves(
    questions: QuestionSet,
    recipe: Recipe,
    nums: Sequence[int],
    settings: Settings,
    options: RunOptions,
    progress: Progress = lambda _name, _done, _total: None,
) -> list[NoiseCurve]:
    """Ask every question without noise and with each of `nums`; where the recipe filters, without its filter as well.

    Each run has a folder of its own in that of the options, and is taken up again where it was interrupted.
    """
    resources = Resources(settings, connection_of(settings))

    def made(asked: Recipe, folder: str, num: int) -> Run:
        name = f"{folder}-{num}"
        own = replace(options, folder=options.folder / name)
        shown = partial(progress, name)
        return run_all(questions, with_noise(asked, num), settings, own, shown, resources)

    return [
        NoiseCurve(
            str(asked.stages),
            is_filtered,
            tuple(NoiseRun(num, made(asked, folder, num)) for num in (0, *nums)),
        )
        for asked, folder, is_filtered in _variants(recipe)
    ]


def with_noise(recipe: Recipe, num: int) -> Recipe:
    """Return the recipe with so much noise before its first filter, at its end where it has none.

    A part `noise` that is there already is where it is, with its seed.
    """
    there = next((name for name, part in recipe.parts.items() if isinstance(part, Noise)), None)
    data = recipe.as_json()
    if there is None:
        filters = _filters(recipe)
        names = list(_after(recipe.stages))
        first = next((place for place, name in enumerate(names) if name in filters), len(names))
        data["stages"] = str(_line(recipe.stages, [*names[:first], NOISE, *names[first:]]))
        data[NOISE] = {"num": num}
    else:
        data[there]["num"] = num
    return Recipe.of(data, allow_parts=True)  # those of a recipe that is loaded


def without_filter(recipe: Recipe) -> Recipe:
    """Return the recipe without its filters."""
    filters = _filters(recipe)
    data = recipe.as_json()
    data["stages"] = str(_line(recipe.stages, [name for name in _after(recipe.stages) if name not in filters]))
    return Recipe.of({key: value for key, value in data.items() if key not in filters}, allow_parts=True)


def _variants(recipe: Recipe) -> Iterator[tuple[Recipe, str, bool]]:
    is_filtered = bool(_filters(recipe))
    yield recipe, "filtered" if is_filtered else "plain", is_filtered
    if is_filtered:
        yield without_filter(recipe), "plain", False


def _filters(recipe: Recipe) -> list[str]:
    """Return the names of the filters that all evidence of a recipe passes."""
    return [name for name in _after(recipe.stages) if isinstance(recipe.parts[name], FI | Filter)]


def _after(node: Node) -> Iterator[str]:
    """Yield the names of the parts that all evidence of a line passes, in order."""
    if isinstance(node, Joined) and node.sign == "+":
        yield from _after(node.left)
        yield from _leaves(node.right)


def _leaves(node: Node) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield node.name
    else:
        yield from _leaves(node.left)
        yield from _leaves(node.right)


def _line(node: Node, names: Sequence[str]) -> Node:
    """Return a line's retriever followed by these parts."""
    while isinstance(node, Joined) and node.sign == "+":
        node = node.left
    for name in names:
        node = Joined("+", node, Leaf(name))
    return node
