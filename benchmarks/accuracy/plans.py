"""Ask graphs of others their own questions: right, stated falsely, unsure, nothing; and how well probabilities hold.

    python -m benchmarks.accuracy.plans --out runs/plans geoquery=questions-sample-200.jsonl

An argument is the name of an embedded server with the graph loaded, and its questions: JSON lines with `question` and
`gold` (or `answers`), a list of names, numbers, yes or no. Right: F1 of the answers ≥ .8 (numbers to four digits).
Stated falsely: an answer that is neither right nor unsure. Systems:

- ``paths``: what the retriever finds, without plans; ``plans``: as `lodestar ask` does;
- ``model``: with the language model of the settings for what is not sure;
- ``text-to-cypher``, ``cypher-chain``, ``agent``, ``vector-search``: what people use instead, with the same model
  (`peers`), over the server NAME-native, which has the same graph as a property graph (`native_graphs`); always stated.

Run again, only what was not asked is asked (OUT/GRAPH-SYSTEM.jsonl); the tables are printed for all that is there.
Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from lodestar.engine.api import Engine
from lodestar.engine.data_model import Chain
from lodestar.engine.errors import LodestarError
from lodestar.engine.evaluation import bootstrap_interval, expected_calibration_error
from lodestar.engine.evidence import Answer
from lodestar.engine.neo4j.graph_requests import check_triples_exist
from lodestar.engine.settings import resolve_settings
from lodestar.models import one_line

from .peers import PEERS, Ask, Said

SYSTEMS: Mapping[str, Mapping[str, Any]] = {
    "paths": {"plans": False},
    "plans": {},
    "model": {"plans.samples": 2},
    **{name: {} for name in PEERS},
}
RIGHT = 0.8
VERDICTS = ("right", "false", "unsure", "none")
COVERAGES = (0.25, 0.5, 0.75, 1.0)


def normalise(value: object) -> str:
    """Return an answer as it is compared: numbers with four digits, names folded, "not in the graph" as no."""
    text = re.sub(r"\^\^.*$", "", str(value)).strip().strip('"')
    if text.lower() in ("no", "false", "not in the graph"):
        return "no"
    try:
        return f"{float(text.replace(',', '')):.4g}"
    except ValueError:
        return re.sub(r"[\W_]+", " ", "yes" if text == "True" else text.rpartition("#")[2]).casefold().strip()


def judge(said: Said, gold: Sequence[object]) -> str:
    right, given = {normalise(each) for each in gold}, {normalise(each) for each in said["given"]}
    if not given:
        return "none" if right else "right"
    if right and 2 * len(right & given) >= RIGHT * (len(right) + len(given)):
        return "right"
    return "unsure" if said["unsure"] else "false"


@contextmanager
def open_system(name: str, graph: str) -> Iterator[Ask]:
    if name in PEERS:
        with PEERS[name](f"{graph}-native") as peer:
            yield peer
        return
    with Engine(resolve_settings({"name": graph}), options=SYSTEMS[name]) as engine:

        def ask(text: str) -> Said:
            started = time.perf_counter()
            answer: Answer = engine.ask(text)
            seconds = round(time.perf_counter() - started, 4)
            tokens = sum(cost.llm.tokens for cost in answer.evidence.trace.costs)
            given = [each.name for each in answer.answers] if answer.found else []
            said = {"given": given, "unsure": answer.unsure, "probability": answer.confidence, "tokens": tokens}
            return said | {"seconds": seconds, "proved": bool(given) and is_proved(engine, answer)}

        yield ask


def is_proved(engine: Engine, answer: Answer) -> bool:
    """Return whether each answer rests on evidence, and the graph has every triple of it; asked past the engine."""
    rests = [each.evidence for each in answer.answers]
    items = [answer.evidence.items[place].value for place in {place for places in rests for place in places}]
    chains = [list(item.triples()) if isinstance(item, Chain) else [[item]] for item in items]
    triples = list(dict.fromkeys(triple for steps in chains for step in steps for triple in step))
    return all(rests) and bool(triples) and all(engine.gateway().run(check_triples_exist(triples)))


def ask_rest(path: Path, questions: Sequence[Said], graph: str, system: str) -> list[Said]:
    """Ask the questions that the file lacks, and return all that it has then, in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    done = {said["question"]: said for said in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    rest = [each for each in questions if each["question"] not in done]
    if rest:
        with open_system(system, graph) as ask, path.open("a", encoding="utf-8") as file:
            ask(rest[0]["question"])  # what a first question reads is not its own time
            for each in rest:
                started = time.perf_counter()
                try:
                    said = ask(each["question"])
                except LodestarError as error:
                    said = {"given": [], "unsure": False, "probability": None, "tokens": 0, "failed": one_line(error)}
                said = {"seconds": round(time.perf_counter() - started, 4)} | said | {"question": each["question"]}
                done[each["question"]] = said
                file.write(json.dumps(said) + "\n")
                file.flush()
    return [done[each["question"]] for each in questions]


def accuracy_row(graph: str, system: str, said: Sequence[Said], verdicts: Sequence[str]) -> str:
    shares = []
    for verdict in VERDICTS[:2]:
        interval = bootstrap_interval([float(each == verdict) for each in verdicts])
        shares.append(f"{verdicts.count(verdict) / len(said):.3f} [{interval.low:.2f},{interval.high:.2f}]")
    seconds, tokens = median(each["seconds"] for each in said), sum(each["tokens"] for each in said) / len(said)
    rest = f"{verdicts.count('unsure')} | {verdicts.count('none')} | {seconds:.2f} | {tokens:.0f}"
    return f"| {graph} | {len(said)} | {system} | {' | '.join(shares)} | {rest} |"


def calibration_row(graph: str, system: str, said: Sequence[Said], verdicts: Sequence[str]) -> str:
    """Return ECE over what has a probability, and the share of wrong ones among its surest parts."""
    pairs = [(s["probability"], v == "right") for s, v in zip(said, verdicts, strict=True) if s["given"]]
    known = sorted(((p, hit) for p, hit in pairs if p is not None), key=lambda each: -each[0])
    if not known:
        return ""
    error = expected_calibration_error([p for p, _ in known], [hit for _, hit in known])
    parts = [known[: max(1, round(share * len(known)))] for share in COVERAGES]
    wrong = " | ".join(f"{1 - sum(hit for _, hit in part) / len(part):.2f}" for part in parts)
    return f"| {graph} | {len(known)} | {system} | {error:.3f} | {wrong} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="NAME=QUESTIONS")
    parser.add_argument("--out", type=Path, required=True, help="folder of the answers, kept")
    parser.add_argument("--system", dest="systems", action="append", choices=SYSTEMS, help="default: paths, plans")
    parser.add_argument("--cases", action="store_true", help="print what is not right")
    arguments = parser.parse_args()
    rows, calibration, cases, hashes = [], [], [], []
    for each in arguments.sets:
        graph, _, file = each.partition("=")
        text = Path(file).read_text(encoding="utf-8")
        hashes.append(f"{graph} {hashlib.sha256(text.encode()).hexdigest()[:12]}")
        questions = [json.loads(line) for line in text.splitlines() if line.strip()]
        for system in arguments.systems or ("paths", "plans"):
            said = ask_rest(arguments.out / f"{graph}-{system}.jsonl", questions, graph, system)
            gold = [question.get("gold", question.get("answers", [])) for question in questions]
            verdicts = [judge(*pair) for pair in zip(said, gold, strict=True)]
            rows.append(accuracy_row(graph, system, said, verdicts))
            calibration.append(calibration_row(graph, system, said, verdicts))
            cases += [
                f"{verdict} {graph} {system}: {one['question']} → {one['given'][:5]} ({one['probability']}) {right[:5]}"
                for verdict, one, right in zip(verdicts, said, gold, strict=True)
                if verdict != "right"
            ]
    print(f"Questions: {', '.join(hashes)} (sha256).\n")
    print("| graph | n | system | right [95 %] | stated falsely [95 %] | unsure | none | s, median | tokens |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    print("\n| graph | answers | system | ECE | wrong of the surest .25 | .5 | .75 | of all |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(filter(None, calibration)))
    if arguments.cases:
        print("\n" + "\n".join(cases))


if __name__ == "__main__":
    main()
