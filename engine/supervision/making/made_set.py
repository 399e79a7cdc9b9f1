"""A question set made from a graph alone."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from ....models.encoder import EncoderUnavailableError
from ....models.text_vectors import TextVectors
from ....models.wording.forms import property_of
from ....models.wording.lexicon import NOTHING, english
from ....models.wording.questions import joint_question, question_of
from ...api import Engine
from ...database.catalogue import Catalogue, read_catalogue, read_graph_state
from ...database.mining import stream_named_signatures
from ...errors import EncoderError, GraphError
from ...progress.phases import Progress, silent
from ...questions.gold import GoldAnswer, GoldPath, GoldQuestion, QuestionSet
from ...relations.words import words_of_relation
from ...values import Entity
from .drawing import Drawer, Drawn
from .naming import Naming
from .options import MakingOptions
from .paraphrasing import paraphrased
from .starts import starts_of

BATCH = 64
"""Walks that take each step together."""
MAX_TRIES = 6
"""Paths drawn for each question wanted: many lead nowhere, or are questions that were made before."""
MAX_NAME_CHARS = 120
"""A name longer than this is no name that one asks by."""
EVERY_DEV = 8
"""Every eighth made question is kept apart, to choose by."""


def made_questions(
    engine: Engine,
    options: MakingOptions,
    *,
    progress: Progress = silent,
    say: Callable[[str], None] = lambda _line: None,
) -> QuestionSet:
    """Return questions about the engine's graph with their answers and paths: the same for a graph and a seed.

    say: told what is to be known of the graph, and where there are fewer questions than asked for, the graph having no
    more. Raises `GraphError` for a graph that no question can be made of, and what `paraphrased` raises.
    """
    gateway = engine.gateway()
    gateway.fetch(read_graph_state()).check()
    catalogue = gateway.fetch(read_catalogue())
    for warning in warnings_of(catalogue):
        say(warning)
    starts = starts_of(gateway.stream(stream_named_signatures()), options.seed, options.max_topics)
    if not starts.topics:
        raise GraphError(
            "expected entities with names, found none: a question has to name what it is about: give the names with "
            "`lodestar load … --names FILE`"
        )
    try:
        naming = Naming(catalogue, starts.together, TextVectors(engine.encoder))
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error
    drawer = Drawer(catalogue, starts.topics, options)
    questions: dict[tuple[str, tuple[str, ...]], GoldQuestion] = {}
    place = 0
    progress("drawing", 0, options.num_questions)
    while len(questions) < options.num_questions and place < MAX_TRIES * options.num_questions:
        places = range(place, place + BATCH)
        place += BATCH
        for at, drawn in zip(places, gateway.run(drawer.draw(places)), strict=True):
            if drawn is not None and _can_be_asked(drawn) and len(questions) < options.num_questions:
                asked = _question(at, drawn, naming, options.seed)
                questions.setdefault((asked.text.lower(), asked.topic_ids), asked)
        progress("drawing", len(questions), options.num_questions)
    if not questions:
        raise GraphError("expected relation paths to ask about, found none: the graph has too few triples with names")
    if len(questions) < options.num_questions:
        say(f"the graph has {len(questions):,} different questions to ask, {options.num_questions:,} were wanted")
    made = list(questions.values())
    if options.paraphrase:
        made = paraphrased(made, engine.settings, progress=progress, say=say)
    rows = [[q.id, q.text, q.topic_ids, [path.relations for path in q.paths]] for q in made]
    made_of = json.dumps([catalogue.fingerprint, asdict(options), rows], sort_keys=True)
    digest = hashlib.sha256(made_of.encode()).hexdigest()
    return QuestionSet("made from the graph", "lodestar", digest, tuple(made))


def apart(questions: QuestionSet) -> tuple[QuestionSet, QuestionSet]:
    """Return the questions to learn from, and every eighth, to choose by; those that are worded alike stay together."""
    learn: list[GoldQuestion] = []
    choose: list[GoldQuestion] = []
    for question in questions.questions:
        key = hashlib.sha256(json.dumps([question.topic_ids, [p.relations for p in question.paths]]).encode()).digest()
        (choose if key[0] % EVERY_DEV == 0 else learn).append(question)
    if not choose or not learn:  # of a graph with a handful of paths
        learn, choose = list(questions.questions[::2]), list(questions.questions[1::2])
    if not choose:
        raise GraphError(f"expected two questions or more that can be made from the graph, found {len(learn)}")
    return _part(questions, "learn", learn), _part(questions, "choose", choose)


def warnings_of(catalogue: Catalogue) -> list[str]:
    """Return what is to be said of relations that English questions cannot be made of; nothing where they can."""
    texts = {r.name: words_of_relation(r).properties[-1] for r in catalogue.relations}
    strange = [name for name, text in texts.items() if property_of(text).shape == "name"]
    if strange:
        return [
            f"{len(strange):,} of {len(texts):,} relations go by no English words (the first: {strange[0]!r}): they "
            "stand in the questions as they are, so that little is learned of how people ask for them"
        ]
    if not any(english().entry(text) != NOTHING for text in texts.values()):
        return [
            f"none of the {len(texts):,} relations goes by a common English word (the first: {next(iter(texts))!r}): "
            "questions are made in English around their words; of another language little is learned"
        ]
    return []


def _part(questions: QuestionSet, name: str, chosen: Sequence[GoldQuestion]) -> QuestionSet:
    digest = hashlib.sha256(f"{questions.sha256}/{name}".encode()).hexdigest()
    return replace(questions, name=f"{questions.name}, to {name}", sha256=digest, questions=tuple(chosen))


def _can_be_asked(drawn: Drawn) -> bool:
    return all(_is_name(path.topic) for path in drawn.paths) and all(end.name for end in drawn.ends)


def _is_name(entity: Entity) -> bool:
    return bool(entity.name) and len(entity.label) <= MAX_NAME_CHARS and any(map(str.isalnum, entity.label))


def _question(place: int, drawn: Drawn, naming: Naming, seed: int) -> GoldQuestion:
    chance = random.Random(f"{seed}/{place}/words")  # noqa: S311 - examples, no secret
    topics = [path.topic.label for path in drawn.paths]
    hops = [naming.asked(path) for path in drawn.paths]
    if len(hops) == 1:
        text = question_of(hops[0], topics[0], chance)
    else:
        text = joint_question((hops[0], hops[1]), (topics[0], topics[1]), chance)
    return GoldQuestion(
        id=f"made-{place}",
        text=text,
        answers=tuple(_answers(drawn.ends)),
        topic_ids=tuple(path.topic.id for path in drawn.paths),
        topic_names=tuple(topics),
        num_hops=max(path.num_hops for path in drawn.paths),
        paths=tuple(GoldPath(tuple(step.relation for step in path.steps)) for path in drawn.paths),
    )


def _answers(ends: Iterable[Entity]) -> Iterator[GoldAnswer]:
    for end in ends:
        yield GoldAnswer(None, (end.name or "",)) if end.is_literal else GoldAnswer(end.id, (end.label,))
