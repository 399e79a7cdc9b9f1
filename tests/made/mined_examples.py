"""A small mined file, made by hand: questions about countries over a graph of four relations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lodestar.models.mined_files import (
    AnswerPath,
    Hops,
    MinedFile,
    MinedFileOrigin,
    MinedQuestion,
    MinedTopic,
    NegativePath,
    PathTrie,
    write_mined_file,
)
from lodestar.models.star.training import ExampleSet, QuestionExample, make_examples
from lodestar.models.text.bert import write_backbone_description

from tests.made.tiny_checkpoint import GRAPH, WORDS, tiny_backbone

COUNTRIES = ("Peru", "Chile", "France", "Japan", "Kenya", "Norway", "India", "Ghana", "Spain", "Cuba", "Iran", "Mali")
ASKED = {"capital": "What is the capital of {}?", "currency_used": "Which currency is used in {}?"}
REACH: PathTrie = {
    "capital": {"^capital": {}, "borders": {}},
    "currency_used": {"^currency_used": {}},
    "borders": {"capital": {}, "borders": {}},
    "treaty → ^signed": {},
}
MINING = MinedFileOrigin(
    questions="countries",
    questions_sha256="1" * 64,
    graph=GRAPH,
    encoder="tiny",
    max_hop=2,
    relations={
        "capital": ("country", "capital"),
        "currency_used": ("country", "currency used"),
        "borders": ("country", "borders"),
        "treaty": ("country", "treaty"),
        "signed": ("treaty", "signed by"),
    },
)


def question(country: str, asks: str) -> MinedQuestion:
    wrong: list[tuple[Hops, str]] = [
        (("borders",), "random"),
        ((asks, f"^{asks}"), "overrun"),
        (("treaty",), "similar"),
    ]
    return MinedQuestion(
        id=f"{asks}-{country}",
        text=ASKED[asks].format(country),
        topics=(MinedTopic(f"id-{country}", country),),
        paths=(
            AnswerPath(0, (asks,), 1.0, 1.0, 0.9, shortest=True, positive=True),
            AnswerPath(0, ("borders", "borders"), 0.25, 0.5, 0.1, shortest=False, positive=False),
        ),
        negatives=tuple(NegativePath(0, hops, kind) for hops, kind in wrong),
        reach=(REACH,),
    )


def questions(first: int = 0, last: int = len(COUNTRIES)) -> list[MinedQuestion]:
    return [question(country, asks) for country in COUNTRIES[first:last] for asks in ASKED]


def mined_file(path: Path, first: int = 0, last: int = len(COUNTRIES)) -> Path:
    """Write the questions about some of the countries, two about each."""
    write_mined_file(path, MINING, questions(first, last))
    return path


def example_set(first: int = 0, last: int = len(COUNTRIES)) -> ExampleSet:
    return make_examples([MinedFile(MINING, tuple(questions(first, last)), "3" * 64)])


def example() -> QuestionExample:
    """What is the capital of Peru? Nine paths are reachable, in the order of `REACH`; rows 0 and 7 lead to an answer."""
    return example_set(0, 1).examples[0]


def tiny_encoder(folder: Path, words: Sequence[str] = WORDS) -> Path:
    """Write an encoder that a training can begin with, without dropout, and return its folder."""
    backbone = tiny_backbone(words=words)
    without_dropout(backbone.model)
    write_backbone_description(backbone, folder)
    backbone.model.save_pretrained(folder)
    return folder


def without_dropout(model: object) -> None:
    config = model.config
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
