"""A training of each kind of model that takes a second: its options and its sets, over one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lodestar.models.gril import GrilConfig, GrowOptions, JointOptions
from lodestar.models.kinds import LoraOptions, ModelKind, TrainingOptions, load_kind
from lodestar.models.mined import MinedFile
from lodestar.models.reader.fitting import ReaderConfig, ReaderTrainingSet
from lodestar.models.reg import EntityConfig, PathConfig, TripleConfig
from lodestar.models.star import StarConfig
from lodestar.models.subgraphs import QuestionGraphs

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.mined_examples import MINING, questions, tiny_encoder
from tests.made.reg_graphs import question_graphs
from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.trainings import train_sets
from tests.unit.reader import test_reader as made_readings
from tests.unit.reg import test_reg_paths as made_pools

Configure = Callable[[TrainingOptions, Path], Any]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one kind is trained with. config: of the options of its trainings and a folder for what it starts from."""

    kind: ModelKind
    config: Configure
    train: list[Any]
    dev: list[Any]
    beside: Any = None


def _star(options: TrainingOptions, folder: Path) -> StarConfig:
    return StarConfig(
        encoder=str(tiny_encoder(folder / "encoder")), mix=0.5, dual_training=options, cross_training=options
    )


def _gril(options: TrainingOptions, folder: Path) -> GrilConfig:
    return GrilConfig(
        hidden=8,
        batch_size=4,
        grow=GrowOptions(num_layers=2),
        training=options,
        hop_training=options,
        joint=JointOptions(reader=str(tiny_encoder(folder / "reader")), inner=12, max_tokens=120),
        joint_training=options,
    )


def _paths(options: TrainingOptions, folder: Path) -> PathConfig:
    folder.mkdir(parents=True, exist_ok=True)
    return PathConfig(str(write_tiny_causal_lm(folder, num_layers=1)), LoraOptions(rank=2), 3, training=options)


CONFIGS: Mapping[str, Configure] = {
    "star": _star,
    "reg-triple": lambda options, _: TripleConfig(hidden=8, batch_size=4, training=options),
    "reg-entity": lambda options, _: EntityConfig(hidden=8, batch_size=4, training=options),
    "reg-path": _paths,
    "gril": _gril,
    "reader": lambda _options, _: ReaderConfig(),
}


def lesson(name: str, graph: str = "2" * 64) -> Lesson:
    """Return what a kind is trained with. graph: the vocabulary that the sets are of."""
    kind = load_kind(name)
    match kind.learns_from:
        case "paths":
            mining = replace(MINING, graph=graph)
            sets = [MinedFile(mining, tuple(questions(*span)), str(span[0]) * 64) for span in ((0, 3), (3, 5))]
            return Lesson(kind, CONFIGS[name], sets[:1], sets[1:])
        case "subgraphs":
            graphs = [_with_graph(question_graphs(*span), graph) for span in ((0, 9), (9, 12))]
            return Lesson(kind, CONFIGS[name], graphs[:1], graphs[1:], ())
        case "pools":
            pools = [
                replace(each, header=replace(each.header, graph=graph))
                for each in (made_pools.pool(0, 6), made_pools.pool(6, 9))
            ]
            return Lesson(kind, CONFIGS[name], pools[:1], pools[1:], made_pools.VOCABULARY)
        case "readings":
            read = [replace(each, graph=graph) for each in (_readings("train", 12), _readings("dev", 4))]
            return Lesson(kind, CONFIGS[name], read[:1], read[1:])


def teach(lesson: Lesson, folder: Path, options: TrainingOptions, **more: Any) -> Any:
    """Train in a folder on the processor; return the description of the checkpoint."""
    config = lesson.config(options, folder.with_name(f"{folder.name}-starts-from"))
    encode = LetterEncoder().encode
    return train_sets(
        lesson.kind, config, lesson.train, lesson.dev, folder, encode=encode, beside=lesson.beside, **more
    )


def _with_graph(graphs: QuestionGraphs, graph: str) -> QuestionGraphs:
    return replace(graphs, texts=replace(graphs.texts, graph=graph))


def _readings(name: str, number: int) -> ReaderTrainingSet:
    evidence = [made_readings.one_hop(), made_readings.two_hops()] * (number // 2)
    found = made_readings.readings(evidence, [made_readings.BY, made_readings.OTHER] * (number // 2))
    return replace(found, name=name, topics=tuple(frozenset({f"{name} {each}"}) for each in range(number)))
