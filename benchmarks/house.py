"""Count what tells how easy the code is to live in: lines, modules, names, and the files that a command passes.

    python -m benchmarks.house                                        # lines, modules, names of functions
    python -m benchmarks.house -- ask --name demo "Who ruled Peru?"   # and the files that this command runs

A file counts as passed when code of one of its functions ran, in any thread. Bodies of modules and classes do not
count: they run on import. Nothing here gates.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import statistics
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "loaders", "models")
PARTICIPLES = frozenset(
    "begun broken brought built chosen done drawn driven fed felt found frozen given gone grown heard "
    "held hidden kept known laid led left lost made meant met paid said seen sent shown sold spent "
    "spoken stood taken told thought understood won worn written".split()
)
NOT_PARTICIPLES = frozenset(("embed", "feed", "need", "seed", "exceed", "speed", "proceed", "shed"))


def product_files() -> list[Path]:
    """Return the Python files of the product without any `__init__.py` that holds a docstring alone."""
    found = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return [
        path
        for path in found
        if path.name != "__init__.py" or len(ast.parse(path.read_text(encoding="utf-8")).body) > 1
    ]


def is_participle(name: str) -> bool:
    """Whether the first word of a function's name is a past participle."""
    word = name.strip("_").split("_")[0]
    return word in PARTICIPLES or (word.endswith("ed") and word not in NOT_PARTICIPLES)


def static_figures() -> dict[str, float]:
    """Return lines, modules, their median length and the share of top-level functions named by a participle."""
    files = product_files()
    texts = [path.read_text(encoding="utf-8") for path in files]
    lines = [len(text.splitlines()) for text in texts]
    nodes = [node for text in texts for node in ast.parse(text).body]
    names = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        "lines of Python": sum(lines),
        "modules": len(files),
        "median lines of a module": statistics.median(lines),
        "most lines of a module": max(lines),
        "top-level functions": len(names),
        "share named by a participle": sum(map(is_participle, names)) / len(names),
    }


def passed_files(arguments: list[str]) -> set[Path]:
    """Run a `lodestar` command and return the product files whose functions ran."""
    from lodestar.engine.cli.main import main

    wanted = {str(path): path.relative_to(ROOT) for path in product_files()}
    wanted |= {str(Path(sys.modules["lodestar"].__path__[0]) / path): path for path in wanted.values()}
    found: set[Path] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename in wanted:
            found.add(wanted[code.co_filename])

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        main(arguments, standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def run() -> None:
    """Print the figures, and the files of a command where one is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="*", help="a lodestar command, after --")
    command = parser.parse_args().command
    for name, value in static_figures().items():
        print(f"{name:30} {value:,.3f}" if isinstance(value, float) and value < 1 else f"{name:30} {value:,.0f}")
    if command:
        found = passed_files(command)
        print(f"{'files passed':30} {len(found)}")
        print("\n".join(f"  {path}" for path in sorted(found)))


if __name__ == "__main__":
    run()
