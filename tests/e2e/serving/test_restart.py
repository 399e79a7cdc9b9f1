"""The database is stopped and started while the server runs: questions are refused meanwhile, and answered again."""

from __future__ import annotations

import httpx
import pytest
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Settings

from tests.conftest import HEAP_MB, PAGECACHE_MB
from tests.made.serving import serving

ASKED = {"question": "Which currency is used in Peru?", "timeout_s": 120}


@pytest.mark.long
def test_questions_are_refused_while_the_database_is_away(
    countries: None, settings: Settings, request: pytest.FixtureRequest
) -> None:
    if settings.uri:
        pytest.skip("LODESTAR_TEST_URI names a server that this test may not stop")
    server: EmbeddedServer = request.getfixturevalue("server")
    with (
        serving(settings, ServerOptions(token="")) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=180) as client,
    ):
        assert client.post("/v1/ask", json=ASKED).json()["answer"] == "Peruvian sol"
        try:
            server.stop()
            assert client.get("/healthz").status_code == 200
            away, refused = client.get("/readyz"), client.post("/v1/ask", json=ASKED)
            assert (away.status_code, refused.status_code) == (503, 503)
            assert "retry-after" in away.headers
            assert "Neo4j" in refused.json()["error"]["message"]
        finally:
            server.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
        assert client.post("/v1/ask", json=ASKED).json()["answer"] == "Peruvian sol"
