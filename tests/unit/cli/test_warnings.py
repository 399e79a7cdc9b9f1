from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from lodestar.engine.cli import show_warnings


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    log = logging.getLogger("lodestar")
    before = list(log.handlers)
    yield
    log.handlers[:] = before


def test_a_warning_is_one_harmless_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    show_warnings()
    show_warnings()
    logging.getLogger("lodestar.engine.api").warning("the load of a\x1b[31m\nb did not finish")
    logging.getLogger("lodestar.engine.api").info("not shown")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "lodestar: the load of a\\x1b[31m b did not finish\n")
