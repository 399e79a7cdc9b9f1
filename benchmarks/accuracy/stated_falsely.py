"""Ask graphs of others their own questions: right, stated falsely, unsure, nothing said.

    python -m benchmarks.accuracy.stated_falsely geoquery=questions-sample-200.jsonl ck25=questions-one-column.jsonl

Each argument is the name of an embedded server with the graph loaded, and its questions: JSON lines with `question`
and `gold` (or `answers`), a list of names, numbers, yes or no. Right: F1 of the answers ≥ .8. Stated falsely: an answer
that is neither right nor unsure. Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from pathlib import Path

from lodestar.engine.api import Engine
from lodestar.engine.evaluation import bootstrap_interval
from lodestar.engine.evidence import Answer

TOGETHER = 64
RIGHT = 0.8
VERDICTS = ("right", "false", "unsure", "none")


def normalise(value: object) -> str:
    """Return an answer as it is compared: numbers with four digits, names folded, "not in the graph" as no."""
    text = re.sub(r"\^\^.*$", "", str(value)).strip().strip('"')
    if text.lower() in ("no", "false", "not in the graph"):
        return "no"
    try:
        return f"{float(text.replace(',', '')):.4g}"
    except ValueError:
        return re.sub(r"[\W_]+", " ", "yes" if text == "True" else text.rpartition("#")[2]).casefold().strip()


def judge(answer: Answer, gold: set[str]) -> str:
    """Return one of `VERDICTS`."""
    given = {normalise(entity.name) for entity in answer.answers}
    if not answer.found or not given:
        return "none" if gold else "right"
    if gold and 2 * len(gold & given) / (len(gold) + len(given)) >= RIGHT:
        return "right"
    return "unsure" if answer.unsure else "false"


def main() -> None:
    """Print a row for each set, and with --cases each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="NAME=QUESTIONS")
    parser.add_argument("--cases", action="store_true", help="print every question with what was said")
    arguments = parser.parse_args()
    print("| graph | n | right | 95 % | stated falsely | 95 % | unsure | none | ms a question |")
    print("|---|---|---|---|---|---|---|---|---|")
    for each in arguments.sets:
        name, _, file = each.partition("=")
        asked = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines() if line.strip()]
        started = time.perf_counter()
        with Engine(name=name) as engine:
            texts = [question["question"] for question in asked]
            parts = [texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER)]
            answers = [answer for part in parts for answer in engine.ask_batch(part)]
        seconds = time.perf_counter() - started
        verdicts = [
            judge(answer, {normalise(gold) for gold in question.get("gold", question.get("answers", []))})
            for answer, question in zip(answers, asked, strict=True)
        ]
        counts, shares = Counter(verdicts), []
        for verdict in VERDICTS[:2]:
            interval = bootstrap_interval([float(said == verdict) for said in verdicts])
            shares.append(f"{counts[verdict] / len(asked):.3f} | {interval.low:.2f} to {interval.high:.2f}")
        rest = f"{counts['unsure']} | {counts['none']} | {1000 * seconds / len(asked):.0f}"
        print(f"| {name} | {len(asked)} | {' | '.join(shares)} | {rest} |", flush=True)
        for verdict, answer in zip(verdicts, answers, strict=True) if arguments.cases else ():
            print(f"{verdict:7} {answer.evidence.question.text} → {answer.text}")


if __name__ == "__main__":
    main()
