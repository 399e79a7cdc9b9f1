"""The formats of question sets: what a question looks like in each, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from .naming import FREEBASE_ID, concept_id
from .reading import format_columns, format_value

Record = Mapping[str, Any]
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class FaultyQuestionError(ValueError):
    """What was expected of a question, and what was found."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"expected {expected}, found {format_value(found)}")


def pick(item: Record, path: str) -> list[Any]:
    """Return the values at the end of a path of fields, ``Parses/Answers``, through all lists; null is nothing."""
    values: list[Any] = [item]
    for name in path.split("/"):
        if faulty := [value for value in values if not isinstance(value, dict)]:
            raise FaultyQuestionError(f"an object with {name}", faulty[0])
        inner = [value.get(name) for value in values]
        values = [each for value in inner for each in (value if isinstance(value, list) else [value])]
        values = [value for value in values if value is not None]
    return values


def texts(item: Record, path: str) -> list[str]:
    """Return the values at the end of a path, as texts; a number counts as one."""
    return [_as_text(value, path) for value in pick(item, path)]


def text(item: Record, name: str) -> str:
    """Return the text in a field; empty if absent."""
    if not isinstance(item, dict):
        raise FaultyQuestionError(f"an object with {name}", item)
    return "" if item.get(name) is None else _as_text(item[name], name)


def _as_text(value: Any, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or _NO_TEXT.search(str(value)):
        raise FaultyQuestionError(f"text as {name}", value)
    return str(value)


def whole_number(item: Record, name: str) -> int | None:
    """Return the number in a field; None if absent."""
    value = next(iter(pick(item, name)), None)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise FaultyQuestionError(f"a whole number as {name}", value)


def rows(item: Record, name: str, width: int = 0) -> list[tuple[str, ...]]:
    """Return a list of lists of texts, each of `width` if that is given."""
    value = _listed(item.get(name) or [], name)
    found = [tuple("" if each is None else _as_text(each, name) for each in _listed(row, name)) for row in value]
    if wrong := [row for row in found if width and len(row) != width]:
        raise FaultyQuestionError(f"{width} items in {name}", wrong[0])
    return found


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise FaultyQuestionError(f"a list as {name}", value)
    return value


def pairs(item: Record, path: str, id_name: str, *names: str) -> list[tuple[str, list[str]]]:
    """Return id or literal, and names, of the objects at the end of a path."""
    return [
        (text(each, id_name), [found for name in names for found in texts(each, name)]) for each in pick(item, path)
    ]


class QuestionFormat(NamedTuple):
    """A format: its form for messages, whether an item looks so, what it says, and which field a record must have.

    An item is a record, or the text of a line. A question has an empty id if the set gives none.
    """

    shown: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any], GoldQuestion]
    needed: tuple[str, ...] = ()
    """One of these, the first that is there, must not be null."""

    def question(self, item: Any) -> GoldQuestion:
        """Return the question that an item is; raise `FaultyQuestionError` for one that is none."""
        if self.needed:
            needed = next((name for name in self.needed if name in item), self.needed[-1])
            if item.get(needed) is None:
                raise FaultyQuestionError(f"a field {needed}", f"an object with the fields {format_columns(item)}")
        return self.read(item)


def _has(*names: str) -> Callable[[Record], bool]:
    return lambda record: all(name in record for name in names)


def entity_id(text: str) -> str | None:
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
        entity = entity_id(argument)
        texts = [name for name in names if name and entity_id(name) is None]
        if entity is None and argument:
            texts.insert(0, argument)
        if entity or texts:
            found.append(GoldAnswer(entity, distinct_texts(texts)))
    return distinct_answers(found)


@lru_cache(1 << 17)
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


def _read_lodestar(item: Record) -> GoldQuestion:
    """Read questions of any graph.

    Answers are ids, or objects with id, names or both; without any, abstaining is right. Paths are lists of relations,
    or objects. One of the options is the answer's name.
    """
    answers = []
    for written in pick(item, "answers"):
        if isinstance(written, dict):
            answers.append(GoldAnswer(text(written, "id") or None, distinct_texts(texts(written, "names"))))
        else:
            answers.append(GoldAnswer(_as_text(written, "answers") or None))
        if answers[-1] == GoldAnswer():
            raise FaultyQuestionError("an id or an object with id or names as answer", written)
    num_hops = whole_number(item, "num_hops")
    return GoldQuestion(
        text(item, "id"),
        text(item, "question"),
        distinct_answers(answers),
        distinct_texts(texts(item, "topic_entities")),
        distinct_texts(texts(item, "topic_names")),
        whole_number(item, "min_hops") if num_hops is None else num_hops,
        tuple(map(_read_path, _listed(item.get("paths") or [], "paths"))),
        options=tuple(texts(item, "options")),
    )


def _read_path(written: Any) -> GoldPath:
    path = written if isinstance(written, dict) else {"relations": _listed(written, "paths")}
    relations, entities = texts(path, "relations"), texts(path, "entities")
    if not relations or not all(relations) or (entities and len(entities) != len(relations) + 1):
        raise FaultyQuestionError("relations, and no entities or one more, as paths", written)
    return GoldPath(tuple(relations), tuple(entities))


_BRACKET = re.compile(r"[\[\]]")


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


def _is_metaqa(line: str) -> bool:
    asked, tab, answers = line.partition("\t")
    return bool(tab) and "\t" not in answers and _split_brackets(asked) is not None


def _read_metaqa(line: str) -> GoldQuestion:
    """Read a line of MetaQA: the brackets around the topic are not part of the question."""
    asked, _, answers = line.partition("\t")
    found = _split_brackets(asked)
    if found is None or not _is_metaqa(line):
        expected = "a question with its topic in [brackets], a tab and answers separated by bars"
        raise FaultyQuestionError(expected, line)
    text, topics = found
    return GoldQuestion("", text, tuple(map(answer_from_name, distinct_texts(answers.split("|")))), topics, topics)


_PATHQUESTION = re.compile(r"(?P<question>[^\t]*)\t(?P<answers>[^\t]*)\t(?P<path>[^\t]*)")


def _path_of(text: str) -> GoldPath | None:
    parts = text.strip().split("#")
    if len(parts) > 3 and parts[-2] == "<end>":
        parts = parts[:-2]
    if len(parts) < 3 or not len(parts) % 2 or not all(parts):
        return None
    return GoldPath(tuple(parts[1::2]), tuple(parts[::2]))


def _is_pathquestion(line: str) -> bool:
    found = _PATHQUESTION.fullmatch(line)
    return found is not None and _path_of(found["path"]) is not None


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
            answers, topics = tuple(map(answer_from_name, distinct_texts(right))), path.entities[:1]
            return GoldQuestion("", found["question"], answers, topics, topics, len(path.relations), (path,))
    expected = "a question, a tab, an answer(answer/answer/), a tab and a path topic#relation#answer"
    raise FaultyQuestionError(expected, line)


def _read_rog(item: Record) -> GoldQuestion:
    """Read RoG, NSM and the like: a Freebase id among topics or answers is an id; numbers of NSM need another file.

    `answer_mids` are parallel to `answer`; empty paths are those of questions whose topic is the answer.
    """
    topics = texts(item, "q_entity")
    for topic in [] if topics else pick(item, "entities"):
        if not isinstance(topic, int):
            found = topic if isinstance(topic, dict) else {"text": topic}
            topics.append(text(found, "kb_id") or text(found, "text"))
    names = texts(item, "answer")
    ids = texts(item, "answer_mids") or names
    if len(ids) != len(names):
        raise FaultyQuestionError("one of answer_mids for each answer", f"{len(ids)} for {len(names)}")
    answers = [(id_, [name]) for id_, name in zip(ids, names, strict=True)]
    ids_of_topics = [entity_id(topic) for topic in topics]
    return GoldQuestion(
        text(item, "id"),
        text(item, "question"),
        freebase_answers(answers or pairs(item, "answers", "kb_id", "text")),
        distinct_texts(found for found in ids_of_topics if found),
        distinct_texts(topic for topic, found in zip(topics, ids_of_topics, strict=True) if not found),
        paths=tuple(dict.fromkeys(GoldPath(path) for path in rows(item, "ground_relation_paths") if path)),
    )


def _read_webqsp(item: Record) -> GoldQuestion:
    """Read WebQSP: the answers of all parses; each inferential chain, mediators included, is a gold path."""
    chains = dict.fromkeys(tuple(texts(parse, "InferentialChain")) for parse in pick(item, "Parses"))
    return GoldQuestion(
        text(item, "QuestionId"),
        text(item, "RawQuestion") or text(item, "ProcessedQuestion"),
        freebase_answers(pairs(item, "Parses/Answers", "AnswerArgument", "EntityName")),
        distinct_texts(texts(item, "Parses/TopicEntityMid")),
        distinct_texts(texts(item, "Parses/TopicEntityName")),
        paths=tuple(GoldPath(chain) for chain in chains if chain and all(chain)),
    )


_NS_ENTITY = rf"\bns:({FREEBASE_ID})"
_EXCLUDED = re.compile(rf"!=\s*{_NS_ENTITY}|{_NS_ENTITY}\s*!=")


def _read_cwq(item: Record) -> GoldQuestion:
    """Read ComplexWebQuestions: topics are the ids in the query, except those that it only excludes as answers."""
    return GoldQuestion(
        text(item, "ID"),
        text(item, "question"),
        freebase_answers(pairs(item, "answers", "answer_id", "answer", "aliases")),
        distinct_texts(re.findall(_NS_ENTITY, _EXCLUDED.sub(" ", text(item, "sparql")))),
    )


def _read_grailqa(item: Record) -> GoldQuestion:
    """Read GrailQA as published, or flat.

    Published: the topics are the entities of the graph query, the walk from each to the question node is a gold path.
    Flat: the relations are sorted by name, so that only a single one gives a path.
    """
    nodes, relations = pick(item, "graph_query/nodes"), distinct_texts(texts(item, "relations"))
    entities = [node for node in nodes if text(node, "node_type") == "entity"]
    topics = [(text(node, "id"), text(node, "friendly_name")) for node in entities]
    topics += [(id_, name) for id_, name in rows(item, "topic_entities", 2)]
    answers = pairs(item, "answer", "answer_argument", "entity_name")
    answers += [(argument, [name]) for argument, name in rows(item, "answers", 2)]
    paths = [*_walks(nodes, pick(item, "graph_query/edges"), entities)]
    if topics and len(relations) == 1:
        paths.append(GoldPath(relations))
    return GoldQuestion(
        text(item, "qid") or text(item, "id"),
        text(item, "question"),
        freebase_answers(answers),
        distinct_texts(entity for entity, _ in topics),
        distinct_texts(name for _, name in topics),
        paths=tuple(dict.fromkeys(paths)),
    )


def _walks(nodes: Iterable[Record], edges: Iterable[Record], topics: Iterable[Record]) -> Iterator[GoldPath]:
    """Yield the shortest walk from each topic to the question node, with edges in either direction."""
    goals = {text(node, "nid") for node in nodes if whole_number(node, "question_node")}
    known = [(text(edge, "start"), text(edge, "relation"), text(edge, "end")) for edge in edges]
    for topic in topics:
        walks: dict[str, tuple[str, ...]] = {text(topic, "nid"): ()}
        waiting = list(walks)
        for node in waiting:
            for start, relation, end in known:
                for here, there in ((start, end), (end, start)):
                    if here == node and there not in walks and relation:
                        walks[there] = (*walks[node], relation)
                        waiting.append(there)
        yield from (GoldPath(walks[goal]) for goal in sorted(goals & walks.keys()) if walks[goal])


def _read_medqa(item: Record) -> GoldQuestion:
    """Read MedQA: the topics are MetaMap's phrases and the options, with the ids that `load text` gives concepts."""
    options = next(iter(pick(item, "options")), {})
    if not isinstance(options, dict):
        raise FaultyQuestionError("an object as options", options)
    listed = {letter: _as_text(options[letter], "options") for letter in sorted(options)}
    letter, number = text(item, "answer_idx"), whole_number(item, "realidx")
    if not listed.get(letter):
        raise FaultyQuestionError("the letter of an option as answer_idx", letter or "none")
    written = tuple(listed.values())
    return GoldQuestion(
        "" if number is None else f"medqa-{number}",
        text(item, "question"),
        (GoldAnswer(None, (listed[letter],)),),
        distinct_texts(map(concept_id, (*texts(item, "metamap_phrases"), *written))),
        options=written,
    )


RECORD_FORMATS = {
    "webqsp": QuestionFormat("JSON with QuestionId, RawQuestion, Parses", _has("Parses"), _read_webqsp, ("Parses",)),
    "cwq": QuestionFormat("JSON with ID, question, answers, sparql", _has("ID", "question"), _read_cwq, ("answers",)),
    "grailqa": QuestionFormat(
        "JSON with qid, question, answer, graph_query (or id, question, relations, topic_entities, answers)",
        lambda item: "question" in item and ("qid" in item or {"relations", "answers"} <= item.keys()),
        _read_grailqa,
        ("answer", "answers"),
    ),
    "rog": QuestionFormat(
        "JSON with id, question, q_entity, answer",
        lambda item: _has("question", "q_entity", "answer")(item) or _has("question", "entities", "answers")(item),
        _read_rog,
        ("answer", "answers"),
    ),
    "medqa": QuestionFormat(
        "JSON with question, options, answer_idx", _has("question", "options", "answer_idx"), _read_medqa
    ),
    "lodestar": QuestionFormat(
        "JSON with id, question, topic_entities, answers", _has("question", "answers"), _read_lodestar, ("answers",)
    ),
}
LINE_FORMATS = {
    "metaqa": QuestionFormat("question with its [topic], tab, answer|answer", _is_metaqa, _read_metaqa),
    "pathquestion": QuestionFormat(
        "question, tab, answer(answer/answer/), tab, topic#relation#answer", _is_pathquestion, _read_pathquestion
    ),
}
