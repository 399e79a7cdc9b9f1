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
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import JSON

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]


def options_for(make: Callable[..., dict[str, Any]], *options: Decorator[Any]) -> Decorator[Any]:
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
DATABASE = (_URI, _NAME)


def settings_from(uri: str | None = None, name: str | None = None) -> Settings:
    from ..settings import resolve_settings

    return resolve_settings({"uri": uri, "name": name})


def open_gateway(settings: Settings) -> Gateway:
    """Return a gateway with the longer timeout of loads; it is closed when the verb ends."""
    from ..neo4j.gateway import Gateway
    from ..settings import make_loading_connection

    gateway = click.get_current_context().with_resource(Gateway(make_loading_connection(settings)))
    gateway.version()
    return gateway


def _server(name: str | None) -> dict[str, Any]:
    from ..neo4j.embedded import EmbeddedServer

    return {"server": EmbeddedServer.of(settings_from(name=name))}


def _engine(uri: str | None, name: str | None) -> dict[str, Any]:
    from ..api import Engine

    engine = Engine(settings_from(uri, name))
    return {"engine": click.get_current_context().with_resource(engine)}


server_option = options_for(_server, _NAME)
"""--name: `server`, the embedded one."""
database_options = options_for(lambda uri, name: {"settings": settings_from(uri, name)}, *DATABASE)
"""--uri, --name: `settings`."""
engine_options = options_for(_engine, *DATABASE)
"""--uri, --name: `engine`, an open `Engine`."""
gateway_options = options_for(lambda uri, name: {"gateway": open_gateway(settings_from(uri, name))}, *DATABASE)
"""--uri, --name: `gateway`, see `open_gateway`."""

_RECIPE = (
    click.option("--recipe", "named", help="A recipe's name, a TOML file, or a line of parts such as 'star + merge'."),
    click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help="Change an option: star.max_hop=3."),
    click.option("--allow-parts", is_flag=True, help="Allow a recipe to import its own parts as code."),
    click.option("--checkpoint", metavar="FOLDER", help="Trained scorer to rank with (default: none)."),
)


def _recipe(
    named: str | None,
    changes: Sequence[str],
    allow_parts: bool,
    checkpoint: str | None,
    uri: str | None,
    name: str | None,
) -> dict[str, Any]:
    """Return settings and recipe; without --recipe, --checkpoint selects the recipe star."""
    from ..recipes import read_recipe

    settings = settings_from(uri, name)
    named = named or (settings.recipe if checkpoint is None else "star")
    options = {} if checkpoint is None else {"checkpoint": checkpoint}
    return {"settings": settings, "recipe": read_recipe(named, changes, options, allow_parts=allow_parts)}


recipe_options = options_for(_recipe, *_RECIPE, *DATABASE)
"""--recipe, --set, --allow-parts, --checkpoint, --uri, --name: `recipe` and `settings`."""


def _workers(ray: str | None, workers: int | None = None) -> dict[str, Any]:
    from ..parallel import WorkerPool

    return {"workers": WorkerPool(workers or 0, ray or "")}


_RAY = click.option(
    "--ray", metavar="ADDRESS", help="Work on a Ray cluster: HOST:PORT, ray://HOST:PORT, auto, or local for its own."
)
ray_option = options_for(_workers, _RAY)
"""--ray: `workers`, one for each of its processors, or this thread."""
worker_options = options_for(
    _workers,
    click.option("--workers", type=click.IntRange(1, 1024), help="Parts at a time (default: 1, or a CPU of Ray's)."),
    _RAY,
)
"""--workers, --ray: `workers`."""
