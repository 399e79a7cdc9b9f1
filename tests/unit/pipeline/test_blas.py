"""What a call computes is computed with one BLAS thread; then the limit before holds again."""

from pathlib import Path
from typing import Any

from lodestar.engine.evidence import Answer
from threadpoolctl import ThreadpoolController

from tests.fakes.memory_engine import open_engine


def num_threads() -> set[int]:
    """Threads of NumPy's BLAS; another library may have loaded one of its own later."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries if "numpy" in library["filepath"]}


def test_a_call_computes_with_one_blas_thread(tmp_path: Path) -> None:
    seen: list[set[int]] = []

    def answer(_ctx: Any, evidence: Any) -> list[Answer]:
        seen.append(num_threads())
        return [Answer(each, (), "", "none") for each in evidence]

    with (
        open_engine(tmp_path, "similarity") as engine,
        ThreadpoolController().select(user_api="blas").limit(limits=2),
    ):
        engine._own = {"answerer": answer}
        engine.ask("What is the capital of Peru?")
        assert seen == [{1}]
        assert num_threads() == {2}
