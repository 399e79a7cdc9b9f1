"""Read recipes: named, from a TOML file, or a line of parts, with any option changed by ``--set`` or in Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...models import one_line
from ..errors import InputError, UsageError
from ..file_access import read_text_file
from ..parts import (
    Expression,
    JoinedExpression,
    NamedPart,
    Part,
    Slot,
    find_built_in_part_paths,
    find_untrusted_recipe_parts,
    join_expressions,
    load_part_class,
    map_expression_parts_by_name,
    parse_expression,
    resolve_stages,
    wrap_part_as_expression,
)
from ..settings import parse_assignment, set_nested_value

if TYPE_CHECKING:
    from ..resources import GraphResources

MAX_TOP_K = 1_000
MAX_SEED = 2**32 - 1
EXAMPLE = "star.checkpoint=FOLDER"

_KINDS: Mapping[Slot, str] = {"linker": "full-text", "answerer": "extractive"}
OWN_OPTIONS = ("name", "description", "stages", "resolved", "top_k", "seed", "plans", "parts", "linker", "answerer")


@dataclass(frozen=True)
class Recipe:
    """What answers a question: a linker, an expression of parts that find evidence, and an answerer.

    Each of them may be any function that is called like one (`Linker`, `Retriever`, `Answerer`). `top_k` items are kept
    in the end. `seed` draws the sample of a run with a limit. `own` has the parts that are not Lodestar's, by name.
    Raises `UsageError` for parts that do not fit together.
    """

    name: str
    stages: Expression
    linker: Any
    answerer: Any
    description: str = ""
    top_k: int = 10
    seed: int = 0
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.top_k <= MAX_TOP_K:
            raise UsageError(f"top_k: expected 1 to {MAX_TOP_K}, found {self.top_k}")
        resolve_stages(self.stages)

    @property
    def parts(self) -> Mapping[str, Any]:
        return map_expression_parts_by_name(self.stages)

    def named_parts(self) -> dict[str, Part]:
        """Return all parts by the name that their options have, the stages first."""
        everything = {**self.parts, "answerer": self.answerer, "linker": self.linker}
        return {name: part for name, part in everything.items() if isinstance(part, Part)}

    def check(self) -> None:
        """Raise `UsageError` if a part lacks an option that it needs."""
        for part in self.named_parts().values():
            part.check()

    def open(self, graph: GraphResources) -> None:
        for part in self.named_parts().values():
            part.opened(graph)

    def find_option(self, option: str) -> str:
        """Return the full name of an option: of the recipe itself, or of the first stage, answerer or linker with it.

        Raises `UsageError` where there is none.
        """
        if "." in option or option in ("plans", "seed", "top_k"):
            return option
        for name, part in self.named_parts().items():
            if option in {each.name for each in fields(part)}:
                return f"{name}.{option}"
        raise UsageError(f"option {option[:80]!r}: no part of the recipe {self.name} has it (see `lodestar recipes`)")

    def as_json(self) -> dict[str, Any]:
        """Return all options with their values as plain data for `of`; `resolved` has the stages with bridges.

        Raises `UsageError` where a stage is a function, which has no options.
        """
        for name, part in {**self.parts, "linker": self.linker, "answerer": self.answerer}.items():
            if not isinstance(part, Part):
                raise UsageError(f"recipe {self.name}: its {name} is a function, so that no option can be changed")
        return {
            "name": self.name,
            "description": self.description,
            "stages": str(self.stages),
            "resolved": resolve_stages(self.stages)[0],
            "top_k": self.top_k,
            "seed": self.seed,
            **({"parts": dict(self.own)} if self.own else {}),
            **{name: asdict(part) for name, part in self.parts.items()},
            "linker": {"kind": self.linker.name, **asdict(self.linker)},
            "answerer": {"kind": self.answerer.name, **asdict(self.answerer)},
        }

    @classmethod
    def of(cls, data: Mapping[str, Any], *, allow_parts: bool = False) -> Recipe:
        """Return the recipe of plain data; raise `UsageError` for a part or an option that there is not.

        allow_parts: whether code that its table `parts` names is imported; without it only that of installed parts.
        ``plans = false`` takes ``+ plans`` from the end of the line, ``plans = true`` adds it.
        """
        where = f"recipe {data.get('name', '')}"
        line = data.get("stages")
        if not isinstance(line, str):
            raise UsageError(f"{where}: expected stages, a line such as 'similarity + merge', found {line!r}")
        own = _own_parts(data.get("parts", {}), where)
        if not allow_parts and (code := find_untrusted_recipe_parts(own)):
            part, place = next(iter(code.items()))
            raise UsageError(
                f"{where}: its part {part} is the code {one_line(place, 80)}, which is not installed as a part: give "
                "--allow-parts (in Python allow_parts=True) if you trust it"
            )
        plans = data.get("plans")
        if not isinstance(plans, Mapping | bool | None):
            raise UsageError(f"{where}: expected true or false for plans, found {plans!r}")

        def make(name: str) -> Part:
            table = data.get(name)
            return _fill(load_part_class(name, own=own), {} if isinstance(table, bool | None) else table, name, where)

        stages = parse_expression(line, make)
        if plans is True and "plans" not in map_expression_parts_by_name(stages):
            stages = join_expressions("+", stages, NamedPart("plans", make("plans")))
        elif plans is False and isinstance(stages, JoinedExpression) and str(stages).endswith(" + plans"):
            stages = stages.left
        names = map_expression_parts_by_name(stages)
        for table in data:
            if table not in (*OWN_OPTIONS, *names):
                raise UsageError(
                    f"{where}: there is no part or option {table!r} in it: expected some of "
                    f"{', '.join((*names, *OWN_OPTIONS[1:3], *OWN_OPTIONS[4:]))}"
                )
        return cls(
            name=str(data.get("name", "")),
            description=str(data.get("description", "")),
            stages=stages,
            linker=_of_kind(data.get("linker", {}), "linker", where),
            answerer=_of_kind(data.get("answerer", {}), "answerer", where),
            top_k=_whole(data.get("top_k", 10), "top_k", MAX_TOP_K, where),
            seed=_whole(data.get("seed", 0), "seed", MAX_SEED, where),
            own=own,
        )


def list_recipe_names() -> list[str]:
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in resources.files(__name__).iterdir()
        if entry.name.endswith(".toml")
    )


def read_recipe(
    given: str | Part | Expression | Recipe,
    changes: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    *,
    allow_parts: bool = False,
) -> Recipe:
    """Return a recipe by its name, the path of a TOML file, an expression, or parts joined in Python.

    changes: ``key=value``. options: the same as a mapping. A key without a dot, as ``max_hop``, is the option of the
    recipe itself or of the first part with it. allow_parts: whether code that a file names as a part of its own is
    imported; parts joined in Python are there already. Raises `UsageError` for a recipe, a part or an option that is
    not there, `InputError` for a file that is no TOML.
    """
    own = given.own if isinstance(given, Recipe) else {}
    if isinstance(given, Part | NamedPart | JoinedExpression):
        data = _data_of(wrap_part_as_expression(given))
        own = data["parts"]
    elif isinstance(given, Recipe):
        data = given.as_json()
    else:
        data = _read_recipe_data(given)
    found = [(*parse_assignment(change, EXAMPLE), f"--set {change}") for change in changes]
    found += [(key, value, f"option {key}") for key, value in (options or {}).items()]
    short = {
        key: value
        for key, value, _ in found
        if "." not in key and key not in OWN_OPTIONS and not isinstance(value, Mapping)
    }
    for key, value, where in sorted(found, key=lambda each: not each[0].endswith(".kind")):
        if key in short:
            continue
        role, _, option = key.partition(".")
        table = data.get(role)
        if option == "kind" and isinstance(table, dict) and table.get("kind", _KINDS.get(role)) != value:  # type: ignore[call-overload]
            data[role] = {}  # another kind of linker or answerer starts from its own defaults
        set_nested_value(data, key, value, where)
    recipe = Recipe.of(data, allow_parts=allow_parts or data.get("parts", {}) == own)
    if not short:
        return recipe
    return read_recipe(recipe, options={recipe.find_option(key): value for key, value in short.items()})


def _read_recipe_data(given: str) -> dict[str, Any]:
    """Return a recipe by name, TOML file or expression as plain data, without loading its parts."""
    if given in list_recipe_names():
        text, shown = resources.files(__name__).joinpath(f"{given}.toml").read_text(encoding="utf-8"), given
    elif given.endswith(".toml"):
        text, shown = read_text_file(Path(given), "the recipe"), Path(given).stem
    elif re.fullmatch(r"[\w-]*", given) and given not in find_built_in_part_paths("stage"):
        raise UsageError(
            f"no recipe is called {given!r}: name one of {', '.join(list_recipe_names())}, a .toml file, or a line of "
            f"parts ({', '.join(sorted(find_built_in_part_paths('stage')))}) such as 'similarity + merge'"
        )
    else:
        return {"name": _name_of(given), "stages": given}
    try:
        return {**tomllib.loads(text), "name": shown}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{given}: expected TOML: {error}") from error


def _name_of(line: str) -> str:
    return re.sub(r"[^\w+-]", "", line.replace("|", "-or-"))


def _data_of(stages: Expression) -> dict[str, Any]:
    known, parts = find_built_in_part_paths("stage"), map_expression_parts_by_name(stages)
    own = {n: f"{type(p).__module__}:{type(p).__qualname__}" for n, p in parts.items() if n not in known}
    tables = {name: asdict(part) for name, part in parts.items()}
    return {"name": _name_of(str(stages)), "stages": str(stages), "parts": own, **tables}


def _own_parts(given: Any, where: str) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(place, str) for place in given.values()):
        raise UsageError(f"{where}: expected parts to be a table of names and module:Class, found {given!r}")
    for name in given:
        if (
            name in find_built_in_part_paths("stage")
            or name in OWN_OPTIONS
            or not re.fullmatch(r"[A-Za-z][\w-]*", name)
        ):
            raise UsageError(f"{where}: your own part cannot be called {name!r}: choose another name")
    return dict(given)


def _of_kind(options: Any, slot: Slot, where: str) -> Part:
    name = options.get("kind", _KINDS[slot]) if isinstance(options, Mapping) else _KINDS[slot]
    if not isinstance(name, str) or name not in find_built_in_part_paths(slot):
        known = ", ".join(sorted(find_built_in_part_paths(slot)))
        raise UsageError(f"{where}: expected one of {known} for {slot}.kind, found {name!r}")
    given = {k: v for k, v in options.items() if k != "kind"} if isinstance(options, Mapping) else options
    return _fill(load_part_class(name, slot), given, slot, where)


def _fill(kind: type[Part], options: Any, name: str, where: str) -> Part:
    if not isinstance(options, Mapping):
        raise UsageError(f"{where}: expected options of {name}, found {options!r}")
    names = [each.name for each in fields(kind)]
    if unknown := [option for option in options if option not in names]:
        raise UsageError(
            f"{where}: {name}: there is no option {unknown[0]!r}: expected some of {', '.join(names) or 'none'}"
        )
    return kind(**options)


def _whole(value: Any, name: str, most: int, where: str) -> int:
    if type(value) is not int or not 0 <= value <= most:
        shown = "a number with too many digits" if type(value) is int and value.bit_length() > 999 else repr(value)
        raise UsageError(f"{where}: expected a whole number from 0 to {most:,} for {name}, found {one_line(shown, 40)}")
    return value


def list_parts() -> list[dict[str, Any]]:
    """Return name, role, input, output and options of each part, as plain data."""
    slots: tuple[Slot, ...] = ("stage", "linker", "answerer")
    return [
        _part_data(name, load_part_class(name, slot))
        for slot in slots
        for name in sorted(find_built_in_part_paths(slot))
    ]


def list_recipes() -> list[dict[str, Any]]:
    return [read_recipe(name).as_json() for name in list_recipe_names()]


def _part_data(name: str, kind: type[Part]) -> dict[str, Any]:
    content = (kind.__doc__ or "").strip().split("\n\n")[0]
    return {
        "name": name,
        "role": kind.role,
        "takes": getattr(kind, "takes", None),
        "gives": getattr(kind, "gives", None),
        "description": " ".join(content.split()),
        "checkpoint_kinds": [each if isinstance(each, str) else each.name for each in kind.kinds],
        "options": [
            {
                "name": each.name,
                "default": each.default,
                "help": each.metadata.get("help", ""),
                "source": each.metadata.get("source", ""),
            }
            for each in fields(kind)
        ],
    }
