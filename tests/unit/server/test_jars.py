"""The pinned list, and what counts as a jar that is there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from lodestar.engine.errors import DownloadError
from lodestar.engine.neo4j.jars import Jar, JarCache


def a_jar(name: str, content: bytes) -> Jar:
    return Jar("org.example", name, "1.0", "", hashlib.sha256(content).hexdigest(), len(content))


@pytest.mark.parametrize(("content", "is_missing"), [(b"content", False), (b"half", True), (None, True)])
def test_a_jar_of_another_size_is_missing(tmp_path: Path, content: bytes | None, is_missing: bool) -> None:
    jar = a_jar("a", b"content")
    cache = JarCache(tmp_path, (jar,))
    cache.folder.mkdir(parents=True)
    if content is not None:
        (cache.folder / jar.file_name).write_bytes(content)
    assert cache.missing() == ([jar] if is_missing else [])


def test_no_room_is_found_out_before_downloading(tmp_path: Path) -> None:
    huge = Jar("org.example", "huge", "1.0", "", "0" * 64, 1 << 60)
    with pytest.raises(DownloadError, match=r"No space left on device.*: make room"):
        JarCache(tmp_path, (huge,)).ensure(progress=False)
    assert not list(tmp_path.rglob("*.jar"))
