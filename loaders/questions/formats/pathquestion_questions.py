"""PathQuestion: a question, a tab, its answers, a tab, and the gold path that leads to one of them; ids are names.

The path is `s#r1#e1#r2#a`, in some files with `#<end>#a` after it: from the topic `s` by relations to the answer `a`.
The answers are `a(a/b/c/)`: the one that this path leads to and, in brackets, all that its relations lead to from `s`,
each ended by a slash; all are right. PathQuestion-Large asks the same question once for each of them. A name may have
brackets of its own, as in `PG_(USA)(PG_(USA)/)`.
"""

from __future__ import annotations

from ....engine.questions.gold import GoldPath, GoldQuestion
from ..answers import distinct_texts, name_answer
from ..question_line import Line

_END = "<end>"
_EXPECTED = "a question, a tab, an answer(answer/answer/), a tab and a path topic#relation#answer"
_FIELDS = 3


class PathquestionQuestions:
    """Questions of PathQuestion and PathQuestion-Large."""

    shape = "question, tab, answer(answer/answer/), tab, topic#relation#answer"

    def recognises(self, item: Line) -> bool:
        """Return whether there are two tabs, and a path of the right length after them."""
        fields = item.text.split("\t")
        return len(fields) == _FIELDS and _path(fields[2]) is not None

    def question(self, item: Line) -> GoldQuestion:
        """Return the question; `InputError` where the path does not lead to the answer."""
        fields = item.text.split("\t")
        path = _path(fields[2]) if len(fields) == _FIELDS else None
        answers = () if path is None else _answers(fields[1].strip(), path.entities[-1])
        if path is None or not answers:
            raise item.fault(_EXPECTED)
        topics = path.entities[:1]
        return GoldQuestion(
            "", fields[0], tuple(map(name_answer, answers)), topics, topics, len(path.relations), (path,)
        )


def _path(text: str) -> GoldPath | None:
    parts = text.strip().split("#")
    if len(parts) > _FIELDS and parts[-2] == _END:
        parts = parts[:-2]
    if len(parts) < _FIELDS or not len(parts) % 2 or not all(parts):
        return None
    return GoldPath(tuple(parts[1::2]), tuple(parts[::2]))


def _answers(text: str, end: str) -> tuple[str, ...]:
    """Return all right answers; none where the text is not the end of the path, or that and a list in brackets."""
    if text == end:
        return (end,)
    rest = text.removeprefix(f"{end}(")
    if rest == text or not rest.endswith(")"):
        return ()
    return distinct_texts([*rest[:-1].split("/"), end])
