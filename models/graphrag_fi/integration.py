"""Answers with the graph and answers without it, put together by their confidences (GraphRAG-FI, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Origin = Literal["graph", "model", "both"]


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer by the normalised form that two spellings share; `confidence` is None where it is not known."""

    key: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least confidences τ_G, with the graph, and τ_L, without it.

    Defaults are the paper's: τ_G of 0.4 to 0.5 (table 6) and τ_L = 1, for which 0.995 stands, what is 1 when rounded to
    two places (our reading), since probabilities hardly reach it. Better are those fitted on dev questions.
    """

    graph: float = 0.5
    model: float = 0.995


@dataclass(frozen=True, slots=True)
class Integrated:
    """An answer that is kept: its key, on whose word, and its place in each list, None where that did not keep it."""

    key: str
    origin: Origin
    graph: int | None
    model: int | None


def integrated(graph: Sequence[Claim], model: Sequence[Claim], thresholds: Thresholds) -> tuple[Integrated, ...]:
    """Return the answers that are kept, each once; GraphRAG-FI, equations 4 to 6.

        A = {a ∈ A_G | ℓ_G(a) ≥ τ_G} ∪ {a ∈ A_L | ℓ_L(a) ≥ τ_L}

    Those of A_G come first, in its order, then the others of A_L in its order. Where a list has a key twice the surer
    one counts, the first of equals. An answer of unknown confidence is kept of A_G and left out of A_L: where nothing
    is known of either, the graph's answers stay as they are.
    """
    of_graph = _kept(graph, thresholds.graph, unknown=True)
    of_model = _kept(model, thresholds.model, unknown=False)
    return tuple(
        Integrated(key, _origin(key in of_graph, key in of_model), of_graph.get(key), of_model.get(key))
        for key in {**of_graph, **of_model}
    )


def _kept(claims: Sequence[Claim], threshold: float, *, unknown: bool) -> dict[str, int]:
    """Return the places of the claims that reach the threshold, by key, in order; of equal keys the surest."""
    places: dict[str, int] = {}
    for place, claim in enumerate(claims):
        if unknown if claim.confidence is None else claim.confidence >= threshold:
            held = places.setdefault(claim.key, place)
            if (claim.confidence or 0.0) > (claims[held].confidence or 0.0):
                places[claim.key] = place
    return places


def _origin(in_graph: bool, in_model: bool) -> Origin:
    if in_graph and in_model:
        return "both"
    return "graph" if in_graph else "model"
