"""The graph's names for right answers that a question set gives by id alone: published rules compare names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..database.gateway import Gateway
from ..database.requests import Request
from ..database.templates import template
from .gold import GoldAnswer, GoldQuestion

IDS_A_REQUEST = 10_000


def with_names(questions: Sequence[GoldQuestion], gateway: Gateway) -> tuple[GoldQuestion, ...]:
    """Return the questions, their nameless answers named where the graph has a name for them."""
    wanted = list(dict.fromkeys(a.id for question in questions for a in question.answers if a.id and not a.names))
    names: dict[str, str] = {}
    for at in range(0, len(wanted), IDS_A_REQUEST):
        found = gateway.fetch(_first_names(wanted[at : at + IDS_A_REQUEST]))
        names.update(found)

    def named(answer: GoldAnswer) -> GoldAnswer:
        return replace(answer, names=(names[answer.id],)) if not answer.names and answer.id in names else answer

    return tuple(replace(question, answers=tuple(map(named, question.answers))) for question in questions)


def _first_names(ids: Sequence[str]) -> Request[dict[str, str]]:
    return Request(
        template("read_names"),
        {"ids": list(ids)},
        lambda rows: {id_: name for id_, name, _, _ in rows if name is not None},
    )
