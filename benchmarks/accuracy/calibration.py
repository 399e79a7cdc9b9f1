"""How often the best path is right, by its score, on several graphs, questions that have no answer among them.

Make a run for each question set, on its graph, and fit those of the train splits:

    lodestar eval TRAIN --unanswerable --no-diagnosis --set answerer.min_probability=0 --out runs/GRAPH-train
    python -m benchmarks.accuracy.calibration --train runs/*-train --dev runs/*-dev

Fits P(a right answer is at the best path's end) = σ(slope · score + intercept) by maximum likelihood (Platt 1999), each
graph with the same weight and one question in five, by weight, without its relations (``--share``): so many are taken
to have no answer. Holds it on dev against the constants that are in use, `SIMILARITY` of
`engine/evidence/calibration.py`; there ECE and log loss are weighted in the same way. Runs over one graph are added up.
A question that was asked without its relations is never answered rightly; one without a path is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from lodestar.engine.evaluation.report import read_records, read_report
from lodestar.engine.evaluation.runs import Record
from lodestar.engine.evaluation.statistics import expected_calibration_error, false_answers
from lodestar.engine.evidence.calibration import SIMILARITY, Calibration, sigmoid
from sklearn.linear_model import LogisticRegression

Floats = npt.NDArray[np.float64]

SHARE = 0.2
"""Of the questions that are taken to have no answer. Our own choice: a third in SQuAD 2.0 (Rajpurkar et al. 2018)."""
BOUNDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)


@dataclass(frozen=True)
class Scored:
    """The questions of one graph that got a path: (num_questions,) each."""

    scores: Floats
    right: npt.NDArray[np.bool_]
    unanswerable: npt.NDArray[np.bool_]

    def weights(self, share: float) -> Floats:
        """Return (num_questions,), adding up to 1: those without an answer have together the share given."""
        bare = self.unanswerable
        if not bare.any() or bare.all():
            return np.full(len(bare), 1 / len(bare))
        weights: Floats = np.where(bare, share / bare.sum(), (1 - share) / (~bare).sum())
        return weights

    def probabilities(self, calibration: Calibration) -> Floats:
        """Return what the calibration says of each."""
        return np.array([calibration.probability(score) for score in self.scores])


def scored(records: Sequence[Record]) -> Scored:
    """Return the best path's score of each question, and whether it leads to a right answer."""
    found = [record for record in records if record.paths]
    return Scored(
        np.array([record.paths[0].score for record in found]),
        np.array([record.paths[0].num_right > 0 for record in found], dtype=np.bool_),
        np.array([bool(record.excluded_relations) for record in found], dtype=np.bool_),
    )


def by_graph(runs: Sequence[str]) -> dict[str, Scored]:
    """Return the questions of all runs by the graph they were asked of, named by the source of its first load."""
    records: dict[str, list[Record]] = {}
    for run in runs:
        (first, *_) = read_report(run)["what"]["graph"]["loads"]
        records.setdefault(f"{first['source']} {first['sha256'][:6]}", []).extend(read_records(run))
    return {graph: scored(found) for graph, found in records.items()}


def fitted(graphs: Mapping[str, Scored], share: float) -> Calibration:
    """Return the constants that fit all graphs, each with the same weight."""
    weights = np.concatenate([each.weights(share) for each in graphs.values()])
    scores = np.concatenate([each.scores for each in graphs.values()])
    right = np.concatenate([each.right for each in graphs.values()])
    # By its mean, a weight is 1: the penalty is next to nothing whatever the number of questions.
    model = LogisticRegression(C=1e6).fit(scores[:, None], right, sample_weight=weights / weights.mean())
    return Calibration("similarity", float(model.coef_[0, 0]), float(model.intercept_[0]))


def rows(graphs: Mapping[str, Scored], calibration: Calibration, share: float) -> Iterator[tuple[str, ...]]:
    """Yield a row for each graph, and one of their means."""
    figures = []
    for graph, each in graphs.items():
        sure, weights = each.probabilities(calibration), each.weights(share)
        answerable = ~each.unanswerable
        false = false_answers(sure.tolist(), each.right.tolist(), each.unanswerable.tolist())
        figures.append(
            (
                weighted_ece(sure, each.right, weights),
                expected_calibration_error(sure[answerable], each.right[answerable]),
                log_loss(sure, each.right, weights),
                false.share if false else float("nan"),
            )
        )
        yield (graph, f"{len(sure):,}", *(f"{value:.3f}" for value in figures[-1]))
    yield ("mean of graphs", "", *(f"{value:.3f}" for value in np.mean(figures, axis=0)))


def log_loss(probabilities: Floats, right: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return −Σ w ln P of what happened, probabilities kept 10⁻⁶ from 0 and 1; the weights add up to 1."""
    kept = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return float(-weights @ np.where(right, np.log(kept), np.log1p(-kept)))


def weighted_ece(probabilities: Floats, right: npt.NDArray[np.bool_], weights: Floats, num_bins: int = 10) -> float:
    """Return Σ over bins |Σ w (right − P)|: `expected_calibration_error` of weighted questions, with its bins."""
    places = np.searchsorted(np.arange(1, num_bins) / num_bins, probabilities, side="right")
    off = np.bincount(places, weights * (right - probabilities), minlength=num_bins)
    return float(np.abs(off).sum())


def main() -> None:
    """Print the constants and how well they hold on dev."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs="+", required=True, help="runs over train splits")
    parser.add_argument("--dev", nargs="+", required=True, help="runs over dev splits")
    parser.add_argument("--share", type=float, default=SHARE, help="of questions that have no answer (default: .2)")
    arguments = parser.parse_args()
    train, dev = by_graph(arguments.train), by_graph(arguments.dev)
    new = fitted(train, arguments.share)
    for graph, each in train.items():
        print(f"train: {graph}: n = {len(each.scores):,}, {each.unanswerable.sum():,} without their relations")
    print(f"fitted: slope {new.slope:.2f}, intercept {new.intercept:.2f}")
    print(f"in use: slope {SIMILARITY.slope:.2f}, intercept {SIMILARITY.intercept:.2f}")
    for name, calibration in (("in use", SIMILARITY), ("fitted", new)):
        print(f"\n| dev, {name} | n | ECE | ECE, answerable | log loss | false answers@80% |")
        print("|---|---|---|---|---|---|")
        for row in rows(dev, calibration, arguments.share):
            print(f"| {' | '.join(row)} |")
    scores, right = (np.concatenate([getattr(each, name) for each in train.values()]) for name in ("scores", "right"))
    bare = np.concatenate([each.unanswerable for each in train.values()])
    print("\n| train, bound of fitted P | right answers lost | unanswerable ones answered |\n|---|---|---|")
    sure = np.array([sigmoid(new.slope * score + new.intercept) for score in scores])
    for bound in BOUNDS:
        print(f"| {bound} | {(sure[right] < bound).mean():.3f} | {(sure[bare] >= bound).mean():.3f} |")


if __name__ == "__main__":
    main()
