"""Rank paths by chance, length, PageRank or the gold answers, as baselines to compare with."""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ...models.ranges import Hops, Range
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind
from ..gold_questions import GoldQuestion
from ..recipes.part import ReorganiserPart, RetrieverPart, option
from ..resources import GraphResources
from ..stages import Reorganiser, Retriever
from ..steps import Steps, attribute_costs
from ..values import LinkedQuestion, Question, RelationPath, RelationStep, Scored
from .diagnosis import find_reachable_paths
from .judging import GoldIdResolver
from .noise import NoiseInjector, chain_of, distances_from, shortest_path
from .whole_graph import Nodes, WholeGraph


class WholeGraphRetriever(ABC):
    """A `Retriever` over the graph in memory, without round trips. Its scores have no calibration."""

    gives: Kind = "chain"

    def __init__(self, graph: WholeGraph, max_hop: int) -> None:
        self.graph = graph
        self.max_hop = max_hop

    @abstractmethod
    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return at most `top_k` chains from the topics (nodes of the graph), best first."""

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Chain]]]:
        """Return the chains of each question."""
        yield from attribute_costs("search")
        found: list[Evidence[Chain]] = []
        for linked in questions:
            nodes = [self.graph.numbers[t.entity.id] for t in linked.topics if t.entity.id in self.graph.numbers]
            items = tuple(self.search(linked.question, nodes, top_k)) if nodes else ()
            found.append(Evidence(linked.question, linked.topics, "chain", items))
        return found


TRIES_A_PATH = 20


class RandomWalkRetriever(WholeGraphRetriever):
    """Random walks from a random topic, of a random number of hops, by random relations.

    Every relation of a node has the same probability, whatever its number of triples. All scores are 0. The same seed
    and question give the same paths.
    """

    def __init__(self, graph: WholeGraph, max_hop: int, seed: int) -> None:
        super().__init__(graph, max_hop)
        self._seed = seed

    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return distinct relation paths, fewer than `top_k` if the random walks find no more."""
        digest = hashlib.sha256(f"{self._seed}\n{question.id}\n{question.text}".encode()).digest()
        random_state = random.Random(digest)  # noqa: S311 - no secret
        found: dict[tuple[int, RelationPath], Chain] = {}
        for _ in range(TRIES_A_PATH * top_k):
            if len(found) == top_k:
                break
            topic = random_state.choice(topics)
            path, reached = self._walk(random_state, topic, random_state.randint(1, self.max_hop))
            ends = [
                self.graph.entities[node]
                for node in reached.tolist()
                if node not in topics and not self.graph.is_mediator[node]
            ]
            if path and ends and (topic, path) not in found:
                found[topic, path] = chain_of(self.graph, topic, path, ends)
        return [Scored(path, 0.0) for path in found.values()]

    def _walk(self, random_state: random.Random, topic: int, num_hops: int) -> tuple[RelationPath | None, Nodes]:
        frontier = np.array([topic], dtype=np.int64)
        steps: list[RelationStep] = []
        while sum(not step.to_mediator for step in steps) < num_hops:
            _, numbers, targets = self.graph.steps_from(frontier[~self.graph.is_literal[frontier]])
            if not len(numbers):
                return None, frontier
            number = random_state.choice(np.unique(numbers).tolist())
            frontier = np.unique(targets[numbers == number])
            to_mediator = bool(self.graph.is_mediator[frontier].all())
            steps.append(RelationStep(self.graph.relations[abs(number)], number < 0, to_mediator))
            if len(steps) > 2 * self.max_hop:
                return None, frontier
        return RelationPath(tuple(steps)), frontier


class EntityRetriever(WholeGraphRetriever):
    """Ranks the entities within `max_hop` steps of a topic; ties by the entity's id."""

    @abstractmethod
    def scores(self, topics: list[int], distances: Nodes, /) -> npt.NDArray[np.float64]:
        """Return (num_nodes,) scores, higher is better; `distances` is (num_topics, num_nodes), in steps."""

    def search(self, _question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return a shortest path from the nearest topic to each of the best entities."""
        distances = np.array([distances_from(self.graph, topic, self.max_hop) for topic in topics])
        scores = self.scores(topics, distances)
        nearest = distances.argmin(axis=0)
        within = (distances.min(axis=0) <= self.max_hop) & ~self.graph.is_mediator
        within[topics] = False
        ends = sorted(np.flatnonzero(within).tolist(), key=lambda node: (-scores[node], self.graph.entities[node].id))
        found = []
        for end in ends[:top_k]:
            topic = topics[nearest[end]]
            path = shortest_path(self.graph, topic, end, distances[nearest[end]])
            found.append(Scored(chain_of(self.graph, topic, path, [self.graph.entities[end]]), float(scores[end])))
        return found


class ShortestPathRetriever(EntityRetriever):
    """Scores an entity by minus the sum of its distances from the topics, in steps.

    Our own reading of "shortest path" as a baseline that does not know the answer.
    """

    def scores(self, _topics: list[int], distances: Nodes, /) -> npt.NDArray[np.float64]:
        """Return minus the sum of the distances."""
        total: npt.NDArray[np.float64] = distances.sum(axis=0).astype(np.float64)
        return -total


class OracleRetriever(WholeGraphRetriever):
    """Ranks relation paths by the F1 of their end sets, which is their score.

    `gold` has the ids of the gold answers by question id. A question without any, or with none within reach, gets no
    path.
    """

    def __init__(
        self, graph: WholeGraph, max_hop: int, gold: Mapping[str, Sequence[str]], *, return_to_topic: bool = False
    ) -> None:
        super().__init__(graph, max_hop)
        self._return_to_topic = return_to_topic
        self._gold = gold

    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return the best relation paths."""
        known = [self.graph.numbers[id_] for id_ in self._gold[question.id] if id_ in self.graph.numbers]
        best = find_reachable_paths(
            self.graph, topics, np.array(known, dtype=np.int64), self.max_hop, return_to_topic=self._return_to_topic
        )[:top_k]
        return [
            Scored(chain_of(self.graph, self.graph.numbers[r.topic.id], r.relation_path, r.ends), r.f1) for r in best
        ]


DAMPING = 0.85


class PageRankRetriever(EntityRetriever):
    """Scores an entity by the probability of a random walk with restarts at the topics (Haveliwala, 2002).

    It restarts with probability 1 - `DAMPING`, equally often at each topic; parallel triples count each.
    """

    def __init__(self, graph: WholeGraph, max_hop: int) -> None:
        import igraph  # it imports Matplotlib where that is installed

        super().__init__(graph, max_hop)
        sources = np.repeat(np.arange(len(graph.entities)), np.diff(graph.starts))
        forward = graph.steps > 0
        edges = np.stack([sources[forward], graph.targets[forward]], axis=1)
        self._undirected = igraph.Graph(n=len(graph.entities), edges=edges, directed=False)

    def scores(self, topics: list[int], _distances: Nodes, /) -> npt.NDArray[np.float64]:
        """Return the probabilities."""
        return np.array(self._undirected.personalized_pagerank(damping=DAMPING, reset_vertices=topics))


MAX_NOISE = 1_000


@dataclass(frozen=True)
class BaselineInput:
    """The input of baselines: the graph in memory, and the questions of the evaluation."""

    gold: GoldIdResolver
    questions: tuple[GoldQuestion, ...]

    @property
    def graph(self) -> WholeGraph:
        """The graph in memory."""
        return self.gold.graph


@dataclass(frozen=True)
class BaselinePart(RetrieverPart):
    """A retriever over the whole graph in memory."""

    gives: ClassVar[Kind] = "chain"

    max_hop: Hops = option(2, "longest path in hops", source="as similarity")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the retriever. Raises `UsageError` outside of an evaluation."""
        return self.make_retriever(graph.shared.get_provided(BaselineInput, self.name))

    @abstractmethod
    def make_retriever(self, given: BaselineInput, /) -> Retriever:
        """Return the retriever over the graph of an evaluation."""


@dataclass(frozen=True)
class Oracle(BaselinePart):
    """The relation paths within reach whose ends agree best with the gold answers: the upper bound."""

    name: ClassVar[str] = "oracle"

    return_to_topic: bool = option(False, "allow a topic entity as an answer")

    def make_retriever(self, given: BaselineInput) -> Retriever:
        """Return the oracle, which knows the gold answers."""
        gold = {question.id: given.gold.answers(question) for question in given.questions}
        return OracleRetriever(given.graph, self.max_hop, gold, return_to_topic=self.return_to_topic)


@dataclass(frozen=True)
class PageRank(BaselinePart):
    """Personalised PageRank from the topic entities (Haveliwala 2002)."""

    name: ClassVar[str] = "pagerank"

    def make_retriever(self, given: BaselineInput) -> Retriever:
        """Return the retriever."""
        return PageRankRetriever(given.graph, self.max_hop)


@dataclass(frozen=True)
class Random(BaselinePart):
    """Random relation paths: the lower bound."""

    name: ClassVar[str] = "random"

    seed: int = option(0, "seed of the random walks")

    def make_retriever(self, given: BaselineInput) -> Retriever:
        """Return the retriever."""
        return RandomWalkRetriever(given.graph, self.max_hop, self.seed)


@dataclass(frozen=True)
class Shortest(BaselinePart):
    """Shortest paths to the entities nearest to the topic entities."""

    name: ClassVar[str] = "shortest"

    def make_retriever(self, given: BaselineInput) -> Retriever:
        """Return the retriever."""
        return ShortestPathRetriever(given.graph, self.max_hop)


@dataclass(frozen=True)
class Noise(ReorganiserPart):
    """Inserts hard negative paths of the same graph at random places in the evidence, to test filters."""

    name: ClassVar[str] = "noise"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    num: Annotated[int, Range(0, MAX_NOISE)] = option(10, "paths or triples of noise per question")
    seed: int = option(0, "seed of the noise")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the stage. Raises `UsageError` outside of an evaluation."""
        given = graph.shared.get_provided(BaselineInput, self.name)
        gold = {question.id: given.gold.answers(question) for question in given.questions}
        return NoiseInjector(given.graph, gold, self.num, self.seed)


OVER_THE_WHOLE_GRAPH = (BaselinePart, Noise)
"""Parts that need a `BaselineInput`."""
