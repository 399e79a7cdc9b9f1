"""Show the figures of a graph (`lodestar stats`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo

if TYPE_CHECKING:
    from ..neo4j.statistics import Components, GraphStats, SizeBin

BAR_CHARS = 30
EIGHTHS = " ▏▎▍▌▋▊▉█"


@click.command()
@click.option(
    "--top", type=click.IntRange(0, 10_000), default=10, show_default=True, help="Relations and hubs to show."
)
@click.option(
    "--components/--no-components",
    default=None,
    help="Count connected components, which reads every relationship (default: up to 5 million triples).",
)
@json_option
@database_options
def command(top: int, components: bool | None, as_json: bool, **flags: Any) -> None:
    """Show what a graph holds: sizes, loads, degrees, top relations, hubs, connected components.

    \b
    Examples:
      lodestar stats
      lodestar stats --top 50 --no-components --json
    """
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import loading_connection
    from ..neo4j.statistics import graph_stats
    from ..progress import show_waiting

    with Gateway(loading_connection(settings_from(**flags))) as gateway:
        gateway.version()
        with show_waiting("reading the graph"):
            stats = graph_stats(gateway, top=top, components=components)
    echo(json.dumps(stats.as_json(), ensure_ascii=False) if as_json else "\n".join(_lines(stats)))


def draw_bar(share: float) -> str:
    """Return a bar for a share of the longest one, in eighths of a character, at least one."""
    eighths = max(1, round(share * BAR_CHARS * 8))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _lines(stats: GraphStats) -> Iterator[str]:
    yield (
        f"{stats.num_triples:,} triples, {stats.num_entities:,} entities, {stats.num_literals:,} literals, "
        f"{stats.num_relations:,} relations"
    )
    yield f"{stats.num_unnamed:,} entities without a name ({stats.unnamed_share:.1%})"
    yield from _tables(stats)
    degrees = stats.degrees
    yield _title("Degrees")
    yield (
        f"  min {degrees.min:,}   median {degrees.median:,}   mean {degrees.mean:,.1f}   p90 {degrees.p90:,}   "
        f"p99 {degrees.p99:,}   max {degrees.max:,}"
    )
    yield from _plot(degrees.bins)
    yield _title("Components")
    yield from _component_lines(stats.components)


def _tables(stats: GraphStats) -> Iterator[str]:
    from .terminal import printable

    yield _title("Loads")
    for load in stats.loads:
        origin = " by ".join(filter(None, (load.kind, load.writer)))
        when = (load.finished or "").partition(".")[0].partition("Z")[0] or "not finished"
        yield printable(f"  {load.number:>3}  {load.source}  ({origin}): {load.num_triples:,} triples, {when}")
    if stats.relations:
        yield _title("Top relations")
    for relation in stats.relations:
        share = stats.relation_share(relation)
        yield printable(f"  {relation.count:>11,}  {share:>6.1%}  {relation.label}") + click.style(
            printable(f"  {relation.name}"), dim=True
        )
    if stats.hubs:
        yield _title("Top hubs")
    for hub in stats.hubs:
        yield printable(f"  {hub.degree:>11,}  {hub.entity.label}") + click.style(
            printable(f"  {hub.entity.id}"), dim=True
        )


def _component_lines(components: Components | None) -> Iterator[str]:
    if components is None:
        yield "  not counted: use --components, which reads every relationship"
        return
    what = "1 component" if components.count == 1 else f"{components.count:,} components"
    yield f"  {what}, the largest of {components.largest:,} entities ({components.largest_share:.1%})"
    if components.count > 1:
        yield from _plot(components.bins)


def _plot(bins: Sequence[SizeBin]) -> Iterator[str]:
    """Yield a line for each non-empty bin, with a bar and its share of the total."""
    filled = [found for found in bins if found.count]
    longest = max(found.count for found in filled)
    total = sum(found.count for found in filled)
    spans = [f"{b.low:,}" if b.low == b.high else f"{b.low:,}–{b.high:,}" for b in filled]
    width = max(map(len, spans))
    for found, span in zip(filled, spans, strict=True):
        drawn = draw_bar(found.count / longest).ljust(BAR_CHARS)
        yield f"  {span:>{width}}  {drawn}  {found.count:>{len(f'{longest:,}')},}  {found.count / total:>6.1%}"


def _title(text: str) -> str:
    return click.style(f"\n{text}", bold=True)
