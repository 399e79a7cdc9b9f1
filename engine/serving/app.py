"""Define the HTTP application: every endpoint over a `Service`."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from prometheus_client import generate_latest
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from ..data_model import Question
from ..errors import (
    DatabaseError,
    DownloadError,
    GraphError,
    InputError,
    LodestarError,
    QueryTimeoutError,
    UsageError,
)
from ..evidence import Answer, format_answer
from ..evidence.json_data import AnswerData, EvidenceData
from ..neo4j.maven_jars import JarCache, read_pinned_jars
from . import DeadlineExceededError, OverloadedError, Service, lookups

if TYPE_CHECKING:
    from .mcp import McpTools

T = TypeVar("T")

_log = logging.getLogger(__name__)

RETRY_AFTER_S = 2
PATIENCE_S = 10.0
"""How long waiting requests are still answered when the server stops."""

_STATUS = {
    (UsageError, InputError): 400,
    (OverloadedError,): 429,
    (DeadlineExceededError, QueryTimeoutError): 504,
    (DatabaseError, GraphError): 503,
}
"""Of kinds of errors and what derives from them; the first that fits."""


router = APIRouter()


def make_app(service: Service, mcp: McpTools | None) -> FastAPI:
    """Return the application (ASGI). mcp: the tools at ``/mcp``."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        cache = service.settings.cache_dir
        fetching = asyncio.create_task(asyncio.to_thread(fetch_libraries, cache, app.state.libraries))
        try:
            async with mcp.server.session_manager.run() if mcp else nullcontext():
                yield
        finally:
            await service.close(PATIENCE_S)
            await fetching

    app = FastAPI(
        title="Lodestar",
        version=version("lodestar-kg"),
        description="Reasoning paths from a knowledge graph in Neo4j, ranked and explained.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            LodestarError: _answer_error,
            RequestValidationError: _answer_invalid,
            HTTPException: _answer_http_error,
        },
    )
    app.state.service, app.state.libraries = service, {}
    app.router.routes.extend(router.routes)
    if mcp is not None:
        app.router.routes.extend(mcp.routes())
    return app


def get_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def run_while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of the work; cancel it if the client disconnects."""

    async def leave() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass  # the body, of a request that has none too

    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(leave())
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise HTTPException(499, "the client has gone")
        return await task
    finally:
        gone.cancel()
        task.cancel()


def make_response(data: Any) -> Response:
    return Response(data if isinstance(data, bytes) else to_json(data), media_type="application/json")


# Questions


async def _ask(request: Request, body: lookups.AskForm, write: Callable[[Answer], T], *, answers: bool) -> T:
    question, options = Question(body.question, tuple(body.topics), body.id), body.options.model_dump(exclude_none=True)
    asking = get_service(request).ask(question, write, options, answers=answers, deadline_s=body.timeout_s)
    return await run_while_connected(request, asking)


@router.post("/v1/ask", response_model=AnswerData, tags=["questions"])
async def ask(body: lookups.AskForm, request: Request) -> Response:
    """Answer a question, with the evidence that the answer rests on."""
    reply = await _ask(request, body, lambda answer: to_json(answer.to_dict()), answers=True)
    return make_response(reply)


@router.post("/v1/retrieve", response_model=EvidenceData, tags=["questions"])
async def retrieve(body: lookups.AskForm, request: Request) -> Response:
    """Find and rank the evidence for a question."""
    reply = await _ask(request, body, lambda answer: to_json(answer.evidence.to_dict()), answers=False)
    return make_response(reply)


# The graph


async def _look(request: Request, look: Callable[..., Any], *given: Any) -> Response:
    return make_response(await run_while_connected(request, get_service(request).look_up(look, *given)))


@router.get("/v1/graph", response_model=lookups.GraphData, tags=["graph"])
async def graph(request: Request) -> Response:
    """Say what the graph holds."""
    return await _look(request, lookups.describe_graph)


@router.get("/v1/graph/questions", response_model=lookups.QuestionsData, tags=["graph"])
async def questions(request: Request) -> Response:
    """Make up to six questions that the graph answers, of several forms."""
    service = get_service(request)
    if service.finding is None or service.finding.done():
        service.finding = asyncio.ensure_future(service.look_up(lookups.find_questions))
    return make_response(await run_while_connected(request, asyncio.shield(service.finding)))


@router.post("/v1/browser", tags=["graph"])
async def browser(body: lookups.AskForm, request: Request) -> Response:
    """Write the evidence of a question under its own labels, and return a link to it in Neo4j Browser."""
    evidence = await _ask(request, body, lambda answer: answer.evidence, answers=False)
    return await _look(request, lookups.show_in_browser, evidence)


# State


@router.get("/healthz", tags=["state"])
async def healthz() -> Response:
    """Tell that the process is alive."""
    return make_response({"status": "ok"})


@router.get("/readyz", tags=["state"])
async def readyz(request: Request) -> Response:
    """Tell whether questions can be answered: database, graph, models."""
    reason = await get_service(request).ready()
    return make_error_response(503, reason) if reason else make_response({"status": "ready"})


@router.get("/metrics", tags=["state"])
async def metrics(request: Request) -> Response:
    """Return the metrics in Prometheus' text format."""
    service = get_service(request)
    assert service.metrics is not None
    service.metrics.queue.set(service.batches.num_waiting)
    return Response(generate_latest(service.metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8")


# Errors


async def _answer_error(_request: Request, error: Any) -> Response:
    status = next((status for kinds, status in _STATUS.items() if isinstance(error, kinds)), 500)
    return make_error_response(status, str(error))


async def _answer_invalid(_request: Request, error: Any) -> Response:
    first = error.errors()[0]
    place = ".".join(str(each) for each in first.get("loc", ())[1:]) or "the body"
    fault = first.get("msg", "not of the form").removeprefix("Value error, ")
    return make_error_response(422, f"{place[:200]}: {fault[:300]}: see /docs")


async def _answer_http_error(_request: Request, error: Any) -> Response:
    message = "there is no such endpoint: see /docs" if error.status_code == 404 else str(error.detail)
    return make_error_response(error.status_code, message, error.headers)


def make_error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error in OpenAI's format, as every endpoint does."""
    again = {"retry-after": str(RETRY_AFTER_S)} if status in (429, 503) else {}
    kind = "invalid_request_error" if status < 500 else "server_error"
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, kind)
    error = {"message": message, "type": kind, "param": None, "code": status}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status_code=status, media_type="application/json", headers={**(headers or {}), **again})


# OpenAI's chat completions: the last message of the user is the question

MODEL = "lodestar"


@router.get("/v1/models", tags=["chat"])
async def models() -> Response:
    """List the one model, `lodestar`."""
    return make_response(
        {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "lodestar"}]}
    )


@router.post("/v1/chat/completions", tags=["chat"])
async def chat(body: lookups.ChatForm, request: Request) -> Response:
    """Answer the last message of a conversation, in OpenAI's form, whole or streamed."""
    if body.model != MODEL:
        raise UsageError(f"model {body.model[:80]!r} is not served here: expected {MODEL!r}")
    write = partial(_write_stream if body.stream else _write_completion, body=body)
    reply = await run_while_connected(request, get_service(request).ask(_read_question(body), write))
    return Response(reply, media_type="text/event-stream" if body.stream else "application/json")


def _read_question(body: lookups.ChatForm) -> Question:
    content = next((message.content for message in reversed(body.messages) if message.role == "user"), None)
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    if not content or not content.strip():
        raise UsageError("messages: expected a question in the last message of the user, found no text")
    return Question(content.strip())


def _write_completion(answer: Answer, body: lookups.ChatForm) -> bytes:
    message = {"role": "assistant", "content": format_answer(answer)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    head = _make_head(body, "chat.completion")
    return to_json({**head, "choices": [choice], "usage": _make_usage(answer), "lodestar": answer.to_dict()})


def _write_stream(answer: Answer, body: lookups.ChatForm) -> bytes:
    """Return the chunks of a completion; all come with the answer, so that a failure has its own status."""
    head = _make_head(body, "chat.completion.chunk")
    deltas = ({"role": "assistant", "content": ""}, None), ({"content": format_answer(answer)}, None), ({}, "stop")
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}
        for delta, finish in deltas
    ]
    if (body.stream_options or {}).get("include_usage"):
        chunks.append({"choices": [], "usage": _make_usage(answer)})
    return b"".join(b"data: " + to_json(head | chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _make_head(body: lookups.ChatForm, kind: str) -> dict[str, Any]:
    id_ = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": id_, "object": kind, "created": int(time.time()), "model": body.model}


def _make_usage(answer: Answer) -> dict[str, int]:
    prompt, completion = (answer.usage.prompt, answer.usage.completion) if answer.usage else (0, 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


# The page and the documentation of the endpoints: browsers load nothing from other hosts. Libraries come from pinned
# jars, fetched once into the cache and checked by their SHA-256; without them the page lacks the drawing alone.

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, and no script that stands in the page: no name of a graph can run. Libraries set styles."""

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PAGE = Path(__file__).with_name("page")
_IN_JARS = {
    "cytoscape": ("dist/cytoscape.min.js",),
    "swagger-ui": ("swagger-ui-bundle.js", "swagger-ui.css"),
}


def fetch_libraries(cache_dir: Path, libraries: dict[str, bytes]) -> None:
    """Read the pages' libraries by name, from jars that are fetched once; none where that fails."""
    jars = JarCache(cache_dir, read_pinned_jars(Path(__file__).with_name("webjars.tsv")), name="webjars")
    try:
        paths = jars.ensure(progress=False)
    except DownloadError as error:
        _log.warning("the page draws no paths, and /docs shows no form: %s", error)
        return
    for jar, path in zip(jars.jars, paths, strict=True):
        with zipfile.ZipFile(path) as opened:
            for inner in _IN_JARS[jar.artifact]:
                name = f"META-INF/resources/webjars/{jar.artifact}/{jar.version}/{inner}"
                libraries[inner.rpartition("/")[2]] = opened.read(name)


@router.get("/", include_in_schema=False)
@router.get("/docs", include_in_schema=False)
async def page(request: Request) -> Response:
    name = "docs.html" if request.url.path == "/docs" else "index.html"
    headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
    return Response((_PAGE / name).read_bytes(), media_type="text/html", headers=headers)


@router.get("/assets/{name}", include_in_schema=False)
async def asset(name: str, request: Request) -> Response:
    own = _PAGE / name if name in {path.name for path in _PAGE.iterdir()} else None
    content = own.read_bytes() if own else request.app.state.libraries.get(name)
    if content is None:
        return Response("there is no such file here", status_code=404, media_type="text/plain")
    headers = {"cache-control": "no-cache" if own else "public, max-age=86400"}
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)
