"""What an entity index takes and finds: minutes, bytes, and how near its cells come to looking at all vectors.

    python -m benchmarks.speed.entity_index FOLDER/names.tsv.gz [--limit 100000] [--queries 1000] [--seed 0]

Names are of a names file (id, tab, name), as they stand, without what entities are. Each is encoded once; then an index
that looks at every vector and one with cells are made of the vectors. Queries are drawn names in small letters, with
one letter left out. Exact are the 5 nearest by the vectors themselves, in float32; recall@5 is the share of these among
the 5 that an index gives, "the name" the share of queries whose own name is among the 5. Seconds are of the processor,
but for the search, whose milliseconds are of the clock, one mention at a time.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import faiss
import numpy as np
import numpy.typing as npt
from lodestar.engine.indexes import entity_index as building
from lodestar.engine.indexes.entity_index import build_entity_index, open_entity_index
from lodestar.engine.settings import resolve
from lodestar.models.text.encoders import FloatArray, SentenceEncoder

TOP_K = 5
PAGE = 10_000
PROBES = (16, 32, 64, 128)
EDITION = (1, None, None, 1, None, 0)
Halves = npt.NDArray[np.float16]


class Remembering(SentenceEncoder):
    """Encodes each text once."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.places: dict[str, int] = {}
        self.parts: list[Halves] = []

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of the texts."""
        new = list(dict.fromkeys(text for text in texts if text not in self.places))
        if new:
            self.places |= {text: len(self.places) + at for at, text in enumerate(new)}
            self.parts.append(super().encode(new).astype(np.float16))
        if len(self.parts) > 1:
            self.parts = [np.concatenate(self.parts)]
        found: FloatArray = self.parts[0][[self.places[text] for text in texts]].astype(np.float32)
        return found


def names_of(path: Path, limit: int) -> list[tuple[str, str]]:
    """Return the first entities of a names file that have a name."""
    found: list[tuple[str, str]] = []
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if len(columns) > 1 and columns[1].strip():
                found.append((columns[0], columns[1].replace("_", " ")[:200]))
            if len(found) == limit:
                break
    return found


def with_a_letter_less(name: str, draw: random.Random) -> str:
    """Return a name in small letters, without one of its characters where it has some to spare."""
    at = draw.randrange(1, len(name)) if len(name) > 4 else len(name)
    return (name[:at] + name[at + 1 :]).lower()


def nearest(vectors: Halves, queries: FloatArray) -> list[set[int]]:
    """Return the places of the nearest vectors to each query, all looked at."""
    best = np.full((len(queries), TOP_K), -np.inf, np.float32)
    places = np.zeros((len(queries), TOP_K), np.int64)
    for start in range(0, len(vectors), 100_000):
        block = vectors[start : start + 100_000].astype(np.float32)
        scores = np.concatenate([best, queries @ block.T], axis=1)
        some = np.argpartition(-scores, TOP_K - 1, axis=1)[:, :TOP_K]
        known = np.concatenate([places, np.tile(np.arange(start, start + len(block)), (len(queries), 1))], axis=1)
        best, places = np.take_along_axis(scores, some, axis=1), np.take_along_axis(known, some, axis=1)
    return [set(row) for row in places.tolist()]


def main() -> None:
    """Print what an index takes and finds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", type=Path)
    parser.add_argument("--limit", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    entities = names_of(args.names, args.limit)
    encoder = Remembering(resolve().encoder)
    clock, processor = time.perf_counter(), time.process_time()
    for start in range(0, len(entities), building.BATCH):
        encoder.encode([name for _, name in entities[start : start + building.BATCH]])
    spent, waited = time.process_time() - processor, time.perf_counter() - clock
    print(
        f"{len(entities):,} entities, {len(encoder.places):,} names encoded: {spent:,.0f} s, {waited:,.0f} s by clock"
    )
    draw = random.Random(args.seed)
    asked = [draw.choice(entities)[1] for _ in range(args.queries)]
    queries = SentenceEncoder(resolve().encoder).encode([with_a_letter_less(name, draw) for name in asked])
    texts = list(encoder.places)
    exact = [{texts[place] for place in some} for some in nearest(encoder.parts[0], queries)]
    of_id = dict(entities)

    def pages() -> Iterator[list[tuple[str, str]]]:
        for start in range(0, len(entities), PAGE):
            yield entities[start : start + PAGE]

    print("| index | MB | seconds | recall@5 | the name | ms a mention |\n| --- | --- | --- | --- | --- | --- |")
    own = sum(name in some for name, some in zip(asked, exact, strict=True)) / len(asked)
    print(f"| all vectors, float32 | | | 1 | {own:.3f} | |")
    for flat_to in (0, len(entities)):
        with tempfile.TemporaryDirectory() as folder:
            building.FLAT_TO = flat_to
            processor = time.process_time()
            report = build_entity_index(Path(folder), pages, len(entities), EDITION, encoder)
            took = time.process_time() - processor
            index = open_entity_index(Path(folder), encoder)
            assert index is not None
            for probes in ("every vector in bytes",) if flat_to else PROBES:
                if isinstance(index.index, faiss.IndexIVF) and isinstance(probes, int):
                    index.index.nprobe = probes
                found, times = [], []
                for query in queries:
                    started = time.perf_counter()
                    (some,) = index.search(query[None], 4 * TOP_K)
                    times.append(time.perf_counter() - started)
                    found.append(list(dict.fromkeys(of_id[id_] for id_, _ in some))[:TOP_K])
                recall = np.mean([len(one & set(two)) / TOP_K for one, two in zip(exact, found, strict=True)])
                own = sum(name in some for name, some in zip(asked, found, strict=True)) / len(asked)
                title = f"{probes} cells looked at" if isinstance(probes, int) else probes
                ms = 1_000 * float(np.median(times))
                print(
                    f"| {title} | {report.num_bytes / 1e6:,.0f} | {took:,.0f} | {recall:.3f} | {own:.3f} | {ms:.2f} |"
                )
    print(f"load average of the last minute: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
