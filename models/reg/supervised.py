"""Refined supervision: of the triples of subgraphs those on the walks of chosen chains are right (ReG, section 4.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..mined.pool import Pool, PoolChain, PooledQuestion
from .graphs import Ints, QuestionGraphs

Bools = npt.NDArray[np.bool_]

INVERSE = "^"
REFINED = "refined by"


def relabelled(graphs: QuestionGraphs, pool: Pool) -> tuple[QuestionGraphs, int]:
    """Return the subgraphs with the supervision of a pool, and how many questions keep what they had.

    Those are questions that the pool does not have, and those of whose chains the subgraph has no walk. The subgraphs
    are of the question set that the pool is of.
    """
    pooled = {question.id: question for question in pool.questions}
    place = {name: number for number, name in enumerate(graphs.texts.relation_names)}
    is_positive = graphs.is_positive.copy()
    num_kept = 0
    for number, id_ in enumerate(graphs.texts.ids):
        right = _right(graphs, number, pooled[id_], place) if id_ in pooled else np.zeros(0, dtype=np.bool_)
        if right.any():
            is_positive[graphs.triples_of(number)] = right
        else:
            num_kept += 1
    digest = hashlib.sha256(f"{graphs.sha256} {pool.sha256}".encode()).hexdigest()
    refiner = f"{REFINED} {pool.header.refiner}" if pool.header.refiner else "the pool's shortest paths"
    texts = replace(graphs.texts, options={**graphs.texts.options, "supervision": refiner})
    return replace(graphs, texts=texts, is_positive=is_positive, sha256=digest), num_kept


def _right(graphs: QuestionGraphs, number: int, question: PooledQuestion, place: Mapping[str, int]) -> Bools:
    """Return which triples of a question's subgraph are on a walk of a chosen chain."""
    span, nodes = graphs.triples_of(number), graphs.nodes_of(number)
    heads, tails = graphs.heads[span] - nodes.start, graphs.tails[span] - nodes.start
    relation_of, num_nodes = graphs.relation_of[span], nodes.stop - nodes.start
    answers = graphs.texts.answers[number]
    starts = {**answers, **graphs.texts.topics[number]}
    is_answer = np.zeros(num_nodes, dtype=np.bool_)
    is_answer[list(answers.values())] = True
    right = np.zeros(len(heads), dtype=np.bool_)
    for chain in question.supervision:
        for start in answers.values() if chain.kind == "answer" else [starts[chain.start]] * (chain.start in starts):
            steps = _steps(chain, place)
            if steps is not None:
                ends = is_answer if chain.kind == "path" else np.ones(num_nodes, dtype=np.bool_)
                right |= on_walks(heads, relation_of, tails, start, steps, ends)
    return right


def _steps(chain: PoolChain, place: Mapping[str, int]) -> list[tuple[int, bool]] | None:
    """Return the steps by the places of their relations; None where no subgraph has one of them."""
    named = [(step.removeprefix(INVERSE), step.startswith(INVERSE)) for step in chain.steps]
    if not all(relation in place for relation, _ in named):
        return None
    return [(place[relation], inverse) for relation, inverse in named]


def on_walks(
    heads: Ints, relation_of: Ints, tails: Ints, start: int, steps: Sequence[tuple[int, bool]], is_end: Bools
) -> Bools:
    """Return which triples are on a walk from a node that takes these relations and ends where it may, (num_triples,).

    steps: relation, and whether it is walked from tail to head. is_end: (num_nodes,). Answers that were merged are
    many ends again here.
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
