"""Score relation paths by cosine similarity with the question, weighed by what each hop adds.

STAR's `similarity` baseline is the cosine of question and verbalised path. It prefers long paths, since more words
always find more to agree with. Here the score of *ending* at a path p = h_1 … h_L also weighs what hops cost; the
formula and its constants are our own, no paper's:

    S(p) = cos(q', text(p))                              similarity of the question and the verbalised path
         + support · mean_l P(q', h_l)                   every hop needs words of the question that speak for it
         + type · cos(type(q'), reached(h_L))            the last hop reaches the kind of thing that is asked for
         + kind · agreement(q', end(h_L))                … and what stands there is of that kind
         + cover · mean_t max_l σ((cos(t, h_l) − .6) / .07)   the words of the question that the path uses up
         + order · places(q, h_1 … h_L)                       words come in the order of the hops they mean
         + between · max_{l<L} cos(between(q), reached(h_l))  a noun between is reached on the way
         + noun · cos(asked(q), reached(h_L))                 the noun that is asked for is reached last
         + back · [h_{l+1} = h_l⁻¹, and no word such as "other" asks for it, or h_{l+1} = h_l, which no two words mean]
         − back · [h_2 = h_1⁻¹, and the question says so: "that share an actor with", "written by the writer of"]
         + against · [h_1 is "owned by" or "owner" turned round, or an h_l is a mother where a father is asked for]
         + [L ≥ 2] · hop · ((L − 1) · ln(1 + T) − Σ_l ln(1 + n_l))

q' is the question without its topic's mention, and without the nouns of what nearly all relations of the graph are of,
which tell kinds alone; P(q', h) is the mean over the tokens of text(h) of the best cosine to a token of q' (late
interaction); t are the tokens of the content words of q'. The last line makes lengths comparable:
singling out one of the n_l ways on at each hop takes evidence, and a question of T tokens has room for more of it.
`word_positions` says what order, nouns between and the noun that is asked for are. A hop is read in the words of its
relation or in one of the phrases by which people ask for it, whichever fits best. S can be compared between lengths and
between topics. The constants were fitted on training questions (docs/how-it-works.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .calibration import lower_scores_except
from .text import Hop, find_end_kind, find_end_type, list_hop_phrases, reverse_hop, verbalise_hop, verbalise_path
from .text.vectors import LRUCache, TextVectors
from .word_positions import WORD, AskedWords, WordPositions, collect_word_stems, stem_word
from .wording import EMPTY_WORDS, NOUN_ENDS, STOP_WORDS
from .wording.answer_kinds import classify_noun, find_wanted_kind, find_which_noun, score_kind_agreement

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

SAMEWORD = 0.6
"""Cosine of two tokens from which on one is more likely than not to mean the other."""
MAYBE_TURNED = 0.3
"""Of a hop that leads the wrong way if its ends, which nobody knows, are alike. Our own choice."""
MAX_HOPS_KEPT = 20_000
UNKNOWN_TYPE = 0.25
"""Type evidence of a hop that does not tell what it reaches: about the mean of those that do."""
SAME_KIND = 0.6
"""Type evidence of such a hop whose things are of the kind that is asked for. Our own choice, of .4 and .6."""


@dataclass(frozen=True, slots=True)
class SimilarityWeights:
    """The constants of S, fitted together (docs/how-it-works.md). All zero: the cosine alone."""

    support: float = 0.42
    type: float = 0.26
    hop: float = 0.13
    kind: float = 0.27
    cover: float = 0.27
    order: float = 0.17
    between: float = 0.29
    noun: float = 0.42
    back: float = -0.27
    against: float = -2.0
    """Of a path against the question's words: no other term makes up for it. Our own choice, not fitted."""
    phrases: bool = True
    """Whether a hop may be read in phrases that people ask for it by."""


COSINE = SimilarityWeights(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, phrases=False)
"""The cosine alone."""

_ASKED_FOR = {"who": "person", "whom": "person", "whose": "person", "where": "location", "when": "date"}


def _find_asked_type(question: str) -> str:
    """Return what is asked for: person, location or date by the question word, else two words after which or what."""
    tokens = [m.group().lower() for m in WORD.finditer(question)]
    for at, token in enumerate(tokens):
        if token in _ASKED_FOR:
            return _ASKED_FOR[token]
        if token in ("which", "what", "how"):
            tokens = tokens[at + 1 :]
            break
    return " ".join([t for t in tokens if t not in EMPTY_WORDS][:2]) or "thing"


def _list_content_words(question: str) -> list[str]:
    """Return the words of a question that say what is asked for."""
    return [m.group() for m in WORD.finditer(question) if m.group().lower() not in STOP_WORDS]


def extract_content_words(question: str) -> str:
    """Return the words of a question that say what is asked for; the question itself where it has none."""
    return " ".join(_list_content_words(question)) or question


def compute_support(hop_tokens: Floats, hop_starts: Ints, question_tokens: Floats) -> Floats:
    """P(q', h) for each of D hops.

    hop_tokens: (N, dim), the tokens of all hops end to end; hop_starts: (D,), the first row of each, none empty;
    question_tokens: (T, dim). Returns (D,); zero where the question has no token.
    """
    if not len(question_tokens):
        return np.zeros(len(hop_starts), dtype=np.float32)
    best = (hop_tokens @ question_tokens.T).max(axis=1)
    lengths = np.diff(np.append(hop_starts, len(hop_tokens)))
    return (np.add.reduceat(best, hop_starts) / lengths).astype(np.float32)


def _compose_cosine(hop_vectors: Floats, paths: Ints, question_vector: Floats) -> Floats:
    """cos(q', Σ_l h_l), the stand-in for cos(q', text(p)) that needs no encoding.

    hop_vectors: (D, dim); paths: (num_paths, max_hops) rows of `hop_vectors`, −1 after a path's end; question_vector:
    (dim,). Returns (num_paths,).
    """
    padded = np.vstack([hop_vectors, np.zeros((1, hop_vectors.shape[1]), dtype=np.float32)])
    total = padded[paths].sum(axis=1)
    return (total @ question_vector) / np.maximum(np.linalg.norm(total, axis=1), 1e-9)


def score_paths(
    cosine: Floats,
    paths: Ints,
    hop_support: Floats,
    hop_type: Floats,
    log_branching: Floats,
    num_tokens: int,
    weights: SimilarityWeights,
    hop_kind: Floats,
    hop_cover: Floats,
) -> Floats:
    """S for each path, from its cosine.

    cosine, log_branching: (num_paths,), the latter Σ_l ln(1 + n_l); paths: (num_paths, max_hops), −1 after a path's
    end; hop_support, hop_type, hop_kind: (D,); num_tokens: T; hop_cover: (D, num_content), the best cosine of each
    content token of the question to a token of the hop, squashed. Returns (num_paths,).
    """
    there = paths >= 0
    length = there.sum(axis=1)
    mean_support = np.where(there, hop_support[paths], 0.0).sum(axis=1) / length
    last = paths[np.arange(len(paths)), length - 1]
    room = (length - 1) * np.log1p(num_tokens) - log_branching
    scores: Floats = (
        cosine
        + weights.support * mean_support
        + weights.type * hop_type[last]
        + weights.hop * np.where(length > 1, room, 0.0)
    ).astype(np.float32)
    scores += np.float32(weights.kind) * hop_kind[last]
    scores += np.float32(weights.cover) * _compute_coverage(hop_cover, paths)
    return scores


def _find_asked_noun(question: str) -> str:
    """Return what is asked for as `_find_asked_type` does, but of which or what the noun alone: "country" of "in what
    country
    was it filmed"."""
    tokens = [m.group().lower() for m in WORD.finditer(question)]
    at = next((at for at, token in enumerate(tokens) if token in ("which", "what")), None)
    if at is None or any(token in _ASKED_FOR for token in tokens[:at]):
        return _find_asked_type(question)
    noun: list[str] = []
    for token in tokens[at + 1 :]:
        if token in NOUN_ENDS and not noun:
            return _find_asked_type(question)
        if token in NOUN_ENDS or len(noun) == 2:
            break
        if token not in EMPTY_WORDS:
            noun.append(token)
    return " ".join(noun) or _find_asked_type(question)


def _measure_turn(asked: AskedWords, hop: Hop) -> float:
    """Return 1 for a hop that leads the wrong way by its words, less if nobody knows whether its ends are alike."""
    words, inverse = hop[0].words, hop[0].inverse
    if len(hop) > 1:
        return 0.0
    if asked.is_turned(words.properties[-1], inverse=inverse, alike=words.has_alike_ends):
        return 1.0
    may_be_alike = words.meaning.head.kind == words.meaning.tail.kind
    return MAYBE_TURNED * asked.is_turned(words.properties[-1], inverse=inverse, alike=may_be_alike)


def squash_word_cosines(cosines: Floats) -> Floats:
    """σ((cos − .6) / .07): whether a word is meant by another, of unit vectors' cosines of any shape. Fitted
    roughly."""
    return (1 / (1 + np.exp(-(cosines - SAMEWORD) / 0.07))).astype(np.float32)


def _compute_coverage(hop_cover: Floats, paths: Ints) -> Floats:
    """mean_t max_l of `squash_word_cosines` of each path; hop_cover: (D, num_content); paths: (num_paths, max_hops), −1
    after a path's end. Returns (num_paths,)."""
    best = np.where((paths >= 0)[:, :, None], hop_cover[paths], np.float32(0.0)).max(axis=1)
    return best.mean(axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class TopicPaths:
    """Paths from one topic of a question, (num_paths,) of each.

    masked: the question without the topic's mention. telling: without the nouns that tell no relation from another,
    either; empty for `masked`.
    """

    masked: str
    hops: Sequence[tuple[Hop, ...]]
    log_branching: Sequence[float]
    asked: AskedWords | None = None
    """How the question's words stand to the topic and to each other; None: their places do not count."""
    telling: str = ""

    @property
    def words(self) -> str:
        return self.telling or self.masked


class PathSimilarity:
    """S of many paths. Every text is encoded once and kept: all paths get the cosine that is composed of their hops',
    which costs no encoding; the best `shortlist` of a question also the exact one, all questions in one batch."""

    def __init__(self, vectors: TextVectors, weights: SimilarityWeights | None = None, shortlist: int = 16) -> None:
        self.vectors = vectors
        self.weights = weights or SimilarityWeights()
        self.shortlist = shortlist
        self._texts: LRUCache[Hop, tuple[tuple[str, ...], Floats]] = LRUCache(MAX_HOPS_KEPT)
        self._stems: LRUCache[Hop, frozenset[str]] = LRUCache(MAX_HOPS_KEPT)

    def scores(self, questions: Sequence[Sequence[TopicPaths]]) -> list[tuple[Floats, Floats]]:
        """Return for each question stop and extend of its paths, those of its topics one after the other.

        stop: S with the exact cosine for the shortlist; the others follow below in the order of their composed score.
        extend: S with the composed cosine. Deterministic.
        """
        there = [[paths for paths in question if paths.hops] for question in questions]
        prepared = self._prepare(there)
        composed = []
        for parts in prepared:
            scores = [np.zeros(0, dtype=np.float32)]
            for part in parts:
                scores += [part.score_composed(self.vectors, self.weights)]
            composed.append(np.concatenate(scores))
        best = [np.argsort(-scores, kind="stable")[: self.shortlist] for scores in composed]
        hops = [[path for part in parts for path in part.paths.hops] for parts in prepared]
        shortlisted = [paths[row] for paths, rows in zip(hops, best, strict=True) for row in rows.tolist()]
        self.vectors.encode(map(verbalise_path, shortlisted), lasting=True)
        found = []
        for parts, extend, rows in zip(prepared, composed, best, strict=True):
            found.append((self._exact(parts, extend, rows), extend))
        return found

    def score_composed(self, questions: Sequence[Sequence[TopicPaths]]) -> list[list[tuple[Floats, Floats]]]:
        """Return for each topic of each question S of its paths with the composed cosine, which encodes no path, and
        cos(type(q'), reached(h_L)) of their last hops, (num_paths,) each."""
        return [
            [(each.score_composed(self.vectors, self.weights), each.last_type) for each in parts]
            for parts in self._prepare(questions)
        ]

    def _prepare(self, questions: Sequence[Sequence[TopicPaths]]) -> list[list[_Prepared]]:
        """Return the paths of each topic of each question, prepared; what was not met before is encoded in few
        batches."""
        all_paths = [paths for question in questions for paths in question]
        hops = [list(dict.fromkeys(hop for path in paths.hops for hop in path)) for paths in all_paths]
        self._encode_ahead(all_paths, {hop for some in hops for hop in some})
        texts = [self._find_readings(some, paths.words) for paths, some in zip(all_paths, hops, strict=True)]
        self.vectors.encode_tokens(sorted({text for some in texts for text in some}), lasting=True)
        prepared = (_Prepared.of(*each, self) for each in zip(all_paths, hops, texts, strict=True))
        return [[next(prepared) for _ in question] for question in questions]

    def _encode_ahead(self, all_paths: Sequence[TopicPaths], hops: Collection[Hop]) -> None:
        self.vectors.encode_tokens(sorted(map(verbalise_hop, hops)), lasting=True)
        reached = {text for hop in hops for text in self._reached(hop)}
        phrases = {phrase for hop in hops for phrase in list_hop_phrases(hop)} if self.weights.phrases else set()
        self.vectors.encode(sorted(reached | phrases), lasting=True)
        texts = {self._asked_for(paths.masked) for paths in all_paths}
        texts |= {text for paths in all_paths for text in (paths.words, extract_content_words(paths.words))}
        read = [paths.asked for paths in all_paths if paths.asked]
        texts |= {word for each in read for word in (*each.words, *each.asked, *each.between)}
        self.vectors.encode_tokens(sorted(texts))

    def _asked_for(self, masked: str) -> str:
        return _find_asked_noun(masked) if self.weights.noun else _find_asked_type(masked)

    def _reached(self, hop: Hop) -> tuple[str, ...]:
        own = find_end_type(hop)
        more = find_end_kind(hop).words if self.weights.kind else ()
        return tuple(dict.fromkeys((own, *more) if own else more))

    def _find_readings(self, hops: Sequence[Hop], masked: str) -> list[str]:
        """Return the words in which each hop is read for a question: its own, or the phrase with the best cosine."""
        if not self.weights.phrases:
            return [verbalise_hop(hop) for hop in hops]
        asked = self.vectors.sentence(masked)
        return [texts[int((vectors @ asked).argmax())] for texts, vectors in map(self._texts_of, hops)]

    def types(self, hops: Sequence[Hop], masked: str) -> Floats:
        """Return cos(type(q'), reached(h)) of each hop, (D,), by the best of the words for what it reaches.

        At least `SAME_KIND` for a hop against the arrow, which no words say the end of, if its things are of the kind
        of a noun in the question: "which pets" asks for what has a species, not for the species.
        """
        asked_for = self.vectors.sentence(self._asked_for(masked))
        types = self._best_reached(hops, lambda texts: self.vectors.stack(texts) @ asked_for)
        noun = masked[slice(*(find_which_noun(masked) or (0, 0)))]
        if self.weights.kind and (kind := classify_noun(noun)):
            same = [not find_end_type(hop) and find_end_kind(hop).kind == kind for hop in hops]
            types[same] = np.maximum(types[same], np.float32(SAME_KIND))
        return types

    def _best_reached(self, hops: Sequence[Hop], score: Callable[[Sequence[str]], Floats]) -> Floats:
        """Return the best score of the words for what each hop reaches, (D,). score: of texts, (num_texts,)."""
        reached = [self._reached(hop) for hop in hops]
        texts = list(dict.fromkeys(text for some in reached for text in some))
        scores = dict(zip(texts, score(texts).tolist(), strict=True)) if texts else {}
        return np.array([max((scores[text] for text in some), default=UNKNOWN_TYPE) for some in reached], np.float32)

    def find_places(
        self, asked: AskedWords, hops: Sequence[Hop], hop_tokens: Floats, hop_starts: Ints
    ) -> WordPositions:
        """Return where the words stand that the hops mean; hop_tokens, hop_starts: as in `compute_support`."""
        words = np.zeros((len(hops), len(asked.words)), dtype=np.float32)
        stems = [self._stems_of(hop) for hop in hops]
        for place, word in enumerate(asked.words):
            cosines = np.maximum.reduceat(hop_tokens @ self.vectors.tokens(word).T, hop_starts, axis=0)
            own = stem_word(word)
            same = np.array([own in some for some in stems], dtype=np.float32)
            words[:, place] = np.maximum(squash_word_cosines(cosines).mean(axis=1), same)
        distances = np.array(asked.distances, dtype=np.float32)
        returns = np.array([not asked.returns.isdisjoint(some) for some in stems])
        number = {} if asked.may_return and not returns.any() else {hop: place for place, hop in enumerate(hops)}
        return WordPositions(
            words,
            distances,
            self._call_ends(hops, asked.asked),
            self._call_ends(hops, asked.between),
            np.array([number.get(reverse_hop(hop), -2) for hop in hops]),
            returns,
            np.array([_measure_turn(asked, hop) for hop in hops], dtype=np.float32),
            np.array([asked.is_contrary(some) for some in stems]),
            np.array([asked.noun in some for some in stems]),
        )

    def _stems_of(self, hop: Hop) -> frozenset[str]:
        if hop not in self._stems:
            self._stems[hop] = collect_word_stems((verbalise_hop(hop), *list_hop_phrases(hop)))
        return self._stems[hop]

    def _call_ends(self, hops: Sequence[Hop], nouns: Sequence[str]) -> Floats:
        """Return how well what each hop reaches is called by the best of some nouns, (D,): 1 if one is among the words
        for it, else their cosine; 0 for no noun."""
        if not nouns:
            return np.zeros(len(hops), dtype=np.float32)
        wanted, asked_for = collect_word_stems(nouns), self.vectors.stack(nouns)

        def score(texts: Sequence[str]) -> Floats:
            cosines = (self.vectors.stack(texts) @ asked_for.T).max(axis=1)
            return np.where([bool(wanted & collect_word_stems((text,))) for text in texts], np.float32(1.0), cosines)

        return self._best_reached(hops, score)

    def _texts_of(self, hop: Hop) -> tuple[tuple[str, ...], Floats]:
        """Return the words of a hop and its phrases, with their vectors, (num_texts, dim)."""
        if hop not in self._texts:
            texts = tuple(dict.fromkeys((verbalise_hop(hop), *list_hop_phrases(hop))))
            self._texts[hop] = (texts, self.vectors.stack(texts))
        return self._texts[hop]

    def _exact(self, parts: Sequence[_Prepared], composed: Floats, shortlisted: Ints) -> Floats:
        stop = composed.copy()
        start = 0
        for part in parts:
            chosen = shortlisted[(shortlisted >= start) & (shortlisted < start + len(part.numbers))] - start
            if len(chosen):
                texts = np.stack(
                    [self.vectors.sentence(verbalise_path(part.paths.hops[row])) for row in chosen.tolist()]
                )
                cosine = texts @ self.vectors.sentence(part.paths.words)
                if self.weights.phrases:  # read in phrases the path may fit better than in its own words
                    cosine = (cosine + np.maximum(cosine, part.composed[chosen])) / 2
                stop[start + chosen] = part.scores(cosine, chosen, self.weights)
            start += len(part.numbers)
        lower_scores_except(stop, shortlisted)
        return stop


@dataclass(slots=True)
class _Prepared:
    """Paths from one topic, and what of S does not depend on the encoding of their texts."""

    paths: TopicPaths
    numbers: Ints
    """(num_paths, max_hops) rows of the hop arrays below, −1 after a path's end."""
    hop_vectors: Floats
    hop_support: Floats
    hop_type: Floats
    hop_kind: Floats
    hop_cover: Floats
    log_branching: Floats
    num_tokens: int
    places: WordPositions | None
    composed: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    """The stand-in for the cosine, (num_paths,), once `score_composed` has it."""

    @classmethod
    def of(cls, paths: TopicPaths, hops: Sequence[Hop], texts: Sequence[str], similarity: PathSimilarity) -> _Prepared:
        """Return the paths, prepared; hops: the different ones of the paths, each read in the words of `texts`."""
        vectors = similarity.vectors
        number = {hop: i for i, hop in enumerate(hops)}
        numbers = np.full((len(paths.hops), max(map(len, paths.hops))), -1, dtype=np.int64)
        for i, path in enumerate(paths.hops):
            numbers[i, : len(path)] = [number[hop] for hop in path]
        tokens = [vectors.tokens(text) for text in texts]
        starts = np.cumsum([0, *(len(t) for t in tokens[:-1])]).astype(np.int64)
        question_tokens = vectors.tokens(paths.words)
        hop_tokens = np.concatenate(tokens)
        content_tokens = vectors.tokens(extract_content_words(paths.words))
        asked = find_wanted_kind(paths.masked)
        return cls(
            paths=paths,
            numbers=numbers,
            hop_vectors=np.stack([vectors.sentence(text) for text in texts]),
            hop_support=compute_support(hop_tokens, starts, question_tokens),
            hop_type=similarity.types(hops, paths.masked),
            hop_kind=np.array([score_kind_agreement(asked, find_end_kind(hop)) for hop in hops], dtype=np.float32),
            hop_cover=squash_word_cosines(np.maximum.reduceat(hop_tokens @ content_tokens.T, starts, axis=0)),
            log_branching=np.array(paths.log_branching, dtype=np.float32),
            num_tokens=len(question_tokens),
            places=similarity.find_places(paths.asked, hops, hop_tokens, starts) if paths.asked else None,
        )

    @property
    def last_type(self) -> Floats:
        """The type evidence of the last hop of each path."""
        last = self.numbers[np.arange(len(self.numbers)), (self.numbers >= 0).sum(axis=1) - 1]
        return self.hop_type[last]

    def score_composed(self, vectors: TextVectors, weights: SimilarityWeights) -> Floats:
        """S with the cosine that is composed of the hops', (num_paths,)."""
        self.composed = _compose_cosine(self.hop_vectors, self.numbers, vectors.sentence(self.paths.words))
        return self.scores(self.composed, np.arange(len(self.numbers)), weights)

    def scores(self, cosine: Floats, chosen: Ints, weights: SimilarityWeights) -> Floats:
        """S of the chosen paths, (num_chosen,), from their cosines."""
        paths = self.numbers[chosen]
        scores = score_paths(
            cosine,
            paths,
            self.hop_support,
            self.hop_type,
            self.log_branching[chosen],
            self.num_tokens,
            weights,
            self.hop_kind,
            self.hop_cover,
        )
        if self.places is not None:
            scores += self.places.score(
                paths,
                order=weights.order,
                between=weights.between,
                noun=weights.noun,
                back=weights.back,
                against=weights.against,
            )
        return scores
