"""The database is stopped and started while questions wait: each gets its own answer, none is lost."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Settings

from tests.conftest import HEAP_MB, PAGECACHE_MB
from tests.made.serving import serving

CASES = {"Which currency is used in Peru?": "Peruvian sol", "What is the capital of Chile?": "Santiago de Chile"}


@pytest.mark.long
def test_questions_wait_for_a_database_that_comes_back(
    countries: None, settings: Settings, request: pytest.FixtureRequest
) -> None:
    if settings.uri:
        pytest.skip("LODESTAR_TEST_URI names a server that this test may not stop")
    server: EmbeddedServer = request.getfixturevalue("server")
    done = threading.Event()

    with serving(settings, ServerOptions(token="")) as url:

        def ask(number: int) -> int:
            question, answer = list(CASES.items())[number % len(CASES)]
            asked = 0
            with httpx.Client(base_url=url, trust_env=False, timeout=180) as client:
                while not done.is_set() or not asked:
                    response = client.post("/v1/ask", json={"question": question, "timeout_s": 120})
                    assert response.status_code == 200, response.text
                    assert response.json()["answer"] == answer
                    asked += 1
            return asked

        with ThreadPoolExecutor(8) as pool:
            asking = [pool.submit(ask, number) for number in range(8)]
            try:
                server.stop()
                with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
                    assert client.get("/healthz").status_code == 200
                    away = client.get("/readyz")
                    assert away.status_code == 503
                    assert "retry-after" in away.headers
                    late = client.post("/v1/ask", json={"question": "x", "timeout_s": 1})
                    assert late.status_code == 503
                    assert "Neo4j" in late.json()["error"]["message"]
            finally:
                server.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
                done.set()
            assert all(each.result() >= 1 for each in asking)
