"""List the source formats by their command-line names, and detect a file's format."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from ...engine.errors import InputError
from ..source import Source

FORMATS = {
    "csv": "delimited:CsvSource",
    "freebase": "rdf:FreebaseSource",
    "geonames": "geonames:GeonamesSource",
    "gexf": "graphml:gexf_source",
    "graphml": "graphml:graphml_source",
    "metaqa": "delimited:MetaqaSource",
    "ntriples": "rdf:NtriplesSource",
    "parquet": "triples_parquet:ParquetSource",
    "pathquestion": "delimited:PathquestionSource",
    "rog": "question_subgraphs:RogSource",
    "text": "text:TextSource",
    "tsv": "delimited:TsvSource",
}

_BY_ENDING = {".csv": "csv", ".tsv": "tsv", ".jsonl": "rog", ".parquet": "rog", ".graphml": "graphml", ".gexf": "gexf"}
_NOT_TOLD = {"geonames", "text"}
"""Formats that detection cannot find: they are not files, or any text fits."""
_KB = "kb.txt"
_PACKED = ".gz"
_LOOKED_AT_BYTES = 1 << 16

_FREEBASE = re.compile(r"<(?:http://rdf\.freebase\.com/|/)[^>]*>\t<[^>]*>\t.+\t\.$")
_NTRIPLES = re.compile(r"[ \t]*(?:<[^<>]*>|_:\S+)[ \t]*<[^<>]*>[ \t]*[<_\"].*\.[ \t]*(?:#.*)?$")


def source_class(name: str) -> Callable[..., Source]:
    """Return the class of a format's source; each has its own arguments."""
    module, _, class_name = FORMATS[name].partition(":")
    return cast(Callable[..., Source], getattr(import_module(f".{module}", __package__), class_name))


def detect_format(path: str) -> str:
    """Return the format of a file, or of the first of a folder or a pattern, by its name and its first lines.

    Raises `InputError` if that is unclear.
    """
    from ..reading.files import PARQUET, RereadableFile, list_files

    if path == "-" or (path and Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()):
        raise InputError(
            f"{'stdin' if path == '-' else path}: the format of a stream cannot be detected: {_name_one()}"
        )
    path = list_files(path)[0]
    file = RereadableFile(path)
    with file.translate_faults(), file.open_unpacked() as stream:
        start = stream.read(_LOOKED_AT_BYTES) or b""
    if not start:
        raise InputError(f"{path}: the file is empty")
    if start.startswith(PARQUET):
        from .triples_parquet import has_triples

        return "parquet" if has_triples(path) else "rog"
    lines = start.decode("utf-8-sig", "replace").splitlines()
    whole = lines if len(start) < _LOOKED_AT_BYTES or len(lines) == 1 else lines[:-1]
    name = file.name.lower().removesuffix(_PACKED)
    found = _by_name(name, whole) or _by_content(start, [line for line in whole if line.strip()])
    if found is None:
        raise InputError(f"{path}: the format cannot be told from the file: {_name_one()}")
    return found


def _name_one() -> str:
    return f"name one of {', '.join(name for name in FORMATS if name not in _NOT_TOLD)}"


def _by_name(name: str, lines: Sequence[str]) -> str | None:
    if name == _KB:
        return {(2, 0): "metaqa", (0, 2): "pathquestion"}.get((lines[0].count("|"), lines[0].count("\t")))
    return _BY_ENDING.get(Path(name).suffix)


def _by_content(start: bytes, lines: Sequence[str]) -> str | None:
    statements = [line for line in lines if not line.lstrip().startswith("#")]
    if not statements:
        return None
    if statements[0].startswith("{") and '"graph"' in start.decode(errors="replace"):
        return "rog"
    for name in ("graphml", "gexf"):
        if statements[0].lstrip().startswith("<") and any(f"<{name}" in line for line in statements[:5]):
            return name
    for name, pattern in (("freebase", _FREEBASE), ("ntriples", _NTRIPLES)):
        if all(pattern.match(line) for line in statements):
            return name
    for name, separator in (("tsv", "\t"), ("csv", ","), ("metaqa", "|")):
        if all(line.count(separator) == 2 for line in statements):
            return name
    return None
