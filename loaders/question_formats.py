"""The formats of question sets: what a question looks like in each, and what it says.

A format of records has a shape, as data: its fields with `str` (a number counts, too), `int` (a whole number), `object`
(anything), a list of one shape (any number of items) or of several (exactly these), an object of fields, or a tuple of
a shape that is no object and one that is. What is absent or null is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from ..models import quote_line
from .naming import FREEBASE_ID, concept_id
from .reading import format_value

Fields = Mapping[str, Any]
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class FaultyQuestionError(ValueError):
    """What was expected of a question, and what was found."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")


def fit(value: Any, shape: Any, name: str) -> Any:
    """Return a value of JSON with the fields of a shape; raise `FaultyQuestionError` for one of another shape."""
    if isinstance(shape, tuple):
        shape = shape[isinstance(value, dict)]
    if isinstance(shape, dict):
        fields = _check({} if value is None else value, dict, f"an object as {name}")
        return {key: fit(fields.get(key), inner, key) for key, inner in shape.items()}
    if isinstance(shape, list):
        items = _check([] if value is None else value, list, f"a list as {name}")
        if len(shape) == 1:
            return [fit(item, shape[0], name) for item in items]
        if len(items) != len(shape):
            raise FaultyQuestionError(f"{len(shape)} items in {name}", format_value(items))
        return [fit(item, inner, name) for item, inner in zip(items, shape, strict=True)]
    if shape is str:
        return "" if value is None else _text(value, name)
    if shape is int and (isinstance(value, bool) or not isinstance(value, int | None) or (value or 0) < 0):
        raise FaultyQuestionError(f"a whole number as {name}", format_value(value))
    return value


def _check(value: Any, kind: type, expected: str) -> Any:
    if not isinstance(value, kind):
        raise FaultyQuestionError(expected, format_value(value))
    return value


def _text(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or _NO_TEXT.search(str(value)):
        raise FaultyQuestionError(f"text as {name}", format_value(value))
    return str(value)


class QuestionFormat(NamedTuple):
    """A format: its form for messages, which first item shows it, the shape of an item, and what an item says.

    An item is a record, or the text of a line (without a shape). A record has one of the `needed` fields. A question
    has an empty id if the set gives none.
    """

    shown: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any], GoldQuestion]
    shape: Fields | None = None
    needed: tuple[str, ...] = ()

    def question(self, item: Any) -> GoldQuestion:
        """Return the question that an item is; raise `FaultyQuestionError` for one that is none."""
        if self.shape is None:
            return self.read(item)
        needed = next((name for name in self.needed if name in item), self.needed[-1])
        if item.get(needed) is None:
            raise FaultyQuestionError(f"a field {needed}", f"an object with the fields {format_value(', '.join(item))}")
        return self.read(fit(item, self.shape, "the question"))


def _has(*names: str) -> Callable[[Fields], bool]:
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


def _read_lodestar(item: Fields) -> GoldQuestion:
    answers = []
    for written in item["answers"]:
        entity, names = (written, []) if isinstance(written, str) else (written["id"], written["names"])
        if not entity and not any(names):
            raise FaultyQuestionError("an id or an object with id or names as answer", format_value(written))
        answers.append(GoldAnswer(entity or None, distinct_texts(names)))
    paths = []
    for path in item["paths"]:
        found = fit(path if isinstance(path, dict) else {"relations": path}, _PATH, "paths")
        relations, entities = found["relations"], found["entities"]
        if not relations or not all(relations) or (entities and len(entities) != len(relations) + 1):
            number = f"{len(relations)} and {len(entities)}"
            raise FaultyQuestionError("relations, and no entities or one more, as paths", number)
        paths.append(GoldPath(tuple(relations), tuple(entities)))
    return GoldQuestion(
        item["id"],
        item["question"],
        distinct_answers(answers),
        distinct_texts(item["topic_entities"]),
        distinct_texts(item["topic_names"]),
        item["min_hops"] if item["num_hops"] is None else item["num_hops"],
        tuple(paths),
        _triples(item["triples"]),
        options=tuple(item["options"]),
    )


def _triples(found: Iterable[list[str]]) -> tuple[tuple[str, str, str], ...]:
    return tuple((head, relation, tail) for head, relation, tail in found)


_PATH = {"relations": [str], "entities": [str]}
_LODESTAR = {
    "id": str, "question": str, "topic_entities": [str], "topic_names": [str], "num_hops": int, "min_hops": int,
    "answers": [(str, {"id": str, "names": [str]})], "paths": [object], "triples": [[str, str, str]], "options": [str],
}  # fmt: skip
"""Of any graph: answers are ids, or objects with id, names or both; without any, abstaining is right. Paths are lists
of relations, or objects. One of the options is the answer's name."""

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
        raise FaultyQuestionError(expected, quote_line(line))
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
    raise FaultyQuestionError(expected, quote_line(line))


def _read_rog(item: Fields) -> GoldQuestion:
    """Read RoG, NSM and the like: a Freebase id among topics or answers is an id; numbers of NSM need another file."""
    topics = item["q_entity"]
    for topic in [] if topics else item["entities"]:
        if not isinstance(topic, int):
            found = fit(topic if isinstance(topic, dict) else {"text": topic}, _NSM_ENTITY, "entities")
            topics.append(found["kb_id"] or found["text"])
    names = item["answer"]
    ids = item["answer_mids"] or names
    if len(ids) != len(names):
        raise FaultyQuestionError("one of answer_mids for each answer", f"{len(ids)} for {len(names)}")
    answers = [(id_, [name]) for id_, name in zip(ids, names, strict=True)]
    answers = answers or [(answer["kb_id"], [answer["text"]]) for answer in item["answers"]]
    ids_of_topics = [entity_id(topic) for topic in topics]
    return GoldQuestion(
        item["id"],
        item["question"],
        freebase_answers(answers),
        distinct_texts(found for found in ids_of_topics if found),
        distinct_texts(topic for topic, found in zip(topics, ids_of_topics, strict=True) if not found),
        paths=tuple(dict.fromkeys(GoldPath(tuple(path)) for path in item["ground_relation_paths"] if path)),
        triples=_triples(item["gpt_triples"]),
    )


_NSM_ENTITY = {"kb_id": str, "text": str}
_ROG = {
    "id": str, "question": str, "q_entity": [str], "entities": [object], "answer": [str], "answer_mids": [str],
    "answers": [_NSM_ENTITY], "ground_relation_paths": [[str]], "gpt_triples": [[str, str, str]],
}  # fmt: skip
"""`answer_mids` are parallel to `answer`; empty paths are those of questions whose topic is the answer."""


def _read_webqsp(item: Fields) -> GoldQuestion:
    """Read WebQSP: the answers of all parses; each inferential chain, mediators included, is a gold path."""
    parses = item["Parses"]
    chains = dict.fromkeys(tuple(parse["InferentialChain"]) for parse in parses)
    return GoldQuestion(
        item["QuestionId"],
        item["RawQuestion"] or item["ProcessedQuestion"],
        freebase_answers(
            (answer["AnswerArgument"], [answer["EntityName"]]) for parse in parses for answer in parse["Answers"]
        ),
        distinct_texts(parse["TopicEntityMid"] for parse in parses),
        distinct_texts(parse["TopicEntityName"] for parse in parses),
        paths=tuple(GoldPath(chain) for chain in chains if chain and all(chain)),
    )


_WEBQSP = {
    "QuestionId": str, "RawQuestion": str, "ProcessedQuestion": str,
    "Parses": [{
        "TopicEntityMid": str, "TopicEntityName": str, "InferentialChain": [str],
        "Answers": [{"AnswerArgument": str, "EntityName": str}],
    }],
}  # fmt: skip

_NS_ENTITY = rf"\bns:({FREEBASE_ID})"
_EXCLUDED = re.compile(rf"!=\s*{_NS_ENTITY}|{_NS_ENTITY}\s*!=")


def _read_cwq(item: Fields) -> GoldQuestion:
    """Read ComplexWebQuestions: topics are the ids in the query, except those that it only excludes as answers."""
    return GoldQuestion(
        item["ID"],
        item["question"],
        freebase_answers((each["answer_id"], [each["answer"], *each["aliases"]]) for each in item["answers"]),
        distinct_texts(re.findall(_NS_ENTITY, _EXCLUDED.sub(" ", item["sparql"]))),
    )


_CWQ = {
    "ID": str, "question": str, "answers": [{"answer_id": str, "answer": str, "aliases": [str]}], "sparql": str,
}  # fmt: skip


def _read_grailqa(item: Fields) -> GoldQuestion:
    """Read GrailQA as published, or flat.

    Published: the topics are the entities of the graph query, the walk from each to the question node is a gold path.
    Flat: the relations are sorted by name, so that only a single one gives a path.
    """
    nodes, relations = item["graph_query"]["nodes"], distinct_texts(item["relations"])
    entities = [node for node in nodes if node["node_type"] == "entity"]
    topics = [(node["id"], node["friendly_name"]) for node in entities] + item["topic_entities"]
    answers = [(each["answer_argument"], [each["entity_name"]]) for each in item["answer"]]
    answers += [(argument, [name]) for argument, name in item["answers"]]
    paths = [*_walks(item["graph_query"], entities)]
    if topics and len(relations) == 1:
        paths.append(GoldPath(relations))
    return GoldQuestion(
        item["qid"] or item["id"],
        item["question"],
        freebase_answers(answers),
        distinct_texts(entity for entity, _ in topics),
        distinct_texts(name for _, name in topics),
        paths=tuple(dict.fromkeys(paths)),
    )


_GRAILQA = {
    "qid": str, "id": str, "question": str, "relations": [str], "topic_entities": [[str, str]],
    "answer": [{"answer_argument": str, "entity_name": str}], "answers": [[str, str]],
    "graph_query": {
        "nodes": [{"nid": str, "node_type": str, "id": str, "friendly_name": str, "question_node": int}],
        "edges": [{"start": str, "relation": str, "end": str}],
    },
}  # fmt: skip


def _walks(query: Fields, topics: Iterable[Fields]) -> Iterator[GoldPath]:
    """Yield the shortest walk from each topic to the question node, with edges in either direction."""
    goals = {node["nid"] for node in query["nodes"] if node["question_node"]}
    for topic in topics:
        walks: dict[str, tuple[str, ...]] = {topic["nid"]: ()}
        waiting = list(walks)
        for node in waiting:
            for edge in query["edges"]:
                for here, there in ((edge["start"], edge["end"]), (edge["end"], edge["start"])):
                    if here == node and there not in walks and edge["relation"]:
                        walks[there] = (*walks[node], edge["relation"])
                        waiting.append(there)
        yield from (GoldPath(walks[goal]) for goal in sorted(goals & walks.keys()) if walks[goal])


def _read_medqa(item: Fields) -> GoldQuestion:
    """Read MedQA: the topics are MetaMap's phrases and the options, with the ids that `load text` gives concepts."""
    options = _check(item["options"], dict, "an object as options")
    letter, number = item["answer_idx"], item["realidx"]
    if not options.get(letter):
        raise FaultyQuestionError("the letter of an option as answer_idx", letter or "none")
    written = tuple(_text(options[each], "options") for each in sorted(options))
    return GoldQuestion(
        "" if number is None else f"medqa-{number}",
        item["question"],
        (GoldAnswer(None, (str(options[letter]),)),),
        distinct_texts(map(concept_id, (*item["metamap_phrases"], *written))),
        options=written,
    )


_MEDQA = {"realidx": int, "question": str, "options": object, "answer_idx": str, "metamap_phrases": [str]}


RECORD_FORMATS = {
    "webqsp": QuestionFormat(
        "JSON with QuestionId, RawQuestion, Parses", _has("Parses"), _read_webqsp, _WEBQSP, ("Parses",)
    ),
    "cwq": QuestionFormat(
        "JSON with ID, question, answers, sparql", _has("ID", "question"), _read_cwq, _CWQ, ("answers",)
    ),
    "grailqa": QuestionFormat(
        "JSON with qid, question, answer, graph_query (or id, question, relations, topic_entities, answers)",
        lambda item: "question" in item and ("qid" in item or {"relations", "answers"} <= item.keys()),
        _read_grailqa,
        _GRAILQA,
        ("answer", "answers"),
    ),
    "rog": QuestionFormat(
        "JSON with id, question, q_entity, answer",
        lambda item: "question" in item and any({a, b} <= item.keys() for a, b in _OF_ROG),
        _read_rog,
        _ROG,
        ("answer", "answers"),
    ),
    "medqa": QuestionFormat(
        "JSON with question, options, answer_idx",
        _has("question", "options", "answer_idx"),
        _read_medqa,
        _MEDQA,
        ("options",),
    ),
    "lodestar": QuestionFormat(
        "JSON with id, question, topic_entities, answers",
        _has("question", "answers"),
        _read_lodestar,
        _LODESTAR,
        ("answers",),
    ),
}
_OF_ROG = (("q_entity", "answer"), ("entities", "answers"))
LINE_FORMATS = {
    "metaqa": QuestionFormat("question with its [topic], tab, answer|answer", _is_metaqa, _read_metaqa),
    "pathquestion": QuestionFormat(
        "question, tab, answer(answer/answer/), tab, topic#relation#answer", _is_pathquestion, _read_pathquestion
    ),
}
