"""ReG@Triple learned from small subgraphs: better than chance, the same when taken up, read again, and at work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.models.reg_entity.config import EntityConfig
from lodestar.models.reg_entity.network import EntityModel, EntityScorer
from lodestar.models.reg_entity.training import EntityObjective
from lodestar.models.reg_triple.config import SubgraphOptions, TripleConfig, TripleDescription
from lodestar.models.reg_triple.kind import KIND
from lodestar.models.reg_triple.network import EncodedGraphs, TripleColumns, TripleModel, TripleScorer
from lodestar.models.reg_triple.training import (
    TripleObjective,
    calibration_pairs,
    compute_answer_recall,
    figures_of,
    read_triple_scorer,
    triple_figures,
)
from lodestar.models.subgraphs import UNNAMED, GraphFileError, QuestionGraphs, encoding_width, read_graphs, write_graphs
from lodestar.models.text.encoders import FloatArray
from lodestar.models.text.vectors import TextVectors, VectorStore
from lodestar.models.training.checkpoint import TrainingStateError
from lodestar.models.training.kind import BadCheckpointError, NothingToLearnError, TrainingOptions
from lodestar.models.training.trainer import TrainingCallbacks

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.reg_graphs import RELATIONS, question_graphs
from tests.made.trainings import Encoding, inputs_of, train_sets

CONFIG = TripleConfig(
    hidden=32,
    batch_size=4,
    training=TrainingOptions(epochs=30, head_learning_rate=0.02, weight_decay=0.0, patience=99),
)


def train(folder: Path, config: TripleConfig = CONFIG, watcher: TrainingCallbacks | None = None) -> TripleDescription:
    encode = LetterEncoder().encode
    return train_sets(
        KIND, config, [question_graphs(0, 18)], [question_graphs(18, 30)], folder, encode=encode, watcher=watcher
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


def columns_of(graphs: QuestionGraphs) -> TripleColumns:
    texts = graphs.texts
    return TripleColumns(
        texts.questions,
        texts.relations,
        [None if place < 0 else texts.entities[place] for place in graphs.text_of.tolist()],
        graphs.is_topic,
        graphs.heads,
        graphs.relation_of,
        graphs.tails,
        np.repeat(np.arange(len(graphs)), np.diff(graphs.triple_starts)),
    )


@pytest.mark.parametrize("model", [TripleModel, EntityModel])
def test_of_no_triples_there_is_no_score(model: type[TripleModel] | type[EntityModel]) -> None:
    graphs = question_graphs(0, 0)
    network: Any = SimpleNamespace(unnamed=torch.zeros(2))
    nothing: Any = None
    scores = model(nothing, network, nothing).score(columns_of(graphs))
    assert scores.shape == (0,)
    assert scores.dtype == np.float32


def test_graphs_whose_entities_all_lack_a_name_are_encoded() -> None:
    graphs = question_graphs(0, 1)
    texts = replace(graphs.texts, entities=())
    nameless = replace(graphs, texts=texts, text_of=np.full(5, UNNAMED))
    inputs = EncodedGraphs(nameless, LetterEncoder().encode, 2, torch.device("cpu")).inputs([0], [np.arange(4)])
    assert inputs.is_named.tolist() == [False] * 5
    assert inputs.entities.shape == (5, 26)
    assert not inputs.entities.any()


def test_phrases_are_an_option_where_there_are_any() -> None:
    """Checkpoints of earlier versions say nothing of them."""
    assert "phrases" not in SubgraphOptions().as_json()
    assert SubgraphOptions(phrases=2).as_json()["phrases"] == 2


def test_the_right_triple_of_new_questions_comes_first(trained: Path) -> None:
    description, network = read_triple_scorer(trained)
    graphs = question_graphs(30, 42)
    model = TripleModel(description, network, TextVectors(LetterEncoder()))
    scores = model.score(columns_of(graphs))
    best = scores.reshape(-1, 4).argmax(axis=1)
    assert [RELATIONS[place] for place in best] == [RELATIONS[number % 3] for number in range(30, 42)]
    assert description.calibration[0] > 0
    assert scores[graphs.is_positive].mean() > scores[~graphs.is_positive].mean()


def test_all_right_triples_and_a_few_wrong_ones_are_learned_from() -> None:
    """Of three wrong triples one, another one in other epochs: its logit is that of the whole question's triples."""
    graphs = [EncodedGraphs(question_graphs(0, 2), LetterEncoder().encode, 2, torch.device("cpu"))]
    torch.manual_seed(0)
    network = TripleScorer(graphs[0].dimension, encoding_width(2), 8).eval()
    objective = TripleObjective(network, graphs, graphs, replace(CONFIG, num_negatives=1))
    _, _, every = next(objective.iterate_scores())
    drawn = []
    for epoch in range(20):
        objective.begin(epoch)
        logits, right = objective.logits_and_labels(network, graphs[0], 0, [0, 1])
        assert right.tolist() == [1, 0, 1, 0]
        assert logits[0].item() == pytest.approx(every[0], abs=1e-5)
        drawn.append(int(np.abs(every - logits[1].item()).argmin()))
    assert set(drawn) == {1, 2, 3}


def test_no_wrong_triple_or_entity_is_drawn_twice() -> None:
    """Two of three wrong ones of each question: their logits differ."""
    graphs = [EncodedGraphs(question_graphs(0, 2), LetterEncoder().encode, 2, torch.device("cpu"))]
    torch.manual_seed(0)
    triples = TripleScorer(graphs[0].dimension, encoding_width(2), 8).eval()
    entities = EntityScorer(graphs[0].dimension, 10, 8, 1, (0, 3, 1, 1)).eval()
    for objective, num_right in (
        (TripleObjective(triples, graphs, graphs, replace(CONFIG, num_negatives=2)), 1),
        (EntityObjective(entities, graphs, graphs, EntityConfig(num_negatives=2)), 2),
    ):
        for epoch in range(20):
            objective.begin(epoch)
            logits, right = objective.logits_and_labels(objective.network, graphs[0], 0, [0])
            assert right.tolist() == [1] * num_right + [0, 0]
            assert len(set(logits[num_right:].tolist())) == 2


def test_what_chose_the_right_triples_is_part_of_what_a_training_is() -> None:
    given = question_graphs(0, 3)
    judged = replace(given, texts=replace(given.texts, options={"supervision": "a judge"}))
    training = KIND.train(CONFIG, inputs_of([given, judged], [given], Encoding(LetterEncoder().encode)))
    assert training.identity == {"supervision": "weak, a judge"}
    assert not CONFIG.open_domain


def test_rounds_are_held_to_their_range() -> None:
    assert [replace(CONFIG, num_rounds=number).num_rounds for number in (0, 8)] == [0, 8]
    with pytest.raises(ValueError, match="expected 0 to 8 for num_rounds, found 9"):
        replace(CONFIG, num_rounds=9)


def test_a_batch_is_of_questions_of_any_sets_and_its_loss_is_of_all_their_triples() -> None:
    """Of three questions in two sets: together, and one at a time, where a batch has none of the other set."""
    sets = [
        EncodedGraphs(question_graphs(*span), LetterEncoder().encode, 2, torch.device("cpu"))
        for span in ((0, 2), (2, 3))
    ]
    torch.manual_seed(0)
    network = TripleScorer(sets[0].dimension, encoding_width(2), 8).eval()
    every = TripleObjective(network, sets, sets, CONFIG)
    losses = []
    for graphs, question, logits in every.iterate_scores():
        right = graphs.is_positive[graphs.triples_of(question)]
        losses.append(float(np.logaddexp(0, np.where(right, -logits, logits)).mean()))
    one = TripleObjective(network, sets, sets, replace(CONFIG, batch_size=1))
    scorer = EntityScorer(sets[0].dimension, 10, 8, 1, (0, 3, 1, 1)).eval()
    entities = EntityObjective(scorer, sets, sets, EntityConfig(batch_size=1))
    with torch.no_grad():
        assert every.loss(network, 0, (0, 1)).item() == pytest.approx(np.mean(losses), rel=1e-4)
        alone = [one.loss(network, step, (0, 1)).item() for step in range(3)]
        assert len({round(entities.loss(scorer, step, (0, 1)).item(), 6) for step in range(3)}) == 3
    assert sorted(alone) == pytest.approx(sorted(losses), rel=1e-4)


def test_scores_are_those_of_the_network_and_kept_projections_change_nothing(trained: Path) -> None:
    description, network = read_triple_scorer(trained)
    graphs = question_graphs(30, 36)
    encoder = LetterEncoder()
    encoded = EncodedGraphs(graphs, encoder.encode, description.num_rounds, torch.device("cpu"))
    with torch.no_grad():
        expected = np.concatenate([network(inputs).numpy() for _, inputs in encoded.iterate_rows()])
    model = TripleModel(description, network, TextVectors(encoder))
    for _ in range(2):
        np.testing.assert_allclose(model.score(columns_of(graphs)), expected, rtol=1e-5, atol=1e-5)


def test_names_and_relations_are_projected_once(trained: Path) -> None:
    description, network = read_triple_scorer(trained)
    projected: dict[str, int] = {}
    for name in ("of_head", "of_tail", "of_relation", "of_question"):

        def count(_layer: object, given: tuple[torch.Tensor], _found: object, name: str = name) -> None:
            projected[name] = projected.get(name, 0) + (len(given[0]) if given[0].ndim == 2 else 0)

        getattr(network, name).register_forward_hook(count)
    columns = columns_of(question_graphs(30, 33))
    model = TripleModel(description, network, TextVectors(LetterEncoder()))
    for _ in range(2):
        model.score(replace(columns, relations=(*columns.relations, columns.relations[0])))
    assert projected == {"of_head": 12, "of_tail": 12, "of_relation": 3, "of_question": 6}


def test_another_run_encodes_the_questions_alone(trained: Path, tmp_path: Path) -> None:
    """Names and relations are kept on disk, and no question is."""

    class CountingEncoder(LetterEncoder):
        @cached_property
        def dimension(self) -> int:
            return 26

        def encode(self, texts: Sequence[str]) -> FloatArray:
            given.append(list(texts))
            return super().encode(texts)

    graphs = question_graphs(30, 33)
    for first in (True, False):
        given: list[list[str]] = []
        store = VectorStore(tmp_path / "vectors.sqlite")
        TripleModel(*read_triple_scorer(trained), TextVectors(CountingEncoder(), store=store)).score(columns_of(graphs))
        store.close()
        asked = [*graphs.texts.questions, *((*graphs.texts.relations, *graphs.texts.entities) if first else ())]
        assert sorted(text for texts in given for text in texts) == sorted(asked)


def test_a_training_that_was_stopped_comes_to_the_same(trained: Path, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(_name: str, epoch: int, done: int, _total: int, _loss: float) -> None:
        if (epoch, done) == (3, 2):
            raise StoppedError

    with pytest.raises(StoppedError):
        train(tmp_path, watcher=TrainingCallbacks(step=stop))
    train(tmp_path)
    weights = [folder / "mlp" / "model.safetensors" for folder in (tmp_path, trained)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_another_training_is_not_replaced(trained: Path) -> None:
    with pytest.raises(TrainingStateError, match="another training"):
        train(trained, replace(CONFIG, hidden=8))


def test_a_damaged_checkpoint_is_refused(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "mlp").mkdir()
    for name in ("reg-triple.json", "mlp/model.safetensors"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    read_triple_scorer(tmp_path)
    with (tmp_path / "mlp" / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(BadCheckpointError, match="not the file that was written"):
        read_triple_scorer(tmp_path)


def test_questions_without_a_right_triple_teach_nothing(tmp_path: Path) -> None:
    graphs = question_graphs(0, 3)
    empty = replace(graphs, is_positive=np.zeros_like(graphs.is_positive))
    with pytest.raises(NothingToLearnError, match="no question to learn from has an answer in its subgraph"):
        train_sets(KIND, CONFIG, [empty], [graphs], tmp_path, encode=LetterEncoder().encode)
    with pytest.raises(NothingToLearnError, match="no question to choose by has an answer in its subgraph"):
        train_sets(KIND, CONFIG, [graphs], [empty], tmp_path, encode=LetterEncoder().encode)


def test_the_calibration_is_of_the_best_triples_of_each_question() -> None:
    graphs = question_graphs(0, 2)
    wide = replace(
        graphs,
        heads=np.zeros(150, dtype=np.int64),
        tails=np.zeros(150, dtype=np.int64),
        is_positive=np.arange(150) % 3 == 0,
        triple_starts=np.array([0, 120, 150]),
    )
    rising = np.arange(150, dtype=np.float32)
    pairs = calibration_pairs([(wide, 0, rising[:120]), (wide, 1, rising[120:])])
    expected = [*range(119, 19, -1), *range(149, 119, -1)]
    assert pairs == [(float(row), float(row % 3 == 0)) for row in expected]


def test_recall_counts_the_best() -> None:
    scores = np.arange(1_000, dtype=np.float32)[::-1]
    right = np.zeros(1_000, dtype=np.bool_)
    right[[0, 9, 10, 99, 600]] = True
    precision = (1 / 1 + 2 / 10 + 3 / 11 + 4 / 100 + 5 / 601) / 5
    assert triple_figures(scores, right) == [0.4, 0.6, 0.8, 0.8, pytest.approx(precision)]


def test_recall_is_of_the_best_10_50_100_and_500_and_of_equal_scores_the_earlier_are_better() -> None:
    scores = (np.arange(1_200) % 2).astype(np.float32)
    for ranks, recall in (([50, 100, 500], [0, 1 / 3, 2 / 3, 1]), ([51, 101, 501], [0, 0, 1 / 3, 2 / 3])):
        right = np.zeros(1_200, dtype=np.bool_)
        right[[2 * rank - 1 for rank in ranks]] = True  # every other triple is worth 1
        expected = sum((place + 1) / rank for place, rank in enumerate(ranks)) / 3
        assert triple_figures(scores, right) == pytest.approx([*recall, expected])


def test_answers_and_best_triples_of_equal_scores_are_the_earlier() -> None:
    graphs = question_graphs(0, 1)
    num = 300
    rows = np.arange(num)
    wide = replace(
        graphs,
        heads=np.zeros(num, dtype=np.int64),
        tails=rows + 1,
        is_positive=rows % 3 == 0,
        triple_starts=np.array([0, num]),
        texts=replace(graphs.texts, answers=({"a": 20, "b": 22},)),
    )
    scores = (rows % 2).astype(np.float32)
    assert compute_answer_recall(wide, 0, scores) == [0.5, 1, 1, 1]  # they are the 10th and the 11th
    assert calibration_pairs([(wide, 0, scores)]) == [(1.0, float(row % 3 == 0)) for row in range(1, 200, 2)]


def test_figures_are_means_over_questions_with_a_right_triple_and_precision_decides_between_equal_recalls() -> None:
    graphs = question_graphs(0, 3)
    graphs = replace(graphs, is_positive=graphs.is_positive & (np.arange(12) < 8))
    falling = np.array([3, 2, 1, 0], dtype=np.float32)
    figures = figures_of([(graphs, question, falling) for question in range(3)])
    assert figures is not None
    assert (figures["average_precision"], figures["recall_at_10"]) == (
        0.75,
        1,
    )  # the first of one, the second of another
    assert figures["selection_metric"] == pytest.approx(1.00075)
    assert figures_of([(graphs, 2, falling)]) is None


def test_answers_are_found_at_either_end_of_the_best() -> None:
    graphs = question_graphs(0, 2)
    assert graphs.texts.answers[1] == {"coin 1": 2}
    scores = np.array([3.0, 0.0, 2.0, 1.0], dtype=np.float32)
    assert compute_answer_recall(graphs, 1, scores) == [1, 1, 1, 1]
    far = replace(graphs, texts=replace(graphs.texts, answers=({}, {"town 1": 1, "nobody": 3})))
    many = np.concatenate([scores, np.arange(8.0, 20, dtype=np.float32)])
    long = replace(
        far,
        heads=np.concatenate([graphs.heads[4:8], np.full(12, 5)]),
        tails=np.concatenate([graphs.tails[4:8], np.full(12, 5)]),
        triple_starts=np.array([0, 0, 16]),
    )
    assert compute_answer_recall(long, 1, many) == [0, 1, 1, 1]
    assert compute_answer_recall(far, 0, scores) == [0, 0, 0, 0]


class TestFile:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        graphs = question_graphs(0, 5)
        write_graphs(tmp_path / "graphs", graphs)
        found = read_graphs(tmp_path / "graphs")
        assert found.texts == graphs.texts
        for name in ("heads", "relation_of", "tails", "is_positive", "text_of", "is_topic", "node_starts"):
            np.testing.assert_array_equal(getattr(found, name), getattr(graphs, name))
        assert found.trained_on.num_questions == 5

    @pytest.mark.parametrize("damage", ["missing", "cut", "points nowhere", "no such topic", "a topic too few"])
    def test_a_damaged_file_is_one_line(self, tmp_path: Path, damage: str) -> None:
        path, graphs = tmp_path / "graphs", question_graphs(0, 5)
        if damage == "points nowhere":
            graphs = replace(graphs, heads=graphs.heads + 1_000)
        topics = graphs.texts.topics
        if damage == "no such topic":
            size = int(np.diff(graphs.node_starts)[-1])
            graphs = replace(graphs, texts=replace(graphs.texts, topics=(*topics[:-1], {"x": size})))
        if damage == "a topic too few":
            graphs = replace(graphs, texts=replace(graphs.texts, topics=topics[:-1]))
        if damage != "missing":
            write_graphs(path, graphs)
        if damage == "cut":
            path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(GraphFileError, match="no such file" if damage == "missing" else "damaged") as raised:
            read_graphs(path)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        ("column", "place", "value"),
        [
            ("heads", 0, -1),
            ("heads", -1, 10),
            ("tails", 0, -1),
            ("tails", -1, 10),
            ("relation_of", 0, -1),
            ("relation_of", -1, 3),
            ("text_of", 0, -2),
            ("text_of", -1, 8),
        ],
    )
    def test_a_value_out_of_range_is_damage(self, tmp_path: Path, column: str, place: int, value: int) -> None:
        """Of two questions with ten nodes, eight names and three relations."""
        graphs = question_graphs(0, 2)
        changed = getattr(graphs, column).copy()
        changed[place] = value
        write_graphs(tmp_path / "graphs", replace(graphs, **{column: changed}))
        with pytest.raises(GraphFileError, match="out of range"):
            read_graphs(tmp_path / "graphs")

    @pytest.mark.parametrize(
        ("column", "values"),
        [
            ("node_starts", [1, 5, 10]),
            ("node_starts", [0, 5, 9]),
            ("node_starts", [0, 11, 10]),
            ("node_starts", [0, 5, 5, 10]),
            ("triple_starts", [1, 4, 8]),
            ("triple_starts", [0, 4, 7]),
            ("triple_starts", [0, 9, 8]),
            ("triple_starts", [0, 8]),
            ("relation_of", [0] * 7),
            ("tails", [0] * 9),
            ("is_positive", [True] * 7),
            ("is_topic", [True] * 9),
        ],
    )
    def test_columns_that_do_not_fit_together_are_damage(self, tmp_path: Path, column: str, values: list[int]) -> None:
        graphs = question_graphs(0, 2)
        changed: dict[str, Any] = {column: np.array(values, dtype=getattr(graphs, column).dtype)}
        write_graphs(tmp_path / "graphs", replace(graphs, **changed))
        with pytest.raises(GraphFileError, match="do not fit together"):
            read_graphs(tmp_path / "graphs")

    @pytest.mark.parametrize(
        ("texts", "said"),
        [
            ({"ids": ("q0",)}, "do not fit together"),
            ({"relation_names": ("capital",)}, "do not fit together"),
            ({"answers": ({"x": 0}, {"x": -1})}, "not a node of its question"),
            ({"answers": ({"x": 5}, {"x": 0})}, "not a node of its question"),
            ({"answers": ({"x": 0},)}, "not a node of its question"),
            ({"topics": ({"x": 0}, {"x": 0, "y": 5})}, "not a node of its question"),
        ],
    )
    def test_texts_that_do_not_fit_the_columns_are_damage(
        self, tmp_path: Path, texts: dict[str, Any], said: str
    ) -> None:
        graphs = question_graphs(0, 2)
        write_graphs(tmp_path / "graphs", replace(graphs, texts=replace(graphs.texts, **texts)))
        with pytest.raises(GraphFileError, match=said):
            read_graphs(tmp_path / "graphs")

    def test_a_file_without_questions_is_whole(self, tmp_path: Path) -> None:
        write_graphs(tmp_path / "graphs", question_graphs(0, 0))
        assert len(read_graphs(tmp_path / "graphs")) == 0
