"""Read small graphs of different trades and naming habits, and write each as its owner would have it.

A line of ``graphs/NAME.tsv`` has head, relation and tail; values stand in quotes, and ``_:`` begins a node without a name.
``clinic`` and ``missions`` are written as CSV of ids with a file of names, ``festival`` as N-Triples, ``railway`` with
typed values, the others as plain tables. Names are invented; nothing here is about real people.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "graphs"
DEV = ("clinic", "festival", "cocina", "services", "museum", "league")
FORM_DEV = ("shipyard", "lawfirm", "school")
"""A third of their questions ask for a number, yes or no, or an extreme; a third have no answer. So have those `KEPT`."""
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
    for line in (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
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
    folder.mkdir(parents=True, exist_ok=True)
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
    typed = graph.name == "railway"
    rows = (
        f"{h}\t{r}\t{t}^^{datatype(t)}" if typed and t in graph.values else f"{h}\t{r}\t{t}"
        for h, r, t in graph.triples
    )
    kg.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return ("tsv", str(kg), "--columns", "1,2,3")
