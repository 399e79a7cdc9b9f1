"""Train the adapter of the sentence encoder on the corpus: low-rank changes of all linear maps (LoRA).

    python -m benchmarks.pretraining.training --corpus corpus.jsonl.gz --data ../shared/data --out FOLDER

Each step reads `BATCH` questions of the sets by their shares. A question's own path has to come before others of its
schema: the nearest by the encoder as it was, one of the same type, the path the other way round, one hop shorter or
longer, and what the step's other questions bring. Two losses are summed: over the cosine, and over the cosine with the
support of the path's tokens, which are the two that scorers read first. A third keeps names and labels where the
encoder had them. The run is resumed from the last checkpoint in ``--out``; the same seed gives the same batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from lodestar.models.path_similarity import SimilarityWeights
from lodestar.models.text.bert import open_pretrained, pad_token_ids
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize, pad
from torch.utils.data import Dataset

from .corpus import (
    HELD_OUT,
    SETS,
    Example,
    Step,
    is_for_choosing,
    merge_by_question,
    normalise,
    read_corpus,
    read_set,
    verbalise,
)
from .lora import LoRA, note, read_arguments, train_steps

ENCODER = "all-MiniLM-L6-v2"
STRENGTH = 0.5
"""Of the adapter that is written: the whole change answers more falsely (the card)."""
BATCH = 64
SCALE = 20.0
"""Of cosines before the softmax."""
TOKEN_LOSS, ANCHOR_LOSS = 0.5, 1.0
RATE = 1e-3
NEAREST, HARD = 16, 2
"""Of a schema's relations, from which hard negatives are drawn, and how many of these."""
SAME = 0.9
"""Cosine of two paths' words by the encoder as it was, from which on one is no negative of the other."""
NO_TYPE = 0.3
"""Share of the questions whose relations are read without the types that they lead from."""
LENGTHS = (28, 20)
"""Most tokens of questions and of paths."""
ALIKE = 64
"""Texts of about the same length that the network reads together."""
TOGETHER = 1024
"""Texts that are judged together."""
KEPT = 48
"""Names, and labels, a step that have to stay near the encoder as it was."""

Floats = npt.NDArray[np.float32]
Padded = tuple[Tensor, Tensor]
"""The ids of texts and the mask of what is no padding, (num_texts, length) each."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Unit vectors of texts, (num_texts, dim), and of their tokens, (num_texts, length, dim), which `mask` tells."""

    sentences: Tensor
    tokens: Tensor
    mask: Tensor


class Encoder:
    """The encoder with an adapter on every linear map of its layers."""

    def __init__(self, name: str, device: str) -> None:
        backbone = open_pretrained(name)
        self.network: Any = backbone.model
        self.lora = LoRA(self.network, device)
        self.device = device
        self._tokenizer = backbone.tokenizer
        self._before: dict[str, Tensor] = {}

    def tokenise(self, texts: Sequence[str], most: int) -> Padded:
        ids, mask = pad_token_ids(self._tokenizer(list(texts), truncation=True, max_length=most)["input_ids"])
        return ids, mask

    def encode(self, texts: Padded) -> Encoded:
        ids, mask = (each.to(self.device, non_blocking=True) for each in texts)
        lengths, order = mask.sum(dim=1).sort()
        parts = []
        for some, sizes in zip(order.split(ALIKE), lengths.split(ALIKE), strict=True):
            longest = int(sizes[-1])
            found = self.network(input_ids=ids[some, :longest], attention_mask=mask[some, :longest].long())
            parts.append(pad(found.last_hidden_state.float(), (0, 0, 0, mask.shape[1] - longest)))
        states = torch.cat(parts)[order.argsort()]
        inner = mask.clone()
        inner[:, 0] = False
        inner[torch.arange(len(inner)), mask.sum(dim=1) - 1] = False
        return Encoded(normalize((states * mask[:, :, None]).sum(dim=1)), normalize(states, dim=-1), inner)

    def vectors(self, texts: Sequence[str], most: int, strength: float = 0.0) -> Tensor:
        """Return unit vectors of texts, (num_texts, dim), with the adapter at a strength."""
        parts = [texts[at : at + TOGETHER] for at in range(0, len(texts), TOGETHER)]
        with self.lora.frozen(strength):
            return torch.cat([self.encode(self.tokenise(some, most)).sentences.cpu() for some in parts])

    def vectors_before(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors of paths, (num_texts, dim), by the encoder as it was; each is computed once."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._before]:
            self._before |= zip(new, self.vectors(new, LENGTHS[1]), strict=True)
        return torch.stack([self._before[text] for text in texts]).to(self.device)


@dataclass(frozen=True, slots=True)
class Schema:
    """The relations of a schema, and their vectors by the encoder as it was, (num_relations, dim)."""

    steps: tuple[Step, ...]
    vectors: Floats


class Draws:
    """The questions of each step with paths that are wrong for them."""

    def __init__(self, examples: Sequence[Example], encoder: Encoder, seed: int, num_steps: int) -> None:
        self.seed = seed
        self.examples = examples = [each for each in examples if not is_for_choosing(each.schema)]
        by_set: dict[str, list[int]] = defaultdict(list)
        steps: dict[str, dict[Step, None]] = defaultdict(dict)
        self.right: dict[tuple[str, str], set[tuple[Step, ...]]] = defaultdict(set)
        """The paths of each question and schema: a question may ask for several."""
        for number, example in enumerate(examples):
            by_set[example.set].append(number)
            self.right[example.schema, normalise(example.question)].add(example.path)
            steps[example.schema] |= dict.fromkeys(replace(s, inverse=False) for s in (*example.path, *example.others))
        self.by_set = dict(by_set)
        shares = np.array([SETS[name].share for name in self.by_set])
        self.shares = shares / shares.sum()
        self.labels = sorted({verbalise((step,)) for some in steps.values() for step in some})
        before = dict(zip(self.labels, encoder.vectors(self.labels, LENGTHS[1]).numpy(), strict=True))
        self.schemas = {
            name: Schema(tuple(some), np.stack([before[verbalise((step,))] for step in some]))
            for name, some in steps.items()
        }
        drawn = sorted({number for step in range(num_steps) for number in self.draw(self.random(step))})
        vectors = encoder.vectors([examples[number].masked for number in drawn], LENGTHS[0]).numpy()
        self.asked = dict(zip(drawn, vectors, strict=True))
        """The vectors of the questions that are drawn, by their numbers."""

    def random(self, step: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, step])

    def draw(self, rng: np.random.Generator) -> list[int]:
        """Return the examples of a step by their numbers; the first that a step's generator gives."""
        names = list(self.by_set)
        drawn = [self.by_set[names[at]] for at in rng.choice(len(names), size=BATCH, p=self.shares)]
        return [some[rng.integers(len(some))] for some in drawn]

    def draw_wrong_paths(self, number: int, rng: np.random.Generator) -> list[tuple[Step, ...]]:
        """Return paths that are wrong for an example."""
        example = self.examples[number]
        right = self.right[example.schema, normalise(example.question)]
        asked = {step.relation for path in right for step in path}
        *before, last = example.path
        schema = self.schemas[example.schema]
        others = [n for n, step in enumerate(schema.steps) if step.relation not in asked]
        wrong: list[tuple[Step, ...]] = []
        if others:
            near = np.argsort(-(schema.vectors @ self.asked[number]))
            near = [n for n in near[: NEAREST + 8].tolist() if schema.steps[n].relation not in asked][:NEAREST]
            chosen = [near[n] for n in rng.permutation(len(near))[:HARD]]
            same = [n for n in others if schema.steps[n].domain == last.domain] or others
            chosen.append(same[rng.integers(len(same))])
            wrong += [(*before, replace(schema.steps[n], inverse=last.inverse)) for n in chosen]
        turned = tuple(replace(step, inverse=not step.inverse) for step in example.path)
        lengths = [turned, *([example.path[:-1], example.path[1:]] if before else [])]
        if others:
            more = replace(schema.steps[others[rng.integers(len(others))]], inverse=bool(rng.integers(2)))
            lengths += [(*example.path, more), (more, *example.path)]
        wrong += [lengths[n] for n in rng.permutation(len(lengths))[:2]]
        return [path for path in wrong if path not in right]


class Batches(Dataset[dict[str, Any]]):
    """By the number of a step what its loss is computed of: padded questions and distinct paths, for each question its
    path's row (`right`) and which paths are wrong for it whatever their words (`own`), and texts that have to stay."""

    def __init__(self, draws: Draws, encoder: Encoder) -> None:
        self._draws, self._tokenise = draws, encoder.tokenise

    def __getitem__(self, step: int) -> dict[str, Any]:
        draws = self._draws
        rng = draws.random(step)
        numbers = draws.draw(rng)
        examples = [draws.examples[number] for number in numbers]
        gold, wrong = [], []
        for number, example in zip(numbers, examples, strict=True):
            say = _verbalise_without_types if rng.random() < NO_TYPE else verbalise
            gold.append(say(example.path))
            wrong.append({say(path) for path in draws.draw_wrong_paths(number, rng)} - {gold[-1]})
        texts = list(dict.fromkeys([*gold, *(text for some in wrong for text in sorted(some))]))
        column = {text: place for place, text in enumerate(texts)}
        own = torch.zeros(len(gold), len(texts), dtype=torch.bool)
        for row, some in enumerate(wrong):
            own[row, [column[text] for text in (gold[row], *some)]] = True
        topics = [topic for example in examples for topic in example.topics]
        kept = [*topics[:KEPT], *(draws.labels[n] for n in rng.integers(len(draws.labels), size=KEPT))]
        return {
            "questions": self._tokenise([example.masked for example in examples], LENGTHS[0]),
            "texts": texts,
            "paths": self._tokenise(texts, LENGTHS[1]),
            "kept": self._tokenise(kept, LENGTHS[1]),
            "right": torch.tensor([column[text] for text in gold]),
            "own": own,
        }


def _verbalise_without_types(path: Sequence[Step]) -> str:
    return verbalise(replace(step, domain="") for step in path)


def compute_loss(encoder: Encoder, batch: Mapping[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
    """Return a step's loss with its parts."""
    right, own = batch["right"].to(encoder.device), batch["own"].to(encoder.device)
    asked, paths, kept = (encoder.encode(batch[name]) for name in ("questions", "paths", "kept"))
    with encoder.lora.frozen():
        was = encoder.encode(batch["kept"])
    before = encoder.vectors_before(batch["texts"])
    counts = (before[right] @ before.T < SAME) | own
    cosines = asked.sentences @ paths.sentences.T
    both = cosines + SimilarityWeights().support * compute_supports(asked, paths)
    losses = [cross_entropy((SCALE * scores).masked_fill(~counts, -torch.inf), right) for scores in (cosines, both)]
    inner = kept.mask
    drift = _drift(kept.sentences, was.sentences) + _drift(kept.tokens[inner], was.tokens[inner])
    first = (cosines.masked_fill(~counts, -torch.inf).argmax(dim=1) == right).float().mean()
    parts = {"cosine": losses[0], "tokens": losses[1], "drift": drift, "first": first}
    return losses[0] + TOKEN_LOSS * losses[1] + ANCHOR_LOSS * drift, parts


def _drift(now: Tensor, was: Tensor) -> Tensor:
    return 1 - (now * was).sum(dim=-1).mean()


def compute_supports(questions: Encoded, paths: Encoded) -> Tensor:
    """Return P of each question and path, (num_questions, num_paths): the mean over a path's tokens of their best
    cosine to a token of the question."""
    of_path, _ = paths.mask.nonzero(as_tuple=True)
    cosines = torch.einsum("qtd,nd->qtn", questions.tokens, paths.tokens[paths.mask])
    best = cosines.masked_fill(~questions.mask[:, :, None], -1.0).amax(dim=1)
    sums = best.new_zeros(len(questions.mask), len(paths.mask)).index_add(1, of_path, best)
    return sums / paths.mask.sum(dim=1).clamp(min=1)


def read_judged(corpus: Sequence[Example], data: Path) -> dict[str, list[Example]]:
    """Return what a training is judged by, `merge_by_question`: the schemas for choosing of each set, and the sets held
    out."""
    judged = defaultdict(list, {name: list(read_set(data, name)) for name in HELD_OUT})
    for example in corpus:
        if is_for_choosing(example.schema):
            judged[f"{example.set}, for choosing"].append(example)
    return {name: merge_by_question(examples) for name, examples in judged.items()}


def judge(encoder: Encoder, judged: Mapping[str, Sequence[Example]], strength: float) -> dict[str, list[float]]:
    """Return hits@1, MRR and n of the relations asked for among those of their schema, by set."""
    figures = {}
    for name, examples in judged.items():
        texts = [[verbalise((step,)) for step in (*example.path, *example.others)] for example in examples]
        known = sorted({text for some in texts for text in some})
        vectors = encoder.vectors(known, LENGTHS[1], strength)
        place = {text: number for number, text in enumerate(known)}
        asked = encoder.vectors([example.masked for example in examples], LENGTHS[0], strength)
        ranks = []
        for example, some, vector in zip(examples, texts, asked, strict=True):
            scores = vectors[[place[text] for text in some]] @ vector
            ranks.append(1 + int((scores > scores[: len(example.path)].max()).sum()))
        figures[name] = [float(np.mean([r == 1 for r in ranks])), float(np.mean([1 / r for r in ranks])), len(ranks)]
    return figures


def train(corpus: Path, data: Path, out: Path, num_steps: int, seed: int, seconds: float, device: str) -> None:
    """Train, and write the adapter beside the checkpoints and the log; at the end judge it on schemas held out."""
    torch.manual_seed(seed)
    encoder = Encoder(ENCODER, device)
    examples = read_corpus(corpus)
    batches = Batches(Draws(examples, encoder, seed, num_steps), encoder)
    groups = [(encoder.lora.parameters(), RATE)]
    losses, write = partial(compute_loss, encoder), partial(write_adapter, encoder, out)
    train_steps(out, groups, batches, losses, write, num_steps, seconds)
    judged = read_judged(examples, data)
    note(out, {str(strength): judge(encoder, judged, strength) for strength in (0.0, STRENGTH, 1.0)})


def write_adapter(encoder: Encoder, out: Path) -> None:
    """Write the low-rank maps at `STRENGTH` as `models.text.encoders` reads them."""
    from safetensors.numpy import save_file

    save_file(encoder.lora.tensors(STRENGTH), out / "adapter.safetensors", {"base": encoder.lora.base})


if __name__ == "__main__":
    train(**read_arguments(__doc__ or "", 3000))
