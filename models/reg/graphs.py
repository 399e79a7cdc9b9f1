"""What ReG's retrievers learn from: the subgraphs of a question set as columns, with the triples that are right.

A file of it is safetensors: the columns, and all texts in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save_file

from ..file_hash import file_sha256
from ..one_line import one_line
from ..training.decoding import decoded
from ..training.description import QuestionKey, TrainedOn
from ..whole_file import atomic_write

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNNAMED = -1
WEAK = "weak"
"""Supervision: the triples on shortest paths."""
VERSION = 3
"""Of the file: a file of another is made anew, since its name has the number."""


class GraphFileError(Exception):
    """A file of subgraphs is missing, damaged or not one; the message says what to do."""


@dataclass(frozen=True, slots=True)
class GraphTexts:
    """What a set of subgraphs was made from and its texts: of the questions, of the entities and of the relations.

    options: how far and how wide the subgraphs reach, and what the supervision is. relation_names: as the graph has
    them, beside their texts in `relations`. topics, answers: of each question the nodes, counted from its first one, of
    the topics and of the right answers that its subgraph has, by id; no topic is an answer.
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


@dataclass(frozen=True, slots=True)
class QuestionLabels:
    """What a question set says of a question beside its subgraph.

    answers: names of the right answers, or ids where they have no name. all_named: every right answer has a name.
    options: what is chosen from, where the question is a choice.
    """

    set_name: str
    id: str
    answers: tuple[str, ...]
    all_named: bool
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class QuestionGraphs:
    """The subgraphs as one disjoint graph, questions one after another.

    heads, tails: (num_triples,) nodes. relation_of: (num_triples,) places in `texts.relations`. is_positive:
    (num_triples,). text_of: (num_nodes,) places in `texts.entities`, `UNNAMED` where there is no name. is_topic:
    (num_nodes,), as is_literal and is_answer, which topics are not. node_starts, triple_starts: (num_questions + 1,).
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
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.texts.questions)

    def triples_of(self, question: int) -> slice:
        """Return the rows of a question's triples."""
        return slice(int(self.triple_starts[question]), int(self.triple_starts[question + 1]))

    def nodes_of(self, question: int) -> slice:
        """Return the rows of a question's nodes."""
        return slice(int(self.node_starts[question]), int(self.node_starts[question + 1]))

    @property
    def supervision(self) -> str:
        """What says which triples are right."""
        return str(self.texts.options.get("supervision", WEAK))

    @property
    def trained_on(self) -> TrainedOn:
        """What a checkpoint says of it."""
        texts = self.texts
        hops = int(texts.options.get("num_hops", 0))
        return TrainedOn(texts.questions_name, texts.questions_sha256, self.sha256, texts.graph, len(self), hops)

    @property
    def question_keys(self) -> list[QuestionKey]:
        """Id and text of each question; two of the same words are one question whatever their topics."""
        texts = zip(self.texts.ids, self.texts.questions, strict=True)
        return [(id_, text, frozenset()) for id_, text in texts]


_COLUMNS = [each.name for each in fields(QuestionGraphs) if each.name not in {"texts", "sha256"}]


def supervision_of(sets: Sequence[QuestionGraphs]) -> str:
    """Return what says which triples of these sets are right, in words."""
    return ", ".join(dict.fromkeys(graphs.supervision for graphs in sets))


def write_graphs(path: Path, graphs: QuestionGraphs) -> None:
    """Write the file, whole or not at all."""
    columns = {name: getattr(graphs, name) for name in _COLUMNS}
    texts = {each.name: getattr(graphs.texts, each.name) for each in fields(GraphTexts)}
    stored = {name: column if column.dtype == bool else column.astype(np.int32) for name, column in columns.items()}
    with atomic_write(path) as draft:
        save_file(stored, draft, {"texts": json.dumps(texts, ensure_ascii=False)})


def read_graphs(path: Path) -> QuestionGraphs:
    """Return what `write_graphs` wrote; raise `GraphFileError` for a file that is missing or damaged."""
    try:
        with safe_open(path, framework="numpy") as file:
            texts = decoded(GraphTexts, (file.metadata() or {}).get("texts", ""))
            columns = {name: file.get_tensor(name) for name in _COLUMNS}
        graphs = QuestionGraphs(
            texts,
            **{name: column if column.dtype == bool else column.astype(np.int64) for name, column in columns.items()},
            sha256=file_sha256(path),
        )
        _check(graphs)
    except FileNotFoundError:
        raise GraphFileError(f"{path}: no such file: train with --fresh to make it again") from None
    except Exception as error:
        raise GraphFileError(f"{path}: damaged ({one_line(error)}): remove it, and it is made again") from error
    return graphs


def _check(graphs: QuestionGraphs) -> None:
    """Raise `ValueError` for columns that point nowhere."""
    texts = graphs.texts
    num_nodes, num_triples = len(graphs.text_of), len(graphs.heads)
    for column, least, most in (
        (graphs.heads, 0, num_nodes),
        (graphs.tails, 0, num_nodes),
        (graphs.relation_of, 0, len(texts.relations)),
        (graphs.text_of, UNNAMED, len(texts.entities)),
    ):
        if len(column) and not (least <= column.min() and column.max() < most):
            raise ValueError("a column points nowhere")
    sizes = {len(graphs.relation_of), len(graphs.tails), len(graphs.is_positive), num_triples}
    for starts, size in ((graphs.node_starts, num_nodes), (graphs.triple_starts, num_triples)):
        sizes.add(num_triples if starts[0] == 0 and starts[-1] == size and (np.diff(starts) >= 0).all() else -1)
        sizes.add(num_triples if len(starts) == len(texts.questions) + 1 == len(texts.ids) + 1 else -1)
    if len(sizes) > 1 or len(graphs.is_topic) != num_nodes or len(texts.relation_names) != len(texts.relations):
        raise ValueError("its columns do not fit together")
    for named in (texts.topics, texts.answers):
        if len(named) != len(graphs) or any(
            not 0 <= node < size
            for nodes, size in zip(named, np.diff(graphs.node_starts).tolist(), strict=True)
            for node in nodes.values()
        ):
            raise ValueError("a topic or an answer is no node of its question")
