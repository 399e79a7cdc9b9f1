"""Fit the weights of the similarity formula (`models.path_similarity`), and take its terms out one at a time.

    python -m benchmarks.accuracy.fit_similarity collect --out FOLDER fb=fb:dev.jsonl.gz clinic=people:clinic …
    python -m benchmarks.accuracy.fit_similarity fit --out FOLDER

``collect`` asks the questions of each graph, ``GRAPH=SERVER:QUESTIONS``, with a wide beam and stores the terms of S for
each path that was found, with F1 of where it leads; QUESTIONS is a file, or a graph of ``tests/people`` that
the server holds. The encoder is that of the settings. ``fit`` maximises Σ log Σ_p F1(p) · e^{S(p)/τ} / Σ_p e^{S(p)/τ},
each graph counting as the root of its questions, and prints how many first paths are right with the weights as they
are, with those fitted on the other graphs, and where each term is taken out (the rest fitted again, on other graphs);
and how far the probabilities of first paths are off, as they are and fitted on the other graphs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lodestar.engine.api import Engine
from lodestar.engine.data_model import Chain, Question, Topic
from lodestar.engine.evaluation import expected_calibration_error
from lodestar.engine.evidence import SIMILARITY, AnswerProbabilityFactors, Calibration, Evidence
from lodestar.engine.parts import NamedPart
from lodestar.engine.recipes import read_recipe
from lodestar.engine.retrieval import PathQuery, PathScores, merge_mediator_hops
from lodestar.engine.retrieval.no_answer import USUAL_MARGIN
from lodestar.engine.retrieval.similarity import Similarity, SimilarityScorer
from lodestar.engine.settings import resolve_settings
from lodestar.loaders.question_sets import read_questions
from lodestar.models.calibration import fit_calibration
from lodestar.models.path_similarity import COSINE, PathSimilarity, SimilarityWeights, TopicPaths
from lodestar.models.text.vectors import TextVectors
from scipy.optimize import minimize

from benchmarks.accuracy.people import read_graph
from benchmarks.accuracy.people import read_questions as people_questions

Floats = npt.NDArray[np.float64]
TERMS = tuple(each.name for each in fields(SimilarityWeights) if each.name != "phrases")
PATHS, BATCH = 40, 8
TEMPERATURE = 0.1
PULL = 0.02
"""To the weights as they are."""
RIGHT = 0.8


@dataclass(frozen=True)
class Asked:
    """A question, and the ids or names of its answers; none where the graph has no answer."""

    question: Question
    answers: frozenset[str]


class Recording(SimilarityScorer):
    """Keeps Σ ln(1 + n_l) of every path that it scores, by topic and path."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.branching: dict[tuple[str, str], float] = {}

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        for query in queries:
            places = zip(query.topics, query.paths, query.log_branching, strict=True)
            self.branching |= {(topic.entity.id, str(path)): number for topic, path, number in places}
        return super().score(queries)


@dataclass(frozen=True)
class RecordingSimilarity(Similarity):
    """Similarity with a `Recording` scorer."""

    def scorer(self, graph: Any) -> Recording:
        return graph.get_or_make("recording", lambda: Recording(graph.words, graph.shared.vectors))


def read_asked(questions: str) -> list[Asked]:
    """Return the questions of a file, or of a graph of ``tests/people``."""
    if not Path(questions).exists():
        some = people_questions(read_graph(questions))
        return [Asked(Question(each.text), frozenset(each.answers)) for each in some if each.kind != "form"]
    return [
        Asked(each.as_question(each.topic_ids or each.topic_names), frozenset(a.id or a.names[0] for a in each.answers))
        for each in read_questions(questions).questions
    ]


def collect(server: str, questions: Sequence[Asked], max_hop: int) -> dict[str, Floats]:
    """Return for each path found its question's number, F1, what its link takes, and the cosine and terms of S; and for
    each question with a path what its probability is read from, and whether the first is right."""
    rows, first = [], []
    retriever = RecordingSimilarity(beam_width=20, max_hop=max_hop)
    recipe = replace(read_recipe("similarity", options={"plans": False}), stages=NamedPart("similarity", retriever))
    with Engine(resolve_settings({"name": server}), recipe=recipe) as engine:
        for start in range(0, len(questions), BATCH):
            some = questions[start : start + BATCH]
            found = engine.retrieve_batch([each.question for each in some], top_k=PATHS)
            graph = engine.read_graph()
            scorer = retriever.scorer(graph)
            for number, (each, evidence) in enumerate(zip(some, found, strict=True), start):
                terms = list(read_terms(evidence, each.answers, scorer, graph.words, graph.shared.vectors))
                rows += [(number, *row) for row in terms]
                if said := evidence.extra_of(AnswerProbabilityFactors):
                    read = said.score + said.margin - said.lacking - USUAL_MARGIN
                    first.append((read, compute_f1(evidence.chains[0].value, each.answers) >= RIGHT))
    return {"rows": np.array(rows).reshape(-1, 4 + len(TERMS)), "first": np.array(first, dtype=float).reshape(-1, 2)}


def compute_f1(chain: Chain, right: Set[str]) -> float:
    """right: ids or names; 0 for none."""
    found = {end.id if end.id in right else end.label for end in chain.answers}
    return 2 * len(found & right) / (len(found) + len(right)) if right else 0.0


def read_terms(
    evidence: Evidence[Any], answers: frozenset[str], scorer: Recording, words: Mapping[str, Any], vectors: TextVectors
) -> Iterator[tuple[float, ...]]:
    """Yield F1, the link's score below the best, the cosine, and each term of S of the first paths."""
    topics = {topic.entity.id: topic for topic in evidence.topics}
    best = max((topic.score for topic in evidence.topics), default=0.0)
    by_topic: dict[str, list[Any]] = {}
    for item in evidence.chains[:PATHS]:
        by_topic.setdefault(item.value.topic.id, []).append(item.value)
    for id_, chains in by_topic.items():
        topic: Topic = topics[id_]
        paths = scorer.make_topic_paths(
            evidence.question.text,
            topic,
            [merge_mediator_hops(chain.relation_path, words) for chain in chains],
            [scorer.branching[id_, str(chain.relation_path)] for chain in chains],
        )

        def score(weights: SimilarityWeights, paths: TopicPaths = paths) -> Floats:
            return PathSimilarity(vectors, weights, shortlist=PATHS).scores([[paths]])[0][0].astype(np.float64)

        cosine = score(replace(COSINE, phrases=True))
        terms = [score(replace(COSINE, phrases=True, **{term: 1.0})) - cosine for term in TERMS]
        for at, chain in enumerate(chains):
            yield compute_f1(chain, answers), topic.score - best, cosine[at], *(term[at] for term in terms)


@dataclass(frozen=True)
class Group:
    """The paths of one question."""

    graph: str
    weight: float
    f1: Floats
    base: Floats
    """The cosine with what the link takes."""
    terms: Floats


def read_groups(folder: Path, link_weight: float) -> list[Group]:
    groups = []
    for file in sorted(folder.glob("*.npz")):
        rows = np.load(file)["rows"]
        some = [rows[rows[:, 0] == number, 1:] for number in np.unique(rows[:, 0])]
        some = [each for each in some if each[:, 0].max() > 0]
        for each in some:
            base = each[:, 2] + link_weight * each[:, 1]
            groups.append(Group(file.stem, len(some) ** -0.5, each[:, 0], base, each[:, 3:]))
    return groups


def fit(groups: Sequence[Group], kept: npt.NDArray[np.bool_]) -> Floats:
    """Return the weights, (num_terms,), of the terms that are kept; 0 of the others."""
    start = np.array([getattr(SimilarityWeights(), term) for term in TERMS])
    sign = np.sign(start)

    def loss(chosen: Floats) -> float:
        weights = np.zeros(len(TERMS))
        weights[kept] = chosen
        total = PULL * float(((chosen - start[kept]) ** 2).sum()) * sum(each.weight for each in groups)
        for each in groups:
            z = (each.base + each.terms @ weights) / TEMPERATURE
            shares = np.exp(z - z.max())
            total -= each.weight * float(np.log((shares * each.f1).sum() / shares.sum() + 1e-9))
        return total

    bounds = [(0, None) if each > 0 else (None, 0) for each in sign[kept]]
    weights = np.zeros(len(TERMS))
    weights[kept] = minimize(loss, start[kept], bounds=bounds, method="L-BFGS-B", options={"maxiter": 60}).x
    return weights


def count_right(groups: Sequence[Group], weights: Floats) -> tuple[float, float, int]:
    """Return the mean F1 of the first paths, the share that is right, and n."""
    first = [float(each.f1[int((each.base + each.terms @ weights).argmax())]) for each in groups]
    return float(np.mean(first)), float(np.mean([each >= RIGHT for each in first])), len(first)


def report(groups: Sequence[Group]) -> None:
    """Print the figures: weights as they are, fitted on the other graphs, and without each term."""
    graphs = list(dict.fromkeys(each.graph for each in groups))
    folds = {graph: [each for each in groups if each.graph != graph] for graph in graphs}
    everything = np.ones(len(TERMS), dtype=bool)
    as_is = np.array([getattr(SimilarityWeights(), term) for term in TERMS])

    def row(label: str, weights: Mapping[str, Floats]) -> None:
        figures = {g: count_right([each for each in groups if each.graph == g], weights[g]) for g in graphs}
        means = np.mean([[f1, right] for f1, right, _ in figures.values()], axis=0)
        print(
            label, f"F1 {means[0]:.3f} right {means[1]:.3f}", *(f"{g} {f[1]:.3f}" for g, f in figures.items()), sep="\t"
        )

    print("n", *(f"{graph} {sum(each.graph == graph for each in groups)}" for graph in graphs), sep="\t")
    row("as it is", dict.fromkeys(graphs, as_is))
    row("fitted on the others", {graph: fit(some, everything) for graph, some in folds.items()})
    for number, term in enumerate(TERMS):
        kept = everything.copy()
        kept[number] = False
        row(f"without {term}", {graph: fit(some, kept) for graph, some in folds.items()})
    final = fit(groups, everything)
    print("fitted on all:", ", ".join(f"{term} {weight:.2f}" for term, weight in zip(TERMS, final, strict=True)))


def report_calibration(folder: Path) -> None:
    """Print the expected calibration error by graph, as it is and by the other graphs, each counting alike."""
    first = {file.stem: np.load(file)["first"] for file in sorted(folder.glob("*.npz"))}
    for graph, own in first.items():
        others = [each for name, each in first.items() if name != graph]
        weights = np.concatenate([np.full(len(each), 1 / len(each) / len(others)) for each in others])
        fitted = fit_calibration(list(map(tuple, np.concatenate(others))), list(weights))
        errors = [
            expected_calibration_error([by.probability(read) for read in own[:, 0]], list(own[:, 1] > 0))
            for by in (SIMILARITY, Calibration("similarity", *fitted))
        ]
        by_others = f"by the others {errors[1]:.3f} ({fitted[0]:.2f}, {fitted[1]:.2f})"
        print(f"{graph}: n {len(own)}, ECE {errors[0]:.3f}, {by_others}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", choices=("collect", "fit"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--max-hop", type=int, default=2)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH=SERVER:QUESTIONS")
    options = parser.parse_intermixed_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.task == "fit":
        report(read_groups(options.out, SIMILARITY.from_log_odds(Similarity.link_weight)))
        report_calibration(options.out)
        return
    for each in options.graphs:
        graph, _, place = each.partition("=")
        server, _, questions = place.partition(":")
        np.savez_compressed(options.out / f"{graph}.npz", **collect(server, read_asked(questions), options.max_hop))
        print(f"{graph}: collected")


if __name__ == "__main__":
    main()
