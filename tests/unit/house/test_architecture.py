"""The direction of imports: engine's command line → loaders → engine → models, cypher; models import no database."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.places import ROOT

PACKAGES = ("engine", "loaders", "models", "cypher")

BASE = {"engine/errors.py", "engine/neo4j", "engine/steps.py", "engine/values.py"}

# What a place may import from, of Lodestar; the most particular place counts.
ALLOWED = {
    "cypher": set[str](),
    "models": {"models"},
    "engine": {"engine", "models", "cypher"},
    "engine/cli": {"engine", "loaders", "models"},
    "engine/values.py": {"engine/errors.py"},
    "engine/errors.py": set[str](),
    "engine/steps.py": {
        "engine/errors.py",
        "engine/llm/gateway.py",
        "engine/neo4j/templates.py",
        "engine/llm/prompts.py",
        "models/blas.py",
    },
    "engine/progress.py": set[str](),
    "engine/llm": {
        "engine/llm",
        "engine/errors.py",
        "engine/extras.py",
        "engine/machine.py",
        "engine/progress.py",
        "engine/settings.py",
        "engine/values.py",
        "models/language",
    },
    "engine/llm/prompts.py": {"engine/errors.py", "engine/values.py"},
    "engine/machine.py": set[str](),
    "engine/neo4j": {
        *BASE,
        "engine/machine.py",
        "engine/progress.py",
        "engine/settings.py",
        "engine/whole_file.py",
        "cypher",
        "models",
    },
    "engine/neo4j/home.py": {"engine/neo4j", "engine/errors.py", "engine/show/browser.py", "models"},
    "engine/evidence": {"engine/evidence", *BASE, "engine/llm/prompts.py", "models/text/verbalise.py"},
    "engine/relations/words.py": {"engine/neo4j/catalogue.py", "models"},
    "engine/linking": {"engine/linking", *BASE, "engine/indexes", "engine/stages.py", "models"},
    "engine/indexes": {
        "engine/indexes",
        *BASE,
        "engine/progress.py",
        "engine/relations/words.py",
        "engine/settings.py",
        "engine/whole_file.py",
        "models",
    },
    "engine/retrieval": {
        "engine/retrieval",
        *BASE,
        "engine/evidence",
        "engine/linking/topics.py",
        "engine/stopwatch.py",
        "models",
    },
    "engine/reorganising": {
        "engine/reorganising",
        *BASE,
        "engine/llm/prompts.py",
        "engine/evidence",
        "engine/linking/topics.py",
        "engine/retrieval",
        "models",
    },
    "engine/answering": {
        "engine/retrieval/scoring.py",
        "engine/answering",
        *BASE,
        "engine/llm/prompts.py",
        "engine/evidence",
        "engine/reorganising",
        "engine/stages.py",
        "engine/whole_file.py",
        "models",
    },
    "engine/stages.py": {*BASE, "engine/evidence"},
    "engine/pipeline.py": {*BASE, "engine/evidence", "engine/linking", "engine/stages.py", "models"},
    "engine/gold_questions.py": {*BASE},
    "engine/relations": {
        "engine/relations",
        *BASE,
        "engine/evidence",
        "engine/llm",
        "engine/progress.py",
        "engine/retrieval/scoring.py",
        "engine/settings.py",
        "engine/whole_file.py",
        "models",
    },
    "engine/supervision": {
        *BASE,
        "engine/supervision",
        "engine/answering/llm.py",
        "engine/answering/reply.py",
        "engine/api.py",
        "engine/evidence",
        "engine/gold_questions.py",
        "engine/indexes",
        "engine/llm",
        "engine/parallel.py",
        "engine/progress.py",
        "engine/relations/words.py",
        "engine/resolving.py",
        "engine/retrieval",
        "engine/settings.py",
        "engine/whole_file.py",
        "models",
    },
    "engine/writing": {
        "engine/writing",
        *BASE,
        "engine/linking/names.py",
        "engine/relations",
        "models/message_text.py",
    },
    "engine/evaluation": {"engine", "models", "cypher"},
    "loaders": {
        "loaders",
        "cypher",
        "engine/values.py",
        "engine/errors.py",
        "engine/extras.py",
        "engine/gold_questions.py",
        "engine/settings.py",
        "engine/whole_file.py",
        "engine/linking",
        "engine/machine.py",
        "engine/neo4j",
        "engine/progress.py",
        "engine/relations",
        "engine/writing",
        "models/message_text.py",
        "models/whole_file.py",
        "models/words.py",
    },
}
NO_DATABASE = {"neo4j"}

MAX_LINES = 500
MIN_LINES_OF_A_FOLDER = 150
"""Of Python, in a folder of one or two modules: a smaller one is no folder."""


def modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module without the bodies of its functions: what is done, or known, on import."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from outside_functions(child)


def imported(module: Path, walk: Callable[[ast.AST], Iterator[ast.AST]] = ast.walk) -> Iterator[str]:
    """Yield the names of other packages, and the paths under the root of Lodestar's own modules."""
    for node in walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
        elif isinstance(node, ast.ImportFrom):
            base = module.parents[node.level - 1] / (node.module or "").replace(".", "/")
            for alias in node.names:
                inner = base / alias.name
                places = [inner.with_suffix(".py"), inner, *([base.with_suffix(".py")] if base.name else []), base]
                yield next((place for place in places if (ROOT / place).exists()), base).as_posix()


def has_data(folder: Path) -> bool:
    """Whether a folder holds a module's data files."""
    return any(path.is_file() and path.suffix != ".py" for path in folder.iterdir())


def rule_for(module: Path) -> set[str]:
    place = max((p for p in ALLOWED if module.as_posix() == p or module.as_posix().startswith(f"{p}/")), key=len)
    return ALLOWED[place]


def test_imports_run_one_way() -> None:
    wrong = []
    for module in modules():
        allowed = rule_for(module)
        for name in imported(module):
            inside = (ROOT / name).exists() and name.split("/")[0] in PACKAGES
            if name.startswith("lodestar"):
                wrong.append(f"{module} imports {name}: inside, imports are relative")
            elif (inside and not any(name == a or name.startswith(f"{a}/") for a in allowed)) or (
                module.parts[0] == "models" and name.split(".")[0] in NO_DATABASE
            ):
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_only_the_command_line_imports_the_evaluation() -> None:
    """What is evaluated, and what teaches it, must not know what judges it."""
    judges = {("engine", "evaluation"), ("engine", "cli")}
    assert [
        f"{module} imports {name}"
        for module in modules()
        if module.parts[:2] not in judges
        for name in imported(module)
        if name.startswith("engine/evaluation")
    ] == []


def test_the_rules_can_fail() -> None:
    assert "engine/values.py" in set(imported(Path("engine/linking/full_text.py")))
    assert any(name.startswith("engine/evaluation") for name in imported(Path("engine/cli/eval.py")))
    assert "neo4j" in set(imported(Path("engine/neo4j/gateway.py")))


def circle_among(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Return modules that import each other in a circle, first and last the same; nothing when there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def test_no_import_circles() -> None:
    """What is imported for types counts, since who reads a module reads that too; imports in functions do not."""
    names = {module.as_posix() for module in modules()}
    files = {name.removesuffix("/__init__.py"): name for name in names}
    imports = {
        module.as_posix(): {files[name] for name in imported(module, outside_functions) if name in files}
        for module in modules()
    }
    assert circle_among(imports) == []


def test_a_circle_is_found() -> None:
    assert circle_among({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    lazily = Path("loaders/formats/by_name.py")
    assert "loaders/reading/byte_file.py" in set(imported(lazily)) - set(imported(lazily, outside_functions))
    for_types = Path("loaders/source.py")
    assert "loaders/reading/lines.py" in set(imported(for_types, outside_functions))


def test_no_module_is_too_long_and_no_folder_too_small() -> None:
    lines = {module: len((ROOT / module).read_text(encoding="utf-8").splitlines()) for module in modules()}
    assert [f"{module}: {number} lines" for module, number in lines.items() if number > MAX_LINES] == []
    folders: dict[Path, list[int]] = {}
    for module, number in lines.items():
        if module.name != "__init__.py" and module.parent.name != "cypher":
            folders.setdefault(module.parent, []).append(number)
    small = {
        folder.as_posix()
        for folder, numbers in folders.items()
        if len(numbers) <= 2 and sum(numbers) < MIN_LINES_OF_A_FOLDER and not has_data(ROOT / folder)
    }
    assert small == set()


def test_what_the_page_about_it_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:engine|loaders|models|cypher|tests)/[\w/.]*)`", page)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_no_query_text_in_python() -> None:
    found = [
        f"{module}: {node.value!r}"
        for module in modules()
        for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if any(word in node.value for word in ("MATCH (", "MERGE (", "UNWIND $", "CREATE ("))
    ]
    assert found == []
