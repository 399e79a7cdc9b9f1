"""Define the schemas of requests, and of the replies that are not evidence or answers (`engine.evidence.data`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator
from typing_extensions import TypedDict

from ..evidence.data import EntityData, TopicData, TripleData
from ..values import Question

MAX_TRIPLES = 50
MAX_OFFSET = 10_000
"""Neighbours of one relation that are shown; beyond them the page says that it was cut."""
DEADLINE_S, MAX_DEADLINE_S = 30.0, 120.0
Text = Annotated[str, Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Limit = Annotated[int, Field(ge=1, le=100)]
Direction = Literal["out", "in", "both"]


class Form(BaseModel):
    """A request; the first unknown field refuses it, for an error a field would take seconds of the event loop."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        names = given if isinstance(given, dict) else ()
        unknown = next((name for name in names if name not in cls.model_fields), None)
        if unknown is not None:
            raise ValueError(f"unknown field {str(unknown)[:80]!r}")
        return given


class AskOptions(Form):
    """The options of a recipe that a request may change; none of them names a file, a model or an address."""

    top_k: StrictInt | None = Field(default=None, ge=1, le=100)
    max_hop: StrictInt | None = Field(default=None, ge=1, le=4)
    beam_width: StrictInt | None = Field(default=None, ge=1, le=50)
    forms: StrictBool | None = None
    return_to_topic: StrictBool | None = None


class AskForm(Form):
    """A question; `topics` are ids or names of its topic entities, if you know them.

    options: of the recipe. trace: add what each stage took and left.
    """

    question: Text = Field(examples=["What is the capital of Peru?"])
    topics: list[Name] = Field(default=[], max_length=20)
    id: str = Field(default="", max_length=200)
    recipe: str | None = Field(default=None, max_length=200, description="One that is served: see /v1/models.")
    options: AskOptions = Field(default=AskOptions(), examples=[{"top_k": 5}])
    timeout_s: float = Field(default=DEADLINE_S, gt=0, le=MAX_DEADLINE_S, description="The deadline of this request.")
    trace: bool = False

    def as_question(self) -> Question:
        """Return the question."""
        return Question(self.question, tuple(self.topics), self.id)

    def changes(self) -> dict[str, int | bool]:
        """Return the options that are given."""
        return self.options.model_dump(exclude_none=True)


class SearchForm(Form):
    """A text to find entities in, or the nearest relations of."""

    text: Text = Field(examples=["the capital of Peru"])
    limit: Limit = 10


class NeighboursForm(Form):
    """A page of the triples of an entity, by id or name; `offset` is the `next` of the page before."""

    entity: Name
    relation: Name | None = None
    direction: Direction = "both"
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=10**9)


class TripleForm(Form):
    """A triple: head and tail by id or name, the relation by name."""

    head: Name
    relation: Name
    tail: Name


class VerifyForm(Form):
    """The triples of a path."""

    path: list[TripleForm] = Field(min_length=1, max_length=MAX_TRIPLES, fail_fast=True)


class ChatPart(BaseModel):
    """A part of a message; only text is read."""

    type: str = Field(max_length=40)
    text: str = ""


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: str = Field(max_length=40)
    content: str | Annotated[list[ChatPart], Field(max_length=100, fail_fast=True)] | None = None


class ChatForm(BaseModel):
    """A chat completion in OpenAI's format: the user's last message is the question; unknown fields are ignored."""

    model: str = Field(default="lodestar", max_length=200)
    messages: list[ChatMessage] = Field(min_length=1, max_length=200, fail_fast=True)
    stream: bool = False
    stream_options: dict[str, Any] | None = None


class EntitiesData(TypedDict):
    """Entities that a text mentions, best first."""

    entities: list[TopicData]


class RelationData(TypedDict):
    """A relation: its name, its words, how near it is by cosine, how many triples have it, the types of its ends."""

    relation: str
    label: str
    score: float | None
    count: int
    domain: str | None
    range: str | None


class RelationsData(TypedDict):
    """Relations nearest to a text."""

    relations: list[RelationData]


class NeighboursData(TypedDict):
    """A page of triples at an entity; total: of all pages. next: the offset of the next page, null at the end.

    cut: neighbours of some relation beyond the first 10,000 are on no page.
    """

    entity: EntityData
    triples: list[TripleData]
    total: int
    next: int | None
    cut: bool


class CheckedTripleData(TripleData):
    """A triple, and whether the graph has it; what the graph does not know has its id as its name."""

    in_graph: bool


class VerifyData(TypedDict):
    """Whether the graph has every triple of a path, which, and whether they meet end to end."""

    in_graph: bool
    connected: bool
    triples: list[CheckedTripleData]
