"""Read what retrievers of triples learn from: question subgraphs with labels of their triples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.mined_files import WEAK
from ...models.subgraphs import (
    QuestionGraphs,
    SubgraphOptions,
    join_graphs,
    mark_shortest_paths,
    relabel_graphs,
)
from ...models.text.vectors import TextVectors
from ..errors import GraphError
from ..gold_questions import GroundedQuestion, QuestionSet, SkippedQuestion, ground_questions, look_up_gold_answers
from ..neo4j.catalogue import read_catalogue, read_graph_state
from ..progress import Progress, ignore_progress
from ..resources import GraphResources
from ..retrieval.subgraphs import SubgraphBatch
from ..retrieval.triples import (
    RelationsByNumber,
    convert_to_question_graphs,
    make_subgraph_extractor,
    make_subgraph_query,
)
from .pools import read_refined_pools

if TYPE_CHECKING:
    from ...models.training import TrainingFolder
    from ..api import Engine
    from ..training import Sets, TrainingRequest

BATCH = 32


def read_subgraph_sets(
    request: TrainingRequest, config: Any, out: TrainingFolder, *, supervision: Sequence[str] = ()
) -> Sets:
    """Return the subgraphs of question sets.

    supervision: files of `lodestar refine`, each for its question set; a set without one has its shortest paths.
    """
    vectors = out.vectors_of(config.encoder)
    sets = list(map(request.questions, request.files))
    pools = read_refined_pools(supervision, [questions.sha256 for questions in sets])
    found = []
    for questions in sets:
        with request.open_graph(questions.name, "reading") as (engine, progress):
            graphs = read_subgraphs(questions, engine, vectors, config.subgraph, progress=progress)
        if pool := pools.get(questions.sha256):
            graphs, num_kept = relabel_graphs(graphs, pool)
            request.say(
                f"{questions.name}: {graphs.supervision}; {num_kept:,} of {len(graphs):,} questions keep their "
                "shortest paths"
            )
        found.append(graphs)
    return request.split(found)


def read_subgraphs(
    questions: QuestionSet,
    engine: Engine,
    vectors: TextVectors,
    options: SubgraphOptions,
    *,
    progress: Progress = ignore_progress,
) -> QuestionGraphs:
    """Read the subgraphs of the questions from the engine's graph; `vectors` select relations.

    Positives are the triples on shortest paths from topics to answers (weak supervision). Questions whose topics or
    answers are not in the graph are left out. Raises `GraphError` if no question is left.
    """
    gateway = engine.gateway()
    gateway.run(read_graph_state()).check()
    catalogue = gateway.run(read_catalogue())
    relations = RelationsByNumber.of(GraphResources(engine.resources, catalogue))
    extractor = make_subgraph_extractor(relations, vectors, options)
    asked = look_up_gold_answers(questions.questions, gateway).questions
    made: list[QuestionGraphs] = []
    header = {
        "questions_name": questions.name,
        "questions_sha256": questions.sha256,
        "graph": catalogue.vocabulary,
        "options": asdict(options) | {"supervision": WEAK},
    }
    progress("walking", 0, len(asked))
    for start in range(0, len(asked), BATCH):
        placed, _ = ground_questions(asked[start : start + BATCH], gateway)
        kept = [each for each in placed if not isinstance(each, SkippedQuestion)]
        queries = [
            make_subgraph_query(each.question.text, [topic.id for topic in each.topics], options) for each in kept
        ]
        if kept:
            made.append(_label_subgraphs(kept, extractor.extract(gateway, queries), relations, **header))
        progress("walking", min(start + BATCH, len(asked)), len(asked))
    if not made:
        raise GraphError(
            f"{questions.name}: expected questions about this graph, found none: load the graph they are about"
        )
    return join_graphs(made)


def _label_subgraphs(
    placed: Sequence[GroundedQuestion], batch: SubgraphBatch, relations: RelationsByNumber, **header: Any
) -> QuestionGraphs:
    """Return the subgraphs of questions, with the triples on shortest paths from topics to answers as right ones."""
    ids, asked = batch.ids, batch.node_questions.tolist()
    topics = [{topic.id for topic in each.topics} for each in placed]
    is_answer = np.array(
        [id_ in placed[q].answers and id_ not in topics[q] for id_, q in zip(ids, asked, strict=True)], dtype=np.bool_
    )
    found: list[tuple[dict[str, int], dict[str, int]]] = [({}, {}) for _ in placed]
    for node, (id_, question) in enumerate(zip(ids, asked, strict=True)):
        place = node - int(batch.node_starts[question])
        if id_ in topics[question]:
            found[question][0][id_] = place
        if is_answer[node]:
            found[question][1][id_] = place
    graphs = convert_to_question_graphs(batch, [each.question.text for each in placed], relations)
    is_positive = [
        mark_shortest_paths(
            *graphs.ends_of(number), graphs.is_literal[nodes], np.flatnonzero(graphs.is_topic[nodes]), is_answer[nodes]
        )
        for number, nodes in enumerate(map(graphs.nodes_of, range(len(placed))))
    ]
    texts = replace(
        graphs.texts,
        ids=tuple(each.question.id for each in placed),
        topics=tuple(topics for topics, _ in found),
        answers=tuple(answers for _, answers in found),
        chain_lengths=((),) * len(placed),
        **header,
    )
    return replace(graphs, texts=texts, is_positive=np.concatenate(is_positive), is_answer=is_answer)
