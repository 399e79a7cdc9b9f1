"""Coverage-guided fuzzing: ``python -m tests.fuzz.run TARGET [SECONDS]``, with atheris.

What fails is printed and kept as `tests/fuzz/found-…`; once mended, it becomes a seed (see `seeds/`). A query costs
much more than a reference parser, so the target `parsers` is led by what the references cover, and lines are given to
DuckDB many at a time.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(  # pyright: ignore[reportAttributeAccessIssue]
    include=[
        "lodestar.loaders",
        "lodestar.engine.answering",
        "lodestar.engine.evaluation",
        "lodestar.engine.indexes",
        "lodestar.engine.llm",
        "lodestar.engine.recipes",
        "lodestar.engine.settings",
        "lodestar.engine.settings",
        "lodestar.models.star.scoring",
        "lodestar.models.star.mined",
        "lodestar.models.text.vectors",
        "lodestar.models.training",
        "tests.references.parsers",
        "tests.references.lines",
    ]
):
    from tests.fuzz import targets

HERE = Path(__file__).parent
SECONDS = 60
LINES_AT_ONCE = 3_000
SECONDS_AT_ONCE = 5.0


class Batched:
    """The target `parsers`, lines gathered by case before they are compared."""

    def __init__(self) -> None:
        self._lines: dict[int, set[str]] = {number: set() for number in range(len(targets.CASES))}
        self._compared_s = time.monotonic()

    def __call__(self, data: bytes, folder: Path) -> None:
        case, texts = targets.case_and_lines(data)
        number = targets.CASES.index(case)
        for text in texts:
            case.expected(text)
        self._lines[number].update(texts)
        gathered = sum(map(len, self._lines.values()))
        if gathered >= LINES_AT_ONCE or time.monotonic() > self._compared_s + SECONDS_AT_ONCE:
            self.compare()

    def compare(self) -> None:
        for number, gathered in self._lines.items():
            texts = sorted(gathered)
            gathered.clear()
            self._compare(number, texts)
        self._compared_s = time.monotonic()

    def _compare(self, number: int, texts: list[str]) -> None:
        """Compare, and in a failure find the single line that fails."""
        try:
            if texts:
                targets.check_case(targets.CASES[number], texts)
        except Exception:
            if len(texts) == 1:
                keep("parsers", bytes([number]) + texts[0].encode())
                raise
            half = len(texts) // 2
            self._compare(number, texts[:half])
            self._compare(number, texts[half:])


def keep(target: str, data: bytes) -> None:
    path = HERE / f"found-{target}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    sys.stderr.write(f"kept as {path}\n")


def main(target: str, seconds: int) -> None:
    logging.disable(logging.WARNING)  # of damaged files there are many
    check: Callable[[bytes, Path], None] = Batched() if target == "parsers" else targets.TARGETS[target]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()

    def one(data: bytes) -> None:
        check(data, folder)

    options = [f"-max_total_time={seconds}", "-max_len=2048", "-timeout=60", "-print_final_stats=1", "-verbosity=1"]
    atheris.Setup(
        [sys.argv[0], *options, f"-artifact_prefix={HERE}/found-{target}-", str(corpus), str(HERE / "seeds" / target)],
        one,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SECONDS)
