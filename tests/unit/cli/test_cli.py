"""Verbs without a database: servers by name, what is not there, warnings."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner
from lodestar.engine.cli import WarningLines
from lodestar.engine.cli.db import db_command
from lodestar.engine.cli.render import result_lines
from lodestar.engine.data_model import Chain, ChainStep, Entity, Question, RelationStep, Scored, Topic
from lodestar.engine.evidence import Evidence
from lodestar.engine.linking.entity_index import get_entity_index_folder
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Settings, make_connection


def test_each_name_is_a_server_with_an_address_and_an_index_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def status(server: EmbeddedServer) -> Any:
        return SimpleNamespace(phase="running", running=True, bolt_uri=f"bolt://{server.name}")

    monkeypatch.setattr(EmbeddedServer, "status", status)
    both = [Settings(home=str(tmp_path), name=name) for name in ("films", "laws")]
    for each in both:
        home = EmbeddedServer.of(each).home
        home.create()
        home.private_file("password", each.name)
    connections = [make_connection(each) for each in both]
    assert [(each.uri, each.password) for each in connections] == [("bolt://films", "films"), ("bolt://laws", "laws")]
    assert len({get_entity_index_folder(*each) for each in zip(both, connections, strict=True)}) == 2


# What is not there is not said to be deleted.


def test_a_server_that_is_not_there_is_not_deleted(tmp_path: Path) -> None:
    ran = CliRunner().invoke(db_command, ["reset", "--name", "nope", "--json"], env={"LODESTAR_HOME": str(tmp_path)})
    assert ran.exit_code == 0
    assert "nope: there is no such server, nothing deleted" in ran.stderr
    assert json.loads(ran.stdout) == {"name": "nope", "deleted": None}


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    log = logging.getLogger("lodestar")
    before = list(log.handlers)
    yield
    log.handlers[:] = before


def test_a_warning_is_one_harmless_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("lodestar").addHandler(WarningLines(logging.WARNING))
    logging.getLogger("lodestar.engine.api").warning("the load of a\x1b[31m\nb did not finish")
    logging.getLogger("lodestar.engine.api").info("not shown")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "lodestar: the load of a\\x1b[31m b did not finish\n")


def test_what_else_the_words_of_a_topic_may_mean_is_named() -> None:
    there, same, far, other = (Entity(f"m.{at}", "Paris") for at in range(4))
    rome = Entity("m.9", "Rome")
    chain = Chain(there, (ChainStep(RelationStep("twin"), ((there, rome),)),), (rome,))
    topics = tuple(
        Topic(entity, score=score, mention="Paris", span=span)
        for entity, score, span in (
            (there, 1.0, (0, 5)),
            (same, 0.4, (0, 5)),
            (far, 0.2, (0, 5)),
            (other, 0.9, (9, 14)),
        )
    )
    found = Evidence(Question("Paris and Paris?"), topics, "chain", (Scored(chain, 1.0),))
    last = click.unstyle([*result_lines(found, 1)][-1])
    assert ("m.1" in last, "m.2" in last, "m.3" in last) == (True, False, False)
