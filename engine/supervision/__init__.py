"""Find the relation paths from a question's topics to its answers.

Inner hops are walked, for many topics at once. For the last hop it is enough to know its relations, unless it may lead
to unnamed mediators, where the hop continues.

The ends of walked paths are known. Of the last hops, which were not walked, only those towards an answer are walked:
the database finds them between topic and answer (``find_answer_paths.cypher``), or for longer paths by the last steps
to the answers (``find_last_steps_to_answers.cypher``), which meet the paths from the topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pydantic.dataclasses import dataclass as pydantic_dataclass

from ...models import Count, Hops, Positive
from ...models.mined_files import THROUGH, MinedTopic, compute_f1_from_precision_recall
from ..data_model import Entity, RelationStep
from ..gold_questions import NO_PATH, GoldQuestion, GroundedQuestion, SkippedQuestion, ground_questions
from ..neo4j import Request
from ..neo4j.catalogue import RelationCatalogue
from ..neo4j.gateway import Gateway
from ..neo4j.graph_requests import LastStepsToAnswer, ShortPathsToAnswers, find_answer_paths, find_last_steps_to_answers
from ..retrieval.frontier import Frontier, FrontierBounds, FrontierTree, select_answer_ends

Steps = tuple[RelationStep, ...]
WalkedHop = Steps
"""From one named entity to the next: one step, or the steps into unnamed mediators and out of them. The position in the
hop alone tells that a step leads to a mediator.
"""

WalkedPath = tuple[WalkedHop, ...]

HopTrie = dict[WalkedHop, "HopTrie"]
"""The relation paths from a topic: each hop with the hops that can follow it."""


def flatten_hops(hops: WalkedPath) -> Steps:
    return tuple(chain.from_iterable(hops))


def serialise_hop(hop: WalkedHop) -> str:
    return THROUGH.join(map(str, hop))


def serialise_trie(trie: HopTrie) -> Mapping[str, Any]:
    return {serialise_hop(hop): serialise_trie(following) for hop, following in trie.items()}


@pydantic_dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TopicAnswerPath:
    """A relation path from a topic (by its index in the question) to at least one gold answer.

    precision: right ends / ends. recall: right ends / gold answers. gold: an annotator wrote its relations.
    answers: the ids of its right ends.
    """

    topic: int
    hops: WalkedPath
    precision: float
    recall: float
    gold: bool
    answers: frozenset[str]

    @property
    def f1(self) -> float:
        return compute_f1_from_precision_recall(self.precision, self.recall)


@dataclass(frozen=True, slots=True)
class QuestionPaths:
    """A question with its paths in the graph, before labelling.

    reaching: for each topic all known paths to an answer, whether or not the search would offer them. num_cut: how
    often a bound may have dropped a path, or ends of one.
    """

    question: GoldQuestion
    topics: tuple[MinedTopic, ...]
    paths: tuple[TopicAnswerPath, ...]
    reach: tuple[HopTrie, ...]
    reaching: tuple[frozenset[Steps], ...]
    num_cut: int


@dataclass(frozen=True, slots=True, eq=False)
class _PartialPath:
    """A walked relation path: complete hops, steps of an unfinished hop at mediators, the trie node of `hops`."""

    frontier: Frontier
    hops: WalkedPath
    under_way: WalkedHop
    following: HopTrie

    @property
    def is_long(self) -> bool:
        return len(self.frontier.steps) > 1

    def hop(self, step: RelationStep) -> WalkedHop:
        return (*self.under_way, step)


@dataclass(slots=True, eq=False)
class _TopicPaths:
    """The relation paths from one topic.

    walked: paths with known ends. last: paths that last hops extend. cut: there are more paths.
    """

    topic: Entity
    trie: HopTrie = field(default_factory=dict)
    walked: list[_PartialPath] = field(default_factory=list)
    last: list[_PartialPath] = field(default_factory=list)
    num_paths: int = 0
    cut: bool = False


_Search = tuple[GroundedQuestion, int, _TopicPaths]
"""A question, the number of one of its topics, and the paths from that."""
_Met = tuple[Mapping[_PartialPath, AbstractSet[RelationStep]], frozenset[Steps], bool]
"""The last steps to the answers by the path that they extend, all paths known to lead to an answer, and whether there
may be more of these."""

EXPANDED_TOGETHER = 128
"""Steps per request: few enough to finish well within its timeout."""

_END: HopTrie = {}
"""The children of a last hop; shared and never changed."""


class PathMiner:
    """Finds the paths of questions in a graph with this catalogue.

    `mediating` has the signed numbers of the relations of unnamed entities.
    """

    def __init__(
        self, gateway: Gateway, catalogue: RelationCatalogue, mediating: AbstractSet[int], options: MiningOptions
    ) -> None:
        self.gateway = gateway
        self.relations = {relation.number: relation.name for relation in catalogue.relations}
        self.stored_as = catalogue.stored_as
        self.mediating = mediating
        self.options = options

    def mine(self, questions: Sequence[GoldQuestion]) -> list[QuestionPaths | SkippedQuestion]:
        """Return the paths of each question, or why it is left out; all questions share each round trip."""
        options = self.options
        returns = options.return_to_topic
        places, signatures = ground_questions(questions, self.gateway, return_to_topic=returns)
        tree = FrontierTree(signatures, options.bounds, options.max_hop, self.stored_as, return_to_topic=returns)
        walked = self._walk(tree, [signature.entity for signature in signatures.values()])
        asked = [place for place in places if isinstance(place, GroundedQuestion)]
        searches = [(each, number, walked[topic.id]) for each in asked for number, topic in enumerate(each.topics)]
        of_topics = iter(self._find_answer_paths(tree, searches))
        found: list[QuestionPaths | SkippedQuestion] = []
        for place in places:
            if isinstance(place, SkippedQuestion):
                found.append(place)
                continue
            own = [(walked[topic.id], *next(of_topics)) for topic in place.topics]
            paths = tuple(path for _, some, _, _ in own for path in some)
            if not paths:
                found.append(SkippedQuestion(place.question.id, NO_PATH))
                continue
            reach = tuple(
                _extend_trie(from_topic.trie, some) if from_topic.cut else from_topic.trie
                for from_topic, some, _, _ in own
            )
            num_cut = sum(from_topic.cut + cut for from_topic, _, _, cut in own)
            reaching = tuple(each for _, _, each, _ in own)
            found.append(QuestionPaths(place.question, place.topics, paths, reach, reaching, num_cut))
        return found

    def _walk(self, tree: FrontierTree, topics: Sequence[Entity]) -> dict[str, _TopicPaths]:
        """Return all relation paths from each topic by its id, at most `max_paths` of each."""
        found = {topic.id: _TopicPaths(topic) for topic in topics}
        roots = [root for topic in topics if (root := tree.root(topic))]
        front = [_PartialPath(root, (), (), found[root.topic.id].trie) for root in roots]
        while front:
            chosen = [(way, step) for way in front for step in self._leaving(way, found[way.frontier.topic.id])]
            reached = self._expand(tree, [(way.frontier, step) for way, step in chosen])
            front = []
            for (way, step), frontier in zip(chosen, reached, strict=True):
                of_topic = found[frontier.topic.id]
                hop = way.hop(step)
                if frontier.at_mediator:
                    of_topic.num_paths -= 1
                    following = _PartialPath(frontier, way.hops, hop, way.following)
                else:
                    following = _PartialPath(frontier, (*way.hops, hop), (), way.following.setdefault(hop, {}))
                    of_topic.walked.append(following)
                goes_on = len(following.hops) < tree.max_hop and len(frontier.steps) < 2 * tree.max_hop
                if goes_on and frontier.tails:
                    front.append(following)
        return found

    def _leaving(self, way: _PartialPath, of_topic: _TopicPaths) -> Iterator[RelationStep]:
        is_last = len(way.hops) + 1 == self.options.max_hop
        if is_last:
            of_topic.last.append(way)
        for number, step in way.frontier.steps_on(self.relations):
            if of_topic.num_paths >= self.options.max_paths:
                of_topic.cut = True
                return
            of_topic.num_paths += 1
            if not is_last or -number in self.mediating:
                yield step
            else:
                way.following[way.hop(step)] = _END

    def _expand(self, tree: FrontierTree, chosen: Sequence[tuple[Frontier, RelationStep]]) -> list[Frontier]:
        parts = (chosen[start : start + EXPANDED_TOGETHER] for start in range(0, len(chosen), EXPANDED_TOGETHER))
        return [frontier for part in parts for frontier in tree.expand(self.gateway, part)]

    def _find_answer_paths(
        self, tree: FrontierTree, searches: Sequence[_Search]
    ) -> list[tuple[list[TopicAnswerPath], frozenset[Steps], int]]:
        """Return the paths from each topic of each question to its answers, all known paths to an answer, and how often
        a bound may have dropped some."""
        if not searches:
            return []
        options = self.options
        pairs = [(paths.topic.id, sorted(question.answers)) for question, _, paths in searches]
        far = {id_ for question, _, paths in searches if any(w.is_long for w in paths.last) for id_ in question.answers}
        requests: list[Request[Any]] = [find_answer_paths(pairs, options.max_degree, options.max_paths)]
        if far:
            requests.append(find_last_steps_to_answers(sorted(far), options.max_degree))
        short, *last = self.gateway.run_all(requests)
        met = [_meet(*each, last[0] if last else {}) for each in zip(searches, short, strict=True)]
        chosen = [
            [
                (way, step)
                for way in paths.last
                for _, step in (way.frontier.steps_on(self.relations) if steps[way] else ())
                if step in steps[way]
            ]
            for (_, _, paths), (steps, _, _) in zip(searches, met, strict=True)
        ]
        reached = iter(self._expand(tree, [(way.frontier, step) for some in chosen for way, step in some]))
        found = []
        for (question, number, paths), (_, reaching, is_cut), some in zip(searches, met, chosen, strict=True):
            known = {way.hops: way.frontier for way in paths.walked}
            ends = [((*way.hops, way.hop(step)), next(reached)) for way, step in some]
            known |= {hops: frontier for hops, frontier in ends if not frontier.at_mediator}
            judged = [
                (path, frontier.cut)
                for hops, frontier in known.items()
                if (path := self._evaluate(question, number, hops, frontier))
            ]
            right = [path for path, _ in judged]
            right.sort(key=lambda path: (len(path.hops), *map(serialise_hop, path.hops)))
            all_reaching = reaching.union(flatten_hops(path.hops) for path in right)
            found.append((right, all_reaching, is_cut + sum(cut for _, cut in judged)))
        return found

    def _evaluate(
        self, question: GroundedQuestion, topic: int, hops: WalkedPath, frontier: Frontier
    ) -> TopicAnswerPath | None:
        """Return the path with precision and recall of its ends; None if no end is a gold answer."""
        topics, may_return = {each.id for each in question.topics}, self.options.return_to_topic
        ends = select_answer_ends(frontier.steps, frontier.ends, topics, return_to_topic=may_return)
        right = frozenset(end.id for end in ends if end.id in question.answers)
        if not right:
            return None
        relations = tuple(step.relation for step in frontier.steps)
        is_gold = any(path.relations == relations for path in question.question.paths)
        precision, recall = len(right) / len(ends), len(right) / len(question.answers)
        return TopicAnswerPath(topic, hops, precision, recall, is_gold, right)


def _meet(search: _Search, short: ShortPathsToAnswers, last: Mapping[str, LastStepsToAnswer]) -> _Met:
    question, _, paths = search
    following: dict[Steps, set[RelationStep]] = {}
    for *before, step in short.paths:
        following.setdefault(tuple(before), set()).add(step)
    into = [last[answer] for answer in sorted(question.answers) if answer in last]
    steps: dict[_PartialPath, AbstractSet[RelationStep]] = {}
    whole = set(short.paths)
    for way in paths.last:
        walked = (*flatten_hops(way.hops), *way.under_way)
        if way.is_long:
            steps[way] = {
                step for tail in way.frontier.sources for found in into for step in found.steps.get(tail.entity.id, ())
            }
        else:
            steps[way] = following.get(walked, set())
        whole.update((*walked, step) for step in steps[way])
    return steps, frozenset(whole), short.cut or any(found.cut for found in into)


def _extend_trie(trie: HopTrie, paths: Sequence[TopicAnswerPath]) -> HopTrie:
    copied = _copy_trie(trie)
    for path in paths:
        node = copied
        for hop in path.hops:
            node = node.setdefault(hop, {})
    return copied


def _copy_trie(trie: HopTrie) -> HopTrie:
    return {hop: _copy_trie(following) for hop, following in trie.items()}
