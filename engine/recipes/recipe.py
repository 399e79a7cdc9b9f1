"""Define a recipe: an expression of parts with their options, from TOML, one line or Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, cast

from ...models.message_text import one_line
from .. import recipes
from ..errors import InputError, UsageError
from ..pipeline import Pipeline
from ..resources import GraphResources
from ..settings import fill_dataclass, key_and_value, set_nested_value
from ..stages import Answerer, Linker, Retriever
from ..whole_file import read_text
from .part import (
    ANSWERERS,
    LINKERS,
    PARTS,
    AnswererPart,
    Expression,
    JoinExpression,
    LinkerPart,
    NamedPart,
    Node,
    Part,
    ReorganiserPart,
    build_retriever,
    expression_of,
    foreign_code,
    names_in,
    parse_expression,
    part_class,
    resolve_stages,
)

MAX_TOP_K = 1_000
MAX_SEED = 2**32 - 1
EXAMPLE = "star.checkpoint=FOLDER"

Forms = bool | Literal["auto"]

_KINDS = {"linker": "full-text", "answerer": "extractive"}
OWN_OPTIONS = ("name", "description", "stages", "resolved", "top_k", "seed", "forms", "parts", "linker", "answerer")


@dataclass(frozen=True)
class Recipe:
    """The stages of a pipeline: `stages` is the expression, `parts` has the options of each name in it.

    `top_k` items are kept in the end. `seed` draws the sample of a run with a limit. `own` has the parts that are not
    Lodestar's, by name. Raises `UsageError` for parts that do not fit together.
    """

    name: str
    stages: Node
    parts: Mapping[str, Part]
    linker: LinkerPart
    answerer: AnswererPart
    description: str = ""
    top_k: int = 10
    seed: int = 0
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.top_k <= MAX_TOP_K:
            raise UsageError(f"top_k: expected 1 to {MAX_TOP_K}, found {self.top_k}")
        resolve_stages(self.stages, self.parts)

    def check(self) -> None:
        for part in (*self.parts.values(), self.linker, self.answerer):
            part.check()

    def pipeline(
        self,
        graph: GraphResources,
        *,
        linker: Linker | None = None,
        retriever: Retriever | None = None,
        answerer: Answerer | None = None,
    ) -> Pipeline:
        """Return the stages of a recipe that was checked, joined; one that is given takes the place of its own."""
        from ..forms.accounting import AccountingAnswerer

        linker = linker or self.linker.linker(graph)
        answerer = answerer or AccountingAnswerer(self._answerer(graph), graph.catalogue, graph.words)
        if retriever is None:
            retriever = build_retriever(self.stages, self.parts, graph, linker)
        return Pipeline(linker, retriever, answerer)

    def _answerer(self, graph: GraphResources) -> Answerer:
        answerer = self.answerer.answerer(graph)
        for part in self.parts.values():
            if isinstance(part, ReorganiserPart) and part.answers:
                answerer = part.answerer(graph, answerer)
        return answerer

    def part_with(self, option: str) -> str | None:
        return next((name for name, part in self.parts.items() if option in {f.name for f in fields(part)}), None)

    def find_option(self, option: str) -> str:
        """Return the whole name of an option: of the recipe itself, or of the first part, answerer or linker with it.

        Raises `UsageError` where there is none.
        """
        if "." in option or option in ("forms", "seed", "top_k"):
            return option
        for name, part in (*self.parts.items(), ("answerer", self.answerer), ("linker", self.linker)):
            if option in {each.name for each in fields(part)}:
                return f"{name}.{option}"
        raise UsageError(f"option {option[:80]!r}: no part of the recipe {self.name} has it (see `lodestar recipes`)")

    def as_json(self) -> dict[str, Any]:
        """Return all options with their values as plain data for `of`; `resolved` has the stages with bridges."""
        return {
            "name": self.name,
            "description": self.description,
            "stages": str(self.stages),
            "resolved": resolve_stages(self.stages, self.parts),
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
        ``forms = true`` is short for ``+ forms`` at the end of the line, ``forms = "auto"`` for that with the option
        `where_sure`.
        """
        name = str(data.get("name", ""))
        where = f"recipe {name}"
        line = data.get("stages")
        if not isinstance(line, str):
            raise UsageError(f"{where}: expected stages, a line such as 'similarity + merge', found {line!r}")
        own = _own_parts(data.get("parts", {}), where)
        if not allow_parts and (code := foreign_code(own)):
            part, place = next(iter(code.items()))
            raise UsageError(
                f"{where}: its part {part} is the code {one_line(place, 80)}, which is not installed as a part: give "
                "--allow-parts (in Python allow_parts=True) if you trust it; `lodestar recipes FILE.toml` shows what a "
                "recipe would load"
            )
        node = parse_expression(line)
        forms = data.get("forms")
        if not isinstance(forms, Mapping):
            mode = forms is not None and _forms(forms, where)
            if mode and "forms" not in names_in(node):
                node = JoinExpression("+", node, NamedPart("forms"))
            elif forms is False and str(node).endswith(" + forms"):
                node = cast(JoinExpression, node).left
            data = {key: value for key, value in data.items() if key != "forms"}
            if mode == "auto":
                data["forms"] = {"where_sure": True}
        names = names_in(node)
        for table in data:
            if table not in (*OWN_OPTIONS, *names):
                raise UsageError(
                    f"{where}: there is no part or option {table!r} in it: expected some of "
                    f"{', '.join((*names, *OWN_OPTIONS[1:3], *OWN_OPTIONS[4:]))}"
                )
        return cls(
            name=name,
            description=str(data.get("description", "")),
            stages=node,
            parts={each: _part(each, data.get(each, {}), own, where) for each in names},
            linker=cast(LinkerPart, _of_kind(data.get("linker", {}), "linker", LINKERS, where)),
            answerer=cast(AnswererPart, _of_kind(data.get("answerer", {}), "answerer", ANSWERERS, where)),
            top_k=_whole(data.get("top_k", 10), "top_k", where),
            seed=_seed(data.get("seed", 0), where),
            own=own,
        )


def recipe_names() -> list[str]:
    return sorted(
        entry.name.removesuffix(".toml") for entry in resources.files(recipes).iterdir() if entry.name.endswith(".toml")
    )


def read_recipe(
    given: str | Part | Expression | Recipe,
    changes: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    *,
    allow_parts: bool = False,
) -> Recipe:
    """Return a recipe by its name, the path of a TOML file, an expression, or parts joined in Python.

    changes: ``key=value`` with dots in the key. options: the same as a mapping. allow_parts: whether code that a file
    names as a part of its own is imported; parts joined in Python are there already. Raises
    `UsageError` for a recipe, a part or an option that is not there, `InputError` for a file that is no TOML.
    """
    own = given.own if isinstance(given, Recipe) else {}
    if isinstance(given, Part | Expression):
        expression = expression_of(given)
        data = _data_of(expression)
        own = data["parts"]
    elif isinstance(given, Recipe):
        data = given.as_json()
    else:
        data = read_recipe_data(given)
    found = [(*key_and_value(change, EXAMPLE), f"--set {change}") for change in changes]
    found += [(key, value, f"option {key}") for key, value in (options or {}).items()]
    for key, value, where in sorted(found, key=lambda each: not each[0].endswith(".kind")):
        _put(data, key, value, where)
    return Recipe.of(data, allow_parts=allow_parts or data.get("parts", {}) == own)


def _put(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Put an option into plain data; a new kind of linker or answerer starts from its own defaults: it goes first."""
    role, _, option = key.partition(".")
    if option == "kind" and isinstance(table := data.get(role), dict) and table.get("kind", _KINDS.get(role)) != value:
        data[role] = {}
    set_nested_value(data, key, value, where)


def read_recipe_data(given: str) -> dict[str, Any]:
    """Return a recipe by name, TOML file or expression as plain data, without loading its parts."""
    if given in recipe_names():
        text, shown = resources.files(recipes).joinpath(f"{given}.toml").read_text(encoding="utf-8"), given
    elif given.endswith(".toml"):
        text, shown = read_text(Path(given), "the recipe"), Path(given).stem
    elif re.fullmatch(r"[\w-]*", given) and given not in PARTS:
        raise UsageError(
            f"no recipe is called {given!r}: name one of {', '.join(recipe_names())}, a .toml file, or a line of parts "
            f"({', '.join(sorted(PARTS))}) such as 'similarity + merge'"
        )
    else:
        return {"name": _name_of(given), "stages": given}
    try:
        return {**tomllib.loads(text), "name": shown}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{given}: expected TOML: {error}") from error


def _name_of(line: str) -> str:
    return re.sub(r"[^\w+-]", "", line.replace("|", "-or-"))


def _data_of(expression: Expression) -> dict[str, Any]:
    line = str(expression.node)
    own = {
        name: f"{type(part).__module__}:{type(part).__qualname__}"
        for name, part in expression.parts.items()
        if name not in PARTS
    }
    tables = {name: asdict(part) for name, part in expression.parts.items()}
    return {"name": _name_of(line), "stages": line, "parts": own, **tables}


def _own_parts(given: Any, where: str) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(place, str) for place in given.values()):
        raise UsageError(f"{where}: expected parts to be a table of names and module:Class, found {given!r}")
    for name in given:
        if name in PARTS or name in OWN_OPTIONS or not isinstance(parse_expression(name), NamedPart):
            raise UsageError(f"{where}: your own part cannot be called {name!r}: choose another name")
    return dict(given)


def _part(name: str, options: Any, own: Mapping[str, str], where: str) -> Part:
    kind = part_class(name, own)
    if not isinstance(options, Mapping):
        raise UsageError(f"{where}: expected options of {name}, found {options!r}")
    return fill_dataclass(kind, options, f"{where}: {name}")


def _of_kind(options: Any, role: str, known: Mapping[str, str], where: str) -> Part:
    if not isinstance(options, Mapping):
        raise UsageError(f"{where}: expected options of {role}, found {options!r}")
    name = options.get("kind", _KINDS[role])
    if not isinstance(name, str) or name not in known:
        raise UsageError(f"{where}: expected one of {', '.join(sorted(known))} for {role}.kind, found {name!r}")
    given = {key: value for key, value in options.items() if key != "kind"}
    return fill_dataclass(part_class(name, known=known), given, f"{where}: {role}")


def _forms(value: Any, where: str) -> Forms:
    if value == "auto":
        return "auto"
    if not isinstance(value, bool):
        raise UsageError(f"{where}: expected true, false or auto for forms, found {value!r}")
    return value


def _seed(value: Any, where: str) -> int:
    seed = _whole(value, "seed", where)
    if not 0 <= seed <= MAX_SEED:
        raise UsageError(f"{where}: expected a seed from 0 to {MAX_SEED:,}, found {one_line(_show_number(seed), 40)}")
    return seed


def _show_number(number: int) -> str:
    return str(number) if number.bit_length() < 1_000 else "a number with too many digits"


def _whole(value: Any, name: str, where: str) -> int:
    if type(value) is not int:
        raise UsageError(f"{where}: expected a whole number for {name}, found {value!r}")
    return value


def list_parts() -> list[dict[str, Any]]:
    """Return name, role, input, output and options of each part, as plain data."""
    known = (PARTS, LINKERS, ANSWERERS)
    return [_part_data(name, part_class(name, known=some)) for some in known for name in sorted(some)]


def list_recipes() -> list[dict[str, Any]]:
    return [read_recipe(name).as_json() for name in recipe_names()]


def read_recipe_file(path: str) -> dict[str, Any]:
    """Return the content of a recipe file as plain data, without loading any code or model.

    code: the file's own parts as ``module:Class``, which need consent. options: the options that it sets, such as a
    checkpoint's folder or a prompt's file. Raises `InputError` if the file is not TOML.
    """
    content = read_recipe_data(path)
    tables = {name: table for name, table in content.items() if isinstance(table, dict) and name != "parts"}
    own = content.get("parts")
    own = {str(name): str(place) for name, place in own.items()} if isinstance(own, dict) else {}
    return {
        "name": content["name"],
        "description": str(content.get("description", "")),
        "stages": str(content.get("stages", "")),
        "code": foreign_code(own),
        "options": {f"{name}.{option}": value for name, table in tables.items() for option, value in table.items()},
    }


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
                "default": _default(each),
                "help": each.metadata.get("help", ""),
                "source": each.metadata.get("source", ""),
            }
            for each in fields(kind)
        ],
    }


def _default(option: Any) -> Any:
    value = option.default
    if value is MISSING:
        value = option.default_factory() if option.default_factory is not MISSING else None
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
