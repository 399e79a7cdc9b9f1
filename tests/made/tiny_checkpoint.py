"""A STAR checkpoint of random weights, small enough to write and read in a moment, and without any download."""

from __future__ import annotations

import string
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from lodestar.models.kinds import CheckpointOpenOptions, TrainingDataRecord, write_checkpoint
from lodestar.models.star import SPECIAL_TOKENS, PoolTrainingOptions, StarConfig, StarDescription
from lodestar.models.star.network import CrossAttentiveScorer, DualEncoder, StarModel, open_model, write_network
from lodestar.models.text.bert import Backbone
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from transformers import BertConfig, BertModel, BertTokenizer

GRAPH = "0" * 64
DIMENSION = 32
WORDS = ("what", "which", "is", "the", "of", "in", "country", "capital", "currency", "used", "peru", "lima", "official")
PIECES = ("##ing", "##ed")
LETTERS = string.ascii_lowercase + string.digits + "?,.'-"


def tiny_backbone(seed: int = 0, words: Sequence[str] = WORDS) -> Backbone:
    """Return a BERT of one layer with random weights. Its tokenizer lower-cases, knows `words`, and spells all others."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *PIECES]
    vocabulary += [*LETTERS, *(f"##{letter}" for letter in LETTERS)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.txt"
        file.write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
        tokenizer = BertTokenizer(str(file))
    tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL_TOKENS)})
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=DIMENSION,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=2 * DIMENSION,
        max_position_embeddings=256,
        initializer_range=0.5,
    )
    model = BertModel(config).eval()
    return Backbone("tiny", model, tokenizer)


def write_tiny_checkpoint(
    folder: Path,
    *,
    graph: str = GRAPH,
    mix: float = 0.5,
    calibration: tuple[float, float] = (1.0, 0.0),
    any_graph: bool = False,
) -> Path:
    """Write a checkpoint of random weights and return its folder; `graph` is the graph's `RelationCatalogue.vocabulary`."""
    dual = tiny_backbone(seed=0)
    torch.manual_seed(1)
    networks = {"dual": partial(write_network, dual, DualEncoder(dual))}
    if mix:
        cross = tiny_backbone(seed=2)
        torch.manual_seed(3)
        networks["cross"] = partial(write_network, cross, CrossAttentiveScorer(cross))
    trained = TrainingDataRecord("tiny questions", "1" * 64, graph, num_questions=3, max_hop=2)
    description = StarDescription(
        mix=mix,
        calibration=calibration,
        config=StarConfig(mix=mix, encoder="tiny", cross=PoolTrainingOptions(shortlist=20)),
        train=(trained,),
        dev=(),
        figures={},
        any_graph=any_graph,
    )
    write_checkpoint(folder, description, networks, "# A tiny checkpoint\n")
    return folder


def open_checkpoint(folder: Path) -> StarModel:
    return open_model(
        folder, CheckpointOpenOptions("cpu", torch.float32, lambda _: TextVectors(SentenceEncoder("tiny")))
    )
