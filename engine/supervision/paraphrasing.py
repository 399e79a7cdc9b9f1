"""Rephrase generated questions with a language model, and keep a paraphrase only if it contains all names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..answering.llm import fill_placeholders
from ..errors import LLMError
from ..evidence.text import one_line
from ..gold_questions import GoldQuestion
from ..llm.gateway import ChatGateway
from ..llm.prompts import Completed, Prompt
from ..progress import Progress, ignore_progress
from ..settings import Settings

A_PROMPT = 10
"""Questions per prompt."""
AT_ONCE = 8
"""Prompts between two updates of the progress bar."""
MAX_CHARS = 300
REPLIES = "paraphrases.sqlite"
"""Cache of replies in the home folder, if the settings name no other."""

REWORDED = "reworded"
SAME = "worded as before"
LOST = "without a name"
UNREADABLE = "in no reply that could be read"
NOT_ASKED = "not asked or not answered"


def paraphrase_questions(
    questions: Sequence[GoldQuestion],
    settings: Settings,
    *,
    progress: Progress = ignore_progress,
    say: Callable[[str], None] = lambda _line: None,
) -> list[GoldQuestion]:
    """Return the questions rephrased; a question stays unchanged if its paraphrase is unusable or missing.

    Replies are cached, so that the same questions are paid for once; the budget is that of the settings
    (`llm_max_calls`, `llm_max_tokens`). say: receives how many were rephrased, and why the others were not. Raises
    `LLMError` if no model is configured, or no prompt was answered.
    """
    template = Path(__file__).with_name("paraphrase-prompt.txt").read_text(encoding="utf-8")
    cache = settings.llm_cache or str(settings.home_dir / REPLIES)
    chat = ChatGateway.of(replace(settings, llm_cache=cache))
    parts = [questions[start : start + A_PROMPT] for start in range(0, len(questions), A_PROMPT)]
    counts: Counter[str] = Counter()
    failure: LLMError | None = None
    found: list[GoldQuestion] = []
    try:
        progress("rewording", 0, len(questions))
        for start in range(0, len(parts), AT_ONCE):
            batch = parts[start : start + AT_ONCE]
            completed = chat.complete([_prompt(template, part) for part in batch])
            for part, outcome in zip(batch, completed, strict=True):
                failure = outcome if isinstance(outcome, LLMError) else failure
                found += _reword_questions(part, outcome, counts)
            progress("rewording", len(found), len(questions))
    finally:
        chat.close()
    if failure is not None and counts[NOT_ASKED] == len(questions):
        raise failure
    others = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items() if outcome != REWORDED)
    spent = f"{chat.usage.calls:,} calls, {chat.usage.cached:,} from the cache"
    stay = f"; the others stay: {others}" if others else ""
    why = f" ({failure})" if failure else ""
    say(f"{counts[REWORDED]:,} of {len(questions):,} questions reworded by {chat.endpoint.model} ({spent}){stay}{why}")
    return found


def _prompt(template: str, questions: Sequence[GoldQuestion]) -> Prompt:
    lines = [
        f"{number}. {one_line(question.text)} {json.dumps(list(question.topic_names), ensure_ascii=False)}"
        for number, question in enumerate(questions, start=1)
    ]
    return Prompt(
        fill_placeholders(template, question="", evidence="\n".join(lines)),
        json=True,
        is_read=lambda content: _texts(content, len(questions)) is not None,
    )


def _reword_questions(questions: Sequence[GoldQuestion], reply: Completed, counts: Counter[str]) -> list[GoldQuestion]:
    if isinstance(reply, LLMError):
        counts[NOT_ASKED] += len(questions)
        return list(questions)
    texts = _texts(reply.content, len(questions)) if reply.refusal is None else None
    found = []
    for place, question in enumerate(questions):
        outcome, text = (UNREADABLE, "") if texts is None else check_paraphrase(question, texts[place])
        counts[outcome] += 1
        found.append(replace(question, text=text) if outcome == REWORDED else question)
    return found


def check_paraphrase(question: GoldQuestion, text: object) -> tuple[str, str]:
    """Return the outcome of a paraphrase, and its text on one line; it must contain every name."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_CHARS:
        return UNREADABLE, ""
    line = " ".join(text.split())
    if any(name.lower() not in line.lower() for name in question.topic_names):
        return LOST, ""
    return (SAME, "") if line.lower() == question.text.lower() else (REWORDED, line)


def _texts(content: str, num_questions: int) -> list[object] | None:
    try:
        data = json.loads(content[content.index("{") : content.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    texts = data.get("questions") if isinstance(data, Mapping) else None
    return texts if isinstance(texts, list) and len(texts) == num_questions else None
