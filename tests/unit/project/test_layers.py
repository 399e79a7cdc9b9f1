"""Imports run one way, command line → serving, evaluation, loaders → engine → models, cypher, and never in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from tests.places import ROOT

TOPS = ("engine", "loaders", "models", "cypher")
NEVER = [  # (who, but for whom, imports what)
    ("models", "", "engine"),
    ("models", "", "loaders"),
    ("models", "", "neo4j"),
    ("cypher", "", "engine"),
    ("engine", "engine/cli|engine/api.py", "loaders"),
    ("engine", "engine/cli", "engine/cli"),
    ("engine", "engine/cli|engine/evaluation", "engine/evaluation"),
    ("engine", "engine/cli|engine/serving", "engine/serving"),
    ("loaders", "", "engine/cli"),
    ("loaders", "", "engine/evaluation"),
    ("loaders", "", "engine/serving"),
]
MODULES = [path.relative_to(ROOT) for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))]


def nodes(tree: ast.AST, *, on_import: bool) -> Iterator[ast.AST]:
    """Yield all nodes, or those of what is done on import: neither bodies of functions nor what is for types alone."""
    for node in ast.iter_child_nodes(tree):
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        if not (on_import and lazy):
            yield node
            yield from nodes(node, on_import=on_import)


def imported(module: Path, *, on_import: bool = False) -> Iterator[str]:
    """The files of Lodestar, or the other packages, that a module imports."""
    for node in nodes(ast.parse((ROOT / module).read_text(encoding="utf-8")), on_import=on_import):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            base = module.parents[node.level - 1] / (node.module or "").replace(".", "/")
            for alias in node.names:
                places = base / f"{alias.name}.py", base / alias.name / "__init__.py", Path(f"{base}.py")
                yield next((place for place in places if (ROOT / place).exists()), base / "__init__.py").as_posix()


IMPORTS = {module.as_posix(): set(imported(module)) for module in MODULES}


def lies_in(name: str, places: str) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places.split("|") if place)


def test_imports_run_one_way() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in IMPORTS.items()
        for name in names
        for who, but, what in NEVER
        if lies_in(module, who) and not lies_in(module, but) and lies_in(name, what)
    ]
    assert wrong == []


def test_no_import_circles() -> None:
    here = {module.as_posix(): set(imported(module, on_import=True)) for module in MODULES}
    TopologicalSorter({module: names & here.keys() for module, names in here.items()}).prepare()
