"""Notify watchers of a question's progress: its topics, its ranked items, the language model's words.

The recipe is wrapped, so that the engine and its stages need not know the watchers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from .evidence.evidence import Answer, Evidence, Kind
from .llm.prompts import Prompt
from .pipeline import Pipeline
from .recipes.recipe import Recipe
from .resources import GraphResources
from .stages import Answerer, Retriever
from .steps import CostAttribution, ParallelSteps, Steps, gather_steps
from .values import LinkedQuestion, Question, Topic

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks for the progress of a question, called in the thread that answers it."""

    on_topics: Callable[[Sequence[Topic]], None] = lambda _topics: None
    on_evidence: Callable[[Evidence[Any]], None] = lambda _evidence: None
    on_text: Callable[[str], None] = lambda _text: None


class Watchers:
    """The watchers of each question; thread-safe."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._of: dict[Question, list[Watch]] = {}

    @contextmanager
    def of(self, watches: Mapping[Question, Watch]) -> Iterator[None]:
        """Notify these watchers of their questions while the block runs."""
        with self._turn:
            for question, watch in watches.items():
                self._of.setdefault(question, []).append(watch)
        try:
            yield
        finally:
            with self._turn:
                for question, watch in watches.items():
                    self._of[question] = [each for each in self._of[question] if each is not watch]
                    if not self._of[question]:
                        del self._of[question]

    def on(self, question: Question) -> tuple[Watch, ...]:
        return tuple(self._of.get(question, ()))


@dataclass(frozen=True)
class WatchedRecipe(Recipe):
    """A recipe whose questions can be watched."""

    watches: Watchers = field(default_factory=Watchers, compare=False, repr=False)

    @classmethod
    def wrap(cls, recipe: Recipe) -> WatchedRecipe:
        """Return the recipe with watchable questions."""
        return cls(**{each.name: getattr(recipe, each.name) for each in fields(Recipe)})

    def pipeline(self, graph: GraphResources, **own: Any) -> Pipeline:
        """Return the pipeline with watchable stages."""
        pipeline = super().pipeline(graph, **own)
        return replace(
            pipeline,
            retriever=_WatchedRetriever(pipeline.retriever, self.watches),
            answerer=_WatchedAnswerer(pipeline.answerer, self.watches),
        )


class _WatchedRetriever:
    def __init__(self, retriever: Retriever, watches: Watchers) -> None:
        self._retriever = retriever
        self._watches = watches
        self.gives: Kind = retriever.gives

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Any]]]:
        for linked in questions:
            for watch in self._watches.on(linked.question):
                watch.on_topics(linked.topics)
        return (yield from self._retriever.retrieve(questions, top_k))


class _WatchedAnswerer:
    def __init__(self, answerer: Answerer, watches: Watchers) -> None:
        self._answerer = answerer
        self._watches = watches
        self.reads: int = getattr(answerer, "reads", 0)

    def answer(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Answer]]:
        watched = [self._watches.on(each.question) for each in evidence]
        if not any(watched):
            return (yield from self._answerer.answer(evidence))
        alone = [at for at, some in enumerate(watched) if some]
        rest = [at for at, some in enumerate(watched) if not some]
        ways = [_listen(self._answerer.answer([evidence[at]]), watched[at]) for at in alone]
        ways += [self._answerer.answer([evidence[at] for at in rest])] if rest else []
        results = yield from gather_steps(*ways)
        order = [*alone, *rest]
        found: dict[int, Answer] = dict(zip(order, [answer for some in results for answer in some], strict=True))
        return [found[at] for at in range(len(evidence))]


def _listen(steps: Steps[T], watches: Sequence[Watch]) -> Steps[T]:
    """Run the steps and their branches, and pass each piece of a prompt's reply to the watchers."""

    def tell(text: str) -> None:
        for watch in watches:
            watch.on_text(text)

    try:
        said = next(steps)
        while True:
            if isinstance(said, ParallelSteps):
                said = replace(said, steps=tuple(_listen(each, watches) for each in said.steps))
            elif not isinstance(said, CostAttribution):
                said = [replace(call, on_text=tell) if isinstance(call, Prompt) else call for call in said]
            try:
                answers = yield said
            except BaseException as error:  # noqa: BLE001 - what fails belongs to the steps inside
                said = steps.throw(error)
            else:
                said = steps.send(answers)
    except StopIteration as stop:
        result: T = stop.value
        return result
