"""Read the questions that people ask of the graphs, with their right answers worked out on the graph itself.

A line of ``questions/GRAPH.tsv`` has kind, question and how the answer is found: ``Topic > relation > ^relation`` walks
(``^``: against the arrow); ``count: WALK``; ``yes: WALK = NAME``; ``max: WALK ; relation`` (the end whose value is
greatest), ``min:`` likewise; ``none`` where the graph has no answer. The questions were written before any was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .graphs import Graph

FOLDER = Path(__file__).parent / "questions"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a person asks, and what is right."""

    kind: str
    """``one`` hop, ``two`` hops, ``form`` or ``none`` (not answerable)."""
    text: str
    answers: frozenset[str]
    """Names of the right answers; a number for ``count``, "yes" or "no"; empty where there is none."""
    form: str = ""
    """``count``, ``yes``, ``max`` or ``min``; empty for others."""
    topic: str = ""
    relations: tuple[str, ...] = ()
    """Of a plain question, in walking order."""


def walk(graph: Graph, path: str) -> list[str]:
    """Return the ends of a walk."""
    start, *steps = (part.strip() for part in path.split(" > "))
    ends = [start]
    for step in steps:
        name, against = step.removeprefix("^"), step.startswith("^")
        ends = [
            (h if against else t) for e in ends for h, r, t in graph.triples if r == name and (t if against else h) == e
        ]
    return list(dict.fromkeys(ends))


def magnitude(text: str) -> tuple[float, str]:
    """Order numbers as numbers, days as text."""
    try:
        return float(text), ""
    except ValueError:
        return 0.0, text


def answer(graph: Graph, spec: str) -> tuple[str, frozenset[str]]:
    """Return a form's name, and the right answers."""
    form, _, rest = spec.partition(": ")
    if spec == "none":
        return "", frozenset()
    if form == "count":
        return form, frozenset({str(len(walk(graph, rest)))})
    if form == "yes":
        path, _, wanted = rest.partition(" = ")
        return form, frozenset({"yes" if wanted in walk(graph, path) else "no"})
    if form in ("max", "min"):
        path, _, relation = rest.partition(" ; ")
        values = {e: magnitude(walk(graph, f"{e} > {relation}")[0]) for e in walk(graph, path)}
        best = (max if form == "max" else min)(values.values())
        return form, frozenset(e for e, v in values.items() if v == best)
    return "", frozenset(walk(graph, spec))


def read_questions(graph: Graph) -> list[Asked]:
    """Return the questions of a graph, in order."""
    found = []
    for line in (FOLDER / f"{graph.name}.tsv").read_text(encoding="utf-8").splitlines():
        kind, text, spec = line.split("\t")
        form, answers = answer(graph, spec)
        topic = spec.partition(": ")[2] if form else spec
        start, *steps = topic.split(" > ")
        relations = () if form else tuple(step.removeprefix("^") for step in steps)
        found.append(Asked(kind, text, answers, form, "" if spec == "none" else start, relations))
    return found
