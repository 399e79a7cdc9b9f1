"""Explain an answer: which words a score came from, what each stage left, which source ranked an item where."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ...models.star import SPECIAL_TOKENS
from ...models.text.verbalise import verbalise_hop
from ..errors import UsageError
from ..evidence.bridges import convert_item_kind, to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import FORMAT, Answer, Evidence, Item, Kind, answer_data, chain_data, format_count, round_score
from ..evidence.text import item_text, one_line, relation_words
from ..pipeline import deduplication_key
from ..recipes import Recipe
from ..resources import GraphResources
from ..retrieval.scoring import PathQuery, PathScorer, merge_mediator_hops, topic_mention
from ..retrieval.similarity import Similarity
from ..retrieval.star import Star, StarScorer
from ..values import Question, Scored, Topic

if TYPE_CHECKING:
    from ..api import Engine


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A word as the scorer reads it; `weight` is the sum of its tokens' weights, `tokens` are as in the vocabulary."""

    text: str
    weight: float
    tokens: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ExplainedPath:
    """A chain with the weights of words. The weights of `question` sum to 1, and so do those of `words`.

    score: what the search ranks by. cross_score: s(q, p) of the cross-attentive scorer, in 0 to 1; None without one.
    question: the attention of `[QSP]`, or the score's loss without each word. words: the attention of `[PSP]` over the
    path's words, or the loss of the path's similarity to the question.
    """

    path: Chain
    score: float
    cross_score: float | None
    question: tuple[WeightedWord, ...]
    words: tuple[WeightedWord, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The best paths of a question, best first; `paths` is empty if none was found, and `note` may say why."""

    question: Question
    paths: tuple[ExplainedPath, ...]
    note: str = ""

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the weights of the question's and the path's words: for attention, else for occlusion."""
        has_attention = all(path.cross_score is not None for path in self.paths)
        return ("[QSP]", "[PSP]") if has_attention else ("question", "path")


Spelling = Literal["##", "Ġ", "▁"]
"""How a tokenizer marks pieces: BERT marks continuations, RoBERTa (bytes) and SentencePiece mark beginnings."""

_OWN_BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHER_BYTES = [byte for byte in range(256) if byte not in _OWN_BYTES]
_BYTE_OF = {chr(byte): byte for byte in _OWN_BYTES} | {chr(256 + i): byte for i, byte in enumerate(_OTHER_BYTES)}
"""The byte of each character of a byte-level vocabulary (GPT-2's table)."""


def detect_subword_marker(tokens: Iterable[str]) -> Spelling:
    """Return the mark that most tokens begin with, `##` if none has any."""
    marks: tuple[Spelling, ...] = ("##", "Ġ", "▁")
    seen = list(tokens)
    return max(marks, key=lambda mark: sum(token.startswith(mark) for token in seen))


def join_tokens(tokens: Sequence[tuple[str, float]], spelling: Spelling) -> tuple[WeightedWord, ...]:
    """Join weighted tokens to words, in order. Punctuation and special tokens are separate words."""
    words: list[list[tuple[str, float]]] = []
    for token, weight in tokens:
        if words and _continues_word(words[-1][-1][0], token, spelling):
            words[-1].append((token, weight))
        else:
            words.append([(token, weight)])
    return tuple(
        WeightedWord(_text([token for token, _ in word], spelling), sum(weight for _, weight in word), tuple(word))
        for word in words
    )


def _continues_word(before: str, token: str, spelling: Spelling) -> bool:
    if before in SPECIAL_TOKENS or token in SPECIAL_TOKENS:
        return False
    if spelling == "##":
        return token.startswith(spelling)
    return not (token.startswith(spelling) or _is_punctuation(token) or _is_punctuation(before.removeprefix(spelling)))


def _is_punctuation(text: str) -> bool:
    return bool(text) and all(char in string.punctuation for char in text)


def _text(tokens: Sequence[str], spelling: Spelling) -> str:
    joined = "".join(tokens)
    if tokens[0] in SPECIAL_TOKENS:
        return joined
    if spelling == "##":
        return tokens[0] + "".join(token.removeprefix(spelling) for token in tokens[1:])
    if spelling == "▁":
        return joined.replace(spelling, "") or joined
    if not _BYTE_OF.keys() >= set(joined):
        return joined
    return bytes(_BYTE_OF[char] for char in joined).decode("utf-8", errors="replace").strip() or joined


PUNCTUATION = string.punctuation + "“”‘’"
NOT_USED = "the order is by the dual encoder alone: this checkpoint gives the cross-attentive scorer no weight"
OCCLUSION = "no attention to show: the weights are the loss of a path's score without a word"


def is_explainable(recipe: Recipe) -> bool:
    """Return whether a recipe has a part whose scores can be explained."""
    return any(isinstance(part, Star | Similarity) for part in recipe.parts.values())


def find_explaining_part(recipe: Recipe) -> Star | Similarity:
    """Return the part of a recipe whose scores can be explained. Raises `UsageError` if there is none."""
    part = next((part for part in recipe.parts.values() if isinstance(part, Star | Similarity)), None)
    if part is None:
        raise UsageError(
            f"recipe {recipe.name} has no path scores to explain: use a recipe with the part similarity or star, "
            "or name the folder of a trained scorer with --checkpoint"
        )
    return part


def explain_evidence(evidence: Evidence[Item], part: Star | Similarity, graph: GraphResources) -> Explanation:
    """Return the evidence's chains with the weights of words, each scored with the question again.

    The weights are the attention of the cross-attentive scorer; without one, the score's loss without each word.
    """
    scorer = part.scorer(graph)
    topics = {topic.entity.id: topic for topic in evidence.topics}
    chains = to_chains(evidence).items
    attending = _attending(part, scorer)
    if attending is None:
        starts = [topics[each.value.topic.id] for each in chains]
        paths = explain_by_occlusion(evidence.question.text, starts, chains, scorer, graph)
        return Explanation(evidence.question, paths, evidence.note or OCCLUSION)
    part_mix = part.mix if isinstance(part, Star) else None
    mix = attending.model.checkpoint.description.mix if part_mix is None else part_mix
    return Explanation(
        evidence.question,
        tuple(
            _explain_path(evidence.question.text, topics[chain.value.topic.id], chain, attending) for chain in chains
        ),
        evidence.note or ("" if mix else NOT_USED),
    )


def _attending(part: Star | Similarity, scorer: PathScorer) -> StarScorer | None:
    """Return the scorer where it has attention to show."""
    if not isinstance(part, Star):
        return None
    return scorer if isinstance(scorer, StarScorer) and scorer.model.checkpoint.cross is not None else None


def explain_by_occlusion(
    question: str,
    topics: Sequence[Topic],
    chains: Sequence[Scored[Chain]],
    scorer: PathScorer,
    graph: GraphResources,
) -> tuple[ExplainedPath, ...]:
    """Return the chains with their scores' loss without each word of the question (Zeiler and Fergus 2014).

    Words that name a topic have no weight, because scorers do not read them. The weight of a path's word is the loss of
    the path's similarity to the question without it, for every scorer: our own.
    """
    if not chains:
        return ()
    words = question.split()
    paths = tuple(chain.value.relation_path for chain in chains)
    texts = [question, *(" ".join(words[:at] + words[at + 1 :]) or "?" for at in range(len(words)))]
    queries = [PathQuery(text, tuple(topics), paths, (0.0,) * len(paths)) for text in texts]
    scores = np.array([found.stop for found in scorer.score(queries)], dtype=np.float64)
    found = []
    for rank, (topic, chain) in enumerate(zip(topics, chains, strict=True)):
        named = set(topic_mention(topic).lower().split())
        losses = [
            0.0 if word.lower().strip(PUNCTUATION) in named else max(0.0, scores[0, rank] - scores[at, rank])
            for at, word in enumerate(words, start=1)
        ]
        path_words = " ".join(
            verbalise_hop(hop) for hop in merge_mediator_hops(chain.value.relation_path, graph.words)
        ).split()
        left_out = [" ".join(path_words[:at] + path_words[at + 1 :]) or "?" for at in range(len(path_words))]
        vectors = graph.shared.vectors.stack([question, " ".join(path_words), *left_out])
        similarity = vectors[1:] @ vectors[0]
        found.append(
            ExplainedPath(
                chain.value,
                score=chain.score,
                cross_score=None,
                question=_weigh_words(words, np.array(losses)),
                words=_weigh_words(path_words, np.maximum(similarity[0] - similarity[1:], 0.0)),
            )
        )
    return tuple(found)


def _weigh_words(words: Sequence[str], lost: npt.NDArray[np.floating]) -> tuple[WeightedWord, ...]:
    """Return words with weights that sum to 1, equal ones if no word matters."""
    total = float(lost.sum())
    weights = lost / total if total > 0 else np.full(len(words), 1 / max(len(words), 1))
    return tuple(
        WeightedWord(word, weight, ((word, weight),)) for word, weight in zip(words, weights.tolist(), strict=True)
    )


def _explain_path(question: str, topic: Topic, chain: Scored[Chain], scorer: StarScorer) -> ExplainedPath:
    read = scorer.attention(question, topic, chain.value.relation_path)
    spelling = detect_subword_marker(token for token, _ in (*read.question, *read.path))
    return ExplainedPath(
        chain.value,
        score=chain.score,
        cross_score=read.score,
        question=join_tokens(read.question, spelling),
        words=join_tokens(read.path, spelling),
    )


def explanation_data(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data: each chain as in evidence, with the weights of words and tokens."""
    return {
        "format": FORMAT,
        "id": explanation.question.id,
        "question": explanation.question.text,
        "items": [
            {
                "rank": rank,
                "score": round_score(path.score),
                **chain_data(path.path),
                "cross_score": None if path.cross_score is None else round_score(path.cross_score),
                "question_words": _words_data(path.question),
                "path_words": _words_data(path.words),
            }
            for rank, path in enumerate(explanation.paths, start=1)
        ],
        "note": explanation.note,
    }


def _words_data(words: Sequence[WeightedWord]) -> list[dict[str, Any]]:
    return [
        {
            "word": word.text,
            "weight": round(word.weight, 6),
            "tokens": [{"token": token, "weight": round(weight, 6)} for token, weight in word.tokens],
        }
        for word in words
    ]


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
