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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from .. import Range
from ..calibration import fit_calibration, fit_logistic_regression, sigmoid
from ..kinds import (
    CheckpointOpenOptions,
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
    NAMES,
    READS,
    NamedColumns,
    PathPlanWeights,
    Reader,
    SourceChainColumns,
    SourceWeights,
    add_plan,
    choose_answer_count,
    compute_way_features,
    find_best_ways,
)

if TYPE_CHECKING:
    from ..training import TrainingFolder

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

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
    is_right: Bools
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
    firsts = [
        (float(logits[order[0]]), float(each.is_right[order[0]]))
        for each in sets
        for logits in [fitted.read(each.sources)]
        for _, order in each.rank(logits)
    ]
    return replace(fitted, plan=plan, calibration=fit_calibration(firsts))


def compute_reader_figures(readings: ReaderTrainingSet, reader: Reader) -> dict[str, float]:
    """Return F1, Hits@1 and expected calibration error over ten bins of confidence."""
    found = compute_question_metrics(readings, reader)
    sure, first = found["confidence"], found["hits_at_1"]
    bins = np.minimum((sure * 10).astype(int), 9)
    gaps = [abs(sure[bins == b].mean() - first[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return {"f1": float(found["f1"].mean()), "hits_at_1": float(first.mean()), "ece": float(sum(gaps))}


def compute_question_metrics(readings: ReaderTrainingSet, reader: Reader) -> dict[str, Floats]:
    """Return F1, Hits@1 and confidence of the answer to each question, (num_questions,) each."""
    plan, sources = reader.plan, readings.sources
    logits = reader.read(sources if plan is None else add_plan(sources, plan, readings.vectors))
    names = ("f1", "hits_at_1", "confidence")
    found = np.zeros((len(names), len(readings)))
    for question, order in readings.rank(logits):
        one = any(bool(ways.wants_one[question]) for _, _, ways in readings.sources)
        number = choose_answer_count(sigmoid(logits[order]), one=one)
        right, num_right = readings.is_right[order], readings.num_right[question]
        f1 = 2 * right[:number].sum() / (number + num_right)
        found[:, question] = f1, right[0], reader.confidence(float(logits[order[0]]))
    return dict(zip(names, found, strict=True))


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
        sources[name] = SourceWeights(coefficients[:-1], float(coefficients[-1]))
        columns.append(best)
    if len(columns) == 1:
        return Reader(sources, trained=True)
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
            highest = logits.new_full((len(vectors_of),), -torch.inf).scatter_reduce(0, groups, logits.detach(), "amax")
            powers = (logits - highest[groups]).exp()
            totals = torch.zeros_like(highest).index_add(0, groups, powers)
            log_shares = logits - highest[groups] - totals.log()[groups]
            (-(target_of * log_shares).sum() / num_known).backward()
        optimizer.step()
    return PathPlanWeights(*(table.detach().numpy() for table in plan))


FIGURES = ("f1", "hits_at_1", "ece")
"""Figures of a checkpoint: F1, Hits@1 and calibration error of answers."""
PART = "weights"


@pydantic_dataclass(frozen=True, slots=True)
class ReaderConfig:
    """encoder: of questions and relations, by name or path; it stays as it is. reads: items of a question's evidence
    that are read, in training and later."""

    encoder: str = "all-MiniLM-L6-v2"
    reads: Annotated[int, Range(1, 1_000)] = READS


@pydantic_dataclass(frozen=True, slots=True, kw_only=True)
class ReaderDescription(ModelDescription):
    """The fields of ``reader.json``. features: names, in order. sources: names of what each row of the weights is
    of."""

    kind: ClassVar[str] = "reader"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    config: ReaderConfig
    features: tuple[str, ...]
    sources: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]

    @property
    def reads(self) -> int:
        return self.config.reads


def fit(
    _config: ReaderConfig, train: Sequence[ReaderTrainingSet], dev: Sequence[ReaderTrainingSet], out: TrainingFolder
) -> ReaderDescription:
    from ..training import NothingToLearnError

    if not any(each.is_right.any() for each in train):
        raise NothingToLearnError("no question to learn from has a right answer among its candidates")
    reader = fit_reader(train)
    return out.write(
        {PART: partial(_write, reader)},
        (1.0, 0.0),
        {each.name: compute_reader_figures(each, reader) for each in dev},
        features=tuple(NAMES),
        sources=tuple(reader.sources),
    )


def _write(reader: Reader, part: Path) -> None:
    import torch

    each = list(reader.sources.values())
    columns = {
        "weights": np.stack([one.weights for one in each]),
        "bias": np.array([*(one.bias for one in each), reader.bias]),
        "share": np.array([one.share for one in each]),
        "answers": np.array(reader.calibration),
        **(reader.plan._asdict() if reader.plan is not None else {}),
    }
    write_weights({name: torch.from_numpy(column.copy()) for name, column in columns.items()}, part)


def open_model(folder: Path, _opening: CheckpointOpenOptions) -> tuple[ReaderDescription, Reader]:
    description = check_checkpoint(folder, ReaderDescription)
    num = len(description.sources)
    shapes = {"weights": (num, len(NAMES)), "bias": (num + 1,), "share": (num,), "answers": (2,)}
    with translate_read_errors(folder / PART):
        columns = {name: each.double().numpy() for name, each in read_weights(folder / PART).items()}
        if description.features != tuple(NAMES) or any(columns[each].shape != shape for each, shape in shapes.items()):
            raise ValueError("its weights are of other features or sources than those that are computed here")
        rows = zip(description.sources, columns["weights"], columns["bias"], columns["share"], strict=False)
        sources = {name: SourceWeights(weights, float(bias), float(share)) for name, weights, bias, share in rows}
        plan = (
            PathPlanWeights(*(columns[name].astype(np.float32) for name in PathPlanWeights._fields))
            if "last" in columns
            else None
        )
        slope, intercept = columns["answers"].tolist()
        return description, Reader(sources, float(columns["bias"][-1]), (slope, intercept), plan, trained=True)


KIND = ModelKind(
    title="Reader",
    learns_from="readings",
    config=ReaderConfig,
    description=ReaderDescription,
    code=__name__,
    about="Scores the candidates of evidence by features of each way to them: logistic regression. Use it with "
    "`--set answerer.kind=reader --set answerer.checkpoint=FOLDER` and the recipe it was trained with.",
    figures=FIGURES,
)
