"""What benchmarks share: questions by their topics, seconds, percentiles, and a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from lodestar.engine.data_model import Question
from lodestar.loaders.question_sets import read_questions


def gold_questions(path: Path) -> tuple[list[Question], str]:
    """Return the questions of a file in its order, and the first 12 digits of its SHA-256, to name the data by."""
    found = read_questions(str(path))
    return [each.as_question(tuple(dict.fromkeys(each.topic_ids))) for each in found.questions], found.sha256[:12]


def seconds_of(work: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s


def percentile_ms(seconds: Sequence[float], percent: float) -> float:
    return float(np.percentile(seconds, percent)) * 1000 if seconds else float("nan")


def run_in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns that runs in a new process, with nothing of this one's memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
