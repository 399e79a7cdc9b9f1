"""What a GPU brings: throughput of the encoder, STAR, ReG's perceptron, GRIL and FAISS, with the CPU beside it.

    python -m benchmarks.speed.gpu [--small] [--device cuda] > page.md

STAR is called as `ask` calls it; other networks have the papers' shapes and random weights, inputs are made up.
It takes at most six minutes; `--small` is a form for tests. Without a GPU the page says that it was not run on one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from lodestar.engine.machine import describe_machine
from lodestar.engine.relations import make_vector_search
from lodestar.models.gril import GrowOptions
from lodestar.models.gril.network import GraphRetriever
from lodestar.models.placement import Placement
from lodestar.models.reg.triples import GraphInputs, TripleScorer
from lodestar.models.star import SPECIAL_TOKENS
from lodestar.models.star.network import DualEncoder, StarModel, open_shipped_scorer
from lodestar.models.star.shipped import ShippedStar
from lodestar.models.text import DirectedRelation, RelationWords
from lodestar.models.text.bert import open_pretrained
from lodestar.models.text.encoders import SentenceEncoder

BUDGET_S = 300
"""Seconds for all rows; what is left then is not measured."""
DIMENSION, DISTANCES, HIDDEN = 384, 10, 384
ENCODER = "all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Sizes:
    """What is measured: texts, candidates at once, questions, triples at once, rows of an index, repeats."""

    texts: int = 4_096
    pairs: tuple[int, ...] = (8, 64, 512)
    questions: int = 64
    triples: tuple[int, ...] = (4_000, 64_000)
    rows: int = 100_000
    repeats: int = 5


SMALL = Sizes(16, (4,), 2, (50,), 200, 1)


def rate(number: int, run: Callable[[], object], repeats: int, device: torch.device) -> float:
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return number / float(np.median(times[1:]))


def triple_inputs(number: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Return random triples of one question over half as many nodes, as inputs of a network."""
    nodes = max(2, number // 2)
    made = {
        "questions": torch.randn(1, DIMENSION),
        "relations": torch.randn(20, DIMENSION),
        "entities": torch.randn(nodes, DIMENSION),
        "is_named": torch.ones(nodes, dtype=torch.bool),
        "heads": torch.randint(nodes, (number,)),
        "relation_of": torch.randint(20, (number,)),
        "tails": torch.randint(nodes, (number,)),
    }
    return {name: each.to(device) for name, each in made.items()}


def star_rows(placement: Placement, sizes: Sizes, device: torch.device) -> Iterator[tuple[str, float]]:
    """Read pairs as `ask` does, score 420 paths of each question and read 8, and learn from pairs in float32."""
    in_torch = open_shipped_scorer(placement.torch_device, placement.dtype)
    reader = in_torch if placement.is_gpu else ShippedStar()
    for number in sizes.pairs:
        pairs = [("what is the capital of it", f"country location capital {each}") for each in range(number)]
        found = rate(number, lambda pairs=pairs: reader.logits(pairs), sizes.repeats, device)
        yield f"STAR, candidates, {number:,} at once", found
    dual = DualEncoder(open_pretrained(ENCODER, SPECIAL_TOKENS)).eval().to(device)
    dual.encoder.to(placement.dtype)
    model, numbers = StarModel(None, dual, in_torch.texts, None), iter(range(10**9))  # type: ignore[arg-type]
    hops = [(DirectedRelation(RelationWords("country", (f"property {each}",)), False),) for each in range(20)]
    paths = [*product(hops), *product(hops, hops)]

    def ask() -> None:
        texts = [f"what is its number {next(numbers)}" for _ in range(sizes.questions)]  # new ones: none is kept
        model.score([(text, paths) for text in texts])
        reader.cross([(text, "it", path) for text in texts for path in paths[:8]])

    yield "STAR, questions", rate(sizes.questions, ask, sizes.repeats, device)
    learner = open_shipped_scorer(placement.torch_device, torch.float32).network.train()
    batch = [
        in_torch.texts.pair("what is the capital of it", f"country capital {each}") for each in range(sizes.questions)
    ]
    yield "STAR, pairs learned from", rate(len(batch), lambda: learner(batch).sum().backward(), sizes.repeats, device)


def rows(placement: Placement, sizes: Sizes) -> Iterator[tuple[str, float]]:
    device = torch.device(placement.torch_device)
    torch.manual_seed(0)
    encoder = SentenceEncoder(ENCODER, device=placement.torch_device)
    texts = [f"the capital of country number {number}" for number in range(sizes.texts)]
    yield "encoder, texts", rate(len(texts), lambda: encoder.encode(texts), sizes.repeats, device)
    yield from star_rows(placement, sizes, device)
    scorer = TripleScorer(DIMENSION, DISTANCES, HIDDEN).to(device)
    learner = torch.optim.AdamW(scorer.parameters())
    grower = GraphRetriever(DIMENSION, HIDDEN, GrowOptions()).eval().to(device)
    for number in sizes.triples:
        given = triple_inputs(number, device)
        nodes = len(given["entities"])
        is_topic = torch.zeros(nodes, dtype=torch.bool, device=device)
        is_topic[0] = True
        inputs = GraphInputs(
            **given,
            is_topic=is_topic,
            is_literal=torch.zeros_like(is_topic),
            node_question=torch.zeros(nodes, dtype=torch.long, device=device),
            distances=torch.rand(nodes, DISTANCES, device=device),
            question_of=torch.zeros(number, dtype=torch.long, device=device),
        )

        def learn(inputs: GraphInputs = inputs) -> None:
            learner.zero_grad()
            torch.nn.functional.softplus(scorer(inputs)).mean().backward()
            learner.step()

        with torch.no_grad():
            yield f"ReG, triples, {number:,} at once", rate(number, lambda i=inputs: scorer(i), sizes.repeats, device)
            yield f"GRIL, triples, {number:,} at once", rate(number, lambda i=inputs: grower(i), sizes.repeats, device)
        yield f"ReG, triples learned from, {number:,} at once", rate(number, learn, sizes.repeats, device)
    made = np.random.default_rng(0).normal(size=(sizes.rows, DIMENSION)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    asked = np.ascontiguousarray(made[:64])
    for name, approximate in (("exact", False), ("in cells", True)):
        search = make_vector_search(made, gpu=placement.is_gpu, approximate=approximate)
        yield f"FAISS, searches, {name}", rate(64, lambda s=search: s(asked, 20), sizes.repeats, device)


def measure(device: str, sizes: Sizes, until_s: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in rows(Placement(device), sizes):
        found[name] = value
        if time.monotonic() > until_s:
            break
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a form for tests")
    parser.add_argument("--device", default="auto", help="cpu, cuda, mps or auto (default)")
    given = parser.parse_args(arguments)
    sizes = SMALL if given.small else Sizes()
    started_s = time.monotonic()
    on_cpu = measure("cpu", sizes, started_s + BUDGET_S / 2)
    device = Placement(given.device).torch_device
    on_gpu = {} if device == "cpu" else measure(device, sizes, started_s + BUDGET_S)
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    print(f"# GPU\n\n{'Not run on a GPU yet.' if not on_gpu else name} {describe_machine()}\n")
    print("| a second | CPU | GPU | ratio |\n| --- | --- | --- | --- |")
    for row, value in on_cpu.items():
        other = on_gpu.get(row)
        print(f"| {row} | {value:,.0f} | {f'{other:,.0f} | {other / value:.1f}' if other else ' | '} |")


if __name__ == "__main__":
    main()
