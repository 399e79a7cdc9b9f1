"""Ask small graphs in people's words: right, wrong and abstained, and why the wrong ones are wrong.

``python -m benchmarks.accuracy.people_words --graphs dev`` loads each graph of ``tests/people`` into the server called
``people`` (``LODESTAR_NAME``; whatever it holds is replaced) and asks its 40 to 44 questions, topics not given. Right:
F1 of the answers ≥ .8, for how many and yes or no the same answer, for what the graph cannot answer none. ``forms`` are
more graphs for development, with many questions with a form and many without an answer. ``held-out`` and ``kept`` are
graphs that nothing was chosen by; the latter were asked less often. Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lodestar.engine.api import Engine
from lodestar.engine.evaluation import bootstrap_interval
from lodestar.engine.evidence import Answer, PlanAnswer
from lodestar.engine.settings import resolve_settings

from benchmarks.accuracy.people import DEV, FORM_DEV, HELD_OUT, KEPT, Asked, Graph, read_graph, read_questions, write

GRAPHS = {"dev": DEV, "forms": FORM_DEV, "held-out": HELD_OUT, "kept": KEPT}

NAME = os.environ.get("LODESTAR_NAME", "people")
RIGHT = 0.8
"""Least F1 of the answers."""
NO = frozenset({"no", "not in the graph"})


@dataclass(frozen=True, slots=True)
class Judged:
    """verdict: ``right``, ``wrong`` or ``abstained``. why: what went wrong. place: of the first right path."""

    graph: str
    asked: Asked
    answer: Answer
    verdict: str
    why: str
    place: int | None


def f1(found: Iterable[str], right: Iterable[str]) -> float:
    one, two = {name.casefold() for name in found}, {name.casefold() for name in right}
    return 2 * len(one & two) / (len(one) + len(two)) if one or two else 0.0


def judge(graph: str, asked: Asked, answer: Answer) -> Judged:
    names = [entity.name for entity in answer.answers]
    if asked.kind == "none":
        verdict, why = ("wrong", "answered") if answer.found else ("right", "")
        return Judged(graph, asked, answer, verdict, why, None)
    chains = answer.evidence.chains
    right = (i for i, c in enumerate(chains) if f1([e.label for e in c.value.answers], asked.answers) >= RIGHT)
    place = next(right, None)
    if asked.form in ("count", "yes"):
        said = {"no" if name in NO else name.replace(",", "") for name in names}
        is_right = said == asked.answers
    else:
        is_right = f1(names, asked.answers) >= RIGHT
    if is_right:
        return Judged(graph, asked, answer, "right", "", place)
    verdict = "wrong" if answer.found else "abstained"
    return Judged(graph, asked, answer, verdict, _why(asked, answer, place), place)


def _why(asked: Asked, answer: Answer, place: int | None) -> str:
    topics = [topic.entity.label for topic in answer.evidence.topics]
    if not topics:
        return "nothing linked"
    if asked.topic.casefold() not in {name.casefold() for name in topics}:
        return "another topic"
    if asked.kind == "form":
        return "no plan" if answer.evidence.extra_of(PlanAnswer) is None else "another plan"
    if place is None:
        return "right path not found"
    if place == 0:
        return "right path first, abstained"
    hops = 2 if asked.kind == "two" else 1
    length = answer.evidence.chains[0].value.relation_path.num_hops
    found = "short" if length < hops else "long" if length > hops else "of the same length"
    return f"right path at {'2–3' if place < 3 else '4 or later'}, first one {found}"


def load_graph(graph: Graph, folder: Path, environ: dict[str, str]) -> None:
    command = [sys.executable, "-m", "lodestar", "load", *write(graph, folder), "--replace", "--writer", "online"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)


def ask_graph(graph: Graph, recipe: str, options: Sequence[str]) -> tuple[list[Judged], list[float]]:
    changes = [option.partition("=") for option in options]
    values = {key: json.loads(value) for key, _, value in changes}
    with Engine(resolve_settings({"name": NAME}), recipe=recipe, options=values) as engine:
        questions = read_questions(graph)
        answers = engine.ask_batch([asked.text for asked in questions])
        times = [engine.ask_batch([asked.text])[0].evidence.seconds for asked in questions[:10]]
    return [judge(graph.name, a, answer) for a, answer in zip(questions, answers, strict=True)], times


def rate(label: str, hits: Sequence[bool]) -> str:
    values = [float(hit) for hit in hits]
    if not values:
        return f"| {label} | 0 | – | – |"
    interval = bootstrap_interval(values)
    return f"| {label} | {len(values)} | {sum(values) / len(values):.3f} | {interval.low:.2f} to {interval.high:.2f} |"


def print_report(judged: Sequence[Judged]) -> None:
    plain = [j for j in judged if j.asked.kind in ("one", "two")]

    def right(some: Iterable[Judged]) -> list[bool]:
        return [j.verdict == "right" for j in some]

    print("| questions | n | share | 95 % |\n|---|---|---|---|")
    for label, kinds in (("one hop", ["one"]), ("two hops", ["two"]), ("forms", ["form"])):
        print(rate(f"{label}: right", right([j for j in judged if j.asked.kind in kinds])))
    print(rate("plain (one and two hops): right", right(plain)))
    print(rate("plain: wrong", [j.verdict == "wrong" for j in plain]))
    print(rate("plain: abstained", [j.verdict == "abstained" for j in plain]))
    print(rate("not answerable: answered", [j.answer.found for j in judged if j.asked.kind == "none"]))
    within = [j.place for j in plain if j.place is not None and j.place < 3]
    print(rate("right path first, of those with it among three", [place == 0 for place in within]))
    for graph in dict.fromkeys(j.graph for j in judged):
        print(rate(f"{graph}: plain right", right([j for j in plain if j.graph == graph])))
    print("\n| what went wrong | questions |\n|---|---|")
    for why, times in Counter(j.why for j in judged if j.why).most_common():
        print(f"| {why} | {times} |")


def print_cases(judged: Sequence[Judged]) -> None:
    for j in judged:
        chains = j.answer.evidence.chains
        path = str(chains[0].value.relation_path) if chains else ""
        names = ", ".join(entity.name for entity in j.answer.answers[:3])
        place = f"{j.verdict[:5]:5} {j.graph[:4]} {j.asked.kind:4}"
        print(f"{place} {j.asked.text} → {names} [{path}] {j.answer.confidence or 0:.2f} {j.why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", choices=tuple(GRAPHS), required=True)
    parser.add_argument("--recipe", default="similarity")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="an option of the recipe")
    parser.add_argument("--only", help="one graph by name")
    parser.add_argument("--cases", action="store_true", help="print every question (of graphs for development)")
    arguments = parser.parse_args()
    environ = {**os.environ, "LODESTAR_NAME": NAME}
    judged, times = [], []
    for name in GRAPHS[arguments.graphs]:
        graph = read_graph(name)
        if arguments.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                load_graph(graph, Path(folder), environ)
            some, seconds = ask_graph(graph, arguments.recipe, arguments.set)
            judged += some
            times += seconds
    print_report(judged)
    print(f"\np50 of {len(times)} questions asked alone: {1000 * median(times):.0f} ms")
    if arguments.cases and arguments.graphs in ("dev", "forms"):
        print_cases(judged)


if __name__ == "__main__":
    main()
