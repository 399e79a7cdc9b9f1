"""The application over HTTP: every endpoint, in one place, over a `Service`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from ..errors import (
    DatabaseError,
    EntityNotFoundError,
    GraphError,
    InputError,
    LodestarError,
    QueryTimeoutError,
    UnknownRelationError,
    UsageError,
)
from ..evidence.drawing import answer_drawing, drawing_data
from ..evidence.evidence import Answer
from ..evidence.plain import answer_data, entity_data, evidence_data, item_data, topic_data, triple_data
from ..evidence.text import item_text
from ..values import Question
from . import forms
from .batches import OverloadedError, TooLateError
from .chat_form import chat_completion, chat_stream, models_listed
from .guard import Doors, Guard, error_body
from .page import Assets, page_routes
from .service import Service, Variant
from .telemetry import Metrics, own_version
from .watching import Watch

T = TypeVar("T")

_log = logging.getLogger(__name__)

HEARTBEAT_S = 10.0
RETRY_AFTER_S = 2
MOST_EVENTS = 1_000
"""Events of a stream that wait for a slow reader; its language model's words beyond them are left out."""

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": forms.ErrorReply, "description": text}
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
    """cache_dir: where the pages' libraries are kept. mcp: what answers at ``/mcp``, and what it runs in, given the
    service. patience_s: how long what waits is answered at the end."""

    doors: Doors
    cache_dir: Path
    metrics: Metrics | None = None
    mcp: tuple[ASGIApp, Callable[[Service], AbstractAsyncContextManager[Any]]] | None = None
    fetch_assets: bool = True
    patience_s: float = 10.0


def make_app(make_service: Callable[[], Service], options: AppOptions) -> Any:
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
        version=own_version(),
        description="Reasoning paths from a knowledge graph in Neo4j, ranked and explained.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=_ERRORS,
    )
    for route in page_routes(assets):
        app.router.routes.append(route)
    _add_questions(app)
    _add_lookups(app)
    _add_chat(app)
    _add_state(app, options.metrics)
    _add_errors(app, options.metrics)
    if options.mcp is not None:
        app.router.routes.append(Route("/mcp", options.mcp[0], include_in_schema=False))
    known = {getattr(route, "path", None) for route in app.routes} - {None}

    def count(_method: str, path: str, status: int, seconds: float) -> None:
        if options.metrics is not None:
            endpoint = path if path in known or path == "/mcp" else "other"
            options.metrics.requests.labels(endpoint, str(status)).inc()
            options.metrics.request_seconds.labels(endpoint).observe(seconds)

    guarded: ASGIApp = Guard(app, options.doors, count)
    if options.doors.origins:
        guarded = CORSMiddleware(
            guarded,
            allow_origins=sorted(options.doors.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return guarded


def service_of(request: Request) -> Service:
    """Return the service of an application."""
    service: Service = request.app.state.service
    return service


def client_of(request: Request) -> Hashable:
    """Return whose turn a request takes: its host, or on this machine its connection."""
    if request.client is None:
        return ""
    host, port = request.client
    return (host, port) if host in ("127.0.0.1", "::1") else host


async def while_there(request: Request, work: Awaitable[T]) -> T:
    """Return what the work gives; cancel it when the client goes away."""
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


def reply(data: Any) -> Response:
    """Return plain data as JSON."""
    return Response(to_json(data), media_type="application/json")


def _answer(answer: Answer, drawing: bool) -> dict[str, Any]:
    return answer_data(answer) | (_drawn(answer) if drawing else {})


def _drawn(answer: Answer) -> dict[str, Any]:
    """Return what a page draws, and each item in words."""
    lines = [item_text(each.value, max_names=8) for each in answer.evidence.items]
    return {"drawing": drawing_data(answer_drawing(answer)), "lines": lines}


def _add_questions(app: FastAPI) -> None:
    def questions_of(body: forms.AskForm) -> list[Question]:
        if body.question is not None:
            return [Question(body.question, tuple(body.topics))]
        return [
            Question(each) if isinstance(each, str) else Question(each.question, tuple(each.topics), each.id)
            for each in body.questions or ()
        ]

    async def asked(body: forms.AskForm, request: Request, *, answers: bool) -> list[Answer]:
        service = service_of(request)
        variant = service.variant(body.recipe, body.options)
        return await while_there(
            request,
            service.ask(
                questions_of(body), variant, answers=answers, client=client_of(request), deadline_s=body.timeout_s
            ),
        )

    @app.post("/v1/ask", response_model=forms.AnswerReply | forms.Answers, tags=["questions"])
    async def ask(body: forms.AskForm, request: Request) -> Response:
        """Answer a question, or each of a list, with the evidence that the answer rests on."""
        found = [_answer(each, body.drawing) for each in await asked(body, request, answers=True)]
        return reply(found[0] if body.question is not None else {"results": found})

    @app.post("/v1/retrieve", response_model=forms.EvidenceReply | forms.Evidences, tags=["questions"])
    async def retrieve(body: forms.AskForm, request: Request) -> Response:
        """Find and rank the evidence for a question, or for each of a list."""
        found = [
            evidence_data(each.evidence) | (_drawn(each) if body.drawing else {})
            for each in await asked(body, request, answers=False)
        ]
        return reply(found[0] if body.question is not None else {"results": found})

    @app.post(
        "/v1/ask/stream",
        tags=["questions"],
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "topics, path …, token …, answer"}},
    )
    async def stream(body: forms.StreamForm, request: Request) -> Response:
        """Answer a question as server-sent events: `topics`, a `path` each, `token`s of a language model, `answer`."""
        service = service_of(request)
        variant = service.variant(body.recipe, body.options)
        client = client_of(request)
        service.batches.check_room(client, 1)
        events = answer_events(service, body, variant, client)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def answer_events(
    service: Service, body: forms.StreamForm, variant: Variant, client: Hashable
) -> AsyncIterator[bytes]:
    """Yield server-sent events as a question goes along; closed, the question is given up."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    def tell(event: str, data: Any) -> None:
        def put() -> None:
            if event != "token" or events.qsize() < MOST_EVENTS:
                events.put_nowait((event, data))

        loop.call_soon_threadsafe(put)

    def tell_found(evidence: Any) -> None:
        for index in range(len(evidence.items)):
            tell("path", item_data(evidence, index))

    watch = Watch(
        linked=lambda topics: tell("topics", [topic_data(topic) for topic in topics]),
        found=tell_found,
        said=lambda text: tell("token", {"text": text}),
    )

    async def answer() -> None:
        try:
            question = Question(body.question, tuple(body.topics))
            (found,) = await service.ask([question], variant, client=client, deadline_s=body.timeout_s, watch=watch)
            tell("answer", _answer(found, body.drawing))
        except LodestarError as error:
            tell("error", json.loads(error_body(status_of(error), str(error))))
        except Exception:  # noqa: BLE001 - a bug of ours: the stream must end, and the log has it
            tell("error", json.loads(error_body(500, "the server has failed: see its log")))
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
            yield b"event: " + event.encode() + b"\ndata: " + to_json(data) + b"\n\n"
            if event in ("answer", "error"):
                return
    finally:
        task.cancel()


def _add_lookups(app: FastAPI) -> None:
    @app.post("/v1/entities", response_model=forms.EntitiesReply, tags=["graph"])
    async def entities(body: forms.EntitiesForm, request: Request) -> Response:
        """Find the entities that a text mentions, best first."""
        found = await while_there(request, service_of(request).entities(body.text))
        return reply({"entities": [topic_data(each) for each in found[: body.limit]]})

    @app.post("/v1/relations", response_model=forms.RelationsReply, tags=["graph"])
    async def relations(body: forms.RelationsForm, request: Request) -> Response:
        """Find the relations nearest to a text."""
        found = await while_there(request, service_of(request).relations(body.text, body.limit))
        return reply({"relations": [relation_data(each.value, each.score) for each in found]})

    @app.post("/v1/neighbours", response_model=forms.NeighboursReply, tags=["graph"])
    async def neighbours(body: forms.NeighboursForm, request: Request) -> Response:
        """Read the triples at an entity, a page at a time."""
        page = await while_there(
            request,
            service_of(request).neighbours(
                body.entity, relation=body.relation, direction=body.direction, limit=body.limit, cursor=body.cursor
            ),
        )
        return reply(
            {
                "entity": entity_data(page.entity),
                "triples": [triple_data(each) for each in page.triples],
                "total": page.total,
                "cursor": page.cursor,
                "cut": page.cut,
            }
        )

    @app.post("/v1/verify", response_model=forms.VerifyReply, tags=["graph"])
    async def verify(body: forms.VerifyForm, request: Request) -> Response:
        """Say which triples of a path the graph has."""
        path = [(each.head, each.relation, each.tail) for each in body.path]
        triples, there = await while_there(request, service_of(request).verify(path))
        rows = [
            {"head": head, "relation": relation, "tail": tail, "in_graph": is_there}
            for (head, relation, tail), is_there in zip(triples, there, strict=True)
        ]
        return reply({"in_graph": all(there), "triples": rows})

    @app.post("/v1/browser", response_model=forms.LinkReply, tags=["graph"])
    async def browser(body: forms.AskForm, request: Request) -> Response:
        """Write the evidence of a question under labels of its own, and link to it in Neo4j Browser."""
        if body.question is None:
            raise UsageError("expected one question, found a list")
        service = service_of(request)
        variant = service.variant(body.recipe, body.options)
        question = Question(body.question, tuple(body.topics))
        (answer,) = await while_there(
            request,
            service.ask([question], variant, answers=False, client=client_of(request), deadline_s=body.timeout_s),
        )
        return reply({"link": await service.browser_link(answer)})


def _add_chat(app: FastAPI) -> None:
    @app.get("/v1/models", tags=["chat"])
    async def models(request: Request) -> Response:
        """List the recipes that are served, as models."""
        return reply(models_listed(service_of(request)))

    @app.post("/v1/chat/completions", tags=["chat"])
    async def chat(body: forms.ChatForm, request: Request) -> Response:
        """Answer the last message of a conversation, in OpenAI's form, whole or streamed."""
        service = service_of(request)
        if body.stream:
            return await while_there(request, chat_stream(service, body, client_of(request)))
        return reply(await while_there(request, chat_completion(service, body, client_of(request))))


def _add_state(app: FastAPI, metrics: Metrics | None) -> None:
    @app.get("/healthz", tags=["state"])
    async def healthz() -> Response:
        """Say that the process is alive."""
        return reply({"status": "ok"})

    @app.get("/readyz", tags=["state"])
    async def readyz(request: Request) -> Response:
        """Say whether questions can be answered: database, graph, models."""
        reason = await service_of(request).ready()
        if reason:
            return _failure(503, reason, {"retry-after": str(RETRY_AFTER_S)})
        return reply({"status": "ready"})

    @app.get("/metrics", tags=["state"])
    async def metrics_text(request: Request) -> Response:
        """Return the metrics in Prometheus' text format."""
        if metrics is None:
            return _failure(404, "this server keeps no metrics")
        metrics.queue.set(service_of(request).batches.num_waiting)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI, metrics: Metrics | None) -> None:
    @app.exception_handler(LodestarError)
    async def known(_request: Request, error: LodestarError) -> Response:
        status = status_of(error)
        headers = {}
        if isinstance(error, OverloadedError):
            headers["retry-after"] = str(error.retry_after_s)
            if metrics is not None:
                metrics.refused.inc()
        elif status == 503:
            headers["retry-after"] = str(RETRY_AFTER_S)
        return _failure(status, str(error), headers)

    @app.exception_handler(RequestValidationError)
    async def misformed(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first.get("loc", ())[1:]) or "the body"
        return _failure(422, f"{place[:200]}: {first.get('msg', 'not of the form')[:300]}: see /docs")

    @app.exception_handler(HTTPException)
    async def other(_request: Request, error: HTTPException) -> Response:
        message = "there is no such endpoint: see /docs" if error.status_code == 404 else str(error.detail)
        return _failure(error.status_code, message, dict(error.headers or {}))


def _failure(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        error_body(status, message), status_code=status, media_type="application/json", headers=dict(headers or {})
    )


def relation_data(relation: Any, score: float) -> dict[str, Any]:
    """Return a relation with how near it is."""
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
    (TooLateError, 504),
    (QueryTimeoutError, 504),
    (DatabaseError, 503),
    (EntityNotFoundError, 404),
    (UnknownRelationError, 404),
    (GraphError, 503),
)
"""Of a kind of error and what derives from it; the first that fits."""


def status_of(error: LodestarError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
