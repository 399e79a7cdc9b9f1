"""Read OWL as people mean it: a class with "p some D" has an edge p to D, an inverse is a fact of its relation.

What cannot be said by a triple (cardinalities, disjointness, unions, annotations of axioms) is counted. After the
mapping of OBO and of ROBOT's `relax` and `reduce`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyoxigraph import BlankNode, NamedNode

from ...engine.writing import label_of
from ..naming import ALIAS_RELATIONS, NAME_RELATIONS, RDF, XSD

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


def is_ontology(start: bytes) -> bool:
    """Return whether a file that begins so speaks of OWL, or of RDFS's domains and ranges."""
    return OWL.encode() in start or (RDFS.encode() in start and any(end in start for end in (b"domain", b"range")))


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
                self._facts.setdefault(subject.value, {})["range"] = label_of(object_.value)
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
