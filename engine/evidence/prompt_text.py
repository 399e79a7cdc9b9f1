"""The evidence of a question as a language model is shown it: what fits, in groups, in an order, triples as chains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import Literal, TypeVar

from ..values import Scored, Triple
from .evidence import Item
from .text import MAX_NAMES, item_text, run_text

Order = Literal["best-first", "ascending", "lost-in-the-middle"]

MAX_CHARS = 12_000
"""The whole evidence of one question, some 3,000 tokens of English."""

T = TypeVar("T")


def evidence_text(
    items: Sequence[Scored[Item]],
    groups: Sequence[int] = (),
    *,
    order: Order = "best-first",
    max_names: int = MAX_NAMES,
    max_chars: int = MAX_CHARS,
) -> str:
    """Return the items as numbered blocks of lines of at most `max_chars` characters in all.

    The numbers are ranks from 1, whatever the `order`. With `groups`, those of the first stand before the others, each
    group under a line of its own. An item that does not fit whole is left out with all that are worse, and the text
    says so; the first is cut short instead. A triple that starts where the one before it ends continues its line.
    """
    if not items:
        return "(no path was found)"[:max_chars]
    ranks = sorted(range(len(items)), key=lambda rank: groups[rank]) if groups else list(range(len(items)))
    titles = {rank: _title(groups[rank]) for rank in _first_of_each(ranks, groups)} if groups else {}
    blocks = {rank: _block([rank], items, max_names) for rank in ranks}
    sizes = [len(blocks[rank]) + len(titles.get(rank, "")) + 1 for rank in ranks]
    if sum(sizes) - 1 <= max_chars:
        return "\n".join(_arranged_blocks(ranks, items, groups, titles, order, max_names))
    room = max_chars - len(_left_out(len(items)))
    num_kept = sum(total <= room for total in accumulate(sizes))
    lines = _arranged_blocks(ranks[:num_kept], items, groups, titles, order, max_names)
    if not num_kept:
        num_kept = 1
        lines = [(titles.get(ranks[0], "") + blocks[ranks[0]])[: max(room - 2, 0)] + "…"]
    left_out = [_left_out(len(items) - num_kept)] if num_kept < len(items) else []
    return "\n".join([*lines, *left_out])[:max_chars]


def arranged(best_first: Sequence[T], order: Order) -> list[T]:
    """Return what is ranked in the order of a prompt (Path Pooling, sections 3.4 and 4.3.3).

    ascending: the best last, next to the question. lost-in-the-middle: the best alternately at the beginning and at the
    end, the worst in the middle.
    """
    if order == "ascending":
        return list(reversed(best_first))
    if order == "lost-in-the-middle":
        return [*best_first[::2], *reversed(best_first[1::2])]
    return list(best_first)


def runs(ranks: Sequence[int], items: Sequence[Scored[Item]]) -> list[list[int]]:
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
    ranks: Sequence[int],
    items: Sequence[Scored[Item]],
    groups: Sequence[int],
    titles: dict[int, str],
    order: Order,
    max_names: int,
) -> list[str]:
    """Return the blocks of the ranks, which are sorted by group, each group in the order that is asked for."""
    blocks: list[str] = []
    for _, of_group in groupby(ranks, key=lambda rank: groups[rank] if groups else 0):
        members = list(of_group)
        own = [_block(run, items, max_names) for run in runs(arranged(members, order), items)]
        blocks += [titles.get(members[0], "") + own[0], *own[1:]]
    return blocks


def _block(run: Sequence[int], items: Sequence[Scored[Item]], max_names: int) -> str:
    triples = [value for rank in run if isinstance(value := items[rank].value, Triple)]
    text = run_text(triples) if triples else item_text(items[run[0]].value, max_names=max_names)
    numbers = ", ".join(str(rank + 1) for rank in run)
    return f"[{numbers}] " + text.replace("\n", "\n    ")


def _first_of_each(ranks: Sequence[int], groups: Sequence[int]) -> list[int]:
    return [next(of_group) for _, of_group in groupby(ranks, key=lambda rank: groups[rank])]


def _title(group: int) -> str:
    return f"({('most relevant', 'perhaps relevant')[group] if group < 2 else f'group {group + 1}'})\n"


def _left_out(num_items: int) -> str:
    return f"(paths left out for length: {num_items:,})"
