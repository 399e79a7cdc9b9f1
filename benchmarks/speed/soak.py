"""Ask a server for minutes with many clients while its database is stopped and started; count what is wrong or lost.

Run ``python -m benchmarks.speed.soak --data FOLDER`` with FB15k-237 loaded in the embedded Neo4j (LODESTAR_HOME,
LODESTAR_NAME), which this program stops and starts at a third and at two thirds of the time. An answer is right if it
is what the library answers to the same question.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil
from lodestar.engine.api import Engine
from lodestar.engine.neo4j.instance import ServerPair
from lodestar.engine.settings import resolve

from ..question_sets import gold_questions
from .serving import bodies, percentile_ms

AWAY_S = 5.0
SETTLED_S = 120.0
"""Memory is compared with what the server had after so long."""


async def ask_for(
    url: str, asked: Sequence[tuple[dict[str, Any], str]], num_clients: int, seconds: float, seen: Counter[str]
) -> list[float]:
    """Ask until the time is over, each client one after the other; count outcomes in `seen`, return seconds of each."""
    end = time.perf_counter() + seconds
    took: list[float] = []

    async def client(number: int) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=180, trust_env=False) as own:
            while time.perf_counter() < end:
                body, answer = asked[number % len(asked)]
                number += num_clients
                started = time.perf_counter()
                try:
                    response = await own.post("/v1/ask", json=body)
                except httpx.HTTPError as error:
                    seen[f"lost: {type(error).__name__}"] += 1
                    continue
                took.append(time.perf_counter() - started)
                if response.status_code != 200:
                    seen[f"status {response.status_code}"] += 1
                else:
                    seen["right" if response.json()["answer"] == answer else "wrong"] += 1

    await asyncio.gather(*(client(number) for number in range(num_clients)))
    return took


async def restart_database(instance: ServerPair, times: Sequence[float]) -> None:
    """Stop the database at each of the times, counted in seconds from now, and start it again."""
    began = time.perf_counter()
    for at in times:
        await asyncio.sleep(began + at - time.perf_counter())
        await asyncio.to_thread(instance.stop)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(instance.start, progress=False)


async def watch_memory(process: psutil.Process, samples: list[tuple[float, float]]) -> None:
    """Note seconds and resident MB every few seconds, until cancelled."""
    began = time.perf_counter()
    while True:
        samples.append((time.perf_counter() - began, process.memory_info().rss / 1e6))
        await asyncio.sleep(5)


def median_mb(samples: Sequence[tuple[float, float]], start_s: float, end_s: float) -> float:
    """Return the median of the memory between two times."""
    some = sorted(mb for at, mb in samples if start_s <= at <= end_s)
    return some[len(some) // 2] if some else float("nan")


async def soak(url: str, server: psutil.Process, asked: Sequence[tuple[dict[str, Any], str]], arguments: Any) -> None:
    """Run the clients, the restarts and the watch side by side, and print what came of it."""
    seconds = 60 * arguments.minutes
    seen: Counter[str] = Counter()
    samples: list[tuple[float, float]] = []
    watching = asyncio.create_task(watch_memory(server, samples))
    instance = ServerPair.of(resolve())
    took, _ = await asyncio.gather(
        ask_for(url, asked, arguments.clients, seconds, seen),
        restart_database(instance, [seconds / 3, 2 * seconds / 3]),
    )
    watching.cancel()
    print(f"{arguments.clients} clients, {arguments.minutes:g} min: {dict(seen)}")
    print(f"p50 {percentile_ms(took, 50):,.0f} ms, longest {max(took):,.1f} s")
    window = min(60.0, seconds / 10)
    start_s = min(SETTLED_S, seconds / 5)
    before = median_mb(samples, start_s, start_s + window)
    after = median_mb(samples, seconds - window, seconds)
    print(f"memory {before:,.0f} MB after {start_s:g} s, {after:,.0f} MB at the end ({after / before - 1:+.1%})")
    if set(seen) != {"right"}:
        sys.exit(1)


def answers(questions: Sequence[Any]) -> Mapping[str, str]:
    """Return the library's answer to each question, by its text and topics."""
    with Engine(resolve()) as engine:
        return {f"{q.text} {q.topic_entities}": engine.ask_batch([q])[0].text for q in questions}


def main() -> None:
    """Run it; exit code 1 if an answer was wrong or lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--questions", type=int, default=128, help="different questions")
    arguments = parser.parse_args()
    golds, _ = gold_questions(arguments.data / "questions-dev.jsonl.gz")
    questions = [gold.question for gold in golds][: arguments.questions]
    right = answers(questions)
    asked = [
        (body, right[f"{q.text} {q.topic_entities}"]) for body, q in zip(bodies(questions), questions, strict=True)
    ]
    command = [sys.executable, "-m", "lodestar", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            url = next(line for line in server.stderr if "http://" in line).split()[1].rstrip("/")
            asyncio.run(soak(url, psutil.Process(server.pid), asked, arguments))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
