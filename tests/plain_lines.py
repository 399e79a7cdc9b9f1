"""Plain lines beside what the parser of their format makes of them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from lodestar.loaders.plain_lines.encoding import EncodedTriples, PlainForm, split_plain
from lodestar.loaders.reading.lines import LineBlock

from tests.parsed import parsed, rows_of
from tests.reference_parsers import Parsed


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
    ends = np.append(triples.head_codes, triples.tail_codes)
    for terms, used in ((triples.entities, ends), (triples.relations, triples.relation_codes)):
        terms.validate(full=True)
        assert set(used.tolist()) == set(range(len(terms))), "a term is in no triple"
    entities, relations = triples.entities.to_pylist(), triples.relations.to_pylist()
    codes = zip(triples.head_codes, triples.relation_codes, triples.tail_codes, strict=True)
    return [(entities[head], relations[relation], entities[tail]) for head, relation, tail in codes]


def num_plain(
    form: PlainForm, name: str, parameters: Mapping[str, object], texts: Sequence[str], gaps: Sequence[str]
) -> int:
    """Return how many lines are plain, after comparing them and the others with what the parser makes of all."""
    split = split_plain(form, block_of(texts, gaps))
    numbers = set(split.others.numbers.tolist())
    every = parsed(name, parameters, texts)
    plain = [row for at, row in every if at not in numbers]
    assert [Parsed("triple", *triple) for triple in told(split.triples)] == [
        row for row in plain if row.category != "noise"
    ]
    assert split.num_noise == len(plain) - len(split.triples)
    assert rows_of(name, parameters, pa.Table.from_batches([split.others.as_batch()])) == [
        (at, row) for at, row in every if at in numbers
    ]
    return len(plain)
