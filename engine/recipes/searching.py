"""Parts that search relation paths by beam: with similarity, which needs no training, or with a trained scorer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ...models.similarity import PEOPLE as PEOPLE_WEIGHTS
from ...models.similarity import Weights
from ..combinators import Then, TracedReorganiser
from ..errors import UsageError
from ..evidence.calibration import PEOPLE, SIMILARITY, Calibration
from ..evidence.evidence import Kind
from ..reorganising.lacking import SayingWhy
from ..reorganising.merging import Merging
from ..resources import GraphResources
from ..retrieval.beam import BeamSearch
from ..retrieval.frontier import Bounds
from ..retrieval.scoring import PathScorer
from ..retrieval.shortlisting import RelationShortlist
from ..retrieval.similarity import SimilarityScorer
from ..stages import Reorganiser, Retriever
from ..values import Topic
from .part import ReorganiserPart, RetrieverPart, described, option

if TYPE_CHECKING:
    from ..retrieval.dual_encoder import StarScorer

MAX_HOP = 4


@dataclass(frozen=True)
class Searching(RetrieverPart):
    """How far and how wide a beam search goes."""

    gives: ClassVar[Kind] = "chain"

    beam_width: int = option(10, "paths carried on at each hop", source="STAR, section 5.1", least=1, most=1_000)
    max_hop: int = option(2, "longest path in hops between named entities", source="STAR", least=1, most=MAX_HOP)
    max_topics: int = option(3, "linked entities that a search starts from", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be started from", least=0, most=1)
    link_weight: float = option(1.585, "log-odds that a link lacking 1 to the best one costs a path", least=0)
    meeting_bonus: float = option(0.0, "log-odds that a path gains which meets another topic's", least=0)
    return_to_topic: bool = option(False, "an entity that the question is about may be its answer")
    shortlist_from: int = option(0, "steps offered beyond which relations are shortlisted; 0: never", least=0)
    shortlist_relations: int = option(100, "relations nearest to the question that are kept then", least=1)
    bounds: Bounds = field(default_factory=Bounds, metadata=described("what one expansion may read"))

    def _search(
        self, graph: GraphResources, scorer: PathScorer, calibration: Calibration, *second_look: Reorganiser
    ) -> Retriever:
        """Return the search by a scorer, its second look, the merging of paths that meet, and why nothing fits."""
        search = BeamSearch(
            graph.relations,
            scorer,
            calibration=calibration,
            beam_width=self.beam_width,
            max_hop=self.max_hop,
            max_topics=self.max_topics,
            min_link=self.min_link,
            link_weight=calibration.from_log_odds(self.link_weight),
            slack=calibration.from_log_odds(self.meeting_bonus),
            return_to_topic=self.return_to_topic,
            bounds=self.bounds,
            shortlist=self._shortlist(graph),
            stored_as=graph.catalogue.stored_as,
        )
        rereads = [TracedReorganiser("rerank", look) for look in second_look]

        def nearest(text: str, topic: Topic, num_relations: int) -> frozenset[str]:
            shortlist = RelationShortlist(graph.index, graph.shared.vectors, least=0, num_relations=num_relations)
            return shortlist.relations([(text, topic)])[text, topic]

        merged = TracedReorganiser("merge", Merging(self.meeting_bonus))
        return Then(search, *rereads, merged, SayingWhy(scorer, calibration, graph.relations, nearest))

    def _shortlist(self, graph: GraphResources) -> RelationShortlist | None:
        if not self.shortlist_from:
            return None
        return RelationShortlist(
            graph.index, graph.shared.vectors, least=self.shortlist_from, num_relations=self.shortlist_relations
        )


@dataclass(frozen=True)
class Similarity(Searching):
    """Beam search scored by sentence similarity, without training."""

    name: ClassVar[str] = "similarity"

    link_weight: float = option(1.68, "log-odds that a link lacking 1 to the best one costs a path", least=0)
    meeting_bonus: float = option(0.672, "log-odds that a path gains which meets another topic's", least=0)
    shortlist: int = option(16, "candidates of a hop whose text is encoded whole", least=1, most=1_000)
    weights: Weights = field(
        default_factory=lambda: PEOPLE_WEIGHTS, metadata=described("what hops cost and are worth (docs/retrieval.md)")
    )

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the search."""
        return self._search(graph, self.scorer(graph), PEOPLE if self.weights.phrases else SIMILARITY)

    def scorer(self, graph: GraphResources) -> SimilarityScorer:
        """Return the scorer over the graph's relations."""
        shared = graph.shared
        return SimilarityScorer(
            graph.words, shared.encoder, weights=self.weights, shortlist=self.shortlist, vectors=shared.vectors
        )


@dataclass(frozen=True)
class Star(Searching):
    """Beam search by a trained scorer: a dual encoder, and a cross-attentive scorer that reads the best (STAR)."""

    name: ClassVar[str] = "star"
    kinds: ClassVar[tuple[str, ...]] = ("star",)

    checkpoint: str = option("", "folder of the trained scorer (docs/training.md)", source="lodestar train star")
    shortlist: int | None = option(
        None, "paths that the cross-attentive scorer reads", source="the checkpoint", least=0, most=1_000
    )
    mix: float | None = option(None, "weight of the cross-attentive scorer", source="the checkpoint", least=0, most=1)
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the search; raises `CheckpointError` for a checkpoint that cannot be read or is of another graph."""
        from ..reorganising.rescoring import Rescoring

        scorer = self.scorer(graph)
        description = scorer.model.checkpoint.description
        calibration = Calibration("logit", *description.calibration)
        mix = description.mix if self.mix is None else self.mix
        if not mix:
            return self._search(graph, scorer, calibration)
        if description.scorer != "cross":
            raise UsageError(
                f"{self.name}.mix: {self.checkpoint} has the scorer {description.scorer} alone, so mix is 0"
            )
        shortlist = description.shortlist if self.shortlist is None else self.shortlist
        link_weight = calibration.from_log_odds(self.link_weight)
        reading = Rescoring(scorer, shortlist=shortlist, mix=mix, link_weight=link_weight)
        return self._search(graph, scorer, calibration, reading)

    def scorer(self, graph: GraphResources) -> StarScorer:
        """Return the trained scorer over the graph's relations."""
        from ..retrieval.dual_encoder import star_scorer  # with PyTorch, which is slow to import

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        return star_scorer(graph.words, model, graph.shared.vectors_for)


@dataclass(frozen=True)
class Merge(ReorganiserPart):
    """Chains from different topics that meet share the entities they meet at (ReG, section 4.2)."""

    name: ClassVar[str] = "merge"
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    bonus: float = option(0.0, "log-odds that a chain gains which meets another topic's", least=0)

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the merging."""
        return Merging(self.bonus)
