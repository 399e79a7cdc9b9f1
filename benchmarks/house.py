"""How large the house is: lines, modules, words, verbs, options, dependencies and imports, beside their budgets.

    python -m benchmarks.house

Nothing here gates, and nothing runs: imports are read from the files. `imports of ask` counts the modules of Lodestar
that the verb's file imports, with all that these import at their top. Imports inside a function count in the verb's own
file, and in `engine/api.py` those of what `Engine.ask` runs through, and nowhere else. An option that several parts
inherit counts once.
"""

from __future__ import annotations

import ast
import dataclasses
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
PRODUCT = ("engine", "loaders", "models")
BUDGETS = {
    "lines of engine, loaders, models": (48_000, 38_000),
    "modules": (240, 160),
    "lines of tests": (34_000, 24_000),
    "words of docs": (28_000, 25_000),
    "lines of benchmarks": (4_500, None),
    "verbs": (17, 17),
    "options of ask": (18, 14),
    "options of load": (20, 16),
    "options of train star": (16, 12),
    "options of parts": (70, 45),
    "dependencies of the core": (20, 18),
    "imports of ask": (None, 50),
    "imports of load": (None, 45),
    "imports of train star": (None, 45),
}
"""After the first part of the work, and after the second."""


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def count_lines(files: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def module_files() -> dict[str, Path]:
    found = {}
    for path in python_files(*PRODUCT, "cypher"):
        names = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    return found


def statements(node: ast.AST, *, in_functions: Callable[[str], bool]) -> Iterator[ast.ImportFrom]:
    """Yield the relative imports that run, without those for type checkers."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not in_functions(node.name):
        return
    if isinstance(node, ast.ImportFrom) and node.level:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from statements(child, in_functions=in_functions)


def imported_by(name: str, files: dict[str, Path], in_functions: Callable[[str], bool]) -> set[str]:
    """Return the modules that a module imports, and the packages around it."""
    package = name.split(".") if files[name].name == "__init__.py" else name.split(".")[:-1]
    found = {".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)}
    tree = ast.parse(files[name].read_text(encoding="utf-8"))
    for node in statements(tree, in_functions=in_functions):
        base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        source = ".".join(part for part in base if part)
        found |= {source, *(f"{source}.{alias.name}" for alias in node.names)}
    return found & files.keys()


def is_run(module: str, verb: str, function: str) -> bool:
    return module == verb or (module == "engine.api" and function in reached_from("ask"))


@cache
def reached_from(method: str) -> set[str]:
    """Return the functions of `engine/api.py` that a method runs through, by the names that each has."""
    tree = ast.parse((ROOT / "engine" / "api.py").read_text(encoding="utf-8"))
    functions = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    found, waiting = set[str](), {method, "__init__"}
    while waiting:
        found.add(name := waiting.pop())
        said = {ast.unparse(each) for each in ast.walk(functions[name]) if isinstance(each, ast.Attribute | ast.Name)}
        waiting |= {each for each in functions if {each, f"self.{each}"} & said} - found
    return found


def closure(*names: str) -> set[str]:
    """Return the modules that these import, and those that they import in turn; the first is the verb's."""
    files = module_files()
    seen: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= imported_by(name, files, partial(is_run, name, names[0])) - seen
    return seen


def find_command(*words: str) -> click.Command:
    from lodestar.engine.cli.main import main

    command: click.Command = main
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None, words
        command = found
    return command


def count_part_options() -> int:
    from lodestar.engine.parts import find_built_in_part_paths, load_part_class

    declared = set()
    for slot in ("stage", "linker", "answerer"):
        for name in find_built_in_part_paths(slot):
            kind = load_part_class(name, slot)
            for each in dataclasses.fields(kind):
                home = next(base for base in kind.__mro__ if each.name in vars(base).get("__annotations__", {}))
                declared.add((home, each.name))
    return len(declared)


def count_options(*words: str) -> int:
    return sum(isinstance(each, click.Option) for each in find_command(*words).params)


def imports_of(verb: str, *more: str) -> int:
    """Return how many modules the file of a verb imports, `more` modules beside it."""
    command = find_command(verb)
    name = type(command).__module__ if command.callback is None else command.callback.__module__
    return len(closure(name.removeprefix("lodestar."), *more))


def figures() -> dict[str, int]:
    from lodestar.engine.cli.main import main

    product = python_files(*PRODUCT)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    load = ("load", "tsv") if isinstance(find_command("load"), click.Group) else ("load",)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        "lines of engine, loaders, models": count_lines(product),
        "modules": len(product),
        "lines of tests": count_lines(python_files("tests")),
        "words of docs": sum(len(page.read_text(encoding="utf-8").split()) for page in pages),
        "lines of benchmarks": count_lines(python_files("benchmarks")),
        "verbs": len(main.list_commands(click.Context(main))),
        "options of ask": count_options("ask"),
        "options of load": count_options(*load),
        "options of train star": count_options("train", "star"),
        "options of parts": count_part_options(),
        "dependencies of the core": len(project["dependencies"]),
        "imports of ask": imports_of("ask"),
        "imports of load": imports_of("load"),
        "imports of train star": imports_of(
            "train", "engine.supervision.mining", "models.star.training", "models.star.network"
        ),
    }


def main() -> None:
    print(f"{'':34}{'now':>9}{'budget':>9}{'then':>9}")
    for name, value in figures().items():
        first, second = ("—" if each is None else f"{each:,}" for each in BUDGETS[name])
        print(f"{name:34}{value:9,}{first:>9}{second:>9}")


if __name__ == "__main__":
    main()
