"""What the stages of a pipeline share: each opened when a stage first asks for it, checked in this one place."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..models.encoder import BUNDLED, EncoderUnavailableError, SentenceEncoder
from ..models.encoding.vector_store import VectorStore
from ..models.one_line import one_line
from ..models.placement import Placement, PlacementError
from ..models.text_vectors import TextVectors
from ..models.training.description import CheckpointError as Unreadable
from ..models.training.description import ModelDescription, described
from ..models.training.kind import AnyKind, ModelKind, Opening, kind_in, load_kind
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
    from ..models.training.description import ModelDescription
    from .entities.index import EntityIndex
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

    def describe(self, folder: str, *kinds: str | AnyKind) -> tuple[AnyKind, ModelDescription]:
        """Return the kind of a checkpoint, one of `kinds` or any installed one, and what it says of itself.

        Raises `CheckpointError` where there is none of these, or it is damaged.
        """

        def read() -> tuple[AnyKind, ModelDescription]:
            kind = kind_in(Path(folder), [each if isinstance(each, ModelKind) else load_kind(each) for each in kinds])
            return kind, described(Path(folder), kind.description)[0]

        return self._checkpoint(("description", folder, *kinds), read)

    def model(self, folder: str, *kinds: str | AnyKind, language_model: str = "") -> Any:
        """Return what scores with a checkpoint, opened by the checkpoint's own kind, every file of it checked.

        kinds: those that are expected. language_model: of a LoRA, where its language model is, if not where it was
        trained. Raises `CheckpointError` where the checkpoint cannot be read or is of another kind.
        """
        kind, _ = self.describe(folder, *kinds)
        opening = Opening(self.device, self.placement.dtype, self.vectors_for, language_model)
        return self._checkpoint(("model", kind.name, folder, language_model), lambda: kind.open(Path(folder), opening))

    def vectors_of(self, encoder: str) -> TextVectors:
        """Return the vectors of an encoder, which may be another than the settings'."""
        if encoder == self.settings.encoder:
            return self.vectors
        return self.once(("vectors", encoder), lambda: self._kept_vectors(SentenceEncoder(encoder, device=self.device)))

    def vectors_for(self, description: ModelDescription) -> TextVectors:
        """Return the vectors of the encoder that a checkpoint reads texts with.

        A checkpoint may come from anywhere: raises `CheckpointError` for an encoder that no setting names, or whose
        weights are others than those that it was trained with.
        """
        name = description.encoder
        more = (each.strip() for each in self.settings.encoders.split(","))
        if name not in {self.settings.encoder, *more, *BUNDLED}:
            raise CheckpointError(
                f"a checkpoint of kind {description.kind} reads texts with the encoder {one_line(repr(name), 200)}, "
                "which no setting names: where you trust it, add it to the setting encoders (LODESTAR_ENCODERS)"
            )
        vectors = self.vectors_of(name)
        digest = vectors.encoder.weights_digest
        if description.encoder_digest and digest and digest != description.encoder_digest:
            raise CheckpointError(
                f"a checkpoint of kind {description.kind} was trained with other weights of the encoder {name!r} than "
                "those that are here: fetch those, or train it again"
            )
        return vectors

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
            _ = encoder.dimension  # encodes a text
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

        index = open_entity_index(folder, self.shared.encoder)
        if index is not None and self.edition is not None and self.edition[:4] != index.meta.edition[:4]:
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

    def model(self, folder: str, *kinds: str | AnyKind, any_graph: bool = False, language_model: str = "") -> Any:
        """Return what scores with a checkpoint, see `Resources.model`.

        Raises `CheckpointError` where it was trained on a graph with other relations, but for `any_graph`.
        """
        if not any_graph:
            self._check_trained_here(folder, self.shared.describe(folder, *kinds)[1])
        return self.shared.model(folder, *kinds, language_model=language_model)

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
