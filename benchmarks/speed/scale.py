"""What grows with the graph: the same work on servers of graphs of several sizes, in turns.

    lodestar load tsv grown.tsv --names grown.names.tsv --name large
    python -m benchmarks.speed.scale --names small large --data FB237

The first server is the reference; all must run and hold FB15k-237, the others within a larger graph of its relations.
`questions`: the dev questions with their gold topics, one at a time, each asked of every server in turns. `changes`:
ten triples of ten relations to ten new entities appended as a load, and its deletion.
`cold`: the server is stopped, its files leave the system's cache, it is started, and one question is asked. `verify`:
all is counted again. Prints milliseconds or seconds, the ratios of medians, and the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lodestar import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.neo4j.catalogue import read_catalogue, read_graph_state
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import LOAD_TIMEOUT_S, Settings, make_connection, resolve_settings
from lodestar.loaders.formats.triples import TsvSource
from lodestar.loaders.loading import LoadOptions, load
from lodestar.loaders.maintaining import unload, verify

from ..measuring import gold_questions, percentile_ms, seconds_of

WARM_UP = 20
Figures = dict[str, object]


def summary(seconds: Sequence[float]) -> Figures:
    p50, p95 = (round(percentile_ms(seconds, percent), 1) for percent in (50, 95))
    return {"n": len(seconds), "p50_ms": p50, "p95_ms": p95}


def settings_of(name: str) -> Settings:
    return resolve_settings({"name": name})


def describe(name: str) -> Figures:
    instance = EmbeddedServer.of(settings_of(name))
    data = instance.home.data
    with Gateway(instance.connection()) as gateway:
        state = gateway.run(read_graph_state())
    status = instance.status()
    return {
        "num_triples": state.num_triples,
        "num_entities": state.num_entities,
        "store_mb": instance.store_mb,
        "data_mb": sum(path.stat().st_size for path in data.rglob("*") if path.is_file()) >> 20,
        "heap_mb": status.heap_mb,
        "pagecache_mb": status.pagecache_mb,
    }


def ask_in_turns(names: Sequence[str], questions: Sequence[Question]) -> Figures:
    engines = {name: Engine(settings_of(name), recipe="similarity") for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    try:
        for engine in engines.values():
            engine.prepare()
            engine.retrieve_batch(questions[:WARM_UP])
            for question in questions:  # vectors are kept and pages are read
                engine.retrieve_batch([question])
        for question in questions:
            for name, engine in engines.items():
                seconds[name].append(seconds_of(partial(engine.retrieve_batch, [question])))
    finally:
        for engine in engines.values():
            engine.close()
    reference = statistics.median(seconds[names[0]])
    return {
        name: summary(some) | {"ratio_of_p50": round(statistics.median(some) / reference, 2)}
        for name, some in seconds.items()
    }


def change(name: str, repeat: int) -> Figures:
    appended, deleted = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Gateway(make_connection(settings_of(name), LOAD_TIMEOUT_S)) as gateway,
    ):
        relations = [relation.name for relation in gateway.run(read_catalogue()).relations[:10]]
        options = LoadOptions(staging=Path(folder) / "staging", mode="append")
        for turn in range(repeat + 1):
            path = Path(folder) / f"ten-{turn}.tsv"
            path.write_text("".join(f"scale {turn}.{n}\t{relation}\tscale\n" for n, relation in enumerate(relations)))
            source = TsvSource(str(path))
            appended.append(seconds_of(partial(load, source, gateway, options)))
            deleted.append(seconds_of(partial(unload, gateway, path.name)))
    return {"append": summary(appended[1:]), "delete": summary(deleted[1:]), "first_append_s": round(appended[0], 1)}


def start_cold(name: str, question: Question) -> Figures:
    """Return how long a start takes with nothing in the system's cache, and then the first and the second question."""
    instance = EmbeddedServer.of(settings_of(name))
    instance.stop()
    for path in instance.home.data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start_s = seconds_of(lambda: instance.start(progress=False))
    with Engine(settings_of(name), recipe="similarity") as engine:
        first_s = seconds_of(lambda: engine.retrieve_batch([question]))
        second_s = seconds_of(lambda: engine.retrieve_batch([question]))
    return {
        "start_s": round(start_s, 1),
        "first_question_s": round(first_s, 2),
        "second_question_s": round(second_s, 3),
    }


def verify_all(name: str) -> Figures:
    with Gateway(make_connection(settings_of(name), LOAD_TIMEOUT_S)) as gateway:
        started_s = time.perf_counter()
        found = verify(gateway)
        return {"s": round(time.perf_counter() - started_s, 1), "faults": list(found.faults)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["questions", "changes", "cold", "verify"])
    parser.add_argument("--names", nargs="+", default=["default"], help="servers, the reference first")
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--limit", type=int, default=422, help="so many questions of the file")
    parser.add_argument("--repeat", type=int, default=8, help="changes of each kind")
    given = parser.parse_args()
    questions, sha256 = gold_questions(given.data / "questions-dev.jsonl.gz")
    questions = questions[: given.limit]
    report: Figures = {"question_set": sha256, "servers": {name: describe(name) for name in given.names}}

    def measure(what: str, work: Callable[[], object]) -> None:
        if what.partition(" ")[0] in given.what:
            report[what] = work()
            report[f"load average after {what}"] = [round(some, 1) for some in os.getloadavg()]
            print(json.dumps(report, indent=2), flush=True)

    measure("questions", partial(ask_in_turns, given.names, questions))
    for name in given.names:
        measure(f"changes {name}", partial(change, name, given.repeat))
        measure(f"cold {name}", partial(start_cold, name, questions[0]))
        measure(f"verify {name}", partial(verify_all, name))


if __name__ == "__main__":
    main()
