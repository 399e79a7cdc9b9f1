"""The built wheel in a clean environment, beside a user's own `models/`, `loaders/` and `engine.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.places import ROOT

TOPS = ("cypher", "engine", "loaders", "models")
USE = """
import engine, models, loaders, lodestar
from pathlib import Path
from lodestar import Engine, LodestarRetriever
from lodestar.engine.neo4j import list_query_names, load_query
from lodestar.engine.neo4j.maven_jars import JarCache
assert (engine.MINE, models.MINE, loaders.MINE) == (1, 2, 3)
assert [load_query(name).text for name in list_query_names()] and JarCache(Path()).jars
print(lodestar.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, out = tmp_path_factory.mktemp("source") / "lodestar", tmp_path_factory.mktemp("dist")
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=unwanted)  # building leaves files in the folder it builds from
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)],
        check=True,
        capture_output=True,
    )
    return next(out.glob("lodestar_kg-*.whl"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"lodestar", next(t for t in tops if t.endswith(".dist-info"))}
    assert not any(name.startswith(("lodestar/tests", "lodestar/benchmarks", "lodestar/.")) for name in names)
    there = [path.relative_to(ROOT) for top in TOPS for path in (ROOT / top).rglob("*") if path.is_file()]
    needed = {f"lodestar/{path.as_posix()}" for path in there if path.suffix != ".pyc"}
    assert {"lodestar/py.typed", "lodestar/__init__.py", "lodestar/__main__.py"} | needed <= set(names)


def test_it_works_beside_a_users_own_names(wheel: Path, tmp_path: Path) -> None:
    environment, project = tmp_path / "env", tmp_path / "project"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    site = next((environment / "lib").glob("python*")) / "site-packages"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)], check=True
    )
    # The dependencies of this environment, without its editable install of Lodestar.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for folder, number in (("models", 2), ("loaders", 3)):
        (project / folder).mkdir(parents=True)
        (project / folder / "__init__.py").write_text(f"MINE = {number}\n")
    (project / "engine.py").write_text("MINE = 1\n")
    (project / "use.py").write_text(USE)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run([str(python), "use.py"], cwd=project, capture_output=True, text=True, env=environ, check=False)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()).is_relative_to(site)
