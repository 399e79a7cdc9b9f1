"""Explain an answer: how its paths are read, which source ranked an item where, which words a trained scorer read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from ..models.star import SPECIAL_TOKENS
from .data_model import Chain
from .evidence import Answer, Evidence, format_count
from .evidence.conversion import convert_item_kind, convert_to_chains
from .evidence.json_data import AnswerData
from .evidence.text import format_relation
from .neo4j.gateway import Gateway
from .pipeline import deduplication_key
from .recipes import Recipe
from .resources import GraphResources
from .retrieval.similarity import describe_wanted_kind
from .retrieval.star import Star

NOT_USED = "the order is by the dual encoder alone: this checkpoint gives the cross-attentive scorer no weight"


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word as the scorer reads it; its weight is the sum of its tokens' weights."""

    text: str
    weight: float


Words = tuple[WeightedWord, ...]


@dataclass(frozen=True, slots=True)
class WordWeights:
    """What the cross-attentive scorer attends to: the weights of `question` sum to 1, and so do those of `path`.

    cross_score: s(q, p), in 0 to 1. question: the attention of `[QSP]`. path: that of `[PSP]` over the path's words
    (STAR, section 5.4).
    """

    cross_score: float
    question: Words
    path: Words

    def lines(self) -> Iterator[str]:
        for label, words in (("[QSP]", self.question), ("[PSP]", self.path)):
            yield f"{label} {' '.join(f'{word.text}({100 * word.weight:.0f})' for word in words)}"


@dataclass(frozen=True, slots=True)
class SourceRank:
    """Where a source of a union has an item: its rank, counted from 1, and the source's own score."""

    source: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class ItemReasons:
    """What is known of an item: its place in each source of a union, none for one retriever; how its path is read; and
    the weights of words, None where the recipe has no cross-attentive scorer."""

    rankings: tuple[SourceRank, ...]
    reading: str
    words: WordWeights | None

    def lines(self) -> Iterator[str]:
        if self.rankings:
            yield "by " + ", ".join(f"{each.source}: rank {each.rank} ({each.score:.3f})" for each in self.rankings)
        if self.reading:
            yield self.reading
        if self.words:
            yield from self.words.lines()


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer with what decided: the reasons of its first items, and how their words were weighed."""

    answer: Answer
    items: tuple[ItemReasons, ...]
    note: str = ""

    def lines(self) -> Iterator[str]:
        stages = self.answer.evidence.trace.stages
        yield "after each stage: " + ", ".join(f"{name} {format_count(number, kind)}" for name, kind, number in stages)
        if self.note:
            yield self.note

    def to_dict(self) -> AnswerData:
        """Return the answer as plain data with its `trace`, which has the reasons of `items`, too."""
        data = self.answer.to_dict(trace=True)
        data["trace"] = data.get("trace", {}) | {
            "items": [{"rank": rank, **asdict(item)} for rank, item in enumerate(self.items, start=1)],
            "note": self.note,
        }
        return data


def explain_answer(answer: Answer, recipe: Recipe, graph: GraphResources, db: Gateway, *, top_k: int) -> Explanation:
    """Return an answer of any recipe with the reasons of its first `top_k` items; `db` makes chains of triples."""
    evidence, note = answer.evidence, ""
    part = next((part for part in recipe.parts.values() if isinstance(part, Star)), None)
    scorer = None if part is None else part.reader(graph)
    if part is not None and scorer is not None and not part.weigh_reader(graph):
        note = NOT_USED
    topics = {topic.entity.id: topic for topic in evidence.topics}
    names = [name for name, _ in evidence.trace.sources]
    sources = convert_item_kind(db, [source for _, source in evidence.trace.sources], evidence.kind)
    ranks = {
        name: {deduplication_key(item.value): (rank, item.score) for rank, item in enumerate(source.items, start=1)}
        for name, source in zip(names, sources, strict=True)
    }
    items = []
    shown = evidence.items[:top_k]
    chained = convert_to_chains(db, [replace(evidence, items=(item,)) for item in shown])
    for item, chains in zip(shown, chained, strict=True):
        key, words = deduplication_key(item.value), None
        rankings = tuple(SourceRank(name, *known[key]) for name, known in ranks.items() if key in known)
        if scorer is not None and chains.items:
            chain = chains.items[0].value
            read = scorer.attention(evidence.question.text, topics[chain.topic.id], chain.relation_path)
            words = WordWeights(read.score, _join_tokens(read.question), _join_tokens(read.path))
        items.append(ItemReasons(rankings, _describe_path(chains, graph), words))
    return Explanation(answer, tuple(items), note)


def _describe_path(chains: Evidence[Chain], graph: GraphResources) -> str:
    if not chains.items:
        return ""
    own = ", ".join(format_relation(step.step.relation, graph.labels) for step in chains.items[0].value.steps)
    return describe_wanted_kind(chains, graph) or f"read by its own words: {own}"


MARKS = ("Ġ", "▁")
"""What RoBERTa and SentencePiece begin a word's first piece with; BERT begins the others with ``##``."""


def _join_tokens(tokens: Sequence[tuple[str, float]]) -> Words:
    """Join weighted tokens to words, in order; special tokens are words of their own."""
    marked = any(token.startswith(MARKS) for token, _ in tokens)
    words: list[WeightedWord] = []
    before = ""
    for token, weight in tokens:
        is_piece = not token.startswith(MARKS) if marked else token.startswith("##")
        text = token.removeprefix("##") if is_piece else token.lstrip("".join(MARKS))
        if words and is_piece and before not in SPECIAL_TOKENS and token not in SPECIAL_TOKENS:
            words[-1] = WeightedWord(words[-1].text + text, words[-1].weight + weight)
        else:
            words.append(WeightedWord(text or token, weight))
        before = token
    return tuple(words)
