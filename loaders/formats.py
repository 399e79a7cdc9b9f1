"""The source formats by the name they have on the command line."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from .source import Source

FORMATS = {
    "geonames": ".geonames:GeonamesSource",
    "tsv": ".tsv:TsvSource",
}


def source_class(name: str) -> Callable[..., Source]:
    """Return what makes a source of this format; each takes its own arguments."""
    module, _, class_name = FORMATS[name].partition(":")
    return cast(Callable[..., Source], getattr(import_module(module, __package__), class_name))
