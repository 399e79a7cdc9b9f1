"""Offer Lodestar to LlamaIndex: a retriever."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from . import EvidenceFinder, EvidenceItem


class LodestarRetriever(BaseRetriever):
    """Retrieves reasoning paths as nodes with scores, best first.

    engine, top_k, leave_out_abstained: see `EvidenceFinder`. A node's metadata is that of `EvidenceItem`; it stands in
    no prompt and no embedding. Other keyword arguments are those of LlamaIndex's retrievers.
    """

    def __init__(self, engine: Any, *, top_k: int = 10, leave_out_abstained: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._finder = EvidenceFinder(engine, top_k, leave_out_abstained)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(each) for each in self._finder.find(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(item: EvidenceItem) -> NodeWithScore:
    hidden = list(item.metadata)
    node = TextNode(
        id_=item.id,
        text=item.text,
        metadata=item.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=item.score)
