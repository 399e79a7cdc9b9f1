"""A server's folder: names, password, deletion, the incoming server's; one graph exchanged for another, cut off at every step."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.errors import EmbeddedServerError, LoadInProgressError, UsageError
from lodestar.engine.neo4j import server_home as graph_files
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.server_home import ServerHome, ServerState, check_instance_name

STATE = ServerState("5.26.30", 7687, 7474, 512, 256, pid=41, started_s=1.5)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "/a", "-a", "_a", "a b", "a.b", "é", "a\n", "a" * 64])
def test_names_that_cannot(name: str) -> None:
    with pytest.raises(UsageError, match="server name"):
        check_instance_name(name)


def test_the_password_is_random_kept_and_private(tmp_path: Path) -> None:
    one, two = ServerHome(tmp_path / "one"), ServerHome(tmp_path / "two")
    for home in (one, two):
        home.create()
    password = one.ensure_password()
    assert len(password) >= 32
    assert password != two.ensure_password()
    assert one.ensure_password() == one.password() == password
    assert stat.S_IMODE(one.password_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(one.folder.stat().st_mode) == 0o700


def test_a_lost_password_is_not_replaced_once_the_server_has_one(tmp_path: Path) -> None:
    home = ServerHome(tmp_path / "one")
    home.create()
    home.ensure_password()
    (home.folder / "data" / "databases" / "system").mkdir(parents=True)
    home.password_file.unlink()
    with pytest.raises(EmbeddedServerError, match="lodestar db reset"):
        home.ensure_password()


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"{\xff", b'{"bolt_port": 1}'])
def test_a_damaged_state_is_no_state(tmp_path: Path, damage: bytes) -> None:
    home = ServerHome(tmp_path / "one")
    home.create()
    (home.folder / "server.json").write_bytes(damage)
    assert home.read_state() is None


def test_deletion_takes_the_folder_and_its_own_leftovers(tmp_path: Path) -> None:
    home = ServerHome(tmp_path / "one")
    home.create()
    home.write_state(STATE)
    (tmp_path / ".one.deleted" / "data").mkdir(parents=True)
    home.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_else_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "thesis.tex").write_text("…")
    home = ServerHome(tmp_path / "one")
    for action in (home.delete, home.create):
        with pytest.raises(EmbeddedServerError, match=r"thesis\.tex"):
            action()
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["thesis.tex"]


@pytest.fixture
def instance(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer("default", tmp_path / "home", tmp_path / "cache")


def test_one_load_at_a_time(instance: EmbeddedServer) -> None:
    with instance.loading() as incoming:
        again = EmbeddedServer(instance.name, instance.servers_dir.parent, instance.jars.folder.parent)
        with pytest.raises(LoadInProgressError, match="another lodestar is loading into 'default'"), again.loading():
            pass
        assert incoming.home.folder.exists()
    with instance.loading():
        pass


def test_a_load_begins_with_an_empty_server_and_leaves_no_graph(instance: EmbeddedServer) -> None:
    incoming = instance.incoming()
    incoming.home.create()
    (incoming.home.logs / "debug.log").write_text("of a load that failed")
    with pytest.raises(ZeroDivisionError), instance.loading() as incoming:
        assert list(incoming.home.logs.iterdir()) == []
        for part in ("databases", "transactions"):
            (incoming.home.data / part / "neo4j").mkdir(parents=True)
        (incoming.home.data / "databases" / "neo4j" / "neostore").touch()
        (incoming.home.logs / "import.log").write_text("why")
        assert incoming.has_graph
        raise ZeroDivisionError
    assert not incoming.has_graph
    assert not (incoming.home.data / "databases" / "neo4j").exists()
    assert (incoming.home.logs / "import.log").read_text() == "why"


PARTS = ("databases", "transactions")


def a_home(folder: Path, graph: str = "") -> ServerHome:
    """Return a home whose users, and whose graph if it is to have one, are told apart by their text."""
    home = ServerHome(folder)
    home.create()
    for part in PARTS:
        (home.data / part / "system").mkdir(parents=True)
        (home.data / part / "system" / "users").write_text(folder.name)
    if graph:
        make_graph(home, graph)
    return home


def make_graph(home: ServerHome, graph: str) -> None:
    for part, file in zip(PARTS, ("neostore", "neostore.transaction.db.0"), strict=True):
        (home.data / part / "neo4j").mkdir(parents=True, exist_ok=True)
        (home.data / part / "neo4j" / file).write_text(graph)


def graph_of(home: ServerHome) -> tuple[str, str]:
    return (
        (home.data / "databases" / "neo4j" / "neostore").read_text(),
        (home.data / "transactions" / "neo4j" / "neostore.transaction.db.0").read_text(),
    )


@pytest.fixture
def homes(tmp_path: Path) -> tuple[ServerHome, ServerHome]:
    """A home with the graph "old", and one with the graph "new"."""
    return a_home(tmp_path / "real", "old"), a_home(tmp_path / "incoming", "new")


def test_an_exchange_takes_the_graph_and_leaves_the_users(homes: tuple[ServerHome, ServerHome]) -> None:
    real, incoming = homes
    graph_files.stage_graph_for_swap(real, incoming)
    graph_files.finish_graph_swap(real)
    graph_files.delete_swap_leftovers(real)
    assert graph_of(real) == ("new", "new")
    assert {path.read_text() for path in real.data.rglob("users")} == {"real"}
    assert not incoming.data.exists()
    assert sorted(path.name for path in real.data.iterdir()) == ["databases", "transactions"]


class Killed(BaseException):
    """The end of the process, as far as the code can tell."""


class Killer:
    """Ends the process before or after the step of this number, a change of a file or a folder being a step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps, self.deadly, self.after = 0, -1, False
        for holder, name in ((os, "mkdir"), (os, "rename"), (os, "unlink"), (os, "rmdir"), (Path, "touch")):
            monkeypatch.setattr(holder, name, self.counted(getattr(holder, name)))

    def counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            number, self.steps = self.steps, self.steps + 1
            if number == self.deadly and not self.after:
                raise Killed
            try:
                return step(*arguments, **options)
            finally:
                if number == self.deadly:
                    raise Killed

        return run

    def will_kill(self, step: int, *, after: bool) -> None:
        self.steps, self.deadly, self.after = 0, step, after

    def is_gone(self) -> None:
        self.deadly = -1


@pytest.fixture
def killer(monkeypatch: pytest.MonkeyPatch) -> Killer:
    return Killer(monkeypatch)


def fresh(tmp_path: Path) -> Iterator[tuple[ServerHome, ServerHome]]:
    while True:
        for name in ("real", "incoming"):
            if (tmp_path / name).exists():
                shutil.rmtree(tmp_path / name)
        yield a_home(tmp_path / "real", "old"), a_home(tmp_path / "incoming", "new")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_graph(tmp_path: Path, killer: Killer, after: bool) -> None:
    outcomes: list[tuple[str, str]] = []
    for step, (real, incoming) in enumerate(fresh(tmp_path)):
        killer.will_kill(step, after=after)
        try:
            graph_files.stage_graph_for_swap(real, incoming)
            graph_files.finish_graph_swap(real)
            graph_files.delete_swap_leftovers(real)
        except Killed:
            killer.is_gone()
        else:
            break
        assert graph_files.has_graph(real)
        graph_files.finish_graph_swap(real)
        outcomes.append(graph_of(real))
        if outcomes[-1] == ("old", "old"):
            assert graph_of(incoming) == ("new", "new")  # nothing of the load is lost
        make_graph(a_home(tmp_path / f"next-{step}"), "next")
        graph_files.delete_swap_leftovers(real)
        graph_files.stage_graph_for_swap(real, ServerHome(tmp_path / f"next-{step}"))
        graph_files.finish_graph_swap(real)
        assert graph_of(real) == ("next", "next")
    assert len(outcomes) > 10
    assert set(outcomes) == ({("new", "new")} if after else {("old", "old"), ("new", "new")})
    assert outcomes == sorted(outcomes, reverse=True)  # never back


def test_a_kill_while_a_kill_is_made_good_loses_nothing(tmp_path: Path, killer: Killer) -> None:
    step = 0
    for step, (real, incoming) in enumerate(fresh(tmp_path)):
        graph_files.stage_graph_for_swap(real, incoming)
        killer.will_kill(2, after=True)
        with pytest.raises(Killed):
            graph_files.finish_graph_swap(real)
        killer.will_kill(step, after=True)
        try:
            graph_files.finish_graph_swap(real)
            graph_files.delete_swap_leftovers(real)
        except Killed:
            killer.is_gone()
            graph_files.finish_graph_swap(real)
        else:
            break
        assert graph_of(real) == ("new", "new")
    assert step > 3


def test_a_half_import_is_no_graph_and_goes(tmp_path: Path) -> None:
    home = a_home(tmp_path / "one", "half")
    home.importing.touch()
    assert not graph_files.has_graph(home)
    with pytest.raises(EmbeddedServerError, match="found no complete one"):
        graph_files.check_graph_complete(home)
    graph_files.finish_graph_swap(home)
    assert not (home.data / "databases" / "neo4j").exists()
    assert (home.data / "databases" / "system").exists()


def test_a_folder_that_cannot_be_renamed_changes_nothing(
    homes: tuple[ServerHome, ServerHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "rename", refused)
    real, incoming = homes
    with pytest.raises(EmbeddedServerError, match="Invalid cross-device link"):
        graph_files.stage_graph_for_swap(real, incoming)
    assert graph_of(real) == ("old", "old")
    assert graph_of(incoming) == ("new", "new")
