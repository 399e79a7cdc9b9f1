"""Write the training data of ReG's retrievers: question subgraphs with labels of their triples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.mined import WEAK
from ...models.subgraphs import (
    UNNAMED,
    VERSION,
    GraphFileError,
    GraphTexts,
    QuestionGraphs,
    SubgraphOptions,
    mark_shortest_paths,
    read_graphs,
    relabel_graphs,
    write_graphs,
)
from ...models.text.vectors import TextVectors
from ..errors import GraphError, InputError
from ..gold_questions import GroundedQuestion, QuestionSet, SkippedQuestion, ground_questions, look_up_answers
from ..neo4j.catalogue import read_catalogue, read_graph_state
from ..progress import Progress, ignore_progress
from ..resources import GraphResources
from ..retrieval.subgraph import SubgraphBatch
from ..retrieval.triples import GraphRelations, entity_text, subgraph_query, subgraphs_of
from ..whole_file import translate_storage_errors
from .pools import read_refined_pools

if TYPE_CHECKING:
    from ...models.training import TrainingFolder
    from ..api import Engine
    from ..training import Sets, TrainingRequest

BATCH = 32


def graph_sets(request: TrainingRequest, config: Any, out: TrainingFolder, *, supervision: Sequence[str] = ()) -> Sets:
    """Return the subgraphs of question sets, read from the graph now or by an earlier run.

    supervision: files of `lodestar refine`, each for its question set; a set without one has its shortest paths.
    """
    vectors = out.vectors_of(config.encoder)
    sets = map(request.questions, (*request.train_files, *request.dev_files))
    found = [graph_set(request, each, config.subgraph, vectors) for each in sets]
    pools = read_refined_pools(supervision, [graphs.texts.questions_sha256 for graphs in found])
    for place, graphs in enumerate(found):
        if pool := pools.get(graphs.texts.questions_sha256):
            found[place], num_kept = relabel_graphs(graphs, pool)
            request.say(
                f"{graphs.texts.questions_name}: {graphs.supervision}; {num_kept:,} of {len(graphs):,} questions "
                "keep their shortest paths"
            )
    return request.split(found)


def graph_set(
    request: TrainingRequest, questions: QuestionSet, options: SubgraphOptions, vectors: TextVectors
) -> QuestionGraphs:
    """Return the subgraphs of a question set. Errors: `TrainingRequest.make_once`."""
    how = json.dumps([VERSION, vectors.encoder.name, asdict(options)], sort_keys=True)
    digest = hashlib.sha256(how.encode()).hexdigest()
    start = f"subgraphs-{questions.name}-{questions.sha256[:8]}-{digest[:8]}-"

    def read(engine: Engine, wanted: Path, progress: Progress) -> None:
        write_question_graphs(questions, engine, vectors, wanted, options, progress=progress)

    try:
        return read_graphs(request.make_once(questions.name, start, ".safetensors", "reading", read))
    except GraphFileError as error:
        raise InputError(str(error)) from error


def write_question_graphs(
    questions: QuestionSet,
    engine: Engine,
    vectors: TextVectors,
    out: Path,
    options: SubgraphOptions,
    *,
    progress: Progress = ignore_progress,
) -> None:
    """Read the subgraphs of the questions from the engine's graph and write the file; `vectors` select relations.

    Positives are the triples on shortest paths from topics to answers (weak supervision). Questions whose topics or
    answers are not in the graph are left out. Raises `GraphError` if no question is left.
    """
    gateway = engine.gateway()
    gateway.run(read_graph_state()).check()
    catalogue = gateway.run(read_catalogue())
    relations = GraphRelations.of(GraphResources(engine.resources, catalogue))
    extractor = subgraphs_of(relations, vectors, options)
    asked = look_up_answers(questions.questions, gateway).questions
    made = _Columns(relations)
    progress("walking", 0, len(asked))
    for start in range(0, len(asked), BATCH):
        placed, _ = ground_questions(asked[start : start + BATCH], gateway)
        kept = [each for each in placed if not isinstance(each, SkippedQuestion)]
        queries = [subgraph_query(each.question.text, [topic.id for topic in each.topics], options) for each in kept]
        for each, subgraph in zip(kept, extractor.extract(gateway, queries), strict=True):
            made.add(each, subgraph)
        progress("walking", min(start + BATCH, len(asked)), len(asked))
    if not made.questions:
        raise GraphError(
            f"{questions.name}: expected questions about this graph, found none: load the graph they are about"
        )
    with translate_storage_errors(out):
        write_graphs(out, made.graphs(questions, catalogue.vocabulary, options))


class _Columns:
    def __init__(self, relations: GraphRelations) -> None:
        self.questions: list[GroundedQuestion] = []
        self._texts = relations.texts
        self._names = relations.names
        self._relations: dict[int, int] = {}
        self._entities: dict[str, int] = {}
        self._columns: dict[str, list[Any]] = {}
        self._num_nodes = [0]
        self._num_triples = [0]
        self._topics: list[dict[str, int]] = []
        self._answers: list[dict[str, int]] = []

    def add(self, placed: GroundedQuestion, subgraph: SubgraphBatch) -> None:
        ids = subgraph.ids
        topics = {topic.id for topic in placed.topics}
        is_answer = np.array([id_ in placed.answers and id_ not in topics for id_ in ids], dtype=np.bool_)
        right = mark_shortest_paths(
            subgraph.heads, subgraph.tails, subgraph.is_literal, np.flatnonzero(subgraph.is_topic), is_answer
        )
        texts = [entity_text(subgraph.table[place]) for place in subgraph.entities.tolist()]
        columns = {
            "heads": subgraph.heads + self._num_nodes[-1],
            "tails": subgraph.tails + self._num_nodes[-1],
            "relation_of": np.array(
                [self._relations.setdefault(n, len(self._relations)) for n in subgraph.relations.tolist()],
                dtype=np.int64,
            ),
            "is_positive": right,
            "text_of": np.array(
                [UNNAMED if text is None else self._entities.setdefault(text, len(self._entities)) for text in texts],
                dtype=np.int64,
            ),
            "is_topic": subgraph.is_topic,
            "is_literal": subgraph.is_literal,
            "is_answer": is_answer,
        }
        self._topics.append({id_: node for node, id_ in enumerate(ids) if id_ in topics})
        self._answers.append({ids[node]: node for node in np.flatnonzero(is_answer).tolist()})
        for name, column in columns.items():
            self._columns.setdefault(name, []).append(column)
        self._num_nodes.append(self._num_nodes[-1] + len(subgraph.entities))
        self._num_triples.append(self._num_triples[-1] + len(subgraph.heads))
        self.questions.append(placed)

    def graphs(self, questions: QuestionSet, graph: str, options: SubgraphOptions) -> QuestionGraphs:
        texts = GraphTexts(
            questions.name,
            questions.sha256,
            graph,
            asdict(options) | {"supervision": WEAK},
            tuple(each.question.id for each in self.questions),
            tuple(each.question.text for each in self.questions),
            tuple(self._entities),
            tuple(self._texts[number] for number in self._relations),
            tuple(self._names[number] for number in self._relations),
            tuple(self._topics),
            tuple(self._answers),
        )
        columns: dict[str, Any] = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        starts = [np.array(starts, dtype=np.int64) for starts in (self._num_nodes, self._num_triples)]
        return QuestionGraphs(texts, **columns, node_starts=starts[0], triple_starts=starts[1])
