"""Candidate pools for tests of what reads and refines them."""

from __future__ import annotations

from lodestar.models.mined_files import PoolChain, PooledQuestion, PoolFile, PoolHeader

CHAINS = (
    PoolChain("path", "peru", ("capital",), ("Peru", "Lima")),
    PoolChain("path", "peru", ("^born in", "lives in"), ("Peru", "Ana", "Lima"), 12),
    PoolChain("query", "peru", ("marriage",), ("Peru", ""), 2),
    PoolChain("answer", "lima", ("population",), ("Lima", "10000000")),
)


def pooled_question(number: int = 0) -> PooledQuestion:
    text = f"What is the capital of Peru, number {number}?"
    return PooledQuestion(f"q{number}", text, ("peru",), "lima", CHAINS)


def candidate_pool(size: int = 3) -> PoolFile:
    header = PoolHeader("questions", "1" * 64, "2" * 64, counts={"questions": size})
    return PoolFile(header, tuple(map(pooled_question, range(size))))
