"""The small graphs of ``tests/people`` and the questions that people ask of them, read and written.

A line of ``graphs/NAME.tsv`` has head, relation and tail; values stand in quotes, ``_:`` begins a node without a name.
``clinic`` and ``missions`` are written as CSV of ids with a file of names, ``festival`` as N-Triples, ``railway`` with
typed values, the others as plain tables. Names are invented; nothing here is about real people.

A line of ``questions/GRAPH.tsv`` has kind, question and how the answer is found: ``Topic > relation > ^relation`` walks
(``^``: against the arrow); ``count: WALK``; ``yes: WALK = NAME``; ``max: WALK ; relation`` (the end whose value is
greatest), ``min:`` likewise; ``none`` where the graph has no answer. The questions were written before any was asked.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tests" / "people"
DEV = ("clinic", "festival", "cocina", "services", "museum", "league")
FORM_DEV = ("shipyard", "lawfirm", "school")
"""A third of their questions ask for a number, yes or no, or an extreme; a third have no answer; those `KEPT` too."""
HELD_OUT = ("railway", "missions", "stage")
KEPT = ("vineyard", "newsroom")
XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@dataclass
class Graph:
    """Triples over names, the tails that are values, and the mediators, whose names nobody is told."""

    name: str
    triples: list[tuple[str, str, str]]
    values: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)


def read_graph(name: str) -> Graph:
    """Return a graph by its name."""
    graph = Graph(name, [])
    for line in (FOLDER / "graphs" / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        head, relation, tail = line.split("\t")
        graph.unnamed |= {end.removeprefix("_:") for end in (head, tail) if end.startswith("_:")}
        if tail.startswith('"'):
            graph.values.add(tail[1:-1])
        graph.triples.append((head.removeprefix("_:"), relation, tail.strip('"').removeprefix("_:")))
    return graph


def datatype(value: str) -> str:
    """Return the XSD type a value is written with."""
    body = value.replace("-", "")
    if "T" in value and body[:8].isdigit():
        return XSD + "dateTime"
    if len(value) == 10 and body.isdigit() and value.count("-") == 2:
        return XSD + "date"
    if value.isdigit():
        return XSD + "integer"
    if value.replace(".", "", 1).isdigit():
        return XSD + "decimal"
    return XSD + "string"


def write(graph: Graph, folder: Path) -> tuple[str, ...]:
    """Write a graph as its owner would have it; return the arguments of `lodestar load`."""
    names = list(dict.fromkeys(x for h, _, t in graph.triples for x in (h, t) if x not in graph.values))
    if graph.name in ("clinic", "missions"):
        ids = {name: (f"{graph.name[0]}{n:04}") for n, name in enumerate(names)}
        kg, table = folder / f"{graph.name}.csv", folder / f"{graph.name}-names.tsv"
        with kg.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows((ids[h], r, ids.get(t, t)) for h, r, t in graph.triples)
        named = [n for n in names if n not in graph.unnamed]
        table.write_text("".join(f"{ids[n]}\t{n}\n" for n in named), encoding="utf-8")
        return ("csv", str(kg), "--columns", "1,2,3", "--names", str(table))
    if graph.name == "festival":
        base = "http://data.heron-festival.example/"
        iri = {n: f"<{base}resource/{graph.name}-{i}>" for i, n in enumerate(names)}
        kg = folder / "festival.nt"
        lines = [
            f"{iri[h]} <{base}schema/{r}> " + (f'"{t}"^^<{datatype(t)}>' if t in graph.values else iri[t]) + " ."
            for h, r, t in graph.triples
        ]
        lines += [f'{iri[n]} <{LABEL}> "{n}"@en .' for n in names if n not in graph.unnamed]
        kg.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ("rdf", str(kg))
    kg = folder / f"{graph.name}.tsv"
    typed = graph.values if graph.name == "railway" else ()
    rows = (f"{h}\t{r}\t{t}{f'^^{datatype(t)}' if t in typed else ''}\n" for h, r, t in graph.triples)
    kg.write_text("".join(rows), encoding="utf-8")
    return ("tsv", str(kg), "--columns", "1,2,3")


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
    for line in (FOLDER / "questions" / f"{graph.name}.tsv").read_text(encoding="utf-8").splitlines():
        kind, text, spec = line.split("\t")
        form, answers = answer(graph, spec)
        topic = spec.partition(": ")[2] if form else spec
        start, *steps = topic.split(" > ")
        relations = () if form else tuple(step.removeprefix("^") for step in steps)
        found.append(Asked(kind, text, answers, form, "" if spec == "none" else start, relations))
    return found
