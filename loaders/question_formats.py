"""The formats of question sets, one class per format, and the records and lines that they read.

`shape` is the form of a question, for messages; `recognises` tells whether a file's first question is in this format;
`question` returns the question, with an empty id if the set has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..engine.errors import InputError
from ..engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from ..models import quote_line
from .naming import FREEBASE_ID, concept_id
from .reading import format_columns, format_value

_MAX_SHARED = 1 << 17
_ENTITY = re.compile(rf":?({FREEBASE_ID})")


def entity_id(text: str) -> str | None:
    """Return the text as an id, without the leading colon of some files; None if it is not an id."""
    match = _ENTITY.fullmatch(text.strip())
    return match[1] if match else None


def freebase_answers(written: Iterable[tuple[str, Iterable[str]]]) -> tuple[GoldAnswer, ...]:
    """Return the answers written as (id or literal, names), as `distinct_answers` does.

    A text that is not an id is a literal, and its own name; a name that is an id is ignored. A pair without any text is
    not an answer.
    """
    found = []
    for argument, names in written:
        entity = entity_id(argument)
        texts = [name for name in names if name and entity_id(name) is None]
        if entity is None and argument:
            texts.insert(0, argument)
        if entity or texts:
            found.append(GoldAnswer(entity, distinct_texts(texts)))
    return distinct_answers(found)


@lru_cache(_MAX_SHARED)
def answer_from_name(name: str) -> GoldAnswer:
    """Return the answer whose id is its name; many questions share one object, as a set has millions."""
    return GoldAnswer(name, (name,))


def distinct_answers(answers: Iterable[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return each answer once, in order; answers with the same id are merged with all names."""
    names: dict[str | tuple[str, ...], dict[str, None]] = {}
    for answer in answers:
        names.setdefault(answer.id or answer.names, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(found)) for key, found in names.items())


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each text once, in order, without empty ones."""
    return tuple(dict.fromkeys(filter(None, texts)))


_TRIPLE = 3
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of an object, and its place for messages; a null field counts as absent.

    Every method that reads a field raises `InputError`, with the place, if its type is wrong.
    """

    fields: Mapping[str, object]
    number: int
    where: str

    @property
    def found(self) -> str:
        """The names of its fields, for messages."""
        return f"an object with the fields {format_columns(list(self.fields))}" if self.fields else "an empty object"

    def has(self, *names: str) -> bool:
        """Return whether it has all of these fields, null or not."""
        return all(name in self.fields for name in names)

    def demand(self, name: str) -> None:
        """Raise `InputError` if the field is absent."""
        if self.fields.get(name) is None:
            raise self.fault(f"a field {name}", self.found)

    def text(self, name: str) -> str:
        """Return the text, or the number as text; empty if absent."""
        value = self.fields.get(name)
        return "" if value is None else self._text(name, value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts without nulls; none if absent."""
        return self._texts(name, self.values(name))

    def rows(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Return a list of lists of texts; none if absent."""
        return tuple(self._texts(name, row) for row in self.values(name))

    def triples(self, name: str) -> tuple[tuple[str, str, str], ...]:
        """Return a list of [head, relation, tail]."""
        found = []
        for row in self.rows(name):
            if len(row) != _TRIPLE:
                raise self.fault(f"[head, relation, tail] in {name}", format_value(row))
            found.append((row[0], row[1], row[2]))
        return tuple(found)

    def whole_number(self, name: str) -> int | None:
        """Return the number; None if absent."""
        value = self.fields.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        raise self.fault(f"a whole number as {name}", format_value(value))

    def record(self, name: str) -> RecordFields:
        """Return the object in the field; one without fields if absent."""
        value = self.fields.get(name)
        return self._inner(name, {} if value is None else value)

    def records(self, name: str) -> tuple[RecordFields, ...]:
        """Return a list of objects; none if absent."""
        return tuple(self._inner(f"{name} {i}", value) for i, value in enumerate(self.values(name), start=1))

    def values(self, name: str) -> list[object]:
        """Return a list of any values; an empty one if absent."""
        value = self.fields.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"a list as {name}", format_value(value))
        return value

    def inner(self, name: str, value: object) -> RecordFields | str:
        """Return an item of a list of this name: an object or a text."""
        return self._inner(name, value) if isinstance(value, dict) else self._text(name, value)

    def fault(self, expected: str, found: str) -> InputError:
        """Return the error that says what was expected and what was found."""
        return InputError(f"{self.where}: expected {expected}, found {found}: correct the question or remove it")

    def _inner(self, name: str, value: object) -> RecordFields:
        if not isinstance(value, dict):
            raise self.fault(f"an object as {name}", format_value(value))
        return RecordFields(value, self.number, f"{self.where}, {name}")

    def _texts(self, name: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.fault(f"a list as {name}", format_value(value))
        return tuple("" if item is None else self._text(name, item) for item in value)

    def _text(self, name: str, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.fault(f"text as {name}", format_value(value))
        text = str(value)
        if _NO_TEXT.search(text):
            raise self.fault(f"text as {name}", quote_line(text))
        return text


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; `where` is its place for messages, `path` its file's."""

    text: str
    number: int
    where: str
    path: str

    @property
    def found(self) -> str:
        """The line, shortened for a message."""
        return quote_line(self.text)

    def fault(self, expected: str) -> InputError:
        """Return the error for this line, given what was expected."""
        return InputError(f"{self.where}: expected {expected}, found {self.found}: correct the line or remove it")


class LodestarQuestions:
    """Questions with ids of any graph.

    Required: `question`, `answers` (ids, or objects with `id`, `names` or both; empty if abstaining is right).
    Optional: `id`, `topic_entities` (ids), `topic_names`, `num_hops` (else `min_hops`), `paths` (lists of relations, or
    objects with `relations` and `entities`), `triples` ([head, relation, tail]) and `options` (texts, one of which is
    the answer's name).
    """

    shape = "JSON with id, question, topic_entities, answers"

    def recognises(self, item: RecordFields) -> bool:
        return item.has("question", "answers")

    def question(self, item: RecordFields) -> GoldQuestion:
        item.demand("answers")
        num_hops = item.whole_number("num_hops")
        return GoldQuestion(
            item.text("id"),
            item.text("question"),
            distinct_answers(_lodestar_answers(item)),
            distinct_texts(item.texts("topic_entities")),
            distinct_texts(item.texts("topic_names")),
            item.whole_number("min_hops") if num_hops is None else num_hops,
            tuple(_paths(item)),
            item.triples("triples"),
            options=item.texts("options"),
        )


def _lodestar_answers(item: RecordFields) -> Iterator[GoldAnswer]:
    for value in item.values("answers"):
        written = item.inner("answers", value)
        entity = written if isinstance(written, str) else written.text("id")
        names = () if isinstance(written, str) else distinct_texts(written.texts("names"))
        if not entity and not names:
            raise item.fault("an id or an object with id or names as answer", format_value(value))
        yield GoldAnswer(entity or None, names)


def _paths(item: RecordFields) -> Iterator[GoldPath]:
    for value in item.values("paths"):
        path = RecordFields(
            value if isinstance(value, dict) else {"relations": value}, item.number, f"{item.where}, paths"
        )
        relations, entities = path.texts("relations"), path.texts("entities")
        if not all(relations) or not relations or (entities and len(entities) != len(relations) + 1):
            raise path.fault("relations, and no entities or one more", f"{len(relations)} and {len(entities)}")
        yield GoldPath(relations, entities)


_METAQA_LINE = "a question with its topic in [brackets], a tab and answers separated by bars"
_BRACKET = re.compile(r"[\[\]]")
_HOPS = re.compile(r"(?<!\d)(\d{1,2})-hop(?![a-z])")


class MetaqaQuestions:
    """Questions of MetaQA.

    The brackets around the topic are not part of the question. The name of the file (`2-hop-test.txt`) or of a folder
    above it (`2-hop/vanilla/qa_test.txt`) gives the number of hops.
    """

    shape = "question with its [topic], tab, answer|answer"

    def recognises(self, item: Line) -> bool:
        asked, tab, answers = item.text.partition("\t")
        return bool(tab) and "\t" not in answers and _split_brackets(asked) is not None

    def question(self, item: Line) -> GoldQuestion:
        asked, tab, answers = item.text.partition("\t")
        found = _split_brackets(asked)
        if not tab or "\t" in answers or found is None:
            raise item.fault(_METAQA_LINE)
        text, topics = found
        return GoldQuestion(
            "",
            text,
            tuple(map(answer_from_name, distinct_texts(answers.split("|")))),
            topics,
            topics,
            _num_hops(item.path),
        )


def _split_brackets(asked: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the question without its outer brackets, and their content; None if they do not match or are missing."""
    kept, topics, depth, after = [], [], 0, 0
    for bracket in _BRACKET.finditer(asked):
        depth += 1 if bracket[0] == "[" else -1
        if depth == 1 and bracket[0] == "[":
            kept.append(asked[after : bracket.start()])
            after = bracket.end()
        elif depth == 0:
            topics.append(asked[after : bracket.start()])
            kept.append(topics[-1])
            after = bracket.end()
        elif depth < 0:
            return None
    if depth or not topics or not all(topics):
        return None
    return "".join([*kept, asked[after:]]), distinct_texts(topics)


@lru_cache(maxsize=1)
def _num_hops(path: str) -> int | None:
    parts = reversed(Path(path).parts)
    return next((int(match[1]) for part in parts if (match := _HOPS.search(part))), None)


_END = "<end>"
_PATHQUESTION_LINE = "a question, a tab, an answer(answer/answer/), a tab and a path topic#relation#answer"
_FIELDS = 3


class PathquestionQuestions:
    """Questions of PathQuestion and PathQuestion-Large.

    The path is `s#r1#e1#r2#a`, in some files followed by `#<end>#a`: from the topic `s` along relations to the answer
    `a`. The answers are `a(a/b/c/)`: the end of this path and, in brackets, all ends of its relations from `s`, each
    followed by a slash; all are right. PathQuestion-Large repeats the question for each of them. A name may contain
    brackets, as in `PG_(USA)(PG_(USA)/)`.
    """

    shape = "question, tab, answer(answer/answer/), tab, topic#relation#answer"

    def recognises(self, item: Line) -> bool:
        fields = item.text.split("\t")
        return len(fields) == _FIELDS and _path(fields[2]) is not None

    def question(self, item: Line) -> GoldQuestion:
        fields = item.text.split("\t")
        path = _path(fields[2]) if len(fields) == _FIELDS else None
        answers = () if path is None else _pathquestion_answers(fields[1].strip(), path.entities[-1])
        if path is None or not answers:
            raise item.fault(_PATHQUESTION_LINE)
        topics = path.entities[:1]
        return GoldQuestion(
            "", fields[0], tuple(map(answer_from_name, answers)), topics, topics, len(path.relations), (path,)
        )


def _path(text: str) -> GoldPath | None:
    parts = text.strip().split("#")
    if len(parts) > _FIELDS and parts[-2] == _END:
        parts = parts[:-2]
    if len(parts) < _FIELDS or not len(parts) % 2 or not all(parts):
        return None
    return GoldPath(tuple(parts[1::2]), tuple(parts[::2]))


def _pathquestion_answers(text: str, end: str) -> tuple[str, ...]:
    """Return all right answers; none if the text is not the path's end, alone or with a list in brackets."""
    if text == end:
        return (end,)
    rest = text.removeprefix(f"{end}(")
    if rest == text or not rest.endswith(")"):
        return ()
    return distinct_texts([*rest[:-1].split("/"), end])


class RogQuestions:
    """Questions of RoG, NSM and similar sets.

    RoG: `q_entity` and `answer` are lists of names; a Freebase id among them is an id. Enriched: `answer_mids` parallel
    to `answer` (both hold a literal's text), `ground_relation_paths` are the gold paths (empty ones, of questions whose
    topic is the answer, are skipped) and `gpt_triples` the triples. NSM: `answers` are objects with `kb_id` and `text`;
    `entities`, ids or such objects, are the topics; numbers need another file and are ignored.
    """

    shape = "JSON with id, question, q_entity, answer"

    def recognises(self, item: RecordFields) -> bool:
        return item.has("question") and (item.has("q_entity", "answer") or item.has("entities", "answers"))

    def question(self, item: RecordFields) -> GoldQuestion:
        topics = _topics(item)
        ids = [entity_id(topic) for topic in topics]
        return GoldQuestion(
            item.text("id"),
            item.text("question"),
            freebase_answers(_rog_answers(item)),
            distinct_texts(entity for entity in ids if entity),
            distinct_texts(topic for topic, entity in zip(topics, ids, strict=True) if not entity),
            paths=tuple(dict.fromkeys(GoldPath(path) for path in item.rows("ground_relation_paths") if path)),
            triples=item.triples("gpt_triples"),
        )


def _topics(item: RecordFields) -> list[str]:
    if item.has("q_entity"):
        return list(item.texts("q_entity"))
    found = [item.inner("entities", value) for value in item.values("entities") if not isinstance(value, int)]
    return [topic if isinstance(topic, str) else topic.text("kb_id") or topic.text("text") for topic in found]


def _rog_answers(item: RecordFields) -> list[tuple[str, list[str]]]:
    if not item.has("answer"):
        item.demand("answers")
        return [(answer.text("kb_id"), [answer.text("text")]) for answer in item.records("answers")]
    item.demand("answer")
    names = item.texts("answer")
    ids = item.texts("answer_mids") if item.has("answer_mids") else names
    if len(ids) != len(names):
        raise item.fault("one of answer_mids for each answer", f"{len(ids)} for {len(names)}")
    return [(entity, [name]) for entity, name in zip(ids, names, strict=True)]


class WebqspQuestions:
    """Questions of WebQSP.

    The answers are the union over the parses: entities by id and name, values by their text. A question without parses,
    or whose parses have no answers, has none: abstaining is right. Each parse's inferential chain is a gold path from
    its topic entity; mediators are separate steps, so that it does not give the hops.
    """

    shape = "JSON with QuestionId, RawQuestion, Parses"

    def recognises(self, item: RecordFields) -> bool:
        return item.has("Parses")

    def question(self, item: RecordFields) -> GoldQuestion:
        item.demand("Parses")
        parses = item.records("Parses")
        chains = (parse.texts("InferentialChain") for parse in parses)
        return GoldQuestion(
            item.text("QuestionId"),
            item.text("RawQuestion") or item.text("ProcessedQuestion"),
            freebase_answers(
                (answer.text("AnswerArgument"), [answer.text("EntityName")])
                for parse in parses
                for answer in parse.records("Answers")
            ),
            distinct_texts(parse.text("TopicEntityMid") for parse in parses),
            distinct_texts(parse.text("TopicEntityName") for parse in parses),
            paths=tuple(GoldPath(chain) for chain in dict.fromkeys(chains) if all(chain) and chain),
        )


_NS_ENTITY = rf"\bns:({FREEBASE_ID})"
_TOPIC = re.compile(_NS_ENTITY)
_EXCLUDED = re.compile(rf"!=\s*{_NS_ENTITY}|{_NS_ENTITY}\s*!=")


class CwqQuestions:
    """Questions of ComplexWebQuestions.

    The topic entities are the ids in the query, in its order, except those that it only excludes as answers. An
    answer's name may be null; its aliases are names, too.
    """

    shape = "JSON with ID, question, answers, sparql"

    def recognises(self, item: RecordFields) -> bool:
        return item.has("ID", "question")

    def question(self, item: RecordFields) -> GoldQuestion:
        item.demand("answers")
        return GoldQuestion(
            item.text("ID"),
            item.text("question"),
            freebase_answers(
                (answer.text("answer_id"), [answer.text("answer"), *answer.texts("aliases")])
                for answer in item.records("answers")
            ),
            distinct_texts(_TOPIC.findall(_EXCLUDED.sub(" ", item.text("sparql")))),
        )


_PAIR = 2


class GrailqaQuestions:
    """Questions of GrailQA.

    Published: the topic entities are the entity nodes of the graph query, and the walk from each to the question node
    is a gold path. An edge may be half of a fact with a mediator, so that `num_edge` does not give the hops. Flat:
    `relations`, `topic_entities` [id, name] and `answers` [id or literal, name]; the relations are sorted by name, and
    how they join is unknown, so that there is a gold path only for a single relation.
    """

    shape = "JSON with qid, question, answer, graph_query (or id, question, relations, topic_entities, answers)"

    def recognises(self, item: RecordFields) -> bool:
        return item.has("question") and (item.has("qid") or item.has("relations", "answers"))

    def question(self, item: RecordFields) -> GoldQuestion:
        return _flat(item) if item.has("relations") else _read_published(item)


def _read_published(item: RecordFields) -> GoldQuestion:
    item.demand("answer")
    query = item.record("graph_query")
    topics = [node for node in query.records("nodes") if node.text("node_type") == "entity"]
    return GoldQuestion(
        item.text("qid"),
        item.text("question"),
        freebase_answers(
            (answer.text("answer_argument"), [answer.text("entity_name")]) for answer in item.records("answer")
        ),
        distinct_texts(node.text("id") for node in topics),
        distinct_texts(node.text("friendly_name") for node in topics),
        paths=tuple(dict.fromkeys(_walks(query, topics))),
    )


def _flat(item: RecordFields) -> GoldQuestion:
    item.demand("answers")
    topics = _pairs(item, "topic_entities")
    relations = distinct_texts(item.texts("relations"))
    return GoldQuestion(
        item.text("id"),
        item.text("question"),
        freebase_answers((argument, [name]) for argument, name in _pairs(item, "answers")),
        distinct_texts(entity for entity, _ in topics),
        distinct_texts(name for _, name in topics),
        paths=(GoldPath(relations),) if topics and len(relations) == 1 else (),
    )


def _pairs(item: RecordFields, name: str) -> list[tuple[str, str]]:
    rows = item.rows(name)
    for row in rows:
        if len(row) != _PAIR:
            raise item.fault(f"[id, name] in {name}", format_value(row))
    return [(row[0], row[1]) for row in rows]


def _walks(query: RecordFields, topics: list[RecordFields]) -> Iterator[GoldPath]:
    """Yield the shortest walk from each topic to the question node, with edges in either direction."""
    edges = [(edge.text("start"), edge.text("relation"), edge.text("end")) for edge in query.records("edges")]
    goals = {node.text("nid") for node in query.records("nodes") if node.whole_number("question_node")}
    for topic in topics:
        walks: dict[str, tuple[str, ...]] = {topic.text("nid"): ()}
        waiting = list(walks)
        for node in waiting:
            for start, relation, end in edges:
                for here, there in ((start, end), (end, start)):
                    if here == node and there not in walks and relation:
                        walks[there] = (*walks[node], relation)
                        waiting.append(there)
        yield from (GoldPath(walks[goal]) for goal in sorted(goals & walks.keys()) if walks[goal])


class MedqaQuestions:
    """Questions of MedQA.

    The topics are the phrases that MetaMap found in the question, and the options, with the ids that `load text` gives
    such concepts; those missing from the graph are ignored.
    """

    shape = "JSON with question, options, answer_idx"

    def recognises(self, item: RecordFields) -> bool:
        return item.has("question", "options", "answer_idx")

    def question(self, item: RecordFields) -> GoldQuestion:
        options = item.record("options")
        letter = item.text("answer_idx")
        right = options.text(letter)
        if not right:
            raise item.fault("the letter of an option as answer_idx", letter or "none")
        written = tuple(options.text(each) for each in sorted(options.fields))
        named = distinct_texts(map(concept_id, (*item.texts("metamap_phrases"), *written)))
        number = item.whole_number("realidx")
        return GoldQuestion(
            "" if number is None else f"medqa-{number}",
            item.text("question"),
            (GoldAnswer(None, (right,)),),
            named,
            options=written,
        )
