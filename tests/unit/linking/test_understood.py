from __future__ import annotations

import pytest
from lodestar.engine.cli.render import format_topics, list_link_alternatives
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.values import Entity, Question, Topic


def topic(id_: str, name: str, score: float, span: tuple[int, int], mention: str = "paris", kind: str = "") -> Topic:
    return Topic(Entity(id_, name), 1, (), score, mention, name, score, span, kind)


PARIS = topic("m.1", "Paris", 0.7, (10, 15), kind="city")
HILTON = topic("m.2", "Paris_Hilton", 0.3, (10, 15))
FRANCE = topic("m.3", "France", 0.6, (20, 26), mention="France")


def understood(*topics: Topic) -> tuple[str, str]:
    taken = tuple(topics)
    evidence: Evidence[Chain] = Evidence(Question("where is paris in France"), taken, "chain")
    return format_topics(evidence), list_link_alternatives(evidence)


def test_no_chain_says_nothing() -> None:
    assert understood(PARIS, HILTON) == ("", "")


@pytest.mark.parametrize(("score", "said"), [(0.3, "Paris Hilton, m.2"), (0.1, "")])
def test_the_runner_up_is_named_where_it_is_close(score: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.cli.render.topics_of", lambda _: [PARIS, FRANCE])
    other = topic("m.2", "Paris_Hilton", score, (10, 15))
    assert understood(PARIS, FRANCE, other) == ("Paris (city), France", said)
