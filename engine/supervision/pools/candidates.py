"""The candidates of a batch of questions: what lies between topics and answers and around both, merged.

ReG, section 4.1 and appendices D.1 and D.2: all shortest paths from topics to answers, the one-hop neighbourhoods of
the topics and of the answers; then one representative answer is kept (answer merging), and paths with the same
relations are one candidate (relation-chain merging).

Our reading: a path takes triples whichever way they point. The representative is the answer nearest to a topic, of
equally near ones that with the most paths, then the first by id. Chains of different topics are different ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....models.mined.pool import ChainKind, PoolChain, PooledQuestion
from ...database.pools import RelationChain, find_shortest_paths, read_neighbourhoods
from ...errors import UsageError
from ...questions.gold import GoldQuestion
from ...steps import Steps
from ..mining.placing import NO_PATH, LeftOut, Placed, placed_questions

CUT_ANSWERS = "answers"
CUT_PATHS = "paths"
CUT_NEIGHBOURS = "neighbours"
CUT_CHAINS = "chains"
CUTS = (CUT_ANSWERS, CUT_PATHS, CUT_NEIGHBOURS, CUT_CHAINS)


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Bounds; all are our own, and what they leave out is counted. max_answers: of a question, between which and its
    topics paths are looked for. max_paths: of a topic and an answer. max_degree: triples of a topic or an answer.
    max_chains: candidates of a question after merging, paths before neighbourhoods."""

    max_answers: int = 20
    max_paths: int = 1_000
    max_degree: int = 20_000
    max_chains: int = 200

    def __post_init__(self) -> None:
        for name in ("max_answers", "max_paths", "max_degree", "max_chains"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}: expected at least 1, found {getattr(self, name)}")


def pooled(questions: Sequence[GoldQuestion], options: PoolOptions) -> Steps[list[PooledQuestion | LeftOut]]:
    """Return the pool of each question, or why it is left out; one round trip after the look-up for all of them."""
    places, _ = yield from placed_questions(questions)
    kept = [each for each in places if isinstance(each, Placed)]
    if not kept:
        return [each for each in places if isinstance(each, LeftOut)]
    asked = [_asked(each, options) for each in kept]
    pairs = list(dict.fromkeys((topic, answer) for topics, answers in asked for topic in topics for answer in answers))
    ids = list(dict.fromkeys(id_ for topics, answers in asked for id_ in (*topics, *answers)))
    between, around = yield (
        find_shortest_paths(pairs, options.max_paths),
        read_neighbourhoods(ids, options.max_degree),
    )
    paths = dict(zip(pairs, between, strict=True))
    found = iter(
        _pool(each, topics, answers, paths, around, options)
        for each, (topics, answers) in zip(kept, asked, strict=True)
    )
    return [each if isinstance(each, LeftOut) else next(found) for each in places]


def _asked(placed: Placed, options: PoolOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return topics and answers; no topic is an answer."""
    topics = tuple(topic.id for topic in placed.topics)
    return topics, tuple(sorted(placed.answers - set(topics))[: options.max_answers])


def _pool(
    placed: Placed,
    topics: tuple[str, ...],
    answers: tuple[str, ...],
    paths: Mapping[tuple[str, str], Sequence[RelationChain]],
    around: Mapping[str, Sequence[RelationChain]],
    options: PoolOptions,
) -> PooledQuestion | LeftOut:
    led_to = [answer for answer in answers if any(paths[topic, answer] for topic in topics)]
    if not led_to:
        return LeftOut(placed.question.id, NO_PATH)
    answer = min(led_to, key=lambda each: (*_near([paths[topic, each] for topic in topics]), each))
    chains: dict[tuple[str, tuple[str, ...]], PoolChain] = {}

    def add(kind: ChainKind, start: str, found: Sequence[RelationChain]) -> None:
        for chain in found:
            chains.setdefault((start, chain.steps), PoolChain(kind, start, chain.steps, chain.names, chain.count))

    for topic in topics:
        add("path", topic, paths[topic, answer])
    for topic in topics:
        add("query", topic, around.get(topic, ()))
    add("answer", answer, around.get(answer, ()))
    all_paths = [chain for topic in topics for each in answers for chain in paths[topic, each]]
    neighbours = [chain for id_ in (*topics, *answers) for chain in around.get(id_, ())]
    cuts = {
        CUT_ANSWERS: len(placed.answers) - len(set(topics) & placed.answers) > len(answers),
        CUT_PATHS: any(chain.cut for chain in all_paths),
        CUT_NEIGHBOURS: any(chain.cut for chain in neighbours),
        CUT_CHAINS: len(chains) > options.max_chains,
    }
    return PooledQuestion(
        placed.question.id,
        placed.question.text,
        topics,
        answer,
        tuple(chains.values())[: options.max_chains],
        sum(chain.count for chain in (*all_paths, *neighbours)),
        tuple(name for name, is_cut in cuts.items() if is_cut),
    )


def _near(of_topics: Sequence[Sequence[RelationChain]]) -> tuple[int, int]:
    """Return the length of the shortest path to an answer, and how many paths there are, negated."""
    chains = [chain for found in of_topics for chain in found]
    return min(len(chain.steps) for chain in chains), -sum(chain.count for chain in chains)
