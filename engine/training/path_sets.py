"""Read the training data of path scorers: mined paths, and pairs of questions and relations."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from ...models.mined import MinedFileError
from ...models.similarity import mask_topic
from ...models.star.examples import RelationExample, RelationExampleSet
from ...models.star.mined import MinedFile, read_mined_file
from ...models.words import normalise_question
from ..api import Engine
from ..errors import InputError
from ..evidence.calibration import SIMILARITY, Calibration
from ..gold_questions import GoldQuestion, QuestionSet
from ..neo4j.catalogue import read_catalogue
from ..progress import Progress
from ..relations.words import split_relation_name
from ..retrieval.scoring import PathScorer
from ..settings import Settings
from ..supervision.mine_file import mine_to_file
from ..supervision.miner import MiningOptions
from .once_per_graph import GraphFileSpec, Say, make_once_per_graph

MAX_PATHS = 2
MAX_RELATIONS = 4

_WEBQSP_ID = re.compile(r"WebQ\w+?-\d+")


def collect_relation_examples(sets: Sequence[QuestionSet], left_out: Iterable[tuple[str, str]]) -> RelationExampleSet:
    """Return the pairs of all questions that have relations, except those in `left_out`, (id, text) each.

    The relations are those of the first gold paths, else of the relevant triples. A question is left out if its words
    match, or if it derives from the same question: ComplexWebQuestions writes that one's id before an underscore.
    """
    left_out = list(left_out)
    texts = {normalise_question(text) for _, text in left_out}
    roots = {root for id_, _ in left_out if (root := _root(id_))}
    numbers: dict[str, int] = {}
    pairs = [
        RelationExample(mask_topics(question), tuple(numbers.setdefault(name, len(numbers)) for name in relations))
        for each in sets
        for question in each.questions
        if normalise_question(question.text) not in texts and _root(question.id) not in roots
        if (relations := list(_relations(question)))
    ]
    digest = hashlib.sha256(json.dumps([[each.sha256 for each in sets], sorted(texts), sorted(roots)]).encode())
    return RelationExampleSet(
        name=", ".join(each.name for each in sets),
        sha256=digest.hexdigest(),
        relations=tuple(map(split_relation_name, numbers)),
        pairs=tuple(pairs),
    )


def _relations(question: GoldQuestion) -> Iterator[str]:
    names = [name for path in question.paths[:MAX_PATHS] for name in path.relations]
    names = names or [relation for _, relation, _ in question.triples]
    yield from list(dict.fromkeys(names))[:MAX_RELATIONS]


def mask_topics(question: GoldQuestion) -> str:
    """Return a question without the names of its topics."""
    text = question.text
    for name in question.topic_names:
        text = mask_topic(text, name)
    return text


def _root(id_: str) -> str:
    found = _WEBQSP_ID.match(id_)
    return found.group() if found else ""


def read_mined(path: str) -> MinedFile:
    """Read a mined file. Raises `InputError` if it is missing or damaged."""
    try:
        return read_mined_file(Path(path))
    except MinedFileError as error:
        raise InputError(str(error)) from error


def mine_set(
    questions: QuestionSet,
    folder: Path,
    options: MiningOptions,
    settings: Settings,
    *,
    fresh: bool,
    mining: Callable[[], AbstractContextManager[tuple[Progress, Say]]],
    say: Say,
) -> MinedFile:
    """Return the mined paths of a question set, mined now or by an earlier run; one process mines for all.

    mining: shows the progress. say: receives messages. Errors: `make_once_per_graph`.
    """
    returning = "-returning" if options.return_to_topic else ""
    name = f"mined-{questions.name}-{questions.sha256[:8]}{returning}-{options.max_hop}-{options.seed}"

    def mine(engine: Engine, wanted: Path) -> None:
        with mining() as (progress, _):
            mine_to_file(questions, engine, wanted, options, progress=progress)

    made = GraphFileSpec(name, ".jsonl.gz", f"another process mines {questions.name}", "mined", "mine")
    return read_mined(str(make_once_per_graph(folder, made, settings, mine, fresh=fresh, say=say)))


def sample_mined(mined: MinedFile, limit: int | None, seed: int) -> MinedFile:
    """Return a random sample of the questions of a mined file, in its order; all without a limit."""
    if limit is None or limit >= len(mined.questions):
        return mined
    places = sorted(random.Random(seed).sample(range(len(mined.questions)), limit))  # noqa: S311 - a sample, no secret
    mining = mined.mining
    name = f"sample of {limit}, seed {seed}"
    digest, of_set = (
        hashlib.sha256(f"{of}/{name}".encode()).hexdigest() for of in (mined.sha256, mining.questions_sha256)
    )
    mining = replace(mining, questions=f"{mining.questions}, to {name}", questions_sha256=of_set)
    return MinedFile(mining, tuple(mined.questions[place] for place in places), digest)


@contextmanager
def open_path_scorer(
    settings: Settings, name: str, log_odds: float
) -> Iterator[tuple[PathScorer, Collection[str], float]]:
    """Yield the scorer `similarity` or that of a checkpoint's folder, the relations it knows, and the score that
    equals this many log-odds.

    Raises `CheckpointError` if the checkpoint cannot be read or is of another graph.
    """
    from ..recipes.retrieving import Star
    from ..retrieval.scoring import SimilarityScorer

    with Engine(settings) as engine:
        graph = engine.resources.of_graph(engine.gateway().fetch(read_catalogue()))
        if name == "similarity":
            shared = graph.shared
            scorer: PathScorer = SimilarityScorer(graph.words, shared.encoder, shortlist=1_000, vectors=shared.vectors)
            calibration = SIMILARITY
        else:
            scorer = trained = Star(checkpoint=name).scorer(graph)
            calibration = Calibration("logit", *trained.model.checkpoint.description.calibration)
        yield scorer, graph.words.keys(), calibration.from_log_odds(log_odds)
