"""Plain lines are what the parser of their format makes of them; every other line is left to it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.loaders import delimited, freebase, ntriples
from lodestar.loaders.freebase_noise import NoiseRule, read_noise_rules
from lodestar.loaders.layout import Layout
from lodestar.loaders.line_block import LineBlock
from lodestar.loaders.plain_triples import EncodedTriples, PlainForm, split_plain

from tests import line_strategies as lines
from tests.parsed import delimited_parameters, freebase_parameters, parsed, rows_of
from tests.property.test_parser_laws import BASES, rules
from tests.reference_parsers import Parsed

many = settings(max_examples=60, deadline=None)


def block_of(texts: Sequence[str], gaps: Sequence[str]) -> LineBlock:
    """Return lines as they lie in a file, with something between them that belongs to none."""
    data = io.BytesIO()
    starts, ends = [], []
    for i, text in enumerate(texts):
        starts.append(data.tell())
        data.write(text.encode())
        ends.append(data.tell())
        data.write(gaps[i % len(gaps)].encode() if gaps else b"\n")
    content = np.frombuffer(data.getvalue() + bytes(12), np.uint8)
    numbers = np.arange(1, len(texts) + 1)
    return LineBlock(content, numbers, np.array(starts, np.int64), np.array(ends, np.int64))


def told(triples: EncodedTriples) -> list[tuple[str, str, str]]:
    ends = np.append(triples.heads, triples.tails)
    for terms, used in ((triples.entities, ends), (triples.relations, triples.predicates)):
        terms.validate(full=True)
        assert set(used.tolist()) == set(range(len(terms))), "a term is in no triple"
    entities, relations = triples.entities.to_pylist(), triples.relations.to_pylist()
    codes = zip(triples.heads, triples.predicates, triples.tails, strict=True)
    return [(entities[head], relations[relation], entities[tail]) for head, relation, tail in codes]


def assert_same(
    form: PlainForm, name: str, parameters: Mapping[str, object], texts: Sequence[str], gaps: Sequence[str]
) -> int:
    """Return how many lines were plain."""
    triples, rest = split_plain(form, block_of(texts, gaps))
    left = rows_of(name, parameters, pa.Table.from_batches([rest.as_batch()]))
    plain = [row for row in parsed(name, parameters, texts) if row[0] not in set(rest.numbers.tolist())]
    assert [Parsed("triple", *triple) for triple in told(triples)] == [meaning for _, meaning in plain]
    assert left == [row for row in parsed(name, parameters, texts) if row[0] in set(rest.numbers.tolist())]
    return len(triples)


GAPS = st.lists(st.sampled_from(["\n", "\r\n", "\nrejected\tfor\tits\t.\n", "\n\n"]), max_size=4)


@many
@given(st.lists(lines.FREEBASE, max_size=40), GAPS, rules)
def test_freebase(texts: list[str], gaps: list[str], noise: list[NoiseRule]) -> None:
    parameters = freebase_parameters(["en"], False, noise)
    assert_same(freebase.plain_form(parameters["noise_relations"]), "freebase", parameters, texts, gaps)


@many
@given(st.lists(lines.NTRIPLES, max_size=40), GAPS, st.booleans())
def test_ntriples(texts: list[str], gaps: list[str], based: bool) -> None:
    bases = f"^(?:{'|'.join(map(re.escape, BASES))})((?s:.+))$" if based else None
    parameters = {"bases": bases, "names": ["n"], "aliases": [], "languages": ["en"], "all_languages": False}
    assert_same(ntriples.plain_form(bases), "ntriples", parameters, texts, gaps)


@many
@given(
    st.data(),
    st.sampled_from("\t|, "),
    st.booleans(),
    st.booleans(),
    st.sampled_from([((1, 2, 3), 3), ((3, 1, 2), 3), ((4, 2, 1), 4)]),
    st.sampled_from([0, 1, 3]),
    GAPS,
)
def test_delimited(
    data: st.DataObject,
    separator: str,
    literals: bool,
    quoted: bool,
    columns: tuple[tuple[int, ...], int],
    header_line: int,
    gaps: list[str],
) -> None:
    texts = data.draw(st.lists(lines.delimited(separator), max_size=40))
    layout = Layout(*columns, has_header=header_line > 0, expected="columns")
    parameters = delimited_parameters(
        separator=separator,
        literals=literals,
        quoted=quoted,
        columns=list(layout.columns),
        width=layout.width,
        header_line=header_line,
    )
    form = delimited.plain_form(separator, layout, header_line)
    assert form is not None
    assert_same(form, "delimited", parameters, texts, gaps)


def test_most_lines_are_plain() -> None:
    prefix = "<http://rdf.freebase.com/ns/"
    dump = [f"{prefix}m.{i % 7}>\t{prefix}a.b.{i % 3}>\t{prefix}m.é{i % 5}>\t." for i in range(100)]
    dump += [f'{prefix}m.1>\t{prefix}a.b.c>\t"a"\t.', f"{prefix}m.1>\t{prefix}type.object.name>\t{prefix}m.2>\t."]
    parameters = freebase_parameters(["en"], False, read_noise_rules())
    form = freebase.plain_form(parameters["noise_relations"])
    assert assert_same(form, "freebase", parameters, dump, []) == 100
    statements = [f"<http://a/{i % 7}> <http://r> <http://a/{i % 5}> ." for i in range(100)]
    named: dict[str, object] = {"bases": None, "names": [], "aliases": [], "languages": [], "all_languages": False}
    assert assert_same(ntriples.plain_form(None), "ntriples", named, [*statements, "_:a <http://r> _:b ."], []) == 100
    rows = [f"m.{i % 7}\ta.b|c.d\tm.{i % 5}" for i in range(100)]
    tsv = delimited.plain_form("\t", Layout((1, 2, 3), 3, has_header=False, expected=""), 0)
    assert tsv is not None
    assert assert_same(tsv, "delimited", delimited_parameters(), [*rows, 'a\tb\t"c"@en', "a\tb"], ["\r\n"]) == 100
