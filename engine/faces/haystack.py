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

    settings: those of `Engine` that name the graph, as ``{"name": "geo"}`` or ``{"uri": …}``; secrets come from the
    environment, so that a saved pipeline has none. recipe, options: as of `Engine`. The engine is opened at
    `warm_up` or the first question and given back by `close`. Or give an `engine` of your own; such a component cannot
    be saved. top_k, leave_out_abstained: see `EvidenceFinder`.

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
        self._parameters: dict[str, Any] = {
            "top_k": top_k,
            "leave_out_abstained": leave_out_abstained,
            "settings": settings,
            "recipe": recipe,
            "options": options,
        }
        self._finder_of(None, engine)  # says now what is wrong with top_k

    def warm_up(self) -> None:
        """Open the engine."""
        if self.engine is None:
            from ..api import Engine

            chosen = self._parameters
            self.engine = Engine(recipe=chosen["recipe"], options=chosen["options"], **(chosen["settings"] or {}))

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        self.warm_up()
        return {"documents": [_document(each) for each in self._finder_of(top_k, self.engine).find(query)]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        self.warm_up()
        return {"documents": [_document(each) for each in await self._finder_of(top_k, self.engine).afind(query)]}

    def close(self) -> None:
        """Give back the connections of an engine that was opened here."""
        if self.engine is not None and not self._given:
            self.engine.close()
            self.engine = None

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters; raise `UsageError` with an engine of the caller's."""
        if self._given:
            raise UsageError("expected settings, recipe and options, found an engine, which cannot be saved")
        return default_to_dict(self, **self._parameters)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LodestarRetriever:
        """Return a component with these parameters."""
        return default_from_dict(cls, data)

    def _finder_of(self, top_k: int | None, engine: Any) -> EvidenceFinder:
        kept = self._parameters["top_k"] if top_k is None else top_k
        return EvidenceFinder(engine, kept, self._parameters["leave_out_abstained"])


def _document(item: EvidenceItem) -> Document:
    return Document(id=item.id, content=item.text, score=item.score, meta=item.metadata)
