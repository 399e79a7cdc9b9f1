"""The code that runs: its hash, and the commit it is of."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
_CODE = ("*.py", "*.cypher", "*.toml", "*.txt", "*.sql", "*.tsv")


def code_sha256() -> str:
    """Return the hash of the package's code, whether it is installed or a checkout."""
    digest = hashlib.sha256()
    for package in ("engine", "models", "cypher"):
        for pattern in _CODE:
            for path in sorted((ROOT / package).rglob(pattern)):
                digest.update(f"{path.relative_to(ROOT).as_posix()}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def commit() -> str | None:
    """Return the commit of the checkout the code is in, ``+`` behind it where files were changed; None outside one."""
    if not (ROOT / ".git").exists():
        return None
    try:
        head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "-C", str(ROOT), "diff", "--quiet", "HEAD"], check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed else "")
