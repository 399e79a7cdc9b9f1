"""How well a language model inside Lodestar ranks the names of the evidence, beside the order of the chains.

    LODESTAR_LLM_MODEL=FOLDER python -m benchmarks.accuracy.choosing questions-dev.jsonl.gz --recipe star \\
        --set star.checkpoint=FOLDER --limit 100

The graph is that of the settings. The names are the first 20 at the ends of the evidence (`list_choices`); the model
ranks them by the log-probability of each, less that without the evidence (docs/llm.md). *both* adds −ln(place in the
order of the chains). The reciprocal rank is that of the first right name, 0 without one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import fmean, median

import numpy as np
import numpy.typing as npt
from lodestar.engine.answering.llm import LLMAnswerer
from lodestar.engine.answering.reply import normalise_name
from lodestar.engine.api import Engine
from lodestar.engine.gold_questions import look_up_answers, look_up_topic_ids
from lodestar.engine.llm.local import ANSWER_START
from lodestar.engine.llm.prompts import Prompt
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.settings import resolve
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.models.language.causal_lm import CausalLM

from .reading import compare

WAYS = ("model", "both", "chains")


def score_choices(model: CausalLM, prompt: Prompt) -> dict[str, npt.NDArray[np.float64]]:
    """Return the scores of the choices by each of `WAYS`, (num_choices,) each."""
    place = np.arange(1, len(prompt.choices) + 1)
    if not prompt.choices:
        return dict.fromkeys(WAYS, np.zeros(0))
    asked = [{"role": "user", "content": text} for text in (str(prompt.content), prompt.unseen)]
    seen, unseen = (model.choice_logprobs([message], ANSWER_START, prompt.choices)[0] for message in asked)
    worth = (seen - unseen).astype(np.float64)
    return {"model": worth, "both": worth - np.log(place), "chains": -np.log(place)}


def reciprocal_rank(scores: npt.NDArray[np.float64], is_right: Sequence[bool]) -> float:
    """Return 1 / rank of the first right one, 0 without one."""
    best_first = np.argsort(-scores, kind="stable").tolist()
    return next((1 / rank for rank, place in enumerate(best_first, start=1) if is_right[place]), 0.0)


def main() -> None:
    """Print the mean reciprocal ranks, their differences, and milliseconds a question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions")
    parser.add_argument("--recipe", default="similarity")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the recipe")
    parser.add_argument("--limit", type=int, default=100)
    given = parser.parse_args()
    settings = resolve()
    model, answerer = CausalLM(settings.llm_model), LLMAnswerer(chooses=True)
    ranks: dict[str, list[float]] = {way: [] for way in WAYS}
    seconds: list[float] = []
    with Engine(settings, recipe=read_recipe(given.recipe, given.changes)) as engine:
        asked = look_up_answers(read_questions(given.questions).sample(given.limit, 0), engine.gateway()).questions
        asked = look_up_topic_ids(asked, engine.gateway())
        evidence = engine.retrieve_batch([each.as_question(each.topic_ids) for each in asked])
        for question, found in zip(asked, evidence, strict=True):
            prompt = answerer.write_prompt(found)
            right = {normalise_name(name) for answer in question.answers for name in answer.names}
            started_s = time.perf_counter()
            scores = score_choices(model, prompt)
            seconds.append(time.perf_counter() - started_s)
            is_right = [normalise_name(name) in right for name in prompt.choices]
            for way in WAYS:
                ranks[way].append(reciprocal_rank(scores[way], is_right))
    print(f"n {len(seconds)}")
    for way in WAYS:
        print(f"MRR by {way}: {fmean(ranks[way]):.3f}, over the chains {compare(ranks[way], ranks['chains'], seed=0)}")
    print(f"{1000 * median(seconds):.0f} ms a question (p50)")


if __name__ == "__main__":
    main()
