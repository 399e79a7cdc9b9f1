"""WebQSP as published: an object whose `Questions` have several parses each, over Freebase.

The answers are the union over the parses: entities by id and name, values by their text alone. A question whose parses
have no answers, or that has no parses, has none: the right thing to do is to abstain. Each parse's inferential chain is
a gold path, walked from its topic entity; mediators are steps of their own, so it says nothing about hops.
"""

from __future__ import annotations

from ....engine.questions.gold import GoldPath, GoldQuestion
from ..answers import distinct_texts, freebase_answers
from ..question_record import QuestionFields


class WebqspQuestions:
    """Questions of WebQSP."""

    shape = "JSON with QuestionId, RawQuestion, Parses"

    def recognises(self, item: QuestionFields) -> bool:
        """Return whether it has parses."""
        return item.has("Parses")

    def question(self, item: QuestionFields) -> GoldQuestion:
        """Return the question as it was asked (`RawQuestion`), else as it was processed."""
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
