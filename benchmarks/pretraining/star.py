"""Train STAR's cross-attentive scorer on the corpus: what `--recipe star` reads paths with untrained.

    python -m benchmarks.pretraining.star --corpus corpus.jsonl.gz --data ../shared/data --out FOLDER

The backbone is the sentence encoder with its adapter; low-rank changes of it, the heads and the three special tokens
are learned. Each question's own path stands among wrong ones of its schema (`Draws`). The loss is STAR's contrastive
one (section 4.2) over the logits, with one positive a cross-entropy, plus a cross-entropy of each as yes or no (ours):
a score then also says that no path fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lodestar.models.star import SPECIAL_TOKENS
from lodestar.models.star.network import CachedTokenizer, CrossAttentiveScorer
from lodestar.models.star.shipped import format_path_for_scorer
from lodestar.models.text.bert import open_pretrained
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from .corpus import Example, Step, make_hops, read_corpus, verbalise
from .lora import LoRA, note, read_arguments, train_steps
from .training import LENGTHS, NO_TYPE, Draws, Encoder, read_judged

ENCODER = "all-MiniLM-L6-v2+relations"
KEYS = 64
"""d_k of the cross-attention."""
RATES = 5e-4, 1e-3
"""Of the low-rank changes, and of heads and special tokens."""
YES_NO_LOSS = 1.0
JUDGED, READ = 300, 8
"""Questions of each set held out, and paths of each that are read."""


class Tokens(nn.Module):
    """Word embeddings of which the last rows are learned; the others are frozen."""

    def __init__(self, embeddings: nn.Embedding, learned: int) -> None:
        super().__init__()
        self.first = embeddings.num_embeddings - learned
        self.register_buffer("frozen", embeddings.weight.detach())
        self.rows = nn.Parameter(embeddings.weight[self.first :].detach().float())

    def forward(self, ids: Tensor) -> Tensor:
        new = ids >= self.first
        frozen: Tensor = self.frozen[ids]
        return torch.where(new[..., None], self.rows[(ids - self.first).clamp(min=0)].to(frozen.dtype), frozen)


class Reader:
    """The scorer with what of it is learned."""

    def __init__(self, device: str) -> None:
        backbone = open_pretrained(ENCODER, SPECIAL_TOKENS)
        model: Any = backbone.model
        self.network = CrossAttentiveScorer(backbone, key_dimension=KEYS).to(device)
        self.lora = LoRA(model, device)
        self.special = Tokens(model.embeddings.word_embeddings, len(SPECIAL_TOKENS))
        model.embeddings.word_embeddings = self.special
        self.heads = {name: each for name, each in self.network.named_parameters() if not name.startswith("encoder.")}
        self.texts = CachedTokenizer(backbone.tokenizer)

    def logits(self, pairs: list[tuple[str, str]]) -> Tensor:
        scores: Tensor = self.network([self.texts.pair(*pair) for pair in pairs])
        return scores

    def write(self, out: Path) -> None:
        """Write the learned tensors, in half precision."""
        from safetensors.numpy import save_file

        heads = {name: each.detach().cpu().numpy().astype(np.float16) for name, each in self.heads.items()}
        rows = {"special": self.special.rows.detach().cpu().numpy().astype(np.float16)}
        save_file(self.lora.tensors() | heads | rows, out / "star.safetensors", {"base": self.lora.base})


def words_of(topic: str, path: tuple[Step, ...]) -> str:
    """Return a path's words as the scorer reads them (`models.star.shipped.format_path_for_scorer`)."""
    return format_path_for_scorer(topic, make_hops(path)).removeprefix(", ")


class Batches(Dataset[dict[str, Any]]):
    """By the number of a step the tokens of its pairs, each question's own path first, and how many each has."""

    def __init__(self, draws: Draws, texts: CachedTokenizer) -> None:
        self._draws, self._texts = draws, texts

    def __getitem__(self, step: int) -> dict[str, Any]:
        rng = self._draws.random(step)
        pairs, sizes = [], []
        for number in self._draws.draw(rng):
            example = self._draws.examples[number]
            topic = example.topics[0] if example.topics else ""
            wrong = [path for _ in range(2) for path in self._draws.draw_wrong_paths(number, rng)]
            domain = {"domain": ""} if rng.random() < NO_TYPE else {}
            texts = [words_of(topic, tuple(replace(s, **domain) for s in path)) for path in (example.path, *wrong)]
            found = [self._texts.pair(example.question, text) for text in dict.fromkeys(texts)]
            pairs += found
            sizes.append(len(found))
        return {"pairs": pairs, "sizes": sizes}


def compute_loss(reader: Reader, batch: Mapping[str, Any]) -> tuple[Tensor, dict[str, Tensor]]:
    """Return a step's loss with its parts."""
    reader.network.feed_forward.train()
    logits = reader.network(batch["pairs"])
    own = pad_sequence(list(logits.split(batch["sizes"])), batch_first=True, padding_value=-torch.inf)
    right = torch.zeros(len(own), dtype=torch.long, device=own.device)
    contrast = cross_entropy(own, right)
    is_wrong = own.isfinite()
    is_wrong[:, 0] = False
    each = binary_cross_entropy_with_logits(own.clamp(min=-1e4), torch.zeros_like(own), reduction="none")
    no = (each * is_wrong).sum(dim=1) / is_wrong.sum(dim=1).clamp(min=1)
    yes_no = (binary_cross_entropy_with_logits(own[:, 0], torch.ones_like(own[:, 0])) + no.mean()) / 2
    parts = {"contrast": contrast, "yes_no": yes_no, "first": (own.argmax(dim=1) == 0).float().mean()}
    return contrast + YES_NO_LOSS * yes_no, parts


def judge(
    reader: Reader, encoder: Encoder, judged: Mapping[str, Sequence[Example]], seed: int
) -> dict[str, tuple[float, float, int]]:
    """Return hits@1 of the relations asked for among those of their schema, for a sample of each set: by the encoder's
    cosine, and where the scorer has read the nearest `READ`."""
    figures = {}
    reader.network.eval()
    for name, examples in judged.items():
        rng = np.random.default_rng(seed)
        hits, read = 0, 0
        chosen = [examples[at] for at in rng.permutation(len(examples))[:JUDGED]]
        for example in chosen:
            steps = (*example.path, *example.others)
            texts = [verbalise((step,)) for step in steps]
            near = encoder.vectors(texts, LENGTHS[1]) @ encoder.vectors([example.masked], LENGTHS[0])[0]
            best = near.topk(min(READ, len(steps))).indices.tolist()
            topic = example.topics[0] if example.topics else ""
            with torch.no_grad():
                paths = [(replace(steps[at], inverse=inverse),) for at in best for inverse in (False, True)]
                logits = reader.logits([(example.question, words_of(topic, path)) for path in paths])
            hits += best[0] < len(example.path)
            read += best[int(logits.argmax()) // 2] < len(example.path)
        figures[name] = (hits / len(chosen), read / len(chosen), len(chosen))
    return figures


def train(corpus: Path, data: Path, out: Path, num_steps: int, seed: int, seconds: float, device: str) -> None:
    """Train, and write the scorer beside the checkpoints and the log; at the end judge it on schemas held out."""
    torch.manual_seed(seed)
    reader = Reader(device)
    encoder = Encoder(ENCODER, device)
    examples = read_corpus(corpus)
    batches = Batches(Draws(examples, encoder, seed, num_steps), reader.texts)
    groups = [(reader.lora.parameters(), RATES[0]), ([*reader.heads.values(), reader.special.rows], RATES[1])]
    losses, write = partial(compute_loss, reader), partial(reader.write, out)
    train_steps(out, groups, batches, losses, write, num_steps, seconds)
    note(out, {"read": judge(reader, encoder, read_judged(examples, data), seed)})


if __name__ == "__main__":
    train(**read_arguments(__doc__ or "", 3000))
