"""Define the parts that link and retrieve: full-text linking, path search, scorers of triples and entities, GRIL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...models.ranges import Hops, Positive, Range, Share, Weight
from ...models.similarity import COSINE
from ..errors import UsageError
from ..evidence.calibration import SIMILARITY, Calibration
from ..evidence.evidence import Kind
from ..indexes.entity_index import EntityTypes, NearestEntitySearch
from ..linking.full_text import FullTextLinker, ValueLinker
from ..linking.reranking import RelationFeatureExtractor
from ..pipeline import ReorganisedRetriever, TracedReorganiser
from ..relations.words import words_of_relation
from ..reorganising.chaining import ChainMerger
from ..reorganising.no_answer import NoAnswerExplainer
from ..resources import GraphResources
from ..retrieval.beam import BeamSearch
from ..retrieval.scoring import Guide, PathScorer, SimilarityScorer, mask_mention
from ..stages import Answerer, Linker, Reorganiser, Retriever
from ..values import Topic
from .part import AnswererPart, LinkerPart, ReorganiserPart, RetrieverPart, option

if TYPE_CHECKING:
    from ..retrieval.dual_encoder import StarScorer
    from ..retrieval.triples import GraphRelations, GrowingRetriever, SubgraphScorer, TrainedTripleScorer


@dataclass(frozen=True)
class FullText(LinkerPart):
    """Links by names and aliases in the full-text index, and by the relations of the candidates."""

    name: ClassVar[str] = "full-text"

    top_k: Annotated[int, Range(1, 100)] = option(10, "candidates kept")
    values: bool = option(True, "allow a date, a number or a quoted text as a literal topic")

    def linker(self, graph: GraphResources) -> Linker:
        linker = FullTextLinker(
            top_k=self.top_k,
            type_words=graph.type_words,
            evidence=relation_evidence(graph),
            nearest=open_entity_search(graph),
        )
        types = (relation.number for relation in graph.catalogue.relations if graph.words[relation.name].is_type)
        return ValueLinker(linker, types) if self.values else linker


def relation_evidence(graph: GraphResources) -> RelationFeatureExtractor:
    """Return the evidence on whether the property that a question asks for exists at an entity of this graph.

    Relations are also read in what was said of them, but not in the lexicon's phrases, with which the weights of the
    evidence were not fitted.
    """
    relations = graph.catalogue.relations
    words = {r.number: words_of_relation(r, lambda p: p.origin != "lexicon") for r in relations}
    return RelationFeatureExtractor(words, EntityTypes(graph.catalogue), graph.shared.vectors)


def open_entity_search(graph: GraphResources) -> NearestEntitySearch | None:
    """Return the search in the entity index of this graph; None if there is no usable index."""
    index = graph.entity_index
    return None if index is None else NearestEntitySearch(index, graph.shared.vectors)


@dataclass(frozen=True)
class BeamSearchPart(RetrieverPart):
    """Options of a beam search."""

    gives: ClassVar[Kind] = "chain"

    beam_width: Annotated[int, Range(1, 1_000)] = option(10, "paths kept at each hop", source="STAR, section 5.1")
    max_hop: Hops = option(2, "longest path in hops between named entities", source="STAR")
    return_to_topic: bool = option(False, "allow a topic entity as an answer")

    link_weight: ClassVar[float] = 1.585
    """Log-odds that a path loses per 1 that its link scores below the best."""

    @property
    def bonus(self) -> float:
        """Log-odds that a path gains for meeting another topic's path."""
        return 0.0

    def _search(
        self,
        graph: GraphResources,
        scorer: PathScorer,
        calibration: Calibration | None,
        *second_look: Reorganiser,
        doubts: bool = False,
    ) -> Retriever:
        """Return the beam search, followed by the second look, the merging of paths that meet, how sure the first
        answer is, and the reason if nothing fits.
        """
        scale = calibration or Calibration("logit")
        search = BeamSearch(
            graph.relations,
            scorer,
            calibration=calibration,
            beam_width=self.beam_width,
            max_hop=self.max_hop,
            link_weight=scale.from_log_odds(self.link_weight),
            slack=scale.from_log_odds(self.bonus),
            return_to_topic=self.return_to_topic,
            stored_as=graph.catalogue.stored_as,
        )
        rereads = [TracedReorganiser("rerank", look) for look in second_look]
        merged = TracedReorganiser("merge", ChainMerger(self.bonus))
        explained = [self._explainer(graph, scorer, calibration, doubts=doubts)] if calibration else []
        return ReorganisedRetriever(search, *rereads, merged, *explained)

    def _explainer(
        self, graph: GraphResources, scorer: PathScorer, calibration: Calibration, *, doubts: bool
    ) -> NoAnswerExplainer:
        def nearest(text: str, topic: Topic, num_relations: int) -> frozenset[str]:
            masked = graph.shared.vectors.stack([mask_mention(text, topic)])
            return graph.index.nearest(masked, num_relations)[0]

        return NoAnswerExplainer(scorer, calibration, graph.relations, nearest, doubts=doubts)


@dataclass(frozen=True)
class Similarity(BeamSearchPart):
    """Beam search scored by sentence similarity, without training."""

    name: ClassVar[str] = "similarity"

    link_weight: ClassVar[float] = 1.68

    meeting_bonus: Weight = option(0.672, "log-odds that a path gains for meeting another topic's path")
    cosine: bool = option(False, "score by the cosine alone, without probabilities", source="STAR's baseline")

    def retriever(self, graph: GraphResources) -> Retriever:
        return self._search(graph, self.scorer(graph), None if self.cosine else SIMILARITY, doubts=True)

    def scorer(self, graph: GraphResources) -> SimilarityScorer:
        shared = graph.shared
        weights = COSINE if self.cosine else None
        return SimilarityScorer(graph.words, shared.encoder, weights=weights, vectors=shared.vectors)

    @property
    def bonus(self) -> float:
        return self.meeting_bonus


@dataclass(frozen=True)
class Star(BeamSearchPart):
    """Beam search with two trained networks: a dual encoder guides it, a cross-attentive scorer reads the best paths
    (STAR).
    """

    name: ClassVar[str] = "star"
    kinds: ClassVar[tuple[str, ...]] = ("star",)

    checkpoint: str = option("", "folder of the trained scorer (docs/training.md)", source="lodestar train star")
    shortlist: Annotated[int, Range(0, 1_000)] | None = option(
        None, "paths that the cross-attentive scorer reads", source="the checkpoint"
    )
    mix: Share | None = option(None, "weight of the cross-attentive scorer", source="the checkpoint")
    guide: Guide = option(
        "dual",
        "network that scores each hop: dual, or cross (the paper's: slow, without probabilities)",
        source="STAR, algorithm 3",
    )
    any_graph: bool = option(False, "allow a checkpoint that was trained on another graph")

    def retriever(self, graph: GraphResources) -> Retriever:
        from ..retrieval.dual_encoder import ShortlistRescorer

        scorer = self.scorer(graph)
        description = scorer.model.checkpoint.description
        if self.guide == "cross":
            if description.scorer != "cross":
                raise UsageError(
                    f"{self.name}.guide: expected a checkpoint with a cross-attentive scorer, found {self.checkpoint} "
                    f"with only the scorer {description.scorer}: train one with --set scorer=cross"
                )
            return self._search(graph, scorer, None)
        calibration = Calibration("logit", *description.calibration)
        mix = description.mix if self.mix is None else self.mix
        if not mix:
            return self._search(graph, scorer, calibration)
        if description.scorer != "cross":
            raise UsageError(
                f"{self.name}.mix: {self.checkpoint} has only the scorer {description.scorer}, so mix must be 0"
            )
        shortlist = description.shortlist if self.shortlist is None else self.shortlist
        link_weight = calibration.from_log_odds(self.link_weight)
        rescoring = ShortlistRescorer(scorer, shortlist=shortlist, mix=mix, link_weight=link_weight)
        return self._search(graph, scorer, calibration, rescoring)

    def scorer(self, graph: GraphResources) -> StarScorer:
        from ..retrieval.dual_encoder import StarScorer  # PyTorch is slow to import

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        return StarScorer(graph.words, model, self.guide)


@dataclass(frozen=True)
class Merge(ReorganiserPart):
    """Merges chains from different topics at the entities where they meet (ReG, section 4.2)."""

    name: ClassVar[str] = "merge"
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    bonus: Weight = option(0.0, "log-odds that a chain gains for meeting another topic's chain")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        return ChainMerger(self.bonus)


@dataclass(frozen=True)
class RegPath(BeamSearchPart):
    """Beam search over relation paths from a language model with a LoRA (ReG@Path, docs/papers.md)."""

    name: ClassVar[str] = "reg-path"
    kinds: ClassVar[tuple[str, ...]] = ("reg-path",)

    checkpoint: str = option("", "folder of the trained LoRA (docs/papers.md)", source="lodestar train reg-path")
    model: str = option("", "language model of the LoRA, by name or folder", source="the checkpoint")
    any_graph: bool = option(False, "allow a checkpoint that was trained on another graph")

    def retriever(self, graph: GraphResources) -> Retriever:
        from ..retrieval.path_decoder import GenerativePathScorer

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph, language_model=self.model)
        calibration = Calibration("logit", *model.description.calibration)
        return self._search(graph, GenerativePathScorer(graph.words, model, self.beam_width), calibration)


@dataclass(frozen=True)
class SubgraphPart(RetrieverPart):
    """Options of retrievers that score the triples of the subgraphs around topic entities."""

    gives: ClassVar[Kind] = "triple"

    checkpoint: str = option("", "folder of the trained scorer")
    keep: Positive = option(100, "triples kept")
    any_graph: bool = option(False, "allow a checkpoint that was trained on another graph")


@dataclass(frozen=True)
class RegTriple(SubgraphPart):
    """The triples around the topics, scored by a trained network (ReG@Triple, docs/papers.md)."""

    name: ClassVar[str] = "reg-triple"
    kinds: ClassVar[tuple[str, ...]] = ("reg-triple",)

    checkpoint: str = option("", "folder of the trained scorer (docs/papers.md)", source="lodestar train reg-triple")

    def retriever(self, graph: GraphResources) -> Retriever:
        from ..retrieval.triples import TripleRetriever

        return TripleRetriever(subgraph_scorer(self, graph), keep=self.keep)


@dataclass(frozen=True)
class RegEntity(SubgraphPart):
    """The triples around the topics, scored by a graph neural network over their entities (ReG@Entity)."""

    name: ClassVar[str] = "reg-entity"
    kinds: ClassVar[tuple[str, ...]] = ("reg-entity",)

    checkpoint: str = option("", "folder of the trained scorer (docs/papers.md)", source="lodestar train reg-entity")
    keep: Positive = option(300, "pairs of entities whose triples are kept", source="ReG, appendices D.3 and E")

    def retriever(self, graph: GraphResources) -> Retriever:
        from ..retrieval.triples import TripleRetriever

        return TripleRetriever(subgraph_scorer(self, graph), keep=self.keep, merge_parallel=True)


def subgraph_scorer(part: SubgraphPart, graph: GraphResources) -> SubgraphScorer:
    """Return the scorer of triples that a part's checkpoint has, over the subgraphs that the part reads."""
    from ..retrieval.triples import SubgraphScorer

    model: TrainedTripleScorer = graph.model(part.checkpoint, *part.kinds, any_graph=part.any_graph)
    vectors = graph.shared.vectors_for(model.description)
    return SubgraphScorer(relations_of(graph), vectors, model)


def relations_of(graph: GraphResources) -> GraphRelations:
    """Return what the walk over subgraphs needs of a graph's relations."""
    from ..retrieval.triples import GraphRelations

    words = {number: graph.words[name] for number, name in graph.relations.items()}
    return GraphRelations(graph.relations, words, graph.catalogue.stored_as)


@dataclass(frozen=True)
class Gril(SubgraphPart):
    """The triples with the most attention as a trained network grows and prunes a subgraph (GRIL, docs/papers.md)."""

    name: ClassVar[str] = "gril"
    kinds: ClassVar[tuple[str, ...]] = ("gril",)

    checkpoint: str = option("", "folder of the trained retriever (docs/papers.md)", source="lodestar train gril")

    def retriever(self, graph: GraphResources) -> GrowingRetriever:
        from ..retrieval.triples import GrowingRetriever

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph).retriever
        vectors = graph.shared.vectors_for(model.description)
        return GrowingRetriever(relations_of(graph), vectors, model, keep=self.keep)


@dataclass(frozen=True)
class AdaptiveK(ReorganiserPart):
    """Keeps a number of triples for each hop that is predicted from the question's text (docs/papers.md)."""

    name: ClassVar[str] = "adaptive-k"
    kinds: ClassVar[tuple[str, ...]] = ("gril",)
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    checkpoint: str = option("", "folder that `lodestar train gril` wrote, for any graph", source="lodestar train gril")
    per_hop: Positive = option(5, "triples kept for each hop", source="GRIL, appendix C.2")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        from ..reorganising.filtering import AdaptiveKFilter

        return AdaptiveKFilter(graph.shared.model(self.checkpoint, *self.kinds).hops, per_hop=self.per_hop)


@dataclass(frozen=True)
class GrilReader(AnswererPart):
    """Answers from gril's evidence with the reader that was trained jointly with it (docs/papers.md)."""

    name: ClassVar[str] = "gril"
    kinds: ClassVar[tuple[str, ...]] = ("gril",)

    checkpoint: str = option(
        "", "folder of a gril that was trained with a reader", source="lodestar train gril --reader"
    )

    def answerer(self, graph: GraphResources) -> Answerer:
        from ...models.text.verbalise import DirectedRelation, verbalise_hop
        from ..answering.gril_answers import GenerativeAnswerer, PassageWriter, PointerAnswerer

        self.check()
        model = graph.shared.model(self.checkpoint, *self.kinds)
        num_phrases = model.description.subgraph.phrases
        texts = {name: verbalise_hop((DirectedRelation(words),), num_phrases) for name, words in graph.words.items()}
        reader = model.reader
        passages = PassageWriter(reader, model.hops, texts)
        return (PointerAnswerer if reader.options.reads == "pointing" else GenerativeAnswerer)(passages)
