"""Plain lines: triples of entities, or noise, whose terms only have to be cut out. Most lines of most files are plain.

They are not parsed one by one but dictionary-encoded, a block of lines at a time: a term is looked at once in a block,
however often it comes. Every other line is left to the parser of its format, which would make the same of a plain one.
Why: docs/decisions/0014-plain-lines.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import compute

from ..ids_and_names import MAX_ID_BYTES
from ..reading.lines import Chosen, LineBlock

_compute: Any = compute  # its functions are made when it is imported: checkers of types do not know them

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PlainForm:
    """What the plain lines of a file look like. Patterns are of RE2 and match a column in full."""

    separator: str
    """One ASCII character. It stands between any two columns and nowhere else in a line."""
    num_columns: int
    columns: tuple[int, int, int]
    """Of head, relation and tail, from 0."""
    entity: str
    relation: str
    other_relation: str | None = None
    """Relations that `relation` matches and whose lines are not plain all the same."""
    other_tail: str | None = None
    """Tails that `entity` matches and whose lines are not plain all the same."""
    noise: str | None = None
    """Relations of plain lines that are only counted."""
    begin: str = ""
    """The ASCII character that every tail begins with, if there is one."""
    stop: str = ""
    """The ASCII character that the last column is, if it is no term."""
    around: tuple[int, int] = (0, 0)
    """How many bytes of a column stand before and behind its term."""
    bases: str | None = None
    """What of a term is no part of the id: a pattern whose group is the rest."""
    header_line: int = 0
    """The number of a line that is not plain."""


@dataclass(frozen=True, slots=True)
class EncodedTriples:
    """Triples by the positions of their terms: ``entities[head_codes[i]]`` is head `i`. Every term is in a triple."""

    entities: pa.StringArray
    relations: pa.StringArray
    head_codes: Codes
    relation_codes: Codes
    """Positions in `relations`."""
    tail_codes: Codes

    @classmethod
    def of(cls, entities: pa.StringArray, relations: pa.StringArray, codes: Codes) -> Self:
        """Return the triples of an array (number of triples, 3), without terms that are in none."""
        heads, predicates, tails = codes.T
        entities, of_entity = _used(entities, heads, tails)
        relations, of_relation = _used(relations, predicates)
        return cls(entities, relations, of_entity[heads], of_relation[predicates], of_entity[tails])

    def __len__(self) -> int:
        return len(self.head_codes)

    def with_relations(self, wanted: Chosen) -> Self:
        """Return the triples whose relations are wanted."""
        codes = np.stack([self.head_codes, self.relation_codes, self.tail_codes], axis=1)
        return self.of(self.entities, self.relations, codes[wanted[self.relation_codes]])


@dataclass(frozen=True, slots=True)
class SplitLines:
    """What a block of lines has: the triples of plain lines, how many plain ones are noise, and all other lines."""

    triples: EncodedTriples
    num_noise: int
    others: LineBlock


def split_plain(form: PlainForm, block: LineBlock) -> SplitLines:
    """Take the plain lines of a block."""
    starts, is_cut = _columns(form, block)
    if not is_cut.any():
        nothing = pa.array([], pa.string())
        return SplitLines(EncodedTriples.of(nothing, nothing, np.empty((0, 3), np.int32)), 0, block)
    encoded = _as_array(form, block, starts, is_cut).dictionary_encode()
    terms = encoded.dictionary
    codes = np.frombuffer(encoded.indices.buffers()[1], np.int32, starts.size).reshape(starts.shape)
    codes = codes[:, form.columns]
    if not is_cut.all():
        codes = np.where(is_cut[:, np.newaxis], codes, 0)
    are_entities, are_tails, are_relations, are_noise = _checked(form, terms, codes)
    is_plain = is_cut & are_entities[codes[:, 0]] & are_relations[codes[:, 1]] & are_tails[codes[:, 2]]
    is_noise = is_plain & are_noise[codes[:, 1]]
    is_triple = is_plain & ~is_noise
    found = EncodedTriples.of(terms, terms, codes if is_triple.all() else codes[is_triple])
    triples = replace(found, entities=_ids(form, found.entities), relations=_ids(form, found.relations))
    return SplitLines(triples, int(np.count_nonzero(is_noise)), block.only(~is_plain))


def _columns(form: PlainForm, block: LineBlock) -> tuple[npt.NDArray[np.int32], Chosen]:
    """Return where the columns of each line start, and which lines may be plain by their columns.

    The array has a row a line: the start of each column and, when the last one is a term, its end. A line that cannot
    be plain has no columns but its last.
    """
    separators = np.flatnonzero(block.data[: block.ends[-1] if len(block.ends) else 0] == ord(form.separator))
    num_separators = form.num_columns - 1
    first = np.searchsorted(separators, block.starts)
    is_cut: Chosen = np.diff(first, append=len(separators)) == num_separators
    is_cut &= block.numbers != form.header_line
    starts = np.empty((len(is_cut), form.num_columns + (not form.stop)), np.int32)
    starts[:, 0] = block.starts
    if not is_cut.any():
        return starts, is_cut
    first[~is_cut] = 0
    for column in range(num_separators):
        starts[:, column + 1] = separators[first + column] + 1
    is_cut &= starts[:, num_separators] <= block.ends
    if form.stop:
        is_cut &= (block.ends - starts[:, -1] == 1) & (block.data[starts[:, -1]] == ord(form.stop))
    else:
        starts[:, -1] = block.ends
    if form.begin:
        is_cut &= block.data[starts[:, form.columns[2]]] == ord(form.begin)
    starts[~is_cut, 1:] = starts[~is_cut, :1]
    return starts, is_cut


def _as_array(form: PlainForm, block: LineBlock, starts: npt.NDArray[np.int32], is_cut: Chosen) -> pa.StringArray:
    """Return every column, with the separator behind it, as an array over the block: null where it is no term."""
    is_term = np.zeros(starts.shape, np.bool_)
    for column in form.columns:
        is_term[:, column] = is_cut
    offsets = np.append(starts, np.int32(block.ends[-1]))
    valid = np.packbits(is_term, bitorder="little")
    return pa.Array.from_buffers(
        pa.string(), starts.size, [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(block.data)]
    )


def _checked(form: PlainForm, terms: pa.StringArray, codes: Codes) -> tuple[Chosen, Chosen, Chosen, Chosen]:
    """Return which terms can be heads of plain lines, their tails and their relations, and which of these are noise."""
    is_short = _compute.less_equal(_compute.binary_length(terms), MAX_ID_BYTES)
    are_entities = _compute.and_(is_short, _matched(form, terms, form.entity))
    are_tails = are_entities
    if form.other_tail is not None:
        are_tails = _compute.and_not(are_entities, _matched(form, terms, form.other_tail))
    in_place = np.flatnonzero(np.bincount(codes[:, 1], minlength=len(terms)))
    relations = terms.take(pa.array(in_place))
    fit = _compute.and_(is_short.take(pa.array(in_place)), _matched(form, relations, form.relation))
    if form.other_relation is not None:
        fit = _compute.and_not(fit, _matched(form, relations, form.other_relation))
    are_relations, are_noise = np.zeros((2, len(terms)), np.bool_)
    are_relations[in_place] = fit
    if form.noise is not None:
        are_noise[in_place] = _matched(form, relations, form.noise)
    heads, tails = (each.to_numpy(zero_copy_only=False) for each in (are_entities, are_tails))
    return heads, tails, are_relations, are_noise


def _matched(form: PlainForm, terms: pa.StringArray, pattern: str) -> Any:
    return _compute.match_substring_regex(terms, rf"\A(?:{pattern}){re.escape(form.separator)}?\z")


def _used(terms: pa.StringArray, *codes: Codes) -> tuple[pa.StringArray, Codes]:
    """Return the terms that codes stand for, and the codes of these by the old ones."""
    is_used = np.zeros(len(terms), np.bool_)
    for each in codes:
        is_used[each] = True
    return terms.filter(pa.array(is_used)), np.cumsum(is_used, dtype=np.int32) - np.int32(1)


def _ids(form: PlainForm, terms: pa.StringArray) -> pa.StringArray:
    """Return the ids that terms of a plain line stand for."""
    terms = _compute.utf8_rtrim(terms, form.separator)
    before, behind = form.around
    if before or behind:
        terms = _compute.binary_slice(terms.view(pa.binary()), before, -behind or None).view(pa.string())
    return _compute.replace_substring_regex(terms, form.bases, r"\1") if form.bases else terms
