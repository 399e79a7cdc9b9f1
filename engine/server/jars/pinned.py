"""Neo4j as Lodestar runs it: the version, and the jars with their SHA-256 as ``jars.tsv`` pins them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

NEO4J_VERSION = "5.26.30"


@dataclass(frozen=True, slots=True)
class Jar:
    """One pinned jar."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        """Return the name of the file, in the repository and in the cache."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.jar"

    @property
    def url_path(self) -> str:
        """Return where the jar is below the repository's address."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


@cache
def pinned() -> tuple[Jar, ...]:
    """Return the jars of ``jars.tsv``."""
    return pins_in(Path(__file__).with_name("jars.tsv"))


def pins_in(path: Path) -> tuple[Jar, ...]:
    """Return the jars that a file pins."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(_parsed(line) for line in lines if line and not line.startswith("#"))


def _parsed(line: str) -> Jar:
    coordinate, sha256, size_bytes = line.split("\t")
    group, artifact, version, *classifier = coordinate.split(":")
    return Jar(group, artifact, version, "".join(classifier), sha256, int(size_bytes))
