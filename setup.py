"""Find the packages and their data: the root of the repository is the package `lodestar` (docs/decisions/0001)."""

from setuptools import find_packages, setup

FOLDERS = ["engine*", "loaders*", "models*", "cypher*"]
DATA = ["*.grass", "*.html", "*.sql", "*.toml", "*.tsv", "*.txt", "*/*.cypher", "queries/*/*.sql"]

packages = [f"lodestar.{name}" for name in find_packages(include=FOLDERS)]

setup(
    packages=["lodestar", *packages],
    package_dir={"lodestar": "."},
    package_data={"lodestar": ["py.typed"], **dict.fromkeys(packages, DATA)},
    include_package_data=False,
)
