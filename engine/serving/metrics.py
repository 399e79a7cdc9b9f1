"""Count requests, batches and stages in the text format of Prometheus (`/metrics`; see docs/serving.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..evidence.evidence import Evidence, Item

_STAGES = (
    (re.compile(r"link|topics|nearest names"), "link"),
    (re.compile(r"hop \d+|ground|subgraph.*|expand.*|similarity|star|reg-.*|gril"), "expand"),
    (re.compile(r"score.*|encode.*|propose.*"), "score"),
    (re.compile(r"answer"), "answer"),
)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The server's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        timed = own | {"buckets": _SECONDS}
        self.requests = Counter("lodestar_requests", "HTTP requests", ("endpoint", "status"), **own)
        self.request_seconds = Histogram("lodestar_request_seconds", "Seconds to the answer", ("endpoint",), **timed)
        self.stage_seconds = Histogram("lodestar_stage_seconds", "Seconds of a batch by stage", ("stage",), **timed)
        self.batch_size = Histogram("lodestar_batch_size", "Batch sizes", buckets=(1, 2, 4, 8, 16, 32, 64), **own)
        self.queue_seconds = Histogram("lodestar_queue_seconds", "Seconds a question waited", **timed)
        self.queue = Gauge("lodestar_queue", "Questions that wait", **own)
        self.refused = Counter("lodestar_refused", "Requests refused for overload", **own)
        self.questions = Counter("lodestar_questions", "Questions by outcome", ("outcome",), **own)
        self.cuts = Counter("lodestar_cuts", "Bounds that cut evidence", **own)
        self.round_trips = Counter("lodestar_round_trips", "Requests to the database", **own)
        self.tokens = Counter("lodestar_tokens", "Tokens of the language model", ("direction",), **own)

    def count_waits(self, waits_s: Sequence[float]) -> None:
        """Count a batch whose questions have waited so long."""
        self.batch_size.observe(len(waits_s))
        for seconds in waits_s:
            self.queue_seconds.observe(seconds)

    def count_batch(self, evidence: Sequence[Evidence[Item]]) -> None:
        """Count the stages and outcomes of a batch; its costs are those of its first question."""
        seconds: dict[str, float] = {}
        for cost in evidence[0].trace if evidence else ():
            stage = next((stage for pattern, stage in _STAGES if pattern.fullmatch(cost.stage)), "rerank")
            seconds[stage] = seconds.get(stage, 0.0) + cost.seconds
            self.round_trips.inc(cost.round_trips)
            self.tokens.labels("prompt").inc(cost.llm.prompt_tokens)
            self.tokens.labels("completion").inc(cost.llm.completion_tokens)
        for stage, taken in seconds.items():
            self.stage_seconds.labels(stage).observe(taken)
        for each in evidence:
            self.cuts.inc(len(each.cuts))
            self.questions.labels(each.reason or ("found" if each.items else "nothing")).inc()

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self.registry)
