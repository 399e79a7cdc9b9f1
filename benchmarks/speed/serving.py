"""What serving costs and brings: HTTP clients against the library's batches, closed loop and overload, as ratios.

Run ``python -m benchmarks.speed.serving --data FOLDER`` with FB15k-237 loaded. The clients run in a process of their
own and share the machine with the server and the database: their processor time is said. All ratios are to what the
same run measures of the library; milliseconds do not travel.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from lodestar.engine.api import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.recipes import read_recipe
from lodestar.engine.settings import resolve_settings

from ..measuring import gold_questions, percentile_ms, run_in_process, seconds_of

BATCH = 64
CLIENTS = 32
WARM_UP = 32


async def ask_once(session: aiohttp.ClientSession, body: dict[str, Any]) -> tuple[int, float]:
    started = time.perf_counter()
    async with session.post("/v1/ask", json=body) as response:
        await response.read()
    return response.status, time.perf_counter() - started


def make_session(url: str) -> aiohttp.ClientSession:
    """Return a client: aiohttp's, since httpx takes 16 ms a request while hundreds are open."""
    timeout = aiohttp.ClientTimeout(total=180)
    return aiohttp.ClientSession(url, timeout=timeout, connector=aiohttp.TCPConnector(limit=0))


async def closed_loop(url: str, asked: Sequence[dict[str, Any]], num_clients: int) -> list[tuple[int, float]]:
    """Ask all, each client one after the other; status and seconds of each."""
    waiting = iter(asked)
    outcomes: list[tuple[int, float]] = []

    async def client() -> None:
        async with make_session(url) as own:
            for body in waiting:
                outcomes.append(await ask_once(own, body))  # noqa: PERF401

    await asyncio.gather(*(client() for _ in range(num_clients)))
    return outcomes


async def open_loop(url: str, asked: Sequence[dict[str, Any]], rate: float, seconds: float) -> list[tuple[int, float]]:
    """Send so many requests a second, whatever comes back; status and seconds of each."""
    async with make_session(url) as session:
        tasks = []
        begun = time.perf_counter()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(ask_once(session, asked[number % len(asked)])))
        return list(await asyncio.gather(*tasks))


def clients(loop: Callable[..., Any], *arguments: Any) -> tuple[list[tuple[int, float]], float, float]:
    """Run a loop of clients: outcomes, wall seconds, their processor seconds."""
    began, began_cpu = time.perf_counter(), time.process_time()
    found = asyncio.run(loop(*arguments))
    return found, time.perf_counter() - began, time.process_time() - began_cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--checkpoint", default="", help="folder of a trained scorer (default: similarity)")
    parser.add_argument("--questions", type=int, default=256, help="questions of each measurement")
    parser.add_argument("--overload-s", type=float, default=10.0, help="seconds of overload, 0 for none")
    arguments = parser.parse_args()
    checkpoint = {"star.checkpoint": arguments.checkpoint} if arguments.checkpoint else {}
    recipe = read_recipe("star" if checkpoint else "similarity", options=checkpoint)  # what the server asks with
    path = arguments.data / "questions-dev.jsonl.gz"
    questions, sha256 = gold_questions(path)
    questions = questions[: arguments.questions]
    figures: dict[str, float] = {"n": len(questions)}
    with Engine(resolve_settings(), recipe=recipe) as engine:
        figures |= library(engine, questions)
    with_checkpoint = ["--checkpoint", arguments.checkpoint] if arguments.checkpoint else []
    command = [sys.executable, "-m", "lodestar", "serve", "--port", "0"]
    began = time.perf_counter()
    with subprocess.Popen([*command, *with_checkpoint], stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            url = next(line for line in server.stderr if "http://" in line).split()[1].rstrip("/")
            figures["start s"] = time.perf_counter() - began
            figures |= served(url, questions, arguments.overload_s)
            figures["memory MB"] = memory_mb(psutil.Process(server.pid))
        finally:
            server.terminate()
    figures["throughput ratio"] = figures["http 32 per s"] / figures["batch of 64 per s"]
    figures["p95 at 32 over p50 alone"] = figures["http 32 p95 ms"] / figures["http 1 p50 ms"]
    figures["http over library, ms"] = figures["http 1 p50 ms"] - figures["blocking p50 ms"]
    print(
        f"{path.name} (sha256 {sha256}…), gold topic entities, recipe {'star' if with_checkpoint else 'similarity'}\n"
    )
    print("| figure | |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {value:,.3g} |")


def memory_mb(process: psutil.Process) -> float:
    """Return the memory of a process and those that it started; what several share counts once."""
    return sum(each.memory_full_info().pss for each in [process, *process.children(recursive=True)]) / 1e6


def library(engine: Engine, questions: Sequence[Question]) -> dict[str, float]:
    """Measure the library alone: batches of 64, one asker; each text was met once before."""

    def ask_all() -> None:
        for start in range(0, len(questions), BATCH):
            engine.ask_batch(questions[start : start + BATCH])

    ask_all()
    per_s = len(questions) / seconds_of(ask_all)
    some = questions[: max(WARM_UP, len(questions) // 4)]
    blocking = [seconds_of(partial(engine.ask_batch, [question])) for question in some]
    return {"batch of 64 per s": per_s, "blocking p50 ms": percentile_ms(blocking, 50)}


def served(url: str, questions: Sequence[Question], overload_s: float) -> dict[str, float]:
    """Measure the server: one client, 32 in a closed loop, and four times its capacity in an open one."""
    asked = [{"question": q.text, "topics": list(q.topic_entities), "timeout_s": 120} for q in questions]
    run_in_process(clients, closed_loop, url, asked, 8)  # every text is met once, as by the library
    few = asked[: max(WARM_UP, len(asked) // 4)]
    one, _, _ = run_in_process(clients, closed_loop, url, few, 1)
    many, wall_s, cpu_s = run_in_process(clients, closed_loop, url, asked * 2, CLIENTS)
    figures = {
        "http 1 p50 ms": percentile_ms([seconds for _, seconds in one], 50),
        "http 32 per s": len(many) / wall_s,
        "http 32 p50 ms": percentile_ms([seconds for _, seconds in many], 50),
        "http 32 p95 ms": percentile_ms([seconds for _, seconds in many], 95),
        "failed of 32": float(sum(status != 200 for status, _ in many)),
        "clients' processor s per question": cpu_s / len(many),
    }
    if overload_s:
        rate = 4 * figures["http 32 per s"]
        outcomes, wall_s, _ = run_in_process(clients, open_loop, url, asked, rate, overload_s)
        refused = [seconds for status, seconds in outcomes if status == 429]
        figures |= {
            "overload: offered per s": rate,
            "overload: goodput over capacity": sum(s == 200 for s, _ in outcomes) / wall_s / figures["http 32 per s"],
            "overload: 429 p50 ms": percentile_ms(refused, 50),
            "overload: 429 p95 ms": percentile_ms(refused, 95),
            "overload: neither 200 nor 429": float(sum(s not in (200, 429) for s, _ in outcomes)),
        }
    return figures


if __name__ == "__main__":
    main()
