"""How long one triple takes to add and to remove, beside a graph of many, and in a graph of none.

    lodestar load tsv KG.tsv --name large
    python -m benchmarks.speed.small_changes --name large --changes 200 > small-changes.json

Each change is a call of `Engine.add` or `Engine.remove` with one triple, its transaction included, one after the other:
a new entity at a random entity of the graph, by its id; the same at the entity with the most triples (`hub`); and its
removal. The empty graph is that of the server that `--empty` names: it is emptied first. Before, as many other changes
are made, since Java is slow at first. Prints medians and 95th percentiles in milliseconds, their ratio to the empty
graph's, and the load of the machine; the large graph is at the end as it was, but for an empty load of changes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time

import numpy as np
from lodestar import Engine
from lodestar.engine.neo4j import Request, load_query
from lodestar.engine.neo4j.catalogue import read_graph_state
from lodestar.engine.writing.changing import CHANGES
from lodestar.loaders.maintaining import unload

Times = dict[str, list[float]]
RELATION = "benchmark of small changes"
PAGE = 1_000


def ids_of(engine: Engine, number: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    found: list[str] = []
    gateway = engine.gateway()
    for _ in range(10):
        after = chr(int(rng.integers(0x20, 0x7F)))
        rows = gateway.run(Request(load_query("read_named_entities"), {"after": after, "limit": PAGE}, list))
        found += [str(row[0]) for row in rows]
    return [str(id_) for id_ in rng.choice(found, number)] if found else [f"e{place}" for place in range(number)]


def measure(engine: Engine, ids: list[str], hub: str, times: Times) -> None:
    """Add a triple at each id and at the hub, and remove both; append the milliseconds of each call."""

    def call(what: str, change: object, triple: tuple[str, str, str]) -> None:
        started_s = time.perf_counter()
        change([triple])
        times.setdefault(what, []).append(1_000 * (time.perf_counter() - started_s))

    for place, id_ in enumerate(ids):
        at_entity, at_hub = (f"small change {place}", RELATION, id_), (hub, RELATION, f"small change {place}")
        call("add", engine.add, at_entity)
        call("add_at_hub", engine.add, at_hub)
        call("remove_at_hub", engine.remove, at_hub)
        call("remove", engine.remove, at_entity)


def run(name: str, changes: int, seed: int, *, empty: bool) -> dict[str, object]:
    times: Times = {}
    with Engine(name=name) as engine:
        gateway = engine.gateway()
        if empty and not gateway.run(read_graph_state()).is_empty:
            raise SystemExit(f"the server {name!r} has a graph: name an empty one with --empty")
        engine.add([("small change", RELATION, "another")])  # so that the relation and its kinds are there
        (hub, *_), *_ = gateway.run(Request(load_query("read_hubs"), {"limit": 1}, list))
        ids = ids_of(engine, changes, seed)
        measure(engine, ids, hub, {})
        measure(engine, ids, hub, times)
        state = gateway.run(read_graph_state())
        engine.remove([("small change", RELATION, "another")])
        unload(gateway, CHANGES)
    figures = {
        what: {"median_ms": round(statistics.median(some), 1), "p95_ms": round(float(np.quantile(some, 0.95)), 1)}
        for what, some in times.items()
    }
    return {"num_triples": state.num_triples, "hub_degree": hub.degree, "n": changes, **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="default", help="the server of the large graph")
    parser.add_argument("--empty", default="small-changes-empty", help="a server without a graph; started if need be")
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    graphs = {
        "large": run(given.name, given.changes, given.seed, empty=False),
        "empty": run(given.empty, given.changes, given.seed, empty=True),
    }
    ratios = {
        what: round(graphs["large"][what]["median_ms"] / graphs["empty"][what]["median_ms"], 2)
        for what in ("add", "add_at_hub", "remove_at_hub", "remove")
    }
    report = {"seed": given.seed, **graphs, "ratios_of_medians": ratios, "load_average": os.getloadavg()}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
