"""A recipe as it is written (TOML) and as it is resolved: every option with its value."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from .. import recipes
from ..api import SearchOptions
from ..errors import InputError, UsageError

T = TypeVar("T")

RETRIEVERS = ("beam", "oracle", "pagerank", "random", "shortest")
ANSWERERS = ("extractive", "llm")


@dataclass(frozen=True, slots=True)
class AnswererOptions:
    """`min_probability` is below what the extractive answerer abstains; an LLM's own settings are the user's."""

    kind: str = "extractive"
    min_probability: float = 0.3


@dataclass(frozen=True, slots=True)
class Recipe:
    """The stages of a run. `retriever` is the kind of search, `search` how far and wide it goes."""

    name: str
    description: str = ""
    retriever: str = "beam"
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
        return _filled(cls, data, f"recipe {data.get('name', '')}")


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
        for change in changes:
            _change(data, change)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: expected TOML: {error}") from error
    return Recipe.of({**data, "name": shown})


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the recipe cannot be read: {error}") from error


def _change(data: dict[str, Any], change: str) -> None:
    key, equals, value = change.partition("=")
    if not equals or not all(key.split(".")):
        raise UsageError(f"--set: expected KEY=VALUE, as search.max_hop=3, found {change!r}")
    *tables, last = key.split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise UsageError(f"--set {change}: {table} has no options of its own")
    try:
        data[last] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        data[last] = value


def _filled(kind: type[T], data: Mapping[str, Any], where: str) -> T:
    """Return a dataclass with the values of plain data, inner dataclasses included."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for name, value in data.items():
        if name not in names:
            raise UsageError(f"{where}: there is no option {name!r}: expected some of {', '.join(names)}")
        wanted: type = hints[name]
        if is_dataclass(wanted):
            if not isinstance(value, Mapping):
                raise UsageError(f"{where}: expected options of {name}, found {value!r}")
            given[name] = _filled(wanted, value, f"{where}: {name}")
        elif wanted is float and type(value) is int:
            given[name] = float(value)
        elif type(value) is not wanted:
            raise UsageError(f"{where}: expected {wanted.__name__} for {name}, found {value!r}")
        else:
            given[name] = value
    return kind(**given)
