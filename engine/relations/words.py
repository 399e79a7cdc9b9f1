"""Turn relations into words: the one place where a relation meets text.

Every scorer, index, generated question and training file takes the words of a relation from here. Those of a path are
put together in `models/text/verbalise.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...models.text.verbalise import RelationMeaning, RelationWords, join_without_repeats, split_name
from ...models.wording.english import lexicon_phrases
from ..neo4j.catalogue import LABEL_SEPARATOR, ORIGINS, Phrase, RelationInfo

MAX_PHRASES = 40
"""Of a relation and direction, the best trusted first, that scorers read."""


def words_of_relation(relation: RelationInfo, choose: Callable[[Phrase], bool] = lambda _phrase: True) -> RelationWords:
    """Return the words of a relation: its label's parts, the type of its domain, and what people ask for it by.

    choose: which of its phrases are used.
    """
    labels = tuple(relation.label.split(LABEL_SEPARATOR))
    forward, inverse = (
        tuple(dict.fromkeys(p.text for p in phrases_of(relation) if p.inverse == way and choose(p)))[:MAX_PHRASES]
        for way in (False, True)
    )
    return RelationWords(
        type_words(relation.domain), labels, RelationMeaning(forward, inverse, relation.head, relation.tail)
    )


def words_of_relations(relations: Sequence[RelationInfo]) -> dict[str, RelationWords]:
    """Return the words of each relation of a graph, by name.

    General English for "type" is not used where it names a type of the graph: "which category" means Category there.
    """
    types = frozenset(type_words(type_) for relation in relations for type_ in (relation.domain, relation.range))

    def is_said(phrase: Phrase) -> bool:
        return phrase.origin != "lexicon" or types.isdisjoint(phrase.text.split())

    found = {relation.name: words_of_relation(relation) for relation in relations}
    return found | {r.name: words_of_relation(r, is_said) for r in relations if found[r.name].is_type}


def phrases_of(relation: RelationInfo) -> tuple[Phrase, ...]:
    """Return all phrases of a relation, the best trusted first: its label as the user said it, what is stored with it,
    and what the lexicon has for its label."""
    said = [Phrase(relation.said_label)] if relation.said_label else []
    forward, inverse = lexicon_phrases(relation.shown_label.rpartition(LABEL_SEPARATOR)[2].replace("_", " "))
    found = (
        *said,
        *relation.phrases,
        *(Phrase(text, "lexicon") for text in forward),
        *(Phrase(text, "lexicon", inverse=True) for text in inverse),
    )
    return tuple(sorted(dict.fromkeys(found), key=lambda phrase: ORIGINS.index(phrase.origin)))


def type_words(type_: str | None) -> str:
    """Return the words of a type's last part (`location.country` is "country"); empty for None."""
    if type_ and "://" in type_:
        return ""  # older graphs have IRIs as types
    return (type_ or "").rpartition(".")[2].replace("_", " ").lower()


def split_relation_name(name: str) -> RelationWords:
    """Return the words of a relation from its name alone, as in Freebase: ``domain.type.property``.

    A name without dots has no type; a compound one (``a.b.c|d.e.f``) has the type of its first part.
    """
    parts = split_name(name)
    return RelationWords(" ".join(parts[0][-2:-1]).lower(), tuple(part[-1].lower() for part in parts))


def relation_embedding_text(relation: RelationInfo) -> str:
    """Return the text that is embedded for a relation: its words, its domain and its range."""
    words = words_of_relation(relation)
    return join_without_repeats((words.domain, *words.properties, type_words(relation.range)))
