"""The relation paths of a reach that lead to right answers.

Of the paths that were walked the ends are known. Of the last hops, which were not, those are walked that the database
finds on the way to an answer: between topic and answer, both held (``find_answer_paths.cypher``), or where paths are
longer by the last steps to the answers (``find_last_steps.cypher``), which meet what was walked from the topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ....models.f1 import f1_of
from ...database.mining import AnswerPair, AnswerSteps, LastSteps, find_answer_paths, find_last_steps
from ...retrieval.frontier import Frontier, ends_for
from ...steps import Steps, one
from ...values import Step
from .exploring import Explored, Explorer, Way, expand
from .hops import WalkedPath, steps_of, written_hop
from .placing import Placed


@dataclass(frozen=True, slots=True)
class RightPath:
    """A relation path from a topic, by its place among the question's, that leads to at least one right answer.

    precision: right ends / ends. recall: right ends / right answers. gold: an annotator wrote its relations down.
    """

    topic: int
    hops: WalkedPath
    precision: float
    recall: float
    gold: bool

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return f1_of(self.precision, self.recall)


@dataclass(frozen=True, slots=True)
class Found:
    """The paths from one topic of a question to its answers, which are to be labelled.

    reaching: all that is known to lead to an answer, whether or not a search would be offered it. cut: there may be
    more of them. num_cut: paths whose ends are not all known.
    """

    paths: tuple[RightPath, ...]
    reaching: frozenset[tuple[Step, ...]]
    cut: bool
    num_cut: int


@dataclass(frozen=True, slots=True)
class Ask:
    """One topic of a question, by its place among them, and what can be walked from it."""

    placed: Placed
    topic: int
    reach: Explored
    return_to_topic: bool = False


def find_paths(explorer: Explorer, asks: Sequence[Ask], max_degree: int) -> Steps[list[Found]]:
    """Return what leads from each topic to the answers of its question."""
    if not asks:
        return []
    between = yield from _meetings(asks, max_degree, explorer.max_paths)
    last = [list(_last_hops(explorer, ask.reach, met)) for ask, met in zip(asks, between, strict=True)]
    taken = [(way.frontier, step) for hops in last for way, step in hops]
    reached = iter((yield from expand(explorer.tree, taken)))
    return [
        _found(ask, met, [(way, step, next(reached)) for way, step in hops])
        for ask, met, hops in zip(asks, between, last, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Met:
    """Where what was walked from a topic meets the answers: the steps that lead there, by the way they are taken from.

    reaching: all paths that were found to lead to an answer.
    """

    steps: Mapping[Way, AbstractSet[Step]]
    reaching: AbstractSet[tuple[Step, ...]]
    cut: bool


def _meetings(asks: Sequence[Ask], max_degree: int, max_paths: int) -> Steps[list[_Met]]:
    """Find paths of up to two steps between the ends, and for longer ones the last steps; one round trip for all."""
    pairs = [AnswerPair(ask.reach.topic.id, tuple(sorted(ask.placed.answers))) for ask in asks]
    answers = {id_ for ask in asks if any(map(_is_long, ask.reach.last)) for id_ in ask.placed.answers}
    if not answers:
        short = yield from one(find_answer_paths(pairs, max_degree, max_paths))
        return [_met(ask, paths, {}) for ask, paths in zip(asks, short, strict=True)]
    short, last = yield (
        find_answer_paths(pairs, max_degree, max_paths),
        find_last_steps(sorted(answers), max_degree),
    )
    return [_met(ask, paths, last) for ask, paths in zip(asks, short, strict=True)]


def _is_long(way: Way) -> bool:
    """Whether a path that leaves a way has more steps than are looked for between both ends."""
    return len(way.frontier.steps) > 1


def _met(ask: Ask, short: AnswerSteps, last: Mapping[str, LastSteps]) -> _Met:
    following: dict[tuple[Step, ...], set[Step]] = {}
    for *before, step in short.paths:
        following.setdefault(tuple(before), set()).add(step)
    into = [last[answer] for answer in sorted(ask.placed.answers) if answer in last]
    steps: dict[Way, AbstractSet[Step]] = {}
    for way in ask.reach.last:
        if _is_long(way):
            steps[way] = {step for tail in way.frontier.tails for found in into for step in found.steps.get(tail, ())}
        else:
            steps[way] = following.get(way.steps, set())
    long = {(*way.steps, step) for way, found in steps.items() if _is_long(way) for step in found}
    return _Met(steps, {*short.paths, *long}, short.cut or any(found.cut for found in into))


def _last_hops(explorer: Explorer, reach: Explored, met: _Met) -> Iterator[tuple[Way, Step]]:
    """Yield the last steps that lead to an answer, of those that a search would be offered."""
    for way in reach.last:
        if met.steps[way]:
            yield from ((way, step) for _, step in way.frontier.steps_on(explorer.relations) if step in met.steps[way])


def right_path(ask: Ask, hops: WalkedPath, frontier: Frontier) -> RightPath | None:
    """Return the path with precision and recall of its ends; None where no end is right."""
    topics = {topic.id for topic in ask.placed.topics}
    ends = ends_for(frontier.steps, frontier.ends, topics, return_to_topic=ask.return_to_topic)
    num_right = sum(end.id in ask.placed.answers for end in ends)
    if not num_right:
        return None
    relations = tuple(step.relation for step in frontier.steps)
    return RightPath(
        topic=ask.topic,
        hops=hops,
        precision=num_right / len(ends),
        recall=num_right / len(ask.placed.answers),
        gold=any(path.relations == relations for path in ask.placed.question.paths),
    )


def _found(ask: Ask, met: _Met, last: Sequence[tuple[Way, Step, Frontier]]) -> Found:
    known = {way.hops: way.frontier for way in ask.reach.walked}
    known |= {(*way.hops, way.hop(step)): frontier for way, step, frontier in last if not frontier.at_mediator}
    evaluated = [(right_path(ask, hops, frontier), frontier) for hops, frontier in known.items()]
    right = [path for path, _ in evaluated if path is not None]
    return Found(
        paths=tuple(sorted(right, key=lambda path: (len(path.hops), *map(written_hop, path.hops)))),
        reaching=frozenset({*met.reaching, *(steps_of(path.hops) for path in right)}),
        cut=met.cut,
        num_cut=sum(frontier.cut for path, frontier in evaluated if path is not None),
    )
