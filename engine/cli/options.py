"""The options that several verbs share: each decorator adds its options, and gives the verb what they mean instead.

    @click.command()
    @click.argument("text")
    @json_option        # --json: `show` prints JSON
    @engine_options     # --uri, --name: the verb gets `engine`, open until it ends
    def find_command(text: str, engine: Engine) -> None: ...

A verb is a function `VERB_command` in a file of this folder, and named in `main.SECTIONS`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from . import JSON

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

Decorator = Callable[[Any], Any]


def options_for(make: Callable[..., dict[str, Any]], *options: Decorator) -> Decorator:
    """Return a decorator that adds options; `make` takes their values by name, and returns the verb's arguments."""
    taken = inspect.signature(make).parameters

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            values = {name: given.pop(name) for name in taken if name in given}
            return function(*args, **given, **make(**values))

        for option in reversed(options):
            call = option(call)
        return call

    return decorate


FORCE = click.option("--force", is_flag=True, help="Replace an existing file.")
SEED = click.IntRange(0, 2**32 - 1)
json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _option, value: context.meta.update({JSON: value}),
    help="Print JSON instead of text.",
)
"""--json: `show` and `print_report` know."""

_NAME = click.option("--name", help="The embedded server to use (default: default).")
_URI = click.option("--uri", help="Address of a Neo4j: neo4j://, neo4j+s://, bolt:// … (default: the embedded server).")


def settings_from(uri: str | None = None, name: str | None = None) -> Settings:
    from ..settings import resolve_settings

    return resolve_settings({"uri": uri, "name": name})


def open_gateway(settings: Settings) -> Gateway:
    """Return a gateway with the longer timeout of loads; it is closed when the verb ends."""
    from ..neo4j.gateway import Gateway
    from ..settings import LOAD_TIMEOUT_S, make_connection

    gateway = click.get_current_context().with_resource(Gateway(make_connection(settings, LOAD_TIMEOUT_S)))
    gateway.version()
    return gateway


def _server(name: str | None) -> dict[str, Any]:
    from ..neo4j.embedded import EmbeddedServer

    return {"server": EmbeddedServer.of(settings_from(name=name))}


def _engine(settings: Settings) -> dict[str, Any]:
    from ..api import Engine

    return {"engine": click.get_current_context().with_resource(Engine(settings))}


server_option = options_for(_server, _NAME)
"""--name: `server`, the embedded one."""
database_options = options_for(lambda uri, name: {"settings": settings_from(uri, name)}, _URI, _NAME)
"""--uri, --name: `settings`."""
engine_options = options_for(_engine, database_options)
"""--uri, --name: `engine`, an open `Engine`."""
gateway_options = options_for(lambda settings: {"gateway": open_gateway(settings)}, database_options)
"""--uri, --name: `gateway`, see `open_gateway`."""

_RECIPE = (
    click.option("--recipe", "named", help="A recipe's name, a TOML file, or a line of parts such as 'star + merge'."),
    click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="Change an option: star.max_hop=3."),
    click.option("--allow-parts", is_flag=True, help="Allow a recipe to import its own parts as code."),
    click.option("--checkpoint", metavar="FOLDER", help="Trained scorer to rank with (default: none)."),
)


def _recipe(
    named: str | None, changes: Sequence[str], allow_parts: bool, checkpoint: str | None, settings: Settings
) -> dict[str, Any]:
    """Return settings and recipe; without --recipe, --checkpoint selects the recipe star."""
    from ..recipes import read_recipe

    named = named or (settings.recipe if checkpoint is None else "star")
    options = {} if checkpoint is None else {"checkpoint": checkpoint}
    return {"settings": settings, "recipe": read_recipe(named, changes, options, allow_parts=allow_parts)}


recipe_options = options_for(_recipe, *_RECIPE, database_options)
"""--recipe, --set, --allow-parts, --checkpoint, --uri, --name: `recipe` and `settings`."""


def _workers(ray: str | None, workers: int | None = None) -> dict[str, Any]:
    from ..parallel import WorkerPool

    return {"workers": WorkerPool(workers or 0, ray or "")}


_WORKERS = click.option("--workers", type=click.IntRange(1, 1024), help="Parts at a time (default: 1, or Ray's CPUs).")
_RAY = click.option("--ray", metavar="ADDRESS", help="A Ray cluster: HOST:PORT, ray://HOST:PORT, auto, or local.")
ray_option = options_for(_workers, _RAY)
"""--ray: `workers`, one for each of its processors, or this thread."""
worker_options = options_for(_workers, _WORKERS, _RAY)
"""--workers, --ray: `workers`."""
