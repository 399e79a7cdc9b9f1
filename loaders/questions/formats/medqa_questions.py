"""MedQA as published: a question, four options by letter, and the right one; over a graph made of text.

Its topics are the phrases that MetaMap found in the question, and the options, by the ids that `load text` gives such
concepts; those that the graph does not have count for nothing.
"""

from __future__ import annotations

from ....engine.questions.gold import GoldAnswer, GoldQuestion
from ...formats.text.concepts import concept_id
from ..answers import distinct_texts
from ..question_record import QuestionFields


class MedqaQuestions:
    """Questions of MedQA."""

    shape = "JSON with question, options, answer_idx"

    def recognises(self, item: QuestionFields) -> bool:
        """Return whether it has options and the letter of one."""
        return item.has("question", "options", "answer_idx")

    def question(self, item: QuestionFields) -> GoldQuestion:
        """Return the question; `InputError` where the letter is of no option."""
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
