"""The engine: one object over one graph, for questions one at a time or in batches, blocking or with asyncio."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from ..models.encoder import EncoderUnavailableError, SentenceEncoder
from ..models.similarity import Weights
from ..models.text_vectors import TextVectors
from .answering.calibrated import extractive_answerer
from .answering.extractive import ExtractiveAnswerer
from .database.catalogue import Catalogue, Edition, RelationInfo, read_catalogue, read_edition, read_graph_state
from .database.gateway import AsyncGateway, Connection, Gateway
from .errors import EncoderError, EntityNotFoundError, LodestarError, UnknownRelationError, UsageError
from .linking import FullTextLinker, explicit
from .relations.index import RelationIndex, index_folder, open_index
from .relations.words import words_of_relation
from .retrieval.beam import LINK_WEIGHT, BeamSearch
from .retrieval.frontier import Bounds
from .retrieval.scoring import PathScorer
from .retrieval.similarity import SimilarityScorer
from .retrieval.stopwatch import Stopwatch
from .server.connecting import connection_of
from .settings import Settings, resolve
from .stages import Answerer, Linker, Retriever
from .steps import Steps, alongside, counted, one
from .values import Answer, EntityCandidate, Question, Retrieval, Scored

if TYPE_CHECKING:
    from ..models.star.scoring import StarModel
    from .explaining.explanation import Explanation

T = TypeVar("T")

MAX_TOP_K = 1_000
MAX_CONCURRENT_ANSWERS = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How far and how wide to search; the defaults are those of the command line."""

    top_k: int = 10
    beam_width: int = 10
    max_hop: int = 2
    max_topics: int = 3
    bounds: Bounds = field(default_factory=Bounds)
    weights: Weights = field(default_factory=Weights)
    meeting_bonus: float = 0.2
    """What a path that meets another topic's gains; fitted with the weights (docs/retrieval.md)."""
    checkpoint: str = ""
    """Folder of a trained scorer; empty for similarity, which needs no training. `weights` are not used with it;
    `meeting_bonus` is converted to its scale."""
    shortlist: int | None = None
    """Paths of those found that the checkpoint's cross-attentive scorer reads; None: as many as it was trained for."""
    return_to_topic: bool = False
    """An entity that the question is about may be an answer, where a path leads to it and not straight back."""
    any_graph: bool = False
    """Use the checkpoint on a graph that it was not trained on."""

    def __post_init__(self) -> None:
        for name, value, most in (
            ("top_k", self.top_k, MAX_TOP_K),
            ("beam_width", self.beam_width, MAX_TOP_K),
            ("max_hop", self.max_hop, 4),
            ("max_topics", self.max_topics, 20),
            ("shortlist", 1 if self.shortlist is None else self.shortlist, MAX_TOP_K),
        ):
            if not 1 <= value <= most:
                raise UsageError(f"{name}: expected 1 to {most}, found {value}")


@dataclass(frozen=True, slots=True)
class _Opened:
    """What an engine made of one edition of the graph."""

    edition: Edition
    index: RelationIndex
    scorer: PathScorer
    search: Retriever


class Engine:
    """Finds, ranks and explains the reasoning paths that answer a question.

    Without settings it resolves them as the command line does (environment, ``lodestar.toml``, the embedded server).
    It holds connections: use it as a (sync or async) context manager or call `close` / `aclose`. Every call sees what
    was loaded before it. That a load is half there is logged as a warning, once. A `retriever` takes the place of the
    beam search that `options` describe.

    Example::

        with Engine() as engine:
            print(engine.ask("What is the capital of Peru?").text)
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        options: SearchOptions | None = None,
        linker: Linker | None = None,
        retriever: Retriever | None = None,
        answerer: Answerer | None = None,
        connection: Connection | None = None,
    ) -> None:
        self.settings = settings or resolve()
        self.options = options or SearchOptions()
        self.connection = connection or connection_of(self.settings)
        self.linker = linker or FullTextLinker()
        self.answerer = answerer or extractive_answerer(self.options.checkpoint)
        self.encoder = SentenceEncoder(self.settings.encoder)
        self._retriever = retriever
        self._opening = threading.Lock()
        self._gateway: Gateway | None = None
        self._async_gateways: dict[asyncio.AbstractEventLoop, AsyncGateway] = {}
        self._vectors = TextVectors(self.encoder)
        self._opened: _Opened | None = None
        self._star: StarModel | None = None
        self._warned: set[str] = set()

    def prepare(self) -> None:
        """Open the relation index and load the encoder now instead of at the first question."""
        self.gateway().run(self._prepared())

    # One question or many, blocking

    def retrieve(self, question: str | Question, *, top_k: int | None = None) -> Retrieval:
        """Return the ranked paths for a question; raise `EntityNotFoundError` when no topic entity is known."""
        return _with_topics(self.retrieve_batch([question], top_k=top_k)[0])

    def retrieve_batch(self, questions: Sequence[str | Question], *, top_k: int | None = None) -> list[Retrieval]:
        """Return the ranked paths for each question; one without a known entity has no topics, no paths and a note."""
        return self.gateway().run(self._retrieval_steps(questions, top_k))

    def ask(self, question: str | Question, *, top_k: int | None = None) -> Answer:
        """Return the answer to a question, with its evidence."""
        return self.answerer.answer(self.retrieve(question, top_k=top_k))

    def ask_batch(self, questions: Sequence[str | Question], *, top_k: int | None = None) -> list[Answer]:
        """Return an answer to each question; all questions share each round trip to the database.

        Where the answerer fails, the question's answer has no entities and its text says why: none is lost.
        """
        retrievals = self.retrieve_batch(questions, top_k=top_k)
        with ThreadPoolExecutor(MAX_CONCURRENT_ANSWERS, thread_name_prefix="lodestar-answer") as pool:
            return list(pool.map(self._answered, retrievals))

    def explain(self, question: str | Question, *, top_k: int = 5) -> Explanation:
        """Return the best paths for a question with what the trained scorer attended to in each.

        Raises `UsageError` where the options name no checkpoint, `CheckpointError` where it has no attention.
        """
        if not self.options.checkpoint:
            raise UsageError(
                "similarity has no attention to show: name the folder of a trained scorer with --checkpoint, or as "
                "`checkpoint` of the search options"
            )
        from .explaining.attention import check_attentive, explained  # with PyTorch, which is slow to import
        from .retrieval.star import StarScorer

        check_attentive(self.options.checkpoint)
        retrieval = self.retrieve(question, top_k=top_k)
        assert self._opened is not None
        assert isinstance(self._opened.scorer, StarScorer)
        return explained(retrieval, self._opened.scorer)

    def link(self, text: str) -> tuple[Scored[EntityCandidate], ...]:
        """Return the entities that a text mentions, best first."""
        return self.gateway().run(self._link_steps([_question(text)]))[0]

    def relations(self, text: str, *, top_k: int = 10) -> list[Scored[RelationInfo]]:
        """Return the relations nearest to a text by cosine."""
        return self.gateway().run(self._relation_steps(_question(text), top_k))

    # The same with asyncio

    async def aretrieve(self, question: str | Question, *, top_k: int | None = None) -> Retrieval:
        """Like `retrieve`."""
        return _with_topics((await self.aretrieve_batch([question], top_k=top_k))[0])

    async def aretrieve_batch(
        self, questions: Sequence[str | Question], *, top_k: int | None = None
    ) -> list[Retrieval]:
        """Like `retrieve_batch`."""
        return await self._gateway_async().run(self._retrieval_steps(questions, top_k))

    async def aask(self, question: str | Question, *, top_k: int | None = None) -> Answer:
        """Like `ask`."""
        return await self.answerer.aanswer(await self.aretrieve(question, top_k=top_k))

    async def aask_batch(self, questions: Sequence[str | Question], *, top_k: int | None = None) -> list[Answer]:
        """Like `ask_batch`."""
        retrievals = await self.aretrieve_batch(questions, top_k=top_k)
        limit = asyncio.Semaphore(MAX_CONCURRENT_ANSWERS)

        async def answered(retrieval: Retrieval) -> Answer:
            async with limit:
                try:
                    return await self.answerer.aanswer(retrieval)
                except LodestarError as error:
                    return _failed(retrieval, error)

        return list(await asyncio.gather(*map(answered, retrievals)))

    # What every call does

    def _answered(self, retrieval: Retrieval) -> Answer:
        try:
            return self.answerer.answer(retrieval)
        except LodestarError as error:
            return _failed(retrieval, error)

    def _retrieval_steps(self, questions: Sequence[str | Question], top_k: int | None) -> Steps[list[Retrieval]]:
        asked = [_question(question) for question in questions]
        if not asked:
            return []
        width = self.options.top_k if top_k is None else replace(self.options, top_k=top_k).top_k
        opened = yield from self._prepared()
        try:
            found, edition = yield from alongside(self._found(opened.search, asked, width), read_edition())
            if edition in (None, opened.edition):
                return found
        except UnknownRelationError:
            pass  # a load is on its way: the graph has more than the catalogue as it was read
        opened = yield from self._prepared(anew=True)
        return (yield from self._found(opened.search, asked, width))

    def _found(self, search: Retriever, asked: Sequence[Question], top_k: int) -> Steps[list[Retrieval]]:
        watch = Stopwatch()
        topics, linking = yield from counted(self._link_steps(asked))
        watch.lap("link")
        retrievals, searching = yield from counted(search.retrieve(asked, topics, top_k))
        return [
            replace(
                retrieval,
                seconds={**watch.seconds, **retrieval.seconds},
                round_trips=linking + searching,
                stage_round_trips={"link": linking, **retrieval.stage_round_trips},
                note="" if retrieval.topics else _nothing_linked(retrieval.question),
            )
            for retrieval in retrievals
        ]

    def _link_steps(self, questions: Sequence[Question]) -> Steps[list[tuple[Scored[EntityCandidate], ...]]]:
        """Link the questions that name no entities; the ids of those that do are certain."""
        free = [question for question in questions if not question.topic_entities]
        linked = iter((yield from self.linker.link(free)) if free else [])
        return [explicit(q.topic_entities) if q.topic_entities else next(linked) for q in questions]

    def _relation_steps(self, question: Question, top_k: int) -> Steps[list[Scored[RelationInfo]]]:
        opened = self._opened
        if opened is None or (yield from one(read_edition())) != opened.edition:
            opened = yield from self._prepared(anew=True)
        return opened.index.search(self.encoder.encode([question.text]), top_k)[0]

    def _prepared(self, *, anew: bool = False) -> Steps[_Opened]:
        """Read the catalogue, open the relation index, make the search; once for each edition, or `anew`."""
        opened = None if anew else self._opened
        if opened is None:
            edition = yield from one(read_edition())
            state = yield from one(read_graph_state())
            state.check()
            self._warn(state.warnings)
            catalogue = yield from one(read_catalogue())
            try:
                self.encoder.encode(["warm"])
                index = open_index(index_folder(self.settings, self.connection), catalogue, self.encoder)
            except EncoderUnavailableError as error:
                raise EncoderError(str(error)) from error
            scorer = self._scorer(catalogue)
            unit = self._unit()
            search = BeamSearch(
                {relation.number: relation.name for relation in catalogue.relations},
                scorer,
                beam_width=self.options.beam_width,
                max_hop=self.options.max_hop,
                max_topics=self.options.max_topics,
                link_weight=LINK_WEIGHT * unit,
                meeting_bonus=self.options.meeting_bonus * unit,
                return_to_topic=self.options.return_to_topic,
                bounds=self.options.bounds,
                stored_as=catalogue.stored_as,
            )
            self._opened = opened = _Opened(edition, index, scorer, self._retriever or search)
        return opened

    def _scorer(self, catalogue: Catalogue) -> PathScorer:
        words = {relation.name: words_of_relation(relation) for relation in catalogue.relations}
        folder = self.options.checkpoint
        if not folder:
            return SimilarityScorer(words, self.encoder, weights=self.options.weights, vectors=self._vectors)
        from .retrieval.star import StarScorer  # with PyTorch, which is slow to import
        from .trained import check_graph, star_model

        if self._star is None:
            self._star = star_model(folder)
        if not self.options.any_graph:
            check_graph(folder, self._star.checkpoint.description, catalogue)
        return StarScorer(words, self._star, shortlist=self.options.shortlist)

    def _unit(self) -> float:
        """Return what difference in score means as much as one of 1 does in similarity: as much more in log-odds."""
        if self._star is None:
            return 1.0
        slope, _ = self._star.checkpoint.description.calibration
        return ExtractiveAnswerer().slope / slope if slope > 0 else 1.0

    def _warn(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                _log.warning(warning)

    # Connections

    def gateway(self) -> Gateway:
        """Return the blocking gateway, opened and its server checked at the first call."""
        with self._opening:
            if self._gateway is None:
                gateway = Gateway(self.connection)
                try:
                    gateway.version()
                except BaseException:
                    gateway.close()
                    raise
                self._gateway = gateway
            return self._gateway

    def _gateway_async(self) -> AsyncGateway:
        """The gateway of the running event loop: connections belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        if loop not in self._async_gateways:
            self._async_gateways[loop] = AsyncGateway(self.connection)
        return self._async_gateways[loop]

    def close(self) -> None:
        """Give the blocking connections back."""
        if self._gateway is not None:
            self._gateway.close()
            self._gateway = None

    async def aclose(self) -> None:
        """Give back the connections of this event loop, and the blocking ones."""
        gateway = self._async_gateways.pop(asyncio.get_running_loop(), None)
        if gateway is not None:
            await gateway.close()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _question(question: str | Question) -> Question:
    return question if isinstance(question, Question) else Question(question)


def _failed(retrieval: Retrieval, error: LodestarError) -> Answer:
    return Answer(retrieval, (), f"failed: {error}", "failed")


def _nothing_linked(question: Question) -> str:
    if question.topic_entities:
        return f"no entity has the id {', '.join(map(repr, question.topic_entities))}"
    return "no known entity in the question"


def _with_topics(retrieval: Retrieval) -> Retrieval:
    if not retrieval.topics:
        hint = "try `lodestar entities` with parts of it, or name an id with --topic"
        raise EntityNotFoundError(f"{retrieval.note}: {_shortened(retrieval.question.text)!r}; {hint}")
    return retrieval


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
