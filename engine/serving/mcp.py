"""Serve agents over the Model Context Protocol: six read-only tools, over stdio or streamable HTTP.

Every reply is the data that HTTP and ``--json`` have; answers and paths are also lines for a language model. No tool
accepts Cypher.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError
from starlette.routing import BaseRoute

from ...models import one_line
from ..data_model import Question
from ..errors import LodestarError
from ..evidence import Answer
from ..evidence.json_data import AnswerData, EvidenceData
from ..neo4j.graph_requests import Direction
from . import Service, lookups
from .lookups import Limit, Name, Text, TripleForm

INSTRUCTIONS = (
    "A knowledge graph in Neo4j. Call `ask` for a question in plain words; its answer rests on paths of the graph "
    "alone, with a confidence. Call `retrieve_paths` to read evidence and answer yourself. Where there is no answer, "
    "`reason` and `answer` say why: where nothing is linked try `find_entities`, where no relation fits try "
    "`list_relations`. Check what you conclude with `verify_path`."
)

QuestionText = Annotated[Text, Field(description="A question in plain words.")]
Topics = Annotated[
    list[str] | None, Field(max_length=20, description="Ids or names of the entities it is about, where known.")
]
TopK = Annotated[int, Field(ge=1, le=100, description="Paths wanted.")]


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
    """An MCP server over a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.server = _Server(
            "lodestar", title="Lodestar", instructions=INSTRUCTIONS, version=version("lodestar-kg"), log_level="ERROR"
        )
        tools = (self.ask, self.retrieve_paths, self.find_entities, self.list_relations)
        for tool in (*tools, self.get_neighbours, self.verify_path):
            annotations = ToolAnnotations(read_only_hint=True, open_world_hint=False)
            self.server.add_tool(tool, name=tool.__name__, annotations=annotations)

    def routes(self) -> list[BaseRoute]:
        """Return the route ``/mcp`` (streamable HTTP, no session), for a server that checks hosts itself."""
        app = self.server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return app.routes

    async def run_stdio(self) -> None:
        """Serve standard input and output until the client closes them."""
        logging.getLogger("mcp").setLevel(logging.ERROR)
        try:
            await self.server.run_stdio_async()
        finally:
            await self.service.close(patience_s=2.0)

    async def ask(
        self, question: QuestionText, topics: Topics = None, top_k: TopK = 5
    ) -> Annotated[CallToolResult, AnswerData]:
        """Answer a question from the knowledge graph, with a confidence and the paths that the answer rests on."""
        data = (await self._ask(question, topics, top_k=top_k)).to_dict()
        sure = "" if data["confidence"] is None else f" (confidence {data['confidence']:.2f})"
        return _make_result(data, f"{data['reason'] or 'found'}: {data['answer']}{sure}")

    async def retrieve_paths(
        self, question: QuestionText, topics: Topics = None, top_k: TopK = 10
    ) -> Annotated[CallToolResult, EvidenceData]:
        """Find and rank the paths of the graph that may answer a question, without answering it."""
        data = (await self._ask(question, topics, answers=False, top_k=top_k)).evidence.to_dict()
        return _make_result(data, data["reason"] or "found")

    async def find_entities(self, text: Text, limit: Limit = 10) -> lookups.LinkedEntitiesData:
        """Find the entities of the graph that a text mentions, with their ids."""
        return await self.service.look_up(lookups.find_topics, text, limit)

    async def list_relations(self, text: Text, limit: Limit = 10) -> lookups.RelationsData:
        """List the relations of the graph that are nearest to a text: which kinds of fact there are."""
        return await self.service.look_up(lookups.find_relations, text, limit)

    async def get_neighbours(
        self,
        entity: Annotated[Name, Field(description="An entity's id or name.")],
        relation: Annotated[Name | None, Field(description="Only this relation, by full name.")] = None,
        direction: Direction = "both",
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
        offset: Annotated[int, Field(ge=0, le=10**9, description="The `next` of the page before.")] = 0,
    ) -> lookups.NeighboursData:
        """Read the facts about an entity, a page at a time."""
        return await self.service.look_up(lookups.read_neighbours, entity, relation, direction, limit, offset)

    async def verify_path(
        self, path: Annotated[list[TripleForm], Field(min_length=1, max_length=lookups.MAX_TRIPLES)]
    ) -> lookups.VerifyData:
        """Check whether a path is in the graph, triple by triple: call it before you state what you concluded."""
        return await self.service.look_up(lookups.check_path, path)

    async def _ask(
        self, question: str, topics: Sequence[str] | None, *, answers: bool = True, **options: int
    ) -> Answer:
        asked = Question(question, tuple(topics or ()))
        return await self.service.ask(asked, lambda answer: answer, options, answers=answers)


def _make_result(data: Any, first: str) -> CallToolResult:
    """Return the data and its twin as text: a first line, then the paths. Their triples are left out: the paths say
    them."""
    items = [{name: value for name, value in item.items() if name != "triples"} for item in data["items"]]
    lines = [first, *(f"{item['rank']}. {item['text']}" for item in items), *(f"({each})" for each in data["left_out"])]
    return CallToolResult(
        content=[TextContent(type="text", text="\n".join(lines))], structured_content={**data, "items": items}
    )
