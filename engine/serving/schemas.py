"""Define the schemas of requests and replies, for validation and for OpenAPI."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from ..evidence.evidence import AnswerKind
from .service import DEADLINE_S, MAX_DEADLINE_S

MAX_QUESTIONS = 64
MAX_CHARS = 10_000
Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]


class RequestModel(BaseModel):
    """A request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class QuestionForm(RequestModel):
    """A question; `topics` are ids or names of its topic entities, if you know them."""

    question: Text = Field(examples=["What is the capital of Peru?"])
    topics: list[Id] = Field(default=[], max_length=20)
    id: str = Field(default="", max_length=200)


class RecipeChoice(RequestModel):
    """The recipe and its options. options: top_k (1–100), max_hop (1–4), beam_width (1–50), forms, return_to_topic."""

    recipe: str | None = Field(default=None, max_length=200, description="One that is served: see /v1/models.")
    options: dict[str, StrictBool | StrictInt] = Field(default={}, max_length=10, examples=[{"top_k": 5}])
    timeout_s: float = Field(default=DEADLINE_S, gt=0, le=MAX_DEADLINE_S, description="The deadline of this request.")


class AskForm(RecipeChoice):
    """One question, or a list."""

    question: Text | None = Field(default=None, examples=["What is the capital of Peru?"])
    topics: list[Id] = Field(default=[], max_length=20)
    questions: list[Text | QuestionForm] | None = Field(default=None, min_length=1, max_length=MAX_QUESTIONS)
    drawing: bool = Field(default=False, description="Add where a page draws the entities and relations.")

    @model_validator(mode="after")
    def _one_of_them(self) -> AskForm:
        if (self.question is None) == (self.questions is None):
            raise ValueError("expected either question or questions")
        if self.questions is not None and self.topics:
            raise ValueError("topics go with one question: give each of questions its own")
        return self


class StreamForm(RecipeChoice):
    """One question whose answer is streamed."""

    question: Text
    topics: list[Id] = Field(default=[], max_length=20)
    drawing: bool = False


class EntitiesForm(RequestModel):
    """A text to find entities in."""

    text: Text = Field(examples=["the capital of Peru"])
    limit: int = Field(default=10, ge=1, le=100)


class RelationsForm(RequestModel):
    """A text to find the nearest relations of."""

    text: Text = Field(examples=["which currency is used"])
    limit: int = Field(default=10, ge=1, le=100)


class NeighboursForm(RequestModel):
    """A page of the triples of an entity, by id or name."""

    entity: Id
    relation: Id | None = None
    direction: Literal["out", "in", "both"] = "both"
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = Field(default=None, max_length=200, description="That of the page before.")


class TripleForm(RequestModel):
    """A triple: head and tail by id or name, the relation by name."""

    head: Id
    relation: Id
    tail: Id


class VerifyForm(RequestModel):
    """The triples of a path."""

    path: list[TripleForm] = Field(min_length=1, max_length=50)


class ChatMessage(BaseModel):
    """A message of a conversation; of its parts, only text is read."""

    role: str = Field(max_length=40)
    content: str | list[dict[str, Any]] | None = None


class ChatForm(BaseModel):
    """A chat completion in OpenAI's format: the user's last message is the question; unknown fields are ignored."""

    model: str = Field(default="lodestar", max_length=200)
    messages: list[ChatMessage] = Field(min_length=1, max_length=200)
    stream: bool = False
    stream_options: dict[str, Any] | None = None


class EvidenceReply(BaseModel):
    """Evidence of format 1, as docs/how-it-works.md describes it."""

    model_config = ConfigDict(extra="allow")
    format: int
    question: str
    topics: list[dict[str, Any]]
    kind: Literal["chain", "triple"]
    items: list[dict[str, Any]]
    cuts: list[str]
    note: str


class ResultReply(BaseModel):
    """What an answer is: names of entities, a number, or whether it is so."""

    kind: AnswerKind
    names: list[str]
    number: int | None
    yes: bool | None


class AnswerReply(EvidenceReply):
    """An answer with its evidence."""

    answer: str
    result: ResultReply
    found: bool
    confidence: float | None
    answers: list[dict[str, Any]]


class ErrorDetail(BaseModel):
    """What was expected, what was found, what to do, in one line."""

    message: str
    type: str
    param: str | None = None
    code: int


class ErrorReply(BaseModel):
    """An error, in OpenAI's format."""

    error: ErrorDetail


def make_error_body(status: int, message: str) -> bytes:
    """Return an error body in OpenAI's format, as every endpoint does."""
    kind = "invalid_request_error" if status < 500 and status != 429 else "server_error"
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, kind)
    error = {"message": message, "type": kind, "param": None, "code": status}
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")
