"""Mine the relation paths of a batch of questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ...models.ranges import Count, Hops, Positive
from ...models.star.mined import MinedTopic
from ..gold_questions import GoldQuestion
from ..neo4j.catalogue import Catalogue
from ..retrieval.beam import FrontierBounds, FrontierTree
from ..settings import check_options
from ..steps import Steps
from ..values import RelationStep
from .answer_paths import (
    Explorer,
    HopTrie,
    TopicAnswerPath,
    TopicPaths,
    TopicSearch,
    UnlabelledPaths,
    WalkedPath,
    find_paths,
)
from .placing import NO_PATH, GroundedQuestion, SkippedQuestion, ground_questions


@dataclass(frozen=True, slots=True)
class MiningOptions:
    """Options of mining. `num_negatives` is STAR's k: similar and random relations for each hop of a positive path.

    return_to_topic: a topic may be an answer (see `retrieval.frontier`). max_paths: relation paths kept of what can be
    walked from a topic, and of what leads from it to the answers. max_degree: between two entities of more triples than
    this no path to an answer is looked for. bounds: those of the search that is to be trained.
    """

    max_hop: Hops = 2
    num_negatives: Count = 5
    return_to_topic: bool = False
    seed: int = 0
    max_paths: Positive = 2_000
    max_degree: Positive = 20_000
    bounds: FrontierBounds = field(default_factory=FrontierBounds)

    def __post_init__(self) -> None:
        check_options(self, "mining")


CUTS = ("reaches", "searches for answers", "answer paths")
"""Where a bound may drop something: paths from a topic, searches for answers, ends."""


@dataclass(frozen=True, slots=True)
class QuestionPaths:
    """A question with its paths in the graph, before labelling.

    reaching: for each topic all known paths to an answer. num_cut: how often a bound dropped something, by `CUTS`.
    """

    question: GoldQuestion
    topics: tuple[MinedTopic, ...]
    paths: tuple[TopicAnswerPath, ...]
    reach: tuple[HopTrie, ...]
    reaching: tuple[frozenset[tuple[RelationStep, ...]], ...]
    num_cut: Mapping[str, int]


class Miner:
    """Finds the paths of questions in a graph with this catalogue.

    `mediating` has the signed numbers of the relations of unnamed entities.
    """

    def __init__(self, catalogue: Catalogue, mediating: AbstractSet[int], options: MiningOptions) -> None:
        self.relations = {relation.number: relation.name for relation in catalogue.relations}
        self.stored_as = catalogue.stored_as
        self.mediating = mediating
        self.options = options

    def mine(self, questions: Sequence[GoldQuestion]) -> Steps[list[QuestionPaths | SkippedQuestion]]:
        """Return the paths of each question, or why it is left out; all questions share each round trip."""
        options = self.options
        places, signatures = yield from ground_questions(questions, return_to_topic=options.return_to_topic)
        tree = FrontierTree(signatures, options.bounds, options.max_hop, self.stored_as)
        explorer = Explorer(tree, self.relations, self.mediating, options.max_paths)
        roots = [root for signature in signatures.values() if (root := tree.root(signature.entity))]
        reaches = yield from explorer.explore(roots)
        searches = [
            TopicSearch(place, number, reaches[topic.id], options.return_to_topic)
            for place in places
            if isinstance(place, GroundedQuestion)
            for number, topic in enumerate(place.topics)
        ]
        found = iter((yield from find_paths(explorer, searches, options.max_degree)))
        return [
            place
            if isinstance(place, SkippedQuestion)
            else _walk_question(
                place, [reaches[topic.id] for topic in place.topics], [next(found) for _ in place.topics]
            )
            for place in places
        ]


def _walk_question(
    place: GroundedQuestion, reaches: Sequence[TopicPaths], found: Sequence[UnlabelledPaths]
) -> QuestionPaths | SkippedQuestion:
    paths = tuple(path for of_topic in found for path in of_topic.paths)
    if not paths:
        return SkippedQuestion(place.question.id, NO_PATH)
    return QuestionPaths(
        question=place.question,
        topics=place.topics,
        paths=paths,
        reach=tuple(
            extend_trie(reach.trie, (path.hops for path in of_topic.paths)) if reach.cut else reach.trie
            for reach, of_topic in zip(reaches, found, strict=True)
        ),
        reaching=tuple(of_topic.reaching for of_topic in found),
        num_cut=dict(
            zip(
                CUTS,
                (
                    sum(reach.cut for reach in reaches),
                    sum(of_topic.cut for of_topic in found),
                    sum(of_topic.num_cut for of_topic in found),
                ),
                strict=True,
            )
        ),
    )


def extend_trie(reach: HopTrie, paths: Iterable[WalkedPath]) -> HopTrie:
    """Return a copy of a trie with these paths added."""
    copied = _copy_trie(reach)
    for path in paths:
        node = copied
        for hop in path:
            node = node.setdefault(hop, {})
    return copied


def _copy_trie(reach: HopTrie) -> HopTrie:
    return {hop: _copy_trie(following) for hop, following in reach.items()}
