"""Retriever, bridge and reader together: what reaches which, what the reader points at, a training taken up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.engine.context import CallCosts
from lodestar.models.gril import KIND, GrilConfig, GrilDescription, GrowOptions, JointOptions
from lodestar.models.gril.network import GraphRetriever, GraphTokenNetwork, sample_triple_mask
from lodestar.models.gril.readers import (
    PointingReader,
    ReaderModel,
    ReaderPassage,
    choose_predicted_answers,
    compute_reading_loss,
    encode_passage,
)
from lodestar.models.gril.training import (
    EncodedSubgraphs,
    GrilCheckpoint,
    JointNetwork,
    build_passage,
    choose_reader_triples,
)
from lodestar.models.kinds import CheckpointOpenOptions, TrainingOptions
from lodestar.models.text.bert import write_backbone_description
from lodestar.models.text.vectors import TextVectors

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.gril_graphs import inputs_of
from tests.made.reg_graphs import question_graphs
from tests.made.tiny_checkpoint import DIMENSION, tiny_backbone
from tests.made.trainings import StoppedError, stop_at, train_sets

CPU = torch.device("cpu")
JOINT = JointOptions(reader="tiny", inner=12, prior_weight=0.0, max_tokens=120)


def network_of(joint: JointOptions = JOINT, **grow: object) -> JointNetwork:
    torch.manual_seed(0)
    options = GrowOptions(num_layers=2, **grow)
    reader = PointingReader(tiny_backbone(), joint.max_tokens)
    return JointNetwork(
        GraphRetriever(26, 8, options), GraphTokenNetwork(8, joint.inner, DIMENSION), reader, joint
    ).eval()


def encoded(first: int = 0, after: int = 3) -> EncodedSubgraphs:
    return EncodedSubgraphs(question_graphs(first, after), LetterEncoder().encode, CPU)


def total(network: JointNetwork, questions: list[int], numbers: list[int]) -> torch.Tensor:
    return torch.stack(list(network.losses(encoded(), questions, numbers).values())).sum()


def gradients(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad for name, p in network.named_parameters() if p.grad is not None and bool(p.grad.any())}


class TestGradients:
    """θ is the retriever, ψ the bridge, φ the reader."""

    def test_one_forward_serves_both_terms(self) -> None:
        """Against two: φ and ψ from a token that is cut off from θ, θ with φ and ψ frozen."""
        questions, numbers = [0, 1, 2], [4, 4, 4]
        network = network_of(replace(JOINT, prior_weight=0.5))
        total(network, questions, numbers).backward()
        found = gradients(network)

        first = network_of(replace(JOINT, prior_weight=0.0))
        first.retriever.requires_grad_(False)
        first.losses(encoded(), questions, numbers)["reading"].backward()
        second = network_of(replace(JOINT, prior_weight=0.5))
        second.bridge.requires_grad_(False)
        second.reader.requires_grad_(False)
        total(second, questions, numbers).backward()

        of_readers, of_retriever = gradients(first), gradients(second)
        assert {name.split(".")[0] for name in of_readers} == {"bridge", "reader"}
        assert {name.split(".")[0] for name in of_retriever} == {"retriever"}
        assert found.keys() == of_readers.keys() | of_retriever.keys()
        for name, gradient in found.items():
            torch.testing.assert_close(gradient, (of_readers | of_retriever)[name])

    def test_separate_no_token_nothing_of_the_reader_reaches_the_retriever(self) -> None:
        network = network_of(replace(JOINT, token=False, prior_weight=0.5))
        losses = network.losses(encoded(), [0, 1], [4, 4])
        assert losses.keys() == {"reading", "graph"}
        losses["reading"].backward()
        assert {name.split(".")[0] for name in gradients(network)} == {"reader"}

    def test_the_prior_is_the_mean_over_the_triples_that_are_read(self) -> None:
        network = network_of(replace(JOINT, prior_weight=0.5))
        given = network.give(encoded(), [0, 1], [1, 2])
        rows = np.concatenate(given.rows)
        assert len(rows) == 3
        likely = given.grown.path_probability[torch.from_numpy(rows)]
        torch.testing.assert_close(network.losses(encoded(), [0, 1], [1, 2])["prior"], -0.5 * likely.log().mean())


class TestBridge:
    def test_shares_by_hand(self) -> None:
        """0 → 1 (M = .8), 0 → 2 (M = .2), 3 unseen: with weights of nothing A is M over 1 + .8 + .2."""
        inputs = inputs_of([(0, 0, 1), (0, 0, 2), (3, 0, 3)], topics=[0])
        bridge = GraphTokenNetwork(3, 5, 7)
        torch.nn.init.zeros_(bridge.own.weight)
        torch.nn.init.zeros_(bridge.neighbours.weight)
        grown = GraphRetriever(4, 3, GrowOptions())(inputs)
        mask = torch.tensor([0.8, 0.2, 0.9])
        torch.testing.assert_close(bridge.shares(grown, inputs, mask), torch.tensor([0.5, 0.4, 0.1, 0.0]))
        expected = bridge.out(torch.sigmoid(bridge.inner(torch.tensor([0.5, 0.4, 0.1, 0.0]) @ grown.entities)))
        torch.testing.assert_close(bridge(grown, inputs, mask)[0], expected)

    def test_messages_are_weighted_by_the_mask(self) -> None:
        inputs = inputs_of([(0, 0, 1), (0, 0, 2)], topics=[0])
        torch.manual_seed(0)
        bridge = GraphTokenNetwork(3, 5, 7)
        torch.nn.init.zeros_(bridge.own.weight)
        grown = GraphRetriever(4, 3, GrowOptions())(inputs)
        mask = torch.tensor([0.75, 0.25])
        heard = bridge.neighbours(grown.entities).squeeze(1)
        scores = torch.stack([0.75 * heard[1] + 0.25 * heard[2], heard[0], heard[0]])
        powers = torch.tensor([1.0, 0.75, 0.25]) * scores.exp()
        torch.testing.assert_close(bridge.shares(grown, inputs, mask), powers / powers.sum())


PASSAGE = ReaderPassage(
    "what", ("Peru", "Lima", None, "Sol"), ((0, "capital", 1), (0, "of", 2), (2, "used", 3)), (1, 3)
)


class TestReading:
    def test_what_is_written(self) -> None:
        words: list[str] = ["[", "]"]

        def tokenise(text: str) -> list[int]:
            words.extend(word for word in text.split() if word not in words)
            return [words.index(word) for word in text.split()]

        def text_of(max_tokens: int) -> tuple[str, list[tuple[int, int, int]]]:
            ids, mentions = encode_passage(PASSAGE, tokenise, 0, 1, max_tokens)
            return " ".join(words[each] for each in ids), mentions

        whole = "[ what ] Peru → capital → Lima ; Peru → of → ? ; ? → used → Sol ; ]"
        assert text_of(100) == (whole, [(0, 7, 8), (1, 19, 20)])
        assert text_of(10) == ("[ what ] Peru → capital → Lima ; ]", [(0, 7, 8)])
        assert text_of(9) == ("[ what ] ]", [])

    def test_probabilities_are_of_each_question_and_a_batch_is_its_questions_alone(self) -> None:
        torch.manual_seed(0)
        reader = PointingReader(tiny_backbone(), 120).eval()
        other = ReaderPassage("which", ("Peru", "Sol", "Lima"), ((0, "in", 1), (1, "in", 2), (0, "the", 2)), (1, 2))
        tokens = torch.randn(2, DIMENSION)
        with torch.no_grad():
            both = reader([PASSAGE, other], tokens)
            alone = [reader([each], tokens[place : place + 1])[0] for place, each in enumerate((PASSAGE, other))]
            torch.testing.assert_close(both, alone)
            assert [float(each.sum()) for each in both] == pytest.approx([1, 1])
            assert not torch.allclose(both[0], reader([PASSAGE, other], -tokens)[0])
            assert not torch.allclose(both[0], reader([replace(PASSAGE, question="which"), other], tokens)[0])

    def test_the_answers_by_hand(self) -> None:
        """Of .5, .4 and .1: 1 / 2, 1.8 / 3 and 2 / 4."""
        assert choose_predicted_answers(np.array([0.1, 0.5, 0.0, 0.4], dtype=np.float32)) == [1, 3]
        assert choose_predicted_answers(np.zeros(2, dtype=np.float32)) == []

    def test_the_loss_by_hand(self) -> None:
        """Of three questions the second has no right candidate and does not count."""
        pointed = [torch.tensor([0.5, 0.3, 0.2]), torch.tensor([1.0]), torch.tensor([0.25, 0.75])]
        expected = -(torch.tensor(0.8).log() + torch.tensor(0.25).log()) / 2
        found = compute_reading_loss(pointed, [(True, True, False), (False,), (True, False)])
        torch.testing.assert_close(found, expected)
        assert compute_reading_loss(pointed, [(False,) * 3, (False,), (False,) * 2]) == 0


@pytest.fixture(scope="module")
def reader_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tiny")
    backbone = tiny_backbone()
    write_backbone_description(backbone, folder)
    backbone.model.save_pretrained(folder)
    yield str(folder)


def config(reader: str, **joint: object) -> GrilConfig:
    options = replace(JOINT, reader=reader, **joint)
    few = TrainingOptions(epochs=2, learning_rate=1e-3, head_learning_rate=0.01, patience=99)
    return GrilConfig(
        hidden=8,
        batch_size=3,
        grow=GrowOptions(num_layers=2),
        training=few,
        hop_training=few,
        joint=options,
        joint_training=few,
    )


def train(folder: Path, chosen: GrilConfig, **more: Any) -> GrilDescription:
    encode = LetterEncoder().encode
    sets = [question_graphs(0, 9)], [question_graphs(9, 15)]
    return train_sets(KIND, chosen, *sets, folder, encode=encode, **more)


class TestTraining:
    def test_it_is_taken_up_read_again_and_at_work(self, reader_folder: str, tmp_path: Path) -> None:
        whole, halted = tmp_path / "whole", tmp_path / "halted"
        description = train(whole, config(reader_folder))
        with pytest.raises(StoppedError):
            train(halted, config(reader_folder), on_step=stop_at("reader", 1, 1))
        train(halted, config(reader_folder))
        for part in ("retriever", "hops", "bridge", "reader"):
            weights = [folder / part / "model.safetensors" for folder in (whole, halted)]
            assert weights[0].read_bytes() == weights[1].read_bytes(), part
        assert 0 <= description.figures["reader"]["hits_at_1"] <= 1

        vectors = TextVectors(LetterEncoder())
        checkpoint = GrilCheckpoint(whole, CheckpointOpenOptions("cpu", torch.float32, lambda _: vectors))
        retriever, bridge, model = checkpoint.retriever._network, checkpoint.retriever._bridge, checkpoint.reader
        assert bridge is not None
        reader = model._reader
        sets = encoded(9, 12)
        joint = JointNetwork(retriever, bridge, reader, config(reader_folder).joint).eval()
        with torch.no_grad():
            figured = joint.outputs(sets, [0, 1, 2], [4, 4, 4])
            inputs = sets.grow_inputs([0, 1, 2])
            grown = retriever(inputs)
            tokens = bridge(grown, inputs, sample_triple_mask(grown, 0.5, is_sampled=False))
        given = choose_reader_triples(grown, sets, [0, 1, 2], [4, 4, 4])
        passages, candidates = zip(*(build_passage(sets, *each) for each in enumerate(given)), strict=True)
        costs = CallCosts()
        with costs.stage("read"):
            read = model.read(passages, tokens.tolist())
        assert [each.batches for each in costs.costs] == [1]
        with torch.no_grad():
            assert isinstance(reader, PointingReader)
            pointed, bare = torch.cat(reader(passages, tokens)).numpy(), torch.cat(reader(passages, None)).numpy()
        without = ReaderModel(replace(description.config.joint, token=False), reader)
        np.testing.assert_allclose(np.concatenate(without.read(passages, [()] * len(passages))), bare, 1e-4, 1e-5)
        np.testing.assert_allclose(np.concatenate(read), pointed, rtol=1e-4, atol=1e-5)
        for scores, nodes, (right, _) in zip(read, candidates, figured, strict=True):
            assert right == sets.graphs.is_answer[nodes[choose_predicted_answers(scores)]].tolist() != []
        assert model.read([], []) == []
