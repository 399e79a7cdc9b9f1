"""Read RDF in all its syntaxes: N-Triples, N-Quads, Turtle, TriG, RDF/XML with OWL, JSON-LD and N3, by pyoxigraph.

A triple is one, whatever graph it is in: names of graphs are dropped and counted. A blank node belongs to its file. A
triple term (RDF 1.2) becomes an unnamed record, its reifier, between head and tail. Axioms of OWL that say something of
individuals or classes become plain triples (`Ontology`), the rest is counted. Nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from ...engine.data_model import XSD
from ...engine.errors import InputError
from ...engine.writing import RelationMetadata, make_relation_label
from ...models import quote_line
from ..reading import RereadableFile, check_xml, unpacked_name
from ..source import (
    BATCH_ROWS,
    ROWS,
    FileSource,
    Part,
    SourceRowBatches,
    StatementRow,
    read_languages,
    record_batches,
    reject_row,
    split_batches,
)

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAME_RELATIONS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/elements/1.1/title",
    "http://purl.org/dc/terms/title",
    "http://www.geonames.org/ontology#name",
    "http://rdf.freebase.com/ns/type.object.name",
)
"""The relations of RDF whose literals are names, the best first."""
ALIAS_RELATIONS = frozenset(
    {
        "http://www.w3.org/2004/02/skos/core#altLabel",
        "http://www.w3.org/2004/02/skos/core#hiddenLabel",
        "http://schema.org/alternateName",
        "https://schema.org/alternateName",
        "http://xmlns.com/foaf/0.1/nick",
        "http://purl.org/dc/terms/alternative",
        "http://www.geonames.org/ontology#alternateName",
        "http://rdf.freebase.com/ns/common.topic.alias",
        "http://www.geneontology.org/formats/oboInOwl#hasExactSynonym",
        "http://www.geneontology.org/formats/oboInOwl#hasRelatedSynonym",
    }
)

_STRING = f"{XSD}string"
_NO_LANGUAGE = f"{RDF}langString"
_REIFIES = f"{RDF}reifies"
_RELATIVE = "relative-iri-of-lodestar:/"
"""The base of JSON-LD that has none: IRIs that begin with it are relative, which the parser would drop in silence."""
_SCHEMA_ORG = re.compile(rb'("@context"\s*:\s*\[?\s*)"https?://schema\.org/?(?:docs/jsonldcontext\.jsonld?)?"')
pc: Any = compute  # its stubs lack most functions
_LOOKED_AT = 1 << 16
MAX_STATEMENT_BYTES = 1 << 24  # what the parser holds of a statement at most
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
_RELATIVE_IRI = re.compile(r"<[^<>:]*>")


def detect_syntax(name: str, start: bytes) -> RdfFormat | None:
    """Return the syntax of a file by its name and its first bytes; None where it is not RDF."""
    text = start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    by_name = SYNTAXES.get(Path(name.lower()).suffix)
    if text.startswith("<") and re.search(r"<(?:\w+:)?RDF\b|22-rdf-syntax-ns#", text[:8_000]) and "<html" not in text:
        return by_name if by_name == RdfFormat.N_QUADS else RdfFormat.RDF_XML
    if text.startswith(("{", "[")) and re.search(r'"@(?:context|id|graph|type)"\s*:', text):
        return RdfFormat.JSON_LD
    lines = [line for line in text.splitlines()[:100] if line.strip() and not line.lstrip().startswith("#")]
    is_lenient = by_name in (None, RdfFormat.N_QUADS) or not any(map(_RELATIVE_IRI.search, lines))
    if lines and is_lenient and all(map(_QUADS.match, lines[:-1] or lines)):
        return RdfFormat.N_QUADS
    if by_name is not None and by_name != RdfFormat.RDF_XML:
        return by_name
    if re.match(r"(?i:@?prefix|@?base)\s", lines[0].lstrip() if lines else ""):
        return RdfFormat.TRIG if re.search(r"(?m)^\s*(?:GRAPH\s.*|\S+\s*)\{", text) else RdfFormat.TURTLE
    return None


class RdfSource(FileSource):
    """Files of any syntax.

    An IRI's part after a base is the id or the relation; relative IRIs are resolved by the first base where the file
    has none. Literals of `name_relations` (whole IRIs) are names, the first relation before the next.
    """

    kind = "rdf"
    endings = tuple(SYNTAXES)
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
        self.languages, self.all_languages = read_languages(languages)
        self._shared = shared_blank_nodes
        self._facts: dict[str, RelationMetadata] = {}
        super().__init__(
            path,
            bases=list(self._bases),
            name_relations=list(self.name_relations),
            languages=self.languages,
            all_languages=self.all_languages,
            shared_blank_nodes=shared_blank_nodes,
        )

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        return self._facts

    def parts(self) -> Iterator[Part]:
        ontologies: list[Ontology | None] = []
        for file in self.files:
            yield SourceRowBatches(file.shown, self._batches(file, ontologies), unit="statement")
        if all(each is not None and not each.has_individuals for each in ontologies):
            edges = [Triple(*edge) for each in ontologies if each for edge in each.edges_of_classes()]
            terms = _Terms(self, "", RdfFormat.N_QUADS)
            yield SourceRowBatches(self.name, (terms.batch(some) for some in split_batches(edges, BATCH_ROWS)))

    def _batches(self, file: RereadableFile, ontologies: list[Ontology | None]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file; its ontology, if it is one, is added to `ontologies`."""
        with file.open_buffered(_LOOKED_AT) as head:
            start = head.peek(_LOOKED_AT)
            if not start:
                raise InputError(f"{file.shown}: the file is empty")
            syntax = detect_syntax(unpacked_name(file.shown), start)
            if syntax is None:
                raise InputError(f"{file.shown}: expected RDF, found another kind of file")
            if syntax == RdfFormat.RDF_XML:
                check_xml(file, "RDF/XML")
            terms = _Terms(self, "" if self._shared else f"{file.digest()[:8]}_", syntax)
            speaks_rdfs = RDFS.encode() in start and (b"domain" in start or b"range" in start)
            ontology = Ontology() if OWL.encode() in start or speaks_rdfs else None
            ontologies.append(ontology)
            quads = _quads(file, head, syntax, self._bases)
            for chunk in split_batches(quads if ontology is None else _types_first(quads), BATCH_ROWS):
                is_plain = ontology is None and _are_plain(chunk)
                others: list[StatementRow] = []
                yield terms.batch(chunk if is_plain else list(_triples(chunk, terms, ontology, others)))
                yield from record_batches(others)
            if ontology is not None:
                yield terms.batch([Triple(*each) for each in ontology.last_triples()])
                yield from record_batches(StatementRow(0, "axiom") for _ in range(ontology.num_axioms))
                self._facts |= {
                    terms.without_base(name): RelationMetadata(*(each and terms.without_base(each) for each in facts))
                    for name, facts in ontology.facts().items()
                }


def _are_plain(quads: Sequence[Any]) -> bool:
    return (
        set(map(type, quads)) == {Quad}
        and {type(quad.graph_name) for quad in quads} == {DefaultGraph}
        and not any(Triple in (type(quad.subject), type(quad.object)) for quad in quads)
    )


def _triples(
    quads: Iterable[Quad | tuple[int, str]], terms: _Terms, ontology: Ontology | None, others: list[StatementRow]
) -> Iterator[Triple | Quad]:
    for quad in quads:
        if isinstance(quad, tuple):
            others.append(reject_row(0, f"line {quad[0]}: {quad[1]}", ""))
            continue
        subject, object_, graph = quad.subject, quad.object, quad.graph_name
        predicate: Any = quad.predicate
        if not isinstance(graph, (NamedNode, BlankNode)):
            pass
        elif terms.syntax == RdfFormat.N3:
            others.append(StatementRow(0, "triple in a formula"))
            continue
        elif graph.value not in terms.graphs:
            terms.graphs.add(graph.value)
            others.append(StatementRow(0, "name of a graph"))
        if isinstance(subject, Triple) or (isinstance(object_, Triple) and predicate.value != _REIFIES):
            others.append(StatementRow(0, "quoted triple"))
        elif isinstance(object_, Triple):
            yield Triple(object_.subject, object_.predicate, subject)
            yield Triple(subject, object_.predicate, object_.object)
        elif ontology is None or not ontology.takes(subject, predicate, object_):
            yield quad


def _types_first(quads: Iterable[Quad | tuple[int, str]]) -> Iterator[Quad | tuple[int, str]]:
    """Yield what follows each other about a subject with its types first: they tell whether it is a relation."""
    for _, group in groupby(quads, lambda quad: quad if isinstance(quad, tuple) else quad.subject):
        yield from sorted(group, key=lambda quad: isinstance(quad, tuple) or quad.predicate.value != f"{RDF}type")


def _has_space(ids: pa.Array, iris: pa.Array) -> pa.Array:
    return pc.and_(pc.match_substring(ids, " "), pc.equal(ids, iris))


class _Terms:
    def __init__(self, source: RdfSource, scope: str, syntax: RdfFormat) -> None:
        self.syntax = syntax
        self.graphs: set[str] = set()  # the names of graphs so far
        self._scope = scope
        self._names = sorted(source.name_relations)
        self._bases = tuple(sorted(source._bases, key=len, reverse=True))
        self._anonymous: dict[str, str] = {}
        self._num = 0

    def batch(self, triples: Sequence[Any]) -> pa.RecordBatch:
        subjects, objects = [each.subject for each in triples], [each.object for each in triples]
        as_they_are = not self._bases and BlankNode not in {*map(type, subjects), *map(type, objects)}
        heads, relations, tails = (
            pa.array([node.value for node in nodes], pa.string())
            for nodes in (subjects, [each.predicate for each in triples], objects)
        )
        head, relation, tail = heads, relations, tails
        if not as_they_are:
            head, tail = (
                pa.array([node.value if type(node) is Literal else self._id(node) for node in nodes], pa.string())
                for nodes in (subjects, objects)
            )
        datatype = pa.array([each.datatype.value if type(each) is Literal else None for each in objects], pa.string())
        language = pa.array([each.language if type(each) is Literal else None for each in objects], pa.string())
        literal, no_text = (
            pa.array([type(each) is Literal for each in objects], pa.bool_()),
            pa.scalar(None, pa.string()),
        )
        of_names = pc.and_(literal, pc.is_in(relation, pa.array(self._names)))
        of_aliases = pc.and_(literal, pc.is_in(relation, pa.array(sorted(ALIAS_RELATIONS))))
        tag = pc.if_else(of_aliases, "alias", pc.if_else(of_names, "name", no_text))
        is_name = pc.is_valid(tag)
        is_empty = pc.and_(is_name, pc.equal(pc.utf8_trim_whitespace(tail), ""))
        category = pc.if_else(is_empty, "empty name", pc.if_else(is_name, "name", "triple"))
        is_plain = pc.or_(pc.is_valid(language), pc.is_in(datatype, pa.array([_STRING, _NO_LANGUAGE])))
        first, self._num = self._num + 1, self._num + len(triples)
        if self._bases:
            short = {name: self.without_base(name) for name in pc.unique(relation).to_pylist()}
            shortened = pa.array([short[name] for name in relation.to_pylist()], pa.string())
            relation = pc.if_else(is_name, relation, shortened)
        has_space = pc.or_(_has_space(head, heads), pc.and_not(_has_space(tail, tails), literal))
        has_space = pc.or_(has_space, _has_space(relation, relations))
        shown = pc.binary_join_element_wise(head, relation, tail, " ")
        columns = [
            pa.array(np.arange(first, first + len(triples))),
            pc.if_else(has_space, "reject", category),
            head,
            relation,
            pc.if_else(has_space, shown, tail),
            pc.and_not(literal, is_name),
            pc.if_else(is_plain, no_text, datatype),
            language,
            tag,
            pc.if_else(has_space, "an IRI has a space in it", no_text),
        ]
        return pa.record_batch(columns, schema=ROWS)

    def without_base(self, iri: str) -> str:
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
    if syntax == RdfFormat.JSON_LD:
        source = _SCHEMA_ORG.sub(rb'\1{"@vocab": "http://schema.org/"}', file.read_whole("convert it to N-Quads"))
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
        except MemoryError as error:
            raise InputError(f"{file.shown}: a statement is longer than {MAX_STATEMENT_BYTES:,} bytes") from error
        if quad is None:
            return
        if base == _RELATIVE and _RELATIVE in str(quad):
            raise InputError(
                f"{file.shown}: {quote_line(str(quad).replace(_RELATIVE, ''))}: an IRI is relative and the file has no "
                "base: give one by --base"
            )
        yield quad


def _reason(error: SyntaxError, syntax: RdfFormat) -> str:
    reason = re.sub(r"^Parser error (?:at|between) line \d+ [^:]*: ", "", error.msg)
    if "No scheme found" in reason:
        return "an IRI is relative and the file has no base: give one by --base"
    if "Only UTF-8" in reason:
        return "its encoding is not read: name it, as by --encoding latin1"
    if "LoadDocumentCallback" in reason:
        return "a context is on the web, and nothing is fetched: put its content in the place of its address"
    if "subject of a triple" in reason and syntax == RdfFormat.N_QUADS and error.offset == 1:
        reason += " (RDF-star's << … >> as a subject is not read: RDF 1.2 has rdf:reifies for it)"
    return reason[:1].lower() + reason[1:]


# OWL as people mean it: a class with "p some D" has an edge p to D, an inverse is a fact of its relation. What no
# triple says (cardinalities, disjointness, unions, annotations of axioms) is counted. As OBO and ROBOT have it.

OWL = "http://www.w3.org/2002/07/owl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_PROPERTIES = {f"{RDF}Property"} | {
    f"{OWL}{name}"
    for name in (
        "ObjectProperty DatatypeProperty AnnotationProperty OntologyProperty TransitiveProperty SymmetricProperty "
        "AsymmetricProperty ReflexiveProperty IrreflexiveProperty FunctionalProperty InverseFunctionalProperty"
    ).split()
}
_OF_META = (OWL, f"{RDFS}Class", f"{RDFS}Datatype", f"{RDF}Property", f"{RDF}List")
_KEPT = {*NAME_RELATIONS, *ALIAS_RELATIONS, f"{RDFS}comment"}
_ENDS = (f"{RDFS}domain", f"{RDFS}range")
_SUPER = {f"{RDFS}subClassOf", f"{OWL}equivalentClass"}
_FILLERS = [f"{OWL}{name}" for name in ("someValuesFrom", "hasValue", "onClass")]
_AXIOMS = {f"{RDFS}isDefinedBy"} | {
    f"{OWL}{name}" for name in "disjointWith disjointUnionOf hasKey oneOf unionOf complementOf versionInfo".split()
}

Term = Any
Statement = tuple[Term, NamedNode, Term]


class Ontology:
    def __init__(self) -> None:
        self.num_axioms = 0
        self._nodes: dict[str, list[tuple[NamedNode, Term]]] = {}
        """What is said of blank nodes, which axioms are written with."""
        self._supers: list[tuple[Term, BlankNode]] = []
        self._properties: set[str] = set()
        self._facts: dict[str, dict[str, str]] = {}
        self._ends: dict[str, tuple[list[NamedNode], list[NamedNode]]] = {}  # the classes at the ends of properties
        self.has_individuals = False

    def takes(self, subject: Term, predicate: NamedNode, object_: Term) -> bool:
        """Take a triple that is, or may be, a part of an axiom; return whether it was taken."""
        relation = predicate.value
        if type(subject) is BlankNode:
            self._nodes.setdefault(subject.value, []).append((predicate, object_))
            return True
        if relation == f"{RDF}type" and type(object_) is NamedNode and object_.value.startswith(_OF_META):
            if object_.value in _PROPERTIES or object_.value == f"{OWL}Ontology":
                self._properties.add(subject.value)
        elif subject.value in self._properties or relation in _ENDS:
            self._properties.add(subject.value)
            if relation in _KEPT:
                return False
            if relation == f"{OWL}inverseOf" and type(object_) is NamedNode:
                self._facts.setdefault(subject.value, {})["inverse"] = object_.value
                self._facts.setdefault(object_.value, {}).setdefault("inverse", subject.value)
                return True
            if relation in _ENDS and type(object_) is NamedNode and not object_.value.startswith((XSD, RDFS, RDF)):
                self._ends.setdefault(subject.value, ([], []))[_ENDS.index(relation)].append(object_)
            if relation == f"{RDFS}range" and type(object_) is NamedNode:
                self._facts.setdefault(subject.value, {})["range"] = make_relation_label(object_.value)
        elif relation in _SUPER and type(object_) is BlankNode:
            self._supers.append((subject, object_))
            return True
        elif relation not in _AXIOMS:
            self.has_individuals |= relation == f"{RDF}type"
            return False
        self.num_axioms += 1
        return True

    def facts(self) -> dict[str, tuple[str | None, str | None]]:
        return {name: (found.get("range"), found.get("inverse")) for name, found in self._facts.items()}

    def edges_of_classes(self) -> Iterator[Statement]:
        """Yield what domains and ranges say as edges between classes: what an ontology without individuals is about."""
        for name, (starts, ends) in self._ends.items():
            yield from ((start, NamedNode(name), end) for start in starts for end in ends)

    def last_triples(self) -> Iterator[Statement]:
        """Yield, after all triples were taken, those that axioms mean, and those of other blank nodes."""
        for subject, node in self._supers:
            yield from self._edges(subject, node)
        left = dict(self._nodes)
        for name, said in self._nodes.items():
            if any(p.value.startswith(OWL) or getattr(o, "value", "").startswith(OWL) for p, o in said):
                self._drop(name, left)
        for name, said in left.items():
            yield from ((BlankNode(name), predicate, object_) for predicate, object_ in said)

    def _edges(self, subject: Term, node: BlankNode) -> Iterator[Statement]:
        said = {predicate.value: object_ for predicate, object_ in self._nodes.pop(node.value, ())}
        relation = said.get(f"{OWL}onProperty")
        filler = next((said[name] for name in _FILLERS if name in said), None)
        if type(relation) is NamedNode and filler is not None and type(filler) is not BlankNode:
            yield subject, relation, filler
            return
        member = said.get(f"{OWL}intersectionOf")
        self.num_axioms += member is None
        while type(member) is BlankNode:
            listed = {predicate.value: object_ for predicate, object_ in self._nodes.pop(member.value, ())}
            first, member = listed.get(f"{RDF}first"), listed.get(f"{RDF}rest")
            if type(first) is NamedNode:
                yield subject, NamedNode(f"{RDFS}subClassOf"), first
            elif type(first) is BlankNode:
                yield from self._edges(subject, first)

    def _drop(self, name: str, left: dict[str, list[tuple[NamedNode, Term]]]) -> None:
        self.num_axioms += name in left
        open_ = [name]
        while open_:
            for _, object_ in left.pop(open_.pop(), ()):
                if type(object_) is BlankNode:
                    open_.append(object_.value)
