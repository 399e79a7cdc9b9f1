from __future__ import annotations

import json
import re
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_tests.integration_tests import RetrieversIntegrationTests
from lodestar import LodestarRetriever
from lodestar.engine.errors import DatabaseUnavailableError, EntityNotFoundError, UsageError
from lodestar.engine.evidence.calibration import Calibration
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.values import Entity, Path, Question, Scored, Triple

from tests.made.evidence import chain_of, evidence_of, leads
from tests.places import ROOT

PERU = Entity("m.016wzw", "Peru")
MEDIATOR = Entity("m.0cvt")


class FakeEngine:
    """Finds `num_paths` paths for any question about Peru, the last of them through a mediator."""

    def __init__(self, num_paths: int = 5) -> None:
        self.num_paths = num_paths
        self.calls: list[tuple[str, str, int | None]] = []

    def retrieve(self, question: str | Question, *, top_k: int | None = None) -> Evidence[Chain]:
        self.calls.append(("retrieve", str(question), top_k))
        return self._retrieve(question, top_k)

    async def aretrieve(self, question: str | Question, *, top_k: int | None = None) -> Evidence[Chain]:
        self.calls.append(("aretrieve", str(question), top_k))
        return self._retrieve(question, top_k)

    def _retrieve(self, question: str | Question, top_k: int | None) -> Evidence[Chain]:
        asked = question if isinstance(question, Question) else Question(question)
        if "broken" in asked.text:
            raise DatabaseUnavailableError("nothing listens")
        if "Peru" not in asked.text:
            raise EntityNotFoundError("no known entity in the question")
        paths = [*(self._path(number) for number in range(self.num_paths - 1)), self._through_mediator()]
        scored = (Scored(path, 1.0 / rank) for rank, path in enumerate(paths[:top_k], start=1))
        return evidence_of(*scored, text=asked.text, calibration=Calibration("probability"))

    @staticmethod
    def _path(number: int) -> Chain:
        return leads(f"location.country.relation_{number}", Entity(f"m.{number}", f"Place_{number}"), topic=PERU)

    @staticmethod
    def _through_mediator() -> Chain:
        president = Entity("m.p", "Ana")
        instance = Path((Triple(PERU, "officials", MEDIATOR), Triple(president, "held", MEDIATOR)), (False, True))
        return chain_of(instance, cut=True)


class TestLodestarRetrieverWithFakeEngine(RetrieversIntegrationTests):
    """LangChain's own suite for retrievers."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return LodestarRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": FakeEngine()}

    @property
    def retriever_query_example(self) -> str:
        return "What is the capital of Peru?"


def test_a_document_reads_well_and_carries_score_rank_and_path() -> None:
    first, second = LodestarRetriever(engine=FakeEngine(2)).invoke("Who governs Peru?")
    assert first.page_content == "Peru —[country relation 0]→ Place 0"
    assert first.metadata == {
        "source": "lodestar",
        "abstained": None,
        "format": 1,
        "kind": "chain",
        "rank": 1,
        "score": 1.0,
        "probability": 1.0,
        "group": 0,
        "topic": {"id": "m.016wzw", "name": "Peru"},
        "relation_path": "location.country.relation_0",
        "steps": [
            {
                "relation": "location.country.relation_0",
                "inverse": False,
                "to_mediator": False,
                "triples": [["m.016wzw", "m.0"]],
            }
        ],
        "entities": [{"id": "m.016wzw", "name": "Peru"}, {"id": "m.0", "name": "Place_0"}],
        "targets": [],
        "ends": [{"id": "m.0", "name": "Place_0"}],
        "instances": [
            [
                {
                    "head": {"id": "m.016wzw", "name": "Peru"},
                    "relation": "location.country.relation_0",
                    "tail": {"id": "m.0", "name": "Place_0"},
                    "inverse": False,
                }
            ]
        ],
        "cut": False,
    }
    assert second.page_content == "Peru —[officials, inverse of held]→ Ana; and perhaps more"
    assert (second.metadata["rank"], second.metadata["score"], second.metadata["cut"]) == (2, 0.5, True)
    assert second.metadata["relation_path"] == "officials → ^held"
    assert len({first.id, second.id}) == 2


def test_metadata_survive_json() -> None:
    for document in LodestarRetriever(engine=FakeEngine()).invoke("Peru?"):
        assert json.loads(json.dumps(document.metadata)) == document.metadata


async def test_asyncio_is_native_and_gives_the_same() -> None:
    engine = FakeEngine()
    retriever = LodestarRetriever(engine=engine, k=4)
    assert await retriever.ainvoke("Peru?") == retriever.invoke("Peru?")
    assert await retriever.ainvoke("Peru?", k=2) == retriever.invoke("Peru?", k=2)
    assert [(name, top_k) for name, _, top_k in engine.calls] == [
        ("aretrieve", 4),
        ("retrieve", 4),
        ("aretrieve", 2),
        ("retrieve", 2),
    ]


async def test_a_question_without_a_known_entity_gives_no_documents() -> None:
    retriever = LodestarRetriever(engine=FakeEngine())
    assert retriever.invoke("What is love?") == []
    assert await retriever.ainvoke("What is love?") == []


async def test_other_errors_reach_the_caller_and_the_callbacks() -> None:
    seen: list[BaseException] = []

    class Handler(BaseCallbackHandler):
        def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
            seen.append(error)

    retriever = LodestarRetriever(engine=FakeEngine())
    with pytest.raises(DatabaseUnavailableError):
        retriever.invoke("broken", config={"callbacks": [Handler()]})
    with pytest.raises(DatabaseUnavailableError):
        await retriever.ainvoke("broken", config={"callbacks": [Handler()]})
    assert len(seen) == 2


def test_k_below_one_is_refused_in_both_places() -> None:
    with pytest.raises(ValueError, match="k"):
        LodestarRetriever(engine=FakeEngine(), k=0)
    with pytest.raises(UsageError, match="expected at least 1 item, found 0"):
        LodestarRetriever(engine=FakeEngine()).invoke("Peru?", k=0)


def test_an_engine_that_returns_more_than_k_is_cut() -> None:
    class Generous(FakeEngine):
        def retrieve(self, question: str | Question, *, top_k: int | None = None) -> Evidence[Chain]:
            return super().retrieve(question)

    assert len(LodestarRetriever(engine=Generous(), k=2).invoke("Peru?")) == 2


def test_batches_keep_their_order() -> None:
    batches = LodestarRetriever(engine=FakeEngine(), k=1).batch(["Peru?", "What is love?", "Peru!"])
    assert [len(documents) for documents in batches] == [1, 0, 1]


def test_the_engine_is_in_no_representation() -> None:
    assert "FakeEngine" not in repr(LodestarRetriever(engine=FakeEngine()))


def chain_of_the_docs(retriever: BaseRetriever, model: BaseChatModel) -> Runnable[str, str]:
    """Run the block under "In a chain" in docs/langchain.md and return the chain that it makes."""
    page = (ROOT / "docs" / "langchain.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"## In a chain\n+```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    chain: Runnable[str, str] = names["answering"](retriever, model)
    return chain


async def test_the_chain_of_the_docs_works() -> None:
    prompts: list[str] = []

    class Listening(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
            prompts.append(messages[0][0].text)

    chain = chain_of_the_docs(LodestarRetriever(engine=FakeEngine(2)), FakeListChatModel(responses=["Ana"]))
    config: RunnableConfig = {"callbacks": [Listening()]}
    assert chain.invoke("Who governs Peru?", config=config) == "Ana"
    assert await chain.ainvoke("Who governs Peru?", config=config) == "Ana"
    assert len(prompts) == 2
    for prompt in prompts:
        assert prompt.endswith(
            "Peru —[country relation 0]→ Place 0\n"
            "Peru —[officials, inverse of held]→ Ana; and perhaps more\n\n"
            "Question: Who governs Peru?"
        )
