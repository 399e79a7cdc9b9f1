"""Methods of the engine that were renamed still work, with a warning."""

from __future__ import annotations

import lodestar
import pytest
from lodestar import Engine


@pytest.mark.parametrize(
    "old, new",
    [
        ("answered", "answer_evidence"),
        ("quoted", "quote"),
        ("described", "read_relations"),
        ("reading", "describe_interpretation"),
    ],
)
def test_an_old_name_gives_the_method_and_a_warning(old: str, new: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine.__new__(Engine)
    assert getattr(engine, old) == getattr(engine, new)
    assert [entry.getMessage() for entry in caplog.records] == [f"Engine.{old} is now Engine.{new}"]


def test_a_name_that_never_was_is_an_error() -> None:
    with pytest.raises(AttributeError, match="'Engine' object has no attribute 'replied'"):
        getattr(Engine.__new__(Engine), "replied")  # noqa: B009


def test_the_old_module_of_langchain_gives_the_class_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        from lodestar.engine.langchain import LodestarRetriever

        assert LodestarRetriever is lodestar.LodestarRetriever
    (entry,) = caplog.records
    assert entry.getMessage().startswith("lodestar.engine.langchain is now lodestar.engine.faces.langchain")
    with pytest.raises(ImportError, match="LodestarReader"):
        from lodestar.engine.langchain import LodestarReader  # noqa: F401
