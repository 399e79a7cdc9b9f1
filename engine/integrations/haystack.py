"""Offer Lodestar to Haystack: a component that retrieves."""

from __future__ import annotations

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from ..errors import UsageError
from ..settings import SECRETS
from .finding import EvidenceFinder, EvidenceItem


@component
class LodestarRetriever:
    """Retrieves reasoning paths as documents with scores, best first.

    Give an `engine`, or what opens one at the first question: `settings` that name the graph, as ``{"name": "geo"}`` or
    ``{"uri": …}`` (secrets come from the environment), `recipe` and `options`; only this can be saved. `close` gives an
    engine that was opened here back. top_k, leave_out_abstained: see `EvidenceFinder`.

    Load a saved pipeline with ``Pipeline.loads(text, allowed_modules=["lodestar"])``.
    """

    def __init__(
        self,
        engine: Any = None,
        *,
        top_k: int = 10,
        leave_out_abstained: bool = False,
        settings: dict[str, Any] | None = None,
        recipe: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        if found := sorted(set(settings or {}) & set(SECRETS)):
            name = SECRETS[found[0]][0]
            raise UsageError(f"{found[0]}: a saved pipeline holds no secrets: set {name} in the environment")
        if engine is not None and (settings or recipe or options):
            raise UsageError("expected either an engine or settings, recipe and options")
        self.engine = engine
        self._given = engine is not None
        self._bounds: dict[str, Any] = {"top_k": top_k, "leave_out_abstained": leave_out_abstained}
        self._opens: dict[str, Any] = {"settings": settings, "recipe": recipe, "options": options}
        EvidenceFinder(engine, **self._bounds)  # says now what is wrong with top_k

    def warm_up(self) -> None:
        """Open the engine."""
        if self.engine is None:
            from ..api import Engine

            opens = dict(self._opens)
            self.engine = Engine(**(opens.pop("settings") or {}), **opens)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        return {"documents": list(map(_document, self._finder(top_k).find(query)))}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        return {"documents": list(map(_document, await self._finder(top_k).afind(query)))}

    def close(self) -> None:
        """Give back the connections of an engine that was opened here."""
        if self.engine is not None and not self._given:
            self.engine.close()
            self.engine = None

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters; raise `UsageError` with an engine of the caller's."""
        if self._given:
            raise UsageError("expected settings, recipe and options, found an engine, which cannot be saved")
        return default_to_dict(self, **self._bounds, **self._opens)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LodestarRetriever:
        """Return a component with these parameters."""
        return default_from_dict(cls, data)

    def _finder(self, top_k: int | None) -> EvidenceFinder:
        self.warm_up()
        return EvidenceFinder(self.engine, **self._bounds | ({} if top_k is None else {"top_k": top_k}))


def _document(item: EvidenceItem) -> Document:
    return Document(id=item.id, content=item.text, score=item.score, meta=item.metadata)
