"""Standard input on its way to a disk that may be small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of a file")
def test_a_full_disk_is_said_and_not_taken_for_a_fault_of_the_input(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from lodestar.engine.errors import StorageError\n"
        "from lodestar.loaders.formats.delimited import TsvSource\n"
        "from lodestar.loaders.reading import use_spool_folder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try:\n"
        "    with use_spool_folder(Path(sys.argv[1])):\n"
        "        TsvSource('-')\n"
        "except StorageError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], input=b"a\tr\tb\n" * 100_000, capture_output=True, check=True
    )
    assert done.stdout.decode() == (
        f"{tmp_path}: no room left on the disk for what comes from standard input: make room or name another LODESTAR_HOME\n"
    )
