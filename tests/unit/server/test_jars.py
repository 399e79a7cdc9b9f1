"""The pinned list, and what counts as a jar that is there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from lodestar.engine.errors import DownloadError
from lodestar.engine.neo4j import jars as download
from lodestar.engine.neo4j.jars import NEO4J_VERSION, Jar, JarCache, read_pinned_jars


def a_jar(name: str, content: bytes) -> Jar:
    return Jar("org.example", name, "1.0", "", hashlib.sha256(content).hexdigest(), len(content))


def test_the_list_pins_the_server_and_browser_once_each() -> None:
    jars = read_pinned_jars()
    names = [jar.file_name for jar in jars]
    assert len(names) == len(set(names))
    assert f"neo4j-{NEO4J_VERSION}.jar" in names
    assert any(jar.artifact == "neo4j-browser" for jar in jars)
    assert all(len(jar.sha256) == 64 and jar.size_bytes > 0 for jar in jars)


def test_a_classifier_is_part_of_name_and_address() -> None:
    jar = Jar("io.netty", "netty-epoll", "4.1", "linux-x86_64", "0" * 64, 1)
    assert jar.file_name == "netty-epoll-4.1-linux-x86_64.jar"
    assert jar.url_path == "io/netty/netty-epoll/4.1/netty-epoll-4.1-linux-x86_64.jar"


def test_jars_with_the_right_hash_are_taken_without_a_download(tmp_path: Path) -> None:
    jar = a_jar("a", b"content")
    cache = JarCache(tmp_path, (jar,))
    cache.folder.mkdir(parents=True)
    (cache.folder / jar.file_name).write_bytes(b"content")
    assert cache.missing() == [jar]  # never verified
    assert cache.ensure(progress=False) == [cache.folder / jar.file_name]
    assert cache.missing() == []


def test_a_changed_jar_is_missing(tmp_path: Path) -> None:
    jar = a_jar("a", b"content")
    cache = JarCache(tmp_path, (jar,))
    cache.folder.mkdir(parents=True)
    path = cache.folder / jar.file_name
    path.write_bytes(b"content")
    cache.ensure(progress=False)
    path.write_bytes(b"CONTENT")
    os.utime(path, ns=(1, 1))
    assert cache.missing() == [jar]


@pytest.mark.parametrize("damage", ["", "[]", "{", "\xff"])
def test_a_damaged_record_of_hashes_means_hashing_again(tmp_path: Path, damage: str) -> None:
    jar = a_jar("a", b"content")
    cache = JarCache(tmp_path, (jar,))
    cache.folder.mkdir(parents=True)
    (cache.folder / jar.file_name).write_bytes(b"content")
    cache.ensure(progress=False)
    (cache.folder / "verified.json").write_text(damage, encoding="latin-1")
    assert cache.missing() == [jar]
    cache.ensure(progress=False)
    assert cache.missing() == []


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match=r"cannot be written .*LODESTAR_CACHE"):
        JarCache(tmp_path / "file", (a_jar("a", b"x"),)).ensure(progress=False)


def test_no_room_is_found_out_before_downloading(tmp_path: Path) -> None:
    huge = Jar("org.example", "huge", "1.0", "", "0" * 64, 1 << 60)
    with pytest.raises(DownloadError, match=r"no room .* MB more"):
        JarCache(tmp_path, (huge,)).ensure(progress=False)
    assert not list(tmp_path.rglob("*.jar"))


def test_the_mirror_replaces_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(download.MIRROR_VARIABLE, raising=False)
    assert download.repository_url().startswith("https://")
    monkeypatch.setenv(download.MIRROR_VARIABLE, "https://mirror.example/maven/")
    assert download.repository_url() == "https://mirror.example/maven"


def test_a_mirror_that_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.MIRROR_VARIABLE, "mirror.example")
    with pytest.raises(DownloadError, match="expected an http"):
        download.repository_url()
