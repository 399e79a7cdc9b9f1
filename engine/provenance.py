"""Record the code, data and graph that a figure or a checkpoint came from."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from ..models.text.encoders import SentenceEncoder
from ..models.whole_file import file_sha256
from .api import Engine
from .gold_questions import QuestionSet
from .machine import num_cpus
from .neo4j.catalogue import read_graph_state, read_loads
from .recipes.recipe import Recipe

ROOT = Path(__file__).parents[1]
_CODE = ("*.py", "*.cypher", "*.toml", "*.txt", "*.sql", "*.tsv")


def code_sha256() -> str:
    """Return the hash of the package's code, whether it is installed or a checkout."""
    digest = hashlib.sha256()
    for package in ("engine", "models", "cypher"):
        for pattern in _CODE:
            for path in sorted((ROOT / package).rglob(pattern)):
                digest.update(f"{path.relative_to(ROOT).as_posix()}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def commit() -> str | None:
    """Return the commit of the checkout, with ``+`` appended if files were changed; None outside a checkout."""
    if not (ROOT / ".git").exists():
        return None
    try:
        head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "-C", str(ROOT), "diff", "--quiet", "HEAD"], check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed else "")


def provenance(
    engine: Engine, recipe: Recipe, questions: QuestionSet, limit: int | None, topics: str, *, unanswerable: bool
) -> dict[str, Any]:
    """Return everything that identifies a run, in two parts: `what` decides the figures, `where` may change their cost.

    Two runs with the same `what` give the same figures, except where a language model answers differently.
    """
    gateway = engine.gateway()
    state = gateway.fetch(read_graph_state())
    loads = gateway.fetch(read_loads())
    return {
        "what": {
            "dataset": {
                "name": questions.name,
                "format": questions.format,
                "sha256": questions.sha256,
                "num_questions": len(questions.questions),
                "limit": limit,
            },
            "graph": {
                "loads": [{"source": load.source, "sha256": load.sha256, "checksum": load.checksum} for load in loads],
                "num_triples": state.num_triples,
                "num_entities": state.num_entities,
            },
            "recipe": recipe.as_json(),
            "topics": topics,
            "unanswerable": unanswerable,
            "checkpoints": _checkpoints(recipe),
            "encoder": {"name": engine.settings.encoder, "revision": SentenceEncoder(engine.settings.encoder).revision},
            "llm": engine.settings.llm_model if engine.resources.chat_opened else None,
            "code": code_sha256(),
        },
        "where": {
            "lodestar": metadata.version("lodestar-kg"),
            "commit": commit(),
            "neo4j": gateway.version(),
            "python": platform.python_version(),
            "machine": describe_machine(),
        },
    }


def _checkpoints(recipe: Recipe) -> dict[str, str]:
    """Return for each part the hash of its checkpoint's descriptions, which contain the hashes of the other files."""
    folders = {name: getattr(part, "checkpoint", "") for name, part in recipe.parts.items()}
    return {
        name: " ".join(file_sha256(file) for file in sorted(Path(folder).glob("*.json")))
        for name, folder in folders.items()
        if folder
    }


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, memory and GPU."""
    import psutil

    torch = sys.modules.get("torch")  # what was not imported computed nothing
    return {
        "processor": _processor(),
        "num_cores": num_cpus(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "gpu": torch.cuda.get_device_name() if torch and torch.cuda.is_available() else None,
        "system": platform.platform(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
