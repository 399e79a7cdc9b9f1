"""How sure is it that the first answer is right: fit the weights on graphs that differ, and hold out one at a time.

``ask people`` loads and asks each development graph of ``tests/people`` in the server called ``people``; ``ask FILE``
asks a sample of a question set in the server of its graph. Each question that has an answer is also asked without the
relations that lead to it: the graph has them, and the topic does not. Both write one line a question to ``--out``; fit:

    python -m benchmarks.accuracy.certainty ask people --out people.jsonl
    python -m benchmarks.accuracy.certainty ask questions-train.jsonl.gz --limit 400 --out train.jsonl
    python -m benchmarks.accuracy.certainty fit people.jsonl train.jsonl --dev dev.jsonl

Right: F1 of the answers ≥ .8 for people's questions, a right answer among them for a set's. Every graph has the same
weight, and of it people's questions without an answer .3 and those without their relations .15 (of a set .2), our own
choice.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.diagnosis import GoldIdResolver, WholeGraph, exclude_relations
from lodestar.engine.evidence.bridges import to_chains
from lodestar.engine.evidence.calibration import FIRST_ANSWER, PEOPLE, Certainty, sigmoid
from lodestar.engine.evidence.evidence import Evidence, Item
from lodestar.engine.gold_questions import look_up_answers, look_up_topic_ids
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.recipes.retrieving import Similarity
from lodestar.engine.settings import resolve
from lodestar.engine.values import Question
from lodestar.loaders.questions.question_sets import read_questions
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from tests.people.asked import read_questions as read_asked
from tests.people.graphs import DEV
from tests.people.more_graphs import MORE_DEV

from .people_words import NAME, RIGHT, f1, load_graph

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]
FEATURES = ("score", "margin", "lacking")
BOUNDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


def make_row(graph: str, kind: str, evidence: Evidence[Item], right: Sequence[str], by: str) -> Row | None:
    """Return the features of the first answer, and its F1 by ids or names; None where nothing was found."""
    said = evidence.extra_of(Certainty)
    if said is None:
        return None
    found = [getattr(end, by) or "" for end in to_chains(evidence).items[0].value.answers]
    return {"graph": graph, "kind": kind, "f1": f1(found, right), **{name: getattr(said, name) for name in FEATURES}}


def ask_without(engine: Engine, question: Question, relations: frozenset[str]) -> Evidence[Item]:
    """Return what is found where the topics do not have some relations that the graph has."""
    found = engine.retrieve_batch([replace(question, excluded_relations=relations)])[0]
    numbers = {r.number for r in engine.read_relations() if r.name in relations}
    topics = tuple(replace(t, relations=tuple(n for n in t.relations if abs(n) not in numbers)) for t in found.topics)
    bare = replace(found, question=replace(found.question, excluded_relations=frozenset()), topics=topics)
    catalogue = engine.gateway().fetch(read_catalogue())
    explainer = Similarity().explainer(engine.resources.of_graph(catalogue))
    return engine.gateway().run(explainer.reorganise([bare]))[0]


def ask_people() -> Iterator[Row | None]:
    """Yield a row for each question of the development graphs, without forms."""
    for make in DEV + MORE_DEV:
        graph = make()
        with tempfile.TemporaryDirectory() as folder:
            load_graph(graph, Path(folder), {**os.environ, "LODESTAR_NAME": NAME})
        with Engine(resolve({"name": NAME}), options={"forms": False}) as engine:
            names = [relation.name for relation in engine.read_relations()]
            for asked in (each for each in read_asked(graph) if each.kind != "form"):
                kind = "none" if asked.kind == "none" else "plain"
                question = Question(asked.text)
                yield make_row(graph.name, kind, engine.retrieve_batch([question])[0], sorted(asked.answers), "label")
                if asked.relations:
                    last = frozenset(n for n in names if n.rpartition("/")[2] == asked.relations[-1])
                    yield make_row(graph.name, "twin", ask_without(engine, question, last), (), "label")


def ask_set(path: str, limit: int | None, max_hop: int) -> Iterator[Row | None]:
    """Yield a row for each question of a set, topics given."""
    with Engine(resolve(), options={"forms": False, "similarity.max_hop": max_hop}) as engine:
        gateway = engine.gateway()
        golds = look_up_answers(read_questions(path).sample(limit, 3), gateway).questions
        golds = look_up_topic_ids(golds, gateway)
        ids = GoldIdResolver(WholeGraph.read(gateway))
        name = Path(path).name.split(".")[0]
        for gold in golds:
            found = engine.retrieve_batch([gold.as_question(gold.topic_ids)])[0]
            yield make_row(name, "set", found, ids.answers(gold), "id")
        for gold in exclude_relations(golds, ids, max_hop):
            found = ask_without(engine, gold.as_question(gold.topic_ids), gold.excluded_relations)
            yield make_row(name, "twin", found, (), "id")


def read_rows(files: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows by graph."""
    rows: dict[str, list[Row]] = {}
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows.setdefault(row["graph"], []).append(row)
    return rows


def is_right(row: Row) -> bool:
    """Whether the first answer is right."""
    return bool(row["f1"] >= RIGHT if row["kind"] == "plain" else row["f1"] > 0)


def compute_weights(rows: Sequence[Row]) -> Floats:
    """Return the weight of each question of one graph, (num_questions,), adding up to 1."""
    kinds = [row["kind"] for row in rows]
    shares = {"plain": 0.55, "none": 0.3, "twin": 0.15} if "plain" in kinds else {"set": 0.8, "twin": 0.2}
    return np.array([shares[kind] / kinds.count(kind) for kind in kinds])


def fit_weights(graphs: Sequence[Sequence[Row]]) -> Floats:
    """Return the weights of score, margin and lacking, and the intercept."""
    x = np.array([[row[name] for name in FEATURES] for rows in graphs for row in rows])
    y = [is_right(row) for rows in graphs for row in rows]
    weights = np.concatenate([compute_weights(rows) for rows in graphs])
    spread = x.std(axis=0)
    model = LogisticRegression(C=0.3, max_iter=1000).fit(x / spread, y, sample_weight=weights / weights.mean())
    return np.append(model.coef_[0] / spread, model.intercept_[0])


def predict(rows: Sequence[Row], weights: Floats) -> Floats:
    """Return P of each."""
    return np.array(
        [sigmoid(sum(w * row[n] for w, n in zip(weights, FEATURES, strict=False)) + weights[-1]) for row in rows]
    )


def print_table(name: str, rows: Sequence[Row], sure: Floats) -> None:
    """Print what each bound keeps, and the area under the ROC curve."""
    right = np.array([is_right(row) for row in rows])
    kinds = np.array([row["kind"] for row in rows])
    score = np.array([row["f1"] for row in rows])
    asked = (kinds == "plain") | (kinds == "set")
    print(f"\n{name}: n = {len(rows)}, AUC {roc_auc_score(right, sure):.3f}")
    print("| bound | right | F1 | no answer: answered | without its relations: answered |\n|---|---|---|---|---|")
    for bound in BOUNDS:
        kept = sure >= bound
        shares = [np.mean(kept[kinds == kind]) if (kinds == kind).any() else np.nan for kind in ("none", "twin")]
        cells = [(right & kept)[asked].mean(), (score * kept)[asked].mean(), *shares]
        print(f"| {bound} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")


def fit(rows: Mapping[str, list[Row]], dev: Mapping[str, list[Row]]) -> None:
    """Print the weights, and how well they hold on each people's graph when it is left out, and on dev sets."""
    people = [graph for graph, some in rows.items() if any(row["kind"] == "plain" for row in some)]
    held = [row for graph in people for row in rows[graph]]
    scores = np.array([PEOPLE.probability(row["score"]) for row in held])
    print_table("people's graphs, by the score alone", held, scores)
    left_out = [predict(rows[g], fit_weights([some for other, some in rows.items() if other != g])) for g in people]
    print_table("people's graphs, each left out of the fit", held, np.concatenate(left_out))
    weights = fit_weights(list(rows.values()))
    for name, some in dev.items():
        print_table(f"{name}, by the score alone", some, np.array([PEOPLE.probability(row["score"]) for row in some]))
        print_table(name, some, predict(some, weights))
    print(f"\nfitted: {' '.join(f'{weight:.3f}' for weight in weights)}; in use: {FIRST_ANSWER}")


def main() -> None:
    """Ask, or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    ask = verbs.add_parser("ask")
    ask.add_argument("questions", help="people, or the file of a question set")
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--limit", type=int)
    ask.add_argument("--max-hop", type=int, default=2)
    fitting = verbs.add_parser("fit")
    fitting.add_argument("rows", nargs="+")
    fitting.add_argument("--dev", nargs="+", default=[])
    arguments = parser.parse_args()
    if arguments.verb == "fit":
        fit(read_rows(arguments.rows), read_rows(arguments.dev))
        return
    given = arguments.questions
    rows = ask_people() if given == "people" else ask_set(given, arguments.limit, arguments.max_hop)
    with arguments.out.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows if row)


if __name__ == "__main__":
    main()
