"""Ask one graph, in batches or one by one, blocking or with asyncio; load, change and export it from Python."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from ..models.placement import limit_blas_threads
from . import pipeline
from .context import Context
from .data_model import Question, Scored, Topic
from .errors import StaleCatalogueError, UsageError, translate_import_errors
from .evidence import Answer, Evidence, Item, NoEvidenceExplanation
from .evidence.chains_and_triples import convert_item_kind
from .neo4j import split_into_request_batches
from .neo4j.catalogue import RelationInfo, read_catalogue, read_graph_edition, read_graph_state
from .parallel import start_in_thread
from .parts import Expression, JoinedExpression, NamedPart, Part, list_stages
from .recipes import MAX_TOP_K, Recipe, read_recipe
from .resources import EngineResources, GraphResources
from .settings import Settings, make_connection, resolve_settings

if TYPE_CHECKING:
    import neo4j
    import networkx
    import pandas as pd

    from ..loaders.loading import LoadReport
    from .explaining import Explanation
    from .neo4j.gateway import Gateway
    from .plans.compile import PlanResult
    from .plans.plan import Plan
    from .writing.changing import ChangeReport, Names, Stated

MAX_TOGETHER = 1_000
MAX_CHARS_TOGETHER = 500_000
"""Questions that share round trips, and the characters of them and of their topics: the database holds them at once."""
MAX_FILTERS = 10
MAX_RECIPES = 16
"""With the options of calls, that are kept open."""

_log = logging.getLogger(__name__)


class CallOptions(TypedDict, total=False):
    """What a call may change. An option of another part is named with it in a mapping: ``**{"star.max_hop": 2}``.

    top_k: items of evidence that are kept. plans: whether sets, numbers and times are asked for by plans. max_hop:
    longest path in hops between named entities. beam_width: paths kept at each hop. return_to_topic: allow a topic
    entity as an answer, and on the way. keep: triples kept, of a part that retrieves or pools triples. reads: items
    that the answerer reads. min_probability, sure_from: below these probabilities there is no answer, or an unsure
    one. filter: what answers must be, as ``{"kind": "film", "relation": "sequel", "year": 1995}``: of a kind, with a
    relation, or with a value of a relation.
    """

    top_k: int | None
    plans: bool
    max_hop: int
    beam_width: int
    return_to_topic: bool
    keep: int
    reads: int
    min_probability: float
    sure_from: float
    filter: Mapping[str, str | int | float] | None


class Engine:
    """Finds, ranks and explains the reasoning paths that answer a question.

    Without settings it resolves them as the command line does (environment, ``lodestar.toml``, the embedded server),
    with what is named here before the others: `name` of an embedded server, or `uri`, `auth` (user and password) and
    `database` of any other; `device`, …. driver: a driver of Neo4j to use instead; it stays yours to close.
    recipe: the name of a recipe, a TOML file, a line of parts, parts joined in Python, or a `Recipe`; that of the
    settings without. allow_parts: import the code that a file names as parts of its own. options: what to change in
    the recipe, as ``{"star.checkpoint": "folder", "top_k": 5}``. It holds connections: use it as a context manager or
    call `close`. Every call sees what was loaded before it. An engine can be pickled unless it has a driver of yours.
    That a load is half there is logged as a warning.

    Example::

        with Engine() as engine:
            print(engine.ask("What is the capital of Peru?").text)
            print(engine.ask("How many countries border Peru?", top_k=5).number)

    `CallOptions` of a call change the recipe for it alone; `UsageError` for one that the recipe does not have.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        name: str | None = None,
        uri: str | None = None,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        driver: neo4j.Driver | None = None,
        recipe: str | Part | Expression | Recipe | None = None,
        options: Mapping[str, Any] | None = None,
        allow_parts: bool = False,
        **flags: Any,
    ) -> None:
        flags |= {"name": name, "uri": uri, "database": database}
        if auth is not None:
            flags["user"], flags["password"] = auth
        if settings is None:
            settings = resolve_settings(flags)
        elif not isinstance(settings, Settings) or any(value is not None for value in flags.values()):
            raise UsageError("expected Settings alone, or settings by name, as Engine(name=…) or Engine(uri=…, auth=…)")
        given = settings.recipe if recipe is None else recipe
        if options or not isinstance(given, Recipe):
            given = read_recipe(given, options=options, allow_parts=allow_parts)
        given.check()
        self.settings = settings
        self.recipe = given
        if driver is None:
            self.connection = make_connection(settings)
        else:
            from .neo4j.gateway import make_connection_from_driver

            self.connection = make_connection_from_driver(driver, settings)
        self.resources = EngineResources(settings, self.connection)
        self._driver = driver
        self._opening = threading.RLock()
        self._gateway: Gateway | None = None
        self._graph: GraphResources | None = None
        self._recipes: dict[str, Recipe] = {}
        """By the options of calls, opened for `_graph`."""

    def __reduce__(self) -> tuple[Any, ...]:
        if self._driver is not None:
            raise TypeError("an engine over a driver of yours cannot be pickled: make it from settings")
        return partial(type(self), self.settings, recipe=self.recipe), ()

    def prepare(self) -> None:
        """Open what the stages need now instead of at the first question."""
        with self._asking():
            self._open({})

    def retrieve(self, question: str | Question, **options: Unpack[CallOptions]) -> Evidence[Item]:
        """Return the ranked evidence for a question; of one without a known entity the note says so."""
        with self._asking():
            return self._retrieve([_validate_question(question)], options)[0]

    def retrieve_batch(
        self, questions: Sequence[str | Question], **options: Unpack[CallOptions]
    ) -> list[Evidence[Item]]:
        """Return each question's ranked evidence; of one without a known entity the note says so, and of a text that is
        no question, whose evidence has it in quotes."""
        with self._asking():
            asked = [_validate_of_batch(question) for question in questions]
            sound = [each for each in asked if isinstance(each, Question)]
            together = split_into_request_batches(sound, MAX_TOGETHER, lambda each: len(str(each)), MAX_CHARS_TOGETHER)
            found = (each for some in together for each in self._retrieve(some, options))
            return [next(found) if isinstance(each, Question) else each for each in asked]

    def ask(self, question: str | Question, **options: Unpack[CallOptions]) -> Answer:
        """Return the answer to a question, with its evidence; where the answerer fails, with its `failure`."""
        with self._asking():
            return self.answer_evidence(self._retrieve([_validate_question(question)], options), **options)[0]

    def ask_batch(self, questions: Sequence[str | Question], **options: Unpack[CallOptions]) -> list[Answer]:
        """Return an answer to each question; up to 1,000 share each round trip, and their prompts go together.

        Where the answerer fails, and of a text that is no question, the answer has no entities, and says why in
        `failure`: none is lost.
        """
        with self._asking():
            return self.answer_evidence(self.retrieve_batch(questions, **options), **options)

    def answer_evidence(self, evidence: Sequence[Evidence[Item]], **options: Unpack[CallOptions]) -> list[Answer]:
        """Return an answer to each evidence. If the answerer fails for a question, that answer has a `failure`."""
        with self._asking():
            graph, recipe = self._open(options)
            return pipeline.answer_from_evidence(recipe, self._context(graph), evidence)

    def link(self, text: str) -> tuple[Topic, ...]:
        """Return the entities that a text mentions, best first."""
        with self._asking():
            return pipeline.link_questions(self._context(), self.recipe.linker, [_validate_question(text)])[0].topics

    def relations(self, text: str, *, top_k: int = 10) -> list[Scored[RelationInfo]]:
        """Return the relations nearest to a text by cosine."""
        question = _validate_question(text)
        graph = self.read_graph()
        if self.gateway().run(read_graph_edition()) != graph.edition:
            graph = self.read_graph(anew=True)
        return graph.index.search(self.resources.vectors.encoder.encode([question.text]), top_k)[0]

    async def aask(self, question: str | Question, **options: Unpack[CallOptions]) -> Answer:
        """Answer in a thread, for asyncio; a cancelled task leaves the thread to its end."""
        return await asyncio.to_thread(self.ask, question, **options)

    def explain(self, question: str | Question, *, top_k: int = 5) -> Explanation:
        """Return the answer with the reasons of its first items: how paths are read, what a scorer attends to."""
        from .explaining import explain_answer

        return explain_answer(self.ask(question), self.read_graph(), self.gateway(), top_k=top_k)

    # What every call does

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with translate_import_errors(f"recipe {self.recipe.name}"), limit_blas_threads():
            yield

    def _retrieve(
        self, asked: Sequence[Question], options: Mapping[str, Any], *, anew: bool = False
    ) -> list[Evidence[Item]]:
        """Link the questions and run the stages; again where the graph has changed since the last call, which the
        database is asked meanwhile."""
        if filter_ := _validate_filter(options.get("filter") or {}):
            asked = [replace(each, filter=filter_) for each in asked]
        is_fresh = anew or self._graph is None
        graph, recipe = self._open(options, anew=anew)
        revision = (
            None if is_fresh else start_in_thread(partial(self.gateway().run, read_graph_edition()), "lodestar-edition")
        )
        top_k = options.get("top_k") or _num_kept(recipe, graph)
        ctx = self._context(graph)
        try:
            ctx.linked = pipeline.link_questions(ctx, recipe.linker, asked)
            found: list[list[Evidence[Item]]] = []
            for stage in list_stages(recipe.stages):
                if isinstance(stage, JoinedExpression) and stage.sign == "|":
                    right = found.pop()
                    found[-1] = pipeline.unite_retrieved_evidence(ctx, stage, found[-1], right)
                    continue
                named = stage if isinstance(stage, NamedPart) else stage.right
                assert isinstance(named, NamedPart)
                with ctx.trace.stage(named.name):
                    if named is stage:
                        evidence = named.part(ctx, ctx.linked, top_k)
                    else:
                        evidence = named.part(ctx, convert_item_kind(ctx.db, found.pop(), named.part.takes))
                found.append([each.add_stage(named.name, graph.labels) for each in evidence])
            kept = pipeline.cut_and_explain_evidence(ctx, found[0], top_k)
        except StaleCatalogueError:  # a load is on its way: the graph has more than the catalogue as it was read
            if anew:
                raise
            return self._retrieve(asked, options, anew=True)
        if revision is not None and revision.result() != graph.edition:
            return self._retrieve(asked, options, anew=True)
        return kept

    def _context(self, graph: GraphResources | None = None) -> Context:
        return Context(self.gateway(), graph or self.read_graph())

    def _open(self, options: Mapping[str, Any], *, anew: bool = False) -> tuple[GraphResources, Recipe]:
        """Return the graph and the recipe of a call's options, opened; once for each edition, or `anew`."""
        changes = {name: value for name, value in options.items() if name not in ("top_k", "filter")}
        if (top_k := options.get("top_k")) is not None and not 1 <= top_k <= MAX_TOP_K:
            raise UsageError(f"top_k: expected 1 to {MAX_TOP_K}, found {top_k}")
        key = repr(sorted(changes.items()))
        with self._opening:
            graph = self.read_graph(anew=anew)
            if key not in self._recipes:
                recipe = self.recipe
                if changes:
                    recipe = read_recipe(recipe, options=changes)
                    recipe.check()
                recipe.open(graph)
                if len(self._recipes) >= MAX_RECIPES:
                    self._recipes.clear()
                self._recipes[key] = recipe
            return graph, self._recipes[key]

    def read_graph(self, *, anew: bool = False) -> GraphResources:
        """Return what was read of the graph, at the first call or `anew`."""
        with self._opening:
            if self._graph is None or anew:
                gateway = self.gateway()
                edition = gateway.run(read_graph_edition())
                state = gateway.run(read_graph_state())
                state.check()
                for warning in state.warnings:
                    _log.warning(warning)
                self._graph = GraphResources(self.resources, gateway.run(read_catalogue()), edition)
                self._recipes = {}
            return self._graph

    def plan(self, question: str | Question) -> Plan | None:
        """Return the likeliest plan of a question, None where none is found; see `engine.plans`."""
        from .plans.plan_selection import find_plans

        ctx = self._context()
        linked = pipeline.link_questions(ctx, self.recipe.linker, [_validate_question(question)])
        (found,), _ = find_plans(ctx, linked)
        return found[0].plan if found else None

    def run(self, plan: Plan | Mapping[str, Any] | str) -> PlanResult:
        """Return what a plan, or its JSON, gives by one query; raise `InputError` for what is no plan of the graph."""
        from .plans.compile import compile_plan
        from .plans.plan import parse_plan
        from .plans.plan_selection import get_graph_schema

        plan = json.dumps(plan) if isinstance(plan, Mapping) else plan
        asked = parse_plan(plan) if isinstance(plan, str) else plan
        return self.gateway().run(compile_plan(asked, get_graph_schema(self._context())))

    # Loads, changes, exports

    def load(self, given: Any, *, append: bool = False, replace: bool = False, **options: Any) -> LoadReport:
        """Load what `lodestar load` reads from a path, or what Python has.

        given: a file or a folder; triples as `add` takes them; a DataFrame of triples (pandas, polars, Arrow, a list of
        dictionaries) with columns head, relation and tail or other usual names; DataFrames by the names of their
        tables; a graph of NetworkX, in which an edge's relation is its attribute relation, label or type, else its key.
        options: ``progress``, which is called with what is done, how far, and of how much; ``format`` and ``encoding``
        of a file, where they cannot be told; those of the format, as ``names_path``; ``name`` of what is no file, and
        ``names`` of triples' entities by id. Raises `InputError` for a fault of the input before it writes anything.

        Example::

            engine.load({"orders": orders, "customers": customers}, append=True)
        """
        from ..loaders.python import load_given

        gateway = None if self._driver is None else self.gateway()
        return load_given(given, self.settings, gateway, append=append, replace=replace, **options)

    def export_dataframe(self) -> pd.DataFrame:
        """Return all triples as a DataFrame: head, relation, tail, is_literal, datatype, language, both ends' names."""
        from ..loaders.python import to_dataframe

        return to_dataframe(self.gateway())

    def export_networkx(self) -> networkx.MultiDiGraph:
        """Return the graph as NetworkX's: nodes by id with names and literals, edges by relation."""
        from ..loaders.python import to_networkx

        return to_networkx(self.gateway())

    def add(self, triples: Iterable[Stated], *, names: Names | None = None) -> ChangeReport:
        """Add triples, and names of entities; the next question of every engine sees them. See `add_triples`.

        Example::

            engine.add([("Lima", "mayor", "Ana"), ("Ana", "born", date(1961, 5, 5))], names={"Ana": "Ana Rojas"})
        """
        from .writing.changing import add_triples

        return add_triples(self.gateway(), triples, names)

    def remove(self, triples: Iterable[Stated]) -> ChangeReport:
        """Remove triples. See `remove_triples`."""
        from .writing.changing import remove_triples

        return remove_triples(self.gateway(), triples)

    # Connections

    def gateway(self) -> Gateway:
        """Return the gateway, opened and its server checked at the first call.

        Raises `DatabaseError` if the server does not answer or is too old.
        """
        with self._opening:
            if self._gateway is None:
                from .neo4j.gateway import Gateway

                gateway = Gateway(self.connection, self._driver)
                try:
                    gateway.version()
                except BaseException:
                    gateway.close()
                    raise
                self._gateway = gateway
            return self._gateway

    def close(self) -> None:
        """Give the connections back; a later call opens new ones. Calls of other threads that go on may fail."""
        with self._opening:
            gateway, self._gateway = self._gateway, None
        self.resources.close()
        if gateway is not None:
            gateway.close()

    def __repr__(self) -> str:
        return f"<Engine over {self.connection.where}, recipe {self.recipe.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _num_kept(recipe: Recipe, graph: GraphResources) -> int:
    num_read: int = recipe.answerer.num_read(graph) if isinstance(recipe.answerer, Part) else 0  # type: ignore[attr-defined]
    return max(recipe.top_k, min(num_read, MAX_TOP_K))


def _validate_question(question: str | Question) -> Question:
    """Return the question; raise `UsageError` for what is none."""
    if not isinstance(question, str | Question):
        raise UsageError(f"expected a question as text or a Question, found {question!r}")
    return question if isinstance(question, Question) else Question(question)


def _validate_of_batch(question: str | Question) -> Question | Evidence[Item]:
    """Return the question; of a text that cannot be one, evidence that says why."""
    try:
        return _validate_question(question)
    except UsageError as error:
        if not isinstance(question, str):
            raise
        return Evidence(
            Question(ascii(question[:80])), (), "chain", absence=NoEvidenceExplanation(str(error), "failed", (), error)
        )


def _validate_filter(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return a call's filter as a question has it; raise `UsageError` for what is none."""
    is_filter = isinstance(given, Mapping) and all(isinstance(value, str | int | float) for value in given.values())
    if not is_filter or len(given) > MAX_FILTERS:
        raise UsageError(f"filter: expected at most {MAX_FILTERS} keys with a text or a number, found {given!r:.80}")
    return tuple(sorted((str(k), str(v).lower() if isinstance(v, bool) else str(v)) for k, v in given.items()))
