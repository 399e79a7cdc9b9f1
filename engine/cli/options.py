"""Define the options that several verbs share, and turn them into questions, settings and a recipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from ..errors import InputError, LodestarError, UsageError
from ..settings import Settings, resolve
from ..values import Question
from ..whole_file import parse_json

if TYPE_CHECKING:
    from ..parallel import Workers
    from ..recipes.recipe import Recipe

F = TypeVar("F", bound=Callable[..., Any])

_SERVER = (
    click.option("--name", help="The embedded server to use (default: default)."),
    click.option("--home", help="Folder of embedded servers and indexes (default: the user's data folder)."),
)
_DATABASE = (
    click.option(
        "--uri",
        help="Address of a Neo4j: neo4j://, neo4j+s://, bolt:// … (default: the embedded server).",
    ),
    click.option("--user", help="Neo4j user; the password comes from LODESTAR_PASSWORD."),
    click.option("--database", help="Name of the database inside the server."),
)

_QUESTIONS = (
    click.argument("texts", metavar="[QUESTION]...", nargs=-1),
    click.option("--file", "-f", help="File of questions, one a line, or JSON lines (- is standard input)."),
    click.option(
        "--topic", "topics", multiple=True, help="Id or name of an entity the question is about; can be repeated."
    ),
)
_TOP_K = (click.option("--top-k", type=int, help="Items of evidence per question (default: 10)."),)
RETURN_TO_TOPIC = click.option(
    "--return-to-topic", is_flag=True, help="Allow a topic entity as an answer (default: no)."
)


SEED = click.IntRange(0, 2**32 - 1)
"""Range of a random seed."""


ALLOW_PARTS = click.option(
    "--allow-parts", is_flag=True, help="Allow a recipe to import its own parts as code (see `lodestar recipes`)."
)
_RECIPE = (
    click.option(
        "--recipe", help="A recipe's name, a TOML file, or a line of parts such as 'star + merge' (lodestar recipes)."
    ),
    click.option(
        "--set",
        "changes",
        metavar="KEY=VALUE",
        multiple=True,
        help="Change an option, such as star.max_hop=3; without a part's name of the first part that has it.",
    ),
    ALLOW_PARTS,
)
_CHECKPOINT = (
    click.option(
        "--checkpoint", metavar="FOLDER", help="Trained scorer to rank with (default: similarity, untrained)."
    ),
)


def _ray_address(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    if text is not None and not _RAY_ADDRESS.fullmatch(text):
        raise click.BadParameter(
            f"expected HOST:PORT, ray://HOST:PORT, auto or local, found {text[:100]!r}: for one of this machine's own "
            "write --ray=local"
        )
    return text


_RAY_ADDRESS = re.compile(r"local|auto|(ray://)?[\w.\-\[\]:]+:\d{1,5}", re.ASCII)
RAY = click.option(
    "--ray",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    callback=_ray_address,
    help="Work on a Ray cluster: HOST:PORT, ray://HOST:PORT, auto, or one of this machine's (docs/large-graphs.md).",
)
_WORKERS = (
    click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        help="Parts at a time (default: 1; with --ray one for each CPU of it).",
    ),
    RAY,
)


def worker_options(function: F) -> F:
    """Add --workers and --ray; `workers_from` reads them."""
    return _add(function, _WORKERS)


def workers_from(flags: dict[str, Any]) -> Workers:
    """Return the workers of the flags, which are taken out."""
    from ..parallel import Workers

    return Workers(flags.pop("workers") or 0, flags.pop("ray") or "")


def question_options(function: F) -> F:
    """Add the questions, --file and --topic."""
    return _add(function, _QUESTIONS)


def search_options(function: F) -> F:
    """Add --top-k and the options of `recipe_options`."""
    return _add(function, _TOP_K + _RECIPE + _CHECKPOINT)


def recipe_options(function: F) -> F:
    """Add --recipe, --set, --allow-parts and --checkpoint."""
    return _add(function, _RECIPE + _CHECKPOINT)


def settings_and_recipe(
    flags: dict[str, Any], *, llm: bool = False, forms: bool | None = None
) -> tuple[Settings, Recipe]:
    """Return the settings and the recipe that the flags of a verb name.

    An option without a part's name is that of the first part, answerer or linker that has it. Without --recipe,
    --checkpoint selects the recipe star. Raises `UsageError` if nothing in the recipe has the option.
    """
    from ..recipes.recipe import EXAMPLE, OWN_OPTIONS, read_recipe
    from ..settings import key_and_value

    aliases = {} if (checkpoint := flags.pop("checkpoint", None)) is None else {"checkpoint": checkpoint}
    changes: list[str] = []
    for change in flags.pop("changes", ()):
        key, value = key_and_value(change, EXAMPLE)
        if "." in key or key in OWN_OPTIONS:
            changes.append(change)
        else:
            aliases[key] = value
    allow_parts, named = flags.pop("allow_parts", False), flags.pop("recipe", None)
    top_k = flags.pop("top_k", None)
    settings = settings_from(**flags)
    if checkpoint == "":
        raise UsageError("--checkpoint: expected the folder of a trained scorer, found an empty text")
    options: dict[str, Any] = {"answerer.kind": "llm"} if llm else {}
    if forms is not None:
        options["forms"] = forms
    if top_k is not None:
        options["top_k"] = top_k
    named = named or ("star" if checkpoint else settings.recipe)
    recipe = read_recipe(named, changes, options, allow_parts=allow_parts)
    if aliases:
        recipe = read_recipe(recipe, options={recipe.find_option(key): value for key, value in aliases.items()})
    return settings, recipe


def embedded_server_options(function: F) -> F:
    """Add --name and --home."""
    return _add(function, _SERVER)


def database_options(function: F) -> F:
    """Add --uri, --user, --database, --name and --home."""
    return _add(function, _DATABASE + _SERVER)


FORCE = click.option("--force", is_flag=True, help="Replace an existing file.")
"""For verbs that write a file."""


def json_option(function: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(function)


def settings_from(**flags: Any) -> Settings:
    """Return the settings of these flags (None: not given).

    Raises `UsageError` for a user or a database of the embedded server, which has one of each.
    """
    from ..errors import UsageError

    settings = resolve(flags)
    for name in ("user", "database"):
        if not settings.uri and flags.get(name) not in (None, "neo4j"):
            raise UsageError(
                f"--{name} {flags[name]}: the embedded server has one {name}, neo4j: leave it out, or name another "
                "server with --uri"
            )
    return settings


def _add(function: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


MAX_LINE_CHARS = 1_000_000
MAX_CHARS = 200_000_000


def questions_from(texts: Sequence[str], file: str | None, topics: Sequence[str]) -> list[Question]:
    """Return the questions given as arguments and in `file` (`-` is standard input).

    A line of a file is a question, or a JSON object with `question` and optionally `id`, `topic_entities` or
    `topic_names`, and `options` to choose from. Blank lines are skipped. Raises `InputError` with file and line,
    `UsageError` if there is no question.
    """
    questions = [Question(text, tuple(topics)) for text in texts]
    if file is not None:
        where = "standard input" if file == "-" else file
        for number, line in enumerate(_lines(file), start=1):
            if line.strip():
                try:
                    questions.append(_parse_question(line.strip(), topics))
                except (LodestarError, ValueError) as error:
                    raise InputError(f"{where}:{number}: {error}") from error
    if not questions:
        raise UsageError("no question: give one as an argument, or a file of questions with --file (- is stdin)")
    return questions


def _lines(file: str) -> list[str]:
    if file == "-" and sys.stdin is None:
        raise InputError("standard input: expected questions, found it closed")
    try:
        with click.open_file(file, encoding="utf-8") as stream:
            return _read_bounded(stream, file)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{Path(file)}: expected UTF-8 text: {error.reason} at byte {error.start}") from error


def _read_bounded(stream: IO[str], file: str) -> list[str]:
    lines: list[str] = []
    chars = 0
    while line := stream.readline(MAX_LINE_CHARS + 1):
        chars += len(line)
        if len(line) > MAX_LINE_CHARS:
            raise InputError(
                f"{file}:{len(lines) + 1}: expected a question in a line of at most {MAX_LINE_CHARS:,} characters"
            )
        if chars > MAX_CHARS:
            raise InputError(f"{file}: expected questions of at most {MAX_CHARS:,} characters in total: split the file")
        lines.append(line)
    return lines


def _parse_question(line: str, topics: Sequence[str]) -> Question:
    if not line.startswith("{"):
        return Question(line, tuple(topics))
    record = parse_json(line)
    text, id_ = record.get("question"), record.get("id", "")
    given = [record[name] for name in ("topic_entities", "topic_names") if record.get(name) not in (None, [])]
    named, options = given[0] if given else list(topics), record.get("options") or []
    if not isinstance(text, str) or not _is_list_of_texts(named) or not _is_list_of_texts(options):
        raise ValueError(
            'expected {"question": text, "id": text, "topic_entities": [ids] or "topic_names": [names], '
            '"options": [texts]}'
        )
    return Question(text, tuple(named), str(id_), options=tuple(options))


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
