"""GRIL's complexity assessment after any retriever: five triples for each hop that the question seems to take."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from lodestar.engine.context import Context
from lodestar.engine.data_model import Entity, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Evidence
from lodestar.engine.reorganising.filtering import AdaptiveK, count_items_within_triple_limit
from lodestar.models.gril.network import HopModel, HopPredictor
from lodestar.models.text.vectors import TextVectors

from tests.fakes.call_context import make_context
from tests.fakes.letter_encoder import LetterEncoder
from tests.made.evidence import evidence_of, leads, ranked

PERU = Entity("m.peru", "Peru")


def triples(question: str, number: int) -> Evidence[Triple]:
    items = [
        Scored(Triple(PERU, f"r{place}", Entity(f"m.{place}", None)), 1.0 - place / 100) for place in range(number)
    ]
    return Evidence(Question(question), (Topic(PERU),), "triple", tuple(items))


def context(stage: AdaptiveK) -> Context:
    """As many hops as the letter z stands in the question, and one."""
    network = HopPredictor(26, 4, 4)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.inner.weight[0, 25] = 1.0
        network.out.weight[1, 0] = 1.0
        network.out.bias.copy_(torch.tensor([0.5, 0.0, -1.0, -1.0]))
    return make_context(opened={stage: HopModel(network, TextVectors(LetterEncoder()))})


def kept(evidence: Sequence[Evidence[Triple]], per_hop: int = 5) -> list[int]:
    stage = AdaptiveK(per_hop=per_hop)
    return [len(each.items) for each in stage(context(stage), evidence)]


def test_five_triples_for_each_hop_and_never_more_than_there_are() -> None:
    assert kept([triples("where", 30), triples("zzz", 30), triples("zzz", 7), triples("zzz", 0)]) == [5, 10, 7, 0]
    assert kept([triples("where", 30), triples("zzz", 30)], per_hop=2) == [2, 4]
    assert kept([]) == []


def test_the_best_stay_in_their_order() -> None:
    ctx = context(AdaptiveK())
    (found,) = AdaptiveK()(ctx, [triples("where", 30)])
    assert [item.value for item in found.items] == [item.value for item in triples("where", 5).items]


def test_chains_count_their_triples_and_one_always_stays() -> None:
    ends = [Entity(f"m.{place}", f"End {place}") for place in range(4)]
    chains = evidence_of(*ranked(*(leads(f"r{place}", *ends, topic=PERU) for place in range(3))))
    assert [count_items_within_triple_limit(chains, num) for num in (1, 4, 7, 8, 11, 12)] == [1, 1, 1, 2, 2, 3]
