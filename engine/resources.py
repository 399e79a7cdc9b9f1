"""What the stages of a pipeline share: each opened when a stage first asks for it, checked in this one place."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..models.encoder import EncoderUnavailableError, SentenceEncoder
from ..models.encoding.vector_store import VectorStore
from ..models.placement import Placement, PlacementError
from ..models.text_vectors import TextVectors
from ..models.verbalise import RelationWords
from .chat.gateway import ChatGateway
from .database.catalogue import Catalogue, Edition
from .database.gateway import Connection
from .errors import CheckpointError, EncoderError, UsageError
from .relations.words import type_words, words_of_relation
from .settings import Settings

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from ..models.causal_lm import CausalLM
    from ..models.gril.hops import HopModel
    from ..models.gril.reading.model import ReaderModel
    from ..models.gril.scoring import GrilModel
    from ..models.reg.entities.scoring import EntityModel
    from ..models.reg.paths.scoring import PathModel
    from ..models.reg.plans.writing import PlanModel
    from ..models.reg.scoring import TripleModel
    from ..models.star.checkpoint import Description
    from ..models.star.scoring import StarModel
    from ..models.training.description import ModelDescription
    from .entities.index import EntityIndex
    from .linking.trained import TrainedWeighing
    from .relations.index import RelationIndex

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Resources:
    """One holder for each engine; threads may share it.

    What does not depend on the graph is opened once in its life: the encoder and the vectors it made, checkpoints, the
    language model's gateway. `of_graph` gives what belongs to one edition of the graph.
    """

    def __init__(self, settings: Settings, connection: Connection) -> None:
        self.settings = settings
        self.connection = connection
        self.placement = Placement(settings.device, settings.precision)
        self._turn = threading.RLock()
        self._opened: dict[object, Any] = {}
        self._stores: list[VectorStore] = []

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return what was made under this key, or make it. One thread makes it, the others wait."""
        with self._turn:
            if key not in self._opened:
                self._opened[key] = make()
            made: T = self._opened[key]
            return made

    def provide(self, value: object) -> None:
        """Hand in what cannot be opened from here, for parts that ask for its type with `provided`."""
        with self._turn:
            self._opened["provided", type(value)] = value

    def provided(self, type_: type[T], part: str) -> T:
        """Return what was handed in; raise `UsageError` where nothing was: `part` cannot be used here."""
        value: T | None = self._opened.get(("provided", type_))
        if value is None:
            raise UsageError(
                f"part {part}: it needs the questions of a set and the whole graph: use it in `lodestar eval`"
            )
        return value

    @property
    def encoder(self) -> SentenceEncoder:
        """The sentence encoder, loaded; raises `EncoderError` where it cannot be."""
        return self.once("encoder", self._loaded_encoder)

    @property
    def vectors(self) -> TextVectors:
        """The vectors of all texts that were encoded so far."""
        return self.once("vectors", lambda: self._kept_vectors(self.encoder))

    @property
    def chat(self) -> ChatGateway:
        """The gateway to the language model; raises `LLMError` where none is configured."""
        return self.once("chat", lambda: ChatGateway.of(self.settings, self.causal_lm))

    @property
    def chat_opened(self) -> ChatGateway | None:
        """The same where a stage has asked for it, else None."""
        return self._opened.get("chat")

    def description(self, folder: str) -> Description:
        """Return what a checkpoint says of itself; raise `CheckpointError` where there is none."""
        from ..models.star.checkpoint import read_description

        return self._checkpoint(("description", folder), lambda: read_description(Path(folder)))

    def star(self, folder: str) -> StarModel:
        """Return a trained scorer, every file of it checked; raise `CheckpointError` where it cannot be read."""
        from ..models.star.checkpoint import read_checkpoint
        from ..models.star.scoring import StarModel

        def read() -> StarModel:
            return StarModel(read_checkpoint(Path(folder), self.device, self.placement.dtype))

        return self._checkpoint(("star", folder), read)

    def vectors_of(self, encoder: str) -> TextVectors:
        """Return the vectors of an encoder, which may be another than the settings'."""
        if encoder == self.settings.encoder:
            return self.vectors
        return self.once(("vectors", encoder), lambda: self._kept_vectors(SentenceEncoder(encoder, device=self.device)))

    def triple_model(self, folder: str) -> TripleModel:
        """Return a trained scorer of triples; raise `CheckpointError` where it cannot be read."""
        from ..models.reg.checkpoint import read_triple_scorer
        from ..models.reg.scoring import TripleModel

        def read() -> TripleModel:
            description, network = read_triple_scorer(Path(folder), self.device)
            return TripleModel(description, network, self.vectors_of(description.encoder))

        return self._checkpoint(("reg-triple", folder), read)

    def linker_model(self, folder: str) -> TrainedWeighing:
        """Return a trained linker; raise `CheckpointError` where it cannot be read, or is of other features."""
        from .linking.trained import read_trained

        return self._checkpoint(("linker", folder), lambda: read_trained(Path(folder)))

    def entity_model(self, folder: str) -> EntityModel:
        """Return a trained scorer of entities; raise `CheckpointError` where it cannot be read."""
        from ..models.reg.entities.checkpoint import read_entity_scorer
        from ..models.reg.entities.scoring import EntityModel

        def read() -> EntityModel:
            description, network = read_entity_scorer(Path(folder), self.device)
            return EntityModel(description, network, self.vectors_of(description.encoder))

        return self._checkpoint(("reg-entity", folder), read)

    def gril_model(self, folder: str) -> GrilModel:
        """Return a trained graph retriever; raise `CheckpointError` where it cannot be read."""
        from ..models.gril.checkpoint import read_bridge, read_graph_retriever
        from ..models.gril.scoring import GrilModel

        def read() -> GrilModel:
            description, network = read_graph_retriever(Path(folder), self.device)
            has_token = description.reader is not None and description.reader.token
            bridge = read_bridge(Path(folder), self.device) if has_token else None
            return GrilModel(description, network, self.vectors_of(description.encoder), bridge)

        return self._checkpoint(("gril", folder), read)

    def hop_model(self, folder: str) -> HopModel:
        """Return what predicts a question's hops; raise `CheckpointError` where it cannot be read."""
        from ..models.gril.checkpoint import read_hop_predictor
        from ..models.gril.hops import HopModel

        def read() -> HopModel:
            description, network = read_hop_predictor(Path(folder), self.device)
            return HopModel(network, self.vectors_of(description.encoder))

        return self._checkpoint(("hops", folder), read)

    def gril_reader(self, folder: str) -> ReaderModel:
        """Return the reader that learned with a graph retriever; raise `CheckpointError` where there is none."""
        from ..models.gril.checkpoint import read_reader
        from ..models.gril.reading.model import ReaderModel

        return self._checkpoint(("gril-reader", folder), lambda: ReaderModel(*read_reader(Path(folder), self.device)))

    def path_model(self, folder: str) -> PathModel:
        """Return a trained decoder of paths; raise `CheckpointError` where it cannot be read."""
        from ..models.reg.paths.checkpoint import read_path_decoder
        from ..models.reg.paths.scoring import PathModel

        def read() -> PathModel:
            description, network = read_path_decoder(Path(folder), self.device)
            return PathModel(description, network, self.vectors_of(description.encoder))

        return self._checkpoint(("reg-path", folder), read)

    def plan_model(self, folder: str, model: str) -> PlanModel:
        """Return a LoRA that writes paths, on its language model; raise `CheckpointError` where it cannot be read.

        model: where the language model is, if not where it was trained.
        """
        from ..models.reg.plans.checkpoint import read_plan_writer
        from ..models.reg.plans.writing import PlanModel

        return self._checkpoint(
            ("reg-path-lm", folder, model), lambda: PlanModel(*read_plan_writer(Path(folder), model, self.device))
        )

    def causal_lm(self, name: str) -> CausalLM:
        """Return a language model that runs here, loaded when it is first asked."""
        from ..models.causal_lm import CausalLM

        return self.once(("causal", name), lambda: CausalLM(name, device=self.device))

    def reranker(self, name: str) -> CrossEncoder:
        """Return a cross-encoder, loaded; raises `EncoderError` where it cannot be."""
        from ..models.reranker import RerankerUnavailableError, loaded_reranker

        def load() -> CrossEncoder:
            try:
                return loaded_reranker(name, self.device)
            except RerankerUnavailableError as error:
                raise EncoderError(str(error)) from error

        return self.once(("reranker", name), load)

    @property
    def device(self) -> str:
        """Where networks compute; raises `UsageError` for a device that is not there."""
        try:
            return self.placement.torch_device
        except PlacementError as error:
            raise UsageError(f"device: {error}") from error

    def of_graph(self, catalogue: Catalogue, edition: Edition | None = None) -> GraphResources:
        """Return the resources of the graph with this catalogue; its edition, where it is known, dates what is kept."""
        return GraphResources(self, catalogue, edition)

    def close(self) -> None:
        """Give the language model's connections back, and the files of vectors."""
        if (chat := self.chat_opened) is not None:
            chat.close()
        for store in self._stores:
            store.close()

    def _checkpoint(self, key: object, read: Callable[[], T]) -> T:
        """Return a checkpoint that was opened before, or read it; raise `CheckpointError` where it cannot be."""
        from ..models.training.description import CheckpointError as Unreadable

        def opened() -> T:
            try:
                return read()
            except Unreadable as error:
                raise CheckpointError(str(error)) from error

        return self.once(key, opened)

    def _kept_vectors(self, encoder: SentenceEncoder) -> TextVectors:
        """Return vectors that are kept in the home folder from one run to the next, where it is sure whose they are."""
        store = None
        if encoder.weights_digest is not None:
            store = VectorStore(self.settings.home_dir / "vectors" / f"{encoder.weights_digest}.sqlite")
            self._stores.append(store)
        return TextVectors(encoder, store=store)

    def _loaded_encoder(self) -> SentenceEncoder:
        device = None if self.placement.device == "auto" else self.device
        encoder = SentenceEncoder(self.settings.encoder, device=device)
        try:
            encoder.encode(["warm"])
        except EncoderUnavailableError as error:
            raise EncoderError(str(error)) from error
        return encoder


class GraphResources:
    """What belongs to one edition of a graph, beside the engine's own `resources`."""

    def __init__(self, resources: Resources, catalogue: Catalogue, edition: Edition | None = None) -> None:
        self.shared = resources
        self.catalogue = catalogue
        self.edition = edition
        self._turn = threading.Lock()

    @cached_property
    def relations(self) -> Mapping[int, str]:
        """Names by catalogue number."""
        return {relation.number: relation.name for relation in self.catalogue.relations}

    @cached_property
    def words(self) -> Mapping[str, RelationWords]:
        """The words of each relation, by name."""
        return {relation.name: words_of_relation(relation) for relation in self.catalogue.relations}

    @cached_property
    def type_words(self) -> frozenset[str]:
        """Single words that name a type of things: domains and ranges of relations, and what relations lead to."""
        types = {type_words(type_) for r in self.catalogue.relations for type_ in (r.domain, r.range)}
        ends = {words.properties[-1] for words in self.words.values()}
        return frozenset(word for word in types | ends if word and " " not in word)

    @cached_property
    def entity_index(self) -> EntityIndex | None:
        """The entity index, mapped from disk; None where none was made, or by another encoder.

        One that was made before the graph's last load is used, with a warning: what it gives that the graph has no
        more is left out, what came since is not in it.
        """
        from .relations.index import index_folder

        folder = index_folder(self.shared.settings, self.shared.connection)
        if not (folder / "entities.json").exists():
            return None
        from .entities.index import open_entity_index  # with FAISS, which is slow to import

        index = open_entity_index(folder, self.shared.encoder.revision)
        if index is not None and self.edition not in (None, index.meta.edition):
            _log.warning(
                "the graph has changed since its entity index was made: what came since is found by its words alone; "
                "`lodestar index entities` adds it"
            )
        return index

    @property
    def index(self) -> RelationIndex:
        """The relation index, from disk where it is current, else built."""
        with self._turn:
            return self._index

    def star(self, folder: str, *, any_graph: bool = False) -> StarModel:
        """Return a trained scorer; raise `CheckpointError` where it was trained on a graph with other relations."""
        description = self.shared.description(folder)
        if not any_graph:
            self._check_trained_here(folder, description)
        return self.shared.star(folder)

    def triple_model(self, folder: str, *, any_graph: bool = False) -> TripleModel:
        """Return a trained scorer of triples; raise `CheckpointError` where it was trained on another graph."""
        model = self.shared.triple_model(folder)
        if not any_graph:
            self._check_trained_here(folder, model.description)
        return model

    def entity_model(self, folder: str, *, any_graph: bool = False) -> EntityModel:
        """Return a trained scorer of entities; raise `CheckpointError` where it was trained on another graph."""
        model = self.shared.entity_model(folder)
        if not any_graph:
            self._check_trained_here(folder, model.description)
        return model

    def gril_model(self, folder: str, *, any_graph: bool = False) -> GrilModel:
        """Return a trained graph retriever; raise `CheckpointError` where it was trained on another graph."""
        model = self.shared.gril_model(folder)
        if not any_graph:
            self._check_trained_here(folder, model.description)
        return model

    def path_model(self, folder: str, *, any_graph: bool = False) -> PathModel:
        """Return a trained decoder of paths; raise `CheckpointError` where it was trained on another graph."""
        model = self.shared.path_model(folder)
        if not any_graph:
            self._check_trained_here(folder, model.description)
        return model

    def plan_model(self, folder: str, model: str, *, any_graph: bool = False) -> PlanModel:
        """Return a LoRA that writes paths; raise `CheckpointError` where it was trained on another graph."""
        found = self.shared.plan_model(folder, model)
        if not any_graph:
            self._check_trained_here(folder, found.description)
        return found

    def _check_trained_here(self, folder: str, description: ModelDescription) -> None:
        if description.any_graph or self.catalogue.vocabulary in description.graphs:
            return
        sets = ", ".join(dict.fromkeys(each.questions for each in description.train))
        raise CheckpointError(
            f"{folder} was trained on another graph ({sets}; its relations differ from the "
            f"{len(self.catalogue.relations):,} here): load that graph, train on this one, or allow it with "
            "--any-graph"
        )

    @cached_property
    def _index(self) -> RelationIndex:
        from .relations.index import index_folder, open_index  # with FAISS, which is slow to import

        shared = self.shared
        folder = index_folder(shared.settings, shared.connection)
        return open_index(folder, self.catalogue, shared.encoder, shared.device)
