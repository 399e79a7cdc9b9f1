"""A server's folder: names, settings, password, deletion."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from lodestar.engine.errors import EmbeddedServerError, UsageError
from lodestar.engine.neo4j.home import ServerHome, ServerState, check_instance_name

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
