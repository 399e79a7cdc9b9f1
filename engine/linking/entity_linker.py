"""Link questions to entities by the full-text index of names.

A full-text query finds entities that share words with the question, typos included. Each is compared with the words of
the question and scored against the others (`names`). Dates, numbers and quoted texts are linked to literals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Annotated, Any

from ...models import Range
from ...models.wording import (
    FUNCTION_WORDS,
    INDEX_STOP_WORDS,
    join_words_with_underscores,
    stands_in_comparison,
    strip_marks,
)
from ..data_model import Entity, Question, Topic, format_literal_term
from ..neo4j import Request, Row, load_query
from ..neo4j.catalogue import verbalise_type
from ..neo4j.graph_requests import (
    EntityWithSearchNames,
    NameQuery,
    find_entity_candidates,
    find_literals_by_prefix,
    read_search_names,
)
from ..parts import Linker, option, part
from ..relations import collect_relation_words
from . import NOTHING, add_topic_signatures, read_topic_signatures
from .entity_index import EntityTypesFromRelations, NearestEntitySearch, open_entity_index
from .mentions import (
    MAX_WORDS,
    NUMBERS,
    ROMANS,
    Mention,
    QuestionWords,
    Token,
    compute_mention_features,
    compute_mention_probabilities,
    derive_places_from_demonym,
    drop_punctuation_mismatches,
    find_mention,
    is_unspaced,
    mark_question_content_words,
    tokenise,
)
from .reranking import Floats, RelationFeatureExtractor, compute_candidate_probabilities

if TYPE_CHECKING:
    from ..context import Context, Database
    from ..resources import GraphResources

_NUMBERED = re.compile(rf"([a-z]{{2,5}}?)([1-9]|1\d|20|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})")
MAX_CLAUSES = 400
"""The most clauses of a Lucene query; Lucene refuses more than 1,024."""


WORD_QUERIES = 24
"""The most words of a question, and pairs of neighbouring words, that get a query of their own."""
READ = 200
"""How many entities that match such a query are read; those with the most triples are candidates, too."""
_JOINING = (".", ":", "·")
_SYNTAX = re.compile(r"[!-&(-\-/:-@\[-`{-~]+")
"""Of ASCII all that is neither a letter, a digit, an apostrophe nor a full stop."""


def write_full_text_queries(text: str, pool: int, per_word: int) -> list[NameQuery]:
    """Return the Lucene queries for a question, each with its limit of entities.

    The first query has all words, longer ones with a typo allowed, and neighbouring words as phrases. Each other query
    has one content word or two neighbouring ones, so that a long name that shares many words with the question does not
    crowd out a short name that shares the word that matters. Only word characters are passed on, in quotes where Lucene
    would read an operator, so that the text of a question is never query syntax. A question of function words alone
    gives a query that finds nothing. A query has at most `MAX_CLAUSES` clauses: words come before typos and phrases.
    """
    tokens = tokenise(text)[:MAX_WORDS]
    spelled = [_spell(text, token) for token in tokens]
    is_content = mark_question_content_words(text, tokens)
    alone = [some for content, some in zip(is_content, spelled, strict=True) if content and not is_unspaced(some[0])]
    parts = [f'"{word}"^2' for some in alone for word in some]
    neighbours = list(pairwise(zip(spelled, is_content, strict=True)))
    for (left, is_left), (right, is_right) in neighbours:
        if is_left or is_right or not {left[0], right[0]} <= FUNCTION_WORDS:
            written = [
                (left[0], right[0]),
                *((each, right[0]) for each in left[1:]),
                *((left[0], r) for r in right[1:]),
            ]
            parts += [f'"{first} {second}"^3' for first, second in written]
    for content, (word, *_) in zip(is_content, spelled, strict=True):
        if content and len(word) >= 5 and " " not in word:
            parts.append(f"{word}~{1 if len(word) < 8 else 2}")
    joined = [f'"{run}"' for run in (*_find_joined_runs(text, tokens), *_find_stop_names(tokens, is_content))]
    parts = [*(f"{run}^3" for run in joined), *parts]
    whole = " ".join(list(dict.fromkeys(parts))[:MAX_CLAUSES]) or NOTHING
    singles = [
        " ".join(f'"{word}"' for word in (*some, *derive_places_from_demonym(some[0]))) for some in alone[:WORD_QUERIES]
    ]
    pairs = [f'"{left[0]} {right[0]}"' for (left, is_left), (right, is_right) in neighbours if is_left and is_right]
    others = dict.fromkeys([*joined[:WORD_QUERIES], *singles, *pairs[:WORD_QUERIES]])
    return [NameQuery(whole, pool), *(NameQuery(query, per_word, READ) for query in others)]


def _spell(text: str, token: Token) -> tuple[str, ...]:
    """Return how the name index may have a word, first the folded one; none is query syntax within quotes."""
    found = [token.folded]
    if text[token.end : token.end + 2].lower() in ("'s", "’s"):
        found.append(f"{token.folded}'s")
    else:
        found.append(_find_other_spelling(token.folded))
    if "." in token.text:
        found.append(token.text.rstrip(".").lower())
    if not token.text.isascii():
        found += [token.text.lower(), strip_marks(token.text).lower()]
    return tuple(dict.fromkeys(word for each in found if (word := _SYNTAX.sub(" ", each).strip()))) or ("",)


def _find_joined_runs(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return the words that only a full stop or colon joins: the name index holds them as one word (will.i.am)."""
    runs: list[tuple[int, int]] = []
    for left, right in pairwise(tokens):
        if text[left.end : right.start] in _JOINING and not (is_unspaced(left.text) or is_unspaced(right.text)):
            first = runs.pop()[0] if runs and runs[-1][1] == left.end else left.start
            runs.append((first, right.end))
    return list(dict.fromkeys(text[first:after].replace("_", " ").lower() for first, after in runs))


def _find_stop_names(tokens: Sequence[Token], is_content: Sequence[bool]) -> Iterator[str]:
    for may_be, run in groupby(
        zip(tokens, is_content, strict=True), lambda each: each[1] and each[0].folded in INDEX_STOP_WORDS
    ):
        if may_be:
            yield join_words_with_underscores([token.folded for token, _ in run])


def _find_other_spelling(word: str) -> str:
    """Return the other spelling of a number, or of initials that end in a number: II for 2, WWII for WW2."""
    if word in ROMANS:
        return ROMANS[word]
    if len(word) > 1 and word in NUMBERS:
        return NUMBERS[word]
    found = _NUMBERED.fullmatch(word)
    return found[1] + ROMANS.get(found[2], found[2])[0] if found else ""


POOL, PER_WORD = 100, 10
"""Entities that are read for a question, and for each word of it."""
LEAST_SIMILARITY = 0.8
"""Of a name with typos that is a mention; 1: equal after folding."""
CONSIDERED = 20
"""Candidates that are reranked by their relations, once these are read."""
NEAREST_BELOW = 0.3
"""Below this probability of its best candidate a question also gets entities whose names are near by embedding."""


@part("full-text")
@dataclass(frozen=True)
class FullText(Linker):
    """Links by names and aliases in the full-text index, by the relations of the candidates, and dates, numbers and
    quoted texts to literals."""

    top_k: Annotated[int, Range(1, 100)] = option(10, "candidates kept")

    def open(self, graph: GraphResources) -> FullTextLinker:
        vectors, relations = graph.shared.vectors, graph.catalogue.relations
        index = open_entity_index(graph)
        # the lexicon's phrases are left out: the weights were not fitted with them
        words = {r.number: collect_relation_words(r, lambda p: p.origin != "lexicon") for r in relations}
        return FullTextLinker(
            self.top_k,
            _list_type_words(graph),
            RelationFeatureExtractor(words, EntityTypesFromRelations(graph.catalogue), vectors),
            None if index is None else NearestEntitySearch(index, vectors),
            frozenset(relation.number for relation in relations if graph.words[relation.name].is_type),
        )

    def __call__(self, ctx: Context, questions: Sequence[Question]) -> list[tuple[Topic, ...]]:
        """Return the candidates of each question with their probabilities, best first.

        Two round trips for the batch; one more each if questions contain values, a name has a place or a year beside
        it, or the entity index is searched.
        """
        linker: FullTextLinker = self.opened(ctx.graph)
        texts = [question.text for question in questions]
        mentions = linker.find_mentions(ctx.db, texts)
        chosen = _choose_namesakes(ctx.db, mentions)
        found = [linker._rank_mentions(words, some) for (words, _), some in zip(mentions, chosen, strict=True)]
        literals = find_value_topics(ctx.db, texts)
        ids = dict.fromkeys(each.entity.id for some in (*found, *literals) for each in some)
        signatures = read_topic_signatures(ctx.db, list(ids))
        reranked = linker.rerank(texts, [add_topic_signatures(some, signatures) for some in found])
        values = [[each for each in add_topic_signatures(some, signatures) if each.relations] for some in literals]
        return [
            tuple(sorted((*linker._drop_kinds(some), *own), key=lambda each: -each.score))
            for some, own in zip(reranked, values, strict=True)
        ]


def _list_type_words(graph: GraphResources) -> frozenset[str]:
    """Return the single words that name a type: the domain or range of a relation, or the last word of a relation."""
    types = {verbalise_type(type_) for r in graph.catalogue.relations for type_ in (r.domain, r.range)}
    ends = {words.properties[-1] for words in graph.words.values()}
    return frozenset(word for word in types | ends if word and " " not in word)


@dataclass(frozen=True, slots=True)
class FullTextLinker:
    """Links questions by names and aliases, and to the literals that match the values in them.

    type_words: those that name types of entities: "film" in small letters is rarely what a question is about.
    extractor: reranks the candidates by their relations. nearest: finds names by embedding. types: numbers of the
    relations from things to their kinds; a kind is no topic beside another one.
    """

    top_k: int = 10
    type_words: Collection[str] = frozenset()
    extractor: RelationFeatureExtractor | None = None
    nearest: NearestEntitySearch | None = None
    types: frozenset[int] = frozenset()

    def find_mentions(self, db: Database, texts: Sequence[str]) -> list[tuple[QuestionWords, list[Mention]]]:
        """Return the words of each text, and all mentions of entities in it."""
        pools = db.run(find_entity_candidates([write_full_text_queries(text, POOL, PER_WORD) for text in texts]))
        every = [QuestionWords(text) for text in texts]
        found = [self._find_all_mentions(words, pool) for words, pool in zip(every, pools, strict=True)]
        if self.nearest is not None:
            near = {
                at: self.nearest.find_nearest([token.folded for token in words.tokens], words.is_content)
                for at, words in enumerate(every)
                if max(self._weigh(words, found[at]), default=0.0) < NEAREST_BELOW
            }
            ids = list(dict.fromkeys(each.id for some in near.values() for each in some))
            named = db.run(read_search_names(ids)) if ids else {}
            for at, some in near.items():
                known = {each.named.entity.id for each in found[at]}
                found[at] += [
                    Mention(named[n.id], named[n.id].entity.label, "near", n.start, n.end, n.cosine)
                    for n in some
                    if n.id in named and n.id not in known
                ]
        return list(zip(every, found, strict=True))

    def rank(self, text: str, pool: Iterable[EntityWithSearchNames]) -> tuple[Topic, ...]:
        """Return the candidates among `pool` for the mentions in `text`, best first; equal ones by id."""
        words = QuestionWords(text)
        return self._rank_mentions(words, self._find_all_mentions(words, pool))

    def _find_all_mentions(self, words: QuestionWords, pool: Iterable[EntityWithSearchNames]) -> list[Mention]:
        found = (find_mention(words, named, LEAST_SIMILARITY, self.type_words) for named in pool)
        return drop_punctuation_mismatches(words, [each for each in found if each is not None])

    def _weigh(self, words: QuestionWords, found: Sequence[Mention]) -> list[float]:
        weighed: list[float] = compute_mention_probabilities(
            compute_mention_features(words, found, self.type_words)
        ).tolist()
        return weighed

    def _rank_mentions(self, words: QuestionWords, found: Sequence[Mention]) -> tuple[Topic, ...]:
        weighed = zip(self._weigh(words, found), found, strict=True)
        likely = sorted(weighed, key=lambda each: (-each[0], each[1].named.entity.id))
        kept = likely[: CONSIDERED if self.extractor else self.top_k]
        return tuple(make_topic_candidate(words, mention, probability) for probability, mention in kept)

    def rerank(self, texts: Sequence[str], found: Sequence[Sequence[Topic]]) -> list[list[Topic]]:
        """Return the candidates of each question with their probabilities by words and relations, best first."""
        if self.extractor is None:
            return [list(some) for some in found]
        kept = [self.extractor.leave_out_asked_type(text, some) for text, some in zip(texts, found, strict=True)]
        relations = self.extractor.features(texts, kept)
        return [self._rerank(some, x) for some, x in zip(kept, relations, strict=True)]

    def _rerank(self, some: Sequence[Topic], relations: Floats) -> list[Topic]:
        assert self.extractor is not None
        if not some:
            return []
        likely = compute_candidate_probabilities(some, relations).tolist()
        weighed = [
            replace(each, score=p, probability=p, kind=self.extractor.kind(each))
            for p, each in zip(likely, some, strict=True)
        ]
        return sorted(weighed, key=lambda each: (-each.score, each.entity.id))[: self.top_k]

    def _drop_kinds(self, topics: Sequence[Topic]) -> Sequence[Topic]:
        others = [topic for topic in topics if not any(-number in self.types for number in topic.relations)]
        return others if any((topic.probability or 0.0) >= SURE_TOPIC for topic in others) else topics


def make_topic_candidate(words: QuestionWords, found: Mention, probability: float | None = None) -> Topic:
    span = words.span(found.start, found.end)
    return Topic(
        found.named.entity,
        found.named.degree,
        score=probability or 0.0,
        mention=words.text[slice(*span)],
        matched_name=found.name,
        probability=probability,
        span=span,
    )


MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?P<month>" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + r")\.?"
_DAY, _YEAR = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_DATES = (
    re.compile(rf"\b{_DAY}(?: of)? {_MONTH},? {_YEAR}\b", re.I),
    re.compile(rf"\b{_MONTH} {_DAY},? {_YEAR}\b", re.I),
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?\b"),
    re.compile(rf"(?<!\d )(?<!\dth )(?<!\dst )(?<!\dnd )(?<!\drd )\b{_MONTH}(?P<day>) {_YEAR}\b", re.I),
)
_QUOTED = re.compile(r"[\"“”](?P<value>[^\"“”]{1,100})[\"“”]")
_NUMBER = re.compile(r"(?<![\w.,-])(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit> ?[^\W\d]+[²³]?)?(?![\w-])")
MAX_VALUES = 8
"""The most values that are read from a question, the first ones."""


@dataclass(frozen=True, slots=True)
class _ValueMention:
    """A value in a question: its place, and the spellings that a literal may have. sure: it can only be a value."""

    start: int
    end: int
    written: tuple[str, ...]
    sure: bool

    def overlaps(self, other: _ValueMention) -> bool:
        return self.start < other.end and other.start < self.end


def parse_values(text: str) -> list[_ValueMention]:
    """Return the values in a text: dates, quoted texts, and other numbers of at least two digits; none that stands in a
    comparison. A number comes with and without the next word, which may be a unit; of values with the same start the
    longer comes first."""
    found = [value for value in _parse_all(text) if not stands_in_comparison(text, value.start)]
    sure = [value for value in found if value.sure]
    kept = sure + [value for value in found if not value.sure and not any(value.overlaps(other) for other in sure)]
    return sorted(kept, key=lambda each: (each.start, -each.end))[:MAX_VALUES]


def find_dates(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the dates and months of a text: where they begin and end, and as ISO 8601 writes them."""
    for pattern in _DATES:
        for date in pattern.finditer(text):
            month, day = date["month"], date["day"]
            place = int(month) if month.isdigit() else [m[:3] for m in MONTHS].index(month[:3].lower()) + 1
            yield date.start(), date.end(), f"{date['year']}-{place:02}" + (f"-{int(day):02}" if day else "")


def _parse_all(text: str) -> Iterator[_ValueMention]:
    for start, end, iso in find_dates(text):
        yield _ValueMention(start, end, tuple(dict.fromkeys((iso, text[start:end]))), sure=True)
    for quoted in _QUOTED.finditer(text):
        yield _ValueMention(quoted.start("value"), quoted.end("value"), (quoted["value"],), sure=True)
    for number in _NUMBER.finditer(text):
        digits, unit = number["number"].rstrip(","), (number["unit"] or "").strip()
        plain = digits.replace(",", "")
        if len(plain) < 2:
            continue
        if unit:
            written = dict.fromkeys((f"{digits} {unit}", f"{digits}{unit}", f"{plain} {unit}"))
            yield _ValueMention(number.start(), number.end(), tuple(written), sure=False)
        yield _ValueMention(
            number.start(), number.start() + len(digits), tuple(dict.fromkeys((plain, digits))), sure=False
        )


SURE, UNSURE = 0.9, 0.5
"""The probability that a question is about a literal that matches a date or quoted text, and one that matches a number.
Our own choice."""
SURE_TOPIC = 0.5
OF_A_VALUE = 5
"""The most literals that are read for a value; they differ in type or language."""


def find_value_topics(db: Database, texts: Sequence[str]) -> list[list[Topic]]:
    """Return the literals that match values in each text; one round trip if there are values."""
    forms = [(at, form) for at, text in enumerate(texts) for form in parse_values(text)]
    if not forms:
        return [[] for _ in texts]
    wanted = [(at, form, term) for at, form in forms for term in _write_terms(form)]
    literals = db.run(find_literals_by_prefix([term for *_, term in wanted], OF_A_VALUE))
    added: list[dict[str, tuple[_ValueMention, Entity]]] = [{} for _ in texts]
    for (at, form, _), some in zip(wanted, literals, strict=True):
        for literal in some:
            added[at].setdefault(literal.id, (form, literal))
    return [_make_candidates(text, list(found.values())) for text, found in zip(texts, added, strict=True)]


def _write_terms(form: _ValueMention) -> list[str]:
    whole = [format_literal_term(text) for text in form.written]
    return [*whole, f'"{form.written[0]}T'] if form.sure and form.written[0][:4].isdigit() else whole


def _make_candidates(text: str, found: Sequence[tuple[_ValueMention, Entity]]) -> list[Topic]:
    return [
        Topic(
            literal,
            score=SURE if form.sure else UNSURE,
            mention=text[form.start : form.end],
            matched_name=literal.label,
            probability=SURE if form.sure else UNSURE,
            span=(form.start, form.end),
            kind="value",
        )
        for form, literal in found
        if not any(form.overlaps(other) and other.end - other.start > form.end - form.start for other, _ in found)
    ]


# Which of several entities of one name is meant. "Paris, Texas" and "Paris (Texas)" mean the Paris that is linked with
# Texas, "the 1987 film Heat" and "Heat (1987)" the one with a date in that year. What was read is part of the mention.
# Where no candidate has it, nothing is chosen and the words stay unread.

Found = Sequence[tuple[QuestionWords, Sequence[Mention]]]

_NAME_AFTER = re.compile(r"(?:, ?| ?\()(?=\w)")
_YEAR_AFTER = re.compile(r"(?: ?\([^()\d]*|, | (?:of|from) (?:the year )?)(\d{4})(?!\w)(?:[^()]*\))?")
_YEAR_BEFORE = re.compile(r"\b(\d{4})(?:['’]s)?((?: [\w-]+){0,3}) ?[\"“']?$")
MAX_NEIGHBOURS = 200
"""Neighbours of a candidate that are looked at."""


@dataclass(frozen=True, slots=True)
class _Qualifier:
    question: int
    name: tuple[int, int]
    both: tuple[int, int]
    ids: tuple[str, ...] = ()
    year: str = ""


def _choose_namesakes(db: Database, found: Found) -> list[list[Mention]]:
    """Return the mentions of each question, of a name with a place or a year beside it those that have it.

    One round trip if any name has.
    """
    mentions = [list(some) for _, some in found]
    qualifiers = [each for at, (words, some) in enumerate(found) for each in _find_qualifiers(at, words, some)]
    if not qualifiers:
        return mentions
    asked = [
        {
            "ids": [m.named.entity.id for m in mentions[each.question] if (m.start, m.end) == each.name],
            "others": list(each.ids),
            "year": each.year,
        }
        for each in qualifiers
    ]
    for each, fitting in zip(qualifiers, db.run(_find_fitting(asked)), strict=True):
        if fitting:
            mentions[each.question] = [
                replace(m, start=each.both[0], end=each.both[1]) if (m.start, m.end) == each.name else m
                for m in mentions[each.question]
                if (
                    m.named.entity.id in fitting
                    if (m.start, m.end) == each.name
                    else m.start < each.both[0] or m.end > each.both[1]
                )
            ]
    return mentions


def _find_fitting(asked: Sequence[dict[str, Any]]) -> Request[list[set[str]]]:
    def decode(rows: Sequence[Row]) -> list[set[str]]:
        found: list[set[str]] = [set() for _ in asked]
        for place, id_ in rows:
            found[place].add(id_)
        return found

    return Request(load_query("find_namesakes"), {"asked": list(asked), "limit": MAX_NEIGHBOURS}, decode)


def _find_qualifiers(at: int, words: QuestionWords, mentions: Sequence[Mention]) -> Iterator[_Qualifier]:
    by_span: dict[tuple[int, int], list[str]] = {}
    for mention in mentions:
        if mention.similarity == 1 and mention.kind in ("whole", "unbracketed"):
            by_span.setdefault((mention.start, mention.end), []).append(mention.named.entity.id)
    for span in by_span:
        first, after = words.span(*span)
        if beside := _NAME_AFTER.match(words.text, after):
            for other, ids in by_span.items():
                if words.span(*other)[0] == beside.end():
                    yield _Qualifier(at, span, (span[0], other[1]), ids=tuple(ids))
        if year := _YEAR_AFTER.match(words.text, after):
            end = sum(token.start < year.end() for token in words.tokens)
            yield _Qualifier(at, span, (span[0], end), year=year[1])
        elif (year := _YEAR_BEFORE.search(words.text[:first])) and not FUNCTION_WORDS.intersection(year[2].split()):
            begin = next(place for place, token in enumerate(words.tokens) if token.start >= year.start())
            yield _Qualifier(at, span, (begin, span[1]), year=year[1])
