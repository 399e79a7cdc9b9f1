"""Learn the weights of plans from questions with answers.

``python -m benchmarks.accuracy.fit_plans NAME=FILE … --out F``: NAME is an embedded server, FILE has a JSON line for
each question: ``question``, and ``gold``, a list of names, numbers or yes/no. Every plan whose result is right is a
positive, whatever it looks like. The weights maximise Σ log (Σ_{right} e^{w·f} / Σ e^{w·f}) − λ |w − w₀|² over the
first plans of each question, each graph counting as the root of its questions; the plans are found again with the new
weights. How sure the best plan is is logistic in its features, its score, and how far that is ahead; how sure it is
beside what a path leads to is logistic in that and in how sure the path is. Plans are executed in memory.
``--leave-out NAME`` prints the figures of a graph that nothing was learned from.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lodestar.engine import pipeline
from lodestar.engine.api import Engine
from lodestar.engine.context import Context
from lodestar.engine.data_model import Entity, Question
from lodestar.engine.evidence import Answer
from lodestar.engine.plans.chart import FEATURES
from lodestar.engine.plans.compile import PlanResult, PlanRow
from lodestar.engine.plans.plan import KindSet
from lodestar.engine.plans.plan_selection import (
    FARTHEST,
    ExecutedPlan,
    look_up_literal_topics,
    make_plan_versus_path_features,
    make_planner,
    read_plan_weights,
)
from lodestar.engine.plans.planner import Candidate, Planner
from lodestar.engine.plans.schema import GraphSchema, read_schema
from lodestar.engine.settings import resolve_settings
from lodestar.models.calibration import sigmoid
from scipy.optimize import minimize

from tests.references.plans import Naive

from .plans import RIGHT, normalise

Floats = npt.NDArray[np.float64]

TRIED = 20
"""Plans of a question that are executed."""
EXECUTED = 3
"""Of these, the ones that would be when a question is asked."""
LAMBDA = 0.02
CERTAINTY = ("one", "score", "ahead", *FEATURES)
SCALES = np.array([1.0, 0.2, 0.5, *[1.0] * len(FEATURES)])
RAISE = frozenset(
    "score ahead relation_words kind_agrees first_noun_agrees wanted_kind superlative_fits share kind_overlap"
    " topic_uncertain".split()
)
EITHER = frozenset("one size counts superlative_by_count kind_alone united_or_intersected negation lacks_any".split())
"""What may raise certainty, and lower it or raise it; all else only lowers it."""
PULL = 0.01
"""Of the logistic weights to nought."""
TRIPLES = """MATCH (h:Entity)-[r]->(t:Entity|Literal)
RETURN h.id, coalesce(h.name, h.id), coalesce(r.relation, type(r)), t.id, coalesce(t.name, t.value, t.id)"""


class InMemory(Naive):
    """The naive evaluator with an index of triples, and sets kept."""

    def __init__(self, triples: Sequence[tuple[str, str, str]], texts: Mapping[str, str], schema: GraphSchema) -> None:
        super().__init__(triples, texts, schema)
        self._next: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for head, relation, tail in triples:
            self._next[relation][head].add(tail)
            self._next[f"^{relation}"][tail].add(head)
        self._sets: dict[Any, set[str]] = {}
        self._keys: dict[str, float | None] = {}

    def ends(self, start: str, path: Sequence[str]) -> set[str]:
        found = {start}
        for step in path:
            found = {end for each in found for end in self._next[step].get(each, ())}
        return found

    def key(self, node: str) -> float | None:
        if node not in self._keys:
            self._keys[node] = super().key(node)
        return self._keys[node]

    def set(self, of: Any) -> set[str]:
        if of not in self._sets:
            if isinstance(of, KindSet):
                source = self.schema.kinds[of.name]
                found = {h for t in self.schema.types for k in source.types for h in self._next[f"^{t}"].get(k, ())}
                self._sets[of] = found.union(*(self._next[end] for end in source.ends))
            else:
                self._sets[of] = super().set(of)
        return self._sets[of]


@dataclass
class Asked:
    """A graph with its questions, and topics and kinds of each."""

    name: str
    planner: Planner
    graph: InMemory
    questions: list[dict[str, Any]]
    topics: list[Any]
    paths: list[Answer]
    """What is answered without plans."""
    kinds: Mapping[str, Sequence[str]]


def read_asked(name: str, path: Path) -> Asked:
    questions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with Engine(resolve_settings({"name": name})) as engine:
        graph, recipe = engine._open({})
        ctx = Context(engine.gateway(), graph)
        schema = read_schema(engine.gateway(), graph.catalogue, graph.words)
        linked = pipeline.link_questions(ctx, recipe.linker, [Question(each["question"]) for each in questions])
        topics, kinds = look_up_literal_topics(ctx, linked, schema)
        rows = [tuple(row.values()) for row in engine.gateway()._driver.execute_query(TRIPLES).records]
        planner = make_planner(graph, schema)
        paths = engine.ask_batch([each["question"] for each in questions], plans=False)
    texts = {id_: text for h, name_, _, t, value in rows for id_, text in ((h, name_), (t, value))}
    in_memory = InMemory([(h, r, t) for h, _, r, t, _ in rows], texts, schema)
    return Asked(name, planner, in_memory, questions, topics, paths, kinds)


def is_right(graph: InMemory, result: Any, gold: Sequence[object]) -> bool:
    given = [graph.texts.get(each, each) for each in result] if isinstance(result, set) else [result]
    found = {normalise(each) for each in given}
    right = {normalise(each) for each in gold}
    return bool(right) and 2 * len(right & found) >= RIGHT * (len(right) + len(found))


@dataclass
class Tried:
    """The plans of a question. feats: (num_plans, num_features); right: (num_plans,); best: the one that is given."""

    candidates: Sequence[Candidate]
    feats: Floats
    right: npt.NDArray[np.bool_]
    empty: npt.NDArray[np.bool_]
    best: int
    result: Any
    """What the best one gives."""
    path: Answer
    path_is_right: bool


def try_plans(asked: Asked, weights: Floats) -> list[Tried]:
    asked.planner.weights = dict(zip(FEATURES, weights, strict=True))
    tried = []
    at_empty = FEATURES.index("gives_nothing")
    for question, topics, path in zip(asked.questions, asked.topics, asked.paths, strict=True):
        found = asked.planner.plan(question["question"], topics, asked.kinds)[:TRIED]
        if found:
            results = [asked.graph.run(each.plan) for each in found]
            feats = np.array([[each.feats[name] for name in FEATURES] for each in found])
            empty = np.array([result is None or (isinstance(result, set | dict) and not result) for result in results])
            feats[:, at_empty] = empty
            right = np.array([is_right(asked.graph, result, question["gold"]) for result in results])
            best = int((feats[:EXECUTED] @ weights).argmax())
            ends = {each.id for each in path.answers}
            path_is_right = path.found and is_right(asked.graph, ends, question["gold"])
            tried.append(Tried(found, feats, right, empty, best, results[best], path, path_is_right))
    return tried


def fit_weights(graphs: Sequence[Sequence[Tried]], first: Floats, num_steps: int = 300, rate: float = 0.05) -> Floats:
    """Return the weights by Adam; first: w₀, (num_features,)."""
    weights, mean, square = first.copy(), np.zeros_like(first), np.zeros_like(first)
    useful = [[each for each in some if each.right.any() and not each.right.all()] for some in graphs]
    shares = [1 / np.sqrt(max(1, len(some))) for some in useful]
    total = sum(share * len(some) for share, some in zip(shares, useful, strict=True))
    for step in range(1, num_steps + 1):
        gradient = np.zeros_like(first)
        for share, some in zip(shares, useful, strict=True):
            for each in some:
                scores = each.feats @ weights
                likely = np.exp(scores - scores.max())
                likely /= likely.sum()
                wanted = likely * each.right
                gradient += share * (wanted / max(wanted.sum(), 1e-12) - likely) @ each.feats
        gradient = gradient / total - LAMBDA * (weights - first)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights = weights + rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-6)
    return weights


def certainty_row(tried: Tried, weights: Floats) -> list[float]:
    """Return what the certainty of the best plan is read from: `CERTAINTY`."""
    scores = tried.feats @ weights
    behind = np.delete(scores, tried.best).max(initial=-np.inf)
    best = float(scores[tried.best])
    return [1.0, best, min(best - float(behind), FARTHEST), *tried.feats[tried.best]]


def certain_rows(graphs: Sequence[Sequence[Tried]], scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what certainty is read from, whether the plan is right, and its weight."""
    rows, right, share = [], [], []
    for some in graphs:
        rows += [certainty_row(each, scores) for each in some]
        right += [float(each.right[each.best]) for each in some]
        share += [1 / np.sqrt(len(some))] * len(some)
    return np.array(rows).reshape(-1, len(CERTAINTY)), np.array(right), np.array(share) / max(np.sum(share), 1e-9)


def fit_logistic(x: Floats, y: Floats, share: Floats, pull: float, bounds: Any = None) -> Floats:
    """Return the weights of a logistic function within bounds, (num_features,); the first is the constant."""
    kept = pull * (np.arange(x.shape[1]) > 0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = x @ weights
        value = float(share @ (np.logaddexp(0, z) - y * z) + 0.5 * (kept * weights**2).sum())
        return value, (share * (sigmoid(z) - y)) @ x + kept * weights

    found: Floats = minimize(loss, np.zeros(x.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B").x
    return found


def fit_certainty(graphs: Sequence[Sequence[Tried]], scores: Floats) -> Floats:
    """Return the logistic weights of whether the best plan is right, scaled so that they hold for graphs that they were
    not fitted on (Platt's scaling, each graph left out once)."""
    bounds = [(None, None) if name in EITHER else (0, None) if name in RAISE else (None, 0) for name in CERTAINTY]

    def fit(some: Sequence[Sequence[Tried]]) -> Floats:
        x, y, share = certain_rows(some, scores)
        return fit_logistic(x * SCALES, y, share, PULL, bounds) * SCALES

    left, right, share = [], [], []
    for at in range(len(graphs)):
        x, y, weight = certain_rows(graphs[at : at + 1], scores)
        left.append(x @ fit([*graphs[:at], *graphs[at + 1 :]]))
        right.append(y)
        share.append(weight)
    z = np.concatenate(left)
    of_z = np.stack([np.ones_like(z), z], 1)
    shares = np.concatenate(share) / len(graphs)
    scale = fit_logistic(of_z, np.concatenate(right), shares, 0.001)
    weights = fit(graphs) * scale[1]
    weights[0] += scale[0]
    return weights


def fit_beside(graphs: Sequence[Sequence[Tried]], scores: Floats, certainty: Floats) -> dict[str, dict[str, float]]:
    """Return the logistic weights of whether a plan is right beside a path, and of whether the path is."""
    found: dict[str, dict[str, float]] = {}
    for at, name in enumerate(("beside_path", "beside_plan")):
        rows, right, share = [], [], []
        for some in graphs:
            own = [
                (make_plan_versus_path_features(as_chosen(each, scores, certainty), each.path)[at], each)
                for each in some
            ]
            own = [(feats, each) for feats, each in own if feats]
            rows += [feats for feats, _ in own]
            right += [float(each.path_is_right if at else each.right[each.best]) for _, each in own]
            share += [1 / np.sqrt(len(own))] * len(own)
        names = list(dict.fromkeys(["one", *(name for feats in rows for name in feats)]))
        x = np.array([[feats.get(name, 0.0) for name in names] for feats in rows])
        weights = fit_logistic(x, np.array(right), np.array(share) / np.sum(share), PULL)
        found[name] = dict(zip(names, (round(float(each), 3) for each in weights), strict=True))
    return found


def as_chosen(tried: Tried, scores: Floats, certainty: Floats) -> ExecutedPlan:
    result = tried.result
    if isinstance(result, set):
        given = PlanResult(len(result), tuple(PlanRow(Entity(id_, None)) for id_ in sorted(result)))
    elif isinstance(result, bool):
        given = PlanResult(0, (), yes=result)
    else:
        given = PlanResult(0, (), number=0.0)
    odds = float(np.dot(certainty_row(tried, scores), certainty))
    return ExecutedPlan(tried.candidates[tried.best], given, float(sigmoid(odds)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--leave-out", action="append", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    given = [each.partition("=") for each in arguments.graphs]
    graphs = [read_asked(name, Path(file)) for name, _, file in given]
    learned = [each for each in graphs if each.name not in arguments.leave_out]
    weights = first = np.array([read_plan_weights()["plans"][name] for name in FEATURES])
    for _ in range(arguments.rounds):
        weights = fit_weights([try_plans(each, weights) for each in learned], first)
    tried = {each.name: try_plans(each, weights) for each in graphs}
    for each in graphs:
        size = len(each.questions)
        best = sum(bool(one.right[one.best]) for one in tried[each.name]) / size
        any_ = sum(bool(one.right.any()) for one in tried[each.name]) / size
        print(f"{each.name}: {size} questions, best plan right {best:.3f}, any of {TRIED} {any_:.3f}")
    certainty = fit_certainty([tried[each.name] for each in learned], weights)
    data = {
        "plans": {name: round(float(value), 3) for name, value in zip(FEATURES, weights, strict=True)},
        "certainty": dict(zip(CERTAINTY, (round(float(each), 3) for each in certainty), strict=True)),
        **fit_beside([tried[each.name] for each in learned], weights, certainty),
    }
    arguments.out.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
