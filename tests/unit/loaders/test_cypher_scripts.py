"""Scripts of Cypher: their statements, and what of them is refused before any server starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError, UsageError
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.neo4j_graphs import split_script


def test_a_script_is_split_at_semicolons_that_are_not_in_texts() -> None:
    text = """:begin
CREATE (a:P {name: 'one; two', said: "it's"}); // not; here
/* nor;
here */
CREATE (`b;c`:P
  {x: 1/2});
:commit
RETURN 1"""
    assert [*split_script(text)] == [
        ("CREATE (a:P {name: 'one; two', said: \"it's\"})", 2),
        ("CREATE (`b;c`:P\n  {x: 1/2})", 5),
        ("RETURN 1", 8),
    ]


def test_what_is_refused_before_a_server_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path / "home"))
    script = tmp_path / "web.cypher"
    script.write_text("RETURN 1;\nLOAD CSV WITH HEADERS FROM 'https://example.org/a/people.csv' AS row RETURN row;")
    assert detect_format(str(script)) == "cypher"
    with pytest.raises(UsageError, match="give --run-script"):
        source_class("cypher")(str(script))
    with pytest.raises(InputError, match=r"web.cypher:2: LOAD CSV reads .* put people.csv beside the script"):
        source_class("cypher")(str(script), run_script=True)
    (tmp_path / "x.dump").write_text("no dump")
    with pytest.raises(InputError, match="expected a dump that"):
        source_class("dump")(str(tmp_path / "x.dump"))
    with pytest.raises(InputError, match="no such file"):
        source_class("dump")(str(tmp_path / "none.dump"))
    assert [*(tmp_path / "home").glob("staging/*")] == []
