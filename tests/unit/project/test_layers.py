"""Imports run one way, command line → serving, evaluation, loaders → engine → models, cypher, and never in a circle."""

from __future__ import annotations

from graphlib import TopologicalSorter

from benchmarks.house import ROOT, imported_by, module_files

NEVER = [  # (who, but for whom, imports what)
    ("models", (), "engine"),
    ("models", (), "loaders"),
    ("cypher", (), "engine"),
    ("engine", ("engine.cli", "engine.api"), "loaders"),
    ("engine", ("engine.cli",), "engine.cli"),
    ("engine", ("engine.cli", "engine.evaluation"), "engine.evaluation"),
    ("engine", ("engine.cli", "engine.serving"), "engine.serving"),
    ("loaders", (), "engine.cli"),
    ("loaders", (), "engine.evaluation"),
    ("loaders", (), "engine.serving"),
]
FILES = module_files()


def lies_in(name: str, *places: str) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def test_imports_run_one_way() -> None:
    imports = {name: imported_by(name, FILES, lambda _: True) for name in FILES}
    wrong = [
        f"{module} imports {name}"
        for module, names in imports.items()
        for name in names
        for who, but, what in NEVER
        if lies_in(module, who) and not lies_in(module, *but) and lies_in(name, what)
    ]
    assert wrong == []
    models = (ROOT / "models").rglob("*.py")
    assert not [path for path in models if "import neo4j" in path.read_text(encoding="utf-8")]


def test_no_import_circles() -> None:
    around = {name: {name.rpartition(".")[0]} for name in FILES}  # a package is begun before what is in it
    here = {name: imported_by(name, FILES, lambda _: False) - around[name] for name in FILES}
    TopologicalSorter(here).prepare()
