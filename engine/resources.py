"""Open models, indexes and vectors for the stages of a pipeline, each once, and check them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..models import one_line
from ..models.placement import Placement, PlacementError
from ..models.text import RelationWords
from ..models.text.encoders import BUNDLED, EncoderUnavailableError, SentenceEncoder
from ..models.text.vectors import SqliteVectorStore, TextVectors
from .errors import ModelError, UsageError, translate_import_errors
from .evidence.text import Labels, select_informative_labels
from .neo4j.catalogue import Edition, RelationCatalogue
from .relations import SHORTLIST_FROM, RelationIndex, make_words_by_relation
from .settings import Connection, Settings

if TYPE_CHECKING:
    from ..models.kinds import ModelDescription, ModelKind
    from .llm.gateway import ChatGateway

T = TypeVar("T")


class _Cache:
    """Holds what is made once, safe to use from several threads."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._made: dict[object, Any] = {}

    def get_or_make(self, key: object, make: Callable[[], T]) -> T:
        """Return the value for this key, such as what a part opened; the first call makes it, other threads wait."""
        with self._turn:
            if key not in self._made:
                self._made[key] = make()
            made: T = self._made[key]
            return made


class EngineResources(_Cache):
    """Hold what the stages share; one for each engine.

    The encoder with its vectors, checkpoints and the language model's gateway do not depend on the graph and are opened
    once. `GraphResources` has what belongs to one edition of the graph.
    """

    def __init__(self, settings: Settings, connection: Connection) -> None:
        super().__init__()
        self.settings = settings
        self.connection = connection
        self.placement = Placement(settings.device, settings.precision)
        self._stores: list[SqliteVectorStore] = []

    @property
    def vectors(self) -> TextVectors:
        return self.vectors_of(self.settings.encoder)

    @property
    def chat(self) -> ChatGateway:
        """The gateway to the language model. Raises `LLMError` if none is configured."""
        from .llm.gateway import ChatGateway

        return self.get_or_make("chat", lambda: ChatGateway.of(self.settings))

    @property
    def chat_opened(self) -> ChatGateway | None:
        """The gateway to the language model if a stage has opened it, else None."""
        return self._made.get("chat")

    def describe(self, folder: str, *kinds: str | ModelKind) -> tuple[ModelKind, ModelDescription]:
        """Return the kind of a checkpoint and its description. The kind is one of `kinds`, or any installed one without
        them.

        Raises `ModelError` if the checkpoint is missing, damaged or of another kind.
        """
        from ..models.kinds import ModelKind, find_checkpoint_kind, load_description, load_kind

        def read() -> tuple[ModelKind, ModelDescription]:
            kind = find_checkpoint_kind(
                Path(folder), [each if isinstance(each, ModelKind) else load_kind(each) for each in kinds]
            )
            return kind, load_description(Path(folder), kind.description)[0]

        return self._checkpoint(("description", folder, *kinds), read)

    def model(self, folder: str, *kinds: str | ModelKind, language_model: str = "") -> Any:
        """Return the scorer of a checkpoint, opened by the checkpoint's own kind after every file is checked.

        kinds: the expected kinds. language_model: for a LoRA, the place of its language model if it has moved since
        training. Raises `ModelError` if the checkpoint cannot be read or is of another kind.
        """
        from ..models.kinds import CheckpointOpenOptions

        kind, _ = self.describe(folder, *kinds)
        with translate_import_errors(f"the checkpoint {folder}, of kind {kind.name},"):
            opening = CheckpointOpenOptions(self.device, self.placement.dtype, self.vectors_for, language_model)
            key = ("model", kind.name, folder, language_model)
            return self._checkpoint(key, lambda: kind.open(Path(folder), opening))

    def vectors_of(self, encoder: str) -> TextVectors:
        """Return the vectors of an encoder, loaded at the first call. Raises `ModelError` if it cannot be."""
        return self.get_or_make(("vectors", encoder), lambda: self._open_vectors(encoder))

    def vectors_for(self, description: ModelDescription) -> TextVectors:
        """Return the vectors of the encoder that a checkpoint was trained with.

        A checkpoint may come from anywhere. Raises `ModelError` if no setting names its encoder, or if the
        encoder's weights differ from those used in training.
        """
        name = description.encoder
        more = (each.strip() for each in self.settings.encoders.split(","))
        if name not in {self.settings.encoder, *more, *BUNDLED}:
            raise ModelError(
                f"a checkpoint of kind {description.kind} reads texts with the encoder {one_line(repr(name), 200)}, "
                "which no setting names: if you trust it, add it to the setting encoders (LODESTAR_ENCODERS)"
            )
        vectors = self.vectors_of(name)
        digest = vectors.encoder.weights_digest
        if description.encoder_digest and digest and digest != description.encoder_digest:
            raise ModelError(
                f"a checkpoint of kind {description.kind} was trained with other weights of the encoder {name!r} than "
                "those that are here: fetch those, or train it again"
            )
        return vectors

    @property
    def device(self) -> str:
        """The device that networks compute on. Raises `UsageError` if it does not exist."""
        try:
            with translate_import_errors(f"device {self.placement.device}"):
                return self.placement.torch_device
        except PlacementError as error:
            raise UsageError(f"device: {error}") from error

    def close(self) -> None:
        if (chat := self.chat_opened) is not None:
            chat.close()
        for store in self._stores:
            store.close()

    def _checkpoint(self, key: object, read: Callable[[], T]) -> T:
        from ..models.kinds import BadCheckpointError

        def opened() -> T:
            try:
                return read()
            except BadCheckpointError as error:
                raise ModelError(str(error)) from error

        return self.get_or_make(key, opened)

    def _open_vectors(self, name: str) -> TextVectors:
        """Return vectors that are cached in the home folder, if the encoder's weights can be identified."""
        try:
            encoder = SentenceEncoder(name, device=self.device, precision=self.settings.precision)
            with translate_import_errors(f"the encoder {name}"):
                _ = encoder.dimension  # encodes a text
        except EncoderUnavailableError as error:
            raise ModelError(str(error)) from error
        store = None
        if encoder.weights_digest is not None:
            precision = "" if encoder.precision == "float32" else f"-{encoder.precision}"
            store = SqliteVectorStore(
                self.settings.home_dir / "vectors" / f"{encoder.weights_digest}{precision}.sqlite"
            )
            self._stores.append(store)
        return TextVectors(encoder, store=store)


class GraphResources(_Cache):
    """Hold what belongs to one edition of a graph, beside the engine's own `resources`; a known edition tells which
    stored data is current."""

    def __init__(
        self, resources: EngineResources, catalogue: RelationCatalogue, edition: Edition | None = None
    ) -> None:
        super().__init__()
        self.shared = resources
        self.catalogue = catalogue
        self.edition = edition

    @cached_property
    def relations(self) -> Mapping[int, str]:
        return {relation.number: relation.name for relation in self.catalogue.relations}

    @cached_property
    def words(self) -> Mapping[str, RelationWords]:
        return make_words_by_relation(self.catalogue.relations)

    @cached_property
    def labels(self) -> Labels:
        return select_informative_labels(self.catalogue.relations)

    @cached_property
    def index(self) -> RelationIndex:
        return RelationIndex(self.catalogue.relations, self.shared.vectors, gpu=self.shared.placement.is_gpu)

    def shortlist(self, question: str, numbers: Collection[int]) -> Collection[int]:
        """Return which of the relations, by signed catalogue number, are scored for a question: all if they are few.

        question: its text without the mentions of its topics.
        """
        if len(numbers) <= SHORTLIST_FROM:
            return numbers
        return self.index.shortlist(self.shared.vectors.stack([question])[0], numbers)

    def model(self, folder: str, *kinds: str | ModelKind, any_graph: bool = False, language_model: str = "") -> Any:
        """Return the scorer of a checkpoint, see `EngineResources.model`.

        Raises `ModelError` if it was trained on a graph with other relations, unless `any_graph` is set.
        """
        if not any_graph:
            _, description = self.shared.describe(folder, *kinds)
            if not description.any_graph and self.catalogue.vocabulary not in description.graphs:
                sets = ", ".join(dict.fromkeys(each.questions for each in description.train))
                raise ModelError(
                    f"{folder} was trained on another graph ({sets}; its relations differ from the "
                    f"{len(self.catalogue.relations):,} here): load that graph, train on this one, or allow it with "
                    "--set any_graph=true"
                )
        return self.shared.model(folder, *kinds, language_model=language_model)
