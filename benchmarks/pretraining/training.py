"""Train the adapter of the sentence encoder on the corpus: low-rank changes of all linear maps (LoRA), by one core.

    python -m benchmarks.pretraining.training --corpus corpus.jsonl.gz --data ../shared/data --out FOLDER

Each step reads `BATCH` questions of the sets by their shares. A question's own path has to come before others of its
schema: the nearest by the encoder as it was, one of the same type, the path the other way round, one hop shorter or
longer, and what the step's other questions bring. Two losses are summed: over the cosine, and over the cosine with the
support of the path's tokens, which are the two that scorers read first. A third keeps names and labels where the
encoder had them. The run is resumed from the last checkpoint in ``--out``; the same seed gives the same batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lodestar.models.similarity import SimilarityWeights
from lodestar.models.text.bert import open_pretrained
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize
from torch.nn.utils.rnn import pad_sequence

from .corpus import HELD_OUT, SETS, Example, Step, read_corpus, read_set, verbalise
from .lora import LoRA, note, read_arguments, train_steps

ENCODER = "all-MiniLM-L6-v2"
STRENGTH = 0.5
"""Of the adapter that is written: the whole change answers more falsely (the card)."""
BATCH = 32
SCALE = 20.0
"""Of cosines before the softmax."""
TOKEN_LOSS, ANCHOR_LOSS = 0.5, 1.0
RATE = 1e-3
NEAREST = 16
"""Of a schema's relations, from which hard negatives are drawn."""
SAME = 0.9
"""Cosine of two paths' words by the encoder as it was, from which on one is no negative of the other."""
NO_TYPE = 0.3
"""Share of the questions whose relations are read without the types that they lead from."""
LENGTHS = (28, 20)
"""Most tokens of questions and of paths."""
TOGETHER = 64
"""Texts of similar length that are padded and computed together."""
KEPT = 12
"""Names, and labels, a step that have to stay near the encoder as it was."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Unit vectors of texts, (num_texts, dim), and for each those of its tokens, (num_tokens, dim)."""

    sentences: Tensor
    tokens: list[Tensor]


class Encoder:
    """The encoder with an adapter on every linear map of its layers."""

    def __init__(self, name: str) -> None:
        backbone = open_pretrained(name)
        self.network: Any = backbone.model
        self.lora = LoRA(self.network)
        self._tokenizer = backbone.tokenizer

    def encode(self, texts: Sequence[str], most: int) -> Encoded:
        """Return the vectors of the texts and of their tokens; texts of similar length are computed together."""
        ids = [self._tokenizer(text, truncation=True, max_length=most)["input_ids"] for text in texts]
        order = sorted(range(len(texts)), key=lambda place: len(ids[place]))
        sentences, tokens = [], []
        for start in range(0, len(order), TOGETHER):
            some = [torch.tensor(ids[place]) for place in order[start : start + TOGETHER]]
            seen = pad_sequence([torch.ones_like(each) for each in some], batch_first=True)
            padded = pad_sequence(some, batch_first=True)
            states = self.network(input_ids=padded, attention_mask=seen).last_hidden_state.float()
            mean = (states * seen[:, :, None]).sum(dim=1) / seen.sum(dim=1, keepdim=True)
            sentences.append(normalize(mean, dim=-1))
            tokens += [normalize(row[1 : len(each) - 1], dim=-1) for row, each in zip(states, some, strict=True)]
        back = np.argsort(order).tolist()
        return Encoded(torch.cat(sentences)[back], [tokens[place] for place in back])

    def vectors(self, texts: Sequence[str], most: int, strength: float = 0.0) -> Tensor:
        """Return unit vectors of texts, (num_texts, dim), with the adapter at a strength."""
        with self.lora.frozen(strength):
            return self.encode(texts, most).sentences


@dataclass(frozen=True, slots=True)
class Schema:
    """The relations of a schema, and their vectors by the encoder as it was, (num_relations, dim)."""

    steps: tuple[Step, ...]
    vectors: Tensor


class Batches:
    """The questions of each step with what their paths have to come before."""

    def __init__(self, examples: Sequence[Example], encoder: Encoder, seed: int) -> None:
        self.encoder, self.seed = encoder, seed
        by_set: dict[str, list[Example]] = defaultdict(list)
        steps: dict[str, dict[Step, None]] = defaultdict(dict)
        for example in examples:
            by_set[example.set].append(example)
            steps[example.schema] |= dict.fromkeys(replace(s, inverse=False) for s in (*example.path, *example.others))
        self.by_set = dict(by_set)
        shares = np.array([SETS[name].share for name in self.by_set])
        self.shares = shares / shares.sum()
        self.labels = sorted({verbalise((step,)) for some in steps.values() for step in some})
        self._before = dict(zip(self.labels, encoder.vectors(self.labels, LENGTHS[1]), strict=True))
        self.schemas = {
            name: Schema(tuple(some), self.before([verbalise((step,)) for step in some]))
            for name, some in steps.items()
        }

    def before(self, texts: Sequence[str]) -> Tensor:
        """Return the vectors of paths' words by the encoder as it was, (num_texts, dim)."""
        if missing := [text for text in texts if text not in self._before]:
            self._before |= dict(zip(missing, self.encoder.vectors(missing, LENGTHS[1]), strict=True))
        return torch.stack([self._before[text] for text in texts])

    def draw(self, rng: np.random.Generator, number: int) -> list[Example]:
        """Return the examples of a step."""
        names = list(self.by_set)
        drawn = [self.by_set[names[at]] for at in rng.choice(len(names), size=number, p=self.shares)]
        return [some[rng.integers(len(some))] for some in drawn]

    def draw_paths(self, example: Example, asked: Tensor, rng: np.random.Generator) -> tuple[str, set[str]]:
        """Return the words of an example's path, and of paths that are wrong for it; asked: its question, (dim,)."""
        wrong = self.draw_wrong_paths(example, asked, rng)
        say = _verbalise_without_types if rng.random() < NO_TYPE else verbalise
        right = say(example.path)
        return right, {say(path) for path in wrong} - {right}

    def draw_kept(self, examples: Sequence[Example], rng: np.random.Generator) -> list[str]:
        """Return names and labels whose vectors have to stay."""
        topics = [topic for example in examples for topic in example.topics]
        return [*topics[:KEPT], *(self.labels[n] for n in rng.integers(len(self.labels), size=KEPT))]

    def draw_wrong_paths(self, example: Example, asked: Tensor, rng: np.random.Generator) -> list[tuple[Step, ...]]:
        """Return paths that are wrong for an example; asked: its question, (dim,)."""
        *before, last = example.path
        schema = self.schemas[example.schema]
        others = [n for n, step in enumerate(schema.steps) if step.relation != last.relation]
        wrong: list[tuple[Step, ...]] = []
        if others:
            near = (schema.vectors[others] @ asked).topk(min(NEAREST, len(others))).indices.tolist()
            chosen = [others[near[n]] for n in rng.permutation(len(near))[:2]]
            same = [n for n in others if schema.steps[n].domain == last.domain] or others
            chosen.append(same[rng.integers(len(same))])
            wrong += [(*before, replace(schema.steps[n], inverse=last.inverse)) for n in chosen]
        turned = tuple(replace(step, inverse=not step.inverse) for step in example.path)
        lengths = [turned, *([example.path[:-1], example.path[1:]] if before else [])]
        if others:
            more = replace(schema.steps[others[rng.integers(len(others))]], inverse=bool(rng.integers(2)))
            lengths += [(*example.path, more), (more, *example.path)]
        wrong.append(lengths[rng.integers(len(lengths))])
        return wrong


def _verbalise_without_types(path: Sequence[Step]) -> str:
    return verbalise(replace(step, domain="") for step in path)


def compute_loss(batches: Batches, step: int) -> tuple[Tensor, dict[str, float]]:
    """Return a step's loss with its parts."""
    rng = np.random.default_rng([batches.seed, step])
    encoder = batches.encoder
    examples = batches.draw(rng, BATCH)
    asked = encoder.encode([example.masked for example in examples], LENGTHS[0])
    drawn = [
        batches.draw_paths(example, vector.detach(), rng)
        for example, vector in zip(examples, asked.sentences, strict=True)
    ]
    gold = [right for right, _ in drawn]
    texts = list(dict.fromkeys([*gold, *(text for _, wrong in drawn for text in sorted(wrong))]))
    column = {text: number for number, text in enumerate(texts)}
    right = torch.tensor([column[text] for text in gold])
    before = batches.before(texts)
    counts = before[right] @ before.T < SAME
    for row, (text, wrong) in enumerate(drawn):
        counts[row, [column[each] for each in (text, *wrong)]] = True

    paths = encoder.encode(texts, LENGTHS[1])
    cosines = asked.sentences @ paths.sentences.T
    both = cosines + SimilarityWeights().support * compute_supports(asked.tokens, paths.tokens)
    losses = [cross_entropy((SCALE * scores).masked_fill(~counts, -torch.inf), right) for scores in (cosines, both)]
    kept = batches.draw_kept(examples, rng)
    now = encoder.encode(kept, LENGTHS[1])
    with encoder.lora.frozen():
        was = encoder.encode(kept, LENGTHS[1])
    drift = _drift(now.sentences, was.sentences) + _drift(torch.cat(now.tokens), torch.cat(was.tokens))
    first = (cosines.masked_fill(~counts, -torch.inf).argmax(dim=1) == right).float().mean()
    parts = {"cosine": losses[0].item(), "tokens": losses[1].item(), "drift": drift.item(), "first": first.item()}
    return losses[0] + TOKEN_LOSS * losses[1] + ANCHOR_LOSS * drift, parts


def _drift(now: Tensor, was: Tensor) -> Tensor:
    return 1 - (now * was).sum(dim=-1).mean()


def compute_supports(questions: Sequence[Tensor], paths: Sequence[Tensor]) -> Tensor:
    """Return P of each question and path, (num_questions, num_paths): the mean over a path's tokens of their best
    cosine to a token of the question. Of each text its tokens, (num_tokens, dim)."""
    asked = pad_sequence(list(questions), batch_first=True)
    words = pad_sequence([torch.ones(len(each)) for each in questions], batch_first=True).bool()
    lengths = torch.tensor([len(each) for each in paths])
    cosines = torch.einsum("qtd,nd->qtn", asked, torch.cat(list(paths)))
    best = cosines.masked_fill(~words[:, :, None], -1.0).amax(dim=1)
    of_path = torch.repeat_interleave(torch.arange(len(paths)), lengths)
    return torch.zeros(len(questions), len(paths)).index_add(1, of_path, best) / lengths.clamp(min=1)


def judge(encoder: Encoder, data: Path, strength: float) -> dict[str, tuple[float, float, int]]:
    """Return hits@1, MRR and n of the relations asked for among those of their schema, for each set held out."""
    figures = {}
    for name in HELD_OUT:
        examples = {example.masked: example for example in read_set(data, name)}.values()
        options = [list(dict.fromkeys((*example.path, *example.others))) for example in examples]
        texts = [[verbalise((replace(step, inverse=False),)) for step in some] for some in options]
        known = sorted({text for some in texts for text in some})
        vectors = encoder.vectors(known, LENGTHS[1], strength)
        place = {text: number for number, text in enumerate(known)}
        asked = encoder.vectors([example.masked for example in examples], LENGTHS[0], strength)
        ranks = []
        for example, some, vector in zip(examples, texts, asked, strict=True):
            scores = vectors[[place[text] for text in some]] @ vector
            best = scores[: len(dict.fromkeys(example.path))].max()
            ranks.append(1 + int((scores > best).sum()))
        hits = sum(rank == 1 for rank in ranks) / len(ranks)
        figures[name] = hits, sum(1 / rank for rank in ranks) / len(ranks), len(ranks)
    return figures


def train(corpus: Path, data: Path, out: Path, num_steps: int, seed: int, seconds: float) -> None:
    """Train, and write the adapter beside the checkpoints and the log; at the end judge it on schemas held out."""
    torch.manual_seed(seed)
    encoder = Encoder(ENCODER)
    batches = Batches(read_corpus(corpus), encoder, seed)
    groups = [(encoder.lora.parameters(), RATE)]
    train_steps(out, groups, partial(compute_loss, batches), partial(write_adapter, encoder, out), num_steps, seconds)
    note(out, {str(strength): judge(encoder, data, strength) for strength in (0.0, STRENGTH, 1.0)})


def write_adapter(encoder: Encoder, out: Path) -> None:
    """Write the low-rank maps at `STRENGTH` as `models.text.encoders` reads them."""
    from safetensors.numpy import save_file

    save_file(encoder.lora.tensors(STRENGTH), out / "adapter.safetensors", {"base": encoder.lora.base})


if __name__ == "__main__":
    train(**read_arguments(__doc__ or "", 600))
