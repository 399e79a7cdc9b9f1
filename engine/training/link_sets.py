"""Collect the linker's training data: the candidates of each question with their features."""

from __future__ import annotations

import numpy as np

from ...models.linker.config import LinkedCandidates, LinkerConfig
from ..api import Engine
from ..errors import UsageError
from ..gold_questions import GoldQuestion, QuestionSet, look_up_topic_ids
from ..linking.full_text import FullTextLinker
from ..linking.reranking import TRAINED_FEATURES, compute_linker_features
from ..linking.topics import add_signature
from ..neo4j.catalogue import read_catalogue, read_graph_state
from ..neo4j.graph import read_signatures
from ..progress import Progress, ignore_progress
from ..recipes.linking import relation_evidence

BATCH = 32


def collect_link_candidates(
    questions: QuestionSet, engine: Engine, config: LinkerConfig, *, progress: Progress = ignore_progress
) -> LinkedCandidates:
    """Return the candidates of each question from the engine's graph, with their features.

    Questions without a topic in the graph are left out. Raises `UsageError` if none is left.
    """
    gateway = engine.gateway()
    gateway.fetch(read_graph_state()).check()
    catalogue = gateway.fetch(read_catalogue())
    graph = engine.resources.of_graph(catalogue)
    evidence = relation_evidence(graph, engine.resources.vectors_of(config.encoder))
    linker = FullTextLinker(type_words=graph.type_words, evidence=evidence, considered=config.candidates)
    asked = [each for each in look_up_topic_ids(questions.questions, gateway) if each.topic_ids]
    builder = _Columns()
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        linked = gateway.run(linker.link([each.as_question(()) for each in batch]))
        ids = {c.entity.id for some in linked for c in some} | {t for each in batch for t in each.topic_ids}
        signatures = gateway.fetch(read_signatures(sorted(ids)))
        found = [[add_signature(c, signatures[c.entity.id]) for c in some] for some in linked]
        texts = [each.text for each in batch]
        relations = evidence.features(texts, found)
        for each, some, x in zip(batch, linked, relations, strict=True):
            topics = {topic for topic in each.topic_ids if topic in signatures}
            if topics:
                columns = compute_linker_features(some, x) if some else np.zeros((0, len(TRAINED_FEATURES)))
                builder.add(each, columns, [c.entity.id in topics for c in some], len(topics))
        progress("linking", min(start + BATCH, len(asked)), len(asked))
    if not builder.texts:
        raise UsageError(f"{questions.name}: expected questions with topics of this graph, found none")
    return builder.candidates(questions, catalogue.vocabulary)


class _Columns:
    """Builder of the columns of a question set."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._features: list[np.ndarray] = []
        self._is_topic: list[list[bool]] = []
        self._num_topics: list[int] = []

    def add(self, question: GoldQuestion, features: np.ndarray, is_topic: list[bool], num_topics: int) -> None:
        """Add a question with its candidates."""
        self.texts.append(question.text)
        self._features.append(features)
        self._is_topic.append(is_topic)
        self._num_topics.append(num_topics)

    def candidates(self, questions: QuestionSet, graph: str) -> LinkedCandidates:
        """Return the candidates of all questions added."""
        return LinkedCandidates(
            questions.name,
            questions.sha256,
            graph,
            tuple(self.texts),
            TRAINED_FEATURES,
            np.concatenate(self._features).astype(np.float32),
            np.concatenate([np.array(each, dtype=bool) for each in self._is_topic]),
            np.cumsum([0, *map(len, self._is_topic)]).astype(np.int64),
            np.array(self._num_topics, dtype=np.int64),
        )
