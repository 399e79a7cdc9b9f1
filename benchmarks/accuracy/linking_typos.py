"""How many entities are found by their names with typos.

``python -m benchmarks.accuracy.linking_typos --names 300 --seed 0`` over the graph that is there: draws entities by
their names' hashes, puts one or two edits (a letter left out, put in, exchanged for another, or two exchanged with one
another) at random places but the first letter, and asks "Tell me about NAME". Right is an entity of the same name,
cases and accents apart, as the first candidate. Names of at least 5 letters for one edit, 10 for two.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import string

from lodestar.engine.api import Engine
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.templates import Request, template
from lodestar.engine.values import Question
from lodestar.models.words import fold

PAGE = 10_000
LEAST_LETTERS = {1: 5, 2: 10}


def drawn(gateway: Gateway, number: int, seed: int, least: int) -> list[str]:
    """Return so many of the names of the graph, the same for a seed, with at least so many letters."""
    best: list[tuple[bytes, str]] = []
    after = ""
    while page := gateway.fetch(_names_after(after)):
        after = page[-1][0]
        for id_, name in page:
            if sum(c.isascii() and c.isalpha() for c in name) >= least:
                best.append((hashlib.blake2b(f"{seed} {id_}".encode(), digest_size=8).digest(), name))
        best = sorted(best)[:number]
    return [name.replace("_", " ") for _, name in best]


def _names_after(after: str) -> Request[list[tuple[str, str]]]:
    return Request(
        template("read_entity_kinds"),
        {"after": after, "limit": PAGE},
        lambda rows: [(id_, name) for id_, name, _ in rows],
    )


def with_typos(name: str, edits: int, draw: random.Random) -> str:
    """Return a name with so many edits of letters, another name each time."""
    text = name
    for _ in range(edits):
        before = text
        while text == before:
            at = draw.choice([place for place, c in enumerate(before) if place and c.isascii() and c.isalpha()])
            kind, letter = draw.choice(("out", "in", "other", "turned")), draw.choice(string.ascii_lowercase)
            text = {
                "out": before[:at] + before[at + 1 :],
                "in": before[:at] + letter + before[at:],
                "other": before[:at] + letter + before[at + 1 :],
                "turned": before[:at] + before[at + 1 : at + 2] + before[at] + before[at + 2 :],
            }[kind]
    return text


def main() -> None:
    """Print recall@1 for one and two edits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--misses", type=int, default=0, help="print so many")
    args = parser.parse_args()
    with Engine() as engine:
        for edits, least in LEAST_LETTERS.items():
            draw = random.Random(args.seed)
            names = drawn(engine.gateway(), args.names, args.seed, least)
            missed = []
            for name in names:
                typed = with_typos(name, edits, draw)
                found = engine.link(Question(f"Tell me about {typed}").text)
                if not found or fold(found[0].entity.label) != fold(name):
                    missed.append((name, typed, [each.entity.label for each in found[:2]]))
            share = 1 - len(missed) / len(names)
            print(f"{edits} edit{'s' * (edits > 1)}: recall@1 {share:.3f} of {len(names)} names (seed {args.seed})")
            for each in missed[: args.misses]:
                print("  ", each)


if __name__ == "__main__":
    main()
