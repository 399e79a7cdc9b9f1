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
from functools import partial

import numpy as np
from lodestar import Engine
from lodestar.engine.neo4j import Request, load_query
from lodestar.engine.neo4j.catalogue import read_graph_state
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import resolve_settings
from lodestar.engine.writing.changing import CHANGES
from lodestar.loaders.maintaining import unload

from ..measuring import percentile_ms, seconds_of

Times = dict[str, list[float]]
RELATION = "benchmark of small changes"
PAGE = 1_000


def ids_of(engine: Engine, number: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    starts = [{"after": chr(int(rng.integers(0x20, 0x7F))), "limit": PAGE} for _ in range(10)]
    pages = engine.gateway().run_all([Request(load_query("read_named_entities"), start, list) for start in starts])
    found = [str(row[0]) for rows in pages for row in rows]
    return [str(id_) for id_ in rng.choice(found, number)] if found else [f"e{place}" for place in range(number)]


def measure(engine: Engine, ids: list[str], hub: str, times: Times) -> None:
    """Add a triple at each id and at the hub, and remove both; append the seconds of each call."""
    for place, id_ in enumerate(ids):
        at_entity, at_hub = (f"small change {place}", RELATION, id_), (hub, RELATION, f"small change {place}")
        for what, change, triple in (
            ("add", engine.add, at_entity),
            ("add_at_hub", engine.add, at_hub),
            ("remove_at_hub", engine.remove, at_hub),
            ("remove", engine.remove, at_entity),
        ):
            times.setdefault(what, []).append(seconds_of(partial(change, [triple])))


def run(name: str, changes: int, seed: int, *, empty: bool) -> dict[str, object]:
    times: Times = {}
    with Engine(name=name) as engine:
        gateway = engine.gateway()
        if empty and not gateway.run(read_graph_state()).is_empty:
            raise SystemExit(f"the server {name!r} has a graph: name an empty one with --empty")
        engine.add([("small change", RELATION, "another")])  # so that the relation and its kinds are there
        (hub, _, degree), *_ = gateway.run(Request(load_query("read_hubs"), {"limit": 1}, list))
        ids = ids_of(engine, changes, seed)
        measure(engine, ids, hub, {})
        measure(engine, ids, hub, times)
        state = gateway.run(read_graph_state())
        engine.remove([("small change", RELATION, "another")])
        unload(gateway, CHANGES)
    figures = {
        what: {"median_ms": round(percentile_ms(some, 50), 1), "p95_ms": round(percentile_ms(some, 95), 1)}
        for what, some in times.items()
    }
    return {"num_triples": state.num_triples, "hub_degree": degree, "n": changes, **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="default", help="the server of the large graph")
    parser.add_argument("--empty", default="small-changes-empty", help="a server without a graph; started if need be")
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    EmbeddedServer.of(resolve_settings({"name": given.empty})).start(progress=False)
    graphs = {
        "large": run(given.name, given.changes, given.seed, empty=False),
        "empty": run(given.empty, given.changes, given.seed, empty=True),
    }
    large, empty = graphs.values()
    whats = ("add", "add_at_hub", "remove_at_hub", "remove")
    ratios = {what: round(large[what]["median_ms"] / empty[what]["median_ms"], 2) for what in whats}
    report = {"seed": given.seed, **graphs, "ratios_of_medians": ratios, "load_average": os.getloadavg()}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
