"""Scoring relation paths by similarity, without training: pure formulas over unit vectors, and all paths of questions.

STAR's `similarity` baseline is the cosine of question and verbalised path. It prefers long paths, since more words
always find more to agree with. Here the score of *ending* at a path p = h_1 … h_L also weighs what hops cost; the
formula and its constants are our own, no paper's:

    S(p) = cos(q', text(p))                              similarity of the question and the verbalised path
         + support · mean_l P(q', h_l)                   every hop needs words of the question that speak for it
         + type · cos(type(q'), reached(h_L))            the last hop reaches the kind of thing that is asked for
         + [L ≥ 2] · hop · ((L − 1) · ln(1 + T) − Σ_l ln(1 + n_l))

q' is the question without its topic's mention; P(q', h) is the mean over the tokens of text(h) of the best cosine to a
token of q' (late interaction). The last line makes lengths comparable: singling out one of the n_l ways on at each hop
takes evidence, and a question of T tokens has room for more of it. S can be compared between lengths and between
topics. The constants were fitted once on training questions of FB15k-237, MetaQA and PathQuestion together
(docs/retrieval.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .shortlist import others_below
from .text_vectors import TextVectors
from .verbalise import Hop, reached_type, verbalise_hop, verbalise_path

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

UNKNOWN_TYPE = 0.25
"""Type evidence of a hop that does not tell what it reaches: about the mean of those that do."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of S. All zero: the cosine alone."""

    support: float = 0.5
    type: float = 0.4
    hop: float = 0.14


_WORD = re.compile(r"[^\W_]+")
_EDGE_WORDS = frozenset("the of a an in at on and to for s is was by with".split())
_EMPTY_WORDS = frozenset("is was are were the did does do a an of type kind s name some has have had".split())
_ASKED_FOR = {"who": "person", "whom": "person", "whose": "person", "where": "location", "when": "date"}


def mask_topic(question: str, topic: str) -> str:
    """Return the question without its longest run of words that are all in the topic's name."""
    tokens = [(m.group().lower(), m.start(), m.end()) for m in _WORD.finditer(question)]
    name = {m.group().lower() for m in _WORD.finditer(topic)}
    best = (0, 0)
    start = 0
    while start < len(tokens):
        stop = start
        while stop < len(tokens) and tokens[stop][0] in name:
            stop += 1
        first, after = start, stop
        while first < after and tokens[first][0] in _EDGE_WORDS:
            first += 1
        while after > first and tokens[after - 1][0] in _EDGE_WORDS:
            after -= 1
        if after - first > best[1] - best[0]:
            best = (first, after)
        start = max(stop, start + 1)
    first, after = best
    if first == after:
        return question
    rest = " ".join((question[: tokens[first][1]] + question[tokens[after - 1][2] :]).split())
    return rest if _WORD.search(rest) else question


def type_phrase(question: str) -> str:
    """Return what is asked for: person, location or date by the question word, else two words after which or what."""
    tokens = [m.group().lower() for m in _WORD.finditer(question)]
    for at, token in enumerate(tokens):
        if token in _ASKED_FOR:
            return _ASKED_FOR[token]
        if token in ("which", "what", "how"):
            tokens = tokens[at + 1 :]
            break
    return " ".join([t for t in tokens if t not in _EMPTY_WORDS][:2]) or "thing"


def support(hop_tokens: Floats, hop_starts: Ints, question_tokens: Floats) -> Floats:
    """P(q', h) for each of D hops.

    hop_tokens: (N, dim), the tokens of all hops end to end; hop_starts: (D,), the first row of each, none empty;
    question_tokens: (T, dim). Returns (D,); zero where the question has no token.
    """
    if not len(question_tokens):
        return np.zeros(len(hop_starts), dtype=np.float32)
    best = (hop_tokens @ question_tokens.T).max(axis=1)
    lengths = np.diff(np.append(hop_starts, len(hop_tokens)))
    means: Floats = (np.add.reduceat(best, hop_starts) / lengths).astype(np.float32)
    return means


def composed_cosine(hop_vectors: Floats, paths: Ints, question_vector: Floats) -> Floats:
    """cos(q', Σ_l h_l), the stand-in for cos(q', text(p)) that needs no encoding.

    hop_vectors: (D, dim); paths: (num_paths, max_hops) rows of `hop_vectors`, −1 after a path's end; question_vector:
    (dim,). Returns (num_paths,).
    """
    padded = np.vstack([hop_vectors, np.zeros((1, hop_vectors.shape[1]), dtype=np.float32)])
    total = padded[paths].sum(axis=1)
    cosines: Floats = (total @ question_vector) / np.maximum(np.linalg.norm(total, axis=1), 1e-9)
    return cosines


def score(
    cosine: Floats,
    paths: Ints,
    hop_support: Floats,
    hop_type: Floats,
    log_branching: Floats,
    num_tokens: int,
    weights: Weights,
) -> Floats:
    """S for each path, from its cosine.

    cosine, log_branching: (num_paths,), the latter Σ_l ln(1 + n_l); paths: (num_paths, max_hops), −1 after a path's
    end; hop_support, hop_type: (D,); num_tokens: T. Returns (num_paths,).
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
    return scores


@dataclass(frozen=True, slots=True)
class PathsOfTopic:
    """Paths from one topic of a question, (num_paths,) of each; masked: the question without the topic's mention."""

    masked: str
    hops: Sequence[tuple[Hop, ...]]
    log_branching: Sequence[float]


class PathSimilarity:
    """S of many paths. Every text is encoded once and kept: all paths get the cosine that is composed of their hops',
    which costs no encoding; the best `shortlist` of a question also the exact one, all questions in one batch."""

    def __init__(self, vectors: TextVectors, weights: Weights | None = None, shortlist: int = 16) -> None:
        self.vectors = vectors
        self.weights = weights or Weights()
        self.shortlist = shortlist

    def scores(self, questions: Sequence[Sequence[PathsOfTopic]]) -> list[tuple[Floats, Floats]]:
        """Return for each question stop and extend of its paths, those of its topics one after the other.

        stop: S with the exact cosine for the shortlist; the others follow below in the order of their composed score.
        extend: S with the composed cosine. Deterministic.
        """
        self._encode_ahead(questions)
        prepared = [[_Prepared.of(paths, self.vectors) for paths in question if paths.hops] for question in questions]
        composed = [_joined([part.composed(self.vectors, self.weights) for part in parts]) for parts in prepared]
        best = [np.argsort(-scores, kind="stable")[: self.shortlist] for scores in composed]
        hops = [[path for part in parts for path in part.paths.hops] for parts in prepared]
        shortlisted = [paths[row] for paths, rows in zip(hops, best, strict=True) for row in rows.tolist()]
        self.vectors.encode(map(verbalise_path, shortlisted), lasting=True)
        return [
            (self._exact(parts, extend, rows), extend)
            for parts, extend, rows in zip(prepared, composed, best, strict=True)
        ]

    def composed(self, questions: Sequence[Sequence[PathsOfTopic]]) -> list[list[tuple[Floats, Floats]]]:
        """Return for each topic of each question S of its paths with the composed cosine, which encodes no path, and
        cos(type(q'), reached(h_L)) of their last hops, (num_paths,) each."""
        self._encode_ahead(questions)
        found = []
        for question in questions:
            prepared = [_Prepared.of(paths, self.vectors) for paths in question]
            found.append([(each.composed(self.vectors, self.weights), each.last_type) for each in prepared])
        return found

    def _encode_ahead(self, questions: Sequence[Sequence[PathsOfTopic]]) -> None:
        """Encode whatever was not met before, in two batches."""
        masked = {paths.masked for question in questions for paths in question}
        hops = {hop for question in questions for paths in question for path in paths.hops for hop in path}
        self.vectors.encode_tokens(sorted(map(verbalise_hop, hops)), lasting=True)
        self.vectors.encode(sorted(filter(None, map(reached_type, hops))), lasting=True)
        self.vectors.encode_tokens(sorted(masked))
        self.vectors.encode(sorted(map(type_phrase, masked)))

    def _exact(self, parts: Sequence[_Prepared], composed: Floats, shortlisted: Ints) -> Floats:
        stop = composed.copy()
        start = 0
        for part in parts:
            chosen = shortlisted[(shortlisted >= start) & (shortlisted < start + len(part.numbers))] - start
            if len(chosen):
                texts = np.stack(
                    [self.vectors.sentence(verbalise_path(part.paths.hops[row])) for row in chosen.tolist()]
                )
                cosine = texts @ self.vectors.sentence(part.paths.masked)
                stop[start + chosen] = part.scores(cosine, chosen, self.weights)
            start += len(part.numbers)
        others_below(stop, shortlisted)
        return stop


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Paths from one topic, and what of S does not depend on the encoding of their texts."""

    paths: PathsOfTopic
    numbers: Ints
    """(num_paths, max_hops) rows of the hop arrays below, −1 after a path's end."""
    hop_vectors: Floats
    hop_support: Floats
    hop_type: Floats
    log_branching: Floats
    num_tokens: int

    @classmethod
    def of(cls, paths: PathsOfTopic, vectors: TextVectors) -> _Prepared:
        """Return the paths, prepared."""
        number = {hop: i for i, hop in enumerate(dict.fromkeys(hop for path in paths.hops for hop in path))}
        numbers = np.full((len(paths.hops), max(map(len, paths.hops))), -1, dtype=np.int64)
        for i, path in enumerate(paths.hops):
            numbers[i, : len(path)] = [number[hop] for hop in path]
        texts = [verbalise_hop(hop) for hop in number]
        tokens = [vectors.tokens(text) for text in texts]
        starts = np.cumsum([0, *(len(t) for t in tokens[:-1])]).astype(np.int64)
        question_tokens = vectors.tokens(paths.masked)
        asked_for = vectors.sentence(type_phrase(paths.masked))
        kinds = [reached_type(hop) for hop in number]
        return cls(
            paths=paths,
            numbers=numbers,
            hop_vectors=np.stack([vectors.sentence(text) for text in texts]),
            hop_support=support(np.concatenate(tokens), starts, question_tokens),
            hop_type=np.array(
                [vectors.sentence(kind) @ asked_for if kind else UNKNOWN_TYPE for kind in kinds], dtype=np.float32
            ),
            log_branching=np.array(paths.log_branching, dtype=np.float32),
            num_tokens=len(question_tokens),
        )

    @property
    def last_type(self) -> Floats:
        """The type evidence of the last hop of each path."""
        last = self.numbers[np.arange(len(self.numbers)), (self.numbers >= 0).sum(axis=1) - 1]
        types: Floats = self.hop_type[last]
        return types

    def composed(self, vectors: TextVectors, weights: Weights) -> Floats:
        """S of all paths with the composed cosine."""
        cosine = composed_cosine(self.hop_vectors, self.numbers, vectors.sentence(self.paths.masked))
        return self.scores(cosine, np.arange(len(self.numbers)), weights)

    def scores(self, cosine: Floats, chosen: Ints, weights: Weights) -> Floats:
        """S of the chosen paths, (num_chosen,), from their cosines."""
        return score(
            cosine,
            self.numbers[chosen],
            self.hop_support,
            self.hop_type,
            self.log_branching[chosen],
            self.num_tokens,
            weights,
        )


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
