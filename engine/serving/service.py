"""Answer questions in batches, and look things up in the graph, for every interface of the server.

There is one engine for each recipe; all share a connection and the models. Engines block, so each call runs in a thread
(docs/serving.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..api import Engine
from ..context import Event
from ..errors import DatabaseUnavailableError, LodestarError, UsageError
from ..evidence.evidence import Answer
from ..neo4j.catalogue import read_full_state
from ..recipes import Recipe
from ..resources import Resources
from ..settings import Settings, make_connection
from ..values import Question
from .batches import Batcher, is_database_away
from .schemas import DEADLINE_S

if TYPE_CHECKING:
    from .server import Metrics

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Variant:
    """A served recipe with the options of a request. answers: whether to answer, or only to retrieve."""

    recipe: str
    options: tuple[tuple[str, int | bool], ...] = ()
    answers: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A waiting question. write: makes the reply, in the batch's thread. on_event: called with each of its events."""

    question: Question
    write: Callable[[Answer], Any]
    on_event: Callable[[Event], None] | None = None


class Service:
    """Questions and lookups over one graph, for one event loop.

    recipes: the served recipes by name; the first is the default. limits: those of `Batcher`. Raises `UsageError` if a
    recipe lacks something that it needs.
    """

    def __init__(
        self,
        settings: Settings,
        recipes: Mapping[str, Recipe],
        metrics: Metrics | None = None,
        **limits: int,
    ) -> None:
        for recipe in recipes.values():
            recipe.check()
        self.settings = settings
        self.recipes = dict(recipes)
        self.metrics = metrics
        self._turn = threading.Lock()
        self._engines: dict[str, Engine] = {}
        self._lookups = ThreadPoolExecutor(4, thread_name_prefix="lodestar-lookup")
        self.batches = Batcher(self._answer, **limits)

    def variant(
        self, recipe: str | None = None, options: Mapping[str, int | bool] | None = None, *, answers: bool = True
    ) -> Variant:
        """Return a recipe with options; raise `UsageError` for a recipe that is not served, or lacks such an option."""
        name = next(iter(self.recipes)) if recipe is None else recipe
        if name not in self.recipes:
            raise UsageError(f"recipe {name[:80]!r} is not served here: expected one of {', '.join(self.recipes)}")
        for option in options or {}:
            self.recipes[name].find_option(option)
        return Variant(name, tuple(sorted((options or {}).items())), answers)

    async def ask(
        self,
        question: Question,
        variant: Variant,
        write: Callable[[Answer], T],
        *,
        deadline_s: float = DEADLINE_S,
        on_event: Callable[[Event], None] | None = None,
    ) -> T:
        """Return what `write` makes of the answer; it runs in the batch's thread, so that long replies do not stop the
        event loop."""
        reply: T = await self.batches.ask(variant, Asked(question, write, on_event), deadline_s)
        return reply

    async def ready(self, timeout_s: float = 3.0) -> str:
        """Return why no question can be answered now (database, graph, models), or an empty text."""

        def check(engine: Engine) -> str:
            read_full_state(engine.gateway()).check()
            engine.prepare()
            return ""

        try:
            async with asyncio.timeout(timeout_s):
                return await self.look(check)
        except TimeoutError:
            return f"the database did not answer within {timeout_s:g} s"
        except LodestarError as error:
            return str(error)

    async def close(self, patience_s: float = 10.0) -> None:
        """Answer waiting questions for up to `patience_s`, then close everything."""
        await self.batches.close(patience_s)
        self._lookups.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(_close, list(self._engines.values()))

    async def look(self, look: Callable[[Engine], T]) -> T:
        """Run a lookup in a thread; retry while the database is away, until the deadline."""
        loop = asyncio.get_running_loop()
        end = loop.time() + DEADLINE_S
        name = next(iter(self.recipes))
        while True:
            try:
                return await loop.run_in_executor(self._lookups, lambda: look(self._engine(name)))
            except LodestarError as error:
                if not is_database_away(error) or loop.time() + 0.5 > end:
                    raise
                self._reconnect()
                await asyncio.sleep(0.25)

    def _answer(self, variant: Variant, asked: Sequence[Asked]) -> list[Any]:
        """Return the reply to each question; blocking."""
        try:
            engine = self._engine(variant.recipe)
            questions = [each.question for each in asked]
            options: dict[str, Any] = dict(variant.options)
            if any(each.on_event for each in asked):
                options["on_event"] = partial(_notify, asked)
            if variant.answers:
                answers = engine.ask_batch(questions, **options)
            else:
                answers = [Answer(found, (), "", "none") for found in engine.retrieve_batch(questions, **options)]
        except DatabaseUnavailableError:
            self._reconnect()
            raise
        if self.metrics is not None:
            self.metrics.count_batch(answers)
        return [each.write(answer) for each, answer in zip(asked, answers, strict=True)]

    def _engine(self, name: str) -> Engine:
        with self._turn:
            if not self._engines:
                connection = make_connection(self.settings)
                resources = Resources(self.settings, connection)
                for each, recipe in self.recipes.items():
                    self._engines[each] = Engine(
                        self.settings, recipe=recipe, connection=connection, resources=resources
                    )
            return self._engines[name]

    def _reconnect(self) -> None:
        """Reconnect if the embedded server has a new address."""
        if self.settings.uri:
            return
        with contextlib.suppress(LodestarError), self._turn:
            old = list(self._engines.values())
            if old and make_connection(self.settings) != old[0].connection:
                self._engines = {}
                threading.Thread(target=partial(_close, old), daemon=True).start()


def _close(engines: Sequence[Engine]) -> None:
    for engine in engines:
        engine.close()


def _notify(asked: Sequence[Asked], event: Event) -> None:
    for each in asked:
        if each.on_event is not None and each.question == event.question:
            each.on_event(event)
