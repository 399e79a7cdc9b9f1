"""The direction of imports: engine's command line → loaders → engine → models, cypher; models import no database."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGES = ("engine", "loaders", "models", "cypher")

BASE = {"engine/database", "engine/errors.py", "engine/steps.py", "engine/values.py"}

# What a place may import from, of Lodestar; the most particular place counts.
ALLOWED = {
    "cypher": set[str](),
    "models": {"models"},
    "engine": {"engine", "models", "cypher"},
    "engine/cli": {"engine", "loaders", "models"},
    "engine/values.py": {"engine/errors.py"},
    "engine/errors.py": set[str](),
    "engine/steps.py": {"engine/database/requests.py", "engine/chat/prompts.py"},
    "engine/progress": {"engine/progress"},
    "engine/chat": {"engine/chat", "engine/errors.py", "engine/settings.py", "engine/values.py"},
    "engine/chat/local.py": {"engine/chat", "engine/errors.py", "engine/values.py", "models/causal_lm.py"},
    "engine/chat/gateway.py": {
        "engine/chat",
        "engine/errors.py",
        "engine/settings.py",
        "models/causal_lm.py",
    },
    "engine/chat/prompts.py": {"engine/errors.py", "engine/values.py"},
    "engine/database": {*BASE, "cypher"},
    "engine/evidence": {"engine/evidence", *BASE, "engine/chat/prompts.py"},
    "engine/linking": {"engine/linking", *BASE, "engine/entities", "engine/literals.py", "engine/stages.py", "models"},
    "engine/entities": {
        "engine/entities",
        *BASE,
        "engine/progress",
        "engine/relations/words.py",
        "engine/server/file_lock.py",
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
        "engine/chat/prompts.py",
        "engine/evidence",
        "engine/linking/topics.py",
        "engine/retrieval/scoring.py",
        "engine/retrieval/subgraph",
        "engine/retrieval/triples.py",
        "models",
    },
    "engine/answering": {
        "engine/whole_file.py",
        "engine/reorganising/adaptive.py",
        "engine/retrieval/hops.py",
        "engine/retrieval/scoring.py",
        "engine/answering",
        *BASE,
        "engine/chat/prompts.py",
        "engine/evidence",
        "engine/stages.py",
        "models",
    },
    "engine/stages.py": {*BASE, "engine/evidence"},
    "engine/combinators.py": {*BASE, "engine/evidence", "engine/stages.py", "models"},
    "engine/pipeline.py": {
        *BASE,
        "engine/evidence",
        "engine/linking/by_name.py",
        "engine/linking/topics.py",
        "engine/stages.py",
    },
    "engine/questions": {"engine/questions", *BASE, "engine/literals.py"},
    "engine/relations": {"engine/relations", "engine/settings.py", *BASE, "models"},
    "engine/supervision": {
        *BASE,
        "engine/supervision",
        "engine/answering/llm.py",
        "engine/answering/reply.py",
        "engine/api.py",
        "engine/chat",
        "engine/evidence",
        "engine/progress",
        "engine/questions",
        "engine/relations",
        "engine/retrieval",
        "engine/settings.py",
        "engine/whole_file.py",
        "models",
    },
    "engine/evaluation": {"engine", "models", "cypher"},
    "loaders": {
        "loaders",
        "cypher",
        "engine/values.py",
        "engine/errors.py",
        "engine/literals.py",
        "engine/settings.py",
        "engine/database",
        "engine/linking/initials.py",
        "engine/linking/tokens.py",
        "engine/progress",
        "engine/questions/gold.py",
        "engine/server",
        "models/whole_file.py",
    },
}
NO_DATABASE = {"neo4j"}

MAX_FILES = 15
"""Of Python, in one folder, but for `__init__.py`."""
LARGER = {"engine": "what all its folders build on: errors, settings, values, steps, stages, pipeline; and its faces"}
"""Folders that have more all the same, and why."""


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


def rule_for(module: Path) -> set[str]:
    place = max((p for p in ALLOWED if module.as_posix() == p or module.as_posix().startswith(f"{p}/")), key=len)
    return ALLOWED[place]


@pytest.mark.parametrize("module", modules(), ids=str)
def test_imports_run_one_way(module: Path) -> None:
    allowed = rule_for(module)
    for name in imported(module):
        assert not name.startswith("lodestar"), f"{module} imports {name}: inside, imports are relative"
        if (ROOT / name).exists() and name.split("/")[0] in PACKAGES:
            assert any(name == a or name.startswith(f"{a}/") for a in allowed), f"{module} imports {name}"
        if module.parts[0] == "models":
            assert name.split(".")[0] not in NO_DATABASE, f"{module} imports {name}"


@pytest.mark.parametrize("module", modules(), ids=str)
def test_only_the_command_line_imports_the_evaluation(module: Path) -> None:
    """What is evaluated, and what teaches it, must not know what judges it."""
    if module.parts[:2] not in {("engine", "evaluation"), ("engine", "cli")}:
        assert not any(name.startswith("engine/evaluation") for name in imported(module))


def test_the_rules_can_fail() -> None:
    assert "engine/values.py" in set(imported(Path("engine/linking/full_text.py")))
    assert any(name.startswith("engine/evaluation") for name in imported(Path("engine/cli/eval.py")))
    assert "neo4j" in set(imported(Path("engine/database/gateway.py")))


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


def test_no_folder_has_more_files_than_one_takes_in() -> None:
    numbers = Counter(module.parent.as_posix() for module in modules() if module.name != "__init__.py")
    assert {folder for folder, number in numbers.items() if number > MAX_FILES} == set(LARGER)


def test_what_the_page_about_it_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:engine|loaders|models|cypher|tests)/[\w/.]*)`", page)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("module", modules(), ids=str)
def test_no_query_text_in_python(module: Path) -> None:
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            assert not any(word in text for word in ("MATCH (", "MERGE (", "UNWIND $", "CREATE (")), (
                f"{module}: {text!r}"
            )
