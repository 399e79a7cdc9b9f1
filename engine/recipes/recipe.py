"""A recipe as it is written (TOML) and as it is resolved: every option with its value."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from .. import recipes
from ..api import SearchOptions
from ..errors import InputError, UsageError
from ..resolving import change, filled

RETRIEVERS = ("beam", "oracle", "pagerank", "random", "shortest")
ANSWERERS = ("extractive", "llm")


@dataclass(frozen=True, slots=True)
class AnswererOptions:
    """`min_probability` is below what the extractive answerer abstains; an LLM's own settings are the user's."""

    kind: str = "extractive"
    min_probability: float = 0.3


@dataclass(frozen=True, slots=True)
class Recipe:
    """The stages of a run. `retriever` is the kind of search, `search` how far and wide it goes.

    `needs_checkpoint`: it ranks by a trained scorer, whose folder `search.checkpoint` has to name.
    """

    name: str
    description: str = ""
    retriever: str = "beam"
    needs_checkpoint: bool = False
    seed: int = 0
    search: SearchOptions = field(default_factory=SearchOptions)
    answerer: AnswererOptions = field(default_factory=AnswererOptions)

    def __post_init__(self) -> None:
        for kind, known in ((self.retriever, RETRIEVERS), (self.answerer.kind, ANSWERERS)):
            if kind not in known:
                raise UsageError(f"recipe {self.name}: expected one of {', '.join(known)}, found {kind!r}")

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data that `of` reads."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Recipe:
        """Return the recipe of plain data; raise `UsageError` for an option that there is not."""
        return filled(cls, data, f"recipe {data.get('name', '')}")


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with Lodestar."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in resources.files(recipes).iterdir() if entry.name.endswith(".toml")
    )


def read_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """Return a recipe by its name, or by the path of a TOML file; `changes` are ``key=value`` with dots in the key.

    Raises `UsageError` for a recipe or an option that is not there, `InputError` for a file that is no TOML.
    """
    if name in recipe_names():
        text, shown = resources.files(recipes).joinpath(f"{name}.toml").read_text(encoding="utf-8"), name
    elif name.endswith(".toml"):
        text, shown = _content(Path(name)), Path(name).stem
    else:
        raise UsageError(f"no recipe is called {name!r}: name one of {', '.join(recipe_names())}, or a .toml file")
    try:
        data = tomllib.loads(text)
        for said in changes:
            change(data, said, "search.max_hop=3")
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: expected TOML: {error}") from error
    return Recipe.of({**data, "name": shown})


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the recipe cannot be read: {error}") from error
