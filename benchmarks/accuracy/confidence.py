"""What the confidences of a language model's answers mean: options of `answerer`, fitted on a run over dev questions.

    lodestar eval dev.jsonl.gz --recipe similarity-llm --out runs/dev-llm
    python -m benchmarks.accuracy.confidence runs/dev-llm

With them an answer's confidence is the probability that the first answer is right, and `answerer.min_probability=0.3`
answers nothing below it. P(right) = σ(slope · log-odds of the confidence + intercept) (Platt 1999).
"""

from __future__ import annotations

import argparse

import numpy as np
from lodestar.engine.answering.candidates import compute_log_odds
from lodestar.engine.evaluation.report import read_records
from lodestar.engine.evidence.calibration import Calibration
from lodestar.models.reader.fitting import fit_logistic_regression

PENALTY = 1e-3
"""Keeps the slope finite where confidences part right from wrong answers perfectly."""


def main() -> None:
    """Print the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="folder of a run over dev questions")
    records = [record for record in read_records(parser.parse_args().run) if record.answers]
    known = [record for record in records if record.answers[0].confidence is not None]
    confidences = [min(max(record.answers[0].confidence or 0.0, 0.0), 1.0) for record in known]
    right = np.array([record.scores["strict/hits_at_1"] == 1 for record in known], dtype=np.float64)
    if not 0 < right.sum() < len(right):
        parser.error("expected answers with a confidence, right and wrong ones")
    log_odds = np.array(compute_log_odds(confidences, Calibration("probability")))[:, None]
    slope, intercept = fit_logistic_regression(log_odds, right, np.full(len(right), 1 / len(right)), PENALTY)
    print(f"--set answerer.slope={slope:.4g} --set answerer.intercept={intercept:.4g}")
    print(f"{len(known):,} first answers with a confidence, {right.mean():.3f} of them right")


if __name__ == "__main__":
    main()
