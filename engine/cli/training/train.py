"""`lodestar train`: a scorer of one's own, from questions with answers."""

from __future__ import annotations

import click

from .train_fi import command as fi
from .train_gril import gril
from .train_linker import linker
from .train_reg_path import reg_path
from .train_reg_scorers import reg_entity, reg_triple
from .train_star import star


@click.group()
def command() -> None:
    """Train a scorer on questions with answers.

    \b
    Example:
      lodestar train star --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out star
    """


command.add_command(star)
command.add_command(reg_triple)
command.add_command(linker)
command.add_command(reg_entity)
command.add_command(gril)
command.add_command(reg_path)
command.add_command(fi, "fi")
