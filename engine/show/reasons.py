"""Explain an answer of any recipe: what each stage left, which source ranked an item where, how its path is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..evidence.bridges import convert_item_kind, to_chains
from ..evidence.evidence import Answer, Evidence, Item, Kind, answer_data, format_count, round_score
from ..evidence.text import item_text, one_line, relation_words
from ..pipeline import deduplication_key
from ..values import Question

if TYPE_CHECKING:
    from ..api import Engine


@dataclass(frozen=True, slots=True)
class Ranking:
    """Where a source has an item: its rank, counted from 1, and the source's own score."""

    source: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class ItemReasons:
    """What is known of an item: its place in each source of a union, empty for one retriever; how its path is read."""

    rankings: tuple[Ranking, ...]
    reading: str

    def lines(self) -> Iterator[str]:
        """Yield them in words."""
        if self.rankings:
            yield "by " + ", ".join(f"{each.source}: rank {each.rank} ({each.score:.3f})" for each in self.rankings)
        if self.reading:
            yield self.reading


MOST_DROPPED = 3
"""Items that a stage dropped and that are shown, best first."""


@dataclass(frozen=True, slots=True)
class DroppedItems:
    """What a stage dropped: `number` of `num_given` items of a kind, and the first of them in words."""

    stage: str
    kind: Kind
    number: int
    num_given: int
    first: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {self.number - len(self.first):,} more" if self.number > len(self.first) else ""
        return f"{self.stage} dropped {self.number:,} of {format_count(self.num_given, self.kind)}: " + (
            "; ".join(self.first) + more
        )


@dataclass(frozen=True, slots=True)
class AnswerReasons:
    """An answer with what decided; `items` are the reasons of the first items of its evidence.

    `answer.why` has the features that decided, where the answerer is the reader.
    """

    answer: Answer
    items: tuple[ItemReasons, ...]

    @property
    def stages(self) -> tuple[tuple[str, Kind, int], ...]:
        """What stood after each stage; at the end what the answer shows."""
        return self.answer.evidence.add_stage("answer").stages

    @property
    def dropped(self) -> tuple[DroppedItems, ...]:
        """What each reorganiser dropped of what it was given; none for a stage that kept all."""
        return tuple(filter(None, (_find_dropped(*change) for change in self.answer.evidence.changes)))

    @property
    def stages_text(self) -> str:
        """The stages in words: "reg-triple 13 triples, reorganise 6 chains, answer 6 chains"."""
        return ", ".join(f"{stage} {format_count(number, kind)}" for stage, kind, number in self.stages)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from .page import reasons_page, wrap_for_notebook

        return wrap_for_notebook(reasons_page(self))


def explain_answer(engine: Engine, question: str | Question, *, top_k: int = 5) -> AnswerReasons:
    """Return the answer of any recipe to a question, with the reasons of its first `top_k` items."""
    answer = engine.ask(question)
    evidence = answer.evidence
    ranks = {name: _rank_items(source, evidence.kind) for name, source in evidence.sources}
    found = []
    for item in evidence.items[:top_k]:
        key = deduplication_key(item.value)
        rankings = tuple(Ranking(name, *known[key]) for name, known in ranks.items() if key in known)
        found.append(ItemReasons(rankings, _describe_path(engine, replace(evidence, items=(item,), groups=()))))
    return AnswerReasons(answer, tuple(found))


def _describe_path(engine: Engine, evidence: Evidence[Item]) -> str:
    """Return how the path of one item is read; empty for a triple that is not at a topic."""
    chains = to_chains(evidence)
    if not chains.items:
        return ""
    steps = chains.items[0].value.steps
    own = ", ".join(relation_words(step.step.relation) for step in steps)
    return engine.describe_interpretation(chains) or f"read by its own words: {own}"


def _find_dropped(stage: str, before: Evidence[Item], after: Evidence[Item]) -> DroppedItems | None:
    given = convert_item_kind(before, after.kind).items
    kept = {deduplication_key(item.value) for item in after.items}
    gone = [one_line(item_text(item.value, max_names=2)) for item in given if deduplication_key(item.value) not in kept]
    return DroppedItems(stage, after.kind, len(gone), len(given), tuple(gone[:MOST_DROPPED])) if gone else None


def _rank_items(source: Evidence[Item], kind: Kind) -> Mapping[object, tuple[int, float]]:
    """Return rank and score of each item of a source, as items of a kind."""
    items = convert_item_kind(source, kind).items
    return {deduplication_key(item.value): (rank, item.score) for rank, item in enumerate(items, start=1)}


def reasons_data(reasons: AnswerReasons) -> dict[str, Any]:
    """Return the answer as `ask --json` prints it, with `stages`, what they dropped, and `reasons` of first items."""
    found = [
        {
            "rank": rank,
            "rankings": [
                {"source": each.source, "rank": each.rank, "score": round_score(each.score)} for each in item.rankings
            ],
            "reading": item.reading,
        }
        for rank, item in enumerate(reasons.items, start=1)
    ]
    stages = [{"stage": stage, "kind": kind, "items": number} for stage, kind, number in reasons.stages]
    dropped = [asdict(each) for each in reasons.dropped]
    return {**answer_data(reasons.answer), "reasons": found, "stages": stages, "dropped": dropped}
