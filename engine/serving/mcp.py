"""Serve agents over the Model Context Protocol: six read-only tools, over stdio or streamable HTTP.

Every reply has its content twice: as the data that HTTP and ``--json`` have, and as lines for a language model. Items
that do not fit the token budget are left out whole, and the reply says so. No tool accepts Cypher.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from ...models import one_line
from ..errors import LodestarError
from ..evidence import Answer
from ..evidence.data import AnswerData, EvidenceData, TripleData
from ..evidence.text import consecutive_triples_text
from ..values import Entity, Question, Triple
from . import Service
from .lookups import (
    MAX_TRIPLES,
    Direction,
    EntitiesData,
    Limit,
    Name,
    NeighboursData,
    RelationsData,
    Text,
    TripleForm,
    VerifyData,
    check_path,
    find_relations,
    find_topics,
    read_page,
)

CHARS_PER_TOKEN = 4
"""An estimate: four characters of English count as a token."""
MIN_TOKENS, DEFAULT_TOKENS, MAX_TOKENS = 200, 2_000, 20_000
TRIPLE_CHARS = 160
MAX_TOPICS = 5

INSTRUCTIONS = (
    "A knowledge graph in Neo4j. Call `ask` for a question in plain words; its answer rests on paths of the graph "
    "alone, with a confidence. Call `retrieve_paths` to read evidence and answer yourself. Where there is no answer, "
    "`reason` says why: nothing linked (no entity of the question is known: try `find_entities`), no relation fits "
    "(no such kind of fact: try `list_relations`), no triple (it has the kind of fact, not for this entity), "
    "not understood (no path used these words: ask without them), failed (the language model failed: try "
    "`retrieve_paths`). Check what you conclude with `verify_path`."
)

QuestionText = Annotated[Text, Field(description="A question in plain words.")]
Topics = Annotated[
    list[str] | None, Field(max_length=20, description="Ids or names of the entities it is about, where known.")
]
Budget = Annotated[
    int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="Tokens of the reply, at most; fewer whole items fit fewer.")
]


class _Server(MCPServer):
    """Says what is wrong with a call in one line."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; raise `ToolError` with the first fault of its arguments, or Lodestar's own message."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                fault = error.__cause__.errors()[0]
                raise ToolError(f"{'.'.join(map(str, fault['loc']))}: {one_line(fault['msg'], 300)}") from error
            if isinstance(error.__cause__, LodestarError):
                raise ToolError(str(error.__cause__)) from error
            raise


class McpTools:
    """An MCP server over a service; `service` is there once it runs."""

    def __init__(self) -> None:
        self.service: Service
        self.server = _Server(
            "lodestar", title="Lodestar", instructions=INSTRUCTIONS, version=version("lodestar-kg"), log_level="ERROR"
        )
        for tool in (
            self.ask,
            self.retrieve_paths,
            self.find_entities,
            self.list_relations,
            self.get_neighbours,
            self.verify_path,
        ):
            annotations = ToolAnnotations(
                title=tool.__name__.replace("_", " ").capitalize(),
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            )
            self.server.add_tool(tool, name=tool.__name__, annotations=annotations)

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

    async def ask(
        self, question: QuestionText, topics: Topics = None, max_tokens: Budget = DEFAULT_TOKENS
    ) -> Annotated[CallToolResult, AnswerData]:
        """Answer a question from the knowledge graph, with a confidence and the paths that the answer rests on."""
        data = (await self._ask(question, topics)).to_dict()
        sure = "" if data["confidence"] is None else f" (confidence {data['confidence']:.2f})"
        first = f"{data['reason'] or 'found'}: {data['answer']}{sure}"
        return _make_result(data, first, max_tokens, answers=lambda _: "", items=_path_line)

    async def retrieve_paths(
        self,
        question: QuestionText,
        topics: Topics = None,
        top_k: Annotated[int, Field(ge=1, le=100, description="Paths wanted.")] = 10,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, EvidenceData]:
        """Find and rank the paths of the graph that may answer a question, without answering it."""
        data = (await self._ask(question, topics, answers=False, top_k=top_k)).evidence.to_dict()
        return _make_result(data, data["reason"] or "found", max_tokens, items=_path_line)

    async def find_entities(
        self, text: Text, limit: Limit = 10, max_tokens: Budget = DEFAULT_TOKENS
    ) -> Annotated[CallToolResult, EntitiesData]:
        """Find the entities of the graph that a text mentions, with their ids."""
        data = await self.service.look(partial(find_topics, text=text, limit=limit))
        return _make_result(data, f"{len(data['entities'])} entities", max_tokens, entities=_entity_line)

    async def list_relations(
        self, text: Text, limit: Limit = 10, max_tokens: Budget = DEFAULT_TOKENS
    ) -> Annotated[CallToolResult, RelationsData]:
        """List the relations of the graph that are nearest to a text: which kinds of fact there are."""
        data = await self.service.look(partial(find_relations, text=text, limit=limit))
        return _make_result(data, f"{len(data['relations'])} relations", max_tokens, relations=_relation_line)

    async def get_neighbours(
        self,
        entity: Annotated[Name, Field(description="An entity's id or name.")],
        relation: Annotated[Name | None, Field(description="Only this relation, by full name.")] = None,
        direction: Direction = "both",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        offset: Annotated[int, Field(ge=0, le=10**9, description="The `next` of the page before.")] = 0,
        max_tokens: Budget = DEFAULT_TOKENS,
    ) -> Annotated[CallToolResult, NeighboursData]:
        """Read the facts about an entity, a page at a time."""
        fitting = max(1, min(limit, max_tokens * CHARS_PER_TOKEN // TRIPLE_CHARS))
        asked = partial(read_page, entity=entity, relation=relation, direction=direction, limit=fitting, offset=offset)
        data = await self.service.look(asked)
        return _make_result(data, f"{data['total']:,} triples", MAX_TOKENS, triples=_triple_line)

    async def verify_path(
        self, path: Annotated[list[TripleForm], Field(min_length=1, max_length=MAX_TRIPLES)]
    ) -> Annotated[CallToolResult, VerifyData]:
        """Check whether a path is in the graph, triple by triple: call it before you state what you concluded."""
        data = await self.service.look(partial(check_path, path=path))
        first = ("" if data["in_graph"] else "not ") + "all in the graph"
        if not data["connected"]:
            first += "; the triples do not meet end to end"
        return _make_result(
            data,
            first,
            MAX_TOKENS,
            triples=lambda row: f"{'in the graph' if row['in_graph'] else 'NOT in the graph'}: {_triple_line(row)}",
        )

    async def _ask(
        self, question: str, topics: Sequence[str] | None, *, answers: bool = True, **options: int
    ) -> Answer:
        variant = self.service.variant(options=options, answers=answers)
        return await self.service.ask(Question(question, tuple(topics or ())), variant, lambda answer: answer)


class _MountedApp:
    """An ASGI application behind a route of another one; a class, so that Starlette calls it as an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "root_path": ""}, receive, send)


def _make_result(data: Any, first: str, max_tokens: int, **lines: Callable[[Any], str]) -> CallToolResult:
    """Return the data and its twin as text: a first line, and the line of each row of the lists that are named.

    Rows are kept whole while they fit, and the first always. Triples of paths are left out, for the paths say them.
    """
    data = {**data, "topics": data["topics"][:MAX_TOPICS]} if "topics" in data else dict(data)
    if "items" in data:
        data["items"] = [{k: v for k, v in item.items() if k != "triples"} for item in data["items"]]
    text, left_out = [first], list(data.get("left_out", []))
    room = max_tokens * CHARS_PER_TOKEN - len(first) - 100
    for name, line in lines.items():
        kept: list[Any] = []
        for row in data[name]:
            said = line(row)
            cost = len(said) + len(json.dumps(row))
            if kept and cost > room:
                left_out.insert(0, f"{len(data[name]) - len(kept):,} more {name} did not fit: raise max_tokens")
                break
            room -= cost
            kept.append(row)
            text += [said] if said else []
        data[name] = kept
    if left_out:
        data["left_out"] = left_out
    text += [f"({each})" for each in left_out]
    return CallToolResult(content=[TextContent(type="text", text="\n".join(text))], structured_content=data)


def _path_line(item: Any) -> str:
    return f"{item['rank']}. {item['text']}"


def _entity_line(row: Any) -> str:
    return f"{row['name'] or '…'} ({row['kind'] or 'entity'}) id {row['id']}, by “{row['mention']}”"


def _relation_line(row: Any) -> str:
    return f"{row['relation']}: {row['label']}, {row['count']:,} triples"


def _triple_line(row: TripleData) -> str:
    head, tail = (Entity(end["id"], end["name"], end["id"].startswith('"')) for end in (row["head"], row["tail"]))
    return consecutive_triples_text([Triple(head, row["label"], tail)], {row["label"]: row["label"]})
