"""Lodestar and what people use instead: the same questions, the same graphs, the same language model, in one run.

    python -m benchmarks.scoreboard --data FOLDER --out runs/scoreboard  # a section of docs/results.md

FOLDER has public/, metaqa/, pathquestion/ and fb237/. Each graph is loaded under its name before, and
`benchmarks.accuracy.native_graphs` has made NAME-native of it; the language model is that of the settings. Run again,
only what was not asked is asked. At most `--questions` of a set, the first ones.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar.loaders.question_sets import read_questions

from .accuracy.peers import PEERS
from .accuracy.plans import accuracy_row, ask_rest, judge

SETS = {
    "Movies": ("movies", "public/movies/new-user-questions.jsonl"),
    "Northwind": ("northwind", "public/northwind/new-user-questions.jsonl"),
    "CK25": ("ck25", "public/ck25/questions-one-column.jsonl"),
    "GeoQuery": ("geo", "public/geoquery/questions-sample-200.jsonl"),
    "ACME": ("acme", "public/acme-insurance/questions.jsonl"),
    "MetaQA, 1 hop": ("metaqa", "metaqa/1-hop-dev.txt.gz"),
    "MetaQA, 2 hops": ("metaqa", "metaqa/2-hop-dev.txt.gz"),
    "MetaQA, 3 hops": ("metaqa", "metaqa/3-hop-dev.txt.gz"),
    "PathQuestion, 2 hops": ("pq2h", "pathquestion/pq-2h/dev.txt.gz"),
    "PathQuestion, 3 hops": ("pq3h", "pathquestion/pq-3h/dev.txt.gz"),
    "FB15k-237": ("fb", "fb237/questions-dev.jsonl.gz"),
}
NAMES = {"fb": "fb237/names.tsv.gz"}
SYSTEMS = {
    "plans": "Lodestar",
    "model": "Lodestar, model",
    "text-to-cypher": "`Text2CypherRetriever`",
    "cypher-chain": "`GraphCypherQAChain`",
    "agent": "agent",
    "vector-search": "`VectorCypherRetriever`",
}
HEAD = """## Beside what people use instead

By `python -m benchmarks.scoreboard`. The same questions over the same graph with the same language model
(`{model}`). Right: F1 of the answers ≥ .8. Stated falsely: neither right nor called
unsure. Proved: answers stated with triples that are all in the graph; the peers give no triples. The *agent* calls
Cypher tools.

| questions | n | system | right [95 %] | stated falsely [95 %] | unsure | none | s, median | tokens | proved |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def read_set(data: Path, graph: str, file: str) -> list[dict[str, Any]]:
    """Return `question` and `gold` of each: people's own in their order, those of a benchmark as seed 0 draws them.

    A table as gold is the set of its values; the questions that have no gold are left out.
    """
    if file.startswith("public/"):
        lines = [json.loads(line) for line in (data / file).read_text(encoding="utf-8").splitlines() if line.strip()]
        if graph == "acme":  # by quadrant in the file
            lines.sort(key=lambda each: each["id"])
        gold = [each.get("gold", each.get("answers")) for each in lines]
        pairs = [
            (each["question"], flatten(right)) for each, right in zip(lines, gold, strict=True) if right is not None
        ]
    else:
        names: Mapping[str, str] = {}
        if graph in NAMES:
            with gzip.open(data / NAMES[graph], "rt", encoding="utf-8", newline="") as rows:
                names = dict(csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))
        found = list(read_questions(str(data / file)).questions)
        random.Random(0).shuffle(found)
        pairs = [(each.text, [names.get(answer.id or "", answer.id) for answer in each.answers]) for each in found]
    return [{"question": " ".join(text.split()), "gold": right} for text, right in pairs]


def flatten(value: Any) -> list[Any]:
    return [one for each in value for one in flatten(each)] if isinstance(value, list) else [value]


def proof_share(said: Sequence[Mapping[str, Any]]) -> str:
    """Return how many of the answers came with triples that are all in the graph, of those that stated any."""
    proofs = [each.get("proved", False) for each in said if each["given"] and not each["unsure"]]
    return f"{sum(proofs)}/{len(proofs)}"


def main() -> None:
    """Ask, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the answers, kept")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--asked", action="store_true", help="ask nothing: print what there is, each row with its n")
    parser.add_argument("--set", dest="sets", action="append", choices=SETS, help="default: all")
    parser.add_argument("--system", dest="systems", action="append", choices=SYSTEMS, help="default: all")
    parser.add_argument("--model", default="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M", help="its name for the page")
    arguments = parser.parse_args()
    print(HEAD.format(model=arguments.model))
    for title in arguments.sets or SETS:
        graph, file = SETS[title]
        questions = read_set(arguments.data, graph, file)[: arguments.questions]
        for system in arguments.systems or SYSTEMS:
            path, some = arguments.out / f"{graph}-{system}.jsonl", questions
            if arguments.asked:
                lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
                there = {json.loads(line)["question"] for line in lines}
                some = [each for each in questions if each["question"] in there]
            if said := ask_rest(path, some, graph, system):
                verdicts = [judge(one, question["gold"]) for one, question in zip(said, some, strict=True)]
                proved = "" if system in PEERS else f"{proof_share(said)} "
                print(f"{accuracy_row(title, SYSTEMS[system], said, verdicts)} {proved}|", flush=True)


if __name__ == "__main__":
    main()
