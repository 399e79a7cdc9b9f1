"""MetaQA: a question with its topic in [brackets], a tab, answers parted by bars; ids are names.

The brackets are no part of what is asked. The number of hops is said by the name of the file (`2-hop-test.txt`) or of
a folder it lies in (`2-hop/vanilla/qa_test.txt`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ....engine.questions.gold import GoldQuestion
from ..answers import distinct_texts, name_answer
from ..question_line import Line

_EXPECTED = "a question with its topic in [brackets], a tab and answers parted by bars"
_BRACKET = re.compile(r"[\[\]]")
_HOPS = re.compile(r"(?<!\d)(\d{1,2})-hop(?![a-z])")


class MetaqaQuestions:
    """Questions of MetaQA."""

    shape = "question with its [topic], tab, answer|answer"

    def recognises(self, item: Line) -> bool:
        """Return whether there is one tab and a topic before it."""
        asked, tab, answers = item.text.partition("\t")
        return bool(tab) and "\t" not in answers and _taken_out(asked) is not None

    def question(self, item: Line) -> GoldQuestion:
        """Return the question; one with nothing after the tab has no answers."""
        asked, tab, answers = item.text.partition("\t")
        found = _taken_out(asked)
        if not tab or "\t" in answers or found is None:
            raise item.fault(_EXPECTED)
        text, topics = found
        return GoldQuestion(
            "",
            text,
            tuple(map(name_answer, distinct_texts(answers.split("|")))),
            topics,
            topics,
            _num_hops(item.path),
        )


def _taken_out(asked: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the question without the outer brackets and what was in them; None where they do not match or are none."""
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
