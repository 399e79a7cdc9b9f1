"""Define the HTTP application: every endpoint over a `Service`."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from ..context import Event
from ..errors import (
    DatabaseError,
    EntityNotFoundError,
    GraphError,
    InputError,
    LodestarError,
    QueryTimeoutError,
    StaleCatalogueError,
    UsageError,
)
from ..evidence.evidence import (
    Answer,
    answer_data,
    answer_text,
    entity_data,
    evidence_data,
    item_data,
    topic_data,
    triple_data,
)
from ..evidence.text import item_text
from ..values import Question
from . import schemas
from .batches import DeadlineExceededError, OverloadedError
from .page import Assets, draw, make_page_routes
from .service import Service, Variant, keep

if TYPE_CHECKING:
    from .server import Metrics

T = TypeVar("T")

_log = logging.getLogger(__name__)

HEARTBEAT_S = 10.0
RETRY_AFTER_S = 2
MOST_EVENTS = 1_000
"""Events of a stream that wait for a slow reader; its language model's words beyond them are left out."""

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorReply, "description": text}
    for status, text in (
        (400, "The question or an option cannot be used."),
        (401, "No token, or a wrong one."),
        (404, "The graph does not have it."),
        (413, "The body is too large."),
        (422, "The body does not have the form."),
        (429, "Too much waits: ask again after Retry-After."),
        (503, "The database is away."),
        (504, "The deadline has passed."),
    )
}


@dataclass(frozen=True, slots=True)
class AppOptions:
    """The application's options.

    cache_dir: the folder for the pages' libraries. mcp: the application at ``/mcp``, and the context it runs in, given
    the service. patience_s: how long waiting requests are still answered when the server stops."""

    cache_dir: Path
    metrics: Metrics
    mcp: tuple[ASGIApp, Callable[[Service], AbstractAsyncContextManager[Any]]] | None = None
    fetch_assets: bool = True
    patience_s: float = 10.0


def make_app(make_service: Callable[[], Service], options: AppOptions) -> FastAPI:
    """Return the application (ASGI). The service is made when the server starts, in its event loop."""
    assets = Assets(options.cache_dir)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = service = make_service()
        fetching = (
            asyncio.create_task(asyncio.to_thread(assets.fetch, progress=False)) if options.fetch_assets else None
        )
        try:
            if options.mcp is None:
                yield
            else:
                async with options.mcp[1](service):
                    yield
        finally:
            await service.close(options.patience_s)
            if fetching is not None:
                await fetching

    app = FastAPI(
        title="Lodestar",
        version=version("lodestar-kg"),
        description="Reasoning paths from a knowledge graph in Neo4j, ranked and explained.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=_ERRORS,
    )
    for route in make_page_routes(assets):
        app.router.routes.append(route)
    _add_questions(app)
    _add_lookups(app)
    _add_chat(app)
    _add_state(app, options.metrics)
    _add_errors(app)
    if options.mcp is not None:
        app.router.routes.append(Route("/mcp", options.mcp[0], include_in_schema=False))
    return app


def get_service(request: Request) -> Service:
    """Return the service of an application."""
    service: Service = request.app.state.service
    return service


def get_client(scope: Scope) -> Hashable:
    """Return the client that a request counts for: its host, or for this machine its connection."""
    host, port = scope.get("client") or ("", 0)
    return (host, port) if host in ("127.0.0.1", "::1") else host


async def run_while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of the work; cancel it if the client disconnects."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and gone.result().get("type") == "http.disconnect":
            raise HTTPException(499, "the client has gone")
        return await task
    finally:
        gone.cancel()
        task.cancel()


def make_response(data: Any) -> Response:
    """Return plain data as JSON; bytes are JSON already."""
    return Response(data if isinstance(data, bytes) else to_json(data), media_type="application/json")


def _write_answer(answer: Answer, *, drawing: bool) -> bytes:
    return to_json(answer_data(answer) | (_make_drawing_data(answer) if drawing else {}))


def _write_evidence(answer: Answer, *, drawing: bool) -> bytes:
    return to_json(evidence_data(answer.evidence) | (_make_drawing_data(answer) if drawing else {}))


def _make_drawing_data(answer: Answer) -> dict[str, Any]:
    """Return the data that a page draws, and each item in words."""
    lines = [item_text(each.value, max_names=8) for each in answer.evidence.items]
    return {"drawing": draw(answer), "lines": lines}


def _add_questions(app: FastAPI) -> None:
    def questions_of(body: schemas.AskForm) -> list[Question]:
        if body.question is not None:
            return [Question(body.question, tuple(body.topics))]
        return [
            Question(each) if isinstance(each, str) else Question(each.question, tuple(each.topics), each.id)
            for each in body.questions or ()
        ]

    async def ask_form(body: schemas.AskForm, request: Request, *, answers: bool) -> Response:
        service = get_service(request)
        asking = service.ask(
            questions_of(body),
            service.variant(body.recipe, body.options),
            partial(_write_answer if answers else _write_evidence, drawing=body.drawing),
            answers=answers,
            client=get_client(request.scope),
            deadline_s=body.timeout_s,
        )
        written = await run_while_connected(request, asking)
        return make_response(written[0] if body.question is not None else b'{"results":[%b]}' % b",".join(written))

    @app.post("/v1/ask", response_model=schemas.AnswerReply | dict[str, list[schemas.AnswerReply]], tags=["questions"])
    async def ask(body: schemas.AskForm, request: Request) -> Response:
        """Answer a question, or each of a list, with the evidence that the answer rests on."""
        return await ask_form(body, request, answers=True)

    @app.post(
        "/v1/retrieve",
        response_model=schemas.EvidenceReply | dict[str, list[schemas.EvidenceReply]],
        tags=["questions"],
    )
    async def retrieve(body: schemas.AskForm, request: Request) -> Response:
        """Find and rank the evidence for a question, or for each of a list."""
        return await ask_form(body, request, answers=False)

    @app.post(
        "/v1/ask/stream",
        tags=["questions"],
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "topics, path …, token …, answer"}},
    )
    async def stream(body: schemas.StreamForm, request: Request) -> Response:
        """Answer a question as server-sent events: `topics`, a `path` each, `token`s of a language model, `answer`."""
        service = get_service(request)
        variant = service.variant(body.recipe, body.options)
        client = get_client(request.scope)
        service.batches.check_room(client, 1)
        events = stream_events(service, body, variant, client)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def stream_events(
    service: Service, body: schemas.StreamForm, variant: Variant, client: Hashable
) -> AsyncIterator[bytes]:
    """Yield server-sent events while a question is answered; closing the generator cancels the question."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    def tell(event: str, data: Any) -> None:
        written = data if isinstance(data, bytes) else to_json(data)

        def put() -> None:
            if event != "token" or events.qsize() < MOST_EVENTS:
                events.put_nowait((event, written))

        loop.call_soon_threadsafe(put)

    def watch(event: Event) -> None:
        if event.kind == "topics":
            tell("topics", [topic_data(topic) for topic in event.value])
        elif event.kind == "evidence":
            for index in range(len(event.value.items)):
                tell("path", item_data(event.value, index))
        else:
            tell("token", {"text": event.value})

    async def answer() -> None:
        try:
            question = Question(body.question, tuple(body.topics))
            write = partial(_write_answer, drawing=body.drawing)
            (found,) = await service.ask(
                [question], variant, write, client=client, deadline_s=body.timeout_s, watch=watch
            )
            tell("answer", found)
        except LodestarError as error:
            tell("error", schemas.make_error_body(choose_status(error), str(error)))
        except Exception:  # noqa: BLE001 - a bug of ours: the stream must end, and the log has it
            tell("error", schemas.make_error_body(500, "the server has failed: see its log"))
            _log.exception("a stream failed")

    task = asyncio.create_task(answer())
    try:
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    event, data = await events.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            yield b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
            if event in ("answer", "error"):
                return
    finally:
        task.cancel()


def _add_lookups(app: FastAPI) -> None:
    @app.post("/v1/entities", tags=["graph"])
    async def entities(body: schemas.EntitiesForm, request: Request) -> Response:
        """Find the entities that a text mentions, best first."""
        found = await run_while_connected(request, get_service(request).entities(body.text))
        return make_response({"entities": [topic_data(each) for each in found[: body.limit]]})

    @app.post("/v1/relations", tags=["graph"])
    async def relations(body: schemas.RelationsForm, request: Request) -> Response:
        """Find the relations nearest to a text."""
        found = await run_while_connected(request, get_service(request).relations(body.text, body.limit))
        return make_response({"relations": [make_relation_data(each.value, each.score) for each in found]})

    @app.post("/v1/neighbours", tags=["graph"])
    async def neighbours(body: schemas.NeighboursForm, request: Request) -> Response:
        """Read the triples of an entity, page by page."""
        page = await run_while_connected(
            request,
            get_service(request).neighbours(
                body.entity, relation=body.relation, direction=body.direction, limit=body.limit, cursor=body.cursor
            ),
        )
        return make_response(
            {
                "entity": entity_data(page.entity),
                "triples": [triple_data(each) for each in page.triples],
                "total": page.total,
                "cursor": page.cursor,
                "cut": page.cut,
            }
        )

    @app.post("/v1/verify", tags=["graph"])
    async def verify(body: schemas.VerifyForm, request: Request) -> Response:
        """Tell which triples of a path the graph has."""
        path = [(each.head, each.relation, each.tail) for each in body.path]
        triples, there = await run_while_connected(request, get_service(request).verify(path))
        rows = [
            {"head": each.head.id, "relation": each.relation, "tail": each.tail.id, "in_graph": is_there}
            for each, is_there in zip(triples, there, strict=True)
        ]
        return make_response({"in_graph": all(there), "triples": rows})

    @app.post("/v1/browser", tags=["graph"])
    async def browser(body: schemas.AskForm, request: Request) -> Response:
        """Write the evidence of a question under its own labels, and return a link to it in Neo4j Browser."""
        if body.question is None:
            raise UsageError("expected one question, found a list")
        service = get_service(request)
        variant = service.variant(body.recipe, body.options)
        question = Question(body.question, tuple(body.topics))
        (answer,) = await run_while_connected(
            request,
            service.ask(
                [question], variant, keep, answers=False, client=get_client(request.scope), deadline_s=body.timeout_s
            ),
        )
        link, source_link = await service.browser_links(answer)
        return make_response({"link": link, "source_link": source_link})


def _add_chat(app: FastAPI) -> None:
    @app.get("/v1/models", tags=["chat"])
    async def models(request: Request) -> Response:
        """List the recipes that are served, as models."""
        return make_response(list_models(get_service(request)))

    @app.post("/v1/chat/completions", tags=["chat"])
    async def chat(body: schemas.ChatForm, request: Request) -> Response:
        """Answer the last message of a conversation, in OpenAI's form, whole or streamed."""
        service = get_service(request)
        if body.stream:
            return await run_while_connected(request, stream_chat(service, body, get_client(request.scope)))
        return make_response(
            await run_while_connected(request, complete_chat(service, body, get_client(request.scope)))
        )


def _add_state(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/healthz", tags=["state"])
    async def healthz() -> Response:
        """Tell that the process is alive."""
        return make_response({"status": "ok"})

    @app.get("/readyz", tags=["state"])
    async def readyz(request: Request) -> Response:
        """Tell whether questions can be answered: database, graph, models."""
        reason = await get_service(request).ready()
        if reason:
            return _make_error_response(503, reason, {"retry-after": str(RETRY_AFTER_S)})
        return make_response({"status": "ready"})

    @app.get("/metrics", tags=["state"])
    async def metrics_text(request: Request) -> Response:
        """Return the metrics in Prometheus' text format."""
        metrics.queue.set(get_service(request).batches.num_waiting)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(LodestarError)
    async def known(_request: Request, error: LodestarError) -> Response:
        status = choose_status(error)
        headers = {}
        if isinstance(error, OverloadedError):
            headers["retry-after"] = str(error.retry_after_s)
        elif status == 503:
            headers["retry-after"] = str(RETRY_AFTER_S)
        return _make_error_response(status, str(error), headers)

    @app.exception_handler(RequestValidationError)
    async def handle_invalid_request(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first.get("loc", ())[1:]) or "the body"
        return _make_error_response(422, f"{place[:200]}: {first.get('msg', 'not of the form')[:300]}: see /docs")

    @app.exception_handler(HTTPException)
    async def other(_request: Request, error: HTTPException) -> Response:
        message = "there is no such endpoint: see /docs" if error.status_code == 404 else str(error.detail)
        return _make_error_response(error.status_code, message, dict(error.headers or {}))


def _make_error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        schemas.make_error_body(status, message),
        status_code=status,
        media_type="application/json",
        headers=dict(headers or {}),
    )


def make_relation_data(relation: Any, score: float) -> dict[str, Any]:
    """Return a relation with its similarity."""
    return {
        "relation": relation.name,
        "label": relation.label,
        "score": round(score, 6),
        "count": relation.count,
        "domain": relation.domain,
        "range": relation.range,
    }


_STATUS: tuple[tuple[type[LodestarError], int], ...] = (
    (UsageError, 400),
    (InputError, 400),
    (OverloadedError, 429),
    (DeadlineExceededError, 504),
    (QueryTimeoutError, 504),
    (DatabaseError, 503),
    (EntityNotFoundError, 404),
    (StaleCatalogueError, 404),
    (GraphError, 503),
)
"""Of a kind of error and what derives from it; the first that fits."""


def choose_status(error: LodestarError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


# OpenAI's chat completions: a recipe is a model, and the last message of the user is the question

DEFAULT_MODEL = "lodestar"
_PIECE_CHARS = 24


def list_models(service: Service) -> dict[str, Any]:
    """Return the recipes as a list of models; `lodestar` is the default one."""
    names = [DEFAULT_MODEL, *service.recipes]
    return {
        "object": "list",
        "data": [{"id": n, "object": "model", "created": 0, "owned_by": "lodestar"} for n in names],
    }


async def complete_chat(service: Service, body: schemas.ChatForm, client: Hashable) -> bytes:
    """Return a chat completion as JSON."""
    question, variant = _read_request(service, body)

    def write(answer: Answer) -> bytes:
        message = {"role": "assistant", "content": answer_text(answer)}
        return to_json(
            {
                **_make_head(body, "chat.completion"),
                "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
                "usage": _make_usage(answer),
                "lodestar": answer_data(answer),
            }
        )

    (reply,) = await service.ask([question], variant, write, client=client)
    return reply


async def stream_chat(service: Service, body: schemas.ChatForm, client: Hashable) -> StreamingResponse:
    """Return the chat completion as chunks; the first comes with the answer, so that a failure has its own status."""
    question, variant = _read_request(service, body)
    (answer,) = await service.ask([question], variant, keep, client=client)
    head = _make_head(body, "chat.completion.chunk")
    content = answer_text(answer)

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return b"data: " + to_json({**head, "choices": [choice]}) + b"\n\n"

    async def chunks() -> AsyncIterator[bytes]:
        yield chunk({"role": "assistant", "content": ""})
        for start in range(0, len(content), _PIECE_CHARS):
            yield chunk({"content": content[start : start + _PIECE_CHARS]})
        yield chunk({}, "stop")
        if (body.stream_options or {}).get("include_usage"):
            yield b"data: " + to_json({**head, "choices": [], "usage": _make_usage(answer)}) + b"\n\n"
        yield b"data: [DONE]\n\n"

    return StreamingResponse(chunks(), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _read_request(service: Service, body: schemas.ChatForm) -> tuple[Question, Variant]:
    said = [message for message in body.messages if message.role == "user"]
    if not said:
        raise UsageError("messages: expected one with the role user, found none")
    content = said[-1].content
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    if not content or not content.strip():
        raise UsageError("messages: expected a question in the last message of the user, found no text")
    recipe = None if body.model == DEFAULT_MODEL else body.model
    return Question(content.strip()), service.variant(recipe)


def _make_head(body: schemas.ChatForm, kind: str) -> dict[str, Any]:
    id_ = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": id_, "object": kind, "created": int(time.time()), "model": body.model}


def _make_usage(answer: Answer) -> dict[str, int]:
    """Return the language model's token counts; 0 if none was asked."""
    prompt, completion = (answer.usage.prompt, answer.usage.completion) if answer.usage else (0, 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
