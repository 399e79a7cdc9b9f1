"""What steps compute is computed with one BLAS thread; then the limit before holds again."""

from lodestar.engine.steps import Steps, run_steps
from threadpoolctl import ThreadpoolController


def num_threads() -> set[int]:
    """Threads of NumPy's BLAS; another library may have loaded one of its own later."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries if "numpy" in library["filepath"]}


def test_steps_compute_with_one_blas_thread() -> None:
    import numpy as np  # noqa: F401 - its library is the one that is limited

    def steps() -> Steps[set[int]]:
        yield ()
        return num_threads()

    with ThreadpoolController().select(user_api="blas").limit(limits=2):
        assert run_steps(steps(), lambda _: []) == {1}
        assert num_threads() == {2}
