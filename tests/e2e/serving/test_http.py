"""The endpoints over a real socket: what they answer, what they refuse, and how many askers fare at once."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import openai
import pytest
from lodestar import Engine
from lodestar.engine.recipes import read_recipe
from lodestar.engine.serving import Batcher, lookups, server
from lodestar.engine.serving.lookups import AskForm, ChatForm
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Settings
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel, ValidationError

from tests.fakes.scripted_llm import ScriptedLLM, says
from tests.made.graphs import COUNTRIES
from tests.made.serving import serving

QUESTION = "Which currency is used in Peru?"


def timeless(data: dict[str, Any]) -> dict[str, Any]:
    """What an answer says but how long it took."""
    return {name: value for name, value in data.items() if name not in ("seconds", "round_trips")}


def error(response: httpx.Response) -> str:
    """The one line of an error, in OpenAI's form."""
    body = response.json()["error"]
    assert body["code"] == response.status_code
    assert "\n" not in body["message"]
    return str(body["message"])


@pytest.fixture(scope="module")
def direct(url: str, settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as engine:
        yield engine


# Questions


def test_an_answer_is_the_engines_own(client: httpx.Client, direct: Engine) -> None:
    found = client.post("/v1/ask", json={"question": QUESTION})
    assert found.status_code == 200
    assert timeless(found.json()) == timeless(json.loads(json.dumps(direct.ask(QUESTION).to_dict())))
    assert found.json()["answer"] == "Peruvian sol"


# OpenAI's form


def test_openais_client_lists_models_and_asks(url: str) -> None:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    assert [model.id for model in client.models.list()] == ["lodestar"]
    messages: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="lodestar", messages=messages)
    content = whole.choices[0].message.content or ""
    assert content.startswith("Peruvian sol\n\n- Peru —[country currency used]→ Peruvian sol")
    usage, parts = {"include_usage": True}, [{"type": "text", "text": messages[-1]["content"]}]
    asked = [{"role": "user", "content": parts}]
    chunks = list(client.chat.completions.create(model="lodestar", messages=asked, stream=True, stream_options=usage))
    assert chunks[-1].usage is not None
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said.startswith("Peruvian sol")
    with pytest.raises(openai.BadRequestError, match="is not served here"):
        client.chat.completions.create(model="gpt-9", messages=messages)


# The graph


def test_the_graph_is_described_with_questions_that_it_answers(client: httpx.Client) -> None:
    graph = client.get("/v1/graph").json()
    assert graph["num_triples"] == len(COUNTRIES)
    questions = client.get("/v1/graph/questions").json()["questions"]
    assert 3 <= len(questions) <= 6
    for question in questions:
        answer = client.post("/v1/ask", json={"question": question}).json()
        assert answer["found"], question
        assert not answer["unsure"], question


# Health, metrics, documentation


def test_metrics_are_read_by_prometheus_own_parser(client: httpx.Client) -> None:
    client.post("/v1/ask", json={"question": QUESTION})
    families = {each.name: each for each in text_string_to_metric_families(client.get("/metrics").text)}
    stages = {sample.labels.get("stage") for sample in families["lodestar_stage_seconds"].samples}
    assert stages >= {"link", "hop 1", "answer"}
    for name in ("requests", "queue", "round_trips", "tokens", "questions"):
        assert f"lodestar_{name}" in families
    asked = [s for s in families["lodestar_requests"].samples if s.labels.get("endpoint") == "/v1/ask"]
    assert sum(s.value for s in asked if s.name.endswith("_total")) >= 1
    client.get("/" + "x" * 30)
    assert "xxx" not in client.get("/metrics").text


def test_the_documentation_is_valid_and_asks_no_other_host(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    validate(described)
    assert {"/v1/ask", "/v1/retrieve", "/v1/chat/completions"} <= set(described["paths"])
    for page in ("/", "/docs"):
        response = client.get(page)
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "http://" not in response.text.replace("http://www.w3.org", "")
        assert "https://" not in response.text
    for name in ("cytoscape.min.js", "swagger-ui-bundle.js", "swagger-ui.css", "page.js"):
        assert client.get(f"/assets/{name}").status_code == 200
    assert client.get("/assets/..%2f..%2fservice.py").status_code == 404


# What is refused


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"question": "x", "recipe": "star"}, 422, "unknown field 'recipe'"),
        ({"question": "x", "options": {"checkpoint": "/etc/passwd"}}, 422, "options"),
        ({"question": "x", "options": {"top_k": 10_000}}, 422, "less than or equal to 100"),
        ({"question": "x", "checkpoint": "/tmp"}, 422, "checkpoint"),
        ({"question": "x" * 10_001}, 422, "question"),
        ({}, 422, "question"),
        ({"question": "x", "timeout_s": 1e9}, 422, "timeout_s"),
        ([], 422, "the body"),
    ],
)
def test_bad_input_is_one_line(client: httpx.Client, body: Any, status: int, says: str) -> None:
    for path in ("/v1/ask", "/v1/retrieve"):
        refused = client.post(path, json=body)
        assert refused.status_code == status, refused.text
        assert says in error(refused)


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (AskForm, {"question": "x", **dict.fromkeys(map(str, range(50_000)))}),
        (AskForm, {"question": "x", "options": dict.fromkeys(map(str, range(50_000)))}),
        (ChatForm, {"messages": [{"role": "user", "content": [1] * 50_000}]}),
        (ChatForm, {"messages": [{"role": 1, "content": [{"type": 1, "text": None}] * 100}] * 200}),
    ],
)
def test_a_body_of_many_faults_is_refused_at_the_first(form: type[BaseModel], body: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        form.model_validate(body)
    assert refused.value.error_count() <= 4


def test_what_is_no_json_or_no_endpoint_is_one_line(client: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    assert client.post("/v1/ask", content=b'{"question": "\xff', headers=headers).status_code in (400, 422)
    assert client.post("/v1/ask", content=b'{"question": "\\ud800"}', headers=headers).status_code in (400, 422)
    assert client.post("/v1/ask", content=b"[" * 100_000, headers=headers).status_code in (400, 422)
    assert "see /docs" in error(client.get("/v1/nothing"))
    assert client.get("/v1/ask").status_code == 405


def test_a_body_of_100_mb_is_refused_before_it_is_read(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        head = f"POST /v1/ask HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100000000\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(4096).split(b"\r\n")[0]


def test_a_body_without_a_length_is_bounded_too(client: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 100_000

    refused = client.post("/v1/ask", content=pieces(), headers={"content-type": "application/json"})
    assert refused.status_code == 413
    assert "at most 500,000 bytes" in error(refused)
    refused = client.post("/v1/ask", content=b" " * 5_000_000, headers={"content-type": "application/json"})
    assert refused.status_code == 413
    assert "at most 500,000 bytes" in error(refused)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
def test_a_host_of_another_site_is_refused(client: httpx.Client, host: str) -> None:
    refused = client.get("/healthz", headers={"host": host})
    assert refused.status_code in (400, 421)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_an_origin_of_another_site_is_refused(client: httpx.Client, origin: str) -> None:
    refused = client.post("/v1/ask", json={"question": QUESTION}, headers={"origin": origin})
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


# Access rules


def test_a_token_is_asked_for_where_there_is_one(countries: None, settings: Settings) -> None:
    token = "correct-horse-battery"
    options = ServerOptions(token=token)
    with serving(settings, options) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Bearer {token}x"}):
            refused = client.post("/v1/ask", json={"question": QUESTION}, headers=given)
            assert refused.status_code == 401
            assert token not in refused.text
        for path in ("/metrics", "/v1/models"):
            assert client.get(path).status_code == 401
        assert client.post("/mcp", json={}).status_code == 401
        for path in ("/healthz", "/readyz", "/", "/assets/page.js"):
            assert client.get(path).status_code == 200
        right = {"authorization": f"Bearer {token}"}
        assert client.post("/v1/ask", json={"question": QUESTION}, headers=right).json()["answer"] == "Peruvian sol"


# Many at once, and those who go away


def test_too_many_are_refused_at_once_with_retry_after(
    countries: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(Batcher, max_batch=1, max_queue=2, workers=1)
    monkeypatch.setattr("lodestar.engine.serving.Batcher", small)
    with serving(settings) as url:

        async def ask(client: httpx.AsyncClient) -> tuple[int, float, str]:
            started = time.perf_counter()
            response = await client.post("/v1/ask", json={"question": QUESTION})
            return response.status_code, time.perf_counter() - started, response.headers.get("retry-after", "")

        async def flood() -> list[tuple[int, float, str]]:
            async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
                return await asyncio.gather(*(ask(client) for _ in range(24)))

        outcomes = asyncio.run(flood())
    statuses = [status for status, _, _ in outcomes]
    assert statuses.count(200) >= 3  # the queue, and what the worker takes out of it
    assert statuses.count(429) >= 12
    assert set(statuses) == {200, 429}
    assert all(int(after) >= 1 for status, _, after in outcomes if status == 429)


def test_a_deadline_is_kept(client: httpx.Client) -> None:
    late = client.post("/v1/ask", json={"question": QUESTION, "timeout_s": 0.0001})
    assert late.status_code == 504
    assert "0.0001 s" in error(late)


def test_requests_that_are_cut_and_clients_that_read_nothing_take_nothing_from_others(
    url: str, client: httpx.Client
) -> None:
    host, port = url.removeprefix("http://").split(":")
    body = json.dumps({"question": QUESTION}).encode()
    head = f"POST /v1/ask HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    open_ones = []
    for number in range(20):
        connection = socket.create_connection((host, int(port)))
        if number % 2:
            connection.sendall(head.encode())  # and no more: half a request
        else:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        open_ones.append(connection)
    for connection in open_ones[:10]:
        connection.close()
    assert client.post("/v1/ask", json={"question": QUESTION}).json()["answer"] == "Peruvian sol"
    for connection in open_ones[10:]:
        connection.close()
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(("name", "path", "times"), [("find_questions", "/questions", 1), ("describe_graph", "", 4)])
def test_a_page_that_is_loaded_again_and_again_does_not_fill_the_threads(
    url: str, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, name: str, path: str, times: int
) -> None:
    looked: list[Engine] = []
    go = threading.Event()

    def look(engine: Engine) -> dict[str, Any]:
        looked.append(engine)
        go.wait(30)
        return {}

    monkeypatch.setattr(lookups, name, look)
    host, port = url.removeprefix("http://").split(":")
    with ExitStack() as connections:
        for _ in range(12):
            connection = connections.enter_context(socket.create_connection((host, int(port))))
            connection.sendall(f"GET /v1/graph{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        for _ in range(200):
            time.sleep(0.0 if len(looked) == times else 0.05)
        assert len(looked) == times
        if path:
            assert client.get("/v1/graph").status_code == 200  # a thread is free
    time.sleep(0.5)
    go.set()
    time.sleep(0.5)
    assert len(looked) == times  # none of those who left is looked for
    assert client.get(f"/v1/graph{path}").json() == {}


def test_a_head_or_a_body_that_does_not_come_is_not_waited_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODY_TIMEOUT_S", 0.3)
    monkeypatch.setattr(server, "HEADER_TIMEOUT_S", 0.3)
    host, port = url.removeprefix("http://").split(":")
    head = f"POST /v1/ask HTTP/1.1\r\nHost: {host}:{port}\r\n"
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(f"{head}Content-Length: 50\r\n\r\n{{".encode())
        assert b" 408 " in slow.recv(4096).split(b"\r\n")[0]
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(head.encode())
        assert slow.recv(4096) == b""
    with socket.create_connection((host, int(port)), timeout=10) as slow:  # a byte now and then, after a whole request
        slow.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert b" 200 " in slow.recv(4096)
        with pytest.raises(OSError):
            for byte in head * 3:
                slow.sendall(byte.encode())
                time.sleep(0.05)


def test_an_address_that_others_reach_needs_a_token() -> None:
    from lodestar.engine.errors import UsageError

    with pytest.raises(UsageError, match="LODESTAR_TOKEN"):
        ServerOptions(host="0.0.0.0", token="").check()
    for bad in ("short", " " * 40):
        with pytest.raises(UsageError, match="at least 16"):
            ServerOptions(token=bad).check()
    ServerOptions(host="0.0.0.0", token="x" * 16).check()


def test_tokens_of_a_language_model_are_counted(countries: None, settings: Settings) -> None:
    recipe = read_recipe("similarity", options={"answerer.kind": "llm"})
    with ScriptedLLM([says('{"answers": ["Peruvian sol"], "confidence": 0.9}')]) as llm:
        with_model = replace(settings, llm_base_url=llm.base_url, llm_model="scripted", llm_api_key="none")
        with serving(with_model, recipe=recipe) as url, httpx.Client(base_url=url, trust_env=False) as own:
            whole = own.post("/v1/ask", json={"question": QUESTION}, timeout=60).json()
            tokens = own.get("/metrics").text
    assert whole["answers"][0]["id"] == "m.sol"
    assert 'lodestar_tokens_total{direction="prompt"}' in tokens
