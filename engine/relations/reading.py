"""Say how a question was read: the kind of thing it wants, what its best path leads to, and the phrase that fits it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...models.text.vectors import TextVectors
from ...models.text.verbalise import RelationWords, hop_phrases, reached_kind, verbalise_hop
from ...models.wording.kinds import UNKNOWN, agreement, wanted
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..evidence.text import relation_words
from ..retrieval.scoring import hops_of, masked_question


def reading_of(evidence: Evidence[Item], words: Mapping[str, RelationWords], vectors: TextVectors) -> str:
    """Return one line, "wants a date: hired_on leads to dates; read as “when did … join”"; empty where nothing is
    told."""
    chains = [item.value for item in evidence.items if isinstance(item.value, Chain)]
    if not chains or not all(step.step.relation in words for step in chains[0].steps):
        return ""
    chain = chains[0]
    topic = next((each for each in evidence.topics if each.entity == chain.topic), None)
    asked_for = masked_question(evidence.question.text, topic) if topic else evidence.question.text
    asked = wanted(asked_for)
    hops = hops_of(chain.relation_path, words)
    last = chain.steps[-1].step
    name = ("^" if last.inverse else "") + (relation_words(last.relation) if "://" in last.relation else last.relation)
    end = reached_kind(hops[-1])
    parts = []
    if asked.kinds and end.kind != UNKNOWN:
        but = "" if agreement(asked, end) >= 0 else ", which is another kind"
        parts.append(f"wants {asked.said}: {name} leads to {end}{but}")
    elif asked.kinds:
        parts.append(f"wants {asked.said}: of what {name} leads to no kind is known")
    texts = (verbalise_hop(hops[-1]), *hop_phrases(hops[-1]))
    best = int(np.argmax(vectors.stacked(texts, lasting=True) @ vectors.sentence(asked_for)))
    if best:
        parts.append(f"{name} read as “{texts[best]}”")
    return "; ".join(parts)
