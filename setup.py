"""Find the packages of the checkout, whose root is the package `lodestar` itself, and every data file in them."""

from pathlib import Path

from setuptools import find_namespace_packages, setup

DATA = ("cypher", "grass", "html", "sql", "toml", "tsv", "tsv.gz", "txt")
TOPS = ("cypher", "engine", "loaders", "models")

found = find_namespace_packages(include=[name for top in TOPS for name in (top, f"{top}.*")])
with_code = [name for name in found if any(Path(name.replace(".", "/")).glob("*.py"))]
files = {
    f"lodestar.{name}": [
        path.relative_to(name.replace(".", "/")).as_posix()
        for suffix in DATA
        for path in Path(name.replace(".", "/")).rglob(f"*.{suffix}")
    ]
    for name in with_code
}

setup(
    package_dir={"lodestar": "."},
    packages=["lodestar", *(f"lodestar.{name}" for name in with_code)],
    package_data={"lodestar": ["py.typed"], **files},
    include_package_data=False,
)
