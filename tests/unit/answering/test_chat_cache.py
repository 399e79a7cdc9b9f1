from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.llm import Completion, Message, Prompt, TokenUsage, make_cache_key
from lodestar.engine.llm.endpoint import ChatEndpoint
from lodestar.engine.llm.gateway import ReplyCache

SAID = Completion("Lima – \ud800", usage=TokenUsage(7, 2), logprobs=(("Li", -0.25), ("ma", -0.5)), model="m")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "replies.sqlite"


def test_what_was_said_comes_back_whole_and_marked(path: Path) -> None:
    cache = ReplyCache(path)
    assert cache.get("key") is None
    cache.put("key", SAID)
    cache.close()
    again = ReplyCache(path)
    found = again.get("key")
    assert found == Completion(SAID.content, None, SAID.usage, SAID.logprobs, "m", cached=True)
    again.put("plain", Completion("x"))
    assert again.get("plain") == Completion("x", cached=True)


def test_only_its_owner_reads_the_file(path: Path) -> None:
    ReplyCache(path).put("key", SAID)
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0


def test_keys_differ_by_all_that_may_change_a_reply() -> None:
    def key(text: str = "q", **options: object) -> str:
        base: dict[str, object] = {"base_url": "http://h:1/v1", "model": "m", "temperature": 0.0}
        endpoint = ChatEndpoint(**{**base, **{k: v for k, v in options.items() if k in base}})
        return endpoint.key_of(Prompt(text, **{k: v for k, v in options.items() if k not in base}))

    different = [
        key(),
        key("other"),
        key(base_url="https://h:1/v1"),
        key(model="n"),
        key(temperature=1.0),
        key(json=True),
        key(logprobs=True),
        key(max_tokens=5),
    ]
    assert len(set(different)) == len(different)
    assert key(base_url="http://user:secret@h:1/v1/?key=secret") == key()
    endpoint = ChatEndpoint(base_url="http://h:1/v1", model="m", api_key="secret")
    assert endpoint.key_of(Prompt((Message("user", "q"),))) == key()
    assert make_cache_key("", "", Prompt((Message("system", "q"),)), {}) != make_cache_key("", "", Prompt("q"), {})


@pytest.mark.parametrize(
    "content", [b"not a database", b"SQLite format 3\0" + b"\xff" * 5_000, b"x" * 100_000], ids=["text", "torn", "long"]
)
def test_a_file_that_is_no_cache_is_named_and_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "replies.sqlite"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"replies\.sqlite: expected a cache of LLM replies, .* delete it") as caught:
        ReplyCache(file)
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == content
