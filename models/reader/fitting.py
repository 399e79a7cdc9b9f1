"""Fit the reader on questions with answers, and describe, train and open its checkpoints.

Which way to a candidate is the right one is not known. As in multiple-instance learning (Andrews et al. 2003) a first
fit takes all ways to right candidates for right; a second one only the way that is the best by the first, of right and
wrong candidates alike, for that is the way that will count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from pydantic import Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from .. import Range
from ..calibration import fit_calibration, fit_logistic_regression, sigmoid
from ..kinds import (
    CheckpointOpenOptions,
    Coefficient,
    ModelDescription,
    ModelKind,
    QuestionKey,
    TrainingDataRecord,
    check_checkpoint,
    read_weights,
    translate_read_errors,
    write_weights,
)
from . import (
    MAX_HOPS,
    READS,
    Floats,
    Ints,
    NamedColumns,
    PathPlanWeights,
    Reader,
    SourceChainColumns,
    SourceWeights,
    choose_answer_count,
    compute_way_features,
    find_best_ways,
)

if TYPE_CHECKING:
    from ..training import TrainingFolder

PLAN_PENALTY = 1e-4
PLAN_RATE = 0.03
PLAN_STEPS = 40
PENALTY = 1e-3
FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ReaderTrainingSet:
    """The candidates of a question set as the reader sees them: what it learns from.

    texts, topics: of the questions. vectors: (num_questions, dimension), of the questions without their topics.
    starts: (num_questions + 1,) of candidates. is_right: (num_candidates,). num_right: (num_questions,), right answers
    that there are, found or not. sources: name, kind and columns of each source of evidence.
    """

    name: str
    questions_sha256: str
    graph: str
    texts: tuple[str, ...]
    topics: tuple[frozenset[str], ...]
    vectors: npt.NDArray[np.float32]
    starts: Ints
    is_right: npt.NDArray[np.bool_]
    num_right: Ints
    sources: tuple[NamedColumns, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def sha256(self) -> str:
        digest = hashlib.sha256(self.is_right.tobytes())
        for _, _, ways in self.sources:
            digest.update(np.ascontiguousarray(compute_way_features(ways).round(4)).tobytes())
        return digest.hexdigest()

    @property
    def trained_on(self) -> TrainingDataRecord:
        return TrainingDataRecord(self.name, self.questions_sha256, self.graph, len(self), 0)

    @property
    def question_keys(self) -> list[QuestionKey]:
        return [(text, text, topics) for text, topics in zip(self.texts, self.topics, strict=True)]

    def set_plan(self, plans: Sequence[PathPlanWeights]) -> ReaderTrainingSet:
        """Return the readings with what plans say of the chains: of question q the plan at q modulo their number."""
        found = []
        for name, kind, ways in self.sources:
            scores = np.stack([plan.score(self.vectors, ways) for plan in plans])
            own = scores[ways.question % len(plans), np.arange(len(ways.path))]
            found.append((name, kind, replace(ways, plan=own)))
        return replace(self, sources=tuple(found))

    def rank(self, logits: Floats) -> Iterator[tuple[int, Ints]]:
        """Yield each question that has a candidate, with its candidates, the likeliest first."""
        for question, (start, end) in enumerate(pairwise(self.starts.tolist())):
            if end > start:
                yield question, start + np.argsort(-logits[start:end], kind="stable")

    def agreement(self, ways: SourceChainColumns) -> Floats:
        """Return how right each chain is, (num_chains,): F1 of its ends against the right answers."""
        right = np.bincount(ways.chain, weights=self.is_right[ways.candidate], minlength=len(ways.question))
        return 2 * right / (ways.num_ends + self.num_right[ways.question])


def fit_reader(sets: Sequence[ReaderTrainingSet]) -> Reader:
    """Return the reader that is fitted on question sets with the same sources.

    Each question weighs the same, however many candidates it has. The plan that weights are fitted with is of other
    questions (`FOLDS`).
    """
    plan, sets = _fit_plan(sets)
    fitted = _fit_weights(sets)
    firsts = []
    for each in sets:
        logits = fitted.read(each.sources, each.vectors)
        firsts += [(float(logits[order[0]]), float(each.is_right[order[0]])) for _, order in each.rank(logits)]
    return replace(fitted, plan=plan, calibration=fit_calibration(firsts))


def compute_reader_figures(readings: ReaderTrainingSet, reader: Reader) -> dict[str, float]:
    """Return mean F1 and Hits@1 of the answers."""
    logits = reader.read(readings.sources, readings.vectors)
    f1, hits = np.zeros(len(readings)), np.zeros(len(readings))
    for question, order in readings.rank(logits):
        number = choose_answer_count(sigmoid(logits[order]))
        right = readings.is_right[order]
        f1[question] = 2 * right[:number].sum() / (number + readings.num_right[question])
        hits[question] = right[0]
    return {"f1": float(f1.mean()), "hits_at_1": float(hits.mean())}


def _fit_weights(sets: Sequence[ReaderTrainingSet]) -> Reader:
    """Fit w and b of each source, then v over all."""
    sizes = np.concatenate([np.repeat(sizes, sizes) for each in sets for sizes in [np.diff(each.starts)]])
    weights = 1 / sizes
    weights /= weights.sum()
    right = np.concatenate([each.is_right for each in sets]).astype(np.float64)
    sources = {}
    columns = []
    for place, (name, _, _) in enumerate(sets[0].sources):
        coefficients, best = _fit_source([each.sources[place][2] for each in sets], right, weights)
        sources[name] = SourceWeights(tuple(coefficients[:-1].tolist()), float(coefficients[-1]))
        columns.append(best)
    shares = fit_logistic_regression(np.stack(columns, axis=1), right, weights, PENALTY)
    shared = {name: replace(each, share=float(v)) for (name, each), v in zip(sources.items(), shares, strict=False)}
    return Reader(shared, bias=float(shares[-1]), trained=True)


def _fit_source(sets: Sequence[SourceChainColumns], right: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return w and b of a source, (len(NAMES) + 1,), and what they say of each candidate."""
    shifts = np.cumsum([0, *(each.num_candidates for each in sets)])
    x = np.concatenate([compute_way_features(each) for each in sets])
    candidate = np.concatenate([each.candidate + shift for each, shift in zip(sets, shifts, strict=False)])
    shared = weights / np.maximum(np.bincount(candidate, minlength=len(right)), 1)
    beta = fit_logistic_regression(x, right[candidate], shared[candidate], PENALTY)
    _, best = find_best_ways(x @ beta[:-1] + beta[-1], candidate, len(right))
    rows = best[best >= 0]
    beta = fit_logistic_regression(x[rows], right[candidate[rows]], weights[candidate[rows]], PENALTY, beta)
    return beta, find_best_ways(x @ beta[:-1] + beta[-1], candidate, len(right))[0]


def _fit_plan(sets: Sequence[ReaderTrainingSet]) -> tuple[PathPlanWeights, list[ReaderTrainingSet]]:
    """Return the plan, and the sets with what a plan that was fitted without each question says of its chains."""

    def fit(left_out: int) -> PathPlanWeights:
        chosen = []
        for each in sets:
            used = np.arange(len(each)) % FOLDS != left_out
            for _, _, ways in each.sources:
                if ways.path.size:  # what a language model answers has no path
                    chosen.append((each.vectors, ways, np.where(used[ways.question], each.agreement(ways), 0.0)))
        return fit_path_plan(chosen)

    plans = [fit(fold) for fold in range(FOLDS)]
    return fit(-1), [each.set_plan(plans) for each in sets]


def fit_path_plan(sets: Sequence[tuple[npt.NDArray[np.floating[Any]], SourceChainColumns, Floats]]) -> PathPlanWeights:
    """Return the plan fitted on sets: vectors of the questions, columns, and how right each chain is, (num_chains,).

    Of a question's chains those are wanted that are the rightest; a question without a right one teaches nothing.
    """
    import torch

    dimension = sets[0][0].shape[1]
    shapes = ((dimension, 2 * dimension), (dimension, 2 * dimension), (dimension, MAX_HOPS + 1))
    plan = PathPlanWeights(*(torch.zeros(shape, requires_grad=True) for shape in shapes))
    given, num_known = [], 0
    for vectors, ways, right in sets:
        best = np.zeros(len(vectors))
        np.maximum.at(best, ways.question, right)
        wanted = (right > 0) & (right >= best[ways.question] - 1e-9)
        target = wanted / np.maximum(np.bincount(ways.question, weights=wanted), 1)[ways.question]
        num_known += np.count_nonzero(best)
        arrays = (vectors.astype(np.float32), ways.hop_vectors.astype(np.float32), target)
        given.append((ways, *map(torch.from_numpy, arrays)))
    optimizer = torch.optim.Adam(list(plan), betas=(0.9, 0.99), weight_decay=PLAN_PENALTY)
    for step in range(PLAN_STEPS if num_known else 0):
        optimizer.param_groups[0]["lr"] = PLAN_RATE * (1 - step / PLAN_STEPS)
        optimizer.zero_grad()
        for ways, vectors_of, hop_vectors, target_of in given:
            logits = plan.compute_logits(vectors_of, hop_vectors, ways.question, ways.path).double()
            groups = torch.from_numpy(ways.question)
            totals = logits.new_zeros(len(vectors_of)).index_add(0, groups, logits.exp())
            log_shares = logits - totals[groups].log()
            (-(target_of * log_shares).sum() / num_known).backward()
        optimizer.step()
    return PathPlanWeights(*(table.detach().numpy() for table in plan))


@pydantic_dataclass(frozen=True, slots=True)
class ReaderConfig:
    """encoder: of questions and relations, by name or path; it stays as it is. reads: items of a question's evidence
    that are read, in training and later."""

    encoder: str = "all-MiniLM-L6-v2"
    reads: Annotated[int, Range(1, 1_000)] = READS


@pydantic_dataclass(frozen=True, slots=True, kw_only=True)
class ReaderDescription(ModelDescription):
    """The fields of ``reader.json``. sources, bias: see `Reader`. calibration: of the first answer's logit."""

    kind: ClassVar[str] = "reader"
    parts: ClassVar[tuple[str, ...]] = ("plan",)

    config: ReaderConfig
    sources: Annotated[dict[str, SourceWeights], Field(min_length=1, max_length=20)]
    bias: Coefficient


def fit(
    _config: ReaderConfig, train: Sequence[ReaderTrainingSet], dev: Sequence[ReaderTrainingSet], out: TrainingFolder
) -> ReaderDescription:
    import torch

    from ..training import NothingToLearnError

    if not any(each.is_right.any() for each in train):
        raise NothingToLearnError("no question to learn from has a right answer among its candidates")
    reader = fit_reader(train)
    plan = {name: torch.from_numpy(table) for name, table in cast(PathPlanWeights, reader.plan)._asdict().items()}
    return out.write(
        {"plan": partial(write_weights, plan)},
        reader.calibration,
        {each.name: compute_reader_figures(each, reader) for each in dev},
        sources=reader.sources,
        bias=reader.bias,
    )


def open_model(folder: Path, _opening: CheckpointOpenOptions) -> tuple[ReaderDescription, Reader]:
    said = check_checkpoint(folder, ReaderDescription)
    with translate_read_errors(folder / "plan"):
        tables = read_weights(folder / "plan")
        plan = PathPlanWeights(*(tables[name].numpy() for name in PathPlanWeights._fields))
    return said, Reader(said.sources, said.bias, said.calibration, plan, trained=True)


KIND = ModelKind(
    title="Reader",
    learns_from="readings",
    config=ReaderConfig,
    description=ReaderDescription,
    code=__name__,
    about="Scores the candidates of evidence by features of each way to them: logistic regression. Use it with "
    "`--set answerer.kind=reader --set answerer.checkpoint=FOLDER` and the recipe it was trained with.",
    figures=("f1", "hits_at_1"),
)
