"""Read RDF in all its syntaxes: N-Triples, N-Quads, Turtle, TriG, RDF/XML with OWL, JSON-LD and N3, by pyoxigraph.

A triple is one, whatever graph it is in: names of graphs are dropped and counted. A blank node belongs to its file. A
triple term (RDF 1.2) becomes an unnamed record, its reifier, between head and tail. Axioms of OWL that say something of
individuals or classes become plain triples (`formats/ontology.py`), the rest is counted. Nothing is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedReader, RawIOBase
from itertools import groupby
from pathlib import Path
from typing import Any, cast
from xml.parsers import expat

import pyarrow as pa
from pyarrow import compute
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from ...engine.errors import InputError
from ...engine.writing.records import RelationFacts
from ...models.message_text import quote_line
from ..naming import ALIAS_RELATIONS, NAME_RELATIONS, Languages
from ..reading.files import MAX_RECORD_BYTES, PACKED_ENDINGS, RereadableFile, derive_source_name, list_files
from ..source import (
    BATCH_ROWS,
    ROWS,
    FileSource,
    Part,
    SourceRowBatches,
    StatementRow,
    reject_row,
    row_batches,
    split_batches,
)
from .ontology import Ontology, is_ontology

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_STRING = "http://www.w3.org/2001/XMLSchema#string"
_NO_LANGUAGE = f"{RDF}langString"
_REIFIES = f"{RDF}reifies"
_RELATIVE = "relative-iri-of-lodestar:/"
"""The base of JSON-LD that has none: IRIs that begin with it are relative, which the parser would drop in silence."""
_SCHEMA_ORG = re.compile(r"https?://schema\.org/?(?:docs/jsonldcontext\.jsonld?)?")
pc: Any = compute  # its stubs lack most functions
_BLOCK = 1 << 20
_LOOKED_AT = 1 << 16
_SPACED = re.compile(rb'<([^<>"]* [^<>"]*)>')
_ANONYMOUS = re.compile(r"[0-9a-f]{20,32}")

SYNTAXES = {
    ".nt": RdfFormat.N_QUADS,
    ".nq": RdfFormat.N_QUADS,
    ".ttl": RdfFormat.TURTLE,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
    ".n3": RdfFormat.N3,
}
"""By the ends of names. Triples are quads without a graph; OWL files may have any syntax."""
_QUADS = re.compile(r"\s*(?:<[^<>]*>|_:\S+)\s*<[^<>]*>\s*[<_\"].*\.\s*(?:#.*)?$")


def detect_syntax(name: str, start: bytes) -> RdfFormat | None:
    """Return the syntax of a file by its name and its first bytes; None where it is not RDF."""
    text = start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    by_name = SYNTAXES.get(Path(name.lower()).suffix)
    if text.startswith("<") and re.search(r"<(?:\w+:)?RDF\b|22-rdf-syntax-ns#", text[:8_000]) and "<html" not in text:
        return by_name if by_name == RdfFormat.N_QUADS else RdfFormat.RDF_XML
    if text.startswith(("{", "[")) and re.search(r'"@(?:context|id|graph|type)"\s*:', text):
        return RdfFormat.JSON_LD
    lines = [line for line in text.splitlines()[:100] if line.strip() and not line.lstrip().startswith("#")]
    if lines and all(map(_QUADS.match, lines[:-1] or lines)):
        return RdfFormat.N_QUADS
    if by_name is not None and by_name != RdfFormat.RDF_XML:
        return by_name
    if re.match(r"(?i:@?prefix|@?base)\s", lines[0].lstrip() if lines else ""):
        return RdfFormat.TRIG if re.search(r"(?m)^\s*(?:GRAPH\s.*|\S+\s*)\{", text) else RdfFormat.TURTLE
    return None


class RdfSource(FileSource):
    """A file (``-`` is standard input), a folder or a pattern of files of any syntax, packed or not.

    An IRI's part after a base is the id or the relation; relative IRIs are resolved by the first base where the file
    has none. Literals of `name_relations` (whole IRIs) are names, the first relation before the next.
    """

    kind = "rdf"
    unnamed_ids = None
    names_from_ids = True

    def __init__(
        self,
        path: str,
        *,
        bases: Sequence[str] = (),
        name_relations: Sequence[str] = (),
        languages: Sequence[str] = ("en",),
        shared_blank_nodes: bool = False,
    ) -> None:
        self._bases = tuple(dict.fromkeys(filter(None, bases)))
        self.name_relations = (*name_relations, *(each for each in NAME_RELATIONS if each not in name_relations))
        self._chosen = Languages.of(languages)
        self.languages, self.all_languages = self._chosen.preferred, self._chosen.all_others
        self._shared = shared_blank_nodes
        files = list_files(path)
        self._files = [RereadableFile(each) for each in files]
        self._facts: dict[str, RelationFacts] = {}
        super().__init__(self._files, derive_source_name(path, files))

    def options(self) -> Mapping[str, object]:
        return {
            "bases": list(self._bases),
            "names": list(self.name_relations),
            "languages": self._chosen.as_options(),
            "shared_blank_nodes": self._shared,
        }

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        return self._facts

    def parts(self) -> Iterator[Part]:
        for file in self._files:
            yield SourceRowBatches(file.shown, self._batches(file), unit="statement")

    def _batches(self, file: RereadableFile) -> Iterator[pa.RecordBatch]:
        with file.open_unpacked() as stream, file.translate_faults():
            head = BufferedReader(cast(Any, stream), _LOOKED_AT)
            start = head.peek(_LOOKED_AT)
            if not start:
                raise InputError(f"{file.shown}: the file is empty")
            name = file.name
            for packed in PACKED_ENDINGS:
                name = name.removesuffix(packed)
            syntax = detect_syntax(name, start)
            if syntax is None:
                raise InputError(f"{file.shown}: expected RDF, found another kind of file")
            terms = _Terms(self, file, "" if self._shared else f"{file.digest()[:8]}_", syntax)
            ontology = Ontology() if is_ontology(start) else None
            quads = _quads(file, head, syntax, self._bases)
            for chunk in split_batches(quads if ontology is None else _types_first(quads), BATCH_ROWS):
                plain = terms.plain_batch(chunk) if ontology is None else None
                yield from row_batches(_statements(chunk, terms, ontology)) if plain is None else (plain,)
            if ontology is not None:
                yield from row_batches(map(terms.row, ontology.last_triples()))
                yield from row_batches(StatementRow(0, "axiom") for _ in range(ontology.num_axioms))
                self._facts |= {
                    terms.without_base(name): RelationFacts(*(each and terms.without_base(each) for each in facts))
                    for name, facts in ontology.facts().items()
                }


def _statements(
    quads: Iterable[Quad | tuple[int, str]], terms: _Terms, ontology: Ontology | None
) -> Iterator[StatementRow]:
    """Yield the rows of quads, and of faults, which are a line and a reason; names of graphs are counted once each."""
    for quad in quads:
        if isinstance(quad, tuple):
            yield reject_row(quad[0], quad[1], "")
            continue
        subject, predicate, object_, graph = quad
        if not isinstance(graph, (NamedNode, BlankNode)):
            pass
        elif terms.syntax == RdfFormat.N3:
            yield StatementRow(0, "triple in a formula")
            continue
        elif graph.value not in terms.graphs:
            terms.graphs.add(graph.value)
            yield StatementRow(0, "name of a graph")
        if isinstance(object_, Triple):
            if predicate.value != _REIFIES or isinstance(subject, Triple):
                yield StatementRow(0, "quoted triple")
                continue
            quoted_subject, quoted_predicate, quoted_object = object_
            yield terms.row((quoted_subject, quoted_predicate, subject))
            yield terms.row((subject, quoted_predicate, quoted_object))
        elif isinstance(subject, Triple) or isinstance(predicate, Triple):
            yield StatementRow(0, "quoted triple")
        elif ontology is None or not ontology.takes(subject, predicate, object_):
            yield terms.row((subject, predicate, object_))


def _types_first(quads: Iterable[Quad | tuple[int, str]]) -> Iterator[Quad | tuple[int, str]]:
    """Yield what follows each other about a subject with its types first: they tell whether it is a relation."""
    for _, group in groupby(quads, lambda quad: quad if isinstance(quad, tuple) else quad.subject):
        yield from sorted(group, key=lambda quad: isinstance(quad, tuple) or quad.predicate.value != f"{RDF}type")


class _Terms:
    """Writes terms as ids, relations and literals."""

    def __init__(self, source: RdfSource, file: RereadableFile, scope: str, syntax: RdfFormat) -> None:
        self.syntax = syntax
        self._file = file
        self._spaced: dict[str, int] | None = None
        self.graphs: set[str] = set()
        """The names of graphs so far."""
        self._scope = scope
        self._names = frozenset(source.name_relations)
        self._bases = tuple(sorted(source._bases, key=len, reverse=True))
        self._anonymous: dict[str, str] = {}
        self._line = 0

    def row(self, triple: tuple[Any, Any, Any]) -> StatementRow:
        head, predicate, tail = triple
        self._line += 1
        relation = predicate.value
        spaced = [each.value for each in triple if " " in each.value and type(each) is NamedNode]
        if spaced and (line := max(self._spaced_iris().get(each, 0) for each in spaced)):
            return reject_row(line, "an IRI has a space in it", f"{head} {predicate} {tail}")
        if type(tail) is not Literal:
            return StatementRow(
                self._line, "triple", self._id(head), self.without_base(relation), self._id(tail), False
            )
        value, datatype, language = tail.value, tail.datatype.value, tail.language
        if relation in self._names or relation in ALIAS_RELATIONS:
            tag = "alias" if relation in ALIAS_RELATIONS else "name"
            category = "name" if value.strip() else "empty name"
            return StatementRow(self._line, category, self._id(head), relation, value, language=language, tag=tag)
        plain = datatype in (_STRING, _NO_LANGUAGE)
        return StatementRow(
            self._line,
            "triple",
            self._id(head),
            self.without_base(relation),
            value,
            True,
            None if plain or language else datatype,
            language,
        )

    def _spaced_iris(self) -> dict[str, int]:
        """Return the IRIs that have a space in the file, which none may but as an escape, and their first lines."""
        if self._spaced is None:
            self._spaced = {}
            with self._file.open_unpacked() as stream:
                reader = BufferedReader(cast(Any, stream), _BLOCK)
                for number, line in enumerate(reader, start=1):
                    for iri in _SPACED.findall(line):
                        self._spaced.setdefault(iri.decode("utf-8", "replace"), number)
        return self._spaced

    def plain_batch(self, quads: Sequence[Any]) -> pa.RecordBatch | None:
        """Return the rows of quads by columns, faster than one by one; None where some are not plain triples."""
        if set(map(type, quads)) != {Quad} or {type(quad.graph_name) for quad in quads} != {DefaultGraph}:
            return None
        subjects, objects = [quad.subject for quad in quads], [quad.object for quad in quads]
        kinds = {*map(type, subjects), *map(type, objects)}
        if Triple in kinds:
            return None
        as_they_are = not self._bases and BlankNode not in kinds
        are_literals = [type(each) is Literal for each in objects]
        relation = pa.array([quad.predicate.value for quad in quads], pa.string())
        head, tail = (
            pa.array([n.value if as_they_are or type(n) is Literal else self._id(n) for n in nodes], pa.string())
            for nodes in (subjects, objects)
        )
        datatype = pa.array([each.datatype.value if type(each) is Literal else None for each in objects], pa.string())
        language = pa.array([each.language if type(each) is Literal else None for each in objects], pa.string())
        literal, no_text = pa.array(are_literals), pa.scalar(None, pa.string())
        of_names = pc.is_in(relation, pa.array(sorted(self._names)))
        of_aliases = pc.is_in(relation, pa.array(sorted(ALIAS_RELATIONS)))
        tag = pc.if_else(pc.and_(literal, of_aliases), "alias", pc.if_else(pc.and_(literal, of_names), "name", no_text))
        is_name = pc.is_valid(tag)
        is_blank = pc.and_(is_name, pc.equal(pc.utf8_trim_whitespace(tail), ""))
        has_space = pc.or_(pc.match_substring(head, " "), pc.and_not(pc.match_substring(tail, " "), literal))
        if pc.any(pc.or_(is_blank, pc.or_(has_space, pc.match_substring(relation, " ")))).as_py():
            return None
        is_plain = pc.or_(pc.is_valid(language), pc.is_in(datatype, pa.array([_STRING, _NO_LANGUAGE])))
        first, self._line = self._line + 1, self._line + len(quads)
        if self._bases:
            short = {name: self.without_base(name) for name in pc.unique(relation).to_pylist()}
            relation = pc.if_else(is_name, relation, pa.array([short[name] for name in relation.to_pylist()]))
        columns = [
            pa.array(range(first, first + len(quads)), pa.int64()),
            pc.if_else(is_name, "name", "triple"),
            head,
            relation,
            tail,
            pc.and_not(literal, is_name),
            pc.if_else(is_plain, no_text, datatype),
            language,
            tag,
            pa.nulls(len(quads), pa.string()),
        ]
        return pa.record_batch(columns, schema=ROWS)

    def without_base(self, iri: str) -> str:
        """Return what follows the longest base that an IRI begins with, else the IRI."""
        for base in self._bases:
            if iri.startswith(base) and len(iri) > len(base):
                return iri[len(base) :]
        return iri

    def _id(self, node: NamedNode | BlankNode) -> str:
        value = node.value
        if type(node) is NamedNode:
            return self.without_base(value) if self._bases else value
        if self.syntax != RdfFormat.N_QUADS and _ANONYMOUS.fullmatch(value):  # made by the parser, new each time
            value = self._anonymous.setdefault(value, f"n{len(self._anonymous)}")
        return f"_:{self._scope}{value}"


def _quads(
    file: RereadableFile, reader: BufferedReader[Any], syntax: RdfFormat, bases: Sequence[str]
) -> Iterator[Quad | tuple[int, str]]:
    """Yield the quads of a file, and in the place of one that cannot be read its line and why.

    Raises `InputError` where the rest of the file cannot be read either.
    """
    source: Any = reader
    base = bases[0] if bases else None
    if syntax == RdfFormat.RDF_XML:
        source = _CheckedXml(file, reader)
    elif syntax == RdfFormat.JSON_LD:
        source = _read_json_ld(file, reader)
        base = base or _RELATIVE
    quads = parse(source, syntax, base_iri=base, lenient=syntax == RdfFormat.N_QUADS)
    while True:
        try:
            quad = next(quads, None)
        except SyntaxError as error:
            reason = _reason(error, syntax)
            is_lost = "UTF-8" in reason or "end of file" in reason or not error.lineno
            if is_lost or syntax in (RdfFormat.RDF_XML, RdfFormat.JSON_LD):
                place = f"{file.shown}:{error.lineno}" if error.lineno else file.shown
                raise InputError(f"{place}: {reason}") from error
            yield error.lineno or 0, reason
            continue
        if quad is None:
            return
        if base == _RELATIVE and _RELATIVE in str(quad):
            raise InputError(
                f"{file.shown}: {quote_line(str(quad).replace(_RELATIVE, ''))}: an IRI is relative and the file has no "
                "base: give one by --base"
            )
        yield quad


def _reason(error: SyntaxError, syntax: RdfFormat) -> str:
    said = re.sub(r"^Parser error (?:at|between) line \d+ [^:]*: ", "", error.msg)
    if "No scheme found" in said:
        return "an IRI is relative and the file has no base: give one by --base"
    if "LoadDocumentCallback" in said:
        return "a context is on the web, and nothing is fetched: put its content in the place of its address"
    if "subject of a triple" in said and syntax == RdfFormat.N_QUADS and error.offset == 1:
        said += " (RDF-star's << … >> as a subject is not read: RDF 1.2 has rdf:reifies for it)"
    return said[:1].lower() + said[1:]


class _CheckedXml(RawIOBase):
    """XML that expat checks as it is read, in UTF-8 for the parser.

    Raises `InputError` with the line of a fault, and for entities that are made of others or are elsewhere.
    """

    def __init__(self, file: RereadableFile, reader: BufferedReader[Any]) -> None:
        self._file = file
        self._reader = reader
        self._expat = expat.ParserCreate()
        self._expat.EntityDeclHandler = self._check_entity
        self._ended = False
        found = re.match(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)[\"'][^>]*?\?>", reader.peek(200)[:200])
        self._encoding = found[1].decode().lower() if found else "utf-8"
        self._decoder: Any = None
        if self._encoding.replace("-", "") not in ("utf8", "utf16"):
            import codecs

            try:
                self._decoder = codecs.getincrementaldecoder(self._encoding)()
            except LookupError as error:
                raise InputError(f"{file.shown}:1: the encoding {self._encoding} is not known") from error
        if found and self._encoding.replace("-", "") != "utf8":
            reader.read(found.end())
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._rest and not self._ended:
            self._rest = self._next()
        size = len(self._rest) if size < 0 else size
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def _next(self) -> bytes:
        piece = self._reader.read(_BLOCK)
        self._ended = not piece
        try:
            if self._decoder is not None:
                piece = self._decoder.decode(piece, final=self._ended).encode()
            self._expat.Parse(piece, self._ended)
        except UnicodeDecodeError as error:
            raise InputError(f"{self._file.shown}: expected {self._encoding}, found a fault: {error.reason}") from error
        except expat.ExpatError as error:
            fault = expat.ErrorString(error.code)
            raise InputError(f"{self._file.shown}:{error.lineno}: expected RDF/XML, found a fault: {fault}") from error
        return piece

    def _check_entity(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if value is None or is_parameter or "&" in value:
            what = "names a file or an address" if value is None else "is made of other entities"
            raise InputError(f"{self._file.shown}: the XML entity {name} {what}, which is not read")


def _read_json_ld(file: RereadableFile, reader: BufferedReader[Any]) -> bytes:
    """Return JSON-LD with schema.org's context in the place of its address: its terms are schema.org's."""
    raw = reader.read(MAX_RECORD_BYTES + 1)
    if len(raw) > MAX_RECORD_BYTES:
        raise InputError(f"{file.shown}: the document is longer than {MAX_RECORD_BYTES:,} bytes: convert it to N-Quads")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InputError(f"{file.shown}:{line}: expected JSON, found a fault: {quote_line(str(error))}") from error
    return json.dumps(_with_contexts(document, file.shown)).encode()


def _with_contexts(value: Any, shown: str) -> Any:
    if isinstance(value, list):
        return [_with_contexts(each, shown) for each in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, each in value.items():
        if key != "@context":
            made[key] = _with_contexts(each, shown)
            continue
        contexts = each if isinstance(each, list) else [each]
        for context in contexts:
            if isinstance(context, str) and not _SCHEMA_ORG.fullmatch(context):
                raise InputError(
                    f"{shown}: the context {quote_line(context)} is elsewhere, and nothing is fetched: put its content "
                    "in its place"
                )
        made[key] = [{"@vocab": "http://schema.org/"} if isinstance(c, str) else c for c in contexts]
    return made
