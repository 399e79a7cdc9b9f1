"""`lodestar serve --ray` on a cluster of two nodes: the server's own replies, also if a replica is killed or it stops."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
import neo4j
import psutil
import pytest
from lodestar import Engine
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.serving.server import TOKEN_VARIABLE, ServerOptions, bind_socket
from lodestar.engine.settings import Settings
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import clear_database
from tests.e2e.conftest import Lodestar
from tests.e2e.ray.conftest import PATIENCE_S, read_logs, workers
from tests.fakes.scripted_llm import Reply, Request, ScriptedLLM, says
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.made.serving import serving

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

REPLICA = "ray::ServeReplica"
TOKEN = "a token of sixteen characters and more"
QUESTION = "Which currency is used in Peru?"
LIMA = "What is the capital of Peru?"
BOLIVIA = "Which currency is used in Bolivia?"
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/ask", {"question": QUESTION, "drawing": True}),
    ("/v1/ask", {"questions": [LIMA, {"question": "Who?", "topics": ["m.nowhere"], "id": "q2"}, "nothing known"]}),
    ("/v1/ask", {"question": "capital?", "topics": ["Chile"], "options": {"max_hop": 1, "forms": True}}),
    ("/v1/ask", {"question": QUESTION, "options": {"top_k": 0}}),
    ("/v1/ask", {"question": QUESTION, "recipe": "none"}),
    ("/v1/ask", {"question": QUESTION, "timeout_s": 0.0001}),
    ("/v1/ask", {"questions": []}),
    ("/v1/retrieve", {"question": QUESTION, "options": {"top_k": 2}}),
    ("/v1/ask/stream", {"question": QUESTION}),
    ("/v1/entities", {"text": QUESTION}),
    ("/v1/relations", {"text": "currency", "limit": 3}),
    ("/v1/neighbours", {"entity": "m.peru", "limit": 2}),
    ("/v1/neighbours", {"entity": "m.nowhere"}),
    ("/v1/verify", {"path": [{"head": "m.peru", "relation": "location.country.capital", "tail": "m.lima"}]}),
    ("/v1/nothing", {}),
)
HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"authorization": "Bearer another"},
    {"authorization": f"Bearer {TOKEN}", "host": "graph.example.org"},
    {"authorization": f"Bearer {TOKEN}", "origin": "https://a.example"},
)


@contextmanager
def serve_on_ray(environment: dict[str, str], address: str, *options: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve by two replicas while the block runs; yield the address and what stops it, as the end of the block does."""
    with bind_socket("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "lodestar", "serve", "--ray", address, "--replicas", "2", "--port", str(port)]
    environment = environment | {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    with subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE, text=True) as process:

        @cache
        def stop() -> None:
            process.send_signal(signal.SIGTERM)

        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert f"http://127.0.0.1:{port}/" in line, line + process.stderr.read()
            yield f"http://127.0.0.1:{port}", stop
        finally:
            stop()
            _, rest = process.communicate(timeout=PATIENCE_S)
            assert (process.returncode, rest) == (0, "")
    assert not workers(REPLICA)


def connect(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_S)


def read_replica(client: httpx.Client) -> str:
    """Return the name of the replica that answered."""
    families = {each.name: each for each in text_string_to_metric_families(client.get("/metrics").text)}
    (sample,) = families["lodestar_replica_info"].samples
    return str(sample.labels["replica"])


def wait_for_two_replicas(client: httpx.Client) -> None:
    found: set[str] = set()

    def have_answered() -> bool:
        found.add(read_replica(client))
        return len(found) == 2

    wait_until(have_answered)


def strip_times(response: httpx.Response) -> tuple[int, str, str]:
    """Return status, type and text without what differs from run to run."""
    text = re.sub(r'("(?:seconds|round_trips|cached)":)[\d.e-]+', r"\1…", response.text)
    text = re.sub(r'"trace":\[.*?\](?=[,}])', '"trace":…', text)
    return response.status_code, response.headers["content-type"], text


def test_replies_are_those_of_one_process_to_the_byte(
    engine: Engine,
    settings: Settings,
    environment: dict[str, str],
    ray_address: str,
    gateway: Gateway,
    driver: neo4j.Driver,
    connection: Connection,
    lodestar: Lodestar,
) -> None:
    own = {"authorization": f"Bearer {TOKEN}"}
    with (
        serving(settings, ServerOptions(token=TOKEN)) as plain_url,
        serve_on_ray(environment | {TOKEN_VARIABLE: TOKEN}, ray_address) as (ray_url, _),
        connect(plain_url) as plain,
        connect(ray_url) as on_ray,
    ):
        for path, body in FORMS:
            one, two = (strip_times(each.post(path, json=body, headers=own)) for each in (plain, on_ray))
            assert two == one, path
        for headers in HEADERS:
            one, two = (
                strip_times(each.post("/v1/ask", json={"question": LIMA}, headers=headers)) for each in (plain, on_ray)
            )
            assert two == one
            assert two[0] in (401, 403, 421)
        for path in ("/", "/healthz", "/readyz", "/openapi.json", "/v1/models"):
            one, two = (strip_times(each.get(path, headers=own)) for each in (plain, on_ray))
            assert two == one, path
        for client in (plain, on_ray):
            client.headers.update(own)
        wait_for_two_replicas(on_ray)
        assert on_ray.post("/v1/ask", json={"question": BOLIVIA}).json()["found"] is False
        more = (*COUNTRIES, ("m.bolivia", "location.country.currency_used", "m.boliviano"))
        clear_database(driver, connection.database)
        load(TripleSource(more, {**COUNTRY_NAMES, "m.bolivia": "Bolivia", "m.boliviano": "Boliviano"}), gateway)
        for _ in range(8):  # of both replicas
            assert on_ray.post("/v1/ask", json={"question": BOLIVIA}).json()["answer"] == "Boliviano"
        second = lodestar("serve", "--ray", ray_address, "--port", "0")
        assert (second.code, second.err.count("\n")) == (2, 1), second.err
        assert "a Ray Serve runs there already" in second.err
    said = read_logs("*")
    assert "ServeReplica" in said
    assert TOKEN not in said
    assert QUESTION not in said


class HeldAnswers:
    """A language model whose replies wait until they are let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.llm = ScriptedLLM(itertools.repeat(self._answer))

    def _answer(self, _request: Request) -> Reply:
        assert self.go.wait(PATIENCE_S)
        return says({"answers": ["Peruvian sol"], "confidence": 0.9})

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LODESTAR_LLM_BASE_URL": self.llm.base_url,
            "LODESTAR_LLM_MODEL": "scripted",
            "LODESTAR_LLM_API_KEY": "none",
            "LODESTAR_LLM_TIMEOUT_S": str(PATIENCE_S),
        }


@contextmanager
def ask_and_hold(url: str, held: HeldAnswers, num: int) -> Iterator[list[Future[httpx.Response]]]:
    """Yield the replies of questions that wait for the language model in both replicas."""
    with connect(url) as client, held.llm, ThreadPoolExecutor(num) as pool:
        try:
            bodies = [{"question": f"{QUESTION} ({n})", "timeout_s": PATIENCE_S} for n in range(num)]
            asked = [pool.submit(client.post, "/v1/ask", json=body) for body in bodies]
            wait_until(lambda: all(has_connection(each, held.llm.port) for each in workers(REPLICA)))
            yield asked
        finally:
            held.go.set()


def has_connection(process: psutil.Process, port: int) -> bool:
    return any(each.raddr and each.raddr.port == port for each in process.net_connections())


def wait_until(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.05)


def test_a_replica_that_is_killed_costs_its_own_requests(
    engine: Engine, environment: dict[str, str], ray_address: str
) -> None:
    held = HeldAnswers()
    with (
        serve_on_ray(environment | held.environment, ray_address, "--set", "answerer.kind=llm") as (url, _),
        ask_and_hold(url, held, 8) as asked,
        connect(url) as client,
    ):
        workers(REPLICA)[0].kill()
        wait_until(lambda: any(each.done() for each in asked))
        held.go.set()
        replies = [each.result() for each in asked]
        assert {each.status_code for each in replies} == {200, 500}
        assert all(each.json()["answer"] == "Peruvian sol" for each in replies if each.status_code == 200)
        for n in range(20):
            again = client.post("/v1/ask", json={"question": f"{QUESTION} again ({n})"})
            assert again.json()["answer"] == "Peruvian sol", again.text
        wait_for_two_replicas(client)


def test_what_waits_at_the_end_is_answered(engine: Engine, environment: dict[str, str], ray_address: str) -> None:
    held = HeldAnswers()
    with serve_on_ray(environment | held.environment, ray_address, "--set", "answerer.kind=llm") as (url, stop):
        with ask_and_hold(url, held, 6) as asked:
            stop()
            with connect(url) as client:
                wait_until(lambda: client.post("/v1/entities", json={"text": "Peru"}).status_code in (404, 503))
            assert not any(each.done() for each in asked)
        for each in asked:
            assert each.result().json()["answer"] == "Peruvian sol", each.result().text


def test_too_many_are_refused_with_retry_after(engine: Engine, environment: dict[str, str], ray_address: str) -> None:
    held = HeldAnswers()
    options = ("--set", "answerer.kind=llm", "--max-batch", "1", "--max-queue", "2")
    with serve_on_ray(environment | held.environment, ray_address, *options) as (url, _):
        with ask_and_hold(url, held, 40) as asked:
            wait_until(lambda: sum(each.done() for each in asked) >= 30)
        replies = [each.result() for each in asked]
    assert {each.status_code for each in replies} == {200, 429}
    answered = [each for each in replies if each.status_code == 200]
    assert 6 <= len(answered) <= 10  # of each replica two run and two wait, and one may be on its way
    assert all(int(each.headers["retry-after"]) >= 1 for each in replies if each.status_code == 429)


def test_what_nobody_waits_for_is_not_asked(engine: Engine, environment: dict[str, str], ray_address: str) -> None:
    held = HeldAnswers()
    options = ("--set", "answerer.kind=llm", "--max-batch", "1")
    with serve_on_ray(environment | held.environment, ray_address, *options) as (url, _):
        with ask_and_hold(url, held, 12) as asked, connect(url) as client:
            for _ in range(4):
                late = client.post("/v1/ask", json={"question": LIMA, "timeout_s": 0.2})
                assert late.status_code == 504, late.text
        assert {each.result().status_code for each in asked} == {200}
    assert not [each for each in held.llm.requests if LIMA in each.prompt]


def test_what_does_not_fit_is_one_line(lodestar: Lodestar, engine: Engine, ray_address: str) -> None:
    with bind_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = lodestar("serve", "--ray", ray_address, "--port", port)
        assert (refused.code, refused.err.count("\n")) == (lodestar("serve", "--port", port).code, 1), refused.err
        assert "give another --port" in refused.err
    too_many = lodestar("serve", "--ray", ray_address, "--replicas", "9", "--port", "0")
    assert too_many.code == 2
    assert too_many.err == "lodestar: --replicas 9: expected at most one for each CPU of the cluster, it has 2\n"
    assert not workers(REPLICA)
