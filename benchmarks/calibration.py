"""How often the best path is right, by its score: the constants of the extractive answerer's confidence.

Run ``python -m benchmarks.calibration --data FOLDER`` with FB15k-237 loaded. Fits P(a gold entity is at the best path's
end) = σ(slope · score + intercept) on the training questions, and reports on dev how far it is off.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.metrics.calibration import expected_calibration_error
from lodestar.engine.settings import resolve
from sklearn.linear_model import LogisticRegression

from .accuracy import judged, retrieved
from .question_sets import gold_questions


def scores_and_hits(engine: Engine, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of each question's best path and whether it was right; questions without a path are left out."""
    golds, _ = gold_questions(path)
    pairs = [(g, r) for g, r in zip(golds, retrieved(engine, golds), strict=True) if r.items]
    scores = np.array([r.items[0].score for _, r in pairs])
    return scores, np.array([judged(g, r).any_hit for g, r in pairs])


def main() -> None:
    """Print the constants and how well they hold on dev."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-<split>.jsonl.gz")
    arguments = parser.parse_args()
    with Engine(resolve()) as engine:
        train, hits = scores_and_hits(engine, arguments.data / "questions-train.jsonl.gz")
        model = LogisticRegression(C=1e6).fit(train[:, None], hits)
        dev, dev_hits = scores_and_hits(engine, arguments.data / "questions-dev.jsonl.gz")
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    probabilities = model.predict_proba(dev[:, None])[:, 1]
    print(f"train: n = {len(train)}; slope {slope:.2f}, intercept {intercept:.2f}")
    print(f"dev:   n = {len(dev)}; ECE {expected_calibration_error(probabilities, dev_hits):.3f}")
    fitted = model.predict_proba(train[:, None])[:, 1]
    for low in (0.15, 0.2, 0.25, 0.3, 0.35):
        below = fitted < low
        right = hits[below].mean() if below.any() else float("nan")
        print(f"  below {low:.2f}: {below.mean():.1%} of train questions, {right:.1%} of them right")


if __name__ == "__main__":
    main()
