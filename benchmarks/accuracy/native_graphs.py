"""Keep graphs as the property graphs that writers of Cypher ask: the server NAME-native beside the server NAME.

    python -m benchmarks.accuracy.native_graphs movies=movies.cypher northwind geo ck25

A dump or a script of its owner is taken as it is. Without one the graph that NAME has is written as a person would
model it: kinds are labels in title case, literals are typed properties, relations are types in capitals. Names in small
letters are written with capitals, as a language model writes them.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import neo4j
from lodestar.engine.api import Engine
from lodestar.engine.neo4j.catalogue import stream_names, stream_triples
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import resolve_settings
from lodestar.loaders.formats.neo4j_graphs import DumpGraph, ScriptGraph, TemporaryServerGraph
from lodestar.models.text import split_name

from .peers import read_queries

KIND_RELATIONS = re.compile(r"(^|[/#])type$")
BATCH = 2_000


def words_of(relations: Iterable[str]) -> dict[str, list[str]]:
    """Return the words of each relation: of its last part, and of as many before it as tell it from the others.

    Of `http://…/hasBomPart` has, bom, part; of two relations `a.film.actor` and `b.play.actor` film, actor and play,
    actor.
    """
    parts = {name: [word for part in split_name(name) for word in part] for name in relations}
    found = {}
    for name, own in parts.items():
        others = [each for other, each in parts.items() if other != name]
        length = next((n for n in range(1, len(own)) if all(each[-n:] != own[-n:] for each in others)), len(own))
        found[name] = [word for part in own[-length:] for word in part.lower().split()]
    return found


def value_of(text: str) -> int | float | str:
    for as_number in (int, float):
        try:
            return as_number(text)
        except ValueError:
            continue
    return text


def convert(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the nodes (id, labels, properties) and the relationships (start, type, end) of a loaded graph."""
    with Engine(name=name) as engine:
        names = {id_: own for id_, (own, *_) in stream_names(engine.gateway())}
        triples = [(head, *tail[:3]) for head, tails in stream_triples(engine.gateway()) for tail in tails]
    labels: dict[str, set[str]] = defaultdict(set)
    properties: dict[str, dict[str, Any]] = defaultdict(dict)
    joins, words = [], words_of([relation for _, relation, _, _ in triples])
    for head, relation, tail, is_literal in triples:
        if names.get(head):
            properties[head].setdefault("name", names[head])
        if KIND_RELATIONS.search(relation):
            labels[head].add("".join(word.title() for word in re.split(r"\W+", names.get(tail) or tail)))
        elif is_literal:
            first, *rest = words[relation]
            key, value = first + "".join(word.title() for word in rest), value_of(tail)
            before = properties[head].get(key)
            if key == "name" or before is None:
                properties[head].setdefault(key, value)
            else:
                properties[head][key] = [str(one) for one in (before if isinstance(before, list) else [before])]
                properties[head][key].append(str(value))
        else:
            joins.append({"start": head, "type": "_".join(words[relation]).upper(), "end": tail})
            if names.get(tail):
                properties[tail].setdefault("name", names[tail])
    named = [each for each in properties.values() if "name" in each]
    is_lower = all(each["name"] == each["name"].lower() for each in named)
    if not (
        is_lower and any("_" in each["name"] for each in named)
    ):  # those are ids, which questions write as they are
        for each in named:
            each["name"] = each["name"].title() if is_lower else each["name"].replace("_", " ")
    ids = {each["end"] for each in joins} | set(properties) | set(labels)
    nodes = [{"id": id_, "labels": sorted(labels[id_]) or ["Thing"], "properties": properties[id_]} for id_ in ids]
    return nodes, joins


def write(driver: neo4j.Driver, name: str) -> None:
    nodes, joins = convert(name)
    for query, rows in zip(read_queries("native_graphs"), ([{}], nodes, joins, [{}], [{}]), strict=True):
        for begin in range(0, len(rows), BATCH):
            driver.execute_query(query, rows=rows[begin : begin + BATCH])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", metavar="NAME[=FILE]")
    for each in parser.parse_args().graphs:
        name, _, file = each.partition("=")
        settings = resolve_settings({"name": f"{name}-native"})
        server = EmbeddedServer.of(settings)
        server.reset()
        server.home.create()
        if file:
            source: TemporaryServerGraph = (
                ScriptGraph(file, run_script=True) if file.endswith(".cypher") else DumpGraph(file)
            )
            source.fill(server)
        else:
            server.start(heap_mb=1_024, pagecache_mb=256)
        connection = server.connection()
        with neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
            if not file:
                write(driver, name)
            count = driver.execute_query("MATCH (n) RETURN count(n) AS n").records[0]["n"]
        print(f"{name}-native: {count:,} nodes at {connection.uri}")


if __name__ == "__main__":
    main()
