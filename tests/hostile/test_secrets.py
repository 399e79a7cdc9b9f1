"""Secrets of the environment are printed by no command, and go to nobody whom they were not given for."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Lodestar
from tests.fakes.scripted_llm import ScriptedLLM, says

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

QUESTION = "What is the capital of Peru?"
SECRETS = {
    "OPENAI_API_KEY": "sk-hush",
    "OPENAI_ADMIN_KEY": "sk-hush",
    "OPENAI_ORG_ID": "org-hush",
    "OPENAI_PROJECT_ID": "project-hush",
    "OPENAI_CUSTOM_HEADERS": "X-Hush: hush\nAuthorization: Bearer sk-hush",
}


def test_a_stranger_s_endpoint_gets_nothing_of_openai_s(lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    with ScriptedLLM([says({"answers": ["Lima"]})]) as proxy, ScriptedLLM([says({"answers": ["Lima"]})]) as llm:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("LODESTAR_LLM_BASE_URL", llm.base_url)
        monkeypatch.setenv("LODESTAR_LLM_MODEL", "scripted")
        ran = lodestar("ask", QUESTION, "--llm")
        assert ran.code == 0, ran.err
        assert "hush" not in str(llm.requests[0].headers)
        assert "hush" not in ran.out + ran.err
        assert not proxy.requests
