"""Lodestar and what people use instead: the same questions, the same graphs, the same language model, in one run.

    python -m benchmarks.scoreboard --data FOLDER --out runs/scoreboard  # a section of docs/results.md

FOLDER has the public sets. Each graph is loaded under its name before, and `benchmarks.accuracy.native_graphs` has made
NAME-native of it; the language model is that of the settings. Run again, only what was not asked is asked. At most
`--questions` of a set, the first ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from .accuracy.plans import accuracy_row, ask_rest, judge

SETS = {
    "Movies": ("movies", "movies/new-user-questions.jsonl"),
    "Northwind": ("northwind", "northwind/new-user-questions.jsonl"),
    "CK25": ("ck25", "ck25/questions-one-column.jsonl"),
    "GeoQuery": ("geo", "geoquery/questions-sample-200.jsonl"),
}
SYSTEMS = {
    "plans": "Lodestar",
    "model": "Lodestar, model",
    "text-to-cypher": "`Text2CypherRetriever`",
    "cypher-chain": "`GraphCypherQAChain`",
    "vector-search": "`VectorCypherRetriever`",
}
HEAD = """## Beside what people use instead

By `python -m benchmarks.scoreboard`. The same questions over the same graph with the same language model
(`{model}`). Right: F1 of the answers ≥ .8. Stated falsely: neither right nor called
unsure. Lodestar's answers rest on triples of the graph.

| questions | n | system | right | 95 % | stated falsely | 95 % | unsure | none | s, median | tokens |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    """Ask, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the answers, kept")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--asked", action="store_true", help="ask nothing: print what there is, each row with its n")
    parser.add_argument("--system", dest="systems", action="append", choices=SYSTEMS, help="default: all")
    parser.add_argument("--model", default="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M", help="its name for the page")
    arguments = parser.parse_args()
    print(HEAD.format(model=arguments.model))
    for title, (graph, file) in SETS.items():
        lines = (arguments.data / file).read_text(encoding="utf-8").splitlines()
        questions = [json.loads(line) for line in lines if line.strip()][: arguments.questions]
        for system in arguments.systems or SYSTEMS:
            path, some = arguments.out / f"{graph}-{system}.jsonl", questions
            if arguments.asked:
                there = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
                some = [
                    each for each in questions if each["question"] in {json.loads(one)["question"] for one in there}
                ]
            said = ask_rest(path, some, graph, system)
            gold = [question.get("gold", question.get("answers", [])) for question in some]
            verdicts = [judge(*pair) for pair in zip(said, gold, strict=True)]
            print(accuracy_row(title, SYSTEMS[system], said, verdicts) if said else "", end="\n" if said else "")


if __name__ == "__main__":
    main()
