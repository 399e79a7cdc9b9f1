"""Say which relations name things, which languages are preferred, and how Freebase and texts write ids."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.errors import InputError
from ..models import quote_line
from ..models.wording import fold

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FREEBASE_ID = r"[mg]\.[0-9a-z_]+"

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

ALL = "*"


def read_languages(languages: Sequence[str]) -> list[str]:
    """Return languages in order of preference, lower case, and last `ALL` if all others are to be kept."""
    tags = [tag.strip().lower() for tag in languages]
    for tag in tags:
        if tag != ALL and not tag.replace("-", "").isalnum():
            raise InputError(f"expected a language such as en or pt-br, or * for all, found {quote_line(tag)}")
    return sorted(dict.fromkeys(tags), key=ALL.__eq__)


def concept_id(concept: str) -> str:
    """Return the common id of all spellings of a concept: no case, no accents, single blanks."""
    return " ".join(fold(concept).replace("\0", " ").split())
