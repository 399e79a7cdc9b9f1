"""Have a language model write relation paths that exist in the graph, and train the LoRA that does: ReG@Path.

The form is RoG's, as in ReG@Path (appendix D.3). Deviations: the path ends with the model's end token, and existing
tokens spell the marks, so that no embedding is new and only the LoRA is trained. Every piece is tokenised alone: a path
has the same tokens in every context.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..calibration import fit_calibration
from ..causal_lm import (
    CausalLMError,
    ModelAndTokenizer,
    add_lora,
    compute_model_fingerprint,
    get_lora_weights,
    load_language_model,
)
from ..kinds import (
    BadCheckpointError,
    CheckpointOpenOptions,
    check_checkpoint,
    read_weights,
    restore_weights,
    translate_read_errors,
    write_weights,
)
from ..mined_files import INVERSE, PooledQuestion, PoolFile, describe_supervision
from ..text import DirectedRelation, RelationWords, verbalise_hop
from ..text.bert import pad_token_ids
from ..training import Figures, NothingToLearnError, Objective, TrainingFolder, get_network_device
from . import PATH_FIGURES, PathConfig, PathDescription

Tokens = tuple[int, ...]

MAX_QUESTION_CHARS = 1_000
PROMPT = "Question: {question}\nTopic: {topic}\nRelations that lead from the topic to the answer:\n<PATH>"
SEPARATOR = " <SEP>"


def make_relation_texts(words: Mapping[str, RelationWords]) -> dict[str, str]:
    """Return how a path says each relation, by its name, ``^`` before it for an inverse step (tail to head)."""
    forward = {name: verbalise_hop((DirectedRelation(each, False),)) for name, each in words.items()}
    inverse = {
        f"{INVERSE}{name}": f"{verbalise_hop((DirectedRelation(each, True),))} backwards"
        for name, each in words.items()
    }
    return forward | inverse


class PathTokenizer:
    """Prompts and paths as tokens. Raises `CausalLMError` for a tokenizer without an end token."""

    def __init__(self, tokenizer: Any, texts: Mapping[str, str]) -> None:
        if tokenizer.eos_token_id is None:
            raise CausalLMError("the language model's tokenizer has no end token: expected one to end a path with")
        self.end = int(tokenizer.eos_token_id)
        self.padding = int(tokenizer.pad_token_id)
        self._tokenizer = tokenizer
        self._texts = texts
        self.separator = self._pieces(SEPARATOR)
        self._of_step: dict[str, Tokens] = {}

    def prompt(self, question: str, topic: str) -> Tokens:
        text = PROMPT.format(question=question[:MAX_QUESTION_CHARS], topic=topic)
        tokens = tuple(self._tokenizer(text)["input_ids"])
        return tokens[:-1] if tokens[-1] == self.end else tokens

    def step(self, step: str) -> Tokens:
        if step not in self._of_step:
            self._of_step[step] = self._pieces(f" {self._texts[step]}")
        return self._of_step[step]

    def path(self, steps: Sequence[str]) -> Tokens:
        found: Tokens = ()
        for number, step in enumerate(steps):
            found += (self.separator if number else ()) + self.step(step)
        return found

    def _pieces(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])


class TokenTrie:
    """A prefix tree of token sequences."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        self._root: dict[int, Any] = {}
        for sequence in sequences:
            node = self._root
            for token in sequence:
                node = node.setdefault(token, {})

    def list_next_tokens(self, written: Iterable[int]) -> list[int]:
        """Return the tokens that may follow; none after a whole sequence or a prefix of none."""
        node = self._root
        for token in written:
            if token not in node:
                return []
            node = node[token]
        return list(node)


def compute_path_log_probabilities(
    network: nn.Module, prompts: Sequence[Tokens], paths: Sequence[Tokens], end: int, padding: int
) -> tuple[Tensor, Tensor]:
    """Return Σ ln P(token | prompt, tokens before) of each path, without and with the end token, (num_paths,) each."""
    device = get_network_device(network)
    rows = [(*prompt, *path) for prompt, path in zip(prompts, paths, strict=True)]
    tokens, _ = pad_token_ids(rows, padding)  # to the right, where no token before reads it
    logits = network(input_ids=tokens.to(device), use_cache=False).logits
    begun, whole = [], []
    for row, (prompt, path) in enumerate(zip(prompts, paths, strict=True)):
        first, after = len(prompt), len(prompt) + len(path)
        log_probabilities_of = logits[row, first - 1 : after].float().log_softmax(dim=1)
        written = log_probabilities_of[:-1].gather(1, tokens[row, first:after, None].to(device)).sum()
        begun.append(written)
        whole.append(written + log_probabilities_of[-1, end])
    return torch.stack(begun), torch.stack(whole)


AT_A_TIME = 8
"""The number of prefixes to expand together, each with all its beams."""


@dataclass(frozen=True, slots=True)
class RelationPathPrefix:
    """A prefix to expand: the relations from a topic of a question. offered: the relations that can follow."""

    question: str
    topic: str
    path: tuple[str, ...]
    offered: tuple[str, ...]


ScoredRelations = Mapping[str, tuple[float, float]]
"""The written relations with the log-probability of the path up to them, without END and with it."""


class PathModel:
    """Writes the next relation of paths. Threads take turns."""

    def __init__(self, description: PathDescription, model: ModelAndTokenizer, network: nn.Module) -> None:
        self.description = description
        self._tokenizer = model.tokenizer
        self._network: Any = network
        self._turn = threading.RLock()

    def text(self, texts: Mapping[str, str]) -> PathTokenizer:
        return PathTokenizer(self._tokenizer, texts)

    def write(
        self, prefixes: Sequence[RelationPathPrefix], text: PathTokenizer, num_beams: int
    ) -> list[ScoredRelations]:
        """Return, for each prefix, the `num_beams` offered relations that a beam search writes, with scores.

        A trie of the offered relations constrains the search: it can write no other relation, and none if none is
        offered. Relations with the same words are written as one, and get the same score.
        """
        found: list[ScoredRelations] = [{} for _ in prefixes]
        asked = [number for number, prefix in enumerate(prefixes) if prefix.offered]
        with self._turn, torch.inference_mode():
            for start in range(0, len(asked), AT_A_TIME):
                batch = asked[start : start + AT_A_TIME]
                chosen = self._beam_search([prefixes[number] for number in batch], text, num_beams)
                for number, steps in zip(batch, chosen, strict=True):
                    found[number] = self._score(prefixes[number], steps, text)
        return found

    def _beam_search(
        self, prefixes: Sequence[RelationPathPrefix], text: PathTokenizer, num_beams: int
    ) -> list[list[str]]:
        from transformers import GenerationConfig

        of_tokens = [_by_tokens(prefix, text) for prefix in prefixes]
        ends = ((text.end,), (text.separator[0], text.end))  # a path ends or continues here
        tries = [TokenTrie((*tokens, *end) for tokens in each for end in ends) for each in of_tokens]
        beginnings = [_beginning(prefix, text) for prefix in prefixes]
        length = max(map(len, beginnings))
        padded = [[text.padding] * (length - len(each)) + list(each) for each in beginnings]
        is_token = [[0] * (length - len(each)) + [1] * len(each) for each in beginnings]
        device = get_network_device(self._network)

        def allowed(row: int, tokens: torch.Tensor) -> list[int]:
            return tries[row].list_next_tokens(tokens[length:].tolist()) or [
                text.end
            ]  # a dead beam ends, with score -inf

        config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=num_beams,
            num_return_sequences=num_beams,
            length_penalty=0.0 if num_beams > 1 else None,  # the sum of log-probabilities
            repetition_penalty=1.0,
            max_new_tokens=max(len(tokens) for each in of_tokens for tokens in each) + 2,
            pad_token_id=text.padding,
            eos_token_id=text.end,
        )
        output = self._network.generate(
            input_ids=torch.tensor(padded).to(device),
            attention_mask=torch.tensor(is_token).to(device),
            generation_config=config,
            prefix_allowed_tokens_fn=allowed,
        )
        rows = output[:, length:].tolist()
        return [
            _steps(rows[place * num_beams : (place + 1) * num_beams], each, text)
            for place, each in enumerate(of_tokens)
        ]

    def _score(self, prefix: RelationPathPrefix, steps: Sequence[str], text: PathTokenizer) -> ScoredRelations:
        prompt = text.prompt(prefix.question, prefix.topic)
        distinct = {text.path((*prefix.path, step)): None for step in steps}
        if not distinct:
            return {}
        scores = compute_path_log_probabilities(
            self._network, [prompt] * len(distinct), list(distinct), text.end, text.padding
        )
        both = dict(zip(distinct, zip(*(each.tolist() for each in scores), strict=True), strict=True))
        return {step: both[text.path((*prefix.path, step))] for step in steps}


def _beginning(prefix: RelationPathPrefix, text: PathTokenizer) -> Tokens:
    walked = text.path(prefix.path)
    return text.prompt(prefix.question, prefix.topic) + walked + (text.separator if walked else ())


def _by_tokens(prefix: RelationPathPrefix, text: PathTokenizer) -> dict[Tokens, list[str]]:
    found: dict[Tokens, list[str]] = {}
    for step in prefix.offered:
        found.setdefault(text.step(step), []).append(step)
    return found


def _steps(rows: Sequence[Sequence[int]], of_tokens: Mapping[Tokens, list[str]], text: PathTokenizer) -> list[str]:
    found: dict[str, None] = {}
    for row in rows:
        written = tuple(row[: row.index(text.end)] if text.end in row else row)
        for tokens in (written, written[:-1] if written[-1:] == text.separator[:1] else written):
            found |= dict.fromkeys(of_tokens.get(tokens, ()))
    return list(found)


def read_path_writer(
    folder: Path, model: str = "", device: str = "cpu"
) -> tuple[PathDescription, ModelAndTokenizer, nn.Module]:
    """Return a checkpoint after checking every file, with its language model and the network with the LoRA.

    model: where the language model is, if it has moved. Raises `BadCheckpointError` for a damaged checkpoint, or a
    language model that is unavailable or another one.
    """
    description = check_checkpoint(folder, PathDescription)
    try:
        base = load_language_model(model or description.config.model, device=device, fetch=bool(model))
        if compute_model_fingerprint(base) != description.model_fingerprint:
            raise BadCheckpointError(
                f"{folder}: the language model in {base.name} is not the one that this LoRA was trained on: name that "
                "one with --set reg-path.model=FOLDER, or train again"
            )
        network = add_lora(base, description.config.lora)
    except CausalLMError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error
    with translate_read_errors(folder):
        restore_weights(get_lora_weights(network), read_weights(folder / "adapter"))
    return description, base, network.eval()


def open_model(folder: Path, opening: CheckpointOpenOptions) -> PathModel:
    return PathModel(*read_path_writer(folder, opening.language_model, opening.device))


@dataclass(frozen=True, slots=True)
class _PathExample:
    """A question, by its id, with candidate paths from one of its topics. topic: its name."""

    question: str
    text: str
    topic: str
    paths: tuple[tuple[str, ...], ...]
    is_right: tuple[bool, ...]


Pair = tuple[_PathExample, tuple[str, ...]]
"""A path for a question."""


def make_path_examples(pools: Sequence[PoolFile], texts: Mapping[str, str]) -> list[_PathExample]:
    """Return the training examples of pools: for each question and topic, the chains that leave it."""
    return [
        example
        for pool in pools
        for question in pool.questions
        for example in _examples(question, texts)
        if any(example.is_right)
    ]


def _examples(question: PooledQuestion, texts: Mapping[str, str]) -> Iterator[_PathExample]:
    right = set(question.supervision)
    for topic in question.topics:
        chains = [chain for chain in question.chains if chain.kind != "answer" and chain.start == topic]
        known = [chain for chain in chains if all(step in texts for step in chain.steps)]
        if known:
            paths = tuple(chain.steps for chain in known)
            is_right = tuple(chain in right for chain in known)
            yield _PathExample(question.id, question.text, known[0].names[0], paths, is_right)


def _limit_candidates(example: _PathExample, most: int) -> _PathExample:
    """Return an example with at most this many candidates, its right ones first."""
    order = sorted(range(len(example.paths)), key=lambda number: not example.is_right[number])[:most]
    return replace(
        example,
        paths=tuple(example.paths[number] for number in order),
        is_right=tuple(example.is_right[number] for number in order),
    )


class PathObjective(Objective[nn.Module, Pair]):
    """Trains and saves only the LoRA: each right path of a question is an example."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[_PathExample],
        dev: Sequence[_PathExample],
        text: PathTokenizer,
        config: PathConfig,
    ) -> None:
        pairs: list[Pair] = [
            (example, path)
            for example in train
            for path, right in zip(example.paths, example.is_right, strict=True)
            if right
        ]
        if not pairs or not dev:
            raise NothingToLearnError(
                f"no question to {'choose by' if pairs else 'learn from'} has a path from a topic to an answer"
            )
        super().__init__(network, pairs, config.training, config.batch_size)
        self._dev = [_limit_candidates(each, config.num_candidates) for each in dev]
        self._text = text

    def weights(self) -> Mapping[str, Tensor]:
        return get_lora_weights(self.network)

    def log_likelihoods(self, pairs: Sequence[Pair]) -> Tensor:
        """Return the log-probability of each path as a whole one, (num_pairs,), batch by batch."""
        text, size = self._text, self.batch_size
        found = []
        for start in range(0, len(pairs), size):
            batch = pairs[start : start + size]
            prompts = [text.prompt(example.text, example.topic) for example, _ in batch]
            paths = [text.path(path) for _, path in batch]
            found.append(compute_path_log_probabilities(self.network, prompts, paths, text.end, text.padding)[1])
        return torch.cat(found)

    def loss(self, batch: Sequence[Pair]) -> Tensor:
        return -self.log_likelihoods(batch).float().mean()

    def evaluate(self) -> Figures:
        found: list[float] = []
        first: dict[str, tuple[float, bool]] = {}
        for example, scores in self.iterate_scores():
            found += [score for score, right in zip(scores, example.is_right, strict=True) if right]
            best = int(np.argmax(scores))
            mine = (scores[best], example.is_right[best])
            first[example.question] = max(first.get(example.question, mine), mine)
        likelihood = float(np.mean(found))
        figures = (likelihood, float(np.mean([right for _, right in first.values()])))
        return dict(zip(PATH_FIGURES, figures, strict=True)) | {"selection_metric": likelihood}

    def iterate_scores(self) -> Iterator[tuple[_PathExample, list[float]]]:
        """Yield the log-probabilities of each dev example's candidates as whole paths."""
        with torch.no_grad():
            for example in self._dev:
                pairs = [(example, path) for path in example.paths]
                yield example, self.log_likelihoods(pairs).tolist()

    def calibration_pairs(self) -> list[tuple[float, float]]:
        """Return score and correctness of each dev example's likeliest candidate."""
        best = [(example, scores, int(np.argmax(scores))) for example, scores in self.iterate_scores()]
        return [(scores[at], float(example.is_right[at])) for example, scores, at in best]


def fit(config: PathConfig, train: Sequence[PoolFile], dev: Sequence[PoolFile], out: TrainingFolder) -> PathDescription:
    """Train the LoRA, and write the checkpoint. `out.beside`: the `make_relation_texts` of the graph's relations.

    Raises `CausalLMError` if the language model cannot be loaded.
    """
    torch.manual_seed(config.training.seed)
    model = load_language_model(config.model, device=out.device)
    known = compute_model_fingerprint(model)
    text = PathTokenizer(model.tokenizer, out.beside)
    learned, chosen = (make_path_examples(pools, out.beside) for pools in (train, dev))
    objective = PathObjective(add_lora(model, config.lora), learned, chosen, text, config)
    options = asdict(config)
    out.train("path writer", "adapter", objective, {key: options[key] for key in options if key != "training"})
    return out.write(
        {"adapter": partial(write_weights, get_lora_weights(objective.network))},
        fit_calibration(objective.calibration_pairs()),
        model_fingerprint=known,
        supervision=describe_supervision(train),
    )
