"""Memory and time of a prompt's attention in one layer: the last row alone, and all layers kept whole.

    python -m benchmarks.speed.attention [--lengths 500,1000,2000]

The model is a Llama of random weights (16 layers, 16 heads, width 512), each measurement a process of its own; memory
is what its peak grows by in the pass. Milliseconds and mebibytes do not travel; the ratios of the same run do.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from contextlib import nullcontext
from multiprocessing.queues import SimpleQueue

LAYERS, HEADS, WIDTH = 16, 16, 512


def measure(length: int, is_whole: bool, found: SimpleQueue[tuple[float, float]]) -> None:
    """Put the MiB and the ms of one pass."""
    import torch
    from lodestar.models.graphrag_fi import relevance_layer
    from lodestar.models.language.attention import NAME, record_last_row
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS
    )
    config._attn_implementation = "eager" if is_whole else NAME
    model = LlamaModel(config).eval()  # type: ignore[no-untyped-call]

    def run(ids: torch.Tensor) -> None:
        with torch.inference_mode(), nullcontext() if is_whole else record_last_row(relevance_layer(LAYERS)):
            model(ids, output_attentions=is_whole, use_cache=False)

    run(torch.zeros((1, 8), dtype=torch.int64))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    run(torch.arange(length)[None])
    ms = 1_000 * (time.process_time() - started)
    found.put(((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, ms))


def measured(length: int, *, is_whole: bool) -> tuple[float, float]:
    """Return MiB and ms of a process of its own."""
    context = multiprocessing.get_context("spawn")
    found: SimpleQueue[tuple[float, float]] = context.SimpleQueue()
    process = context.Process(target=measure, args=(length, is_whole, found))
    process.start()
    process.join()
    return found.get()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="500,1000,2000", help="tokens, separated by commas (default: %(default)s)")
    print("| tokens | all layers, MiB | last row, MiB | all layers, CPU ms | last row, CPU ms |")
    print("| --- | --- | --- | --- | --- |")
    for length in map(int, parser.parse_args().lengths.split(",")):
        whole, row = measured(length, is_whole=True), measured(length, is_whole=False)
        print(f"| {length:,} | {whole[0]:,.0f} | {row[0]:,.0f} | {whole[1]:,.0f} | {row[1]:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
