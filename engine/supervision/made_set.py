"""Generate a question set from paths drawn from the graph."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial

import numpy as np

from ...models.text.encoders import EncoderUnavailableError
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import DirectedRelation, RelationWords, hop_phrases
from ...models.wording.english import NOTHING, property_of, read_lexicon, singular
from ...models.wording.phrases import HopWording
from ...models.wording.questions import joint_question, question_of
from ...models.words import normalise_question
from ..api import Engine
from ..errors import EncoderError, GraphError
from ..gold_questions import GoldAnswer, GoldPath, GoldQuestion, QuestionSet
from ..neo4j.catalogue import Catalogue, read_catalogue, read_graph_state
from ..neo4j.gateway import Gateway
from ..neo4j.mining import stream_named_signatures
from ..parallel import HERE, PerProcess, Workers
from ..progress import Progress, ignore_progress
from ..relations.words import type_words, words_of_relation
from ..values import Entity, RelationStep
from .paraphrasing import paraphrase_questions
from .path_sampling import PathConjunction, PathSampler, QuestionGenerationOptions, SampledPath, sample_topics

LEAST_COSINE = 0.3
"""Lowest cosine between a noun and the words of an entity's relations."""
TELLING = 2
"""An entity with this many relations that only one kind of entity has is taken for that kind."""
MAX_TOGETHER = 8
"""Most relations of the same entities from which their kind is guessed."""


class HopVerbaliser:
    """Turns the hops of a path into words for questions.

    together: see `TopicsByRelation`. If a relation has no domain, the kind of its heads is guessed: the common noun
    nearest to the words of the relations that leave the same entities.
    """

    def __init__(self, catalogue: Catalogue, together: Mapping[int, Counter[int]], vectors: TextVectors) -> None:
        self._words = {r.name: words_of_relation(r, lambda p: p.origin != "lexicon") for r in catalogue.relations}
        self._heads = {
            r.name: _with_synonyms(type_words(r.domain)) or _guess_noun(r.number, together, catalogue, vectors)
            for r in catalogue.relations
        }
        self._tails = {r.name: _with_synonyms(type_words(r.range)) for r in catalogue.relations}

    def verbalise_hops(self, path: SampledPath, held_out: bool | None = None) -> list[HopWording]:
        """Return the hops of a path with their words; held_out: see `HopWording`."""
        hops: list[HopWording] = []
        under_way: list[RelationStep] = []
        for step in path.steps:
            under_way.append(step)
            if not step.to_mediator:
                hops.append(self._hop(under_way, held_out))
                under_way = []
        return hops

    def _hop(self, steps: Sequence[RelationStep], held_out: bool | None) -> HopWording:
        parts = [self._properties(step) for step in steps]
        properties = tuple(dict.fromkeys(part for each in parts for part in each))
        last = steps[-1]
        reached = self._heads[last.relation] if last.inverse else self._tails[last.relation]
        directed = tuple(DirectedRelation(self._words[step.relation], step.inverse) for step in steps)
        return HopWording(properties, last.inverse, reached, hop_phrases(directed), held_out)

    def _properties(self, step: RelationStep) -> tuple[str, ...]:
        words: RelationWords = self._words[step.relation]
        return words.properties[::-1] if step.inverse else words.properties


def _with_synonyms(type_: str) -> tuple[str, ...]:
    if not type_:
        return ()
    types = read_lexicon().types
    for names in types.values():
        if type_ in names:
            return tuple(dict.fromkeys((type_, *names)))
    return (type_,)


def _guess_noun(
    number: int, together: Mapping[int, Counter[int]], catalogue: Catalogue, vectors: TextVectors
) -> tuple[str, ...]:
    """Return the common noun for the heads of a relation, with its synonyms; empty if no noun is near.

    An entity with a spouse and a profession is a person. A noun that occurs in the graph's relations is a property and
    not a kind: people have a religion.
    """
    texts = {r.number: " ".join(words_of_relation(r).properties) for r in catalogue.relations}
    near = [n for n, _ in sorted(together.get(number, Counter()).items(), key=lambda item: (-item[1], item[0]))]
    text = ", ".join(dict.fromkeys(texts[n] for n in [number, *near[:MAX_TOGETHER]] if n in texts))
    types = read_lexicon().types
    near_words = [{singular(w) for w in texts[n].lower().split()} for n in [number, *near[:MAX_TOGETHER]] if n in texts]
    for type_, telling in read_lexicon().told_by.items():
        if sum(not telling.isdisjoint(words) for words in near_words) >= TELLING:
            return types[type_]
    used = {singular(word) for text in texts.values() for word in text.lower().split()}
    nouns = {name: " ".join(words[:2]) for name, words in types.items() if used.isdisjoint(words)}
    if not nouns:
        return ()
    vectors.encode([text, *nouns.values()])
    vector = vectors.sentence(text)
    cosines = {name: float(np.dot(vectors.sentence(noun), vector)) for name, noun in nouns.items()}
    best = max(sorted(cosines), key=lambda name: cosines[name])
    return types[best] if cosines[best] >= LEAST_COSINE else ()


BATCH = 64
"""Walks that take each step together."""
MAX_TRIES = 6
"""Paths drawn per question: many fail, or repeat a question."""
MAX_NAME_CHARS = 120
"""Longer names are not used in questions."""
EVERY_DEV = 8
"""Every eighth generated question is held out as dev."""


def make_questions(
    engine: Engine,
    options: QuestionGenerationOptions,
    *,
    hold_out: bool = False,
    workers: Workers = HERE,
    progress: Progress = ignore_progress,
    say: Callable[[str], None] = lambda _line: None,
) -> QuestionSet:
    """Return questions about the engine's graph with answers and paths; the same for a graph and a seed.

    hold_out: those that `split_train_dev` takes for dev are worded by the phrases that `is_held_out` chooses, the
    others without these.

    say: receives warnings about the graph, also if it has fewer questions than requested. Raises `GraphError`
    if no question can be generated, and the errors of `paraphrase_questions`.
    """
    gateway = engine.gateway()
    gateway.fetch(read_graph_state()).check()
    catalogue = gateway.fetch(read_catalogue())
    for warning in list_non_english_warnings(catalogue):
        say(warning)
    starts = sample_topics(gateway.stream(stream_named_signatures()), options.seed, options.max_topics)
    if not starts.topics:
        raise GraphError(
            "expected entities with names, found none: a question needs a name for its topic: give the names with "
            "`lodestar load … --names FILE`"
        )
    try:
        naming = HopVerbaliser(catalogue, starts.together, TextVectors(engine.encoder))
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error
    sampler = PathSampler(catalogue, starts.topics, options)
    questions: dict[tuple[str, tuple[str, ...]], GoldQuestion] = {}
    batches = [range(place, place + BATCH) for place in range(0, MAX_TRIES * options.num_questions, BATCH)]
    progress("drawing", 0, options.num_questions)
    with (
        PerProcess(partial(Gateway, engine.connection)) as opened,
        closing(workers.map(partial(_sample, opened, sampler), batches)) as samples,
    ):
        for places, sample in zip(batches, samples, strict=False):
            for at, drawn in zip(places, sample, strict=True):
                if drawn is not None and _can_be_asked(drawn) and len(questions) < options.num_questions:
                    question = _question(at, drawn, naming, options.seed, hold_out=hold_out)
                    questions.setdefault((question.text.lower(), question.topic_ids), question)
            progress("drawing", len(questions), options.num_questions)
            if len(questions) == options.num_questions:
                break
    if not questions:
        raise GraphError("expected relation paths to ask about, found none: the graph has too few triples with names")
    if len(questions) < options.num_questions:
        say(f"the graph has {len(questions):,} different questions, fewer than the {options.num_questions:,} requested")
    made = list(questions.values())
    if options.paraphrase:
        made = paraphrase_questions(made, engine.settings, progress=progress, say=say)
    rows = [[q.id, q.text, q.topic_ids, [path.relations for path in q.paths]] for q in made]
    made_of = json.dumps([catalogue.fingerprint, asdict(options), rows], sort_keys=True)
    digest = hashlib.sha256(made_of.encode()).hexdigest()
    return QuestionSet("made from the graph", "lodestar", digest, tuple(made))


def _sample(opened: PerProcess[Gateway], sampler: PathSampler, places: Sequence[int]) -> list[PathConjunction | None]:
    return opened.value.run(sampler.sample(places))


def split_train_dev(questions: QuestionSet) -> tuple[QuestionSet, QuestionSet]:
    """Split questions into training and dev (every eighth); questions with the same topics and paths stay together.

    Of paths with the same words a question of dev may be one of training, too: it is left out of dev.
    """
    learn: list[GoldQuestion] = []
    choose: list[GoldQuestion] = []
    for question in questions.questions:
        is_dev = _is_dev(question.topic_ids, [path.relations for path in question.paths])
        (choose if is_dev else learn).append(question)
    learned = {_key_of(question) for question in learn}
    choose = [question for question in choose if _key_of(question) not in learned]
    if not choose or not learn:  # a graph with very few paths
        learn, choose = list(questions.questions[::2]), list(questions.questions[1::2])
    if not choose:
        raise GraphError(f"expected two questions or more that can be made from the graph, found {len(learn)}")
    return _part(questions, "learn", learn), _part(questions, "choose", choose)


def _key_of(question: GoldQuestion) -> tuple[str, frozenset[str]]:
    return normalise_question(question.text), frozenset(question.topic_ids)


def _is_dev(topic_ids: Sequence[str], paths: Sequence[Sequence[str]]) -> bool:
    return hashlib.sha256(json.dumps([topic_ids, paths]).encode()).digest()[0] % EVERY_DEV == 0


def list_non_english_warnings(catalogue: Catalogue) -> list[str]:
    """Return warnings about relations without English words; empty if there are none."""
    texts = {r.name: words_of_relation(r).properties[-1] for r in catalogue.relations}
    strange = [name for name, text in texts.items() if property_of(text).shape == "name"]
    if strange:
        return [
            f"{len(strange):,} of {len(texts):,} relations have no English words (the first: {strange[0]!r}): they "
            "appear unchanged in the questions, so training teaches little about how people ask for them"
        ]
    if not any(read_lexicon().entry(text) != NOTHING for text in texts.values()):
        return [
            f"none of the {len(texts):,} relations has a common English word (the first: {next(iter(texts))!r}): "
            "questions are generated in English around their words, so training teaches little about another language"
        ]
    return []


def _part(questions: QuestionSet, name: str, chosen: Sequence[GoldQuestion]) -> QuestionSet:
    digest = hashlib.sha256(f"{questions.sha256}/{name}".encode()).hexdigest()
    return replace(questions, name=f"{questions.name}, to {name}", sha256=digest, questions=tuple(chosen))


def _can_be_asked(drawn: PathConjunction) -> bool:
    return all(_is_name(path.topic) for path in drawn.paths) and all(end.name for end in drawn.ends)


def _is_name(entity: Entity) -> bool:
    return bool(entity.name) and len(entity.label) <= MAX_NAME_CHARS and any(map(str.isalnum, entity.label))


def _question(place: int, drawn: PathConjunction, naming: HopVerbaliser, seed: int, *, hold_out: bool) -> GoldQuestion:
    chance = random.Random(f"{seed}/{place}/words")  # noqa: S311 - examples, no secret
    topics = [path.topic.label for path in drawn.paths]
    topic_ids = tuple(path.topic.id for path in drawn.paths)
    relations = [tuple(step.relation for step in path.steps) for path in drawn.paths]
    held_out = _is_dev(topic_ids, relations) if hold_out else None
    hops = [naming.verbalise_hops(path, held_out) for path in drawn.paths]
    if len(hops) == 1:
        text = question_of(hops[0], topics[0], chance)
    else:
        text = joint_question((hops[0], hops[1]), (topics[0], topics[1]), chance)
    return GoldQuestion(
        id=f"made-{place}",
        text=text,
        answers=tuple(_answers(drawn.ends)),
        topic_ids=topic_ids,
        topic_names=tuple(topics),
        num_hops=max(path.num_hops for path in drawn.paths),
        paths=tuple(map(GoldPath, relations)),
    )


def _answers(ends: Iterable[Entity]) -> Iterator[GoldAnswer]:
    for end in ends:
        yield GoldAnswer(None, (end.name or "",)) if end.is_literal else GoldAnswer(end.id, (end.label,))
