"""Offer Lodestar to DSPy: a module that retrieves."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy

from . import EvidenceFinder


class LodestarRetriever(dspy.Module):  # type: ignore[misc, unused-ignore]
    """Retrieves reasoning paths: ``retriever(question=…).passages``, best first, with `scores`, `ids` and `metadata`.

    engine, top_k, leave_out_abstained: see `EvidenceFinder`.
    """

    def __init__(self, engine: Any, *, top_k: int = 10, leave_out_abstained: bool = False) -> None:
        super().__init__()
        self.finder = EvidenceFinder(engine, top_k, leave_out_abstained)

    def forward(self, question: str) -> Any:
        found = self.finder.find(question)
        return dspy.Prediction(
            passages=[each.text for each in found],
            scores=[each.score for each in found],
            ids=[each.id for each in found],
            metadata=[each.metadata for each in found],
        )

    async def aforward(self, question: str) -> Any:
        return await asyncio.to_thread(self.forward, question)
