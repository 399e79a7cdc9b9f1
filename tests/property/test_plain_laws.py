"""Plain lines are what the parser of their format makes of them; every other line is left to it."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.loaders.formats import delimited, freebase, ntriples
from lodestar.loaders.formats.delimited import Layout, value_pattern
from lodestar.loaders.formats.freebase import NoiseRule, read_noise_rules

from tests import line_strategies as lines
from tests.examples import examples
from tests.parsed import delimited_parameters, freebase_parameters
from tests.plain_lines import num_plain
from tests.property.test_parser_laws import BASES, rules

many = settings(max_examples=examples(20), deadline=None)


GAPS = st.lists(
    st.sampled_from(["\n", "\r\n", "\nrejected\tfor\tits\t.\n", "\nno\tline\n", "\na|b,c d\n", "\n\n"]), max_size=4
)


@many
@given(st.lists(lines.FREEBASE, max_size=40), GAPS, rules)
def test_freebase(texts: list[str], gaps: list[str], noise: list[NoiseRule]) -> None:
    parameters = freebase_parameters(["en"], False, noise)
    num_plain(freebase.plain_form(parameters), "freebase", parameters, texts, gaps)


@many
@given(st.lists(lines.NTRIPLES, max_size=40), GAPS, st.booleans())
def test_ntriples(texts: list[str], gaps: list[str], based: bool) -> None:
    bases = f"^(?:{'|'.join(map(re.escape, BASES))})((?s:.+))$" if based else None
    parameters = {"bases": bases, "names": ["n"], "aliases": [], "languages": ["en"], "all_languages": False}
    num_plain(ntriples.plain_form(bases), "ntriples", parameters, texts, gaps)


@many
@given(
    st.data(),
    st.sampled_from("\t|, "),
    st.booleans(),
    st.booleans(),
    st.sampled_from([((1, 2, 3), 3), ((3, 1, 2), 3), ((4, 2, 1), 4)]),
    st.sampled_from([0, 1, 3]),
    GAPS,
    st.sampled_from([None, value_pattern("auto", ())]),
)
def test_delimited(
    data: st.DataObject,
    separator: str,
    literals: bool,
    quoted: bool,
    columns: tuple[tuple[int, ...], int],
    header_line: int,
    gaps: list[str],
    pattern: str | None,
) -> None:
    texts = data.draw(st.lists(lines.delimited(separator, quoted), max_size=40))
    layout = Layout(*columns, has_header=header_line > 0, expected="columns")
    parameters = delimited_parameters(
        separator=separator,
        literals=literals,
        quoted=quoted,
        columns=list(layout.columns),
        width=layout.width,
        header_line=header_line,
        value_pattern=pattern,
    )
    form = delimited.plain_form(separator, layout, header_line, quoted=quoted, value_pattern=pattern)
    assert (form is None) == (quoted and layout.width > 3)
    if form:
        num_plain(form, "delimited", parameters, texts, gaps)


def test_most_lines_are_plain() -> None:
    prefix = "<http://rdf.freebase.com/ns/"
    dump = [f"{prefix}m.{i % 7}>\t{prefix}a.b.{i % 3}>\t{prefix}m.é{i % 5}>\t." for i in range(100)]
    dump += [f"{prefix}m.1>\t{prefix}type.type.instance>\t{prefix}m.{i}>\t." for i in range(20)]
    dump += [f'{prefix}m.1>\t{prefix}a.b.c>\t"a"\t.', f"{prefix}m.1>\t{prefix}type.object.name>\t{prefix}m.2>\t."]
    parameters = freebase_parameters(["en"], False, read_noise_rules())
    form = freebase.plain_form(parameters)
    assert num_plain(form, "freebase", parameters, dump, []) == 120
    statements = [f"<http://a/{i % 7}> <http://r> <http://a/{i % 5}> ." for i in range(100)]
    named: dict[str, object] = {"bases": None, "names": [], "aliases": [], "languages": [], "all_languages": False}
    assert num_plain(ntriples.plain_form(None), "ntriples", named, [*statements, "_:a <http://r> _:b ."], []) == 100
    rows = [f"m.{i % 7}\ta.b|c.d\tm.{i % 5}" for i in range(100)]
    tsv = delimited.plain_form("\t", Layout((1, 2, 3), 3, has_header=False, expected=""), 0, quoted=False)
    assert tsv is not None
    assert num_plain(tsv, "delimited", delimited_parameters(), [*rows, 'a\tb\t"c"@en', "a\tb"], ["\r\n"]) == 100
