"""ComplexWebQuestions as published: an array of questions with the SPARQL query that answers each, over Freebase.

Topic entities are not given: they are the ids that stand in the query, in its order, but for those that it only says
the answer must not be. A name of an answer may be null; its aliases are names too.
"""

from __future__ import annotations

import re

from ....engine.questions.gold import GoldQuestion
from ...formats.freebase.ids import FREEBASE_ID
from ..answers import distinct_texts, freebase_answers
from ..question_record import QuestionFields

_ENTITY = rf"\bns:({FREEBASE_ID})"
_TOPIC = re.compile(_ENTITY)
_EXCLUDED = re.compile(rf"!=\s*{_ENTITY}|{_ENTITY}\s*!=")


class CwqQuestions:
    """Questions of ComplexWebQuestions."""

    shape = "JSON with ID, question, answers, sparql"

    def recognises(self, item: QuestionFields) -> bool:
        """Return whether it has an `ID` in capitals and a question."""
        return item.has("ID", "question")

    def question(self, item: QuestionFields) -> GoldQuestion:
        """Return the question; `InputError` without a list of answers, as where they are held back."""
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
