"""Define steps: generators that yield database requests and prompts, and the runners that send them.

A stage is written once, as a generator that yields a group of calls (database requests and prompts, sent together) and
gets their answers back: a request's decoded rows, a prompt's completion or `LLMError`. `run_steps` does it on a
blocking gateway, `run_steps_async` on an asyncio one.

A stage that has others work for it hands their steps to the driver (`run_stage`, `gather_steps`, `measure_costs`),
which runs them on a stack of its own: a group climbs the frames of one stage alone. The driver sends all groups, so
that it alone counts requests, times stages and charges prompts (`StageCost`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from ..models.placement import limit_blas_threads
from .context import Context, StageCost
from .errors import LLMError
from .llm.prompts import ChatUsage, Completed, Prompt, usage_of
from .neo4j.templates import Request

if TYPE_CHECKING:
    from .llm.gateway import ChatGateway

T = TypeVar("T")
S = TypeVar("S")

Call = Request[Any] | Prompt


@dataclass(frozen=True, slots=True)
class CostAttribution:
    """Tells the driver what to charge from here on to `stage`, "" for the own one of these steps; with `seconds`, so
    much of what was counted last."""

    stage: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ParallelSteps:
    """Tells the driver to run other steps, side by side where they are several, and to return their results in order.

    stage: what they are charged to, "" for what the one that yields them is; with `is_whole` whatever they say. Where
    `has_costs`, their costs are returned beside the results. beside: a request that goes with their first group.
    """

    steps: tuple[Steps[Any], ...]
    stage: str = ""
    is_whole: bool = False
    has_costs: bool = False
    beside: Request[Any] | None = None


Steps = Generator[Sequence[Call] | ParallelSteps | CostAttribution, Any, T]


def run_steps(steps: Steps[T], send: Callable[[Sequence[Call]], Sequence[Any]]) -> T:
    """Run the steps to their end and return what they return."""
    run = _Run(steps)
    while (group := run.advance()) is not None:
        run.take(send(group))
    return run.result


async def run_steps_async(steps: Steps[T], send: Callable[[Sequence[Call]], Awaitable[Sequence[Any]]]) -> T:
    """Do the same without blocking the event loop: what the steps compute between groups runs in a thread."""
    run = _Run(steps)
    while (group := await asyncio.to_thread(run.advance)) is not None:
        run.take(await send(group))
    return run.result


def send_one(request: Request[T]) -> Steps[T]:
    """Send one request and return its decoded answer."""
    (answer,) = yield (request,)
    decoded: T = answer
    return decoded


def send_all(requests: Sequence[Request[T]]) -> Steps[list[T]]:
    """Send several requests at the same time and return their decoded answers, in order."""
    if not requests:
        return []
    answers = yield tuple(requests)
    return list(answers)


def run_stage(name: str, steps: Steps[T], *, is_whole: bool = False) -> Steps[T]:
    """Run the steps of a stage, charged to its name; with `is_whole` those of the stages within it, too."""
    (result,) = yield ParallelSteps((steps,), name, is_whole)
    found: T = result
    return found


def attribute_costs(name: str, seconds: float | None = None) -> Steps[None]:
    """Charge what follows in these steps to `name`, "" for their own; with `seconds`, so much of what was last."""
    yield CostAttribution(name, seconds)


def measure_costs(steps: Steps[T]) -> Steps[tuple[T, tuple[StageCost, ...]]]:
    """Run the steps and return their result with what their stages took, in the order in which they began."""
    (result,), costs = yield ParallelSteps((steps,), has_costs=True)
    return result, costs


def gather_steps(*many: Steps[Any]) -> Steps[list[Any]]:
    """Run several steps side by side, what they ask at the same time sent together; return their results in order."""
    results = yield ParallelSteps(many)
    return list(results)


def run_alongside(steps: Steps[T], request: Request[S]) -> Steps[tuple[T, S | None]]:
    """Run the steps with the request sent together with their first group; its answer is None where they send none.

    It is charged to nobody.
    """
    (result,), answer = yield ParallelSteps((steps,), beside=request)
    return result, answer


def check_database_requests(group: Sequence[Call]) -> list[Request[Any]]:
    """Return a group that holds database requests alone; raises `TypeError` where a prompt is among them."""
    requests = [call for call in group if isinstance(call, Request)]
    if len(requests) < len(group):
        raise TypeError("these steps ask a language model: run them with a StepRunner, which has a chat gateway")
    return requests


class _Ledger:
    """What stages took, by name; what has no name is not kept."""

    def __init__(self) -> None:
        self._costs: dict[str, StageCost] = {}

    def add(self, cost: StageCost) -> None:
        if cost.stage:
            known = self._costs.get(cost.stage)
            self._costs[cost.stage] = cost if known is None else known + cost

    def move(self, source: str, target: str, seconds: float) -> None:
        known = self._costs.get(source)
        moved = min(max(seconds, 0.0), known.seconds) if known else max(seconds, 0.0)
        if known:
            self.add(StageCost(source, -moved))
        self.add(StageCost(target, moved))

    def costs(self) -> tuple[StageCost, ...]:
        return tuple(self._costs.values())


@dataclass(slots=True, eq=False)
class _Task:
    """Steps on the driver's stack: those of a stage, and where their result goes."""

    steps: Steps[Any]
    own_stage: str
    ledger: _Ledger
    is_whole: bool = False
    parent: _Task | None = None
    place: int = 0
    branches: ParallelSteps | None = None
    """What it waits for."""
    results: list[Any] = field(default_factory=list)
    num_running: int = 0
    is_beside_sent: bool = False
    beside: Any = None
    """The answer to the request beside its branches."""
    stage: str = field(init=False)
    """What it is charged to now."""

    def __post_init__(self) -> None:
        self.stage = self.own_stage

    def is_within(self, other: _Task) -> bool:
        task: _Task | None = self
        while task is not None and task is not other:
            task = task.parent
        return task is not None


class _Run(Generic[T]):
    """The driver's stack: a tree of tasks, of which those without branches wait for answers or are ready to go on."""

    result: T

    def __init__(self, steps: Steps[T]) -> None:
        self._ready: deque[tuple[_Task, Any, BaseException | None]] = deque()
        self._waiting: list[tuple[_Task, Sequence[Call]]] = []
        self._riding: list[_Task] = []
        """Tasks with a request beside their branches."""
        self._sent_s = 0.0
        self._ready.append((_Task(steps, "", _Ledger()), None, None))

    def advance(self) -> Sequence[Call] | None:
        """Run all steps until each waits for answers, and return what they ask; None at the end."""
        with limit_blas_threads():
            while self._ready:
                self._step(*self._ready.popleft())
        if not self._waiting:
            return None
        beside = [t.branches.beside for t in self._riding if not t.is_beside_sent and t.branches and t.branches.beside]
        self._sent_s = time.perf_counter()
        if len(self._waiting) == 1 and not beside:
            return self._waiting[0][1]
        return (*(call for _, group in self._waiting for call in group), *beside)

    def take(self, answers: Sequence[Any]) -> None:
        """Hand the answers to those that wait for them, and charge them with what they took."""
        seconds = (time.perf_counter() - self._sent_s) / len(self._waiting)
        at = 0
        for task, group in self._waiting:
            own = answers if len(group) == len(answers) else answers[at : at + len(group)]
            at += len(group)
            llm = ChatUsage()
            for call, answer in zip(group, own, strict=True):
                if isinstance(call, Prompt):
                    llm += usage_of(call, answer)
            task.ledger.add(StageCost(task.stage, seconds, sum(isinstance(call, Request) for call in group), llm))
            self._ready.append((task, own, None))
        for task in self._riding:
            if not task.is_beside_sent:
                task.beside, task.is_beside_sent = answers[at], True
                at += 1
        self._waiting = []

    def _step(self, task: _Task, value: Any, error: BaseException | None) -> None:
        started_s = time.perf_counter()
        try:
            said = task.steps.send(value) if error is None else task.steps.throw(error)
        except StopIteration as stop:
            self._charge(task, started_s)
            self._end(task, stop.value)
        except BaseException as raised:
            if task.parent is None:
                raise
            self._drop_within(task.parent)
            self._ready.appendleft((task.parent, None, raised))
        else:
            self._charge(task, started_s)
            self._hear(task, said)

    def _charge(self, task: _Task, started_s: float) -> None:
        task.ledger.add(StageCost(task.stage, time.perf_counter() - started_s))

    def _hear(self, task: _Task, said: Sequence[Call] | ParallelSteps | CostAttribution) -> None:
        if isinstance(said, CostAttribution):
            if not task.is_whole and said.seconds is None:
                task.stage = said.stage or task.own_stage
            elif not task.is_whole and said.seconds is not None:
                task.ledger.move(task.stage, said.stage, said.seconds)
            self._ready.appendleft((task, None, None))
        elif isinstance(said, ParallelSteps):
            self._branch(task, said)
        else:
            self._waiting.append((task, said))

    def _branch(self, task: _Task, branches: ParallelSteps) -> None:
        task.branches, task.results, task.num_running = branches, [None] * len(branches.steps), len(branches.steps)
        task.is_beside_sent, task.beside = False, None
        if branches.beside is not None:
            self._riding.append(task)
        name = task.stage if task.is_whole or not branches.stage else branches.stage
        ledger = _Ledger() if branches.has_costs else task.ledger
        is_whole = task.is_whole or branches.is_whole
        started = [_Task(each, name, ledger, is_whole, task, at) for at, each in enumerate(branches.steps)]
        self._ready.extendleft((each, None, None) for each in reversed(started))
        if not started:
            self._ready.appendleft((task, [], None))

    def _end(self, task: _Task, result: T) -> None:
        parent = task.parent
        if parent is None:
            self.result = result
            return
        parent.results[task.place] = result
        parent.num_running -= 1
        if not parent.num_running:
            branches = parent.branches
            assert branches is not None
            found: Any = parent.results
            if branches.has_costs:
                found = (found, task.ledger.costs())
            elif branches.beside is not None:
                self._riding.remove(parent)
                found = (found, parent.beside)
            self._ready.appendleft((parent, found, None))

    def _drop_within(self, parent: _Task) -> None:
        tasks = [*(task for task, _, _ in self._ready), *(task for task, _ in self._waiting)]
        dropped = [task for task in tasks if task.is_within(parent)]
        self._ready = deque(each for each in self._ready if each[0] not in dropped)
        self._waiting = [each for each in self._waiting if each[0] not in dropped]
        self._riding = [each for each in self._riding if not each.is_within(parent)]
        for task in dropped:
            task.steps.close()


Chat: TypeAlias = "ChatGateway | Callable[[], ChatGateway | None] | None"


class Database(Protocol):
    """What sends database requests: `Gateway`."""

    def run_all(self, requests: Sequence[Request[Any]]) -> list[Any]: ...


class AsyncDatabase(Protocol):
    """The same for asyncio: `AsyncGateway`."""

    def send(self, requests: Sequence[Request[Any]]) -> Awaitable[list[Any]]: ...


def drive(ctx: Context, steps: Steps[T]) -> T:
    """Run the steps of a stage that is not a function yet, with the call's database and language model."""

    def send(group: Sequence[Call]) -> list[Any]:
        requests, prompts = _by_kind(group)
        waiting = ctx.llm.submit(prompts)
        return _in_order(group, ctx.db.run_all(requests), waiting())

    return run_steps(steps, send)


class StepRunner:
    """Drives steps on a blocking database gateway and a chat gateway; without one every prompt is an `LLMError`.

    chat: the gateway, or what returns it once there is a prompt to send.
    """

    def __init__(self, database: Database, chat: Chat = None) -> None:
        self._database = database
        self._chat = chat

    def run(self, steps: Steps[T]) -> T:
        """Drive the steps to their end and return what they return."""
        return run_steps(steps, self._send)

    def _send(self, group: Sequence[Call]) -> list[Any]:
        requests, prompts = _by_kind(group)
        if not prompts:
            return self._database.run_all(requests)
        chat = _open_chat(self._chat)
        if chat is None:
            return _in_order(group, self._database.run_all(requests), _fail_unconfigured(prompts))
        completing = chat.submit(prompts)
        try:
            answers = self._database.run_all(requests)
            return _in_order(group, answers, completing.result())
        except BaseException:
            completing.cancel()
            raise


class AsyncStepRunner:
    """The same for asyncio."""

    def __init__(self, database: AsyncDatabase, chat: Chat = None) -> None:
        self._database = database
        self._chat = chat

    async def run(self, steps: Steps[T]) -> T:
        """Drive the steps to their end and return what they return."""
        return await run_steps_async(steps, self._send)

    async def _send(self, group: Sequence[Call]) -> list[Any]:
        requests, prompts = _by_kind(group)
        if not prompts:
            return await self._database.send(requests)
        chat = _open_chat(self._chat)
        if chat is None:
            return _in_order(group, await self._database.send(requests), _fail_unconfigured(prompts))
        completing = asyncio.ensure_future(chat.acomplete(prompts))
        try:
            answers = await self._database.send(requests)
            return _in_order(group, answers, await completing)
        except BaseException:
            completing.cancel()
            raise


def _open_chat(chat: Chat) -> ChatGateway | None:
    return chat() if callable(chat) else chat


def _by_kind(group: Sequence[Call]) -> tuple[list[Request[Any]], list[Prompt]]:
    requests = [call for call in group if isinstance(call, Request)]
    return requests, [call for call in group if isinstance(call, Prompt)]


def _in_order(group: Sequence[Call], answers: Sequence[Any], completed: Sequence[Completed]) -> list[Any]:
    answered, said = iter(answers), iter(completed)
    return [next(said) if isinstance(call, Prompt) else next(answered) for call in group]


def _fail_unconfigured(prompts: Sequence[Prompt]) -> list[Completed]:
    return [
        LLMError(
            "no language model is configured: set LODESTAR_LLM_MODEL, or llm_model in lodestar.toml, and "
            "LODESTAR_LLM_BASE_URL for a server of your own"
        )
        for _ in prompts
    ]
