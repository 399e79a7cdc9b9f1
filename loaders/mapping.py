"""Say what becomes of a property graph: which property names nodes, which others are literals, what is left out.

Every property graph goes through it: a Neo4j, tables, GraphML, a graph in memory. A mapping is guessed from a survey,
changed by options, or read from a TOML file::

    types = true                    # a node's labels become triples: (node, type, label)

    [labels.Person]
    name = ["name"]                 # several are joined by a blank
    key = "id"                      # what has no name is "Person 17" by it; without: an unnamed record
    aliases = ["nickname"]
    literals = ["born"]             # what stands nowhere is left out

    [relationships]
    ACTED_IN = ["roles"]            # with one of these a relationship is an unnamed record, else it is a triple

What a property is called comes first as a name, then how many nodes have it and how much its values differ. A property
called `name` or `title` needs no distinct values, as people and films share theirs; one that only ends so does.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..engine.errors import InputError, LodestarError, UsageError
from ..engine.file_access import read_text_file
from ..models import quote_line
from ..models.wording import singularise

_MAX_FILE_BYTES = 200_000_000
MAX_NUMBERS = 64  # A longer list of numbers is a vector, such as an embedding, of which no number says anything
NO_LABEL = ""  # stands for the label of nodes that have none


class PropertySample(NamedTuple):
    """What a property holds in a sample: its values' type in Cypher, how many there are, and how many of them differ.

    `num_items` is the length of the longest list, `num_chars` the mean length of texts, `num_worded` how many have
    words and nothing that no name has.
    """

    key: str
    type: str
    num: int
    num_distinct: int
    num_items: int
    num_chars: float
    num_worded: int = 0


@dataclass(slots=True)
class LabelFacts:
    """The nodes with a label: how many, how many have each property, and what some values of each are."""

    num: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    samples: dict[str, PropertySample] = field(default_factory=dict)  # of the commonest type of each property's values
    key: str = ""  # the property that is known to be the key
    key_is_code: bool = False  # whether the key may be what people call things


@dataclass(slots=True)
class TypeFacts:
    """The relationships of a type: how many, how many have any property or each, and what labels their ends have."""

    num: int = 0
    num_with_keys: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    start_labels: Counter[str] = field(default_factory=Counter)
    end_labels: Counter[str] = field(default_factory=Counter)

    @property
    def ends(self) -> list[str]:
        """The commonest labels of the start nodes and of the end nodes."""
        return [max(found, key=found.__getitem__, default="") for found in (self.start_labels, self.end_labels)]


@dataclass(slots=True)
class Survey:
    labels: dict[str, LabelFacts]
    relationships: dict[str, TypeFacts]
    num_nodes: int = 0

    @property
    def num_relationships(self) -> int:
        return sum(facts.num for facts in self.relationships.values())


@dataclass(frozen=True, slots=True)
class LabelMapping:
    """What becomes of the properties of the nodes with a label; those in no field are left out.

    key: what a node without a name is called by, after its label.
    """

    name: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    key: str = ""

    @property
    def kept(self) -> frozenset[str]:
        return frozenset(filter(None, (*self.name, *self.aliases, *self.literals, self.key)))

    def without(self, parts: Collection[str]) -> LabelMapping:
        kept = [tuple(key for key in keys if key not in parts) for keys in (self.name, self.aliases, self.literals)]
        name, aliases, literals = kept
        return LabelMapping(name, aliases, literals, "" if self.key in parts else self.key)


@dataclass(frozen=True, slots=True)
class GraphMapping:
    """What becomes of nodes, by label, and of relationships, by type with the properties that are read.

    The first label that a node has and whose property it has names it. Labels and types that are not here are left out.
    """

    labels: dict[str, LabelMapping]
    relationships: dict[str, tuple[str, ...]] = field(default_factory=dict)
    types: bool = True

    def as_toml(self) -> str:
        """Return the mapping as a TOML file, which `read_mapping` reads."""
        lines = [f"types = {_toml(self.types)}"]
        for label, each in self.labels.items():
            lines += ["", f"[labels.{_toml(label)}]"]
            lines += [f"{name} = {_toml(keys)}" for name, keys in asdict(each).items()]
        lines += ["", "[relationships]"]
        lines += [f"{_toml(type_)} = {_toml(keys)}" for type_, keys in self.relationships.items()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chooses: None is everything. A property is named alone, or as ``Label=property``."""

    labels: Sequence[str] | None = None
    relationships: Sequence[str] | None = None
    names: Sequence[str] = ()
    leave_out: Sequence[str] = ()
    types: bool | None = None


NAMES = ("name", "title", "label", "preflabel", "fullname", "displayname", "caption", "headline", "heading")
"""What properties that name a thing are called, the clearest first; case, `_`, `-` and blanks do not count."""
_CODES = ("username", "login", "code", "symbol", "isocode", "key", "slug")
"""What names a thing where nothing better does, if its values differ."""
_TOGETHER = (("firstname", "lastname"), ("givenname", "familyname"), ("forename", "surname"))
"""What names people in two properties."""
ALIASES = ("alias", "aliases", "altlabel", "altlabels", "alternatename", "alternatenames", "nickname", "nicknames",
           "synonym", "synonyms", "alsoknownas", "aka")  # fmt: skip

ENDINGS = ("name", "title", "label", "description")  # how what names a thing ends
_LEAST_COVERAGE = 0.5  # the least share of a label's nodes that have a name
LEAST_DISTINCT = 0.5  # the least share of values that differ where only the end of a property's name speaks for it
_MOST_CHARS = 120  # the longest mean of texts that are names
_LEAST_LIKE_NAMES = 0.9  # the least share of texts that look like names where a property's name does not say so
_MOST_CODE_CHARS = 12  # the longest mean of texts of a key that are aliases


@lru_cache(10_000)
def fold_key(key: str) -> str:
    """Return a property's name in lower case without separators."""
    return re.sub(r"[\s_\-.:]+", "", key).lower()


def guess_names(label: str, facts: LabelFacts) -> list[tuple[str, ...]]:
    """Return the properties that could name the nodes with a label, the likeliest first, some in several parts."""
    folded: dict[str, str] = {}
    for key in sorted(facts.keys, reverse=True):
        folded[fold_key(key)] = key  # of several that fold to one, the first
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for key in folded.values():
        if (rank := _rank(label, key, facts)) is not None:
            found[key,] = rank
    for parts in _TOGETHER:
        keys = tuple(folded[part] for part in parts if part in folded)
        if len(keys) == len(parts) and all(_is_covered(key, facts) for key in keys):
            found[keys] = (0, 1)  # what only people have: their title is no name
    place = {key: number for number, key in enumerate(facts.keys)}
    return sorted(found, key=lambda keys: (found[keys], place[keys[0]]))


def _rank(label: str, key: str, facts: LabelFacts) -> tuple[int, int] | None:
    plain, sample = fold_key(key), facts.samples[key]
    if not _is_covered(key, facts) or not _may_name(sample) or plain in ALIASES:
        return None
    if plain in NAMES:
        return 0, 2 * NAMES.index(plain)
    distinct = sample.num_distinct / sample.num
    of_label = {f"{of}{end}" for of in (fold_key(label), fold_key(singularise(label))) for end in ENDINGS}
    if plain in of_label:
        return 0, 2 * len(NAMES)
    in_parts = any(plain in parts for parts in _TOGETHER)
    if distinct >= LEAST_DISTINCT and plain.endswith(ENDINGS) and not in_parts:
        is_text = plain.endswith("description")
        is_number = sample.type.startswith("INTEGER")
        return (2, len(_CODES)) if is_text else (1, is_number) if plain not in _CODES else (2, _CODES.index(plain))
    if distinct >= LEAST_DISTINCT and plain in _CODES:
        return 2, _CODES.index(plain)
    return None


def _is_covered(key: str, facts: LabelFacts) -> bool:
    return facts.keys[key] >= _LEAST_COVERAGE * facts.num


def _may_name(sample: PropertySample) -> bool:
    return sample.type.startswith(("STRING", "INTEGER", "LIST<STRING")) and sample.num_chars <= _MOST_CHARS


def guess_mapping(survey: Survey) -> GraphMapping:
    """Return the mapping that suits a graph: everything is read but vectors and the keys of what has a name.

    Rarer labels come first, since they say more of what a node is.
    """
    ranked = sorted(survey.labels, key=lambda label: (survey.labels[label].num, label))
    labels = {label: _guess_label(label, survey.labels[label]) for label in ranked}
    types = sorted(survey.relationships, key=lambda type_: (-survey.relationships[type_].num, type_))
    return GraphMapping(labels, {type_: tuple(sorted(survey.relationships[type_].keys)) for type_ in types})


def _name_beside_key(facts: LabelFacts) -> tuple[str, ...]:
    first, second = ([*facts.keys] + [""] * 2)[:2]
    if not second or first != facts.key or not _is_covered(second, facts):
        return ()
    key, sample = facts.samples[first], facts.samples[second]
    is_name = _may_name(sample) and _LEAST_LIKE_NAMES * sample.num <= sample.num_worded
    return (second,) if is_name and 1 < sample.num == sample.num_distinct and 2 * key.num_worded < key.num else ()


def _guess_label(label: str, facts: LabelFacts) -> LabelMapping:
    name = next(iter(guess_names(label, facts)), ()) or _name_beside_key(facts)
    aliases = tuple(key for key in sorted(facts.keys) if fold_key(key) in ALIASES)
    vectors = {
        key for key, sample in facts.samples.items() if sample.num_items > MAX_NUMBERS and "STRING" not in sample.type
    }
    numbers = [
        key
        for key, sample in facts.samples.items()
        if sample.type.startswith("INTEGER") and sample.num_distinct == sample.num
    ]
    keys = [key for key in numbers if fold_key(key) in ("id", f"{fold_key(label)}id")]
    if facts.key and facts.key not in name:
        sample = facts.samples[facts.key]
        is_short = sample.type.startswith("STRING") and sample.num_chars <= _MOST_CODE_CHARS
        is_code = name and facts.key_is_code and is_short
        aliases += (facts.key,) if is_code and facts.key not in aliases else ()
    key = next(iter([*filter(None, [facts.key]), *keys]), "")
    rest = set(facts.keys) - {*name, *aliases, *keys, key} - vectors
    return LabelMapping(name, aliases, tuple(sorted(rest)), "" if key in name else key)


def apply_choices(mapping: GraphMapping, survey: Survey, choices: Choices) -> GraphMapping:
    """Return the mapping as the user's options change it; raise `UsageError` if one names what is not there."""
    labels, relationships = dict(mapping.labels), dict(mapping.relationships)
    if choices.labels is not None:
        _check_names("--labels", choices.labels, survey.labels, "label")
        labels = {label: each for label, each in labels.items() if label in set(choices.labels)}
    if choices.relationships is not None:
        _check_names("--relationships", choices.relationships, survey.relationships, "relationship type")
        relationships = {type_: keys for type_, keys in relationships.items() if type_ in set(choices.relationships)}
    keys_of: dict[str, set[str]] = {label: {*survey.labels[label].keys} for label in labels}
    for chosen in choices.names:
        having, parts = _split_choice("--name-property", chosen, keys_of)
        for label in having:
            rest = labels[label].without(parts)
            literals = tuple(sorted({*rest.name, *rest.literals}))
            labels[label] = LabelMapping(parts, rest.aliases, literals, rest.key)
    for type_ in relationships:
        keys_of[type_] = keys_of.get(type_, set()) | {*survey.relationships[type_].keys}
    for chosen in choices.leave_out:
        having, parts = _split_choice("--leave-out", chosen, keys_of)
        labels |= {label: labels[label].without(parts) for label in having if label in labels}
        for type_ in {*having} & relationships.keys():
            relationships[type_] = tuple(key for key in relationships[type_] if key not in parts)
    return GraphMapping(labels, relationships, mapping.types if choices.types is None else choices.types)


def resolve_mapping(
    survey: Survey, choices: Choices, read: GraphMapping | None = None, path: Path | None = None
) -> GraphMapping:
    """Return the mapping that is guessed, or was read from a file, as the user's choices change it.

    Raises `InputError` if the file names what is not there, or nothing has a name.
    """
    if read:
        _check_names(str(path), read.labels, survey.labels, "label", InputError)
        _check_names(str(path), read.relationships, survey.relationships, "relationship type", InputError)
        for label, each in read.labels.items():
            _check_names(f"{path}: {label}", each.kept, survey.labels[label].keys, "property", InputError)
        for type_, keys in read.relationships.items():
            _check_names(f"{path}: {type_}", keys, survey.relationships[type_].keys, "property", InputError)
    mapping = apply_choices(read or guess_mapping(survey), survey, choices)
    if not any(each.name or each.key for each in mapping.labels.values()):
        some = ", ".join(sorted({key for label in mapping.labels for key in survey.labels[label].keys})[:10])
        raise InputError(
            "expected a property that names nodes, such as name or title, found "
            f"{some or 'no property'}: name one by --name-property LABEL=PROPERTY"
        )
    return mapping


def read_mapping(path: Path) -> GraphMapping:
    """Return the mapping of a TOML file; raise `InputError` for a fault in it."""
    from pydantic import TypeAdapter, ValidationError  # slow to import

    from ..models.kinds import format_first_error

    try:
        content = tomllib.loads(read_text_file(path, "the mapping", _MAX_FILE_BYTES))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected TOML: {error}") from error
    try:
        return TypeAdapter(GraphMapping).validate_python({"labels": {}, **content}, extra="forbid")
    except ValidationError as error:
        raise InputError(f"{path}: {format_first_error(error)}") from error


def _split_choice(
    option: str, chosen: str, keys_of: Mapping[str, Collection[str]]
) -> tuple[list[str], tuple[str, ...]]:
    of, equals, keys = chosen.rpartition("=")
    parts = tuple(filter(None, keys.strip().split("+")))
    if not parts:
        raise UsageError(f"{option} {chosen}: expected PROPERTY or LABEL=PROPERTY")
    if equals:
        _check_names(option, [of], keys_of, "label")
    among = [of] if equals else list(keys_of)
    _check_names(option, parts, {key for each in among for key in keys_of[each]}, "property")
    having = [each for each in among if {*parts} <= {*keys_of[each]}]
    if not having:
        raise UsageError(f"{option} {chosen}: no label has all of these properties")
    return having, parts


def _check_names(
    place: str, names: Iterable[str], known: Collection[str], kind: str, error: type[LodestarError] = UsageError
) -> None:
    for name in names:
        if name not in known:
            near = get_close_matches(name, list(known)[:10_000], 1) or sorted(known)[:5]
            has = ", ".join(each or "(none)" for each in near) or "none"
            raise error(f"{f'{place}: ' if place else ''}there is no {kind} {quote_line(name)}, there is {has}")


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_MOST_LINES = 25  # labels and relationship types that are shown, those with most elements first
_MOST_KEYS = 8  # properties of one of them that are shown


def describe_mapping(survey: Survey, mapping: GraphMapping) -> Iterator[str]:
    """Yield lines that say what becomes of labels, relationship types and properties."""
    yield (
        f"{survey.num_nodes:,} nodes with {len(survey.labels):,} labels, {survey.num_relationships:,} relationships of "
        f"{len(survey.relationships):,} types"
    )
    groups: list[tuple[str, Mapping[str, Any], Mapping[str, Any], Callable[..., str]]] = [
        (f"labels, {'kept as types' if mapping.types else 'not kept'}", survey.labels, mapping.labels, _describe_label),
        ("relationships", survey.relationships, mapping.relationships, _describe_type),
    ]
    for title, facts, mapped, describe in groups:
        yield title
        ranked = sorted(facts, key=lambda name: (-facts[name].num, name))
        kept = [name for name in ranked if name in mapped]
        for name in kept[:_MOST_LINES]:
            yield f"  {name or '(no label)':<20} {facts[name].num:>9,}  {describe(name, facts[name], mapped[name])}"
        if more := kept[_MOST_LINES:]:
            num = sum(facts[name].num for name in more)
            yield f"  and {len(more):,} more with {num:,}: --save-mapping FILE has all"
        if left := [f"{name or '(no label)'} ({facts[name].num:,})" for name in ranked if name not in mapped]:
            yield f"  left out: {_some(left)}"


def describe_mapping_as_json(survey: Survey, mapping: GraphMapping) -> dict[str, Any]:
    counts = {
        "nodes": survey.num_nodes,
        "relationships": survey.num_relationships,
        "labels": {label: facts.num for label, facts in survey.labels.items()},
        "relationship_types": {type_: facts.num for type_, facts in survey.relationships.items()},
    }
    return {"mapping": asdict(mapping), "counts": counts}


def _describe_label(label: str, facts: LabelFacts, mapping: LabelMapping) -> str:
    named = f"named by the key {mapping.key}" if mapping.key else "unnamed records"
    if mapping.name:
        covered = max(facts.keys[key] for key in mapping.name) / max(facts.num, 1)
        others = [" + ".join(keys) for keys in guess_names(label, facts) if keys != mapping.name]
        or_ = f" (or {', '.join(others[:3])})" if others else ""
        named = f"named by {' + '.join(mapping.name)}{or_}" + (f" in {covered:.0%}" if covered < 1 else "")
    left = sorted(set(facts.keys) - mapping.kept)
    return _parts(named, aliases=mapping.aliases, literals=mapping.literals, left_out=left)


def _describe_type(_type: str, facts: TypeFacts, keys: Sequence[str]) -> str:
    number = f"{facts.num_with_keys:,} of them " if facts.num_with_keys < facts.num else ""
    ends = " → ".join(facts.ends) if any(facts.ends) else ""
    made = f"{number}records with {_some(keys)}" if keys else "triples"
    return _parts("; ".join(filter(None, (ends, made))), left_out=sorted(set(facts.keys) - set(keys)))


def _parts(first: str, **listed: Sequence[str]) -> str:
    return "; ".join([first, *(f"{name.replace('_', ' ')} {_some(keys)}" for name, keys in listed.items() if keys)])


def _some(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _MOST_KEYS:,} more" if len(keys) > _MOST_KEYS else ""
    return ", ".join(keys[:_MOST_KEYS]) + more
