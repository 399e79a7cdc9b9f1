"""How long linking by words takes in a graph of very many names, which many of them share.

    python -m benchmarks.speed.linking_scale make FOLDER --names 10000000 --equal 1000000
    lodestar load tsv FOLDER/kg.tsv --names FOLDER/names.tsv --writer bulk --name scale
    python -m benchmarks.speed.linking_scale ask --names 10000000 --equal 1000000 --questions 300

Names have one to four pseudo-words of a vocabulary of 300,000 by the law of Zipf and Mandelbrot, P(rank) ∝
1 / (rank + 20): the commonest word is in one name of a hundred. The first `--equal` entities are called "Untitled", all
alike. Each entity has one triple. `ask` draws entities, asks about each by its name, one question at a time, by words
alone, and prints the milliseconds of the clock, of the database's part and of what is computed here; those of the
processor, which do not depend on what else runs; what share of the questions has an entity of the right name as first
candidate; and the load of the machine. Before, it asks as many others, since Java is slow at first.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil
from lodestar.engine.linking.full_text import FullTextLinker
from lodestar.engine.neo4j.connection import make_connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph import find_entity_candidates
from lodestar.engine.settings import resolve

CHUNK = 100_000
VOCABULARY = 300_000
FLATTENED = 20
NUM_WORDS = (0.15, 0.5, 0.25, 0.1)
NUM_RELATIONS = 50
EQUAL = "Untitled"
TEMPLATES = (
    "Who wrote {}?",
    "where is {}",
    "What is the capital of {}?",
    "which people were born in {} before 1900",
    "Who is the brother of {}?",
)
_ONSETS = "b br c ch d dr f g gr h j k l m n p pr r s sh st t th tr v w z".split()
_VOWELS = "a e i o u ai ea ou".split()
_ENDS = ("l", "m", "n", "r", "s", "t", "ck")
Ints = npt.NDArray[np.int64]


def word(rank: int) -> str:
    """Return the pseudo-word of a rank; every rank has its own."""
    text, rest = "", rank
    while rest or not text:
        rest, at = divmod(rest, len(_ONSETS) * len(_VOWELS))
        text += _ONSETS[at // len(_VOWELS)] + _VOWELS[at % len(_VOWELS)]
    return f"{text}{_ENDS[rank % len(_ENDS)]}".capitalize()


def words() -> list[str]:
    """Return the vocabulary, the commonest first."""
    return [word(rank) for rank in range(VOCABULARY)]


def names_of(chunk: int, vocabulary: list[str]) -> list[str]:
    """Return the names of the entities from chunk · `CHUNK` on, the same whenever they are asked for."""
    rng = np.random.default_rng(chunk)
    counts = rng.choice(np.arange(1, len(NUM_WORDS) + 1), CHUNK, p=NUM_WORDS)
    ranks = FLATTENED * ((1 + VOCABULARY / FLATTENED) ** rng.random((CHUNK, len(NUM_WORDS))) - 1)
    return [
        " ".join(vocabulary[rank] for rank in row[:count])
        for row, count in zip(ranks.astype(np.int64).tolist(), counts.tolist(), strict=True)
    ]


def every_name(num_names: int, num_equal: int) -> Iterator[list[str]]:
    """Yield the names of all entities, chunk by chunk."""
    vocabulary = words()
    for start in range(0, num_names, CHUNK):
        names = names_of(start // CHUNK, vocabulary)[: num_names - start]
        equal = max(0, min(num_equal - start, len(names)))
        yield [EQUAL] * equal + names[equal:]


def make(folder: Path, num_names: int, num_equal: int) -> None:
    """Write triples and names."""
    folder.mkdir(parents=True, exist_ok=True)
    at = 0
    with (folder / "kg.tsv").open("w") as triples, (folder / "names.tsv").open("w") as named:
        for names in every_name(num_names, num_equal):
            numbers = range(at, at + len(names))
            triples.writelines(f"e{n}\tmade.thing.relation_{n % NUM_RELATIONS}\te{n // 10}\n" for n in numbers)
            named.writelines(f"e{n}\t{name}\n" for n, name in zip(numbers, names, strict=True))
            at += len(names)


def drawn(num_names: int, num_equal: int, num_questions: int, seed: int) -> list[str]:
    """Return the names of entities drawn among those that are not called alike."""
    wanted = np.sort(np.random.default_rng(seed).integers(num_equal, num_names, num_questions))
    vocabulary = words()
    chunks = {int(chunk): names_of(int(chunk), vocabulary) for chunk in np.unique(wanted // CHUNK)}
    return [chunks[n // CHUNK][n % CHUNK] for n in wanted.tolist()]


def milliseconds(name: str, seconds: list[float]) -> str:
    """Return percentiles as a line."""
    p10, p50, p95, most = np.percentile(seconds, [10, 50, 95, 100]) * 1_000
    return f"{name}: p10 {p10:.1f}, p50 {p50:.1f}, p95 {p95:.1f}, at most {most:.1f} ms, n {len(seconds)}"


def server_process(port: str) -> psutil.Process | None:
    """Return the process of the database, where it runs here and may be looked at."""
    for each in psutil.net_connections("tcp"):
        if each.status == psutil.CONN_LISTEN and each.laddr and str(each.laddr.port) == port and each.pid:
            return psutil.Process(each.pid)
    return None


def spent_s(server: psutil.Process | None) -> float:
    """Return the seconds of the processor that the database has taken so far."""
    return sum(server.cpu_times()[:2]) if server else float("nan")


def timed(gateway: Gateway, linker: FullTextLinker, texts: list[str], names: list[str]) -> None:
    """Print how long each question takes, and how many find their name."""
    every, there, here, right = [], [], [], 0
    server = server_process(gateway.connection.uri.rpartition(":")[2])
    before, before_here = spent_s(server), time.process_time()
    for text, name in zip(texts, names, strict=True):
        started = time.perf_counter()
        queries = linker.write_queries(text)
        asked = time.perf_counter()
        (pool,) = gateway.run(find_entity_candidates([queries]))
        answered = time.perf_counter()
        found = linker.rank(text, pool)[: linker.top_k]
        ended = time.perf_counter()
        every.append(ended - started)
        there.append(answered - asked)
        here.append(ended - answered + asked - started)
        right += bool(found) and found[0].entity.name == name
    of_server, of_here = spent_s(server) - before, time.process_time() - before_here
    for title, seconds in (("a question", every), ("  in the database", there), ("  here", here)):
        print(milliseconds(title, seconds))
    of_each = (1_000 * each / len(texts) for each in (of_server, of_here))
    print("  of the processor: {:.1f} ms in the database with all its threads, {:.1f} ms here".format(*of_each))
    print(f"  the first candidate has the name: {right / len(texts):.3f}")


def ask(num_names: int, num_equal: int, num_questions: int, seed: int) -> None:
    """Print the times over the graph that is there."""
    names = drawn(num_names, num_equal, num_questions, seed)
    texts = [TEMPLATES[at % len(TEMPLATES)].format(name) for at, name in enumerate(names)]
    linker = FullTextLinker()
    with Gateway(make_connection(resolve())) as gateway:
        warm = drawn(num_names, num_equal, num_questions, seed + 1)
        for at, name in enumerate(warm):
            gateway.run(find_entity_candidates([linker.write_queries(TEMPLATES[at % len(TEMPLATES)].format(name))]))
        load = os.getloadavg()[0]
        print(f"{num_names:,} entities, {num_equal:,} of them called {EQUAL}; after {len(warm)} others; seed {seed}")
        timed(gateway, linker, texts, names)
        if num_equal:
            print(f"questions about {EQUAL}")
            some = texts[:50]
            timed(
                gateway, linker, [TEMPLATES[n % len(TEMPLATES)].format(EQUAL) for n in range(50)], [EQUAL] * len(some)
            )
        print(f"load average of the last minute: {load:.2f} before, {os.getloadavg()[0]:.2f} after")


def main() -> None:
    """Make a graph, or ask one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making, asking = verbs.add_parser("make"), verbs.add_parser("ask")
    making.add_argument("folder", type=Path)
    for verb in (making, asking):
        verb.add_argument("--names", type=int, default=100_000)
        verb.add_argument("--equal", type=int, default=0)
    asking.add_argument("--questions", type=int, default=300)
    asking.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.verb == "make":
        make(args.folder, args.names, args.equal)
    else:
        ask(args.names, args.equal, args.questions, args.seed)


if __name__ == "__main__":
    main()
