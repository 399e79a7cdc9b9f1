"""Ask one graph: the engine takes questions one at a time or in batches, blocking or with asyncio."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .errors import EntityNotFoundError, LodestarError, StaleCatalogueError, UsageError
from .evidence.evidence import Answer, Evidence, Item
from .evidence.extras import Quotes, collect_snippets
from .extras import translate_import_errors
from .linking.topics import rerank_candidates
from .neo4j.catalogue import ORIGINS, Edition, RelationInfo, read_catalogue, read_full_state, read_graph_revision
from .neo4j.connection import Connection, Gateways, make_connection
from .neo4j.templates import split_into_requests
from .pipeline import Pipeline
from .recipes.part import Expression, Part
from .recipes.recipe import MAX_TOP_K, Recipe, read_recipe
from .resources import GraphResources, Resources
from .settings import Settings, resolve
from .stages import Answerer, Linker, RerankingLinker, Retriever
from .steps import AsyncStepRunner, StepRunner, Steps, run_alongside, send_one
from .values import Question, Scored, Topic

if TYPE_CHECKING:
    from ..models.text.encoders import SentenceEncoder
    from .neo4j.gateway import Gateway
    from .plans.compile import PlanResult
    from .plans.plan import Plan
    from .relations.describing import DescriptionReport
    from .show.explanation import Explanation
    from .writing.changing import ChangeReport, Names
    from .writing.stated import Stated

T = TypeVar("T")

MAX_TOGETHER = 1_000
MAX_CHARS_TOGETHER = 500_000
"""Questions that share round trips, and the characters of them and of their topics: the database holds them at once."""

MAX_PIPELINES = 16
"""With the options of calls; the one that was not used for longest is dropped."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Opened:
    """What an engine made of one edition of the graph; a pipeline is joined when a question is asked."""

    edition: Edition
    graph: GraphResources
    pipelines: dict[str, tuple[Recipe, Pipeline]] = field(default_factory=dict)
    """By the options of a call, the last used last."""


class Engine:
    """Finds, ranks and explains the reasoning paths that answer a question.

    Without settings it resolves them as the command line does (environment, ``lodestar.toml``, the embedded server),
    with what is named here before the others: `name` of an embedded server, or `uri`, `auth` (user and password) and
    `database` of any other; `device`, ….
    recipe: the name of a recipe, a TOML file, a line of parts, or parts joined in Python; that of the settings without.
    allow_parts: import the code that a file names as parts of its own. options: what to change in the recipe, as
    ``{"star.checkpoint": "folder", "top_k": 5}``. A `linker`, `retriever` or `answerer` takes the place of the
    recipe's. resources: what engines over the same graph share. It holds connections: use it as a (sync or async)
    context manager or call `close` / `aclose`. Every call sees what was loaded before it.
    That a load is half there is logged as a warning, once.

    Example::

        with Engine() as engine:
            print(engine.ask("What is the capital of Peru?").text)
            print(engine.ask("How many countries border Peru?", forms=True, top_k=5).number)

    Options of a call change the recipe for it alone, by their names (`forms`, `max_hop`, …; or with the part's, as
    ``star.max_hop``, in a mapping); `UsageError` for one that the recipe does not have.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        name: str | None = None,
        uri: str | None = None,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        recipe: str | Part | Expression | Recipe | None = None,
        options: Mapping[str, Any] | None = None,
        allow_parts: bool = False,
        linker: Linker | None = None,
        retriever: Retriever | None = None,
        answerer: Answerer | None = None,
        connection: Connection | None = None,
        resources: Resources | None = None,
        **flags: Any,
    ) -> None:
        flags |= {"name": name, "uri": uri, "database": database}
        if auth is not None:
            flags["user"], flags["password"] = auth
        given_flags = sorted(flag for flag, value in flags.items() if value is not None)
        if settings is not None and not isinstance(settings, Settings):
            raise UsageError(
                f"expected Settings, found {type(settings).__name__}: name a graph as Engine(name=…), a database as "
                "Engine(uri=…)"
            )
        if settings is not None and given_flags:
            raise UsageError(f"expected either settings or {', '.join(given_flags)}: put them into the settings")
        self.settings = settings or resolve(flags)
        given = self.settings.recipe if recipe is None else recipe
        self.recipe = (
            given
            if isinstance(given, Recipe) and not options
            else read_recipe(given, options=options, allow_parts=allow_parts)
        )
        if retriever is None:
            self.recipe.check()
        self.connection = connection or make_connection(self.settings)
        self.resources = resources or Resources(self.settings, self.connection)
        self._own: dict[str, Any] = {"linker": linker, "retriever": retriever, "answerer": answerer}
        self._opening = threading.Lock()
        self._gateways = Gateways(self.connection)
        self._opened: _Opened | None = None
        self._warned: set[str] = set()

    @property
    def encoder(self) -> SentenceEncoder:
        """The sentence encoder, loaded."""
        return self.resources.encoder

    def prepare(self) -> None:
        """Join the pipeline, and open what its stages need, now instead of at the first question."""
        with translate_import_errors(f"recipe {self.recipe.name}"):
            self.gateway().run_steps(self._prepare())

    # One question or many, blocking

    def retrieve(self, question: str | Question, *, top_k: int | None = None, **options: Any) -> Evidence[Item]:
        """Return the ranked evidence for a question; raise its fault (`find_fault`), as where it names no entity."""
        return raise_fault(self.retrieve_batch([question], top_k=top_k, **options)[0])

    def retrieve_batch(
        self, questions: Sequence[str | Question], *, top_k: int | None = None, **options: Any
    ) -> list[Evidence[Item]]:
        """Return the ranked evidence for each question; of one with a fault (`find_fault`) the note says which."""
        return self._run(self._retrieval_steps(questions, top_k, options))

    def ask(self, question: str | Question, *, top_k: int | None = None, **options: Any) -> Answer:
        """Return the answer to a question, with its evidence; where the answerer fails, with its `failure`."""
        return self._run(self._ask_steps(question, top_k, options))

    def ask_batch(
        self, questions: Sequence[str | Question], *, top_k: int | None = None, **options: Any
    ) -> list[Answer]:
        """Return an answer to each question; up to 1,000 share each round trip, and their prompts go together.

        Where the answerer fails, the question's answer has no entities, and says why in `failure`: none is lost.
        """
        return self._run(self._answer_steps(questions, top_k, options))

    def answer_evidence(self, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        """Return an answer to each evidence. If the answerer fails for a question, that answer has a `failure`."""
        return self._run(self._answers_to(evidence, {}))

    def explain(self, question: str | Question, *, top_k: int = 5) -> Explanation:
        """Return the best paths for a question with what their scores rest on: what a trained scorer attended to, else
        what they lose without each word.

        Raises `UsageError` where the recipe has no scores of paths.
        """
        from .show.explanation import explain_evidence, find_explaining_part

        part = find_explaining_part(self.recipe)
        evidence = self.retrieve(question, top_k=top_k)
        assert self._opened is not None
        return explain_evidence(evidence, part, self._opened.graph)

    def run(self, plan: Plan | str) -> PlanResult:
        """Return what a plan, or its JSON, gives: the database executes it in one query; see `engine.plans`.

        Raises `InputError` for what is no plan, and for one with a relation or a kind that the graph does not have.
        """
        from .plans.compile import compile_plan
        from .plans.plan import read_plan
        from .plans.schema import read_schema

        plan = read_plan(plan) if isinstance(plan, str) else plan
        graph, db = self._read_graph().graph, self.gateway()
        schema = graph.get_or_make("plans", lambda: read_schema(db, graph.catalogue, graph.words))
        return db.run(compile_plan(plan, schema))

    def quote(self, evidence: Sequence[Evidence[Item]], *, max_items: int = 3) -> list[Quotes]:
        """Return the text snippets behind the first items of each evidence, if the graph was made from text."""
        return self._run(collect_snippets(evidence, max_items))

    def link(self, text: str) -> tuple[Topic, ...]:
        """Return the entities that a text mentions, best first."""
        return self._run(self._link_steps(validate_question(text)))

    def relations(self, text: str, *, top_k: int = 10) -> list[Scored[RelationInfo]]:
        """Return the relations nearest to a text by cosine."""
        return self._run(self._relation_steps(validate_question(text), top_k))

    def describe_interpretation(self, evidence: Evidence[Item]) -> str:
        """Return in one line how the question was understood: the kind it asks for, what its best path leads to, and
        the phrase that matched."""
        from .retrieval.scoring import describe_wanted_kind

        if self._opened is None or not evidence.items:
            return ""
        return describe_wanted_kind(evidence, self._opened.graph.words, self.resources.vectors)

    # What relations mean

    def read_relations(self, relation: str | None = None) -> list[RelationInfo]:
        """Return the relations of the graph, or one by its name or label, with what is known of their meaning."""
        from .relations.describing import find_relation

        catalogue = self.gateway().run(read_catalogue())
        return [find_relation(catalogue, relation)[0]] if relation else list(catalogue.relations)

    def describe(self, words: Mapping[str, Sequence[str]]) -> DescriptionReport:
        """Say by which phrases people ask for relations: ``{"owned_by": ["who looks after"], "^owned_by": […]}``.

        ``^name`` has phrases for the heads; ``label=…`` and ``description=…`` among them are that. They are kept in the
        graph and used by the next question. Raises `UsageError` for a relation that is not there, `InputError` for a
        phrase that cannot be one.
        """
        from .relations.describing import add_relation_descriptions, words_of

        catalogue = self.gateway().run(read_catalogue())
        return add_relation_descriptions(self.gateway(), catalogue, words_of(catalogue, words.items()))

    def describe_file(self, path: str | Path) -> DescriptionReport:
        """Describe relations by a file: lines of a relation and phrases, separated by tabs."""
        from .relations.describing import add_relation_descriptions, read_descriptions

        catalogue = self.gateway().run(read_catalogue())
        return add_relation_descriptions(self.gateway(), catalogue, read_descriptions(Path(path), catalogue))

    def describe_by_llm(
        self, *, max_calls: int | None = None, say: Callable[[str], None] = lambda _line: None
    ) -> DescriptionReport:
        """Have the language model of the settings say it, once for each relation; see `relations.by_llm`."""
        from .relations.by_llm import phrases_by_llm
        from .relations.describing import add_relation_descriptions

        settings = self.settings if max_calls is None else replace(self.settings, llm_max_calls=max_calls)
        catalogue = self.gateway().run(read_catalogue())
        words, left_out = phrases_by_llm(self.gateway(), catalogue, settings, self.resources.vectors, say=say)
        return add_relation_descriptions(self.gateway(), catalogue, words, left_out)

    def undescribe(self, relations: Sequence[str] = (), *, origin: str | None = None) -> DescriptionReport:
        """Take back what was said of relations, or of all: by user and language model, or by one of them."""
        from .relations.describing import remove_descriptions

        if origin not in (None, *ORIGINS[:-1]):
            raise UsageError(f"expected one of {', '.join(ORIGINS[:-1])} for origin, found {origin!r}")
        catalogue = self.gateway().run(read_catalogue())
        return remove_descriptions(self.gateway(), catalogue, relations, origin)

    # Small changes

    def add(self, triples: Iterable[Stated], *, names: Names | None = None) -> ChangeReport:
        """Add triples, and names of entities; the next question of every engine sees them. See `add_triples`.

        Example::

            engine.add([("Lima", "mayor", "Ana"), ("Ana", "born", date(1961, 5, 5))], names={"Ana": "Ana Rojas"})
        """
        from .writing.changing import add_triples

        return add_triples(self.gateway(), triples, names)

    def remove(self, triples: Iterable[Stated], *, missing_ok: bool = False) -> ChangeReport:
        """Remove triples; with `missing_ok` those that are not there are passed over. See `remove_triples`."""
        from .writing.changing import remove_triples

        return remove_triples(self.gateway(), triples, missing_ok=missing_ok)

    # The same with asyncio

    async def aretrieve(self, question: str | Question, *, top_k: int | None = None, **options: Any) -> Evidence[Item]:
        """Like `retrieve`."""
        return raise_fault((await self.aretrieve_batch([question], top_k=top_k, **options))[0])

    async def aretrieve_batch(
        self, questions: Sequence[str | Question], *, top_k: int | None = None, **options: Any
    ) -> list[Evidence[Item]]:
        """Like `retrieve_batch`."""
        return await self._arun(self._retrieval_steps(questions, top_k, options))

    async def aask(self, question: str | Question, *, top_k: int | None = None, **options: Any) -> Answer:
        """Like `ask`."""
        return await self._arun(self._ask_steps(question, top_k, options))

    async def aask_batch(
        self, questions: Sequence[str | Question], *, top_k: int | None = None, **options: Any
    ) -> list[Answer]:
        """Like `ask_batch`."""
        return await self._arun(self._answer_steps(questions, top_k, options))

    async def aanswer_evidence(self, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        """Like `answer_evidence`."""
        return await self._arun(self._answers_to(evidence, {}))

    async def aadd(self, triples: Iterable[Stated], *, names: Names | None = None) -> ChangeReport:
        """Like `add`, in a thread: a change that has begun goes on to its end, even where this task is cancelled."""
        return await asyncio.to_thread(self.add, triples, names=names)

    async def aremove(self, triples: Iterable[Stated], *, missing_ok: bool = False) -> ChangeReport:
        """Like `remove`, in a thread, as `aadd`."""
        return await asyncio.to_thread(self.remove, triples, missing_ok=missing_ok)

    # What every call does

    def _run(self, steps: Steps[T]) -> T:
        with translate_import_errors(f"recipe {self.recipe.name}"):
            return StepRunner(self.gateway(), lambda: self.resources.chat_opened).run(steps)

    async def _arun(self, steps: Steps[T]) -> T:
        with translate_import_errors(f"recipe {self.recipe.name}"):
            return await AsyncStepRunner(await self._gateways.of_loop(), lambda: self.resources.chat_opened).run(steps)

    def _retrieval_steps(
        self, questions: Sequence[str | Question], top_k: int | None, options: Mapping[str, Any]
    ) -> Steps[list[Evidence[Item]]]:
        given = [validate_question_or_fault(question) for question in questions]
        asked = [each for each in given if isinstance(each, Question)]
        all_found: list[Evidence[Item]] = []
        for together in split_into_requests(asked, MAX_TOGETHER, count_chars, MAX_CHARS_TOGETHER):
            all_found += yield from self._retrieve(together, top_k, options)
        found = iter(all_found)
        return [next(found) if isinstance(each, Question) else each for each in given]

    def _retrieve(
        self, asked: Sequence[Question], top_k: int | None, options: Mapping[str, Any]
    ) -> Steps[list[Evidence[Item]]]:
        if top_k is not None and not 1 <= top_k <= MAX_TOP_K:
            raise UsageError(f"top_k: expected 1 to {MAX_TOP_K}, found {top_k}")
        edition, recipe, pipeline = yield from self._prepare(options)
        kept = max(recipe.top_k, min(pipeline.reads, MAX_TOP_K)) if top_k is None else top_k
        try:
            found, now = yield from run_alongside(pipeline.retrieve(asked, kept), read_graph_revision())
            if now in (None, edition):
                return found
        except StaleCatalogueError:
            pass  # a load is on its way: the graph has more than the catalogue as it was read
        _, _, pipeline = yield from self._prepare(options, anew=True)
        return (yield from pipeline.retrieve(asked, kept))

    def _ask_steps(self, question: str | Question, top_k: int | None, options: Mapping[str, Any]) -> Steps[Answer]:
        (found,) = yield from self._retrieval_steps([question], top_k, options)
        return (yield from self._answers_to([raise_fault(found)], options))[0]

    def _answer_steps(
        self, questions: Sequence[str | Question], top_k: int | None, options: Mapping[str, Any]
    ) -> Steps[list[Answer]]:
        evidence = yield from self._retrieval_steps(questions, top_k, options)
        return (yield from self._answers_to(evidence, options))

    def _answers_to(self, evidence: Sequence[Evidence[Item]], options: Mapping[str, Any]) -> Steps[list[Answer]]:
        if not evidence:
            return []
        _, _, pipeline = yield from self._prepare(options)
        return (yield from pipeline.answer(evidence))

    def _link_steps(self, question: Question) -> Steps[tuple[Topic, ...]]:
        opened = yield from self._graph_read()
        linker: Linker = self._own["linker"] or self.recipe.linker.linker(opened.graph)
        found = yield from linker.link([question])
        if isinstance(linker, RerankingLinker) and found[0]:
            found = yield from rerank_candidates([question], found, linker)
        return found[0]

    def _relation_steps(self, question: Question, top_k: int) -> Steps[list[Scored[RelationInfo]]]:
        opened = self._opened
        if opened is None or (yield from send_one(read_graph_revision())) != opened.edition:
            opened = yield from self._graph_read(anew=True)
        return opened.graph.index.search(self.encoder.encode([question.text]), top_k)[0]

    def _prepare(
        self, options: Mapping[str, Any] | None = None, *, anew: bool = False
    ) -> Steps[tuple[Edition, Recipe, Pipeline]]:
        """Read the catalogue and join the pipeline of the options; once for each edition, or `anew`."""
        opened = yield from self._graph_read(anew=anew)
        key = repr(sorted((options or {}).items()))
        with self._opening:
            joined = opened.pipelines.pop(key, None)
            if joined is None:
                recipe = self._recipe_with(options) if options else self.recipe
                own = {role: stage for role, stage in self._own.items() if stage is not None}
                joined = recipe, recipe.pipeline(opened.graph, **own)
            while len(opened.pipelines) >= MAX_PIPELINES:
                del opened.pipelines[next(iter(opened.pipelines))]
            opened.pipelines[key] = joined
        return opened.edition, *joined

    def _recipe_with(self, options: Mapping[str, Any]) -> Recipe:
        if self._own["retriever"] is not None:
            raise UsageError(f"{', '.join(options)}: options change a recipe, and this engine has a retriever instead")
        recipe = read_recipe(self.recipe, options={self.recipe.find_option(name): v for name, v in options.items()})
        recipe.check()
        return recipe

    def _graph_read(self, *, anew: bool = False) -> Steps[_Opened]:
        opened = None if anew else self._opened
        if opened is None:
            edition = yield from send_one(read_graph_revision())
            state = yield from read_full_state()
            state.check()
            self._warn(state.warnings)
            graph = self.resources.of_graph((yield from send_one(read_catalogue())), edition)
            self._opened = opened = _Opened(edition, graph)
        return opened

    def _warn(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                _log.warning(warning)

    # Connections

    def gateway(self) -> Gateway:
        """Return the blocking gateway, opened and its server checked at the first call."""
        return self._gateways.blocking()

    def close(self) -> None:
        """Give the blocking connections back."""
        self.resources.close()
        self._gateways.close()

    async def aclose(self) -> None:
        """Give back the connections of this event loop, and the blocking ones."""
        await self._gateways.aclose()
        self.close()

    def __repr__(self) -> str:
        return f"<Engine over {self.connection.where}, recipe {self.recipe.name}>"

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


# Why a question cannot be asked: alone it raises its fault, in a batch it loses no other question


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a question cannot be asked: an `EvidenceExtra` of its evidence."""

    error: LodestarError

    def as_json(self) -> dict[str, Any]:
        """Return nothing: the evidence's note says it."""
        return {}


def validate_question(question: str | Question) -> Question:
    """Return the question; raise `UsageError` for what is none."""
    if not isinstance(question, str | Question):
        raise UsageError(f"expected a question as text or a Question, found {question!r}")
    return question if isinstance(question, Question) else Question(question)


def count_chars(question: Question) -> int:
    """Return the characters of a question and of its topics."""
    return len(question.text) + sum(map(len, question.topic_entities))


def validate_question_or_fault(question: str | Question) -> Question | Evidence[Item]:
    """Return the question, or evidence that says why it cannot be asked: no other of its batch is lost."""
    try:
        return validate_question(question)
    except UsageError as error:
        return Evidence(Question(_shorten(repr(question))), (), "chain", note=str(error), extras=(Fault(error),))


def find_fault(evidence: Evidence[Item]) -> LodestarError | None:
    """Return why a question could not be asked: it is none, or no entity of it is known; None where it was asked.

    It is what `Engine.ask` and `Engine.retrieve` raise for a question alone; in a batch no other question is lost.
    """
    if (fault := evidence.extra_of(Fault)) is not None:
        return fault.error
    if not evidence.topics:
        hint = "try `lodestar search` with parts of it, or give --topic an id or a name"
        return EntityNotFoundError(f"{evidence.note}: {_shorten(evidence.question.text)!r}; {hint}")
    return None


def raise_fault(evidence: Evidence[Item]) -> Evidence[Item]:
    """Return the evidence; raise its fault where it has one."""
    if (fault := find_fault(evidence)) is not None:
        raise fault
    return evidence


def _shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
