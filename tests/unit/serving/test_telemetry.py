"""Spans by OpenTelemetry's own SDK, one a stage, without texts of questions unless asked for; nothing without it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lodestar.engine.llm.prompts import ChatUsage
from lodestar.engine.serving import telemetry
from lodestar.engine.serving.telemetry import Metrics, Telemetry, find_stage
from lodestar.engine.steps import StageCost
from lodestar.engine.values import Entity
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.made.evidence import evidence_of, leads, ranked

TRACE = (
    StageCost("link", 0.01, 1),
    StageCost("topics", 0.02, 1),
    StageCost("encode", 0.03),
    StageCost("hop 1", 0.04, 2),
    StageCost("merge", 0.05),
    StageCost("answer", 0.06, 0, ChatUsage(calls=1, prompt_tokens=100, completion_tokens=10)),
)
EVIDENCE = replace(
    evidence_of(*ranked(leads("capital", Entity("m.lima", "Lima"), topic=Entity("m.peru", "Peru"))), text="secret?"),
    trace=TRACE,
)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_get_tracer", lambda: provider.get_tracer("test"))
    return exporter


def asked(told: Telemetry) -> None:
    with told.batch("similarity", ["secret?"]) as span:
        span.finish([EVIDENCE])


def test_each_stage_is_a_span_under_its_batch(exporter: InMemorySpanExporter) -> None:
    asked(Telemetry())
    *stages, batch = exporter.get_finished_spans()
    assert [span.name for span in stages] == ["link", "expand", "score", "rerank", "answer"]
    context = batch.context
    assert context is not None
    assert all(span.parent is not None and span.parent.span_id == context.span_id for span in stages)
    seconds = [(span.end_time - span.start_time) / 1e9 for span in stages]  # type: ignore[operator]
    assert seconds == pytest.approx([0.03, 0.04, 0.03, 0.05, 0.06], abs=1e-6)
    attributes = dict(stages[1].attributes or {})
    assert attributes["db.system.name"] == "neo4j"
    assert attributes["lodestar.round_trips"] == 2
    assert dict(stages[-1].attributes or {})["gen_ai.usage.input_tokens"] == 100
    assert "secret" not in str([span.to_json() for span in (*stages, batch)])


def test_texts_stand_on_spans_only_where_asked_for(exporter: InMemorySpanExporter) -> None:
    asked(Telemetry(questions=True))
    assert "secret?" in exporter.get_finished_spans()[-1].to_json()


def test_without_opentelemetry_there_are_metrics_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_get_tracer", lambda: None)
    metrics = Metrics()
    asked(Telemetry(metrics))
    text = metrics.text().decode()
    assert 'lodestar_stage_seconds_count{stage="rerank"} 1.0' in text
    assert 'lodestar_tokens_total{direction="completion"} 10.0' in text
    assert 'lodestar_questions_total{outcome="found"} 1.0' in text


def test_every_stage_has_its_place() -> None:
    assert [find_stage(name) for name in ("nearest names", "hop 2", "score 1", "path-pooling", "answer")] == [
        "link", "expand", "score", "rerank", "answer",
    ]  # fmt: skip
