"""Label mined paths as positives, and draw hard negatives for them.

Candidates are the shortest paths of each topic of the question. A candidate is positive if its similarity to the
question is at least the mean over all of the question's candidates:

    P⁺ = { p ∈ C : sim(q, p) ≥ 1/|C| · Σ_(p′∈C) sim(q, p′) }

Deviations: the length of a path is its number of hops between named entities. If annotators wrote a path for the
question, the paths with its relations are the positives instead. Annotations have no directions: of the paths with the
same relations those with the best F1 count, and of these those that walk the most relations forwards.

At each hop t of a positive path, the hops before it are kept and its relation is replaced by the k most similar
relations, and by k random others. In addition, the path stops too early or goes on too long.

Deviations: both kinds come first from the steps that exist there in the graph, in either direction, and only if these
are too few from all of its relations, in the direction of the replaced one. Of relations drawn from all of FB15k-237,
four in five similar ones and nineteen in twenty random ones cannot be walked, so a search never has to reject them. In
a hop through a mediator the last relation is compared or replaced.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice

from ...models.similarity import mask_topic
from ...models.star.mined import AnswerPath, MinedQuestion, NegativePath
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import DirectedRelation, RelationWords, verbalise_path
from ..indexes.relation_index import RelationIndex
from ..values import RelationStep
from .answer_paths import HopTrie, TopicAnswerPath, WalkedHop, WalkedPath, serialise_hop, serialise_trie, steps_of
from .miner import MiningOptions, QuestionPaths

TOLERANCE = 1e-9
"""Rounding may put a mean of equal numbers above them."""

ROUNDED = 9
"""Decimals of F1 in comparisons."""


@dataclass(frozen=True, slots=True)
class Label:
    """The labels of a path: shortest of its topic, positive example, annotated path."""

    shortest: bool
    positive: bool
    gold: bool


def label_paths(paths: Sequence[TopicAnswerPath], similarities: Sequence[float], *, annotated: bool) -> list[Label]:
    """Return the label of each path of one question, over all its topics, by its similarity to the question.

    `annotated`: the question set has gold paths for it.
    """
    least: dict[int, int] = {}
    for path in paths:
        least[path.topic] = min(len(path.hops), least.get(path.topic, len(path.hops)))
    shortest = [len(path.hops) == least[path.topic] for path in paths]
    candidates = [similarity for similarity, is_one in zip(similarities, shortest, strict=True) if is_one]
    mean = math.fsum(candidates) / max(len(candidates), 1)
    best: dict[tuple[int, tuple[str, ...]], tuple[float, int]] = {}
    for path in paths:
        key = (path.topic, _drop_directions(path))
        best[key] = max(directed := _direction_fit(path), best.get(key, directed))
    found: list[Label] = []
    for path, similarity, is_one in zip(paths, similarities, shortest, strict=True):
        similar = is_one and similarity >= mean - TOLERANCE
        gold = path.gold and _direction_fit(path) == best[path.topic, _drop_directions(path)]
        found.append(Label(is_one, gold if annotated else similar, gold))
    return found


def _drop_directions(path: TopicAnswerPath) -> tuple[str, ...]:
    return tuple(step.relation for step in steps_of(path.hops))


def _direction_fit(path: TopicAnswerPath) -> tuple[float, int]:
    """Return how well the directions fit an annotation: F1 of the ends, then minus the number of inverse steps."""
    return round(path.f1, ROUNDED), -sum(step.inverse for step in steps_of(path.hops))


KINDS = ("similar", "random", "early", "overrun")

IsAnswer = Callable[[int, WalkedPath], bool]
"""Whether the path from this topic (by index) leads to a gold answer."""

Nearest = Callable[[str], Sequence[str]]
"""All other relations of the graph, most similar first."""


def make_negatives(
    positives: Sequence[TopicAnswerPath],
    reach: Sequence[HopTrie],
    is_answer: IsAnswer,
    *,
    nearest: Nearest,
    num_negatives: int,
    rng: random.Random,
) -> tuple[NegativePath, ...]:
    """Return the negative paths of one question, each once; none leads to an answer.

    reach: the paths from each topic. nearest: the other relations of the graph by similarity.
    """
    found: dict[tuple[int, WalkedPath], NegativePath] = {}
    for path in positives:
        for hops, kind in _corrupt(path, reach[path.topic], nearest, num_negatives, rng):
            if not is_answer(path.topic, hops):
                found.setdefault((path.topic, hops), NegativePath(path.topic, tuple(map(serialise_hop, hops)), kind))
    return tuple(found.values())


def _corrupt(
    path: TopicAnswerPath, reach: HopTrie, nearest: Nearest, num_negatives: int, rng: random.Random
) -> Iterator[tuple[WalkedPath, str]]:
    for t, hop in enumerate(path.hops):
        before = path.hops[:t]
        ordered = nearest(hop[-1].relation)
        place = {relation: at for at, relation in enumerate(ordered)}
        # The inverse of the relation itself is in no list, and counts as the nearest.
        others = (other for other in reach if other != hop)
        walkable = sorted(others, key=lambda other: (place.get(other[-1].relation, -1), serialise_hop(other)))
        here = {other[-1].relation for other in reach if other == replace_relation(hop, other[-1].relation)}
        elsewhere = [relation for relation in ordered if relation not in here]
        for other in islice(
            chain(walkable, (replace_relation(hop, relation) for relation in elsewhere)), num_negatives
        ):
            yield (*before, other), "similar"
        left = walkable[num_negatives:]
        drawn = rng.sample(left, min(num_negatives, len(left)))
        unused = elsewhere[max(num_negatives - len(walkable), 0) :]
        more = rng.sample(unused, min(num_negatives - len(drawn), len(unused)))
        for other in [*drawn, *(replace_relation(hop, relation) for relation in more)]:
            yield (*before, other), "random"
        reach = reach[hop]
    for length in range(1, len(path.hops)):
        yield path.hops[:length], "early"
    following = list(reach)
    for hop in rng.sample(following, min(num_negatives, len(following))):
        yield (*path.hops, hop), "overrun"


def replace_relation(hop: WalkedHop, relation: str) -> WalkedHop:
    """Return the hop with another last relation in the same direction."""
    return (*hop[:-1], RelationStep(relation, hop[-1].inverse))


DECIMALS = 4
"""Decimals of similarity, precision and recall in the file."""


class TrainingExampleBuilder:
    """Makes training examples; `words` has the words of every relation of the graph."""

    def __init__(
        self, words: Mapping[str, RelationWords], index: RelationIndex, vectors: TextVectors, options: MiningOptions
    ) -> None:
        self.words = words
        self.vectors = vectors
        self.options = options
        self.nearest = SimilarRelations(index)

    def label(self, questions: Sequence[QuestionPaths]) -> list[MinedQuestion]:
        """Return the questions with labels.

        All texts are encoded together, and the last digits of a vector depend on its batch: the same questions give the
        same result, but other groups of questions may not.
        """
        self.vectors.encode(sorted({text for question in questions for text in self._texts(question)}))
        return [self._label_question(question) for question in questions]

    def _texts(self, question: QuestionPaths) -> list[str]:
        return [*self._mask_topics(question), *(self._text(path.hops) for path in question.paths)]

    def _mask_topics(self, question: QuestionPaths) -> list[str]:
        return [mask_topic(question.question.text, topic.mention) for topic in question.topics]

    def _text(self, hops: WalkedPath) -> str:
        return verbalise_path([tuple(DirectedRelation(self.words[s.relation], s.inverse) for s in hop) for hop in hops])

    def _label_question(self, walked: QuestionPaths) -> MinedQuestion:
        question = walked.question
        queries = [self.vectors.sentence(text) for text in self._mask_topics(walked)]
        paths = [
            replace(path, precision=round(path.precision, DECIMALS), recall=round(path.recall, DECIMALS))
            for path in walked.paths
        ]
        similarities = [
            round(float(self.vectors.sentence(self._text(path.hops)) @ queries[path.topic]), DECIMALS) for path in paths
        ]
        labelled = list(zip(paths, label_paths(paths, similarities, annotated=bool(question.paths)), strict=True))
        rng = random.Random(f"{self.options.seed}\n{question.id}")  # noqa: S311 - examples, no secret
        return MinedQuestion(
            id=question.id,
            text=question.text,
            topics=walked.topics,
            paths=tuple(
                AnswerPath(
                    topic=path.topic,
                    hops=tuple(map(serialise_hop, path.hops)),
                    precision=path.precision,
                    recall=path.recall,
                    similarity=similarity,
                    **asdict(label),
                )
                for (path, label), similarity in zip(labelled, similarities, strict=True)
            ),
            negatives=make_negatives(
                [path for path, label in labelled if label.positive],
                walked.reach,
                lambda topic, hops: steps_of(hops) in walked.reaching[topic],
                nearest=self.nearest,
                num_negatives=self.options.num_negatives,
                rng=rng,
            ),
            reach=tuple(map(serialise_trie, walked.reach)),
            num_hops=question.num_hops,
        )


class SimilarRelations:
    """The relations of an index by the similarity of their own words to one of them, cached."""

    def __init__(self, index: RelationIndex) -> None:
        self._relations = index.relations
        self._place = {relation.name: place for place, relation in enumerate(index.relations)}
        self._vectors = index.vectors()
        self._found: dict[str, tuple[str, ...]] = {}

    def __call__(self, relation: str) -> tuple[str, ...]:
        """Return all other relations, most similar first; equal ones by number."""
        if relation not in self._found:
            cosines = (self._vectors @ self._vectors[self._place[relation]]).tolist()
            order = sorted(self._place.values(), key=lambda place: (-cosines[place], self._relations[place].number))
            names = [self._relations[place].name for place in order]
            self._found[relation] = tuple(name for name in names if name != relation)
        return self._found[relation]
