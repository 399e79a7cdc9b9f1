"""Train STAR on mined paths: first the dual encoder, then the cross-attentive scorer over its shortlist."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..calibration import fit_calibration
from ..kinds import TrainingOptions
from ..mined_files import (
    INVERSE,
    THROUGH,
    Hops,
    MinedFile,
    MinedQuestion,
    get_mined_relation_words,
    iterate_trie_paths,
    parse_hop,
)
from ..text import Hop, verbalise_directed_hop
from ..text.bert import open_pretrained
from ..training import Figures, Objective, TrainingFolder
from ..word_positions import remove_mention
from . import FIGURES, SPECIAL_TOKENS, DualTrainingOptions, PoolTrainingOptions, StarConfig, StarDescription
from .network import (
    CachedTokenizer,
    CrossAttentiveScorer,
    DualBatch,
    DualEncoder,
    Floats,
    Ints,
    mix_shortlist_scores,
    open_model,  # noqa: F401 - what a `ModelKind` opens
    pad_paths,
    write_network,
)
from .shipped import ENCODER, KEYS, format_path_for_scorer, load_shipped_weights

Bools = npt.NDArray[np.bool_]


class _PathTable:
    """Paths by number. hops: the distinct ones. paths: each by the numbers of its hops. written: as mined files do."""

    def __init__(self) -> None:
        self.hops: list[Hop] = []
        self.paths: list[tuple[int, ...]] = []
        self.written: list[Hops] = []
        self._hop_numbers: dict[Hop, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}

    def hop(self, hop: Hop) -> int:
        """Return the number of a hop; a new one gets a new number."""
        if hop not in self._hop_numbers:
            self._hop_numbers[hop] = len(self.hops)
            self.hops.append(hop)
        return self._hop_numbers[hop]

    def number(self, written: Hops, hops: tuple[int, ...]) -> int:
        """Return the number of a path; a new path gets a new number."""
        if hops not in self._numbers:
            self._numbers[hops] = len(self.paths)
            self.paths.append(hops)
            self.written.append(written)
        return self._numbers[hops]

    def path_hops(self, number: int) -> tuple[Hop, ...]:
        return tuple(self.hops[hop] for hop in self.paths[number])


Candidates = Ints
"""Paths of one question, (num_candidates, 2): the number of each in the table, and of the topic that it leaves."""


@dataclass(frozen=True, slots=True, eq=False)
class QuestionExample:
    """One question with every path reachable from its topics, and how good each is.

    masked: the question without each topic's mention. reachable: all paths in the graph. precision, f1: of the ends of
    each, 0 if no end is right. positive: the positives of hard path mining among them. has_gold: these are an
    annotator's paths. negatives: the wrong paths that mining made, some of which are not in the graph.
    """

    id: str
    text: str
    mentions: tuple[str, ...]
    masked: tuple[str, ...]
    reachable: Candidates
    precision: Floats
    f1: Floats
    positive: Bools
    has_gold: bool
    negatives: Candidates

    @property
    def is_right(self) -> Bools:
        return self.f1 > 0


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The questions of mined files with one table of paths: relations of two graphs are one if their words are."""

    table: _PathTable
    examples: tuple[QuestionExample, ...]


def make_examples(files: Sequence[MinedFile]) -> ExampleSet:
    table = _PathTable()
    found: list[QuestionExample] = []
    for mined in files:
        words = get_mined_relation_words(mined.header)
        of_hop = cache(lambda written, words=words: table.hop(parse_hop(written, words)))
        found += (
            _example(each, lambda path, of_hop=of_hop: table.number(path, tuple(map(of_hop, path))))
            for each in mined.questions
        )
    return ExampleSet(table, tuple(found))


def _example(question: MinedQuestion, number: Callable[[Hops], int]) -> QuestionExample:
    found = [(number(hops), topic) for topic, reach in enumerate(question.reach) for hops in iterate_trie_paths(reach)]
    row = {key: at for at, key in enumerate(found)}
    # mining may have cut the reach before a path
    known = [(row[key], path) for path in question.paths if (key := (number(path.hops), path.topic)) in row]
    precision, f1 = np.zeros((2, len(found)), dtype=np.float32)
    positive = np.zeros(len(found), dtype=np.bool_)
    for at, path in known:
        precision[at], f1[at], positive[at] = path.precision, path.f1, path.positive
    return QuestionExample(
        id=question.id,
        text=question.text,
        mentions=tuple(topic.mention for topic in question.topics),
        masked=tuple(remove_mention(question.text, topic.mention) for topic in question.topics),
        reachable=np.array(found, dtype=np.int64),
        precision=precision,
        f1=f1,
        positive=positive,
        has_gold=any(path.gold for path in question.paths),
        negatives=np.array([(number(path.hops), path.topic) for path in question.negatives], np.int64).reshape(-1, 2),
    )


def make_dual_batch(
    texts: CachedTokenizer, table: _PathTable, examples: Sequence[QuestionExample], candidates: Sequence[Candidates]
) -> DualBatch:
    """Return the candidates of several questions as one batch, question after question."""
    starts = np.cumsum([0, *(len(example.masked) for example in examples)])
    owners = np.concatenate([start + each[:, 1] for start, each in zip(starts[:-1], candidates, strict=True)])
    numbers, rows = np.unique(np.concatenate(candidates)[:, 0], return_inverse=True)
    some = [table.paths[number] for number in numbers]
    hops = {hop: row for row, hop in enumerate(sorted({hop for path in some for hop in path}))}
    return DualBatch(
        questions=[texts.encode_single(masked) for example in examples for masked in example.masked],
        hops=[texts.encode_single(verbalise_directed_hop(table.hops[hop])) for hop in hops],
        paths=pad_paths([[hops[hop] for hop in path] for path in some]),
        rows=torch.from_numpy(rows),
        owners=torch.from_numpy(owners),
    )


def path_weighted_contrastive_loss(scores: Tensor, is_positive: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Return STAR's loss (section 4.2); our reading, as the text has no formula.

        L = Σ_(p+) w(p+) · −log( e^{s(p+)/τ} / ( e^{s(p+)/τ} + Σ_(p−) w(p−) · e^{s(p−)/τ} ) )

    scores: s, (num_paths,). is_positive: (num_paths,) bool. weights: w, (num_paths,), all 1 without path weights.
    temperature: τ. Returns a scalar, 0 without a positive. Deviations: the sum over the positives is their mean, so
    that a question with many paths counts as much as one with a single path.
    """
    logits = scores / temperature
    log_weights = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()  # weight 0 has gradient 0
    negatives = torch.logsumexp((logits + log_weights).masked_fill(is_positive, float("-inf")), dim=0)
    each = torch.logaddexp(logits, negatives) - logits
    return (each * weights)[is_positive].sum() / is_positive.sum().clamp(min=1)


def listwise_loss(scores: Tensor, shares: Tensor) -> Tensor:
    """Return the cross-entropy of the softmax over all candidates with their target shares; ours, not from a paper.

        L = −Σ_p t(p) · log( e^{s(p)} / Σ_p' e^{s(p')} )

    Unlike the contrastive loss it also orders the positives among themselves. scores: s, (num_paths,). shares: t,
    (num_paths,), summing to 1, or all 0, which makes L 0.
    """
    return -(shares * scores.log_softmax(dim=0)).sum()


def compute_path_rarity_weights(
    positives: Sequence[Hashable], negatives: Sequence[Hashable], w_min: float, w_max: float
) -> dict[bool, dict[Hashable, float]]:
    """Return the weight of each distinct path among the positives (True) and the negatives of the training set.

        w_raw(p) = |class| / count(p),  scaled linearly so that the smallest of both classes is w_min, the largest w_max

    Both arguments have one entry per occurrence. If all raw weights are equal, each is w_max. Scaling over both classes
    is our reading of "scaled to a fixed range": within each class |class| would have no influence.
    """
    raw = {
        kind: {path: len(paths) / count for path, count in Counter(paths).items()}
        for kind, paths in ((True, positives), (False, negatives))
    }
    values = [value for weights in raw.values() for value in weights.values()]
    least, most = min(values, default=0.0), max(values, default=0.0)
    rate = (w_max - w_min) / (most - least) if most > least else 0.0
    return {
        kind: {path: w_max - rate * (most - value) for path, value in weights.items()} for kind, weights in raw.items()
    }


def compute_target_shares(example: QuestionExample, any_weight: float) -> Floats:
    """Return the share of each reachable path by the F1 of its ends, (num_reachable,), summing to 1; all 0 without a
    right one.

    any_weight: a bonus on F1 for reaching a right answer. An annotator's paths of the question are all that count,
    equally.
    """
    raw = example.positive.astype(np.float32)
    if not (example.has_gold and example.positive.any()):
        raw = example.f1 + any_weight * example.is_right
    total = raw.sum()
    return (raw / total if total else raw).astype(np.float32)


def compute_first_path_figures(ranked: Iterable[tuple[QuestionExample, Floats]]) -> Figures:
    """Return the figures of the best path of each question, given the scores of its reachable paths.

    hits_at_1_any: it leads to a right answer. hits_at_1_expected: the share of its ends that are right. f1: of its
    ends. Each as mean over questions. `selection_metric` is the mean of the three: each alone rewards paths that are
    too wide or too narrow.
    """
    first = [(example, int(np.argmax(scores))) for example, scores in ranked]
    rows = [(float(each.f1[at] > 0), float(each.precision[at]), float(each.f1[at])) for each, at in first]
    means = np.mean(rows, axis=0).tolist()
    return {"selection_metric": float(np.mean(means)), **dict(zip(FIGURES, means, strict=True))}


MIXES = tuple(step / 20 for step in range(21))
Shortlisted = tuple[QuestionExample, Floats, Floats, Ints]
"""An example, the dual encoder's scores of its reachable paths, and the network's scores of the shortlisted rows."""


def mix_network_scores(found: Iterable[Shortlisted], mix: float) -> list[tuple[QuestionExample, Floats]]:
    """Return each example with the scores of its reachable paths by both networks. mix: λ."""
    return [(each, mix_shortlist_scores(stop, cross, rows, mix)) for each, stop, cross, rows in found]


def choose_best_mix(ranked: Sequence[Shortlisted], mixes: Sequence[float] = MIXES) -> tuple[float, Figures]:
    """Return the λ with the best figures on these dev examples, and the figures; ties go to the smallest λ."""
    figures = {mix: compute_first_path_figures(mix_network_scores(ranked, mix)) for mix in mixes}
    best = max(mixes, key=lambda mix: (figures[mix]["selection_metric"], -mix))
    return best, figures[best]


EVALUATION_BATCH = 32
ExampleCandidates = Sequence[tuple[QuestionExample, Candidates]]
"""Examples of one set, each with some of its candidates."""


class ListwiseDualObjective(Objective[DualEncoder, QuestionExample]):
    """Listwise: the softmax over all reachable paths of a question against the target shares.

    stop: each path followed by END. extend: among the paths of each length that can continue, the part of the shares
    that lies beyond each; the search uses it to rank a beam.
    """

    def __init__(
        self,
        network: DualEncoder,
        texts: CachedTokenizer,
        train: ExampleSet,
        dev: ExampleSet,
        options: DualTrainingOptions,
        training: TrainingOptions,
    ) -> None:
        self.texts, self.train, self.dev = texts, train, dev
        self._extend_weight = options.extend_weight
        self._targets = {
            example: (shares, list(iterate_continuation_shares(train.table, example.reachable, shares)))
            for example in train.examples
            if (shares := compute_target_shares(example, options.any_weight)).any()
        }
        super().__init__(network, list(self._targets), training, options.batch_size)

    def loss(self, batch: Sequence[QuestionExample]) -> Tensor:
        candidates = [example.reachable for example in batch]
        stop, extend = self.network(make_dual_batch(self.texts, self.train.table, batch, candidates))
        sizes = list(map(len, candidates))
        total = stop.new_zeros(())
        for example, stops, extends in zip(batch, stop.split(sizes), extend.split(sizes), strict=True):
            shares, continuations = self._targets[example]
            total = total + listwise_loss(stops, torch.from_numpy(shares).to(stop.device))
            for rows, beyond in continuations:
                chosen = extends[torch.from_numpy(rows).to(stop.device)]
                total = total + self._extend_weight * listwise_loss(chosen, torch.from_numpy(beyond).to(stop.device))
        return total / len(batch)

    def evaluate(self) -> Figures:
        """Return the figures of the first path when all reachable paths are scored."""
        return compute_first_path_figures(self.iterate_stop_scores(self.dev))

    def iterate_stop_scores(self, examples: ExampleSet) -> Iterator[tuple[QuestionExample, Floats]]:
        """Yield each example with the stop scores of its reachable paths."""
        for start in range(0, len(examples.examples), EVALUATION_BATCH):
            chosen = examples.examples[start : start + EVALUATION_BATCH]
            candidates = [example.reachable for example in chosen]
            with torch.inference_mode():
                stop, _ = self.network(make_dual_batch(self.texts, examples.table, chosen, candidates))
            parts = stop.float().cpu().split(list(map(len, candidates)))
            yield from zip(chosen, (part.numpy() for part in parts), strict=True)


def iterate_continuation_shares(
    table: _PathTable, reachable: Candidates, shares: Floats
) -> Iterator[tuple[Ints, Floats]]:
    """Yield, for each length at which paths continue, the rows of those paths and the part of the shares beyond each.

    shares: (num_reachable,). The yielded parts sum to 1; lengths with nothing beyond are skipped.
    """
    paths = [(table.paths[path], topic) for path, topic in reachable.tolist()]
    row = {key: at for at, key in enumerate(paths)}
    depths = np.array([len(path) for path, _ in paths])
    beyond = np.zeros(len(reachable), dtype=np.float32)
    for at in np.argsort(-depths, kind="stable"):
        path, topic = paths[at]
        before = row.get((path[:-1], topic))
        if before is not None:
            beyond[before] += beyond[at] + shares[at]
    for depth in range(1, int(depths.max(initial=0))):
        rows = np.flatnonzero(depths == depth)
        total = beyond[rows].sum()
        if total > 0:
            yield rows, beyond[rows] / total


def draw_training_pool(
    example: QuestionExample, options: PoolTrainingOptions, chance: random.Random
) -> tuple[Candidates, Candidates]:
    """Return the positives and the negatives of a question."""
    drawn = chance.sample(range(len(example.negatives)), min(options.pool_size, len(example.negatives)))
    return example.reachable[example.positive][: options.num_positives], example.negatives[drawn]


class ContrastivePoolObjective(Objective[nn.Module, QuestionExample]):
    """Trains a network to score positives above the negatives of a pool (see `PoolTrainingOptions`).

    `dev_stop` are the dual encoder's scores of the reachable paths of each dev example. `mix` is the network's weight
    against them (see `mix_shortlist_scores`); None to choose it at each evaluation.
    """

    def __init__(
        self,
        network: nn.Module,
        texts: CachedTokenizer,
        train: ExampleSet,
        dev: ExampleSet,
        dev_stop: Sequence[Floats],
        options: PoolTrainingOptions,
        training: TrainingOptions,
        mix: float | None = None,
    ) -> None:
        self.texts, self.train, self.dev = texts, train, dev
        self.dev_stop, self.options, self.mix = dev_stop, options, mix
        pools = {
            example: draw_training_pool(example, options, random.Random(f"{training.seed}/{example.id}"))  # noqa: S311 - no secret
            for example in train.examples
        }
        self.pools = {example: pool for example, pool in pools.items() if len(pool[0])}
        right, wrong = ([int(path) for pool in self.pools.values() for path in pool[of][:, 0]] for of in (0, 1))
        self._weights = compute_path_rarity_weights(right, wrong, options.w_min, options.w_max)
        self._chosen: dict[QuestionExample, Candidates] = {}
        super().__init__(network, list(self.pools), training, options.batch_size)

    def batches(self, epoch: int) -> list[list[QuestionExample]]:
        """Shuffle the questions, and choose the hardest negatives of each pool with the current network."""
        most = self.options.num_negatives
        self._chosen = {example: wrong[:most] for example, (_, wrong) in self.pools.items()}
        if epoch > 0:
            pools = [(example, wrong) for example, (_, wrong) in self.pools.items() if len(wrong) > most]
            for (example, wrong), scores in zip(pools, self.score(self.train, pools), strict=True):
                self._chosen[example] = wrong[np.argsort(-scores, kind="stable")[:most]]
        return super().batches(epoch)

    def logits(self, examples: ExampleSet, selected: ExampleCandidates) -> Tensor:
        """Return the logits of all candidates, example by example, (num_candidates,)."""
        pairs = [
            (example.text, format_path_for_scorer(example.mentions[topic], examples.table.path_hops(path)))
            for example, candidates in selected
            for path, topic in candidates.tolist()
        ]
        return self.network([self.texts.pair(*pair) for pair in pairs])

    def path_scores(self, logits: Tensor) -> Tensor:
        """Return the score s of STAR's contrastive loss, which uses e^(s / τ), (num_candidates,): σ(logit)."""
        return logits.sigmoid()

    def loss(self, batch: Sequence[QuestionExample]) -> Tensor:
        both = [np.concatenate([self.pools[example][0], self._chosen[example]]) for example in batch]
        logits = self.logits(self.train, list(zip(batch, both, strict=True)))
        total = logits.new_zeros(())
        for example, each, own in zip(batch, both, logits.split(list(map(len, both))), strict=True):
            is_positive = torch.arange(len(each)).to(own.device) < len(self.pools[example][0])
            rows = zip(each[:, 0].tolist(), is_positive.tolist(), strict=True)
            weights = torch.tensor([self._weights[kind][path] for path, kind in rows]).to(own)
            scores = self.path_scores(own)
            total = total + path_weighted_contrastive_loss(scores, is_positive, weights, self.options.temperature)
        return total / len(batch)

    def score(self, examples: ExampleSet, selected: ExampleCandidates) -> list[Floats]:
        """Return the logits of each example's candidates, (num_candidates,) each."""
        self.network.eval()
        found: list[Floats] = []
        with torch.inference_mode():
            for at in range(0, len(selected), EVALUATION_BATCH):
                some = selected[at : at + EVALUATION_BATCH]
                logits = self.logits(examples, some).float().cpu().numpy()
                found += np.split(logits, np.cumsum([len(candidates) for _, candidates in some])[:-1])
        return found

    def evaluate(self) -> Figures:
        """Return the figures of the first path: both networks' scores order the dual encoder's shortlist."""
        ranked = list(self.iterate_shortlist_scores())
        mix, figures = choose_best_mix(ranked, MIXES if self.mix is None else (self.mix,))
        return {**figures, "mix": mix}

    def iterate_shortlist_scores(self) -> Iterator[Shortlisted]:
        """Yield each dev example with the scores of its paths."""
        best = [np.argsort(-stop, kind="stable")[: self.options.shortlist] for stop in self.dev_stop]
        selected = [(e, e.reachable[rows]) for e, rows in zip(self.dev.examples, best, strict=True)]
        return zip(self.dev.examples, self.dev_stop, self.score(self.dev, selected), best, strict=True)


UNANSWERABLE = 0.2
"""The weight of the questions taken as unanswerable. Our own choice."""
ENOUGH_F1 = 0.5
DUAL, CROSS = "dual encoder", "cross-attentive scorer"
"""The networks, by their display names."""


def fit(
    config: StarConfig, train: Sequence[MinedFile], dev: Sequence[MinedFile], out: TrainingFolder
) -> StarDescription:
    """Train the dual encoder, then the cross-attentive scorer unless its weight is 0, and write the checkpoint."""
    examples, chosen = map(make_examples, (train, dev))
    options = asdict(config)
    torch.manual_seed(config.dual_training.seed)
    backbone = open_pretrained(config.encoder, SPECIAL_TOKENS)
    dual = DualEncoder(backbone).to(out.device)
    texts = CachedTokenizer(backbone.tokenizer)
    first = ListwiseDualObjective(dual, texts, examples, chosen, config.dual, config.dual_training)
    out.train(DUAL, "dual", first, {"encoder": config.encoder, "options": options["dual"]})
    parts = {"dual": partial(write_network, backbone, dual)}
    with first.autocast():
        ranked = list(first.iterate_stop_scores(chosen))
    mix = 0.0
    if config.mix != 0:
        torch.manual_seed(config.cross_training.seed)
        backbone = open_pretrained(config.encoder, SPECIAL_TOKENS)
        starts = config.pretrained and config.encoder == ENCODER
        cross = CrossAttentiveScorer(backbone, key_dimension=KEYS if starts else None)
        if starts:
            load_shipped_weights(cross)
        cross.to(out.device)
        stops = [stop for _, stop in ranked]
        second = ContrastivePoolObjective(
            cross, texts, examples, chosen, stops, config.cross, config.cross_training, mix=config.mix
        )
        before = {key: options[key] for key in ("encoder", "pretrained", "mix", "dual", "dual_training", "cross")}
        out.train(CROSS, "cross", second, before)
        parts["cross"] = partial(write_network, backbone, cross)
        mix = out.results[CROSS].best["mix"]
        with second.autocast():
            ranked = mix_network_scores(second.iterate_shortlist_scores(), mix)
    return out.write(parts, fit_path_calibration(ranked, chosen.table), mix=mix)


def fit_path_calibration(ranked: Sequence[tuple[QuestionExample, Floats]], table: _PathTable) -> tuple[float, float]:
    """Return slope and intercept of the first path's probability, fitted on the dev questions and, with a fifth of
    the weight, on the same questions without the relations that lead to their answers.

    ranked: each dev example with the scores of its paths.
    """
    answerable, bare = [], []
    for example, scores in ranked:
        first = int(np.argmax(scores))
        answerable.append((float(scores[first]), float(example.f1[first] > 0)))
        left = _mark_remaining_paths(example, table)
        if left.any():
            bare.append((float(scores[left].max()), 0.0))
    share = UNANSWERABLE if bare else 0.0  # in a graph of one relation nothing is left to answer with
    weights = [(1 - share) / len(answerable)] * len(answerable)
    return fit_calibration([*answerable, *bare], weights + [share / max(1, len(bare))] * len(bare))


def _mark_remaining_paths(example: QuestionExample, table: _PathTable) -> Bools:
    """Return which of the reachable paths do not use the relations of the right ones, (num_reachable,): the positive
    ones, and those whose ends match the right answers with F1 .5 or more, or as well as the best.
    """
    least = min(ENOUGH_F1, float(example.f1.max()))
    right = example.positive | ((example.f1 >= least) & example.is_right)
    paths = [table.written[path] for path in example.reachable[:, 0].tolist()]
    taken_out = {relation for row in np.flatnonzero(right).tolist() for relation in _relations_of(paths[row])}
    return np.array([taken_out.isdisjoint(_relations_of(path)) for path in paths])


def _relations_of(hops: Hops) -> set[str]:
    """Return the relations of a path as a mined file writes it."""
    return {step.removeprefix(INVERSE) for hop in hops for step in hop.split(THROUGH)}
