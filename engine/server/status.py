"""What an embedded server is doing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .files.home import LOOPBACK

Phase = Literal["stopped", "starting", "running"]


@dataclass(frozen=True, slots=True)
class Status:
    """What a server is doing. Ports and memory are those of the last start, 0 before the first."""

    name: str
    phase: Phase
    pid: int | None
    version: str
    bolt_port: int
    http_port: int
    heap_mb: int
    pagecache_mb: int
    home: Path
    log: Path
    password_file: Path

    @property
    def running(self) -> bool:
        """Whether the server's process lives and answers."""
        return self.phase == "running"

    @property
    def bolt_uri(self) -> str:
        """The address for drivers."""
        return f"bolt://{LOOPBACK}:{self.bolt_port}"

    @property
    def browser_url(self) -> str:
        """The address of Neo4j Browser."""
        return f"http://{LOOPBACK}:{self.http_port}/browser/"
