"""Write evidence as text: chains and triples in the order and form that a reader or a language model reads best.

One line per fact, its entities by name::

    Peru —[country currency used]→ Peruvian sol
    Justin Bieber —[person sibling s, sibling relationship sibling]→ Jaxon Bieber; Jazmyn Bieber

Unnamed mediators are never shown: the steps into and out of one stand in a single bracket.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeVar

from ...models import one_line
from ...models.text import split_name
from ..data_model import Chain, ChainStep, Entity, EntityPath, Item, RelationStep, Scored, Triple

if TYPE_CHECKING:
    from ..neo4j.catalogue import RelationInfo

Labels = Mapping[str, str]
"""What relations are called, by name, where the graph says more than their names do."""
NO_LABELS: Labels = {}
MAX_NAMES = 20
"""How many ends of one path are named before "and 113 more"."""
NUM_NAMED, FEW_NAMES = 3, 5
"""After so many items of a prompt, fewer ends are named."""

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s^,;]+")

_Relations = tuple[tuple[str, bool], ...]
_Hop = tuple[_Relations, Entity]


def format_item(item: Item, labels: Labels = NO_LABELS, *, max_names: int = MAX_NAMES) -> str:
    """Return a chain or a triple as lines; see `format_chain`."""
    if isinstance(item, Triple):
        return _consecutive_triples_text([item], labels)
    return format_chain(item, labels, max_names=max_names)


def _consecutive_triples_text(triples: Sequence[Triple], labels: Labels = NO_LABELS) -> str:
    """Return triples of which each starts where the one before it ended as one line, an entity between two once.

    The steps into and out of an unnamed mediator between two of them stand in a single bracket.
    """
    words = [one_line(triples[0].head.label)]
    relations: list[tuple[str, bool]] = []
    for place, triple in enumerate(triples, start=1):
        relations.append((triple.relation, False))
        if place == len(triples) or not triple.tail.is_mediator:
            words.append(f"{_arrow(tuple(relations), labels)} {one_line(triple.tail.label)}")
            relations = []
    return " ".join(words)


def format_chain(chain: Chain, labels: Labels = NO_LABELS, *, max_names: int = MAX_NAMES) -> str:
    """Return a chain as lines, one for each way through named entities, with at most `max_names` ends."""
    shown: set[str] = set()
    lines: list[str] = []
    for (interior, last), ends in _ways(chain).items():
        if len(shown) >= max_names:
            break
        new = [end for end in ends if not end.is_mediator][: max_names - len(shown)]
        shown.update(end.id for end in new)
        unnamed = "(a record without a name)" if len(ends) == 1 else f"({len(ends):,} records without a name)"
        names = "; ".join(dict.fromkeys(one_line(end.label) for end in new)) or unnamed
        hops = "".join(f" {_arrow(relations, labels)} {one_line(entity.label)}" for relations, entity in interior)
        lines.append(f"{one_line(chain.topic.label)}{hops} {_arrow(last, labels)} {names}")
    num_left = len({end.id for end in chain.ends if not end.is_mediator} - shown)
    if num_left:
        lines[-1] += f"; and {'at least ' if chain.cut else ''}{num_left:,} more"
    elif chain.cut:
        lines[-1] += "; and perhaps more"
    return "\n".join(lines)


def format_relation(relation: str, labels: Labels = NO_LABELS) -> str:
    """Return what a relation is called: its label, else its name in words (``location.country.capital`` is "country
    capital").

    Of a dotted name the last two parts are kept, of a URI the last; underscores and camel case are opened.
    """
    if label := labels.get(relation):
        return one_line(label)
    words = ", ".join(" ".join(part[-2:]) for part in split_name(relation))
    return one_line(words) or one_line(relation)


def select_informative_labels(relations: Iterable[RelationInfo]) -> Labels:
    """Return the labels that say what names do not: "author" of P50; what the user says counts in any case."""
    return {each.name: each.shown_label for each in relations if each.said_label or _says_more(each)}


def _says_more(relation: RelationInfo) -> bool:
    of_label, of_name = (
        set(re.findall(r"\w+", text.casefold().replace("_", " ")))
        for text in (relation.shown_label, format_relation(relation.name))
    )
    return not of_label <= of_name


def shorten_relation(relation: str, labels: Labels = NO_LABELS) -> str:
    """Return a relation by its label, else by its name as it is, but for an IRI, of which the last part is kept."""
    return labels.get(relation) or _IRI.sub(lambda iri: format_relation(iri[0]), relation)


def format_path(steps: Iterable[RelationStep], labels: Labels = NO_LABELS) -> str:
    return " → ".join("^" * step.inverse + shorten_relation(step.relation, labels) for step in steps)


def _ways(chain: Chain) -> dict[tuple[tuple[_Hop, ...], _Relations], list[Entity]]:
    ways: dict[tuple[tuple[_Hop, ...], _Relations], list[Entity]] = {}
    instances = chain.instances()
    for instance in instances:
        *interior, (last, end) = _hops(chain.steps, instance)
        ways.setdefault((tuple(interior), last), []).append(end)
    grounded = {instance[-1][1].id for instance in instances}
    if bare := [end for end in chain.ends if end.id not in grounded]:
        steps = tuple((step.step.relation, step.step.inverse) for step in chain.steps)
        ways.setdefault(((), steps), []).extend(bare)
    return {way: list(dict.fromkeys(ends)) for way, ends in ways.items()}


def _hops(steps: Sequence[ChainStep], path: EntityPath) -> list[_Hop]:
    hops: list[_Hop] = []
    relations: list[tuple[str, bool]] = []
    for step, (_, entity) in zip(steps, path, strict=True):
        relations.append((step.step.relation, step.step.inverse))
        if not entity.is_mediator:
            hops.append((tuple(relations), entity))
            relations = []
    if relations:
        hops.append((tuple(relations), path[-1][1]))
    return hops


def _arrow(relations: _Relations, labels: Labels) -> str:
    if all(inverse for _, inverse in relations):
        return f"←[{', '.join(format_relation(relation, labels) for relation, _ in relations)}]—"
    words = (
        f"{'inverse of ' if inverse else ''}{format_relation(relation, labels)}" for relation, inverse in relations
    )
    return f"—[{', '.join(words)}]→"


Order = Literal["best-first", "ascending", "lost-in-the-middle"]

EVIDENCE_TOKENS = 2_000
"""The whole evidence of one question in a prompt."""

T = TypeVar("T")


def format_evidence(
    items: Sequence[Scored[Item]],
    labels: Labels = NO_LABELS,
    *,
    order: Order = "best-first",
    max_names: int = MAX_NAMES,
    max_chars: int,
) -> tuple[str, int]:
    """Return the items as numbered blocks of lines of at most `max_chars` characters in all, and how many fit.

    A block's number is the rank, from 1, of the best item in it, whatever the `order`. Items of the first group
    stand before the others, each group under a line of its own. An item that does not fit whole is left out with
    all that are worse, and the text says so; the first is cut short instead. A triple that starts where the one before
    it ends continues its line.
    """
    if not items:
        return "(no path was found)"[:max_chars], 0
    ranks = sorted(range(len(items)), key=lambda rank: items[rank].group or 0)

    def write(num_kept: int) -> str:
        left_out = [_left_out(len(items) - num_kept)] if num_kept < len(items) else []
        return "\n".join([*_arranged_blocks(ranks[:num_kept], items, labels, order, max_names), *left_out])

    if len(whole := write(len(items))) <= max_chars:
        return whole, len(items)
    num_kept = bisect_left(range(1, len(items)), True, key=lambda num: len(write(num)) > max_chars)
    if num_kept:
        return write(num_kept), num_kept
    note = "\n" + _left_out(len(items) - 1) if len(items) > 1 else ""
    (first, *_) = _arranged_blocks(ranks[:1], items, labels, order, max_names)
    return (first[: max(max_chars - len(note) - 1, 0)] + "…" + note)[:max_chars], 1


def order_for_prompt(best_first: Sequence[T], order: Order) -> list[T]:
    """Return what is ranked in the order of a prompt (Path Pooling, sections 3.4 and 4.3.3).

    ascending: the best last, next to the question. lost-in-the-middle: the best alternately at the beginning and at the
    end, the worst in the middle.
    """
    if order == "ascending":
        return list(reversed(best_first))
    if order == "lost-in-the-middle":
        return [*best_first[::2], *reversed(best_first[1::2])]
    return list(best_first)


def _join_consecutive_triples(ranks: Sequence[int], items: Sequence[Scored[Item]]) -> list[list[int]]:
    """Return the ranks in their order, those of triples that continue one another together (section A.4)."""
    found: list[list[int]] = []
    for rank in ranks:
        item = items[rank].value
        last = items[found[-1][-1]].value if found else None
        if isinstance(item, Triple) and isinstance(last, Triple) and last.tail == item.head:
            found[-1].append(rank)
        else:
            found.append([rank])
    return found


def _arranged_blocks(
    ranks: Sequence[int], items: Sequence[Scored[Item]], labels: Labels, order: Order, max_names: int
) -> list[str]:
    blocks: list[str] = []
    for group, of_group in groupby(ranks, key=lambda rank: items[rank].group or 0):
        runs = _join_consecutive_triples(order_for_prompt(list(of_group), order), items)
        own = [_block(run, items, labels, max_names) for run in runs]
        is_grouped = any(each.group is not None for each in items)
        name = ("most relevant", "perhaps relevant")[group] if group < 2 else f"group {group + 1}"
        blocks += [(f"({name})\n" if is_grouped else "") + own[0], *own[1:]]
    return blocks


def _block(run: Sequence[int], items: Sequence[Scored[Item]], labels: Labels, max_names: int) -> str:
    triples = [value for rank in run if isinstance(value := items[rank].value, Triple)]
    if triples:
        text = _consecutive_triples_text(triples, labels)
    else:
        most = max_names if run[0] < NUM_NAMED else min(max_names, FEW_NAMES)
        text = format_item(items[run[0]].value, labels, max_names=most)
    return f"[{min(run) + 1}] " + text.replace("\n", "\n    ")


def _left_out(num_items: int) -> str:
    return f"(paths left out for length: {num_items:,})"
