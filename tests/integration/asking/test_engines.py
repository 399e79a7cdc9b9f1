"""Engines over a driver of one's own, pickled ones, asyncio in threads, and answers that a filter restricts."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.data_model import Question
from lodestar.engine.errors import UsageError
from lodestar.engine.integrations.langchain import LodestarRetriever
from lodestar.engine.settings import Settings

from tests.conftest import OpenOver
from tests.made.graphs import TripleSource

WORKS = (
    ("ann", "made", "alien"), ("ann", "made", "alone"), ("ann", "made", "ode"), ("alien", "instance of", "film"),
    ("alone", "instance of", "film"), ("ode", "instance of", "poem"), ("alien", "sequel", "aliens"),
    ("aliens", "instance of", "film"), ("alone", "country", "peru"),
)  # fmt: skip
NAMES = {id_: id_.title() for triple in WORKS for id_ in (triple[0], triple[2])}
NUM_CALLS = 32
ASKED = Question("What was made by Ann?", ("ann",))


@pytest.fixture(scope="module")
def works(open_over: OpenOver) -> Iterator[Engine]:
    with open_over(TripleSource(WORKS, NAMES)) as engine:
        yield engine


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, {"Alien", "Alone", "Ode"}),
        ({"kind": "Film"}, {"Alien", "Alone"}),
        ({"kind": "poem"}, {"Ode"}),
        ({"relation": "sequel"}, {"Alien"}),
        ({"kind": "film", "country": "Peru"}, {"Alone"}),
        ({"kind": "poem", "country": "Peru"}, set()),
    ],
)
def test_a_filter_restricts_the_answers(works: Engine, given: dict[str, str] | None, names: set[str]) -> None:
    assert set(works.ask(ASKED, filter=given, max_hop=1).names) == names
    evidence = works.retrieve(ASKED, filter=given)
    ends = {end.name for item in evidence.items if str(item.value.relation_path) == "made" for end in item.value.ends}
    assert ends == names


def test_a_filter_of_a_relation_or_a_kind_that_is_not_there_is_said(works: Engine) -> None:
    with pytest.raises(UsageError, match="'films'; nearest: Film"):
        works.ask(ASKED, filter={"kind": "films"})
    with pytest.raises(UsageError, match="colour"):
        works.ask(ASKED, filter={"colour": "red"})
    with pytest.raises(UsageError, match="filter: expected at most 10 keys with a text"):
        works.ask(ASKED, filter={"kind": ["film"]})  # type: ignore[dict-item]


def test_an_engine_over_a_driver_leaves_it_open(works: Engine, driver: neo4j.Driver, settings: Settings) -> None:
    with Engine(settings, driver=driver) as engine:
        assert engine.ask(ASKED).names == works.ask(ASKED).names
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(engine)
    driver.verify_connectivity()


def test_a_pickled_engine_asks_the_same_graph(works: Engine) -> None:
    with pickle.loads(pickle.dumps(works)) as other:
        assert other.ask(ASKED).names == works.ask(ASKED).names
    retriever = pickle.loads(pickle.dumps(LodestarRetriever(engine=works)))
    with retriever.engine:
        assert len(retriever.invoke(ASKED)) == len(LodestarRetriever(engine=works).invoke(ASKED))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_asyncio_gives_the_same_and_leaves_nothing_open(works: Engine) -> None:
    expected = works.ask(ASKED).names

    async def ask(times: int) -> list[tuple[str, ...]]:
        return [answer.names for answer in await asyncio.gather(*(works.aask(ASKED) for _ in range(times)))]

    def num_open() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    assert asyncio.run(ask(NUM_CALLS)) == [expected] * NUM_CALLS
    before = num_open()
    for _ in range(NUM_CALLS):
        assert asyncio.run(ask(2)) == [expected] * 2
    assert num_open() <= before + NUM_CALLS // 2, "one more for each event loop"


async def test_a_cancelled_task_lets_its_thread_end(works: Engine) -> None:
    task = asyncio.create_task(works.aask(ASKED))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await works.aask(ASKED)).found
