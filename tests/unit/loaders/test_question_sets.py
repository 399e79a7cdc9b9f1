"""Question sets: what every format says, that it is told by looking, and every fault with its place."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.loaders.question_sets import FORMATS, read_questions

from tests.made.files import refusal, written

LODESTAR = """\
{"id": "q1", "question": " Which city is the capital of Peru? ", "topic_entities": ["m.1"], "topic_names": ["Peru"], "min_hops": 1, "num_hops": 2,
 "answers": ["m.2", {"id": "m.3", "names": ["Lima", "Ciudad"]}, {"names": ["1535"]}, "m.2"],
 "paths": [["capital"], {"relations": ["in", "capital"], "entities": ["m.1", "m.9", "m.2"]}]}
{"id": "q2", "question": "Who is nobody?", "answers": [], "min_hops": 3}
""".replace("\n ", " ")
WEBQSP = """{"Version": "1.0", "FreebaseVersion": "2015-08-09", "Questions": [
  {"QuestionId": "WebQTest-901", "RawQuestion": "where does the river Rímac rise?", "ProcessedQuestion": "where does the river rimac rise", "Parses": [
    {"ParseId": "WebQTest-901.P0", "TopicEntityName": "Rímac River", "TopicEntityMid": "m.0aaa1",
     "InferentialChain": ["geography.river.origin", "geography.origin.place"],
     "Answers": [{"AnswerType": "Entity", "AnswerArgument": "m.0bbb1", "EntityName": "Andes"},
                 {"AnswerType": "Value", "AnswerArgument": "1532", "EntityName": null}]},
    {"ParseId": "WebQTest-901.P1", "TopicEntityName": "Rímac River", "TopicEntityMid": "m.0aaa1",
     "InferentialChain": ["geography.river.origin"],
     "Answers": [{"AnswerType": "Entity", "AnswerArgument": "m.0bbb1", "EntityName": "The Andes"},
                 {"AnswerType": "Entity", "AnswerArgument": "g.12x_", "EntityName": null}]}]},
  {"QuestionId": "WebQTest-902", "ProcessedQuestion": "who is nobody",
   "Parses": [{"TopicEntityMid": null, "TopicEntityName": null, "InferentialChain": null, "Answers": []}]},
  {"QuestionId": "WebQTest-903", "RawQuestion": "and why?", "Parses": []},
  {"QuestionId": "WebQTest-904", "RawQuestion": "and how?", "Parses": [{"TopicEntityMid": "m.0c"}]}]}
"""
QUERY = """PREFIX ns: <http://rdf.freebase.com/ns/>
SELECT DISTINCT ?x
WHERE {
FILTER (?x != ns:m.0peru)
FILTER (!isLiteral(?x))
ns:m.0rimac ns:geography.river.cities ?x .
?x ns:location.capital_of ?c .
?c ns:location.contained_by ns:g.11sam .
ns:m.0rimac ns:type.object.type ?t .
FILTER (ns:m.0bad != ?x)
}"""
OTHER_QUERY = "SELECT ?x WHERE { FILTER (?x != ns:m.0peru)\nns:m.0peru ns:location.country.capital ?x }"
CWQ = f"""[
  {{"ID": "WebQTrn-1_ab12", "webqsp_ID": "WebQTrn-1", "question": "Which capital lies at the Rímac?", "compositionality_type": "conjunction",
   "answers": [{{"aliases": ["City of Kings"], "answer": "Lima", "answer_id": "m.0lima"}},
               {{"aliases": [], "answer": null, "answer_id": "m.0_x"}}, {{"aliases": [], "answer": "1535", "answer_id": "1535"}}],
   "sparql": {json.dumps(QUERY)}}},
  {{"ID": "WebQTrn-2_cd34", "answers": [], "question": "Which one is not?", "sparql": {json.dumps(OTHER_QUERY)}}}
]"""
ROG = """\
{"id": "q1", "question": "what do people of Peru speak", "q_entity": ["Peru", "m.0abc"], "answer": ["Quechua", "m.0nameless"], "a_entity": ["Quechua"], "graph": [["Peru", "speaks", "Quechua"]]}
{"id": "q2", "question": "and who?", "q_entity": [], "answer": []}
"""
ENRICHED = """{"id": "q1", "question": "what do people of Peru speak", "q_entity": ["Peru"], "answer": ["Quechua", "Aymara", "1535", "Kechwa"], \
"answer_mids": ["m.0que", ":m.0aym", "1535", "m.0que"], "ground_relation_paths": [["a.b.c", "a.b.d"], []]}"""
NSM = """{"id": "q1", "question": "what do people of Peru speak", "subgraph": {"tuples": [], "entities": []}, \
"entities": [17, "m.0peru", {"kb_id": "m.0lima", "text": "Lima"}, {"kb_id": null, "text": "Andes"}], \
"answers": [{"kb_id": "m.0que", "text": "Quechua"}, {"kb_id": "1535", "text": null}]}"""
MEDQA = """{"realidx": 7, "question": "Which drug may cause Reye syndrome?", "answer": "Aspirin", "answer_idx": "A", \
"options": {"B": "Ibuprofen", "A": "Aspirin"}, "metamap_phrases": ["drug", "Reye Syndrome", "drug"]}"""
METAQA = "[Top Gun] was written by who\tJim Cash|Jack Epps Jr.|Jim Cash\n\nwho wrote [[REC]] or [Alien]?\t\n"
PATHQUESTION = (
    " what is the child of s 's mother ?\tb(a/b/)\ts#parents#m#children#b#<end>#b\n"
    "the rating of s ?\tPG_(USA)(PG_(USA)/)\ts#film__rating#PG_(USA)\n"
    "the sex of s ?\tmale\ts#sex#male\n"
)


SAMPLES = {
    "cwq": CWQ,
    "lodestar": LODESTAR,
    "medqa": MEDQA,
    "metaqa": METAQA,
    "pathquestion": PATHQUESTION,
    "rog": ROG,
    "webqsp": WEBQSP,
}


def questions(folder: Path, text: str | bytes, name: str = "questions") -> tuple[GoldQuestion, ...]:
    return read_questions(written(folder, text, name)).questions


def fault(folder: Path, text: str, format_name: str | None = None) -> str:
    path = written(folder, text, "questions")
    return refusal(lambda: read_questions(path, format_name)).removeprefix(f"{folder}/")


@pytest.mark.parametrize("format_name", FORMATS)
def test_formats_are_told_by_looking(tmp_path: Path, format_name: str) -> None:
    content = gzip.compress(SAMPLES[format_name].encode())
    found = read_questions(written(tmp_path, content, "set.txt.gz"))
    assert (found.name, found.format) == ("set.txt", format_name)
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.questions


def test_lodestar(tmp_path: Path) -> None:
    first, second = questions(tmp_path, SAMPLES["lodestar"])
    assert first == GoldQuestion(
        "q1",
        "Which city is the capital of Peru?",
        (GoldAnswer("m.2"), GoldAnswer("m.3", ("Lima", "Ciudad")), GoldAnswer(None, ("1535",))),
        ("m.1",),
        ("Peru",),
        2,
        (GoldPath(("capital",)), GoldPath(("in", "capital"), ("m.1", "m.9", "m.2"))),
    )
    assert second == GoldQuestion("q2", "Who is nobody?", (), num_hops=3)


def test_webqsp_unites_its_parses(tmp_path: Path) -> None:
    first, *others = questions(tmp_path, SAMPLES["webqsp"])
    assert first == GoldQuestion(
        "WebQTest-901",
        "where does the river Rímac rise?",
        (GoldAnswer("m.0bbb1", ("Andes", "The Andes")), GoldAnswer(None, ("1532",)), GoldAnswer("g.12x_")),
        ("m.0aaa1",),
        ("Rímac River",),
        None,
        (GoldPath(("geography.river.origin", "geography.origin.place")), GoldPath(("geography.river.origin",))),
    )
    assert others == [
        GoldQuestion("WebQTest-902", "who is nobody", ()),
        GoldQuestion("WebQTest-903", "and why?", ()),
        GoldQuestion("WebQTest-904", "and how?", (), ("m.0c",)),
    ]


def test_cwq_takes_topics_from_the_query(tmp_path: Path) -> None:
    first, second = questions(tmp_path, SAMPLES["cwq"])
    assert first == GoldQuestion(
        "WebQTrn-1_ab12",
        "Which capital lies at the Rímac?",
        (GoldAnswer("m.0lima", ("Lima", "City of Kings")), GoldAnswer("m.0_x"), GoldAnswer(None, ("1535",))),
        ("m.0rimac", "g.11sam"),
    )
    assert (second.answers, second.topic_ids) == ((), ("m.0peru",))


def test_rog(tmp_path: Path) -> None:
    text = "what do people of Peru speak"
    expected = GoldQuestion(
        "q1", text, (GoldAnswer(None, ("Quechua",)), GoldAnswer("m.0nameless")), ("m.0abc",), ("Peru",)
    )
    assert questions(tmp_path, SAMPLES["rog"]) == (expected, GoldQuestion("q2", "and who?", ()))
    enriched = written(tmp_path, ENRICHED, "enriched")
    assert read_questions(enriched).format == "rog"
    assert read_questions(enriched).questions == (
        GoldQuestion(
            "q1",
            text,
            (
                GoldAnswer("m.0que", ("Quechua", "Kechwa")),
                GoldAnswer("m.0aym", ("Aymara",)),
                GoldAnswer(None, ("1535",)),
            ),
            (),
            ("Peru",),
            None,
            (GoldPath(("a.b.c", "a.b.d")),),
        ),
    )
    nsm = written(tmp_path, NSM, "nsm")
    assert read_questions(nsm).format == "rog"
    assert read_questions(nsm).questions == (
        GoldQuestion(
            "q1",
            text,
            (GoldAnswer("m.0que", ("Quechua",)), GoldAnswer(None, ("1535",))),
            ("m.0peru", "m.0lima"),
            ("Andes",),
        ),
    )


def test_metaqa(tmp_path: Path) -> None:
    found = questions(tmp_path, METAQA, "2-hop-test.txt")
    assert found == (
        GoldQuestion(
            "2-hop-test.txt:1",
            "Top Gun was written by who",
            (GoldAnswer("Jim Cash", ("Jim Cash",)), GoldAnswer("Jack Epps Jr.", ("Jack Epps Jr.",))),
            ("Top Gun",),
            ("Top Gun",),
            2,
        ),
        GoldQuestion("2-hop-test.txt:3", "who wrote [REC] or Alien?", (), ("[REC]", "Alien"), ("[REC]", "Alien"), 2),
    )


def test_pathquestion(tmp_path: Path) -> None:
    first, second, third = questions(tmp_path, PATHQUESTION, "pq.txt")
    assert first == GoldQuestion(
        "pq.txt:1",
        "what is the child of s 's mother ?",
        (GoldAnswer("a", ("a",)), GoldAnswer("b", ("b",))),
        ("s",),
        ("s",),
        2,
        (GoldPath(("parents", "children"), ("s", "m", "b")),),
    )
    assert second.answers == (GoldAnswer("PG_(USA)", ("PG_(USA)",)),)
    assert second.paths == (GoldPath(("film__rating",), ("s", "PG_(USA)")),)
    assert (third.answers, third.num_hops) == ((GoldAnswer("male", ("male",)),), 1)


def test_other_formats(tmp_path: Path) -> None:
    assert fault(tmp_path, SAMPLES["rog"], "cwq") == (
        "questions:1: expected a question as cwq (JSON with ID, question, answers, sparql), found an object with the "
        "fields 'id, question, q_entity, answer, a_entity, graph', which looks like rog: name rog, or no format"
    )
    assert fault(tmp_path, "hello\n").startswith("questions:1: expected a question as one of cwq, lodestar, medqa")


def test_medqa(tmp_path: Path) -> None:
    (found,) = questions(tmp_path, MEDQA)
    assert (found.id, found.options) == ("medqa-7", ("Aspirin", "Ibuprofen"))
    assert found.answers == (GoldAnswer(None, ("Aspirin",)),)
    assert found.topic_ids == ("drug", "reye syndrome", "aspirin", "ibuprofen")
    assert found.as_question(()).options == found.options
    wrong = MEDQA.replace('"answer_idx": "A"', '"answer_idx": "C"')
    assert fault(tmp_path, wrong) == (
        "questions:1: expected the letter of an option as answer_idx, found 'C': correct the question or remove it"
    )
