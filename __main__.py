"""`python -m lodestar` is the `lodestar` command."""

from .engine.cli.main import run

run()
