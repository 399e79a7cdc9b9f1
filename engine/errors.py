"""Define every error that Lodestar raises on purpose, with the exit code of the command line.

A message says what was expected, what was found, where, and what to do next, in one line.
After Ctrl-C the command line exits with 130.
"""

from __future__ import annotations

import errno
import json
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk is full, or a user or a file has no more room."""


class LodestarError(Exception):
    """Root of all errors that a user can act on; anything else is a bug."""

    exit_code = 1


class UsageError(LodestarError):
    """The question or an option cannot be used as it is."""

    exit_code = 2


class InputError(LodestarError):
    """A file is not what was expected."""

    exit_code = 3


class DatabaseError(LodestarError):
    """Neo4j answered with an error."""

    exit_code = 4


class DatabaseUnavailableError(DatabaseError):
    """Nothing answers at the database's address."""


class AuthenticationError(DatabaseError):
    """Neo4j refused the user or the password."""


class QueryTimeoutError(DatabaseError):
    """A query exceeded its timeout and was ended."""


class LoadInProgressError(DatabaseError):
    """Another load is running on this graph."""


class GraphError(LodestarError):
    """The graph lacks something that is needed."""

    exit_code = 5


class EntityNotFoundError(GraphError):
    """No entity has this id, or the question mentions no known entity."""


class StaleCatalogueError(GraphError):
    """The graph has a relation that is not in the catalogue read earlier: more was loaded since then."""


class EmbeddedServerError(LodestarError):
    """The embedded Neo4j could not be started, stopped or reset."""

    exit_code = 6


class PortTakenError(EmbeddedServerError):
    """Another process listens at the requested port."""


class DownloadError(LodestarError):
    """A file could not be fetched, or the fetched file is not the pinned one."""

    exit_code = 7


class ModelError(LodestarError):
    """An encoder or a checkpoint is missing, damaged, or of another graph."""

    exit_code = 8


class LLMError(LodestarError):
    """The language model failed, refused, or sent something unreadable."""

    exit_code = 9


class StorageError(LodestarError):
    """The disk or the memory is full, or a folder cannot be written."""

    exit_code = 10


class MissingExtraError(LodestarError):
    """A package is not installed that an extra brings."""

    exit_code = 11


# Extras: what `pip install lodestar-kg` does not install is imported at first use, and one line names its extra.

_PACKAGE_OF_EXTRA = re.compile(r'([\w-]+).* extra == "([\w-]+)"')


@cache
def read_extras() -> Mapping[str, Sequence[str]]:
    """Return the packages of each extra, as `pyproject.toml` has them."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for line in requires("lodestar-kg") or ():
        if (named := _PACKAGE_OF_EXTRA.match(line)) and named[1] != "lodestar-kg":
            found[named[2]].append(named[1])
    return found


def find_extra(module: str) -> str | None:
    """Return the extra whose package brings a module: it has the module's name, some with an ending as faiss-cpu."""
    name = module.replace("_", "-")
    names = {name, f"{name}-ai", f"{name}-core", f"{name}-cpu"}
    return next((extra for extra, packages in read_extras().items() if names & {*packages}), None)


def missing_packages(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed."""
    return [name for name in read_extras()[extra] if not _is_installed(name)]


def format_install_command(extra: str) -> str:
    """Return the command that installs an extra from where this Lodestar came: a checkout, a wheel or a registry."""
    came = json.loads(distribution("lodestar-kg").read_text("direct_url.json") or "{}")
    place = unquote(urlsplit(came.get("url", "")).path) or "lodestar-kg"
    editable = ["-e"] if came.get("dir_info", {}).get("editable") else []
    python = sys.executable
    pip = [python, "-m", "pip", "install"] if find_spec("pip") else ["uv", "pip", "install", "--python", python]
    return shlex.join([*pip, *editable, f"{place}[{extra}]"])


def require_extra(name: str, what: str) -> None:
    """Raise `MissingExtraError` where an extra is not installed; `what` needs it."""
    if missing := missing_packages(name):
        raise MissingExtraError(_line(what, missing[0], name))


@contextmanager
def translate_import_errors(what: str = "this") -> Iterator[None]:
    """Raise `MissingExtraError` for a package of an extra that is imported inside and not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if (extra := find_extra(module)) is None:
            raise
        raise MissingExtraError(_line(what, module, extra)) from error


def _line(what: str, package: str, extra: str) -> str:
    command = format_install_command(extra)
    return f"{what} needs {package}, which is not installed; the extra `{extra}` brings it: {command}"


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True
