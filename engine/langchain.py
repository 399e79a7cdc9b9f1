"""Offer Lodestar as a LangChain retriever: one document for each item of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from .errors import EntityNotFoundError, UsageError
from .evidence.chain import Chain
from .evidence.evidence import Evidence, Item
from .evidence.extras import FormResult
from .evidence.plain import FORMAT, item_data
from .evidence.text import item_text
from .settings import resolve

if TYPE_CHECKING:
    from .recipes.part import Expression, Part
    from .recipes.recipe import Recipe


MAX_NAMED = 20


class LodestarRetriever(BaseRetriever):
    """Retrieves reasoning paths from a knowledge graph in Neo4j, best first, one document each.

    ``page_content`` is the chain, or the triple, in words; ``metadata`` is plain data for JSON: `source`, `format`,
    `kind`, the item as in docs/evidence.md, and `abstained`: whether `ask` would say that there is no answer, None
    where only a language model can say. A question without a known entity gives no documents; everything else that goes
    wrong is a `LodestarError`. Use it as a context manager, or call `close`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Any = Field(repr=False, exclude=True)
    """The `Engine`, or anything with its `retrieve` and `aretrieve`."""

    k: int = Field(default=10, ge=1)
    """The most documents to return; `invoke(question, k=3)` overrides it for one call."""

    leave_out_abstained: bool = False
    """Whether a question that `ask` has no answer to gives no documents."""

    @classmethod
    def from_settings(
        cls,
        *,
        k: int = 10,
        leave_out_abstained: bool = False,
        recipe: str | Part | Expression | Recipe | None = None,
        options: Mapping[str, Any] | None = None,
        allow_parts: bool = False,
        **flags: Any,
    ) -> LodestarRetriever:
        """Return a retriever over the graph these settings name (`uri`, `name`, …); the rest as on the command line.

        recipe, options, allow_parts: as of `Engine`; a trained scorer is ``options={"star.checkpoint": "folder"}``.
        """
        from .api import Engine

        engine = Engine(resolve(flags), recipe=recipe, options=options, allow_parts=allow_parts)
        return cls(engine=engine, k=k, leave_out_abstained=leave_out_abstained)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        top_k = self._top_k(k)
        try:
            evidence = self.engine.retrieve(query, top_k=top_k)
        except EntityNotFoundError:
            return []
        return self._documents(evidence, top_k)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        top_k = self._top_k(k)
        try:
            evidence = await self.engine.aretrieve(query, top_k=top_k)
        except EntityNotFoundError:
            return []
        return self._documents(evidence, top_k)

    def close(self) -> None:
        """Give the engine's connections back."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _documents(self, evidence: Evidence[Item], top_k: int) -> list[Document]:
        abstained = _abstains(self.engine, evidence)
        if abstained and self.leave_out_abstained:
            return []
        found = documents(evidence)[:top_k]
        for document in found:
            document.metadata["abstained"] = abstained
        return found

    def _top_k(self, k: int | None) -> int:
        if k is None:
            return self.k
        if k < 1:
            raise UsageError(f"k: expected at least 1 document, found {k}")
        return k


def _abstains(engine: Any, evidence: Evidence[Item]) -> bool | None:
    """Return whether `ask` would say that there is no answer, None where a language model decides that."""
    answerer = getattr(getattr(engine, "recipe", None), "answerer", None)
    if getattr(answerer, "name", "") != "extractive":
        return None
    return not engine.answer_evidence([evidence])[0].found


def documents(evidence: Evidence[Item]) -> list[Document]:
    """Return one document for each item of evidence, best first."""
    found = [_document(evidence, index) for index in range(len(evidence.items))]
    form = evidence.extra_of(FormResult)
    return found if form is None else [_form_document(evidence, form), *found]


def _form_document(evidence: Evidence[Item], form: FormResult) -> Document:
    """Return what came of a question of a form, as how many, before the paths that it rests on."""
    names = ", ".join(each.entity.label for each in form.found[:MAX_NAMED])
    said = form.reason or form.says or (str(form.total) if form.counted else names)
    return Document(
        id=f"form {evidence.question.text}",
        page_content=f"{said} ({form.text})",
        metadata={"source": "lodestar", "format": FORMAT, "kind": "form", **form.as_json()},
    )


def _document(evidence: Evidence[Item], index: int) -> Document:
    item = evidence.items[index].value
    return Document(
        id=_identity(item),
        page_content=item_text(item),
        metadata={"source": "lodestar", "format": FORMAT, "kind": evidence.kind, **item_data(evidence, index)},
    )


def _identity(item: Item) -> str:
    if isinstance(item, Chain):
        return f"{item.topic.id} {item.relation_path}"
    return f"{item.head.id} {item.relation} {item.tail.id}"
