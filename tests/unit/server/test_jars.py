"""The pinned list, and what counts as a jar that is there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from lodestar.engine.errors import DownloadError
from lodestar.engine.neo4j.jars import Jar, JarCache


def a_jar(name: str, content: bytes) -> Jar:
    return Jar("org.example", name, "1.0", "", hashlib.sha256(content).hexdigest(), len(content))


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


def test_no_room_is_found_out_before_downloading(tmp_path: Path) -> None:
    huge = Jar("org.example", "huge", "1.0", "", "0" * 64, 1 << 60)
    with pytest.raises(DownloadError, match=r"no room .* MB more"):
        JarCache(tmp_path, (huge,)).ensure(progress=False)
    assert not list(tmp_path.rglob("*.jar"))
