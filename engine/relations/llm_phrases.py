"""Ask a language model for the phrases by which people ask for relations, within a budget, and filter them.

Left out is what names an entity, says the relation's name or another phrase again, repeats the prompt, is in another
language than both the graph and English, or is nearer to another relation.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...models.similarity import extract_content_words
from ...models.text.vectors import TextVectors
from ...models.wording import FUNCTION_WORDS, PREPOSITIONS, read_lexicon, singularise, translate_label
from ..errors import InputError, LLMError
from ..llm import Prompt, find_end_of_reasoning, make_list_schema
from ..llm.gateway import ChatGateway
from ..neo4j import Request, Row, load_query
from ..neo4j.catalogue import RelationCatalogue, RelationInfo, RelationPhrase, read_catalogue
from ..neo4j.gateway import Gateway
from ..settings import Settings
from . import AMONG
from .descriptions import DescriptionReport, RelationDescription, add_relation_descriptions, check_phrase_text

FloatArray = npt.NDArray[np.float32]

MOST = 6
"""Phrases of a relation and direction that are taken."""
MAX_WORDS = 9
NEARER = 0.15
"""By how much a phrase may be nearer to another relation than to its own. Our own choice: on the development graphs .10
and .20 leave out .20 and .07 of the lexicon's phrases (n = 221), .92 and .89 of those of a wrong relation (n = 74)."""
UNREADABLE = "empty, too long or with markup"
NAMED = "with a name of the graph"
AGAIN = "said already"
ECHO = "from the prompt"
FOREIGN = "in another language"
OTHER = "nearer to another relation"
TWICE = "said of two relations"
_WORD = re.compile(r"[^\W_]+")


def _select_phrases(
    relation: RelationInfo,
    texts: Mapping[str, Sequence[str]],
    names: Iterable[str],
    others: set[tuple[str, ...]],
    reasons: Counter[str],
) -> tuple[RelationPhrase, ...]:
    """Return the phrases that can be taken, whatever other relations have.

    texts: what was said, by ``tail`` (forward) and ``head`` (inverse). names: of the relation's entities. others: names
    of other entities, see `_list_name_words`.
    """
    label_words = set(_WORD.findall(relation.shown_label.casefold()))
    capitalised = {word.casefold() for name in names for word in re.findall(r"\w{4,}", name) if word[:1].isupper()}
    parts = capitalised - label_words - FUNCTION_WORDS - read_lexicon().kinds.keys()
    whole = {_words(name) for name in names if len(name) > 3} | others
    seen = {_key(text) for text in (relation.name, relation.shown_label, relation.label)}
    seen |= {_key(phrase.text) for phrase in relation.phrases}
    echoes = {_key(text) for some in EXAMPLE.values() for text in some}
    found: list[RelationPhrase] = []
    for way, said in texts.items():
        taken = 0
        for text in said:
            reason, line = _judge(text, label_words, parts, whole)
            reason = reason or (AGAIN if _key(line) in seen else ECHO if _key(line) in echoes else "")
            if reason:
                reasons[reason] += 1
            elif taken < MOST:
                seen.add(_key(line))
                found.append(RelationPhrase(line, "llm", way == "head"))
                taken += 1
    return tuple(found)


def _judge(text: str, label_words: set[str], parts: set[str], names: set[tuple[str, ...]]) -> tuple[str, str]:
    """Return why a text cannot be a phrase, empty where it can, and the text as it would be kept."""
    try:
        line = check_phrase_text(text).strip(" ?.!\"'").lower()
    except InputError:
        return UNREADABLE, ""
    words = _WORD.findall(line)
    if not words or len(words) > MAX_WORDS:
        return UNREADABLE, line
    runs = {tuple(words[start:stop]) for start in range(len(words)) for stop in range(start + 1, len(words) + 1)}
    if parts & set(words) or names & (runs | {(word,) for word in _WORD.findall(text)}):
        return NAMED, line
    content = set(_WORD.findall(extract_content_words(line))) - FUNCTION_WORDS
    says_label = bool(set(words) & (label_words - PREPOSITIONS))
    is_other_script = not _scripts(line) <= {"LATIN", *_scripts(" ".join(label_words))}
    if is_other_script or (content and not says_label and all(translate_label(word) for word in content)):
        return FOREIGN, line
    return "", line


def _list_name_words(names: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the words of each name, in lower case of those that have several; a word alone may be a common one."""
    several = {words for words in map(_words, names) if len(words) > 1}
    return several | {(name,) for name in names if name[:1].isupper() and _WORD.fullmatch(name)}


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _scripts(text: str) -> set[str]:
    return {unicodedata.name(char, "LATIN").partition(" ")[0] for char in text if char.isalpha()}


def _key(text: str) -> str:
    """Return what equal phrases have in common: their words without articles and case."""
    words = (singularise(word) for word in _WORD.findall(text.replace("_", " ").casefold()))
    return " ".join(word for word in words if word not in {"the", "a", "an"})


def drop_ambiguous_phrases(
    found: Mapping[str, Sequence[RelationPhrase]],
    catalogue: RelationCatalogue,
    vectors: TextVectors,
    reasons: Counter[str],
) -> dict[str, RelationDescription]:
    """Leave out the phrases that two relations have, or that are nearer to another relation than to their own.

    A relation is as near as the mean of its label, its description, what is said of it, and its other phrases in the
    same direction; the relation that is declared as its inverse does not count as another.
    """
    if not found:
        return {}
    how_often = Counter((phrase.text, phrase.inverse) for phrases in found.values() for phrase in phrases)
    sums = {way: _sum_vectors(found, catalogue, vectors, inverse=way) for way in (False, True)}
    units = {way: some / _norms(some) for way, some in sums.items()}
    place = {relation.name: row for row, relation in enumerate(catalogue.relations)}
    own = {r.name: [place[r.name], *([place[r.inverse]] if r.inverse in place else [])] for r in catalogue.relations}
    kept: dict[str, RelationDescription] = {}
    for name, phrases in found.items():
        left = []
        for phrase in phrases:
            vector = vectors.sentence(phrase.text)
            rest = sums[phrase.inverse][place[name]] - vector
            nearness = units[phrase.inverse] @ vector
            nearness[own[name]] = -np.inf
            if how_often[phrase.text, phrase.inverse] > 1:
                reasons[TWICE] += 1
            elif nearness.max() > rest @ vector / _norms(rest)[0] + NEARER:
                reasons[OTHER] += 1
            else:
                left.append(phrase)
        kept[name] = RelationDescription(phrases=tuple(left))
    return kept


def _sum_vectors(
    found: Mapping[str, Sequence[RelationPhrase]], catalogue: RelationCatalogue, vectors: TextVectors, *, inverse: bool
) -> FloatArray:
    sums = []
    for relation in catalogue.relations:
        said = [p.text for p in (*relation.phrases, *found.get(relation.name, ())) if p.inverse == inverse]
        texts = [relation.shown_label, *([relation.description] if relation.description else []), *said]
        sums.append(vectors.stack(texts, lasting=True).sum(axis=0))
    return np.stack(sums)


def _norms(rows: FloatArray) -> FloatArray:
    lengths: FloatArray = np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
    return lengths


REPLIES = "phrases.sqlite"
"""Replies are kept in this file of the home folder where the settings name no other."""
SAMPLES = 3
NAMES = 64
"""Triples of a relation whose names no phrase may have."""
PHRASES = 4
"""For each direction of a relation."""
EXAMPLE = {
    "tail": ["who wrote", "the writer of", "who is it by", "whose book is"],
    "head": ["what did they write", "books by", "works of", "which books has written"],
}
_SYSTEM = (
    "You name relations of a knowledge graph in the words that ordinary people use when they ask. You reply with one "
    'JSON object: {"tail": [short phrases that ask for what the arrow points at], "head": [short phrases that ask for '
    'where it starts]}. Four phrases each, of two to six words, lower case, without names. For "book --author--> '
    f'person" that is {json.dumps(EXAMPLE)}.'
)


def describe_by_llm(
    gateway: Gateway, settings: Settings, vectors: TextVectors, *, say: Callable[[str], None]
) -> DescriptionReport:
    """Add phrases of the relations that have none of a language model yet; the budget is the settings'.

    Raises `LLMError` if no model is configured or nothing at all was answered.
    """
    catalogue = gateway.run(read_catalogue())
    wanted = [r for r in catalogue.relations if not any(p.origin == "llm" for p in r.phrases)]
    cached = replace(settings, llm_cache=settings.llm_cache or str(settings.home_dir / REPLIES))
    samples = {relation.name: _samples(gateway, relation) for relation in wanted}
    others = _list_name_words([name for rows in samples.values() for row in rows for name in row])
    found: dict[str, tuple[RelationPhrase, ...]] = {}
    reasons: Counter[str] = Counter()
    failure: LLMError | None = None
    with closing(ChatGateway.of(cached)) as model:
        for start in range(0, len(wanted), 8):
            some = wanted[start : start + 8]
            completed = model.complete([_prompt(relation, samples[relation.name][:SAMPLES]) for relation in some])
            for relation, said in zip(some, completed, strict=True):
                if isinstance(said, LLMError):
                    failure = said
                    reasons["relations not answered"] += 1
                    continue
                texts = _texts(said.content)
                if texts is None:
                    reasons["replies that could not be read"] += 1
                    continue
                names = [name for row in samples[relation.name] for name in row if name]
                found[relation.name] = _select_phrases(relation, texts, names, others, reasons)
                reasons["relations without a phrase"] += not found[relation.name]
        spent = f"{model.usage.calls:,} calls, {model.usage.cached:,} from the cache"
        why = f"; of others: {failure}" if failure else ""
        say(f"{len(found):,} of {len(wanted):,} relations by {model.endpoint.model} ({spent}){why}")
    if failure is not None and not found:
        raise failure
    kept = drop_ambiguous_phrases(found, catalogue, vectors, reasons)
    return add_relation_descriptions(gateway, catalogue, kept, +reasons)


def _samples(gateway: Gateway, relation: RelationInfo) -> list[tuple[str, str]]:
    rows: Sequence[Row] = gateway.run(
        Request(
            load_query("sample_relation"),
            {"limit": NAMES, "relation": relation.name, "max_relations": 0, "among": AMONG},
            lambda rows: rows,
            {"RELATION": relation.stored_as or relation.name},
        )
    )
    return [(row[0], row[2]) for row in rows]


def _prompt(relation: RelationInfo, samples: Sequence[tuple[str, str]]) -> Prompt:
    head = relation.domain or relation.head.kind
    tail = relation.range or relation.tail.kind
    lines = [f"{head} --{relation.shown_label}--> {tail}"]
    lines += [f"description: {relation.description}"] if relation.description else []
    lines += [
        f"example: {h[:60] or '(unnamed)'} --{relation.shown_label}--> {t[:60] or '(unnamed)'}" for h, t in samples
    ]
    return Prompt(
        _SYSTEM + "\n\n" + "\n".join(lines),
        json=True,
        schema=make_list_schema(PHRASES, *EXAMPLE),
        max_tokens=220,
        is_read=lambda said: _texts(said) is not None,
    )


def _texts(content: str) -> dict[str, list[str]] | None:
    content = content[find_end_of_reasoning(content) :]
    try:
        data = json.loads(content[content.index("{") : content.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, Mapping):
        return None
    texts = {
        way: [text for text in data.get(way, []) if isinstance(text, str)]
        for way in ("tail", "head")
        if isinstance(data.get(way, []), list)
    }
    return texts if any(texts.values()) else None
