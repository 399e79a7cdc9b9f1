"""Explain an answer: which words a score came from, what each stage dropped, which source ranked an item where."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from ...models.star import SPECIAL_TOKENS
from ...models.text.verbalise import verbalise_hop
from ..evidence.bridges import convert_item_kind, to_chains
from ..evidence.chain import Chain
from ..evidence.data import AnswerData
from ..evidence.evidence import Answer, Evidence, Item, Kind, format_count
from ..evidence.text import item_text, one_line, relation_words
from ..pipeline import deduplication_key
from ..recipes import Recipe
from ..resources import GraphResources
from ..retrieval.scoring import PathQuery, PathScorer, merge_mediator_hops, topic_mention
from ..retrieval.similarity import Similarity, describe_wanted_kind
from ..retrieval.star import Star, StarScorer
from ..values import Topic

PUNCTUATION = string.punctuation + "“”‘’"
NOT_USED = "the order is by the dual encoder alone: this checkpoint gives the cross-attentive scorer no weight"
OCCLUSION = "no attention to show: the weights are the loss of a path's score without a word"
MAX_DROPPED = 3
"""Items that a stage dropped and that are shown, best first."""


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word as the scorer reads it; its weight is the sum of its tokens' weights."""

    text: str
    weight: float


Words = tuple[WeightedWord, ...]


@dataclass(frozen=True, slots=True)
class WordWeights:
    """What the score of a path depends on: the weights of `question` sum to 1, and so do those of `path`.

    cross_score: s(q, p) of the cross-attentive scorer, in 0 to 1; None without one. question: the attention of `[QSP]`,
    or the score's loss without each word. path: the attention of `[PSP]` over the path's words, or the loss of the
    path's similarity to the question.
    """

    cross_score: float | None
    question: Words
    path: Words

    def lines(self) -> Iterator[str]:
        """Yield the words with their per cent."""
        labels = ("question", "path") if self.cross_score is None else ("[QSP]", "[PSP]")
        for label, words in zip(labels, (self.question, self.path), strict=True):
            yield f"{label} {' '.join(f'{word.text}({100 * word.weight:.0f})' for word in words)}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """Where a source of a union has an item: its rank, counted from 1, and the source's own score."""

    source: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class ItemReasons:
    """What is known of an item: its place in each source of a union, none for one retriever; how its path is read; and
    the weights of words, None where the recipe has no part that scores paths."""

    rankings: tuple[Ranking, ...]
    reading: str
    words: WordWeights | None

    def lines(self) -> Iterator[str]:
        """Yield them in words."""
        if self.rankings:
            yield "by " + ", ".join(f"{each.source}: rank {each.rank} ({each.score:.3f})" for each in self.rankings)
        if self.reading:
            yield self.reading
        if self.words:
            yield from self.words.lines()


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
class Explanation:
    """An answer with what decided: the reasons of its first items, and how their words were weighed."""

    answer: Answer
    items: tuple[ItemReasons, ...]
    note: str = ""

    @property
    def dropped(self) -> tuple[DroppedItems, ...]:
        """What each reorganiser dropped of what it was given; none for a stage that kept all."""
        return tuple(filter(None, (_find_dropped(*change) for change in self.answer.evidence.stages)))

    def lines(self) -> Iterator[str]:
        """Yield what holds for all items, in words."""
        stages = self.answer.evidence.stages
        yield "after each stage: " + ", ".join(f"{s} {format_count(len(e.items), e.kind)}" for s, _, e in stages)
        yield from map(str, self.dropped)
        if self.note:
            yield self.note

    def to_dict(self) -> AnswerData:
        """Return the answer as plain data with its `trace`, which has `dropped` and the reasons of `items`, too."""
        data = self.answer.to_dict(trace=True)
        data["trace"] = data.get("trace", {}) | {
            "dropped": [asdict(each) for each in self.dropped],
            "items": [{"rank": rank, **asdict(item)} for rank, item in enumerate(self.items, start=1)],
            "note": self.note,
        }
        return data


def explain(answer: Answer, recipe: Recipe, graph: GraphResources, *, top_k: int) -> Explanation:
    """Return an answer of any recipe with the reasons of its first `top_k` items.

    Words have the attention of the cross-attentive scorer where the recipe has one, else what the score of the recipe's
    first path scorer loses without them.
    """
    evidence = answer.evidence
    alone = [to_chains(replace(evidence, items=(each,), groups=())) for each in evidence.items[:top_k]]
    places = [place for place, each in enumerate(alone) if each.items]
    part = next((part for part in recipe.parts.values() if isinstance(part, Star | Similarity)), None)
    weights: dict[int, WordWeights] = {}
    note = ""
    if part is not None and places:
        topics = {topic.entity.id: topic for topic in evidence.topics}
        chains = [alone[place].items[0].value for place in places]
        starts = [topics[chain.topic.id] for chain in chains]
        found, note = _weigh(evidence.question.text, starts, chains, part, graph)
        weights = dict(zip(places, found, strict=True))
    ranks = {name: _rank_items(source, evidence.kind) for name, source in evidence.sources}
    items = []
    for place, item in enumerate(evidence.items[:top_k]):
        key = deduplication_key(item.value)
        rankings = tuple(Ranking(name, *known[key]) for name, known in ranks.items() if key in known)
        items.append(ItemReasons(rankings, _describe_path(alone[place], graph), weights.get(place)))
    return Explanation(answer, tuple(items), note)


def _weigh(
    question: str, topics: Sequence[Topic], chains: Sequence[Chain], part: Star | Similarity, graph: GraphResources
) -> tuple[list[WordWeights], str]:
    scorer = part.scorer(graph)
    attending = _attending(part, scorer)
    if attending is None:
        return _weigh_by_occlusion(question, topics, chains, scorer, graph), OCCLUSION
    mix = attending.model.checkpoint.description.mix if part.mix is None else part.mix  # type: ignore[union-attr]
    found = []
    for topic, chain in zip(topics, chains, strict=True):
        read = attending.attention(question, topic, chain.relation_path)
        found.append(WordWeights(read.score, join_tokens(read.question), join_tokens(read.path)))
    return found, "" if mix else NOT_USED


def _attending(part: Star | Similarity, scorer: PathScorer) -> StarScorer | None:
    """Return the scorer where it has attention to show."""
    if not isinstance(part, Star):
        return None
    return scorer if isinstance(scorer, StarScorer) and scorer.model.checkpoint.cross is not None else None


def _weigh_by_occlusion(
    question: str, topics: Sequence[Topic], chains: Sequence[Chain], scorer: PathScorer, graph: GraphResources
) -> list[WordWeights]:
    """Return the scores' loss without each word of the question (Zeiler and Fergus 2014).

    Words that name a topic have no weight, because scorers do not read them. The weight of a path's word is the loss of
    the path's similarity to the question without it, for every scorer: our own.
    """
    words = question.split()
    paths = tuple(chain.relation_path for chain in chains)
    queries = [PathQuery(text, tuple(topics), paths, (0.0,) * len(paths)) for text in _without_each(words)]
    scores = np.array([found.stop for found in scorer.score(queries)], dtype=np.float64)
    found = []
    for rank, (topic, path) in enumerate(zip(topics, paths, strict=True)):
        named = set(topic_mention(topic).lower().split())
        losses = scores[0, rank] - scores[1:, rank]
        losses[[word.lower().strip(PUNCTUATION) in named for word in words]] = 0.0
        path_words = " ".join(verbalise_hop(hop) for hop in merge_mediator_hops(path, graph.words)).split()
        vectors = graph.shared.vectors.stack([question, *_without_each(path_words)])
        similarity = vectors[1:] @ vectors[0]
        of_path = _share(path_words, (similarity[0] - similarity[1:]).tolist())
        found.append(WordWeights(None, _share(words, losses.tolist()), of_path))
    return found


def _without_each(words: Sequence[str]) -> list[str]:
    """Return the text, then the text without each word."""
    return [" ".join(words), *(" ".join((*words[:at], *words[at + 1 :])) or "?" for at in range(len(words)))]


def _share(words: Sequence[str], losses: Sequence[float]) -> Words:
    """Return words with weights that sum to 1, equal ones if no word matters."""
    lost = [max(0.0, loss) for loss in losses]
    total = sum(lost)
    return tuple(
        WeightedWord(word, each / total if total else 1 / len(words)) for word, each in zip(words, lost, strict=True)
    )


def _describe_path(chains: Evidence[Chain], graph: GraphResources) -> str:
    """Return how the path of one item is read; empty for a triple that is not at a topic."""
    if not chains.items:
        return ""
    own = ", ".join(relation_words(step.step.relation) for step in chains.items[0].value.steps)
    return describe_wanted_kind(chains, graph.words, graph.shared.vectors) or f"read by its own words: {own}"


def _find_dropped(stage: str, before: Evidence[Item] | None, after: Evidence[Item]) -> DroppedItems | None:
    if before is None:
        return None
    given = convert_item_kind(before, after.kind).items
    kept = {deduplication_key(item.value) for item in after.items}
    gone = [one_line(item_text(item.value, max_names=2)) for item in given if deduplication_key(item.value) not in kept]
    return DroppedItems(stage, after.kind, len(gone), len(given), tuple(gone[:MAX_DROPPED])) if gone else None


def _rank_items(source: Evidence[Item], kind: Kind) -> Mapping[object, tuple[int, float]]:
    """Return rank and score of each item of a source, as items of a kind."""
    items = convert_item_kind(source, kind).items
    return {deduplication_key(item.value): (rank, item.score) for rank, item in enumerate(items, start=1)}


MARKS = ("Ġ", "▁")
"""What RoBERTa and SentencePiece begin a word's first piece with; BERT begins the others with ``##``."""


def join_tokens(tokens: Sequence[tuple[str, float]]) -> Words:
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
