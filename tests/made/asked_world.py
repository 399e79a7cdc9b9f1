"""A made graph of 3,840 triples, and questions that ask for its relations in words of their own.

Each relation has a name, a word that asks for it, and another one that asks for it as a second step. All are made of
letters by chance, so that nothing but questions with answers can tell which word asks for which relation.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lodestar.models.star.mined import AnswerPath, MinedFile, MinedFileOrigin, MinedQuestion, MinedTopic, PathTrie
from lodestar.models.subgraphs import GraphTexts, QuestionGraphs

NUM_ENTITIES, NUM_RELATIONS = 480, 8
GRAPH = "2" * 64
_CHANCE = random.Random(37)


def _make_words(number: int) -> tuple[str, ...]:
    words = dict[str, None]()
    while len(words) < number:
        words["".join(_CHANCE.choices(string.ascii_lowercase, k=6))] = None
    return tuple(words)


ENTITIES = _make_words(NUM_ENTITIES)
NAMES, ASKED, FAR = (_make_words(NUM_RELATIONS) for _ in range(3))
TAILS = [
    _CHANCE.choices([to for to in range(NUM_ENTITIES) if to != head], k=NUM_RELATIONS) for head in range(NUM_ENTITIES)
]
"""The entity that each relation leads to, by head."""
PATHS = tuple((one,) for one in range(NUM_RELATIONS)) + tuple(
    (one, two) for one in range(NUM_RELATIONS) for two in range(NUM_RELATIONS)
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for the end of a path of one or two relations."""

    topic: int
    path: tuple[int, ...]

    @property
    def id(self) -> str:
        return f"{self.topic}-{'-'.join(map(str, self.path))}"

    @property
    def masked(self) -> str:
        """The question without its topic."""
        words = [FAR[relation] for relation in self.path[1:]] + [ASKED[self.path[0]]]
        return f"which {' after the '.join(words)} has"

    @property
    def text(self) -> str:
        return f"{self.masked} {ENTITIES[self.topic]}"

    @property
    def answer(self) -> int:
        end = self.topic
        for relation in self.path:
            end = TAILS[end][relation]
        return end


def ask(first: int, after: int) -> list[Asked]:
    """Return a question of one step and one of two about each of these entities."""
    chance = random.Random(first)
    found = []
    for topic in range(first, after):
        one, two = chance.randrange(NUM_RELATIONS), chance.randrange(NUM_RELATIONS)
        found += [Asked(topic, (one,)), Asked(topic, (two, chance.randrange(NUM_RELATIONS)))]
    return [each for each in found if each.answer != each.topic]


def subgraphs_of(questions: Sequence[Asked]) -> QuestionGraphs:
    """Return all that is within two steps of each topic; right are the triples of the question's path."""
    heads, relation_of, tails, positive, text_of = [], [], [], [], list[int]()
    node_starts, triple_starts = [0], [0]
    answers = []
    for asked in questions:
        start = node_starts[-1]
        near = list(dict.fromkeys([asked.topic, *TAILS[asked.topic]]))
        nodes = dict.fromkeys([*near, *(tail for head in near for tail in TAILS[head])])
        place = {entity: start + number for number, entity in enumerate(nodes)}
        right = {(asked.topic, asked.path[0])}
        if len(asked.path) > 1:
            right.add((TAILS[asked.topic][asked.path[0]], asked.path[1]))
        for head in near:
            for relation, tail in enumerate(TAILS[head]):
                heads.append(place[head])
                relation_of.append(relation)
                tails.append(place[tail])
                positive.append((head, relation) in right)
        text_of += place
        answers.append({str(asked.answer): place[asked.answer] - start})
        node_starts.append(start + len(place))
        triple_starts.append(len(heads))
    texts = GraphTexts(
        "made", f"{questions[0].topic:064}", GRAPH, {"num_hops": 2},
        tuple(each.id for each in questions), tuple(each.text for each in questions), ENTITIES, NAMES, NAMES,
        tuple({str(each.topic): 0} for each in questions), tuple(answers),
    )  # fmt: skip
    is_topic = np.zeros(len(text_of), dtype=np.bool_)
    is_topic[node_starts[:-1]] = True
    is_answer = np.zeros(len(text_of), dtype=np.bool_)
    is_answer[[start + next(iter(of.values())) for start, of in zip(node_starts, answers, strict=False)]] = True
    heads_of, relations_of, tails_of = (np.array(each, dtype=np.int64) for each in (heads, relation_of, tails))
    return QuestionGraphs(
        texts, heads_of, relations_of, tails_of, np.array(positive, dtype=np.bool_), np.array(text_of, dtype=np.int64), is_topic,
        np.zeros(len(text_of), dtype=np.bool_), is_answer, np.array(node_starts), np.array(triple_starts),
        f"{questions[0].topic:064}",
    )  # fmt: skip


def mine(questions: Sequence[Asked]) -> MinedFile:
    """Return what mining finds: the question's own path is right, and any of one or two steps is within reach."""
    reach: PathTrie = {one: {two: {} for two in NAMES} for one in NAMES}
    mining = MinedFileOrigin(
        "made", f"{questions[0].topic:064}", GRAPH, "tiny", 2, {name: ("", name) for name in NAMES}
    )
    found = [
        MinedQuestion(
            asked.id, asked.text, (MinedTopic(str(asked.topic), ENTITIES[asked.topic]),),
            (AnswerPath(0, tuple(NAMES[step] for step in asked.path), 1.0, 1.0, 0.0, shortest=True, positive=True),),
            (), (reach,), len(asked.path),
        )
        for asked in questions
    ]  # fmt: skip
    return MinedFile(mining, tuple(found), f"{questions[0].topic:064}")
