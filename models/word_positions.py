"""Read how the words of a question stand to its topic and to each other: what it asks for, what lies between, how far.

"Who runs the team behind X?" asks for no kind by name; the team lies between, so that a path that ends there is too
short.
"In which city is the company that makes X?" asks for a city. Words near to the topic mean its first hop, words further
away the next ones: "the films written by the director of X" is not "the director of the films written by X". Rules of
thumb for English, our own, no paper's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from .text import RelationWords
from .wording import EDGE_WORDS, STOP_WORDS, read_lexicon, singularise
from .wording.answer_kinds import UNKNOWN, classify_noun

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset("the a an whose s".split())
"""What a noun phrase follows; s: of X's."""
_JOINTS = frozenset(
    "of in on at to for by with from behind where who which that whose is are was were does do did has have".split()
)
_BE = frozenset("is are was were s".split())
_DO = frozenset("do does did".split())
_MUTUAL = frozenset(
    "spouse partner sibling brother sister twin cousin relative friend colleague neighbor neighbour rival ally".split()
)
"""What leads both ways, in whichever it is stored."""
_BINDING = frozenset("of by for in on at with from to behind".split())
"""What binds a topic to the words before it more closely than to those after it."""
_BACK = frozenset(
    "same other others another also both share shares shared sharing common alike together with co fellow fellows"
    " colleague colleagues besides too similar".split()
)
"""What a question has that goes back over the relation it came by."""
_SHARE = frozenset("same share shares shared sharing co".split())
_QUESTION_WORDS = frozenset("which what who whom whose where when how".split())
_ASKING = _QUESTION_WORDS | frozenset("many a an any".split())
_AFTER_BOUND = 1.5
"""Words by which those after a topic are further away that is bound to the words before it."""
CENTRAL = 0.8
"""Of a graph's relations those at which a kind stands, for its nouns to tell none of them from another."""
LEAST_MEANT = 0.05
"""Of a question's words that a hop has to mean alone, for their order to count."""
_ENDINGS = ("ing", "ers", "er", "ors", "or", "ed", "es", "s", "ions", "ion", "ment")
_IRREGULAR = {
    "wrote": "writ", "written": "writ", "born": "birth", "died": "di", "dies": "di", "death": "di", "made": "mak",
    "married": "marri", "taught": "teach", "sold": "sell", "built": "build", "paid": "pay", "spoke": "speak",
    "spoken": "speak",
}  # fmt: skip


def find_topic_span(words: Sequence[str], topic: str) -> tuple[int, int]:
    """Return where the longest run of words that are all in the topic's name begins and ends; twice 0 for none.

    words: of a question, in small letters. The name as a whole may begin and end with "the" or "of"; what is not all of
    it may not.
    """
    whole = [m.group().lower() for m in WORD.finditer(topic)]
    for start in range(len(words) - len(whole) + 1):
        if whole and words[start : start + len(whole)] == whole:
            return start, start + len(whole)
    name = set(whole)
    best = (0, 0)
    start = 0
    while start < len(words):
        stop = start
        while stop < len(words) and words[stop] in name:
            stop += 1
        first, after = start, stop
        while first < after and words[first] in EDGE_WORDS:
            first += 1
        while after > first and words[after - 1] in EDGE_WORDS:
            after -= 1
        if after - first > best[1] - best[0]:
            best = (first, after)
        start = max(stop, start + 1)
    return best


def remove_mention(question: str, topic: str) -> str:
    """Return the question without its longest run of words that are all in the topic's name, and without the noun that
    says what the topic is: "who wrote" of "who wrote the film Heat"."""
    tokens = [(m.group().lower(), m.start(), m.end()) for m in WORD.finditer(question)]
    words = [token for token, _, _ in tokens]
    first, after = find_topic_span(words, topic)
    if first == after:
        return question
    first = _find_own_noun(words, first)
    rest = " ".join((question[: tokens[first][1]] + question[tokens[after - 1][2] :]).split())
    return rest if WORD.search(rest) else question


def _find_own_noun(words: Sequence[str], first: int) -> int:
    """Return where the mention of a topic begins with the noun before it that says what it is: that of "the film Heat",
    not of "which film Mann directed" or "the author Mann", who may be asked for as that."""
    noun = words[first - 1] if first else ""
    before = words[first - 2] if first > 1 else ""
    is_own = classify_noun(noun) not in ("", "person") and singularise(noun) == noun and before not in _ASKING
    return first - 1 - (before == "the") if is_own else first


def find_central_kinds(relations: Collection[RelationWords]) -> frozenset[str]:
    """Return the kinds that stand at an end of nearly all relations, as films do in a graph of films; never people,
    whose nouns mean relations: child, author."""
    ends = Counter(kind for each in relations for kind in {each.meaning.head.kind, each.meaning.tail.kind})
    return frozenset(
        kind for kind, times in ends.items() if kind not in (UNKNOWN, "person") and times >= CENTRAL * len(relations)
    )


def remove_nouns(question: str, kinds: Set[str], stems: Set[str]) -> str:
    """Return the question without the nouns of some kinds, but those with one of the stems; itself if none is left."""
    found = [(each, WORD.search(each)) for each in (question.split() if kinds else ())]
    kept = [
        each for each, word in found if not word or classify_noun(word[0]) not in kinds or stem_word(word[0]) in stems
    ]
    return " ".join(kept) if any(map(WORD.search, kept)) else question


@lru_cache(65_536)
def stem_word(word: str) -> str:
    """Return what a word has in common with words of the same root: "directed", "director" and "directs"."""
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) >= 3), "")
    return word.removesuffix(ending).rstrip("e")


def collect_word_stems(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(stem_word(m.group()) for text in texts for m in WORD.finditer(text))


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words of a question that say what is asked for, without the topic.

    distances: how far each is from the topic, in such words, (num_words,). asked: the noun of what is asked for.
    between: nouns of what lies between. goes_back: whether a word such as "other" says that the way leads back over the
    relation it came by. returns: the roots of the words for that relation, where the question has them: "that share an
    actor with X", "written by the writer of X". doer: the root of "owner" of "X's owner" and "the owner of X", and of
    "who owns X". done: that of "owned by X" and "does X own". noun: what "the … of X" and "X's …" ask for. links: how
    many such lead from the topic to what is asked for: three in "the home of the mother of X's wife".
    """

    words: tuple[str, ...]
    distances: tuple[float, ...]
    asked: tuple[str, ...]
    between: tuple[str, ...]
    goes_back: bool
    returns: frozenset[str] = frozenset()
    doer: str = ""
    done: str = ""
    noun: str = ""
    links: int = 0

    @property
    def may_return(self) -> bool:
        """Whether the way may lead back over the relation it came by."""
        return self.goes_back or bool(self.returns)

    def is_turned(self, relation: str, *, inverse: bool, alike: bool) -> bool:
        """Return whether a first step over a relation, by its words, leads the wrong way: over "owned by" from X to
        what X owns for "X's owner", to the owner of X for "owned by X" and "does X own".

        alike: whether things of one kind stand at both ends. Then "owner", "owns" and "owner of" lead one way, too.
        """
        word, *rest = [m.group().lower() for m in WORD.finditer(relation)] or [""]
        word = word if rest else singularise(word)
        if not word or (rest != ["by"] and (not alike or rest not in ([], ["of"]) or word in _MUTUAL)):
            return False
        is_named = rest != ["by"] and stem_word(word) == self.noun and (not self.doer or _is_doer(word))
        to_doer = rest == ["by"] or (not rest and (is_named or _is_doer(word)))
        if inverse == to_doer:
            return is_named or _find_root(word) == self.doer
        return _find_root(word) == self.done

    def is_contrary(self, stems: Set[str]) -> bool:
        """Return whether a hop with these stems is of the opposite of a word: a mother for "father"."""
        return any(stems & other and not stems & one for one, other in _find_opposites(self.words))


def _find_root(word: str) -> str:
    """Return the stem that "mentor", whose ending looks like one of a doer, shares with "mentored"."""
    return stem_word(stem_word(word))


def _is_doer(word: str) -> bool:
    return not re.search("ees?$", word) and (bool(re.search("[eo]rs?$", word)) or classify_noun(word) == "person")


@lru_cache(4096)
def _find_opposites(words: tuple[str, ...]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return the stems that words of a question are among, each with the stems of the opposite that no word has."""
    own = collect_word_stems(words)
    both = (sides for pair in _stem_contrasts() for sides in permutations(pair))
    return tuple((one, other) for one, other in both if own & one and not own & other)


@lru_cache(1)
def _stem_contrasts() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((collect_word_stems((one,)), collect_word_stems((other,))) for one, other in read_lexicon().contrasts)


@lru_cache(4096)
def read_asked_words(question: str, topic: str) -> AskedWords:
    """Return the words of a question about a topic, by the name it is mentioned by."""
    words = [m.group().lower() for m in WORD.finditer(question)]
    first, after = find_topic_span(words, topic)
    first, after = (_find_own_noun(words, first), after) if first < after else (len(words), len(words))
    content = [at for at, word in enumerate(words) if not first <= at < after and word not in STOP_WORDS]
    before = [at for at in content if at < first]
    further = _AFTER_BOUND if first and words[first - 1] in _BINDING else 0.0
    distances = {at: float(rank) for rank, at in enumerate(reversed(before), start=1)}
    distances |= {at: rank + further for rank, at in enumerate((at for at in content if at >= after), start=1)}
    asked, between = _find_nouns(words, {at for at in content if words[at] not in _JOINTS}, (first, after))
    two = ["", "", *(word for word in words[:first] if word not in _ARTICLES)][-2:]
    ends_phrase = after == len(words) or words[after] in STOP_WORDS  # not "the directors of X films"
    is_verb = ends_phrase and two[1] not in STOP_WORDS and not _is_doer(two[1])  # "who owns X", not "the owner X"
    verb, noun = two[1] if is_verb else "", two[0] if ends_phrase and two[1] == "of" else ""
    if "co" in words[:first]:  # whose co-writer somebody is wrote what he did
        verb = noun = ""
    elif words[after : after + 1] == ["s"]:
        noun = "".join(words[after + 1 : after + 2])
    return AskedWords(
        tuple(words[at] for at in content),
        tuple(distances[at] for at in content),
        tuple(words[at] for at in asked[-2:]),
        tuple(words[at] for at in between),
        not _BACK.isdisjoint(words),
        _find_returns(words, content),
        _find_root(noun if _is_doer(noun) else verb),
        _find_root(_find_done(two, "".join(words[after : after + 1]))),
        stem_word(noun) if noun not in STOP_WORDS else "",
        _count_links(words[:first], words[after:]),
    )


def _find_done(before: Sequence[str], after: str) -> str:
    """Return what the topic does, by the two words before it and the one after: the verb of "owned by X" and of "does X
    own"; empty for none."""
    if before[1] == "by":
        return "" if _is_doer(after) else before[0]
    return after if before[1] in _DO else ""


def _count_links(before: Sequence[str], after: Sequence[str]) -> int:
    of = sum(word == "of" and noun not in STOP_WORDS for noun, word in pairwise(before))  # not "which of"
    return of + after.count("s")


def _find_returns(words: Sequence[str], content: Sequence[int]) -> frozenset[str]:
    """Return the roots of what things share, "actors" of "films that share actors", and of two words with one root that
    are no forms of one noun, "wrote" and "screenwriter"."""
    roots = {singularise(words[at]): stem_word(words[at]) for at in content}
    both = {one for one, other in permutations(roots.values(), 2) if len(one) > 2 and other.endswith(one)}
    shared = (at for at in content if not _SHARE.isdisjoint(words[max(at - 2, 0) : at]) and words[at] not in _BACK)
    return frozenset(both | {stem_word(words[at]) for at in shared})


def _find_nouns(words: Sequence[str], content: Set[int], topic: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Return the places of the noun that is asked for and of the nouns between; not that of "the film X", which is the
    topic's own. topic: where its mention begins and ends."""
    first, after = topic
    at = next((at for at, word in enumerate(words) if word in _QUESTION_WORDS), None)
    if at is None:
        return [], []
    asked = _take_noun(content, at + 1) if words[at] in ("which", "what", "whose") else []
    if not asked and words[at + 1 : at + 2] and words[at + 1] in _BE:
        if words[at + 2 : at + 3] and words[at + 2] in _ARTICLES:
            asked = _take_noun(content, at + 3)
        elif at + 2 == first and words[after : after + 1] == ["s"]:
            asked = _take_noun(content, after + 1)
    between = []
    for place, word in enumerate(words):
        if word in _ARTICLES and place + 1 not in asked:
            noun = _take_noun(content, place + 1)
            known = [each for each in noun if classify_noun(words[each])]
            between += (known or noun)[-1:]
        elif (
            place in content
            and place not in asked
            and place > at + 1
            and singularise(word) != word
            and classify_noun(word)
        ):
            between.append(place)
    own = first - 1 if first and words[first - 1] not in _ARTICLES else first - 2
    return asked, [place for place in dict.fromkeys(between) if place != own]


def _take_noun(content: Set[int], start: int) -> list[int]:
    end = start
    while end in content and end - start < 3:
        end += 1
    return list(range(start, end))


def score_word_order(hop_words: Floats, distances: Floats, paths: Ints) -> Floats:
    """Return how well the words of a question come in the order of each path's hops, −1 to 1; 0 for one hop.

    hop_words: (D, num_words), how much of each word each hop means; distances: (num_words,), from the topic; paths:
    (num_paths, max_hops), −1 after a path's end. A word counts for a hop by what it means it more than any other hop of
    the path does; of each two hops that follow one another the second one's words should be further away. Returns
    (num_paths,).
    """
    there = paths >= 0
    order = np.zeros(len(paths), dtype=np.float32)
    if paths.shape[1] < 2:
        return order
    words = np.where(there[:, :, None], hop_words[paths], np.float32(0.0))
    best = np.sort(words, axis=1)
    rest = np.where(words == best[:, -1:], best[:, -2:-1], best[:, -1:])
    own = np.maximum(words - rest, 0.0)
    mass = own.sum(axis=2)
    place = (own @ distances) / np.maximum(mass, 1e-6)
    for hop in range(paths.shape[1] - 1):
        both = np.minimum(mass[:, hop], mass[:, hop + 1])
        step = np.tanh(place[:, hop + 1] - place[:, hop]) * np.minimum(both, 1.0)
        order += np.where(there[:, hop + 1] & (both > LEAST_MEANT), step, 0.0)
    return (order / np.maximum(there.sum(axis=1) - 1, 1)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class WordPositions:
    """Where the words stand that the hops mean.

    hop_words: (D, num_words), how much of each of `AskedWords.words` each hop means; distances: (num_words,). asked,
    between: (D,), how well what a hop reaches is called by the noun that is asked for, and by the best of those
    between; 0 where there is none. reverse: (D,), the hop straight back; −2 where there is none or a word may ask for
    it. returns, contrary: (D,), see `AskedWords`. turned: (D,), 0 to 1, how surely `is_turned` holds. named: (D,),
    whether a hop is called by the noun next to the topic.
    """

    hop_words: Floats
    distances: Floats
    asked: Floats
    between: Floats
    reverse: Ints
    returns: Bools
    turned: Floats
    contrary: Bools
    named: Bools

    def score(self, paths: Ints, *, order: float, between: float, noun: float, back: float, against: float) -> Floats:
        """Return what the places of words add to the score of each path, by a weight each; back: of a path that goes
        straight back over a relation, or takes it again though less than two words mean it, and with the other sign of
        one that goes back first, where the question says so; against: of one whose first hop is turned, with a contrary
        hop, or with the noun next to the topic in later hops alone. paths: see `score_word_order`. Returns
        (num_paths,)."""
        later = (self.named[paths[:, 1:]] & (paths[:, 1:] >= 0)).any(axis=1) & ~self.named[paths[:, 0]]
        goes_back = self.reverse[paths[:, :-1]] == paths[:, 1:]
        said = goes_back & self.returns[paths[:, :-1]]
        is_meant_once = (self.hop_words >= 0.5).sum(axis=1) < 2
        again = (paths[:, :-1] == paths[:, 1:]) & is_meant_once[paths[:, :-1]] & (paths[:, 1:] >= 0)
        last = (paths >= 0).sum(axis=1) - 1
        on_the_way = np.where(np.arange(paths.shape[1]) < last[:, None], self.between[paths], np.float32(0.0)).max(
            axis=1
        )
        return (
            order * score_word_order(self.hop_words, self.distances, paths)
            + between * on_the_way
            + noun * self.asked[paths[np.arange(len(paths)), last]]
            + back * (goes_back & ~said | again).any(axis=1)
            - back * said[:, :1].any(axis=1)
            + against * np.maximum(self.turned[paths[:, 0]], (self.contrary[paths] & (paths >= 0)).any(axis=1) | later)
        ).astype(np.float32)
