"""Mine a question set for training paths: find paths to the answers, label them, draw hard negatives.

Candidates are the shortest paths from a topic of the question to an answer, of each such pair. A candidate is positive
if its similarity to the question is at least the mean over all of the question's candidates:

    P⁺ = { p ∈ C : sim(q, p) ≥ 1/|C| · Σ_(p′∈C) sim(q, p′) }

Deviations: the length of a path is its number of hops between named entities. If annotators wrote a path for the
question, the paths with its relations are the positives instead. Annotations have no directions: of the paths with the
same relations those with the best F1 count, and of these those that walk the most relations forwards.

At each hop t of a positive path, the hops before it are kept and its relation is replaced by the k most similar
relations, and by k random others. In addition, the path stops too early or goes on too long. No negative leads to an
answer, unless by the F1 of its ends it hardly does (`WEAK_F1`).

Deviations: both kinds come first from the steps that exist there in the graph, in either direction, and only if these
are too few from all of its relations, in the direction of the replaced one. In a hop through a mediator the last
relation is compared or replaced.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...models.mined_files import (
    AnswerPath,
    MinedFile,
    MinedFileError,
    MinedFileOrigin,
    MinedQuestion,
    NegativePath,
    compute_mined_file_sha256,
    is_mined_file,
    read_mined_file,
)
from ...models.text import DirectedRelation, RelationWords, verbalise_path
from ...models.text.vectors import TextVectors
from ...models.word_positions import remove_mention
from ..data_model import RelationStep
from ..errors import GraphError, InputError, QueryTimeoutError, UsageError
from ..gold_questions import (
    REASONS,
    TOO_LONG,
    GoldQuestion,
    QuestionSet,
    SkippedQuestion,
    look_up_gold_answers,
    nothing_found_message,
)
from ..neo4j.catalogue import RelationCatalogue, read_catalogue, read_graph_state
from ..neo4j.gateway import Gateway
from ..neo4j.graph_requests import stream_mediator_relations
from ..parallel import HERE, PerProcessResource, WorkerPool
from ..progress import Progress, ignore_progress
from ..relations import RelationIndex, collect_relation_words
from ..settings import Connection
from . import (
    HopTrie,
    MiningOptions,
    PathMiner,
    QuestionPaths,
    Steps,
    TopicAnswerPath,
    WalkedHop,
    WalkedPath,
    flatten_hops,
    serialise_hop,
    serialise_trie,
)

if TYPE_CHECKING:
    from ...models.training import TrainingFolder
    from ..api import Engine
    from ..training import Sets, TrainingRequest


WEAK_F1 = 0.05
"""A path whose ends have a lower F1, such as one right end among 500, is none that a question asks for. Our own."""

TOLERANCE = 1e-9
"""Rounding may put a mean of equal numbers above them."""

ROUNDED = 9
"""Decimals of F1 in comparisons."""


def label_paths(
    paths: Sequence[TopicAnswerPath], similarities: Sequence[float], *, annotated: bool
) -> list[AnswerPath]:
    """Return the paths of one question, over all its topics, with labels by their similarity to the question.

    `annotated`: the question set has gold paths for it.
    """
    least: dict[tuple[int, str], int] = {}
    for path in paths:
        for answer in path.answers:
            least[path.topic, answer] = min(len(path.hops), least.get((path.topic, answer), len(path.hops)))
    shortest = [any(len(path.hops) == least[path.topic, answer] for answer in path.answers) for path in paths]
    candidates = [similarity for similarity, is_one in zip(similarities, shortest, strict=True) if is_one]
    mean = math.fsum(candidates) / max(len(candidates), 1)
    best: dict[tuple[int, tuple[str, ...]], tuple[float, int]] = {}
    for path in paths:
        key = (path.topic, _drop_directions(path))
        best[key] = max(directed := _direction_fit(path), best.get(key, directed))
    found: list[AnswerPath] = []
    for path, similarity, is_one in zip(paths, similarities, shortest, strict=True):
        similar = is_one and similarity >= mean - TOLERANCE
        gold = path.gold and _direction_fit(path) == best[path.topic, _drop_directions(path)]
        positive = gold if annotated else similar
        hops = tuple(map(serialise_hop, path.hops))
        found.append(AnswerPath(path.topic, hops, path.precision, path.recall, similarity, is_one, positive, gold))
    return found


def find_paths_allowed_as_negatives(
    paths: Sequence[TopicAnswerPath], labelled: Sequence[AnswerPath]
) -> frozenset[tuple[int, Steps]]:
    """Return the paths that may be negatives although they lead to an answer, by topic and steps."""
    return frozenset(
        (path.topic, flatten_hops(path.hops))
        for path, label in zip(paths, labelled, strict=True)
        if path.f1 < WEAK_F1 and not label.positive
    )


def _drop_directions(path: TopicAnswerPath) -> tuple[str, ...]:
    return tuple(step.relation for step in flatten_hops(path.hops))


def _direction_fit(path: TopicAnswerPath) -> tuple[float, int]:
    return round(path.f1, ROUNDED), -sum(step.inverse for step in flatten_hops(path.hops))


KINDS = ("similar", "random", "early", "overrun")

IsAnswer = Callable[[int, WalkedPath], bool]
"""Whether the path from this topic (by index) leads to a gold answer."""

Nearest = Callable[[str], Sequence[str]]
"""All other relations of the graph, most similar first."""


def make_negatives(
    positives: Sequence[TopicAnswerPath],
    reach: Sequence[HopTrie],
    is_answer: IsAnswer,
    *,
    nearest: Nearest,
    num_negatives: int,
    rng: random.Random,
) -> tuple[NegativePath, ...]:
    """Return the negative paths of one question, each once; none leads to an answer.

    reach: the paths from each topic. nearest: the other relations of the graph by similarity.
    """
    found: dict[tuple[int, WalkedPath], NegativePath] = {}
    for path in positives:
        for hops, kind in _corrupt(path, reach[path.topic], nearest, num_negatives, rng):
            goes_back = any(len(hop) > 1 and hop[-1].reverses(hop[-2]) for hop in hops)  # from a mediator to the start
            if not goes_back and not is_answer(path.topic, hops):
                found.setdefault((path.topic, hops), NegativePath(path.topic, tuple(map(serialise_hop, hops)), kind))
    return tuple(found.values())


def _corrupt(
    path: TopicAnswerPath, reach: HopTrie, nearest: Nearest, num_negatives: int, rng: random.Random
) -> Iterator[tuple[WalkedPath, str]]:
    for t, hop in enumerate(path.hops):
        before = path.hops[:t]
        ordered = nearest(hop[-1].relation)
        place = {relation: at for at, relation in enumerate(ordered)}
        # The inverse of the relation itself is in no list, and counts as the nearest.
        others = (other for other in reach if other != hop)
        walkable = sorted(others, key=lambda other: (place.get(other[-1].relation, -1), serialise_hop(other)))
        here = {other[-1].relation for other in reach if other == _replace_relation(hop, other[-1].relation)}
        elsewhere = [relation for relation in ordered if relation not in here]
        for other in islice(
            chain(walkable, (_replace_relation(hop, relation) for relation in elsewhere)), num_negatives
        ):
            yield (*before, other), "similar"
        left = walkable[num_negatives:]
        drawn = rng.sample(left, min(num_negatives, len(left)))
        unused = elsewhere[max(num_negatives - len(walkable), 0) :]
        more = rng.sample(unused, min(num_negatives - len(drawn), len(unused)))
        for other in [*drawn, *(_replace_relation(hop, relation) for relation in more)]:
            yield (*before, other), "random"
        reach = reach[hop]
    for length in range(1, len(path.hops)):
        yield path.hops[:length], "early"
    following = list(reach)
    for hop in rng.sample(following, min(num_negatives, len(following))):
        yield (*path.hops, hop), "overrun"


def _replace_relation(hop: WalkedHop, relation: str) -> WalkedHop:
    return (*hop[:-1], RelationStep(relation, hop[-1].inverse))


DECIMALS = 4
"""Decimals of similarity, precision and recall in the file."""


class TrainingExampleBuilder:
    """Makes training examples; `words` has the words of every relation of the graph."""

    def __init__(
        self, words: Mapping[str, RelationWords], index: RelationIndex, vectors: TextVectors, options: MiningOptions
    ) -> None:
        self.words = words
        self.vectors = vectors
        self.options = options
        self.nearest = _similar_relations(index)

    def label(self, questions: Sequence[QuestionPaths]) -> list[MinedQuestion]:
        """Return the questions with labels.

        All texts are encoded together, and the last digits of a vector depend on its batch: the same questions give the
        same result, but other groups of questions may not.
        """
        texts = [
            (
                [remove_mention(each.question.text, topic.mention) for topic in each.topics],
                [self._verbalise(path.hops) for path in each.paths],
            )
            for each in questions
        ]
        self.vectors.encode(sorted({text for masked, written in texts for text in (*masked, *written)}))
        return [self._label_question(each, *own) for each, own in zip(questions, texts, strict=True)]

    def _verbalise(self, hops: WalkedPath) -> str:
        return verbalise_path([tuple(DirectedRelation(self.words[s.relation], s.inverse) for s in hop) for hop in hops])

    def _label_question(self, walked: QuestionPaths, masked: Sequence[str], written: Sequence[str]) -> MinedQuestion:
        question = walked.question
        queries, vectors = ([self.vectors.sentence(text) for text in texts] for texts in (masked, written))
        paths = [
            replace(path, precision=round(path.precision, DECIMALS), recall=round(path.recall, DECIMALS))
            for path in walked.paths
        ]
        similarities = [
            round(float(vector @ queries[path.topic]), DECIMALS) for path, vector in zip(paths, vectors, strict=True)
        ]
        labelled = label_paths(paths, similarities, annotated=bool(question.paths))
        weak = find_paths_allowed_as_negatives(paths, labelled)

        def is_answer(topic: int, hops: WalkedPath) -> bool:
            steps = flatten_hops(hops)
            return steps in walked.reaching[topic] and (topic, steps) not in weak

        negatives = make_negatives(
            [path for path, label in zip(paths, labelled, strict=True) if label.positive],
            walked.reach,
            is_answer,
            nearest=self.nearest,
            num_negatives=self.options.num_negatives,
            rng=random.Random(f"{self.options.seed}\n{question.id}"),  # noqa: S311 - examples, no secret
        )
        reach = tuple(map(serialise_trie, walked.reach))
        return MinedQuestion(question.id, question.text, walked.topics, tuple(labelled), negatives, reach)


def _similar_relations(index: RelationIndex) -> Nearest:
    """Return what orders all other relations by the similarity of their own words to one; equal ones by number."""
    relations, vectors = index.relations, index.vectors()
    place = {relation.name: at for at, relation in enumerate(relations)}

    @cache
    def find_nearest(relation: str) -> tuple[str, ...]:
        cosines = (vectors @ vectors[place[relation]]).tolist()
        order = sorted(place.values(), key=lambda at: (-cosines[at], relations[at].number))
        return tuple(relations[at].name for at in order if relations[at].name != relation)

    return find_nearest


LABELLED_TOGETHER = 256
"""Questions labelled together; independent of the database's batch size, so that this does not change the file."""


def mine_question_set(
    questions: QuestionSet,
    engine: Engine,
    options: MiningOptions,
    *,
    batch_size: int | None = None,
    workers: WorkerPool = HERE,
    progress: Progress = ignore_progress,
) -> MinedFile:
    """Mine the questions in the engine's graph in batches, which `workers` share, and return what a file has.

    Without `batch_size` it is 32 for one or two hops, 8 for three, 2 for four, because a batch is held in memory.
    Raises `GraphError` if no question can be mined.
    """
    open_miner = partial(_open_miner, engine.connection, options)
    size = batch_size or 32 >> 2 * max(0, options.max_hop - 2)
    encoder = engine.resources.vectors.encoder
    found, catalogue = mine_questions_in_batches(questions, engine, open_miner, size, workers, progress)
    words = {relation.name: collect_relation_words(relation) for relation in catalogue.relations}
    index = RelationIndex(catalogue.relations, engine.resources.vectors)
    builder = TrainingExampleBuilder(words, index, TextVectors(encoder), options)
    walked = [each for each in found if isinstance(each, QuestionPaths)]
    mined: list[MinedQuestion] = []
    for start in range(0, len(walked), LABELLED_TOGETHER):
        mined += builder.label(walked[start : start + LABELLED_TOGETHER])
        progress("labelling", len(mined), len(walked))
    mining = MinedFileOrigin(
        questions=questions.name,
        questions_sha256=questions.sha256,
        graph=catalogue.vocabulary,
        encoder=engine.resources.vectors.encoder.revision,
        max_hop=options.max_hop,
        relations={name: (word.domain, *word.properties) for name, word in words.items()},
        options={name: value for name, value in asdict(options).items() if name != "max_hop"},
        counts=_counts_of(found, mined),
    )
    return MinedFile(mining, tuple(mined), compute_mined_file_sha256(mining, mined))


FoundT = TypeVar("FoundT")
Mine = Callable[[Sequence[GoldQuestion]], list[FoundT | SkippedQuestion]]
"""Returns what is mined for each question of a batch, or why it is left out."""


def mine_questions_in_batches(
    questions: QuestionSet,
    engine: Engine,
    open_miner: Callable[[], AbstractContextManager[Mine[FoundT]]],
    batch_size: int,
    workers: WorkerPool,
    progress: Progress,
) -> tuple[list[FoundT | SkippedQuestion], RelationCatalogue]:
    """Return what is mined for each question in the engine's graph, in order, and the graph's catalogue.

    They are mined in batches, those with the same topic side by side, which `workers` share. Raises `GraphError` if
    nothing is mined for any question.
    """
    gateway = engine.gateway()
    gateway.run(read_graph_state()).check()
    catalogue = gateway.run(read_catalogue())
    asked = look_up_gold_answers(questions.questions, gateway).questions
    order = sorted(range(len(asked)), key=lambda i: (asked[i].topic_ids or asked[i].topic_names, i))
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    by_place: dict[int, FoundT | SkippedQuestion] = {}
    progress("walking", 0, len(asked))
    with PerProcessResource(open_miner) as miner:
        results = workers.map(partial(_mine_opened, miner), [[asked[i] for i in batch] for batch in batches])
        for batch, result in zip(batches, results, strict=True):
            by_place |= zip(batch, result, strict=True)
            progress("walking", len(by_place), len(asked))
    found = [by_place[i] for i in range(len(asked))]
    if all(isinstance(each, SkippedQuestion) for each in found):
        raise GraphError(nothing_found_message(questions, found))
    return found, catalogue


def _mine_opened(
    opened: PerProcessResource[Mine[FoundT]], questions: Sequence[GoldQuestion]
) -> list[FoundT | SkippedQuestion]:
    return mine_in_halves(opened.value, questions)


def mine_in_halves(mine: Mine[FoundT], questions: Sequence[GoldQuestion]) -> list[FoundT | SkippedQuestion]:
    """Return what is mined; of a batch whose query times out each half alone, and a single question is left out."""
    try:
        return mine(questions)
    except QueryTimeoutError:
        if len(questions) == 1:
            return [SkippedQuestion(questions[0].id, TOO_LONG)]
    half = len(questions) // 2
    return mine_in_halves(mine, questions[:half]) + mine_in_halves(mine, questions[half:])


@contextmanager
def _open_miner(connection: Connection, options: MiningOptions) -> Iterator[Mine[QuestionPaths]]:
    with Gateway(connection) as gateway:
        mediating = frozenset(gateway.stream(stream_mediator_relations()))
        yield PathMiner(gateway, gateway.run(read_catalogue()), mediating, options).mine


def count_skipped_questions(found: Sequence[Any]) -> dict[str, int]:
    """Return the number of questions that were left out by reason."""
    reasons = Counter(each.reason for each in found if isinstance(each, SkippedQuestion))
    return {f"left out: {reason}": reasons[reason] for reason in REASONS}


def _counts_of(found: Sequence[QuestionPaths | SkippedQuestion], mined: Sequence[MinedQuestion]) -> dict[str, int]:
    """Return the counts of questions, left out questions by reason, paths, negatives by kind, and cuts."""
    kinds = Counter(negative.kind for question in mined for negative in question.negatives)
    positives = [sum(path.positive for path in question.paths) for question in mined]
    return {
        "questions": len(mined),
        **count_skipped_questions(found),
        "without a positive path": positives.count(0),
        "answer paths": sum(len(question.paths) for question in mined),
        "positive paths": sum(positives),
        **{f"{kind} negatives": kinds[kind] for kind in KINDS},
        "cut": sum(each.num_cut for each in found if isinstance(each, QuestionPaths)),
    }


def read_path_sets(request: TrainingRequest, _config: Any, _out: TrainingFolder, *, max_hop: int = 2) -> Sets:
    """Return mined files, or the mined paths of question sets."""

    def read(file: str) -> MinedFile:
        if is_mined_file(Path(file)):
            if request.limit is not None:
                raise UsageError(f"--limit: expected question sets, found the mined file {file}: mine it with --limit")
            return read_mined_file(Path(file))
        questions = request.questions(file)
        with request.open_graph(questions.name, "mining") as (engine, progress):
            return mine_question_set(
                questions, engine, MiningOptions(max_hop=max_hop, seed=request.seed), progress=progress
            )

    try:
        return request.split(list(map(read, request.files)))
    except MinedFileError as error:
        raise InputError(str(error)) from error
