"""What a user may say: settings in a file and in the environment, options of a training, recipes. Each is taken, or
refused in one line."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.recipes.recipe import Recipe, read_recipe
from lodestar.engine.settings import SCHEMES, resolve
from lodestar.engine.training.running import training_config
from lodestar.models.star.kind import KIND


def check_settings(data: bytes, folder: Path) -> None:
    """The first byte says what the others are: the file, the environment as NAME=VALUE one a line, options of a
    training as KEY=VALUE one a line, a recipe as TOML, a line of parts with options as KEY=VALUE."""
    kind, rest = (data[0] if data else 0) % 5, data[1:]
    lines = rest.decode("utf-8", "replace").split("\n")
    try:
        match kind:
            case 0:
                (folder / "lodestar.toml").write_bytes(rest)
                check_resolved({"LODESTAR_CONFIG": str(folder / "lodestar.toml")})
            case 1:
                said = {name: value for name, _, value in (line.partition("=") for line in lines)}
                check_resolved(said | {"LODESTAR_CONFIG": "/dev/null"})
            case 2:
                config = training_config(KIND, lines, preset="best")
                assert config.mix is None or 0 <= config.mix <= 1
                assert config.cross.batch_size > 0 < config.dual.batch_size
                asdict(config)
            case 3:
                (folder / "recipe.toml").write_bytes(rest)
                check_recipe(read_recipe(str(folder / "recipe.toml")))
            case 4:
                check_recipe(read_recipe(lines[0], lines[1:]))
    except (InputError, UsageError) as error:
        assert "\n" not in str(error) or kind == 0
        assert len(str(error)) < len(str(folder)) + 3_000


def check_recipe(recipe: Recipe) -> None:
    assert read_recipe(Recipe.of(recipe.as_json())).as_json() == recipe.as_json()
    json.dumps(recipe.as_json(), allow_nan=False)


def check_resolved(environ: dict[str, str]) -> None:
    found = resolve({}, environ)
    assert 0 < found.llm_timeout_s < math.inf
    assert 0 < found.query_timeout_s < math.inf
    assert found.llm_max_calls >= 0 <= found.llm_max_tokens
    assert not found.uri or found.uri.partition("://")[0] in SCHEMES
    assert all(isinstance(value, str | int | float) for value in asdict(found).values())
