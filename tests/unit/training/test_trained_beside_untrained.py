"""Each trained scorer against similarity, on a made graph of 3,840 triples whose questions have words of their own.

Measured is how often the first triple or path of a question about an entity never seen in training is a right one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.engine.retrieval.dual_encoder import StarScorer
from lodestar.engine.retrieval.scoring import PathQuery
from lodestar.engine.values import Entity, RelationPath, RelationStep, Topic
from lodestar.models.gril.kind import KIND as GRIL
from lodestar.models.gril.kind import GrilConfig, GrowOptions
from lodestar.models.gril.objective import EncodedSubgraphs, score_triples
from lodestar.models.gril.training import read_graph_retriever
from lodestar.models.reg_entity.kind import KIND as REG_ENTITY
from lodestar.models.reg_entity.kind import EntityConfig
from lodestar.models.reg_entity.network import read_entity_scorer, triple_logits
from lodestar.models.reg_triple.kind import KIND as REG_TRIPLE
from lodestar.models.reg_triple.kind import TripleConfig
from lodestar.models.reg_triple.network import EncodedGraphs, read_triple_scorer
from lodestar.models.star.config import KIND as STAR
from lodestar.models.star.config import DualOptions, StarConfig
from lodestar.models.star.networks import StarModel, read_checkpoint
from lodestar.models.text.verbalise import RelationWords
from lodestar.models.training.kind import AnyKind, TrainingOptions

from tests.fakes.word_encoder import WordEncoder
from tests.made.asked_world import ASKED, ENTITIES, FAR, NAMES, PATHS, ask, mine, subgraphs_of
from tests.made.mined_examples import tiny_encoder
from tests.made.trainings import train_sets

pytestmark = pytest.mark.long
CPU = torch.device("cpu")
LEARN, CHOOSE, TEST = ask(0, 200), ask(200, 230), ask(230, 290)
GRAPHS = subgraphs_of(TEST)
WORDS = {name: RelationWords("", (name,)) for name in NAMES}
MARGIN, LEAST = 0.5, 0.8
"""A trained scorer is right first in so many more of 100 questions than similarity is, and in so many at least."""


def options(epochs: int, rate: float) -> TrainingOptions:
    return TrainingOptions(epochs=epochs, learning_rate=rate, head_learning_rate=rate, weight_decay=0.0, patience=99)


def right_first(scored: Iterable[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the share of questions whose best score, the first of equal ones, is of what is right."""
    return float(np.mean([right[scores.argmax()] for scores, right in scored]))


def similarity_of_triples() -> float:
    encode = WordEncoder().encode
    cosines = encode([asked.masked for asked in TEST]) @ encode(NAMES).T
    spans = map(GRAPHS.triples_of, range(len(TEST)))
    return right_first(
        (of[GRAPHS.relation_of[span]], GRAPHS.is_positive[span]) for of, span in zip(cosines, spans, strict=True)
    )


def similarity_of_paths() -> float:
    encode = WordEncoder().encode
    paths = encode([" ".join(NAMES[step] for step in path) for path in PATHS])
    cosines = encode([asked.masked for asked in TEST]) @ paths.T
    return right_first(
        (of, np.array([path == asked.path for path in PATHS])) for of, asked in zip(cosines, TEST, strict=True)
    )


def check(trained: float, similarity: float) -> None:
    print(f"right first of {len(TEST)} questions: trained {trained:.3f}, similarity {similarity:.3f}")
    assert trained >= max(similarity + MARGIN, LEAST)


def check_on_subgraphs(
    kind: AnyKind, config: Any, folder: Path, read: Callable[[Path], Callable[[Any], torch.Tensor]]
) -> None:
    """Train on subgraphs, and compare with similarity. read: return what gives the logits of triples."""
    encode = WordEncoder().encode
    train_sets(kind, config, [subgraphs_of(LEARN)], [subgraphs_of(CHOOSE)], folder, encode=encode)
    score = read(folder)
    encoded = EncodedGraphs(GRAPHS, encode, config.num_rounds, CPU)
    with torch.no_grad():
        found = [(score(inputs).numpy(), GRAPHS.is_positive[rows]) for rows, inputs in encoded.iterate_rows()]
    check(right_first(found), similarity_of_triples())


def test_reg_triple(tmp_path: Path) -> None:
    config = TripleConfig(hidden=256, training=options(30, 2e-3))
    check_on_subgraphs(REG_TRIPLE, config, tmp_path, lambda folder: read_triple_scorer(folder)[1])


def test_reg_entity(tmp_path: Path) -> None:
    def read(folder: Path) -> Callable[[Any], torch.Tensor]:
        _, network = read_entity_scorer(folder)
        return lambda inputs: triple_logits(network(inputs), inputs)

    check_on_subgraphs(REG_ENTITY, EntityConfig(hidden=48, training=options(12, 5e-3)), tmp_path, read)


def test_gril_and_its_hops(tmp_path: Path) -> None:
    config = GrilConfig(
        hidden=48, grow=GrowOptions(num_layers=2), training=options(12, 5e-3), hop_training=options(12, 1e-2)
    )
    encode = WordEncoder().encode
    sets = [subgraphs_of(LEARN)], [subgraphs_of(CHOOSE)]
    hops = train_sets(GRIL, config, *sets, tmp_path, encode=encode, beside=()).figures["hops"]
    assert hops["accuracy"] >= 0.95 > hops["majority"] + 0.3
    _, network = read_graph_retriever(tmp_path)
    check(right_first(score_triples(network, [EncodedSubgraphs(GRAPHS, encode, CPU)])), similarity_of_triples())


def test_star(tmp_path: Path) -> None:
    encoder = tiny_encoder(tmp_path / "encoder", [*NAMES, *ASKED, *FAR, "which", "after", "the", "has"])
    config = StarConfig(
        scorer="similarity", encoder=str(encoder), dual=DualOptions(batch_size=16), dual_training=options(12, 3e-3)
    )
    train_sets(STAR, config, [mine(LEARN)], [mine(CHOOSE)], tmp_path / "star")
    scorer = StarScorer(WORDS, StarModel(read_checkpoint(tmp_path / "star")))
    paths = tuple(RelationPath(tuple(RelationStep(NAMES[step]) for step in path)) for path in PATHS)
    found = []
    for asked in TEST:
        name = ENTITIES[asked.topic]
        topic = Topic(Entity(str(asked.topic), name), mention=name, matched_name=name)
        (scores,) = scorer.score([PathQuery(asked.text, (topic,) * len(paths), paths, (0.0,) * len(paths))])
        found.append((scores.stop, np.array([path == asked.path for path in PATHS])))
    check(right_first(found), similarity_of_paths())
