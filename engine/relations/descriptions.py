"""Describe relations by labels, descriptions and the phrases by which people ask for them, in the catalogue."""

from __future__ import annotations

import difflib
import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError, UsageError
from ..file_access import read_text_file
from ..neo4j import Request, Row, load_query
from ..neo4j.catalogue import (
    ORIGINS,
    RelationCatalogue,
    RelationInfo,
    RelationPhrase,
    list_relation_phrases,
    read_catalogue,
)
from ..neo4j.gateway import Gateway

MAX_PHRASES = 200
"""Of one relation that are kept."""
MAX_OF_SOURCE = 100
"""Of these, phrases that sources bring."""
MAX_TOTAL = 200_000
"""Phrases that one call may bring."""
MAX_CHARS = 200
_MARKUP = re.compile(r"<[^<>]*>|&\w+;|\[\[|\{\{|```|\*\*")
_log = logging.getLogger(__name__)
_FIELDS = ("label", "description")


@dataclass(frozen=True, slots=True)
class RelationDescription:
    """What is said of one relation: None leaves label or description as they are."""

    label: str | None = None
    description: str | None = None
    phrases: tuple[RelationPhrase, ...] = ()


@dataclass(frozen=True, slots=True)
class AmbiguousPhrase:
    """A phrase that asks for more than one relation, each as ``^name`` where it is for the heads."""

    phrase: str
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DescriptionReport:
    """What a description did: relations that were changed, phrases that are new, and phrases that collide."""

    num_relations: int
    num_phrases: int
    collisions: tuple[AmbiguousPhrase, ...] = ()


def check_phrase_text(text: str, what: str = "phrase") -> str:
    """Return a text on one line; raise `InputError` for one that is empty, too long, has markup or control
    characters."""
    line = " ".join(text.split())
    if not line:
        raise InputError(f"expected a {what}, found an empty one")
    if len(line) > MAX_CHARS:
        raise InputError(f"expected a {what} of at most {MAX_CHARS} characters, found {len(line):,}: {line[:40]}…")
    if (found := _MARKUP.search(line)) is not None:
        raise InputError(f"expected a {what} without markup, found {found[0]!r} in {line[:60]!r}: leave it out")
    if any(ord(c) < 32 or "\ud800" <= c <= "\udfff" for c in line):
        raise InputError(f"expected a {what} of plain text, found {line[:60]!r}")
    return line


def read_descriptions(path: Path, catalogue: RelationCatalogue) -> dict[str, RelationDescription]:
    """Return what a file says of relations: lines of a relation and phrases, separated by tabs.

    ``^relation`` has phrases for its heads; a column ``label=…`` or ``description=…`` is that. Empty lines and
    those that begin with # are skipped. Raises `InputError` with file and line for what cannot be read, and for a
    relation that the graph does not have.
    """
    known = _Names(catalogue)
    said: list[tuple[RelationInfo, bool, Column]] = []
    total = 0
    for number, line in enumerate(read_text_file(path, "the phrases").splitlines(), start=1):
        name, *columns = line.split("\t")
        if line.strip() and (name in known.by_name or not line.startswith("#")):
            total += len(columns)
            try:
                if not any(column.strip() for column in columns):
                    raise InputError("expected a relation, a tab and at least one phrase")
                if total > MAX_TOTAL:
                    raise InputError(f"expected at most {MAX_TOTAL:,} phrases together")
                checked = [_check_column(column) for column in columns if column.strip()]
                relation, inverse = known.find(name.strip())
                said.extend((relation, inverse, column) for column in checked)
            except (InputError, UsageError) as error:
                raise InputError(f"{path}:{number}: {error}") from error
    return _describe(said)


def parse_relation_phrases(
    catalogue: RelationCatalogue, written: str, texts: Sequence[str]
) -> dict[str, RelationDescription]:
    """Return what is said of a relation, as it is written (``^name``), by phrases.

    Raises `UsageError` for a relation that the graph does not have, `InputError` for a phrase that cannot be one.
    """
    relation, inverse = find_relation(catalogue, written)
    return _describe((relation, inverse, _check_column(text)) for text in texts if text.strip())


Column = tuple[str, str]
"""`label` or `description` with its text, or nothing with a phrase."""


def _check_column(text: str) -> Column:
    key, equals, value = text.partition("=")
    if equals and key.strip() in _FIELDS:
        return key.strip(), check_phrase_text(value, key.strip())
    return "", check_phrase_text(text)


def _describe(said: Iterable[tuple[RelationInfo, bool, Column]]) -> dict[str, RelationDescription]:
    texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    phrases: defaultdict[str, list[RelationPhrase]] = defaultdict(list)
    for relation, inverse, (key, text) in said:
        if key:
            texts[relation.name][key] = text
        else:
            phrases[relation.name].append(RelationPhrase(text, inverse=inverse))
    names = dict.fromkeys((*texts, *phrases))
    return {name: RelationDescription(**texts[name], phrases=tuple(phrases[name])) for name in names}


class _Names:
    def __init__(self, catalogue: RelationCatalogue) -> None:
        self.by_name = {relation.name: relation for relation in catalogue.relations}
        self.by_label: defaultdict[str, list[RelationInfo]] = defaultdict(list)
        for relation in catalogue.relations:
            self.by_label[relation.shown_label.casefold()].append(relation)

    def find(self, written: str) -> tuple[RelationInfo, bool]:
        """Return a relation, and whether ``^`` stands before it."""
        if written in self.by_name:
            return self.by_name[written], False
        name, inverse = written.removeprefix("^"), written.startswith("^")
        if name in self.by_name:
            return self.by_name[name], inverse
        labelled = self.by_label.get(name.casefold(), [])
        if len(labelled) == 1:
            return labelled[0], inverse
        known = list(dict.fromkeys((*self.by_name, *self.by_label)))
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise UsageError(f"the graph has no relation {name[:80]!r}{hint}: `lodestar search --relations` lists them")


def find_relation(catalogue: RelationCatalogue, written: str) -> tuple[RelationInfo, bool]:
    """Return a relation by its name or its label, and whether ``^`` stands before it; raise `UsageError` for
    another."""
    return _Names(catalogue).find(written)


def add_relation_descriptions(
    gateway: Gateway,
    catalogue: RelationCatalogue,
    words: Mapping[str, RelationDescription],
    *,
    cut: bool = False,
) -> DescriptionReport:
    """Add what is said of relations to what the graph has of them; nothing else is changed. Saying it again does
    nothing.

    cut: leave out what is beyond `MAX_PHRASES` of a relation, instead of an `InputError`.
    """
    changed: list[RelationInfo] = []
    num_new = 0
    for relation in catalogue.relations:
        said = words.get(relation.name)
        if said is None:
            continue
        known = {(phrase.text.casefold(), phrase.inverse) for phrase in relation.phrases}
        new = [p for p in dict.fromkeys(said.phrases) if (p.text.casefold(), p.inverse) not in known]
        if cut:
            new = new[: max(0, MAX_PHRASES - len(relation.phrases))]
        phrases = tuple(sorted((*relation.phrases, *new), key=lambda p: ORIGINS.index(p.origin)))
        if len(phrases) > MAX_PHRASES:
            raise InputError(
                f"{relation.name}: expected at most {MAX_PHRASES} phrases of a relation, found {len(phrases):,}"
            )
        now = replace(
            relation,
            said_label=said.label or relation.said_label,
            description=said.description or relation.description,
            phrases=phrases,
        )
        if now != relation:
            changed.append(now)
            num_new += len(new)
    store_descriptions(gateway, changed)
    after = {relation.name: relation for relation in changed}
    all_ = [after.get(relation.name, relation) for relation in catalogue.relations]
    return DescriptionReport(len(changed), num_new, find_ambiguous_phrases(all_))


def remove_descriptions(gateway: Gateway, catalogue: RelationCatalogue, names: Sequence[str] = ()) -> DescriptionReport:
    """Take back what the user said of relations: of those named, or of all."""
    chosen = {find_relation(catalogue, name)[0].name for name in names}
    changed = []
    num_phrases = 0
    for relation in catalogue.relations:
        if chosen and relation.name not in chosen:
            continue
        kept = tuple(phrase for phrase in relation.phrases if phrase.origin != "user")
        now = replace(relation, phrases=kept, said_label=None, description=None)
        if now != relation:
            changed.append(now)
            num_phrases += len(relation.phrases) - len(kept)
    store_descriptions(gateway, changed)
    return DescriptionReport(len(changed), num_phrases)


def store_descriptions(gateway: Gateway, relations: Sequence[RelationInfo]) -> None:
    """Write what is said of these relations in place of what was; one of them that the graph has no more is left
    out."""
    if not relations:
        return
    words = [
        {
            "name": relation.name,
            "said_label": relation.said_label,
            "description": relation.description,
            "phrases": [phrase.text for phrase in relation.phrases] or None,
            "phrase_tags": [phrase.tag for phrase in relation.phrases] or None,
        }
        for relation in relations
    ]
    gateway.run(Request(load_query("set_relation_phrases"), {"words": words}, lambda _: None))


def find_ambiguous_phrases(relations: Sequence[RelationInfo]) -> tuple[AmbiguousPhrase, ...]:
    """Return the phrases that ask for more than one relation, without those of the lexicon."""
    asked: defaultdict[str, dict[str, None]] = defaultdict(dict)
    shown: dict[str, str] = {}
    for relation in relations:
        for phrase in list_relation_phrases(relation):
            if phrase.origin != "lexicon":
                key = phrase.text.casefold()
                shown.setdefault(key, phrase.text)
                asked[key]["^" * phrase.inverse + relation.name] = None
    return tuple(AmbiguousPhrase(shown[key], tuple(names)) for key, names in sorted(asked.items()) if len(names) > 1)


StatedWords = tuple[str, Sequence[str], str | None]
"""What a source says of a relation beside its triples: the relation, its names and aliases, a comment."""


def read_descriptions_of_other_loads(sha256: str) -> Request[list[StatedWords]]:
    """Read what the sources of all loads but one state of relations beside their triples, load by load."""

    def decode(rows: Sequence[Row]) -> list[StatedWords]:
        return [(name, names, comment) for (words,) in rows for name, names, comment in json.loads(words)]

    return Request(load_query("read_stated_words"), {"sha256": sha256}, decode)


def add_source_descriptions(gateway: Gateway, stated: Iterable[StatedWords] = ()) -> None:
    """Add what sources say of relations: their names and aliases as phrases, and a comment as description where there
    is none.

    The words are those of the entities in the graph that stand for relations (rdfs:label, skos:altLabel, rdfs:comment),
    and what a load states beside its triples.
    """
    in_words = Request(load_query("read_source_words"), {"per_relation": MAX_OF_SOURCE}, list)
    rows, catalogue = gateway.run_all([in_words, read_catalogue()])
    known = {relation.name: relation for relation in catalogue.relations}
    phrases: defaultdict[str, list[RelationPhrase]] = defaultdict(list)
    descriptions: dict[str, str] = {}
    in_graph = [(name, [own, *also], "".join(about)) for name, own, also, about in rows]
    for relation, names, comment in [*stated, *in_graph]:
        if relation in known:
            phrases[relation] += (RelationPhrase(text, "source") for text in _plain_texts(names, relation))
            if comment and (text := " ".join(_plain_texts([comment[:MAX_CHARS]], relation))):
                descriptions.setdefault(relation, text)
    words = {}
    for name in {*phrases, *descriptions}:
        old = known[name].phrases
        room = MAX_OF_SOURCE - sum(p.origin == "source" for p in old)
        texts = {p.text.casefold() for p in old if not p.inverse}
        new = [p for p in dict.fromkeys(phrases[name]) if p.text.casefold() not in texts]
        description = None if known[name].description else descriptions.get(name)
        words[name] = RelationDescription(None, description, tuple(new[: max(0, room)]))
    add_relation_descriptions(gateway, RelationCatalogue(tuple(known.values())), words, cut=True)


def _plain_texts(texts: Iterable[str], relation: str) -> Iterator[str]:
    for text in texts:
        try:
            line = check_phrase_text(text)
        except InputError:
            continue
        if line != relation:
            yield line
