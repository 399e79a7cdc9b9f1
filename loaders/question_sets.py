"""Read a question set in any format: what a question looks like in each, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..engine.data_model import MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_TOPICS_CHARS
from ..engine.errors import InputError, UsageError
from ..engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion, QuestionSet
from ..models import quote_line
from .reading import PARQUET, RereadableFile, format_columns, quote_found_value, read_json_records, read_parquet
from .source import FREEBASE_ID, concept_id

_Record = Mapping[str, Any]
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class _FaultyQuestionError(ValueError):
    """What was expected of a question, and what was found."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"expected {expected}, found {quote_found_value(found)}")


# Fields of records


def _values(item: _Record, path: str) -> list[Any]:
    """Return the values at the end of a path of fields, ``Parses/Answers``, through all lists; null is nothing."""
    values: list[Any] = [item]
    for name in path.split("/"):
        if faulty := [value for value in values if not isinstance(value, dict)]:
            raise _FaultyQuestionError(f"an object with {name}", faulty[0])
        inner = [value.get(name) for value in values]
        values = [each for value in inner for each in (value if isinstance(value, list) else [value])]
        values = [value for value in values if value is not None]
    return values


def _texts(item: _Record, path: str) -> list[str]:
    return [_as_text(value, path) for value in _values(item, path)]


def _text(item: _Record, name: str) -> str:
    if not isinstance(item, dict):
        raise _FaultyQuestionError(f"an object with {name}", item)
    return "" if item.get(name) is None else _as_text(item[name], name)


def _as_text(value: Any, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or _NO_TEXT.search(str(value)):
        raise _FaultyQuestionError(f"text as {name}", value)
    return str(value)


def _whole_number(item: _Record, name: str) -> int | None:
    value = next(iter(_values(item, name)), None)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise _FaultyQuestionError(f"a whole number as {name}", value)


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise _FaultyQuestionError(f"a list as {name}", value)
    return value


def _freebase_answers(item: _Record, path: str, id_name: str, *names: str) -> tuple[GoldAnswer, ...]:
    """Return the answers that objects at the end of a path have: an id or a literal, and names."""
    written = [
        (_text(each, id_name), [text for name in names for text in _texts(each, name)]) for each in _values(item, path)
    ]
    return freebase_answers(written)


# Ids and answers


def parse_freebase_id(text: str) -> str | None:
    """Return the text as an id of Freebase, without the leading colon of some files; None if it is not an id."""
    match = re.fullmatch(rf":?({FREEBASE_ID})", text.strip())
    return match[1] if match else None


def freebase_answers(written: Iterable[tuple[str, Iterable[str]]]) -> tuple[GoldAnswer, ...]:
    """Return the answers written as (id or literal, names), as `distinct_answers` does.

    A text that is not an id is a literal, and its own name; a name that is an id is ignored. A pair without any text is
    not an answer.
    """
    found = []
    for argument, names in written:
        entity = parse_freebase_id(argument)
        texts = [name for name in names if name and parse_freebase_id(name) is None]
        if entity is None and argument:
            texts.insert(0, argument)
        if entity or texts:
            found.append(GoldAnswer(entity, _distinct(texts)))
    return distinct_answers(found)


@lru_cache(1 << 17)
def _answer_of_name(name: str) -> GoldAnswer:  # many questions share one object, as a set has millions
    return GoldAnswer(name, (name,))


def distinct_answers(answers: Iterable[GoldAnswer]) -> tuple[GoldAnswer, ...]:
    """Return each answer once, in order; answers with the same id are merged with all names."""
    names: dict[str | tuple[str, ...], dict[str, None]] = {}
    for answer in answers:
        names.setdefault(answer.id or answer.names, {}).update(dict.fromkeys(answer.names))
    return tuple(GoldAnswer(key if isinstance(key, str) else None, tuple(found)) for key, found in names.items())


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))


# Formats


def _read_lodestar(item: _Record) -> GoldQuestion:
    answers = []  # ids, or objects with id, names or both; without any, abstaining is right
    for written in _values(item, "answers"):
        if isinstance(written, dict):
            answers.append(GoldAnswer(_text(written, "id") or None, _distinct(_texts(written, "names"))))
        else:
            answers.append(GoldAnswer(_as_text(written, "answers") or None))
        if answers[-1] == GoldAnswer():
            raise _FaultyQuestionError("an id or an object with id or names as answer", written)
    num_hops = _whole_number(item, "num_hops")
    return GoldQuestion(
        _text(item, "id"),
        _text(item, "question"),
        distinct_answers(answers),
        _distinct(_texts(item, "topic_entities")),
        _distinct(_texts(item, "topic_names")),
        _whole_number(item, "min_hops") if num_hops is None else num_hops,
        tuple(map(_read_path, _listed(item.get("paths") or [], "paths"))),
        options=tuple(_texts(item, "options")),
    )


def _read_path(written: Any) -> GoldPath:
    path = written if isinstance(written, dict) else {"relations": _listed(written, "paths")}
    relations, entities = _texts(path, "relations"), _texts(path, "entities")
    if not relations or not all(relations) or (entities and len(entities) != len(relations) + 1):
        raise _FaultyQuestionError("relations, and no entities or one more, as paths", written)
    return GoldPath(tuple(relations), tuple(entities))


_TOPIC = re.compile(r"\[((?:[^][]|\[(?:[^][]|\[[^][]*\])*\])+)\]")  # with up to two pairs of brackets in it


def _split_brackets(asked: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the question without its outer brackets, and their content; None if they do not match or are missing."""
    topics = _TOPIC.findall(asked)
    is_matched = topics and not re.search(r"[][]", _TOPIC.sub("", asked))
    return (_TOPIC.sub(r"\1", asked), _distinct(topics)) if is_matched else None


def _read_metaqa(line: str) -> GoldQuestion:
    """Read a line of MetaQA: the brackets around the topic are not part of the question."""
    asked, tab, answers = line.partition("\t")
    found = _split_brackets(asked)
    if found is None or not tab or "\t" in answers:
        raise _FaultyQuestionError("a question with its topic in [brackets], a tab and answers parted by bars", line)
    return _of_names(*found, answers.split("|"))


def _of_names(text: str, topics: tuple[str, ...], names: Iterable[str], *paths: GoldPath) -> GoldQuestion:
    num_hops = next((len(path.relations) for path in paths), None)
    answers = tuple(map(_answer_of_name, _distinct(names)))
    return GoldQuestion("", text, answers, topics, topics, num_hops, paths)


_PATHQUESTION = re.compile(r"(?P<question>[^\t]*)\t(?P<answers>[^\t]*)\t(?P<path>[^\t]*)")


def _path_of(text: str) -> GoldPath | None:
    parts = text.strip().split("#")
    if len(parts) > 3 and parts[-2] == "<end>":
        parts = parts[:-2]
    if len(parts) < 3 or not len(parts) % 2 or not all(parts):
        return None
    return GoldPath(tuple(parts[1::2]), tuple(parts[::2]))


def _read_pathquestion(line: str) -> GoldQuestion:
    """Read a line of PathQuestion.

    The path is `s#r1#e1#r2#a`, in some files followed by `#<end>#a`: from the topic `s` along relations to the answer
    `a`. The answers are `a(a/b/c/)`: the end of this path and, in brackets, all ends of its relations from `s`, each
    followed by a slash; all are right. A name may contain brackets, as in `PG_(USA)(PG_(USA)/)`.
    """
    found = _PATHQUESTION.fullmatch(line)
    path = _path_of(found["path"]) if found else None
    if found and path:
        end, text = path.entities[-1], found["answers"].strip()
        listed = text.removeprefix(f"{end}(")
        if text == end or (listed != text and listed.endswith(")")):
            right = [end] if text == end else [*listed[:-1].split("/"), end]
            return _of_names(found["question"], path.entities[:1], right, path)
    expected = "a question, a tab, an answer(answer/answer/), a tab and a path topic#relation#answer"
    raise _FaultyQuestionError(expected, line)


def _read_rog(item: _Record) -> GoldQuestion:
    """Read RoG, NSM and the like: a Freebase id among topics or answers is an id; numbers of NSM need another file.

    `answer_mids` are parallel to `answer`; empty paths are those of questions whose topic is the answer.
    """
    topics = _texts(item, "q_entity")
    for topic in [] if topics else _values(item, "entities"):
        if not isinstance(topic, int):  # NSM's numbers are in another file
            found = topic if isinstance(topic, dict) else {"text": topic}
            topics.append(_text(found, "kb_id") or _text(found, "text"))
    names = _texts(item, "answer")
    ids = _texts(item, "answer_mids") or names
    if len(ids) != len(names):
        raise _FaultyQuestionError("one of answer_mids for each answer", f"{len(ids)} for {len(names)}")
    answers = [(id_, [name]) for id_, name in zip(ids, names, strict=True)]
    ids_of_topics = [parse_freebase_id(topic) for topic in topics]
    name = "ground_relation_paths"
    walks = (_listed(path, name) for path in _listed(item.get(name) or [], name))
    paths = (tuple("" if each is None else _as_text(each, name) for each in walk) for walk in walks)
    return GoldQuestion(
        _text(item, "id"),
        _text(item, "question"),
        freebase_answers(answers) or _freebase_answers(item, "answers", "kb_id", "text"),
        _distinct(found for found in ids_of_topics if found),
        _distinct(topic for topic, found in zip(topics, ids_of_topics, strict=True) if not found),
        paths=tuple(dict.fromkeys(GoldPath(path) for path in paths if path)),
    )


def _read_webqsp(item: _Record) -> GoldQuestion:
    """Read WebQSP: the answers of all parses; each inferential chain, mediators included, is a gold path."""
    chains = dict.fromkeys(tuple(_texts(parse, "InferentialChain")) for parse in _values(item, "Parses"))
    return GoldQuestion(
        _text(item, "QuestionId"),
        _text(item, "RawQuestion") or _text(item, "ProcessedQuestion"),
        _freebase_answers(item, "Parses/Answers", "AnswerArgument", "EntityName"),
        _distinct(_texts(item, "Parses/TopicEntityMid")),
        _distinct(_texts(item, "Parses/TopicEntityName")),
        paths=tuple(GoldPath(chain) for chain in chains if chain and all(chain)),
    )


_NS_ENTITY = rf"\bns:({FREEBASE_ID})"
_EXCLUDED = re.compile(rf"!=\s*{_NS_ENTITY}|{_NS_ENTITY}\s*!=")


def _read_cwq(item: _Record) -> GoldQuestion:
    """Read ComplexWebQuestions: topics are the ids in the query, except those that it only excludes as answers."""
    return GoldQuestion(
        _text(item, "ID"),
        _text(item, "question"),
        _freebase_answers(item, "answers", "answer_id", "answer", "aliases"),
        _distinct(re.findall(_NS_ENTITY, _EXCLUDED.sub(" ", _text(item, "sparql")))),
    )


def _read_medqa(item: _Record) -> GoldQuestion:
    """Read MedQA: the topics are MetaMap's phrases and the options, with the ids that `load text` gives concepts."""
    options = next(iter(_values(item, "options")), {})
    if not isinstance(options, dict):
        raise _FaultyQuestionError("an object as options", options)
    listed = {letter: _as_text(options[letter], "options") for letter in sorted(options)}
    letter, number = _text(item, "answer_idx"), _whole_number(item, "realidx")
    if not listed.get(letter):
        raise _FaultyQuestionError("the letter of an option as answer_idx", letter or "none")
    written = tuple(listed.values())
    return GoldQuestion(
        "" if number is None else f"medqa-{number}",
        _text(item, "question"),
        (GoldAnswer(None, (listed[letter],)),),
        _distinct(map(concept_id, (*_texts(item, "metamap_phrases"), *written))),
        options=written,
    )


class _Format(NamedTuple):
    """A format: its form for messages, how an item of it is read, and the fields that tell its records.

    An item is a record, or the text of a line. A question has an empty id if the set gives none.
    """

    shown: str
    read: Callable[[Any], GoldQuestion]
    fields: Sequence[tuple[str, ...]] = ()  # a record has all of one of these; the last must not be null

    def recognises(self, item: Any) -> bool:
        if self.fields:
            return any(all(name in item for name in names) for names in self.fields)
        try:
            return bool(self.read(item))
        except _FaultyQuestionError:
            return False

    def question(self, item: Any) -> GoldQuestion:
        needed = next((names[-1] for names in self.fields if names[-1] in item), None)
        if self.fields and (needed is None or item[needed] is None):
            found = f"an object with the fields {format_columns(item)}"
            raise _FaultyQuestionError(f"a field {needed or self.fields[-1][-1]}", found)
        return self.read(item)


_RECORD_FORMATS = {
    "webqsp": _Format("JSON with QuestionId, RawQuestion, Parses", _read_webqsp, [("Parses",)]),
    "cwq": _Format("JSON with ID, question, answers, sparql", _read_cwq, [("ID", "question", "answers")]),
    "rog": _Format(
        "JSON with id, question, q_entity, answer",
        _read_rog,
        [("question", "q_entity", "answer"), ("question", "entities", "answers")],
    ),
    "medqa": _Format("JSON with question, options, answer_idx", _read_medqa, [("question", "options", "answer_idx")]),
    "lodestar": _Format("JSON with id, question, topic_entities, answers", _read_lodestar, [("question", "answers")]),
}
_LINE_FORMATS = {
    "metaqa": _Format("question with its [topic], tab, answer|answer", _read_metaqa),
    "pathquestion": _Format("question, tab, answer(answer/answer/), tab, topic#relation#answer", _read_pathquestion),
}


_PACKED = ".gz"
_MAX_PIPED_BYTES = 1 << 28
"""The largest question set from a pipe; files have no limit."""
_MAX_ANSWER_CHARS = 20_000
"""The longest id or name: no entity's is longer, and it is sent to the database."""
_JSON = re.compile(rb"\s*(?:\{|\[\s*(?:[\]{]|\Z))")
_HOPS = re.compile(r"(?<!\d)(\d{1,2})-hop(?![a-z])")

_FORMATS = {**_RECORD_FORMATS, **_LINE_FORMATS}
FORMATS = tuple(sorted(_FORMATS))
"""The names of the formats."""


class _Item(NamedTuple):
    """A record or the text of a line; its line, or its number in a list; and its place for messages."""

    value: Any
    number: int
    place: str


def read_questions(path: str, format_name: str | None = None) -> QuestionSet:
    """Return the questions of a file (``-`` is standard input), gzip or plain; the content tells the format.

    The set has the file's name without `.gz`. A missing id becomes this name with the question's line, or its number in
    the file; repeated ids get `#2`, `#3` and so on. Raises `UsageError` for an unknown format name, `InputError`, with
    its place, for any fault of the file.
    """
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"expected a format of questions, one of {', '.join(FORMATS)}: found {format_name!r}")
    file = RereadableFile(path, _MAX_PIPED_BYTES)
    start = file.first_bytes(1 << 10)
    if not start.strip():
        raise InputError(f"{file.shown}: expected questions, found an empty file: fetch it again")
    are_records = start.startswith(PARQUET) or _JSON.match(start) is not None
    items, formats = (_records(file), _RECORD_FORMATS) if are_records else (_lines(file), _LINE_FORMATS)
    first = next(items, None)
    if first is None:
        raise InputError(f"{file.shown}: expected questions, found none: fetch it again")
    recognised = next((name for name, each in formats.items() if each.recognises(first.value)), None)
    name = format_name or recognised
    if name is None or name not in formats or not formats[name].recognises(first.value):
        raise _unknown(first, format_name, recognised)
    set_name = file.name.removesuffix(_PACKED)
    hops = [int(match[1]) for part in reversed(Path(file.shown).parts) if (match := _HOPS.search(part))]
    questions, taken = [], dict[str, int]()
    for item in chain([first], items):
        try:
            question = _check(formats[name].question(item.value))
        except _FaultyQuestionError as error:
            raise InputError(f"{item.place}: {error}: correct the question or remove it") from error
        id_ = _free_id(question.id.strip() or f"{set_name}:{item.number}", taken)
        if name == "metaqa":  # its files or their folders are called 2-hop
            question = replace(question, num_hops=next(iter(hops), None))
        questions.append(replace(question, id=id_, text=question.text.strip()))
    return QuestionSet(set_name, name, file.digest(), tuple(questions))


def _unknown(first: _Item, wanted: str | None, recognised: str | None) -> InputError:
    expected = f"{wanted} ({_FORMATS[wanted].shown})" if wanted else f"one of {', '.join(FORMATS)}"
    is_line = isinstance(first.value, str)
    found = quote_line(first.value) if is_line else f"an object with the fields {format_columns(list(first.value))}"
    looks = f", which looks like {recognised}" if recognised else ""
    advice = f"convert it to lodestar ({_FORMATS['lodestar'].shown})"
    advice = f"name {recognised}, or no format" if recognised else advice
    return InputError(f"{first.place}: expected a question as {expected}, found {found}{looks}: {advice}")


def _check(question: GoldQuestion) -> GoldQuestion:
    """Return the question; raise `_FaultyQuestionError` if a text is missing or too long."""
    topics = sum(map(len, (*question.topic_ids, *question.topic_names)))
    longest = max((len(text) for answer in question.answers for text in (answer.id or "", *answer.names)), default=0)
    limits = (
        (len(question.text.strip()), MAX_QUESTION_CHARS, "a question of at most {:,} characters"),
        (topics, MAX_TOPICS_CHARS, "topics of at most {:,} characters together"),
        (len(question.options), MAX_OPTIONS, "at most {:,} options"),
        (longest, _MAX_ANSWER_CHARS, "answers of at most {:,} characters each"),
    )
    for found, limit, expected in limits:
        if found > limit:
            raise _FaultyQuestionError(expected.format(limit), f"{found:,}")
    if not question.text.strip():
        raise _FaultyQuestionError("a question", "none")
    return question


def _free_id(own: str, taken: dict[str, int]) -> str:
    """Return an id that no question before has: a later one with the same id gets `#2`, `#3` and so on."""
    free = own
    while free in taken:
        taken[own] += 1
        free = f"{own}#{taken[own]}"
    taken[free] = 1
    return free


def _lines(file: RereadableFile) -> Iterator[_Item]:
    """Yield the lines that are not blank; raise `InputError` for one that cannot be read."""

    def refuse(line: int, reason: str, _text: str) -> None:
        raise InputError(f"{file.shown}:{line}: {reason}: correct the file or fetch it again")

    for batch in file.batches(refuse):
        for number, text in zip(batch["line"].to_pylist(), batch["text"].to_pylist(), strict=True):
            if text.strip():
                yield _Item(text, number, f"{file.shown}:{number}")


def _records(file: RereadableFile) -> Iterator[_Item]:
    """Yield rows of parquet, or JSON objects: one on each line, or those of an array, or of `Questions` in an object.

    Raises `InputError`, with the line or the number of the question, for invalid JSON or what is no object.
    """
    if file.first_bytes(len(PARQUET)) == PARQUET:
        wanted = lambda names: [name for name in names if name not in ("graph", "subgraph")]  # noqa: E731
        rows = (row for batch in read_parquet(file, wanted) for row in batch.to_pylist())
        yield from (_Item(row, number, f"{file.shown}: question {number}") for number, row in enumerate(rows, 1))
        return
    for line, found, fault in read_json_records(file):
        if fault:
            raise InputError(f"{file.shown}:{line}: {fault}: correct the file or fetch it again")
        listed = found.get("Questions", found) if isinstance(found, dict) else found
        is_list = isinstance(listed, list)
        for number, value in enumerate(listed if is_list else [listed], 1):
            place = f"{file.shown}: question {number}" if is_list else f"{file.shown}:{line}"
            if not isinstance(value, dict):
                raise InputError(f"{place}: expected a JSON object, found {quote_found_value(value)}: correct the file")
            yield _Item(value, number if is_list else line, place)
