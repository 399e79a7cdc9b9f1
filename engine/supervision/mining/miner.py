"""Hard path mining: what the graph has between the topics and the answers of a batch of questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ....models.star.mined import MinedTopic
from ...database.catalogue import Catalogue
from ...questions.gold import GoldQuestion
from ...retrieval.frontier import FrontierTree
from ...steps import Steps
from ...values import Step
from .answer_paths import Ask, Found, RightPath, find_paths
from .exploring import Explored, Explorer
from .hops import HopTrie, WalkedPath
from .options import MiningOptions
from .placing import NO_PATH, LeftOut, Placed, placed_questions

CUTS = ("reaches", "searches for answers", "answer paths")
"""What a bound may leave something out of: what can be walked from a topic, what leads from it to answers, ends."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A question with what was found in the graph for it: its paths are to be labelled.

    reaching: for each topic all that is known to lead to an answer. num_cut: how often a bound left something out, by
    which of `CUTS` it was.
    """

    question: GoldQuestion
    topics: tuple[MinedTopic, ...]
    paths: tuple[RightPath, ...]
    reach: tuple[HopTrie, ...]
    reaching: tuple[frozenset[tuple[Step, ...]], ...]
    num_cut: Mapping[str, int]


class Miner:
    """Finds the paths of questions in a graph with this catalogue.

    `mediating` has the signed numbers of the relations that unnamed entities are in.
    """

    def __init__(self, catalogue: Catalogue, mediating: AbstractSet[int], options: MiningOptions) -> None:
        self.relations = {relation.number: relation.name for relation in catalogue.relations}
        self.stored_as = catalogue.stored_as
        self.mediating = mediating
        self.options = options

    def mine(self, questions: Sequence[GoldQuestion]) -> Steps[list[Walked | LeftOut]]:
        """Return for each question what was found, or why it is left out; all share each round trip."""
        options = self.options
        places, signatures = yield from placed_questions(questions, return_to_topic=options.return_to_topic)
        tree = FrontierTree(signatures, options.bounds, options.max_hop, self.stored_as)
        explorer = Explorer(tree, self.relations, self.mediating, options.max_paths)
        roots = [root for signature in signatures.values() if (root := tree.root(signature.entity))]
        reaches = yield from explorer.explore(roots)
        asks = [
            Ask(place, number, reaches[topic.id], options.return_to_topic)
            for place in places
            if isinstance(place, Placed)
            for number, topic in enumerate(place.topics)
        ]
        found = iter((yield from find_paths(explorer, asks, options.max_degree)))
        return [
            place
            if isinstance(place, LeftOut)
            else _walked(place, [reaches[topic.id] for topic in place.topics], [next(found) for _ in place.topics])
            for place in places
        ]


def _walked(place: Placed, reaches: Sequence[Explored], found: Sequence[Found]) -> Walked | LeftOut:
    paths = tuple(path for of_topic in found for path in of_topic.paths)
    if not paths:
        return LeftOut(place.question.id, NO_PATH)
    return Walked(
        question=place.question,
        topics=place.topics,
        paths=paths,
        reach=tuple(
            with_paths(reach.trie, (path.hops for path in of_topic.paths)) if reach.cut else reach.trie
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


def with_paths(reach: HopTrie, paths: Iterable[WalkedPath]) -> HopTrie:
    """Return a copy of a reach that has these paths as well."""
    copied = _copied(reach)
    for path in paths:
        node = copied
        for hop in path:
            node = node.setdefault(hop, {})
    return copied


def _copied(reach: HopTrie) -> HopTrie:
    return {hop: _copied(following) for hop, following in reach.items()}
