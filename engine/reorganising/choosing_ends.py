"""Keep those ends of a chain whose triples a trained scorer scores near the best (our own).

A relation path says what is asked of an entity, and leads to all that have it: the film's actors, the country's
languages. What sets the right ones apart stands elsewhere in the question. A scorer of triples has read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..evidence.calibration import Calibration
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind
from ..retrieval.subgraph.batch import EntityTable, Subgraph, SubgraphBatch
from ..retrieval.triples import SubgraphScorer
from ..steps import Steps, attribute_costs
from ..values import Entity, LinkedQuestion, Scored, Triple


class EndSelector:
    """A `Reorganiser`: each of the best `chains` chains leads to the ends that are within `log_odds` of the best.

    An end is worth the best logit among the triples of the chain's last step that lead to it, scored within the
    question's subgraph, to which the chains' triples are added where it lacks them. The chosen ends are the chain's
    `targets`, best first; where it meets another chain they are chosen among those.
    """

    takes: Kind = "chain"
    gives: Kind = "chain"

    def __init__(self, scorer: SubgraphScorer, *, log_odds: float, chains: int) -> None:
        self._scorer = scorer
        self._margin = Calibration("logit", *scorer.model.description.calibration).from_log_odds(log_odds)
        self._chains = chains
        self._numbers = {name: number for number, name in scorer.names.items()}

    def reorganise(self, evidence: Sequence[Evidence[Chain]]) -> Steps[list[Evidence[Chain]]]:
        """Return the evidence, in its order, with the ends that were chosen."""
        encoding_s = self._scorer.encoding_s
        questions = [LinkedQuestion(each.question, each.topics) for each in evidence]
        batch = yield from self._scorer.extract(questions)
        entities = {batch.table[place]: place for place in range(len(batch.table.ids))}
        first = [[item.value for item in each.items[: self._chains]] for each in evidence]
        joined = [
            _with_chains(subgraph, chains, self._numbers, entities)
            for subgraph, chains in zip(batch, first, strict=True)
        ]
        table = _table(entities)
        whole = SubgraphBatch.of(table, [replace(subgraph, table=table) for subgraph, _ in joined])
        scores = self._scorer.score(questions, whole)
        yield from attribute_costs("encode", self._scorer.encoding_s - encoding_s)
        chosen = []
        for each, (_, rows), start in zip(evidence, joined, whole.triple_starts.tolist(), strict=False):
            known = {triple: float(scores[start + row]) for triple, row in rows.items()}
            narrowed = [
                Scored(_narrowed(item.value, known, self._margin), item.score) for item in each.items[: self._chains]
            ]
            chosen.append(replace(each, items=(*narrowed, *each.items[self._chains :])))
        return chosen


def _narrowed(chain: Chain, known: Mapping[Triple, float], margin: float) -> Chain:
    worth: dict[Entity, float] = {}
    last = chain.steps[-1]
    for link in last.links:
        if (score := known.get(last.triple(link))) is not None:
            worth[link[1]] = max(worth.get(link[1], score), score)
    least = max((worth[end] for end in chain.answers if end in worth), default=0.0) - margin
    kept = [end for end in chain.answers if worth.get(end, least) >= least]
    kept.sort(key=lambda end: (-worth.get(end, least), end.id))
    return replace(chain, targets=tuple(kept), ranked=True)


def _with_chains(
    subgraph: Subgraph, chains: Sequence[Chain], numbers: Mapping[str, int], entities: dict[Entity, int]
) -> tuple[Subgraph, dict[Triple, int]]:
    """Return the subgraph with the triples of the chains, and the row of each of these.

    numbers: of relations, by name. entities: the table of the batch, by entity, to which new ones are added.
    """
    nodes = subgraph.entities.tolist()
    node_of = {place: node for node, place in enumerate(nodes)}
    columns = zip(subgraph.heads.tolist(), subgraph.relations.tolist(), subgraph.tails.tolist(), strict=True)
    rows = {key: row for row, key in enumerate(columns)}

    def node(entity: Entity) -> int:
        place = entities.setdefault(entity, len(entities))
        if place not in node_of:
            node_of[place] = len(nodes)
            nodes.append(place)
        return node_of[place]

    found: dict[Triple, int] = {}
    for step in (step for chain in chains for step in chain.steps if step.step.relation in numbers):
        for triple in map(step.triple, step.links):
            key = (node(triple.head), numbers[triple.relation], node(triple.tail))
            found[triple] = rows.setdefault(key, len(rows))
    heads, relations, tails = np.array(list(rows), dtype=np.int64).reshape(-1, 3).T
    num_new = len(nodes) - subgraph.num_nodes
    return (
        replace(
            subgraph,
            heads=heads,
            relations=relations,
            tails=tails,
            entities=np.array(nodes, dtype=np.int64),
            is_topic=np.pad(subgraph.is_topic, (0, num_new)),
            hops=np.pad(subgraph.hops, (0, num_new)),
            left_out=np.pad(subgraph.left_out, ((0, num_new), (0, 0))),
        ),
        found,
    )


def _table(entities: Iterable[Entity]) -> EntityTable:
    known = list(entities)
    return EntityTable(
        tuple(entity.id for entity in known),
        tuple(entity.name for entity in known),
        np.array([entity.is_literal for entity in known], dtype=np.bool_),
    )
