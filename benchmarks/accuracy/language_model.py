"""The section of docs/results.md on what a language model makes of the evidence that each recipe finds.

    python -m benchmarks.accuracy.language_model --data FOLDER --work FOLDER --checkpoint star=FOLDER \\
        --checkpoint reg-triple=FOLDER --limit 100 --weights model.gguf > language-model.md

The language model is that of the settings (docs/llm.md). The data folder has fb237/, metaqa/, rog-webqsp-sample/ and
medqa/; each graph is loaded into an embedded server of its own under the work folder, where the runs stay: the same
command goes on after a stop, and asks only what was not asked yet. Questions are a sample of the dev sets by the seed
0, and the questions of the WebQSP sample, topics given, one at a time. Rows whose checkpoint is not given are left out.
MedQA's questions have options, and are those with a phrase that the graph knows. That graph is made of text: a sentence
for each triple of a medical graph, so that it holds none of the questions.
``--print-only`` prints the section of the runs that are there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median

import spacy
from lodestar.engine.evaluation import bootstrap_interval
from lodestar.engine.evaluation.report import make_report, write_report
from lodestar.engine.evaluation.runs import Record, RunOptions, ask_remaining_questions, read_records
from lodestar.engine.recipes import Recipe, read_recipe
from lodestar.engine.settings import Settings, resolve
from lodestar.loaders.formats.text import TextSource, concept_id
from lodestar.loaders.formats.triple_records import RogSource
from lodestar.loaders.question_sets import read_questions
from lodestar.models.whole_file import file_sha256

from ..pages.results import AskedGraph, graphs, serve_graph, set_reach
from .reading import compare

READS, AS_WRITTEN = "answerer.kind=llm", "answerer.complete=false"
OWN, READER = ("answerer.kind=reader",), "answerer.checkpoint"
GRAPHS = ("fb237", "metaqa", "webqsp", "medqa")


@dataclass(frozen=True)
class Row:
    """A recipe and how it is answered from; `over` is the row that its differences are over. needs: options with a
    folder that is given under another name than the part's, by option."""

    name: str
    line: str
    options: tuple[str, ...] = ()
    over: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)


CLOSED_BOOK = Row("closed-book", "similarity", ("answerer.kind=closed-book",))
ROWS = (
    CLOSED_BOOK,
    Row("similarity, best chain", "similarity"),
    Row("similarity", "similarity", (READS,), "similarity, best chain"),
    Row("similarity, as written", "similarity", (READS, AS_WRITTEN), "similarity"),
    Row("star, best chain", "star"),
    Row("star, reader", "star", OWN, "star, best chain"),
    Row("star", "star", (READS,), "star, best chain"),
    Row("star, as written", "star", (READS, AS_WRITTEN), "star"),
    Row("star + path-pooling", "star + path-pooling", (READS, "answerer.reads=25"), "star"),
    Row("star + fi", "star + fi", (READS, "fi.fine=false"), "star"),
    Row("reg-triple, best chain", "reg-triple"),
    Row("reg-triple, reader", "reg-triple", OWN, "reg-triple, best chain"),
    Row("reg-triple", "reg-triple", (READS, "answerer.reads=50"), "reg-triple, best chain"),
    Row("reg-triple + reorganise", "reg-triple + reorganise", (READS, "answerer.reads=50"), "reg-triple"),
    Row("reg-triple, 100 triples", "reg-triple", (READS, "answerer.reads=100", "answerer.tokens=4000"), "reg-triple"),
    Row(
        "reg-triple + path-pooling, 25 triples",
        "reg-triple + path-pooling",
        (READS, "answerer.reads=25"),
        "reg-triple, 100 triples",
    ),
    Row("reg-path, best chain", "reg-path"),
    Row("reg-path", "reg-path", (READS,), "reg-path, best chain"),
    Row("gril, best chain", "gril + reorganise"),
    Row("gril, reader", "gril", ("answerer.kind=gril",), "gril, best chain", {READER: "gril"}),
    Row("gril", "gril", (READS, "answerer.reads=50"), "gril, best chain"),
    Row("star or reg-triple, own reader", "star | reg-triple", OWN, "star, best chain", {READER: "union"}),
    Row(
        "star or reg-triple, own reader with the model's answers",
        "(star | reg-triple) + model-answers",
        OWN,
        "star, best chain",
        {READER: "union-llm"},
    ),
)
CHOICE_ROWS = (
    CLOSED_BOOK,
    Row("similarity", "similarity", (READS,), "closed-book"),
    Row("similarity + adaptive-k", "similarity + adaptive-k", (READS,), "closed-book"),
)
"""Of multiple-choice questions, where an answer is one of the options."""


def rows_of(asked: AskedGraph, names: Sequence[str] | None) -> list[Row]:
    return [row for row in (CHOICE_ROWS if asked.name == "medqa" else ROWS) if not names or row.name in names]


def list_graphs(data: Path, work: Path, names: Sequence[str]) -> list[AskedGraph]:
    webqsp = data / "rog-webqsp-sample" / "questions.jsonl.gz"
    found = [*graphs(data, "dev"), AskedGraph("webqsp", RogSource(str(webqsp)), ((webqsp, 2),))]
    if "medqa" in names:
        found.append(write_medqa(data / "medqa", work / "medqa"))
    return [each for each in found if each.name in names]


def write_medqa(data: Path, folder: Path) -> AskedGraph:
    """Write the text of a medical graph and its concepts, and the questions of MedQA with a phrase among these."""
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(data / "chatdoctor-kg.tsv.gz", "rt", encoding="utf-8") as lines:
        triples = [line.rstrip("\n").replace("_", " ").split("\t") for line in lines]
    texts, pipeline, questions = folder / "texts.jsonl", folder / "pipeline", folder / "medqa-known.jsonl"
    sentences = (f"{head}: {relation}: {tail}." for head, relation, tail in triples)  # no snippet joins two documents
    texts.write_text("".join(f"{json.dumps({'text': each})}\n" for each in sentences), encoding="utf-8")
    known = {name for head, _, tail in triples for name in (head, tail)}
    finder = spacy.blank("xx")
    ruler = finder.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"})
    ruler.add_patterns([{"label": "CONCEPT", "pattern": name} for name in sorted(known)])
    finder.to_disk(pipeline)
    ids = set(map(concept_id, known))
    with gzip.open(data / "test.jsonl.gz", "rt", encoding="utf-8") as lines:
        kept = [line for line in lines if ids & set(map(concept_id, json.loads(line)["metamap_phrases"]))]
    questions.write_text("".join(kept), encoding="utf-8")
    return AskedGraph("medqa", TextSource(str(texts), str(pipeline)), ((questions, 2),))


def read_row_recipe(asked: AskedGraph, row: Row, checkpoints: dict[str, Path], max_hop: int) -> Recipe | None:
    """Return the recipe of a row, None where a checkpoint of its parts is not given."""
    trained = (name for name, part in read_recipe(row.line).parts.items() if part.kinds)
    needs = {**{f"{name}.checkpoint": name for name in trained}, **row.needs}
    if any(name not in checkpoints for name in needs.values()):
        return None
    own = [f"{option}={json.dumps(str(checkpoints[name]))}" for option, name in needs.items()]
    return set_reach(asked, read_recipe(row.line, [*own, *row.options]), max_hop)


def ask(
    asked: AskedGraph,
    settings: Settings,
    work: Path,
    rows: Sequence[Row],
    checkpoints: dict[str, Path],
    limit: int,
) -> None:
    with serve_graph(asked, settings, work) as own:
        for row in rows:
            for path, max_hop in asked.files:
                recipe = read_row_recipe(asked, row, checkpoints, max_hop)
                if recipe is None:
                    continue
                folder = folder_of(work, path, row)
                print(f"{row.name}: {path.name}", file=sys.stderr, flush=True)
                options = RunOptions(folder, limit=limit, diagnose=False)
                write_report(
                    folder, make_report(ask_remaining_questions(read_questions(str(path)), recipe, own, options))
                )


def folder_of(work: Path, path: Path, row: Row) -> Path:
    return work / "runs" / f"{path.name.partition('.')[0]} {row.name}"


def write_section(asked: Sequence[AskedGraph], work: Path, about: Sequence[str]) -> Iterator[str]:
    yield from about
    yield (
        "\n| questions | n | evidence, reader | Hits@1 | F1 | difference in F1, over | tokens read, written "
        "| seconds p50 |"
    )
    yield "|" + " --- |" * 8
    for graph, path in [(each, path) for each in asked for path, _ in each.files]:
        rows = rows_of(graph, None)
        runs = {
            row.name: read_records(str(folder_of(work, path, row)))
            for row in rows
            if (folder_of(work, path, row) / "report.json").exists()
        }
        for row in rows:
            if row.name in runs:
                yield write_row(f"{graph.name} {path.name.partition('.')[0]}", row, runs)


def write_row(questions: str, row: Row, runs: dict[str, list[Record]]) -> str:
    records = runs[row.name]
    f1 = {record.id: record.scores["strict/f1"] for record in records}
    difference = ""
    if row.over in runs:
        other = {record.id: record.scores["strict/f1"] for record in runs[row.over]}
        both = [id_ for id_ in f1 if id_ in other]
        difference = f"{compare([f1[id_] for id_ in both], [other[id_] for id_ in both], seed=0)}, {row.over}"
    read = [record.num_prompt_tokens for record in records if record.num_prompt_tokens is not None]
    written = [record.num_completion_tokens for record in records if record.num_completion_tokens is not None]
    cells = [
        questions,
        str(len(records)),
        row.name,
        f"{fmean(record.scores['strict/hits_at_1'] for record in records):.3f}",
        with_interval(list(f1.values())),
        difference,
        f"{fmean(read):,.0f}, {fmean(written):,.0f}" if read and written else "",
        f"{median(record.seconds['total'] for record in records if 'total' in record.seconds):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def with_interval(values: Sequence[float]) -> str:
    interval = bootstrap_interval(values)
    return f"{fmean(values):.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def describe_run(given: argparse.Namespace, settings: Settings) -> Iterator[str]:
    yield "## Answers read by a language model\n"
    yield f"By `python -m benchmarks.accuracy.language_model`, with `{given.model or settings.llm_model}`" + (
        f" (sha256 `{file_sha256(given.weights)[:12]}`)." if given.weights else "."
    )
    yield (
        f"Dev questions, at most {given.limit} of each file by the seed 0, one at a time. The MedQA questions are "
        "those that name something in a graph made of text; their Hits@1 is the accuracy. Tokens are means."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fb237/, metaqa/ and rog-webqsp-sample/")
    parser.add_argument("--work", type=Path, required=True, help="folder of servers and runs, kept")
    parser.add_argument("--only", choices=GRAPHS, help="one graph")
    parser.add_argument("--rows", nargs="+", help="names of rows (default: all)")
    parser.add_argument("--limit", type=int, default=100, help="questions of each file (default: %(default)s)")
    parser.add_argument(
        "--checkpoint",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="of the part NAME, or of a reader (union, union-llm)",
    )
    parser.add_argument("--weights", type=Path, help="file of the model, whose hash the section names")
    parser.add_argument("--model", help="the model's name in the section (default: that of the settings)")
    parser.add_argument("--print-only", action="store_true", help="the section of the runs that are there")
    given = parser.parse_args()
    settings = replace(resolve(), home=str(given.work / "home"), llm_cache=str(given.work / "replies.sqlite"))
    named = (each.partition("=") for each in given.checkpoint)
    checkpoints = {name: Path(folder).resolve() for name, _, folder in named}
    some = list_graphs(given.data, given.work, (given.only,) if given.only else GRAPHS)
    if not given.print_only:
        for each in some:
            ask(each, settings, given.work, rows_of(each, given.rows), checkpoints, given.limit)
    print("\n".join(write_section(some, given.work, list(describe_run(given, settings)))))


if __name__ == "__main__":
    main()
