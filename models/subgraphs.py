"""Hold the subgraphs of questions as columns: distance encodings, shortest paths and labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic.dataclasses import dataclass as pydantic_dataclass

from . import Hops, Positive, Range
from .kinds import QuestionKey, TrainingDataRecord
from .mined_files import INVERSE, WEAK, PoolChain, PooledQuestion, PoolFile

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNNAMED = -1


@pydantic_dataclass(frozen=True, slots=True)
class SubgraphOptions:
    """How a question's subgraph is read: hops from the topics, relations expanded per hop (those nearest to the
    question), and the most triples.
    """

    num_hops: Hops = 2
    num_relations: Positive = 20
    max_triples: Annotated[int, Range(1, 1_000_000)] = 4_000


@dataclass(frozen=True, slots=True)
class GraphTexts:
    """The origin of a set of subgraphs and its texts: of the questions, the entities and the relations.

    options: hops and width of the subgraphs, and the supervision. relation_names: as in the graph, parallel to their
    texts in `relations`. topics, answers: for each question, by id, the nodes (counted from its first) of the topics,
    and of the right answers in its subgraph; a topic is never an answer. chain_lengths: for each question the lengths
    of the right chains that were given, from a topic.
    """

    questions_name: str
    questions_sha256: str
    graph: str
    options: Mapping[str, Any]
    ids: tuple[str, ...]
    questions: tuple[str, ...]
    entities: tuple[str, ...]
    relations: tuple[str, ...]
    relation_names: tuple[str, ...]
    topics: tuple[Mapping[str, int], ...]
    answers: tuple[Mapping[str, int], ...]
    chain_lengths: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class QuestionGraphs:
    """The subgraphs as one disjoint graph, question by question.

    heads, tails: (num_triples,) nodes. relation_of: (num_triples,) places in `texts.relations`. is_positive:
    (num_triples,). text_of: (num_nodes,) places in `texts.entities`, `UNNAMED` for none. is_topic, is_literal,
    is_answer: (num_nodes,); a topic is never an answer. node_starts, triple_starts: (num_questions + 1,).
    """

    texts: GraphTexts
    heads: Ints
    relation_of: Ints
    tails: Ints
    is_positive: Bools
    text_of: Ints
    is_topic: Bools
    is_literal: Bools
    is_answer: Bools
    node_starts: Ints
    triple_starts: Ints

    def __len__(self) -> int:
        return len(self.texts.questions)

    def triples_of(self, question: int) -> slice:
        return slice(int(self.triple_starts[question]), int(self.triple_starts[question + 1]))

    def nodes_of(self, question: int) -> slice:
        return slice(int(self.node_starts[question]), int(self.node_starts[question + 1]))

    def ends_of(self, question: int) -> tuple[Ints, Ints]:
        """Return heads and tails of a question's triples as places among its nodes, (num_triples,) each."""
        triples, first = self.triples_of(question), self.node_starts[question]
        return self.heads[triples] - first, self.tails[triples] - first

    @property
    def sha256(self) -> str:
        digest = hashlib.sha256(json.dumps(asdict(self.texts)).encode())
        for name in _COLUMNS:
            digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return digest.hexdigest()

    @property
    def supervision(self) -> str:
        return str(self.texts.options.get("supervision", WEAK))

    @property
    def trained_on(self) -> TrainingDataRecord:
        texts = self.texts
        hops = int(texts.options.get("num_hops", 0))
        return TrainingDataRecord(texts.questions_name, texts.questions_sha256, texts.graph, len(self), hops)

    @property
    def question_keys(self) -> list[QuestionKey]:
        """Id and text of each question; the same words are the same question whatever their topics."""
        texts = zip(self.texts.ids, self.texts.questions, strict=True)
        return [(id_, text, frozenset()) for id_, text in texts]


_COLUMNS = [each.name for each in fields(QuestionGraphs) if each.name != "texts"]


def join_graphs(sets: Sequence[QuestionGraphs]) -> QuestionGraphs:
    """Return sets as one, question after question; equal texts are one."""
    entities: dict[str, int] = {}
    relations: dict[tuple[str, str], int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    num_nodes = num_triples = 0
    for place, each in enumerate(sets):
        named = zip(each.texts.relations, each.texts.relation_names, strict=True)
        relation = np.array([relations.setdefault(key, len(relations)) for key in named], dtype=np.int64)
        entity = [entities.setdefault(text, len(entities)) for text in each.texts.entities]
        changed = {
            "heads": each.heads + num_nodes,
            "tails": each.tails + num_nodes,
            "relation_of": relation[each.relation_of],
            "text_of": np.array([*entity, UNNAMED])[each.text_of],
            "node_starts": each.node_starts[place > 0 :] + num_nodes,
            "triple_starts": each.triple_starts[place > 0 :] + num_triples,
        }
        for name, parts in columns.items():
            parts.append(changed.get(name, getattr(each, name)))
        num_nodes, num_triples = num_nodes + len(each.text_of), num_triples + len(each.heads)
    of_questions = ("ids", "questions", "topics", "answers", "chain_lengths")
    texts = replace(
        sets[0].texts,
        entities=tuple(entities),
        relations=tuple(text for text, _ in relations),
        relation_names=tuple(name for _, name in relations),
        **{name: tuple(text for each in sets for text in getattr(each.texts, name)) for name in of_questions},
    )
    return replace(sets[0], texts=texts, **{name: np.concatenate(parts) for name, parts in columns.items()})


Floats = npt.NDArray[np.float32]


def compute_distance_encoding(heads: Ints, tails: Ints, is_topic: Bools, num_rounds: int) -> Floats:
    """Return the distance encoding of each node, (num_nodes, 2 + 5 · num_rounds).

    It starts with the one-hot of being a topic. Each forward round averages over the heads of the triples that enter a
    node; each backward round, starting anew, over the tails of those that leave it. The results of all rounds are
    concatenated. heads, tails: (num_triples,) nodes; parallel triples each count in the mean. is_topic: (num_nodes,).
    The columns are [no topic, topic], the forward rounds, the backward rounds; the mean over no triples is 0.

    Ours are the last columns: the share m of the topic in rounds over all neighbours, as 1 + log₁₀(max(m, 10⁻⁶)) / 6.
    SubgraphRAG's rounds see nothing where a path turns (the director of a film, then films by him).
    """
    start = np.stack([~is_topic, is_topic], axis=1).astype(np.float64)
    columns = [start]
    for sources, targets in ((heads, tails), (tails, heads)):
        columns += _average_over_neighbours(sources, targets, start, num_rounds)
    either = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    for shares in _average_over_neighbours(*either, start[:, 1:], num_rounds):
        columns.append(1 + np.log10(np.maximum(shares, 1e-6)) / 6)
    return np.concatenate(columns, axis=1).astype(np.float32)


def _average_over_neighbours(
    sources: Ints, targets: Ints, start: npt.NDArray[np.float64], num_rounds: int
) -> list[npt.NDArray[np.float64]]:
    counts = np.maximum(np.bincount(targets, minlength=len(start)), 1)
    rounds = [start]
    for _ in range(num_rounds):
        sums = [np.bincount(targets, weights=column[sources], minlength=len(start)) for column in rounds[-1].T]
        rounds.append(np.stack(sums, axis=1) / counts[:, None])
    return rounds[1:]


def compute_encoding_width(num_rounds: int) -> int:
    return 2 + 5 * num_rounds


def mark_triples_beside(heads: Ints, tails: Ints, is_right: Bools, is_topic: Bools) -> Bools:
    """Return which triples share an end with a right one or with a topic, (num_triples,)."""
    on_way = is_topic.copy()
    on_way[heads[is_right]] = on_way[tails[is_right]] = True
    return on_way[heads] | on_way[tails]


UNREACHED = -1


def mark_shortest_paths(heads: Ints, tails: Ints, is_literal: Bools, topics: Ints, is_answer: Bools) -> Bools:
    """Return which triples are on a shortest path from a topic to an answer, (num_triples,).

    heads, tails: (num_triples,) nodes. is_literal, is_answer: (num_nodes,). Every topic has its own shortest paths to
    each answer it can reach; no path passes through a literal, or has no triple.
    """
    found = np.zeros(len(heads), dtype=np.bool_)
    for topic in topics.tolist():
        hops = compute_hops_from_topic(heads, tails, is_literal, topic)
        wanted = is_answer & (hops > 0)
        for level in range(int(hops[wanted].max(initial=0)), 0, -1):
            for sources, targets in ((heads, tails), (tails, heads)):
                step = (hops[targets] == level) & wanted[targets] & (hops[sources] == level - 1) & ~is_literal[sources]
                found |= step
                wanted[sources[step]] = True
    return found


def compute_hops_from_topic(heads: Ints, tails: Ints, is_literal: Bools, topic: int) -> Ints:
    """Return each node's distance in triples from a topic, (num_nodes,); `UNREACHED` if no path leads to it."""
    hops = np.full(len(is_literal), UNREACHED, dtype=np.int64)
    hops[topic] = 0
    level = 0
    while True:
        is_front = (hops == level) & ~is_literal
        reached = np.concatenate([tails[is_front[heads]], heads[is_front[tails]]])
        reached = reached[hops[reached] == UNREACHED]
        if not len(reached):
            return hops
        level += 1
        hops[reached] = level


def relabel_graphs(graphs: QuestionGraphs, pool: PoolFile) -> tuple[QuestionGraphs, int]:
    """Return the subgraphs with a pool's supervision, and how many questions keep their old supervision.

    Those are the questions that the pool lacks, and those whose chains have no walk in the subgraph. Pool and subgraphs
    must be of the same question set.
    """
    pooled = {question.id: question for question in pool.questions}
    place = {name: number for number, name in enumerate(graphs.texts.relation_names)}
    is_positive = graphs.is_positive.copy()
    num_kept, lengths = 0, list(graphs.texts.chain_lengths)
    for number, id_ in enumerate(graphs.texts.ids):
        if id_ in pooled and (right := _right(graphs, number, pooled[id_], place)).any():
            is_positive[graphs.triples_of(number)] = right
            paths = (chain for chain in pooled[id_].supervision if chain.kind == "path")
            lengths[number] = tuple(sorted({len(path.steps) for path in paths}))
        else:
            num_kept += 1
    texts = replace(
        graphs.texts,
        options={**graphs.texts.options, "supervision": pool.supervision},
        chain_lengths=tuple(lengths),
    )
    return replace(graphs, texts=texts, is_positive=is_positive), num_kept


def _right(graphs: QuestionGraphs, number: int, question: PooledQuestion, place: Mapping[str, int]) -> Bools:
    (heads, tails), nodes = graphs.ends_of(number), graphs.nodes_of(number)
    relation_of, num_nodes = graphs.relation_of[graphs.triples_of(number)], nodes.stop - nodes.start
    answers = graphs.texts.answers[number]
    starts = {**answers, **graphs.texts.topics[number]}
    is_answer = np.zeros(num_nodes, dtype=np.bool_)
    is_answer[list(answers.values())] = True
    right = np.zeros(len(heads), dtype=np.bool_)
    for chain in question.supervision:
        own = [starts[chain.start]] if chain.start in starts else []
        for start in answers.values() if chain.kind == "answer" else own:
            steps = _steps(chain, place)
            if steps is not None:
                ends = is_answer if chain.kind == "path" else np.ones(num_nodes, dtype=np.bool_)
                right |= mark_walks(heads, relation_of, tails, start, steps, ends)
    return right


def _steps(chain: PoolChain, place: Mapping[str, int]) -> list[tuple[int, bool]] | None:
    named = [(step.removeprefix(INVERSE), step.startswith(INVERSE)) for step in chain.steps]
    if not all(relation in place for relation, _ in named):
        return None
    return [(place[relation], inverse) for relation, inverse in named]


def mark_walks(
    heads: Ints, relation_of: Ints, tails: Ints, start: int, steps: Sequence[tuple[int, bool]], is_end: Bools
) -> Bools:
    """Return which triples are on a walk from a node along these relations to an allowed end, (num_triples,).

    steps: relation, and whether the step is inverse (tail to head). is_end: (num_nodes,). Merged answers are separate
    ends again here.
    """
    reached = np.zeros(len(is_end), dtype=np.bool_)
    reached[start] = True
    taken: list[tuple[Bools, Ints, Ints]] = []
    for relation, inverse in steps:
        sources, targets = (tails, heads) if inverse else (heads, tails)
        step = (relation_of == relation) & reached[sources]
        taken.append((step, sources, targets))
        reached = np.zeros(len(is_end), dtype=np.bool_)
        reached[targets[step]] = True
    found = np.zeros(len(heads), dtype=np.bool_)
    wanted = reached & is_end
    for step, sources, targets in reversed(taken):
        on_way = step & wanted[targets]
        found |= on_way
        wanted = np.zeros(len(is_end), dtype=np.bool_)
        wanted[sources[on_way]] = True
    return found
