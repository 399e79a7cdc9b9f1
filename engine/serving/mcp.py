"""Serve agents over the Model Context Protocol: six read-only tools, over stdio or streamable HTTP.

Every reply has its content twice: as structured output with a schema, and as lines for a language model. Items that do
not fit the token budget are left out whole, and the reply says so. No tool accepts Cypher.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import EntityNotFoundError, LodestarError, StaleCatalogueError
from ..evidence.evidence import Answer, Evidence, Item, result_data
from ..evidence.text import consecutive_triples_text, item_text, one_line
from ..values import Entity, Question
from .schemas import ResultReply
from .service import Service, keep

T = TypeVar("T")

CHARS_PER_TOKEN = 4
"""An estimate: four characters of English count as a token."""
MIN_TOKENS, DEFAULT_TOKENS, MAX_TOKENS = 200, 2_000, 20_000

Status = Literal["found", "nothing linked", "no relation fits", "not in the graph", "not understood", "not answered"]

INSTRUCTIONS = (
    "A knowledge graph in Neo4j. Call `ask` for a question in plain words; its answer rests on paths of the graph "
    "alone, with a confidence. Call `retrieve_paths` to read evidence and answer yourself. `status` tells apart: "
    "nothing linked (no entity of the question is known: try `find_entities`), no relation fits (the graph has no such "
    "kind of fact: try `list_relations`), not in the graph (it has the kind of fact, not for this entity), not "
    "understood (no path used these words: ask without them). Check what you conclude with `verify_path`."
)

QuestionText = Annotated[str, Field(min_length=1, max_length=10_000, description="A question in plain words.")]
Topics = Annotated[
    list[str] | None, Field(max_length=20, description="Ids or names of the entities it is about, where known.")
]
Budget = Annotated[
    int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="Tokens of the reply, at most; fewer whole items fit fewer.")
]
EntityText = Annotated[str, Field(min_length=1, max_length=1_000, description="An entity's id or name.")]


class PathOut(BaseModel):
    """A path: its rank, how likely it leads to a right answer, its facts in words, and where it leads."""

    rank: int
    score: float
    probability: float | None
    text: str
    ends: list[str]


class EntityOut(BaseModel):
    """An entity."""

    id: str
    name: str | None
    kind: str = ""


class LinkedOut(EntityOut):
    """An entity that a text mentions: the words, how sure that is, and how many triples it has."""

    mention: str
    score: float
    num_triples: int


class PathsOut(BaseModel):
    """Ranked paths; left_out says in words what did not fit, or what a bound cut."""

    status: Status
    topics: list[EntityOut]
    paths: list[PathOut]
    note: str
    left_out: list[str]


class AskOut(PathsOut):
    """An answer and the best paths that it rests on; left_out says in words what did not fit."""

    answer: str
    result: ResultReply
    answers: list[EntityOut]
    confidence: float | None


class EntitiesOut(BaseModel):
    """Entities that a text mentions, best first."""

    status: Status
    entities: list[LinkedOut]
    left_out: list[str]


class RelationOut(BaseModel):
    """A relation: its name, its words, how near it is by cosine, and how many triples have it."""

    relation: str
    label: str
    score: float
    count: int


class RelationsOut(BaseModel):
    """Relations nearest to a text."""

    status: Status
    relations: list[RelationOut]
    left_out: list[str]


class TripleOut(BaseModel):
    """A triple with names; ids tell apart what has the same name."""

    head: str
    head_id: str
    relation: str
    tail: str
    tail_id: str


class NeighboursOut(BaseModel):
    """A page of triples at an entity; cursor: give it for the next page, null at the end."""

    status: Status
    entity: EntityOut | None
    triples: list[TripleOut]
    total: int
    cursor: str | None
    left_out: list[str]


class TripleIn(BaseModel):
    """A triple: head and tail by id or name, the relation by its full name."""

    head: str = Field(min_length=1, max_length=1_000)
    relation: str = Field(min_length=1, max_length=1_000)
    tail: str = Field(min_length=1, max_length=1_000)


class CheckedTripleOut(BaseModel):
    """A triple by id, and whether the graph has it."""

    head: str
    relation: str
    tail: str
    in_graph: bool


class VerifyOut(BaseModel):
    """Whether the graph has every triple of a path, which, and whether they meet end to end."""

    status: Status
    in_graph: bool
    connected: bool
    triples: list[CheckedTripleOut]


class McpTools:
    """An MCP server over a service; `service` is there once it runs."""

    def __init__(self) -> None:
        self.service: Service | None = None
        self.server = MCPServer(
            "lodestar",
            title="Lodestar",
            instructions=INSTRUCTIONS,
            version=version("lodestar-kg"),
            log_level="ERROR",
        )
        for tool in (
            self.ask,
            self.retrieve_paths,
            self.find_entities,
            self.list_relations,
            self.get_neighbours,
            self.verify_path,
        ):
            name = tool.__name__
            annotations = ToolAnnotations(
                title=name.replace("_", " ").capitalize(),
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            )
            self.server.add_tool(_shorten_errors(tool), name=name, annotations=annotations)

    def http(self, hosts: Sequence[str], origins: Sequence[str]) -> ASGIApp:
        """Return the application at ``/mcp`` (streamable HTTP, no session); hosts and origins as for the server."""
        from mcp.server.transport_security import TransportSecuritySettings

        security = TransportSecuritySettings(
            allowed_hosts=[pattern for host in hosts for pattern in (host, f"{host}:*")],
            allowed_origins=[
                *origins,
                *(f"{scheme}://{host}{port}" for scheme in ("http", "https") for host in hosts for port in ("", ":*")),
            ],
        )
        app = self.server.streamable_http_app(
            streamable_http_path="/mcp", json_response=True, stateless_http=True, transport_security=security
        )
        return _MountedApp(app)

    @asynccontextmanager
    async def running(self, service: Service) -> AsyncIterator[None]:
        """Serve HTTP while the block runs."""
        self.service = service
        async with self.server.session_manager.run():
            yield

    async def run_stdio(self, service: Service) -> None:
        """Serve standard input and output until the client closes them."""
        self.service = service
        logging.getLogger("mcp").setLevel(logging.ERROR)
        try:
            await self.server.run_stdio_async()
        finally:
            await service.close(patience_s=2.0)

    @property
    def _require_service(self) -> Service:
        assert self.service is not None
        return self.service

    async def ask(
        self, question: QuestionText, topics: Topics = None, max_tokens: Budget = DEFAULT_TOKENS
    ) -> Annotated[CallToolResult, AskOut]:
        """Answer a question from the knowledge graph, with a confidence and the paths that the answer rests on."""
        answer = await self._ask(question, topics, answers=True)
        evidence = answer.evidence
        budget = _Budget(max_tokens, answer.text)
        answers = [_entity(each.id or "", each.name) for each in answer.answers]
        names = budget.fit(answers, lambda e: e.name or e.id, "answers")
        result: dict[str, Any] = {**result_data(answer), "names": [each.name for each in names[: len(answer.names)]]}
        topics_out = _make_topics(evidence)
        paths = budget.fit(_make_paths(evidence), lambda path: path.text, "paths")
        out = AskOut(
            status="not understood"
            if answer.not_understood
            else _choose_status(evidence, found=answer.found, failed=answer.failure is not None),
            answer=answer.text,
            result=ResultReply(**result),
            answers=names,
            confidence=answer.confidence,
            topics=topics_out,
            paths=paths,
            note=evidence.note,
            left_out=[*budget.left_out, *_describe_cuts(evidence)],
        )
        sure = "" if out.confidence is None else f" (confidence {out.confidence:.2f})"
        return _make_result(out, f"{out.status}: {out.answer}{sure}", *_write_path_lines(paths))

    async def retrieve_paths(
        self,
        question: QuestionText,
        topics: Topics = None,
        top_k: Annotated[int, Field(ge=1, le=100, description="Paths wanted.")] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, PathsOut]:
        """Find and rank the paths of the graph that may answer a question, without answering it."""
        answer = await self._ask(question, topics, answers=False, top_k=top_k)
        budget = _Budget(max_tokens, "")
        paths = budget.fit(_make_paths(answer.evidence), lambda path: path.text, "paths")
        out = PathsOut(
            status=_choose_status(answer.evidence, found=bool(paths)),
            topics=_make_topics(answer.evidence),
            paths=paths,
            note=answer.evidence.note,
            left_out=[*budget.left_out, *_describe_cuts(answer.evidence)],
        )
        return _make_result(out, out.status, *_write_path_lines(paths))

    async def find_entities(
        self,
        text: Annotated[str, Field(min_length=1, max_length=10_000, description="A text, or a name.")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, EntitiesOut]:
        """Find the entities of the graph that a text mentions, with their ids."""
        found = await self._require_service.entities(text)
        rows = [
            LinkedOut(
                id=each.entity.id,
                name=each.entity.name,
                kind=each.kind,
                mention=each.mention or "",
                score=round(each.score, 4),
                num_triples=each.degree,
            )
            for each in found[:limit]
        ]
        budget = _Budget(max_tokens, "")
        rows = budget.fit(rows, lambda row: f"{row.id} {row.name} {row.mention}", "entities")
        out = EntitiesOut(status="found" if rows else "nothing linked", entities=rows, left_out=budget.left_out)
        lines = [f"{row.name or '…'} ({row.kind or 'entity'}) id {row.id}, by “{row.mention}”" for row in rows]
        return _make_result(out, out.status, *lines)

    async def list_relations(
        self,
        text: Annotated[str, Field(min_length=1, max_length=10_000, description="What the relation is to say.")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, RelationsOut]:
        """List the relations of the graph that are nearest to a text: which kinds of fact there are."""
        found = await self._require_service.relations(text, limit)
        rows = [
            RelationOut(
                relation=each.value.name, label=each.value.label, score=round(each.score, 4), count=each.value.count
            )
            for each in found
        ]
        budget = _Budget(max_tokens, "")
        rows = budget.fit(rows, lambda row: f"{row.relation} {row.label}", "relations")
        out = RelationsOut(status="found" if rows else "no relation fits", relations=rows, left_out=budget.left_out)
        return _make_result(out, out.status, *(f"{row.relation}: {row.label}, {row.count:,} triples" for row in rows))

    async def get_neighbours(
        self,
        entity: EntityText,
        relation: Annotated[
            str | None, Field(max_length=1_000, description="Only this relation, by full name.")
        ] = None,
        direction: Literal["out", "in", "both"] = "both",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Field(max_length=200, description="That of the page before.")] = None,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, NeighboursOut]:
        """Read the facts about an entity, a page at a time."""
        fitting = max(1, min(limit, max_tokens * CHARS_PER_TOKEN // 160))
        try:
            page = await self._require_service.neighbours(
                entity, relation=relation, direction=direction, limit=fitting, cursor=cursor
            )
        except (EntityNotFoundError, StaleCatalogueError) as error:
            status: Status = "nothing linked" if isinstance(error, EntityNotFoundError) else "no relation fits"
            out = NeighboursOut(status=status, entity=None, triples=[], total=0, cursor=None, left_out=[])
            return _make_result(out, f"{status}: {error}")
        rows = [
            TripleOut(
                head=one_line(each.head.label),
                head_id=each.head.id,
                relation=each.relation,
                tail=one_line(each.tail.label),
                tail_id=each.tail.id,
            )
            for each in page.triples
        ]
        out = NeighboursOut(
            status="found" if page.total else "not in the graph",
            entity=_entity(page.entity.id, page.entity.name),
            triples=rows,
            total=page.total,
            cursor=page.cursor,
            left_out=[f"{page.total - len(rows):,} triples are on other pages"] if page.cursor else [],
        )
        return _make_result(
            out, f"{out.status}: {page.total:,} triples", *(consecutive_triples_text([each]) for each in page.triples)
        )

    async def verify_path(
        self, path: Annotated[list[TripleIn], Field(min_length=1, max_length=50, description="Triples in order.")]
    ) -> Annotated[CallToolResult, VerifyOut]:
        """Check whether a path is in the graph, triple by triple: call it before you state what you concluded."""
        triples, there = await self._require_service.verify([(each.head, each.relation, each.tail) for each in path])
        rows = [
            CheckedTripleOut(head=each.head.id, relation=each.relation, tail=each.tail.id, in_graph=is_there)
            for each, is_there in zip(triples, there, strict=True)
        ]
        meets = all({left.head, left.tail} & {right.head, right.tail} for left, right in pairwise(rows))
        out = VerifyOut(
            status="found" if all(there) else "not in the graph", in_graph=all(there), connected=meets, triples=rows
        )
        lines = [
            f"{'in the graph' if is_there else 'NOT in the graph'}: {consecutive_triples_text([each])}"
            for each, is_there in zip(triples, there, strict=True)
        ]
        return _make_result(out, out.status if meets else f"{out.status}; the triples do not meet end to end", *lines)

    async def _ask(
        self, question: str, topics: Sequence[str] | None, *, answers: bool, top_k: int | None = None
    ) -> Answer:
        variant = self._require_service.variant(None, {} if top_k is None else {"top_k": top_k})
        asked = Question(question, tuple(topics or ()))
        (answer,) = await self._require_service.ask([asked], variant, keep, answers=answers, client="mcp")
        return answer


class _Budget:
    """The tokens that are left; whole items are taken while they fit, and the first always."""

    def __init__(self, max_tokens: int, spent: str) -> None:
        self._chars = max_tokens * CHARS_PER_TOKEN - len(spent) - 100
        self.left_out: list[str] = []

    def fit(self, items: Sequence[T], text: Callable[[T], str | None], what: str) -> list[T]:
        """Return the first items that fit, in words and as data, and note how many do not."""
        taken: list[T] = []
        for item in items:
            cost = 2 * len(text(item) or "") + 80
            if taken and cost > self._chars:
                break
            taken.append(item)
            self._chars -= cost
        if more := len(items) - len(taken):
            self.left_out.append(f"{more:,} more {what} did not fit: raise max_tokens")
        return taken


class _MountedApp:
    """An ASGI application behind a route of another one; a class, so that Starlette calls it as an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "root_path": ""}, receive, send)


def _shorten_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return the tool with Lodestar's errors as one line for the client."""

    @functools.wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return await tool(*args, **kwargs)
        except LodestarError as error:
            raise ToolError(str(error)) from error

    return call


def _make_result(out: BaseModel, *lines: str) -> CallToolResult:
    left = getattr(out, "left_out", [])
    text = "\n".join((*lines, *(f"({each})" for each in left)))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=out.model_dump(mode="json"))


def _choose_status(evidence: Evidence[Item], *, found: bool, failed: bool = False) -> Status:
    if failed or found:
        return "not answered" if failed else "found"
    reason = evidence.reason or ("no relation fits" if evidence.topics else "nothing linked")
    return "not in the graph" if reason == "no triple" else reason


def _entity(id_: str, name: str | None, kind: str = "") -> EntityOut:
    return EntityOut(id=id_, name=name, kind=kind)


def _make_topics(evidence: Evidence[Item]) -> list[EntityOut]:
    return [_entity(topic.entity.id, topic.entity.name, topic.kind) for topic in evidence.topics[:5]]


def _make_paths(evidence: Evidence[Item]) -> list[PathOut]:
    found = []
    for index, scored in enumerate(evidence.items):
        ends: Sequence[Entity] = getattr(scored.value, "answers", ())
        probability = evidence.probability(index)
        found.append(
            PathOut(
                rank=index + 1,
                score=round(scored.score, 4),
                probability=None if probability is None else round(probability, 4),
                text=item_text(scored.value, max_names=8),
                ends=[one_line(end.label) for end in ends[:8]],
            )
        )
    return found


def _write_path_lines(paths: Sequence[PathOut]) -> list[str]:
    return [f"{path.rank}. {path.text}" for path in paths]


def _describe_cuts(evidence: Evidence[Item]) -> list[str]:
    cut = [f"a bound cut {each}" for each in evidence.cut_paths]
    return [one_line(each) for each in (*cut[:5], *evidence.left_out[:5])]
