"""The training set of the encoder's adapter: questions of others, each with the relation path that it asks for.

    python -m benchmarks.pretraining.corpus --data ../shared/data --out corpus.jsonl.gz [--permissive]

Only sets with a stated licence are read, and none that is made from a set with another licence: `SETS` says what each
may be used under. What judges us is left out: whole schemas (`HELD_OUT`), and each question whose words stand in a
question file of ``--data`` that is kept for development or test, or in ``tests/people``. A tenth of the schemas that
are not whole knowledge graphs is for choosing (`is_for_choosing`).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from zlib import crc32

from lodestar.models.text import DirectedRelation, Hop, RelationWords, verbalise_path
from lodestar.models.word_positions import remove_mention


@dataclass(frozen=True, slots=True)
class Source:
    """A question set. share: of the questions of a training step, before it is divided by the sum of all."""

    licence: str
    share: float


SETS = {
    "simplequestions-wikidata": Source("CC BY 3.0", 0.16),
    "simplequestions-freebase": Source("CC BY 3.0", 0.22),
    "wikisql": Source("BSD-3-Clause", 0.14),
    "text2cypher-synthetic": Source("CC0 1.0", 0.16),
    "wikidata-aliases": Source("CC0 1.0 (data), MIT (repository)", 0.12),
    "qald-dbpedia": Source("MIT; CC BY 4.0", 0.06),
    "qald-wikidata": Source("MIT", 0.04),
    "qald-small": Source("MIT", 0.01),
    "wikisparql": Source("MIT", 0.01),
    "tempqa-wd": Source("CC0 1.0", 0.02),
    "cordis": Source("Apache-2.0", 0.03),
    "sql-advising": Source("CC BY 4.0", 0.03),
    "spider-train": Source("CC BY-SA 4.0", 0.15),
    "spidersyn-train": Source("MIT, over CC BY-SA 4.0", 0.18),
    "rubq": Source("CC BY-SA 4.0", 0.02),
}
"""What is trained on. Left out: GPL (LC-QuAD 1.0, and VQuAnDA and ParaQA, which reword it), no licence stated (ATIS,
Scholar, Yelp, IMDb, Academic, PathQuestion, WikiWebQuestions, SimpleDBpediaQA), paths found by a search (WebQSP, CWQ,
FB15k-237), GrailQA, whose recall is a figure of ours, and `HELD_OUT`."""

HELD_OUT = ("zograscope", "spider-dev", "spidersyn-dev", "geoquery")
"""Sets whose schemas the training never sees: the figures of the card. MetaQA and PathQuestion are kept for answers."""

_KEPT = re.compile(r"(^|[-/])(dev|test|public|rog-webqsp-sample|freebase-questions)([-./]|$)")
"""Files of questions that are for development or test."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a path; `inverse` is None, the type that it leads from empty, where the source does not tell."""

    relation: str
    inverse: bool | None = False
    domain: str = ""


@dataclass(frozen=True)
class Example:
    """A question, its topics' names, the path it asks for, and other relations of the same schema."""

    set: str
    schema: str
    question: str
    topics: tuple[str, ...]
    path: tuple[Step, ...]
    others: tuple[Step, ...]

    @cached_property
    def masked(self) -> str:
        """The question without its topics."""
        return reduce(remove_mention, self.topics, self.question)


def make_hops(path: Iterable[Step]) -> list[Hop]:
    return [(DirectedRelation(RelationWords(step.domain, (step.relation,)), bool(step.inverse)),) for step in path]


def verbalise(path: Iterable[Step]) -> str:
    return verbalise_path(make_hops(path))


def normalise(question: str) -> str:
    return " ".join(_WORD.findall(question.casefold()))


def read_set(data: Path, name: str) -> Iterator[Example]:
    """Yield the example of each line of a set."""
    with gzip.open(data / "relation-questions" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            path = tuple(Step(step["relation"], step["inverse"], step.get("domain", "")) for step in record["path"])
            others = tuple(_read_other(label, path[-1].domain) for label in record["others"])
            topics = tuple(record["mentions"])
            yield Example(name, record["schema"], record["question"], topics, path, others)


def _read_other(label: str, domain: str) -> Step:
    """Return a relation of the same schema: ``table|column``, or with the type of the path's end as its first words."""
    before, bar, after = label.partition("|")
    if bar:
        return Step(after, domain=before)
    if domain and label.startswith(f"{domain} "):
        return Step(label.removeprefix(f"{domain} "), domain=domain)
    return Step(label)


def read_kept_questions(data: Path) -> frozenset[str]:
    """Return the normalised questions that are for development or test, those of ``tests/people`` with them."""
    found = set()
    for path in sorted(each for each in data.rglob("*") if each.is_file()):
        place = path.relative_to(data).as_posix()
        if path.suffixes[:1] in ([".jsonl"], [".txt"]) and _KEPT.search(place) and "relation-questions" not in place:
            found |= set(map(normalise, _questions_of(path)))
    for path in sorted((Path(__file__).parents[2] / "tests" / "people" / "questions").glob("*.tsv")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found |= {normalise(line.split("\t")[1]) for line in lines if "\t" in line}
    return frozenset(found)


def _questions_of(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if ".jsonl" not in path.suffixes:
                yield line.split("\t")[0]
            elif isinstance(question := json.loads(line).get("question"), str):
                yield question


def is_for_choosing(schema: str) -> bool:
    """Whether the training does not see a schema, so that its length and strength are chosen by it."""
    return ":" in schema and crc32(schema.encode()) % 10 == 0


def merge_by_question(examples: Iterable[Example]) -> list[Example]:
    """Return one example for each question without its topics and schema: `path` holds, in no order, all relations that
    it asks for, `others` the rest of the schema's."""
    merged: dict[tuple[str, str], Example] = {}
    for example in examples:
        before = merged.get(key := (example.schema, example.masked), replace(example, path=(), others=()))
        right, others = (
            tuple(dict.fromkeys(replace(step, inverse=False) for step in (*first, *second)))
            for first, second in ((before.path, example.path), (before.others, example.others))
        )
        merged[key] = replace(before, path=right, others=tuple(step for step in others if step not in right))
    return list(merged.values())


def make_corpus(data: Path) -> tuple[list[Example], Counter[str]]:
    """Return the examples, each once, and how many lines of each set were left out: they judge us, or do not tell the
    direction of a relation."""
    kept, left_out = read_kept_questions(data), Counter[str]()
    examples: dict[tuple[str, str], Example] = {}
    for name in SETS:
        for example in read_set(data, name):
            question = normalise(example.question)
            if question in kept or any(step.inverse is None for step in example.path):
                left_out[name] += 1
            elif _WORD.search(example.masked):
                examples.setdefault((question, verbalise(example.path)), example)
    return list(examples.values()), left_out


def write_corpus(examples: Iterable[Example], out: Path) -> None:
    with out.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        for example in examples:
            file.write(json.dumps(asdict(example), ensure_ascii=False).encode() + b"\n")


def read_corpus(path: Path) -> list[Example]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_restore(json.loads(line)) for line in lines]


def _restore(record: dict[str, object]) -> Example:
    example = Example(**record)  # type: ignore[arg-type]
    steps = {name: tuple(Step(**step) for step in record[name]) for name in ("path", "others")}  # type: ignore[attr-defined]
    return replace(example, topics=tuple(example.topics), **steps)


def hash_corpus(path: Path) -> str:
    with gzip.open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--permissive", action="store_true", help="without sets whose licence is share-alike")
    options = parser.parse_args()
    examples, left_out = make_corpus(options.data)
    if options.permissive:
        examples = [each for each in examples if "-SA" not in SETS[each.set].licence]
    write_corpus(examples, options.out)
    for name, count in Counter(example.set for example in examples).items():
        print(f"{name}\t{SETS[name].licence}\t{count} examples\t{left_out[name]} lines left out")
    print(f"{len(examples)} examples, sha256 {hash_corpus(options.out)}")


if __name__ == "__main__":
    main()
