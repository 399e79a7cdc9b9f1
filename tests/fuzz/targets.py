"""What the fuzzer runs on bytes: each target raises `AssertionError` when something is wrong with them.

`lines`: LineReader against `reference_lines`. `parsers`: the SQL parsers against the reference parsers. `sources`: what reads whole files raises nothing but `InputError`, in one line. `replies`: what
reads a language model's replies raises nothing but `LLMError`, in one line. `trained`: so does what reads checkpoints,
states and mined files with their errors. `settings`: and settings, recipes, the options of a training. `runs`: reports and records of `lodestar
eval`. `indexes`: stored vectors, indexes of entities and of relations are right or made anew.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from lodestar.engine.errors import InputError
from lodestar.loaders.formats.by_name import detect_format
from lodestar.loaders.formats.delimited import CsvSource, TsvSource
from lodestar.loaders.formats.freebase import noise_parameters, read_noise_rules
from lodestar.loaders.formats.graphml import GraphmlSource
from lodestar.loaders.formats.ntriples import ALIASES, NAMES
from lodestar.loaders.formats.question_subgraphs import RogSource
from lodestar.loaders.reading import lines as lines_module
from lodestar.loaders.reading.byte_file import RereadableFile
from lodestar.loaders.reading.lines import LineReader
from lodestar.loaders.source import SourceRowBatches

from tests.fuzz.replies import check_replies
from tests.fuzz.settings import check_settings
from tests.fuzz.stored import check_indexes, check_runs
from tests.fuzz.trained import check_trained
from tests.references import parsers as reference
from tests.references.lines import reference_lines
from tests.references.parsed import delimited_parameters, freebase_parameters, parsed, repr_by_line
from tests.references.parsers import Parsed

RULES = read_noise_rules()
BASE = "http://rdf.freebase.com/ns/"
BASES = rf"^(?:{BASE.replace('.', '[.]')}|/)((?s:.+))$"


@dataclass(frozen=True)
class Case:
    """A parser with parameters, and the reference for them."""

    parser: str
    parameters: Mapping[str, object]
    expected: Callable[[str], list[Parsed]]


CASES = (
    Case(
        "freebase",
        freebase_parameters(["en"], False, RULES),
        lambda t: [reference.freebase(t, ["en"], False, RULES)],
    ),
    Case(
        "freebase",
        freebase_parameters([], True, []),
        lambda t: [reference.freebase(t, [], True, [])],
    ),
    Case(
        "ntriples",
        {"bases": None, "names": list(NAMES), "aliases": list(ALIASES), "languages": ["en"], "all_languages": False},
        lambda t: [reference.ntriples(t, [], NAMES, ALIASES, ["en"], False)],
    ),
    Case(
        "ntriples",
        {
            "bases": BASES,
            "names": [],
            "aliases": ["r"],
            "languages": [],
            "all_languages": True,
        },
        lambda t: [reference.ntriples(t, [BASE, "/"], [], ["r"], [], True)],
    ),
    Case("delimited", delimited_parameters(), lambda t: [reference.delimited(t)]),
    Case(
        "delimited",
        delimited_parameters(separator=",", quoted=True),
        lambda t: [reference.delimited(t, ",", quoted=True)],
    ),
    Case(
        "delimited",
        delimited_parameters(separator="|", literals=False, columns=[3, 1, 2]),
        lambda t: [reference.delimited(t, "|", literals=False, columns=(3, 1, 2))],
    ),
    Case("names", {}, reference.names),
)


def case_and_lines(data: bytes) -> tuple[Case, list[str]]:
    """Return the case that the first byte says, and the lines in the others."""
    text = data[1:].decode("utf-8", "ignore").replace("\0", "")
    return CASES[data[0] % len(CASES) if data else 0], text.split("\n")


def check_case(case: Case, texts: Sequence[str]) -> None:
    found = parsed(case.parser, case.parameters, texts)
    told = [(number, one) for number, text in enumerate(texts, start=1) for one in case.expected(text)]
    for one, other in zip(found, sorted(told, key=repr_by_line), strict=True):
        assert one == other, f"{case.parser}: {texts[other[0] - 1]!r}: found {one[1]}, expected {other[1]}"


def check_parsers(data: bytes, folder: Path) -> None:
    check_case(*case_and_lines(data))


def check_lines(data: bytes, folder: Path) -> None:
    """The first byte is the size of a block, the second whether lines are short."""
    block_bytes, max_line_bytes, raw = 4 + data[0] if data else 4, 20 if data[1:2] < b"\x80" else 1_000_000, data[2:]
    try:
        unpacked = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except (EOFError, gzip.BadGzipFile, zlib.error):
        unpacked = None
    path = folder / "lines"
    path.write_bytes(raw)
    rejects: list[tuple[int, str]] = []
    lines: list[tuple[int, str]] = []
    with (
        patch.object(lines_module, "BLOCK_BYTES", block_bytes),
        patch.object(lines_module, "MAX_LINE_BYTES", max_line_bytes),
    ):
        try:
            for batch in LineReader(str(path)).batches(lambda line, reason, _: rejects.append((line, reason))):
                batch.validate(full=True)
                lines.extend(zip(batch["line"].to_pylist(), batch["text"].to_pylist(), strict=True))
        except InputError as error:
            assert "\n" not in str(error)
            assert (
                unpacked is None or unpacked in {b"", b"\xef\xbb\xbf"} or unpacked[:2] in {b"\xff\xfe", b"\xfe\xff"}
            ), error
            return
    assert unpacked is not None
    assert (lines, rejects) == reference_lines(unpacked, max_line_bytes)


def check_sources(data: bytes, folder: Path) -> None:
    """The first byte says which."""
    path = folder / "source"
    path.write_bytes(data[1:])
    try:
        match (data[0] if data else 0) % 6:
            case 0:
                read_rows(RogSource(str(path)))
            case 1:
                read_rows(GraphmlSource(str(path)))
            case 2:
                noise_parameters(read_noise_rules(RereadableFile(str(path))))
            case 3:
                detect_format(str(path))
            case 4:
                list(TsvSource(str(path)).parts())
            case 5:
                list(CsvSource(str(path)).parts())
    except InputError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < len(str(path)) + 300


def read_rows(source: RogSource | GraphmlSource) -> None:
    for part in source.parts():
        assert isinstance(part, SourceRowBatches)
        for batch in part.batches:
            batch.validate(full=True)


TARGETS: Mapping[str, Callable[[bytes, Path], None]] = {
    "lines": check_lines,
    "parsers": check_parsers,
    "sources": check_sources,
    "replies": check_replies,
    "settings": check_settings,
    "trained": check_trained,
    "runs": check_runs,
    "indexes": check_indexes,
}
