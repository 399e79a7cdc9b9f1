"""An error that comes of Ctrl-C is an interrupt, whatever it is called."""

import sys
import time

import pytest
from lodestar.engine.cli import main as cli
from lodestar.engine.errors import GraphError


def raised_after(first: BaseException, then: Exception, *, translated: bool) -> Exception:
    """The error that comes out where putting things away fails, and where that failure is made one of ours."""
    try:
        try:
            try:
                raise first
            finally:
                raise then
        except Exception as error:
            if translated:
                raise GraphError("the database refused") from error
            raise
    except Exception as error:  # noqa: BLE001 - it is what is looked at
        return error


@pytest.mark.parametrize("translated", [False, True])
def test_what_fails_after_an_interrupt_is_the_interrupt(translated: bool) -> None:
    assert cli.is_interrupt(raised_after(KeyboardInterrupt(), ValueError("half a message"), translated=translated))
    assert not cli.is_interrupt(raised_after(OSError(), ValueError("half a message"), translated=translated))


def test_an_error_with_a_cause_of_its_own_is_the_interrupt_it_was_raised_after() -> None:
    """As the driver's errors are: their cause is what the server says of itself."""
    answer = raised_after(KeyboardInterrupt(), ValueError("half a message"), translated=False)
    answer.__cause__ = OSError("42N01")
    refused = GraphError("refused")
    refused.__cause__ = answer
    assert cli.is_interrupt(refused)
    answer.__context__ = None
    assert not cli.is_interrupt(refused)


@pytest.mark.parametrize("then", [GraphError("refused"), ValueError("half a message"), OSError(5, "gone")])
def test_the_command_ends_as_interrupted(
    then: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def verb(**_: object) -> None:
        raise raised_after(KeyboardInterrupt(), then, translated=False)

    monkeypatch.setattr(cli, "main", verb)
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "lodestar: interrupted\n"


class InterruptedWhilePutAway:
    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_that_python_ignores_comes_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is raised while an object is put away, Python prints and forgets."""

    def verb(**_: object) -> None:
        InterruptedWhilePutAway()
        for _each in range(1_000):
            time.sleep(0.01)

    monkeypatch.setattr(cli, "main", verb)
    before = sys.unraisablehook
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "lodestar: interrupted\n"
    assert sys.unraisablehook is before
