"""Record metrics for Prometheus and spans for OpenTelemetry.

Spans use the OpenTelemetry API (extra `otel`); without it, or without a configured SDK, they cost nothing. The spans of
stages follow one another from the batch's start, with the durations in the evidence. Spans contain the text of
questions only with `questions`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ..evidence.evidence import Evidence, Item
from ..steps import StageCost

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

DISTRIBUTION = "lodestar-kg"

STAGES = ("link", "expand", "score", "rerank", "answer")
_STAGE_OF = (
    (re.compile(r"link|topics|nearest names"), "link"),
    (re.compile(r"hop \d+|ground|subgraph.*|expand.*|similarity|star|reg-.*|gril"), "expand"),
    (re.compile(r"score.*|encode.*|propose.*"), "score"),
    (re.compile(r"answer"), "answer"),
)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The server's metrics, in a registry of their own; see docs/serving.md for what each counts."""

    def __init__(self, registry: CollectorRegistry | None = None, *, replica: str = "") -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

        self.registry = registry or CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("lodestar_requests", "HTTP requests", ("endpoint", "status"), **own)
        self.request_seconds = Histogram(
            "lodestar_request_seconds", "Seconds from request to answer", ("endpoint",), buckets=_SECONDS, **own
        )
        self.stage_seconds = Histogram(
            "lodestar_stage_seconds", "Seconds of a batch by stage", ("stage",), buckets=_SECONDS, **own
        )
        self.batch_size = Histogram(
            "lodestar_batch_size", "Questions of a batch", buckets=(1, 2, 4, 8, 16, 32, 64), **own
        )
        self.queue_seconds = Histogram("lodestar_queue_seconds", "Seconds a question waited", buckets=_SECONDS, **own)
        self.queue = Gauge("lodestar_queue", "Questions that wait", **own)
        self.refused = Counter("lodestar_refused", "Requests refused for overload", **own)
        self.questions = Counter("lodestar_questions", "Questions by outcome", ("outcome",), **own)
        self.cuts = Counter("lodestar_cuts", "Bounds that cut evidence", **own)
        self.round_trips = Counter("lodestar_round_trips", "Requests to the database", **own)
        self.tokens = Counter("lodestar_tokens", "Tokens of the language model", ("direction",), **own)
        if replica:
            Info("lodestar_replica", "The replica that these metrics are of", **own).info({"replica": replica})

    def batch(self, size: int) -> None:
        """Count a batch."""
        self.batch_size.observe(size)

    def record_wait(self, seconds: float) -> None:
        """Count how long a question waited."""
        self.queue_seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


class Telemetry:
    """Records spans, and metrics if there are any.

    questions: whether spans contain the texts of questions.
    """

    def __init__(self, metrics: Metrics | None = None, *, questions: bool = False) -> None:
        self.metrics = metrics
        self._questions = questions
        self._tracer = _get_tracer()

    @contextmanager
    def batch(self, recipe: str, texts: Sequence[str]) -> Iterator[BatchSpan]:
        """Record a span for a batch of questions, with its error if it fails."""
        started_ns = time.time_ns()
        if self._tracer is None:
            yield BatchSpan(self, None, started_ns)
            return
        attributes: dict[str, Any] = {"lodestar.recipe": recipe, "lodestar.batch.size": len(texts)}
        if self._questions:
            attributes["lodestar.questions"] = list(texts)
        with self._tracer.start_as_current_span("lodestar.ask", attributes=attributes) as span:
            yield BatchSpan(self, span, started_ns)

    def _stage(self, stage: str, costs: Sequence[StageCost], start_ns: int) -> int:
        """Record a span for a stage; return its end."""
        seconds = sum(cost.seconds for cost in costs)
        end_ns = start_ns + int(seconds * 1e9)
        if self._tracer is not None:
            span = self._tracer.start_span(stage, start_time=start_ns, attributes=_make_attributes(stage, costs))
            span.end(end_time=end_ns)
        if self.metrics is not None:
            self.metrics.stage_seconds.labels(stage).observe(seconds)
        return end_ns

    def _finish(self, span: Any, started_ns: int, evidence: Sequence[Evidence[Item]]) -> None:
        trace = evidence[0].trace if evidence else ()
        by_stage: dict[str, list[StageCost]] = {}
        for cost in trace:
            by_stage.setdefault(find_stage(cost.stage), []).append(cost)
        at = started_ns
        for stage in STAGES:
            if stage in by_stage:
                at = self._stage(stage, by_stage[stage], at)
        if span is not None:
            span.set_attribute("lodestar.round_trips", sum(cost.round_trips for cost in trace))
        if self.metrics is None:
            return
        self.metrics.round_trips.inc(sum(cost.round_trips for cost in trace))
        self.metrics.cuts.inc(sum(len(each.cuts) for each in evidence))
        self.metrics.tokens.labels("prompt").inc(sum(cost.llm.prompt_tokens for cost in trace))
        self.metrics.tokens.labels("completion").inc(sum(cost.llm.completion_tokens for cost in trace))
        for each in evidence:
            self.metrics.questions.labels(each.reason or ("found" if each.items else "nothing")).inc()


class BatchSpan:
    """A running batch."""

    def __init__(self, telemetry: Telemetry, span: Any, started_ns: int) -> None:
        self._telemetry = telemetry
        self._span = span
        self._started_ns = started_ns

    def finish(self, evidence: Sequence[Evidence[Item]]) -> None:
        """Record the stages of a batch from its evidence."""
        self._telemetry._finish(self._span, self._started_ns, evidence)


def read_version() -> str:
    """Return Lodestar's version; "0" if it is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"


def find_stage(name: str) -> str:
    """Return the stage in `STAGES` of a cost's name; unknown names belong to reorganising."""
    return next((stage for pattern, stage in _STAGE_OF if pattern.fullmatch(name)), "rerank")


def _make_attributes(stage: str, costs: Sequence[StageCost]) -> Mapping[str, Any]:
    """Return the attributes of a stage's span by OpenTelemetry's conventions for databases and generative models."""
    found: dict[str, Any] = {"lodestar.costs": [f"{cost.stage} {cost.seconds * 1000:.1f} ms" for cost in costs]}
    if trips := sum(cost.round_trips for cost in costs):
        found |= {"db.system.name": "neo4j", "db.operation.name": stage, "lodestar.round_trips": trips}
    if calls := sum(cost.llm.calls + cost.llm.cached for cost in costs):
        found |= {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": sum(cost.llm.prompt_tokens for cost in costs),
            "gen_ai.usage.output_tokens": sum(cost.llm.completion_tokens for cost in costs),
            "lodestar.llm.calls": calls,
        }
    return found


def _get_tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("lodestar")
