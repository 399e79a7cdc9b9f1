"""Find the packages of the checkout, whose root is the package `lodestar` itself, and the data files beside code."""

from pathlib import Path

from setuptools import find_packages, setup

SUFFIXES = "css cypher gz html js json md safetensors sql svg toml tsv txt"
DATA = {f".{suffix}" for suffix in SUFFIXES.split()}
TOPS = ("cypher", "engine", "loaders", "models")

packages = find_packages(include=[name for top in TOPS for name in (top, f"{top}.*")])
data = {
    f"lodestar.{top}": [path.relative_to(top).as_posix() for path in Path(top).rglob("*") if path.suffix in DATA]
    for top in TOPS
}
setup(
    package_dir={"lodestar": "."},
    packages=["lodestar", *(f"lodestar.{name}" for name in packages)],
    package_data={"lodestar": ["py.typed"], **data},
    include_package_data=False,
)
