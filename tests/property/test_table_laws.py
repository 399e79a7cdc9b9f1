"""No cell of a table is lost or made another: each is a name, a literal, or what its entity refers to."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lodestar.loaders.formats import source_class

from tests.conftest import examples
from tests.references.read_source import read_source

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)
TEXTS = WORDS.map(str.strip).filter(lambda text: text not in ("", "NULL", "\\N"))
CELLS = (
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.dates().map(str),
    st.sampled_from(["true", "false"]),
    st.sampled_from(["01581", "1e6", "-0.5", "5 km", "$5,000", 'say "so"', "a,b", "a; b", "line\nline", "0x1F", "١٢"]),
    TEXTS,
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[list[str]]]:
    """Two tables: things with keys and columns of one kind of value or mixed ones, and others that refer to them."""
    num = draw(st.integers(1, 6))
    kinds = [draw(st.sampled_from([*CELLS, st.one_of(*CELLS)])) for _ in range(draw(st.integers(1, 4)))]
    columns = [
        [draw(st.one_of(st.just(""), kind) if draw(st.booleans()) else kind) for _ in range(num)] for kind in kinds
    ]
    keys = draw(
        st.lists(
            st.one_of(st.integers(1, 99).map(str), st.sampled_from("ABCDEFGH")), min_size=num, max_size=num, unique=True
        )
    )
    names = [f"thing {number}" for number in range(num)]
    things = [["thing_id", "name", *(f"field{n}" for n in range(len(columns)))]]
    things += [[key, name, *cells] for key, name, *cells in zip(keys, names, *columns, strict=True)]
    parts = [["id", "thing_id", "size"]]
    parts += [[str(1000 + n), draw(st.sampled_from(keys)), str(n)] for n in range(draw(st.integers(0, 5)))]
    return {"things": things, "parts": parts}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=tables(), separator=st.sampled_from(",;\t"), end=st.sampled_from(["\n", "\r\n"]))
def test_every_cell_is_there_as_it_was(made: dict[str, list[list[str]]], separator: str, end: str) -> None:
    with TemporaryDirectory() as folder:
        for name, rows in made.items():
            with (Path(folder) / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
        found = read_source(source_class("tables")(folder))
    said = set(found.triples)
    header, *things = made["things"]
    num_literals = 0
    for key, name, *cells in things:
        id_ = f"thing/{key}"
        assert found.names[id_][0] == name
        for column, cell in zip(header[2:], cells, strict=True):
            if cell and (id_, column, cell) in said:
                num_literals += 1
            elif cell:  # texts that share their parts are lists
                parts_of_cell = {part.strip() for part in re.split("[|;]", cell)} - {""}
                assert len(parts_of_cell) > 1 and {(id_, column, part) for part in parts_of_cell} <= said
                num_literals += len(parts_of_cell)
    for key, thing, size in made["parts"][1:]:
        assert (f"part/{key}", "thing", f"thing/{thing}") in said
        assert (f"part/{key}", "size", size) in said
    assert len(said) == num_literals + len(things) + 3 * len(made["parts"][1:])
