"""Tell the format of a file or a folder by its name and its first lines."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...engine.errors import InputError
from ..reading import PARQUET, RereadableFile, list_files, parquet_columns, unpacked_name
from . import FORMATS
from .columns import NUM_COLUMNS, find_triple_columns
from .rdf import detect_syntax
from .tables import looks_like_tables

_BY_ENDING = {
    ".csv": "csv",
    ".cql": "cypher",
    ".cypher": "cypher",
    ".dump": "dump",
    ".gexf": "gexf",
    ".graphml": "graphml",
    ".obo": "obo",
    ".parquet": "rog",
    ".tsv": "tsv",
}
_UNDETECTED = {"geonames", "neo4j", "text"}  # formats that detection cannot find: no files, or any text fits
_ONE_FILE = {"cypher", "dump", "gexf", "graphml", "json"}  # formats of which a folder is not read
_KB = "kb.txt"
_LOOKED_AT_BYTES = 1 << 16
TEXT_FIELDS = ("text", "contents", "content", "body")
"""The fields of JSON lines that hold a text; `load text` reads the first that is there."""
_FB2M = re.compile(r"(?:www\.)?freebase\.com/[^\t]*\t(?:www\.)?freebase\.com/[^\t]*\t(?:www\.)?freebase\.com/")
_FREEBASE = re.compile(r"<(?:http://rdf\.freebase\.com/|/)[^>]*>\t<[^>]*>\t.+\t\.$")


def detect_format(path: str) -> str:
    """Return the format of a file, or of the first of a folder or a pattern, by its name and its first lines.

    Raises `InputError` if that is unclear.
    """
    if path == "-" or (path and Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()):
        raise InputError(
            f"{'stdin' if path == '-' else path}: the format of a stream cannot be detected: {_name_one()}"
        )
    if looks_like_tables(path):
        return "tables"
    files = list_files(path)
    firsts = {Path(unpacked_name(each)).suffix: each for each in reversed(files)}  # one of each ending
    found = {each: _detect(each) for each in sorted(firsts.values())}
    kinds = {kind: each for each, kind in reversed(found.items()) if kind in FORMATS}
    if len(kinds) > 1 or (kinds.keys() & _ONE_FILE and files != [path]):
        listed = ", ".join(f"{each} ({kind})" for kind, each in reversed(kinds.items()))
        raise InputError(f"{path}: expected files of one kind, found {listed}: name one, or a pattern as '*.ttl'")
    if not kinds:
        raise InputError(f"{files[0]}: {found[files[0]]}")
    return next(iter(kinds))


def _detect(path: str) -> str:
    file = RereadableFile(path)
    start = file.first_bytes(_LOOKED_AT_BYTES)
    if not start:
        return "the file is empty"
    if looks_like_tables(path):
        return "tables"
    if start.startswith(PARQUET):
        return "parquet" if find_triple_columns(parquet_columns(file)) else "rog"
    lines = start.decode("utf-8", "replace").splitlines()
    whole = lines if len(start) < _LOOKED_AT_BYTES or len(lines) == 1 else lines[:-1]
    name = Path(unpacked_name(path)).name.lower()
    by_name = _BY_ENDING.get(Path(name).suffix)
    if name == _KB:
        by_name = {(2, 0): "metaqa", (0, 2): "pathquestion"}.get((whole[0].count("|"), whole[0].count("\t")))
    found = by_name or _by_content(name, start, [line for line in whole if line.strip()])
    foreign = (advice for pattern, advice in _FOREIGN if re.search(pattern, start[:8_000]))
    return found or next(foreign, f"the format cannot be told from the file: {_name_one()}")


def _name_one() -> str:
    return f"name one of {', '.join(name for name in FORMATS if name not in _UNDETECTED)}"


def _by_content(name: str, start: bytes, lines: Sequence[str]) -> str | None:
    text = start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text[:1] in ("{", "[") and (of_json := _of_json(text)):
        return of_json
    statements = [line for line in lines if not line.lstrip().startswith("#")] or [""]
    first = statements[0].lstrip()
    tests = {
        "graphml": first.startswith("<") and any("<graphml" in line for line in statements[:5]),
        "gexf": first.startswith("<") and any("<gexf" in line for line in statements[:5]),
        "obo": any(line.startswith("format-version:") for line in statements[:5]) or "[Term]" in statements,
        "fb2m": all(map(_FB2M.match, statements)),
        "freebase": all(map(_FREEBASE.match, statements)),
        "rdf": detect_syntax(name, start) is not None,
        "tsv": all(line.count("\t") == 2 for line in statements),
        "csv": first[:1] not in "<{[" and all(line.count(",") == 2 for line in statements),
        "metaqa": all(line.count("|") == 2 for line in statements),
    }
    return next((kind for kind, fits in tests.items() if fits), None)


def _of_json(text: str) -> str | None:  # noqa: PLR0911 - a line a form
    if re.search(r'"nodes"\s*:\s*\[', text) or re.match(r'\{[^\n]*"type"\s*:\s*"(?:node|relationship)"', text):
        return "json"
    if re.search(r'"(?:sub)?graph"\s*:', text):
        return "rog"
    if re.match(r'\[?\s*\{(?:[^\n]*"type"\s*:\s*"(?:item|property)"|\s*"entities"\s*:)', text) and '"labels"' in text:
        return "wikidata"
    if re.search(r'"@(?:context|id|graph)"\s*:', text):
        return "rdf"
    for begin in (text, text.lstrip("[").lstrip()):
        with suppress(ValueError, RecursionError):
            record, _ = json.JSONDecoder().raw_decode(begin)
            while isinstance(record, list) and record and isinstance(record[0], list | dict):
                record = record[0]
            if isinstance(record, list):
                return "jsonl" if len(record) == NUM_COLUMNS and all(isinstance(each, str) for each in record) else None
            if not isinstance(record, dict) or "question" in record or {*record} & {*TEXT_FIELDS}:
                return None
            return "jsonl" if find_triple_columns(list(record)) else "tables"
    return "tables" if re.match(r'\{\s*"[^"]+"\s*:\s*\[\s*\{', text) else None


_BY_NETWORKX = "this is DOT, GML or Pajek: NetworkX reads it, and `networkx.write_graphml` writes what is read here"
_OPENKE = (
    "this is OpenKE's numbering: write a TSV of train2id.txt's triples, with the names that entity2id.txt and "
    "relation2id.txt have for the numbers"
)
_FOREIGN = (
    (rb"<Ontology\b[^>]*owl#", "this is OWL/XML: `robot convert --input it --output it.ttl` makes Turtle of it"),
    (rb"\AOntology\(|\APrefix\(:?", "this is OWL in functional syntax: `robot convert` makes Turtle of it"),
    (rb"(?m)^Class: |^Ontology: ", "this is OWL in Manchester syntax: `robot convert` makes Turtle of it"),
    (rb"<obo>|<obo\s", "this is OBO-XML: `robot convert` makes Turtle of it"),
    (rb"(?s)\A.{257}ustar", "this is a tar archive: unpack it and load its folder"),
    (rb"\A\xd0\xcf\x11\xe0", "this is an Excel workbook: save its sheets as CSV"),
    (rb"\A%PDF|\A\{\\rtf", "this is a document: save it as text or as tables"),
    (rb"\A\d+\r?\n[^\t\n]+\t\d+\r?\n", _OPENKE),
    (rb"(?i)\A\s*<(?:!doctype )?html", "this is a web page: save the data that it shows, as CSV or JSON-LD"),
    (rb"\A\s*(?:strict )?(?:di)?graph\b|\A\s*(?:Creator.*\s+)?graph\s*\[|\A\*[Vv]ertices", _BY_NETWORKX),
    (rb"(?im)^(?:create table|insert into)\b", "this is a dump of SQL: run it in SQLite, and load the database's file"),
    (rb'\A[\[{][^\n]*"question"', "these are questions: `lodestar eval` reads them"),
    (rb"\A\s*<\?xml", "this is XML of a form that is not read: make CSV or JSON of it"),
    (rb"\A(?:---\s|- \w+:)", "this is YAML: make JSON of it"),
    (rb"\AHDT|\A\$HDT", "this is HDT: `hdt2rdf` makes N-Triples of it"),
)
"""Formats that are not read, by how their files look, and how to convert them."""
