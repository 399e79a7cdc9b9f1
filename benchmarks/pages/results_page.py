"""The page of results: tables over the reports of many runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lodestar.engine.evaluation.diagnosis import KINDS
from lodestar.engine.evaluation.report import compare_runs, read_records, read_report, results_table
from lodestar.models.star.config import StarDescription
from lodestar.models.star.training import CROSS, DUAL

Report = dict[str, Any]

LINKED = "-linked"
"""What the folder of a run ends in whose topics the engine found."""
PAIRED = (
    ("similarity", "cosine"),
    ("star", "similarity"),
    ("similarity-linked", "similarity"),
    ("star-linked", "star"),
)
BY_SCORER = ("similarity", "similarity-linked", "star", "star-linked")


def page(
    folders: Sequence[Path],
    split: str,
    sample: int,
    command: str,
    ablation: Iterable[str] = (),
    trained: Sequence[StarDescription] = (),
    paper: Sequence[Path] = (),
) -> Iterator[str]:
    """Yield the lines of the page; `command` is what writes it, `sample` the most questions asked of a set, `ablation`
    the lines of that part, `trained` the checkpoints to set side by side, `paper` runs in the paper's own setting.
    """
    reports = {folder: read_report(str(folder)) for folder in folders}
    machine = next(iter(reports.values()))["where"]["machine"]
    is_linked = any(_recipe(report).endswith(LINKED) for report in reports.values())
    title = "# Results, topics found by the engine" if is_linked else "# Results"
    yield title if split == "dev" else f"{title}, {split} split"
    yield ""
    yield f"Written by `{command}`, nothing by hand."
    yield (
        f"Only {split} splits, topic entities given{' or linked' if is_linked else ''}, seed 0, at most {sample:,} "
        "questions a set. Figures are means over all questions asked, with 95 % bootstrap intervals; "
        "for the columns see [evaluation.md](evaluation.md)."
    )
    if returning := _returning(reports.values()):
        yield f"With return_to_topic, since what a question is about may be its answer: {', '.join(returning)}."
    yield f"{machine['num_cores']} cores ({machine['processor']}), GPU: {machine['gpu'] or 'none'}."
    yield ""
    yield from results_table(list(reports.values()))
    yield ""
    yield "*oracle* is the ceiling: the path in reach whose ends agree best with the answers; *random* is the floor."
    yield (
        "*star* is a trained scorer, a checkpoint for each graph ([training.md](training.md)): on PathQuestion (pq, "
        "pql) the dual encoder alone, elsewhere"
    )
    yield "with the cross-attentive scorer."
    if is_linked:
        yield "*linked*: the engine finds the topics, MetaQA's without brackets ([how it works](how-it-works.md))."
    elif split == "dev":
        yield "The same with topics that the engine finds: [results-linked.md](results-linked.md)."
        yield (
            "Other parts have their figures where they are described: [ReG](reg.md#figures), [GRIL](gril.md#figures), "
            "[Path Pooling](path-pooling.md), [GraphRAG-FI](graphrag-fi.md)."
        )
    yield from _section(
        "A right answer among the ends of the first k paths",
        ("questions", "recipe", "n", "k = 1", "3", "5", "7"),
        (_by_paths(report) for report in _of(reports, BY_SCORER)),
    )
    yield from _section(
        "The first path is the annotator's, or reaches exactly the answers",
        ("questions", "recipe", "n", "first path right"),
        (row for report in reports.values() for row in _first_path_right(report)),
    )
    yield from _section(
        "By hops to the nearest answer",
        ("questions", "recipe", "hops", "n", "path any"),
        (row for report in _of(reports, BY_SCORER) for row in _by_hops(report)),
    )
    for recipe in BY_SCORER:
        yield from _section(
            f"Where wrong first answers of `{recipe}` were lost",
            ("questions", "wrong", *KINDS),
            (_misses(report) for report in reports.values() if _recipe(report) == recipe),
        )
    yield from _section(
        "Paired comparisons",
        ("questions", "recipes", "figure", "difference", "p", "better", "worse", "same"),
        (row for better, worse in PAIRED for row in _paired(reports, better, worse)),
    )
    yield from _section(
        "Training: by encoder and seed, on the dev questions that chose the epoch",
        ("learned from", "n", "encoder", "scorer", "seed", "path any", "path expected", "path F1"),
        (_training(each) for each in trained),
    )
    yield from _in_the_papers_setting(paper)
    if ablation:
        yield ""
        yield "## STAR's ablation: errors of the first path"
        yield ""
        yield from ablation
        yield ""
        yield "*shortcut*: the words are as near to the question as the right path's, or nearer. *long-tail*: the right"
        yield "path is of the rarest fifth of training paths, as rare as these, or new. *union*: either. All order the"
        yield "same shortlist."
    yield from _section(
        "Data",
        ("questions", "sha256", "asked of", "triples"),
        (_data(report) for report in reports.values() if _recipe(report) == "similarity"),
    )


def _in_the_papers_setting(runs: Sequence[Path]) -> Iterator[str]:
    if runs:
        yield ""
        yield "## STAR in the paper's own setting"
        yield ""
        yield "A checkpoint of `lodestar train star --preset paper`: the cross-attentive scorer alone orders paths."
        yield "*star-cross*: it scores every candidate of each hop, too (`star.guide=cross`, algorithm 3); *star-dual*:"
        yield "the dual encoder does."
        yield ""
        yield from results_table([read_report(str(run)) for run in runs])


def _section(title: str, columns: Sequence[str], rows: Iterator[str]) -> Iterator[str]:
    """Yield a heading with its table; nothing where there are no rows."""
    found = list(rows)
    if found:
        yield ""
        yield f"## {title}"
        yield ""
        yield f"| {' | '.join(columns)} |"
        yield "|" + " --- |" * len(columns)
        yield from found


def _recipe(report: Report) -> str:
    return str(report["what"]["recipe"]["name"]) + (LINKED if report["what"]["topics"] == "linked" else "")


def _training(trained: StarDescription) -> str:
    figures = trained.figures.get(CROSS, trained.figures[DUAL])  # of what ranks in the end
    cells = (
        ", ".join(each.questions for each in trained.train),
        f"{sum(each.num_questions for each in trained.dev):,}",
        Path(trained.encoder).name,
        trained.scorer,
        trained.config["dual_training"]["seed"],
        *(f"{figures[name]:.3f}" for name in ("hits_at_1_any", "hits_at_1_expected", "f1")),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _returning(reports: Iterable[Report]) -> list[str]:
    """Return the question sets whose runs could answer with a topic."""
    returning = (report["what"]["dataset"]["name"] for report in reports if _returns(report["what"]["recipe"]))
    return list(dict.fromkeys(returning))


def _returns(recipe: Mapping[str, Any]) -> bool:
    """Whether any part of a recipe could answer with a topic."""
    return any(isinstance(table, dict) and table.get("return_to_topic") for table in recipe.values())


def _of(reports: Mapping[Path, Report], recipes: Sequence[str]) -> list[Report]:
    """Return the reports of some recipes that say how many paths lead to an answer."""
    chosen = [report for report in reports.values() if _recipe(report) in recipes]
    return [report for report in chosen if "path/hits_any@3" in report["figures"]]


def _shown(figure: Mapping[str, float]) -> str:
    return f"{figure['mean']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def _by_paths(report: Report) -> str:
    metrics = ("path/hits_at_1_any", "path/hits_any@3", "path/hits_any@5", "path/hits_any@7")
    cells = " | ".join(f"{report['figures'][metric]['mean']:.3f}" for metric in metrics)
    return f"| {report['what']['dataset']['name']} | {_recipe(report)} | {report['num_questions']:,} | {cells} |"


def _first_path_right(report: Report) -> Iterator[str]:
    if figure := report["figures"].get("path/first_path_right"):
        yield f"| {report['what']['dataset']['name']} | {_recipe(report)} | {figure['n']:,} | {_shown(figure)} |"


def _by_hops(report: Report) -> Iterator[str]:
    for hops, figures in report["by_hops"].items():
        figure = figures["path/hits_at_1_any"]
        name = report["what"]["dataset"]["name"]
        yield f"| {name} | {_recipe(report)} | {hops} | {figure['n']:,} | {_shown(figure)} |"


def _misses(report: Report) -> str:
    kinds = report["misses"]["kinds"]
    cells = [f"{kinds[kind]['share']:.3f}" if kind in kinds else "" for kind in KINDS]
    return f"| {report['what']['dataset']['name']} | {report['misses']['num']:,} | {' | '.join(cells)} |"


def _paired(reports: Mapping[Path, Report], better: str, worse: str) -> Iterator[str]:
    for folder, report in reports.items():
        other = folder.with_name(folder.name.removesuffix(better) + worse)
        if _recipe(report) != better or other not in reports:
            continue
        found = compare_runs(read_records(str(folder)), read_records(str(other)))
        for metric in ("strict/f1", "path/hits_at_1_any"):
            test = found.tests[metric]
            yield (
                f"| {report['what']['dataset']['name']} | {better} − {worse} | {metric} | {test.difference:+.3f} "
                f"[{test.interval.low:+.3f}, {test.interval.high:+.3f}] | {test.p_value:.4f} "
                f"| {test.num_won:,} | {test.num_lost:,} | {test.num_tied:,} |"
            )


def _data(report: Report) -> str:
    dataset, graph = report["what"]["dataset"], report["what"]["graph"]
    return (
        f"| {dataset['name']} | `{dataset['sha256'][:12]}` | {report['num_questions']:,} of "
        f"{dataset['num_questions']:,} | {graph['num_triples']:,} |"
    )
