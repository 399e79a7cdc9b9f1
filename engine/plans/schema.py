"""Read what a plan may name, and what leads on from where: kinds of things, and the relations at them, from samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from ...models.text import SUBCLASS_RELATIONS, RelationWords
from ...models.wording import STOP_WORDS, fold_name, singularise
from ...models.wording.answer_kinds import UNKNOWN, VALUE_KINDS, classify_noun
from ..evidence.text import format_relation
from ..neo4j import Request, Row, load_query
from ..neo4j.catalogue import RelationCatalogue, RelationInfo
from ..neo4j.graph_requests import read_signatures
from .compile import KindSource, PlanSchema, reverse_path

if TYPE_CHECKING:
    from ..context import Database
    from ..neo4j.gateway import Gateway

MAX_KINDS = 1_000
SAMPLED = 2_000
"""Entities whose relations are looked at, and their ends."""
AMONG = 1_000_000
"""Entities from which these are taken."""
MAX_STEPS = 200
"""Relationships of such an entity that are looked at, and relations of a thing that are counted: a hub may
have as many as the graph. Our own choice."""
FROM_MEDIATOR = "~"
THROUGH = "\t"
"""Joins the step into a mediator and the step out of it."""
NUMBERS = ("number", "year", "amount")
FLAG = "yes or no"
"""The kind of the values of "organic"."""
DATES = ("date", "year")


@dataclass(frozen=True, slots=True)
class SetDistributions:
    """What is known of the things in a set. steps: the shares of them from which each step leads on; kinds: that are of
    each kind; value: the kind of values they are, or empty."""

    steps: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, float] = field(default_factory=dict)
    value: str = ""


@dataclass(frozen=True, slots=True)
class GraphSchema(PlanSchema):
    """A schema with the class of each end (by the step that leads there) and of each kind.

    kind_names: the kinds of each type, by id.
    """

    ends: Mapping[str, SetDistributions] = field(default_factory=dict)
    of_kind: Mapping[str, SetDistributions] = field(default_factory=dict)
    kind_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[int, str] = field(default_factory=dict)
    """The relations by their catalogue numbers."""
    is_class: frozenset[int] = frozenset()
    """The signed numbers of relations that lead only to classes, which are no topics."""
    places: frozenset[str] = frozenset()
    """Relations that lead to places."""
    largest: Mapping[str, str] = field(default_factory=dict)
    """The largest kind of persons, of places, …: what a noun for such things means that names no kind."""
    to_one: frozenset[str] = frozenset()
    """The steps, with their arrow, that lead to one thing from most."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """Of the values that a relation leads to."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """What says that it is so, "yes" or "true", by the relation that leads to such values."""


Type = tuple[str, str, Sequence[str]]
"""A type's id, its name, and the ids of all that it is a subclass of."""
End = tuple[str, Sequence[int], Sequence[str], bool, str]
"""Of a head or a tail the id, the signed numbers of the relations there, the ids of its types, whether it is a
mediator, and the dimension of a value."""
Sample = tuple[str, End, End]
"""A triple: its relation, head and tail."""
TO_ONE = 1.05
"""How many things a relation that leads to one leads to on average, at most."""
TYPE_NOUNS = frozenset("type category kind class genre species sort".split())
"""What the last word of a relation is that leads to what things are, besides `RelationWords.is_type`."""


def _leads_to_types(words: RelationWords) -> bool:
    """Return whether a relation leads from things to what they are: "type", "ship type", "category"."""
    return words.is_type or (words.properties[-1].split()[-1:] != [] and words.properties[-1].split()[-1] in TYPE_NOUNS)


@cache
def split_mediated_step(step: str) -> tuple[str, ...]:
    """Return the path of a step; one through a mediator has two."""
    return tuple(step.split(THROUGH))


@cache
def reverse_step(step: str) -> str:
    """Return the step that leads back."""
    return THROUGH.join(reverse_path(split_mediated_step(step)))


def name_end_kind(step: str) -> str:
    """Return the name of the kind of what a step starts from, "^capital" or "has capital": no kind is called so."""
    return step if step.startswith("^") else f"has {step}"


def normalise_kind_name(text: str) -> str:
    """Return the name of a kind as a question has it: in small letters, in the singular; of an IRI the last part."""
    return singularise(fold_name(format_relation(text) if "://" in text else text).strip())


def make_schema(
    catalogue: RelationCatalogue,
    words: Mapping[str, RelationWords],
    types: Iterable[Type],
    samples: Iterable[Sample],
    to_one: frozenset[str] = frozenset(),
) -> GraphSchema:
    """Return the schema of a graph from its types, samples of its triples, and the steps that lead to one thing."""
    names = {r.number: r.name for r in catalogue.relations}
    type_relations = tuple(r.name for r in catalogue.relations if _leads_to_types(words[r.name]))
    types, samples = list(types), list(samples)
    kinds = group_types_by_name(types)
    by_ends: dict[str, KindSource] = {}
    if not kinds or not any(words[name].is_type for name in type_relations):  # a genre does not say what a thing is
        derived = derive_kinds_from_relation_ends(catalogue.relations)
        by_ends = {name: each for name, each in derived.items() if name not in kinds}
    of_type: dict[str, list[str]] = defaultdict(list)
    for name, source in kinds.items():
        for id_ in source.types:
            of_type[id_].append(name)
    kinds |= by_ends

    sizes, unnamed, steps_of, kinds_of = _count_samples(samples, names, of_type, by_ends)
    dimensions: dict[str, Counter[str]] = defaultdict(Counter)
    for relation, _, tail in samples:
        dimensions[relation][tail[4]] += 1
    values = {r.name: r.tail.kind for r in catalogue.relations if r.tail.kind in (*VALUE_KINDS, "text")}
    said = {(relation, tail[0].strip('"').partition('"')[0].casefold()) for relation, _, tail in samples}
    pairs = {"yes": "yes", "no": "yes", "true": "true", "false": "true"}
    flags = {relation: pairs[text] for relation, text in said if values.get(relation) == FLAG and text in pairs}
    classes = {
        key: SetDistributions(
            {step: count / size for step, count in steps_of[key].items()},
            {kind: count / size for kind, count in kinds_of[key].items()},
            values.get(key.removeprefix(FROM_MEDIATOR), ""),
        )
        for key, size in sizes.items()
    }
    _pass_mediators(classes, {key for key, size in sizes.items() if unnamed[key] >= 0.5 * size})
    ends = {key: each for key, each in classes.items() if not key.startswith("kind ")}
    of_kind = {name: classes.get(f"kind {name}", SetDistributions()) for name in kinds}
    by_size = sorted(by_ends or of_kind, key=lambda name: sizes[f"kind {name}"])
    largest = {classify_noun(name): name for name in by_size}
    largest.pop("", None)
    kinds |= {
        name_end_kind(step): KindSource((), (step,)) for r in catalogue.relations for step in (r.name, f"^{r.name}")
    }
    relations = {r.name: r.stored_as or r.name for r in catalogue.relations}
    most = {relation: each.most_common(1)[0][0] for relation, each in dimensions.items()}
    of_types = {id_: tuple(some) for id_, some in of_type.items()}
    is_class = frozenset(-r.number for r in catalogue.relations if words[r.name].is_type)
    places = frozenset(
        r.name for r in catalogue.relations if "place" in (r.tail.kind, classify_noun(words[r.name].properties[-1]))
    )
    return GraphSchema(
        relations, type_relations, kinds, ends, of_kind, of_types, names, is_class, places, largest, to_one, most, flags
    )


def _count_samples(
    samples: Iterable[Sample],
    names: Mapping[int, str],
    of_type: Mapping[str, Sequence[str]],
    by_ends: Mapping[str, KindSource],
) -> tuple[Counter[str], Counter[str], dict[str, Counter[str]], dict[str, Counter[str]]]:
    """Return how many things each step leads to and are of each kind ("kind city"), how many of them have no name, and
    how many each step leads on from and are of each kind. A hub counts with its first steps, and the way back."""
    of_step: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for place, (name, source) in enumerate(by_ends.items()):
        for step in source.ends:
            of_step[step].append((place, name))
    steps_of: dict[str, Counter[str]] = defaultdict(Counter)
    kinds_of: dict[str, Counter[str]] = defaultdict(Counter)
    sizes, unnamed, times = Counter[str](), Counter[str](), Counter[str]()
    looked: dict[str, tuple[list[str], list[str]]] = {}
    for relation, head, tail in samples:
        for step, end, other in ((f"^{relation}", head, tail), (relation, tail, head)):
            id_, signature, types, is_unnamed, _ = end
            is_hub = len(signature) > MAX_STEPS
            if id_ not in looked:
                some = sorted(signature, key=abs)[:MAX_STEPS] if is_hub else signature
                steps = dict.fromkeys(f"^{names[-n]}" if n < 0 else names[n] for n in some if abs(n) in names)
                said = dict.fromkeys(kind for type_ in types for kind in of_type.get(type_, ()))
                derived = sorted({each for step in steps for each in of_step.get(step, ())})
                looked[id_] = [*said, *(name for _, name in derived)], [*steps]
            key = f"{FROM_MEDIATOR}{step}" if other[3] else step
            kinds, leads_on = looked[id_]
            sizes[key] += 1
            unnamed[key] += is_unnamed
            times[id_] += 1
            kinds_of[key].update(kinds)
            steps_of[key].update(dict.fromkeys([*leads_on, reverse_step(step)], 1) if is_hub else leads_on)
    for id_, (kinds, leads_on) in looked.items():
        for key in (f"kind {kind}" for kind in kinds):
            sizes[key] += times[id_]
            kinds_of[key].update(dict.fromkeys(kinds, times[id_]))
            steps_of[key].update(dict.fromkeys(leads_on, times[id_]))
    return sizes, unnamed, steps_of, kinds_of


def _pass_mediators(classes: dict[str, SetDistributions], mediators: set[str]) -> None:
    """Replace steps to mediators by those through them."""
    longer: dict[str, dict[str, float]] = {}
    for step in sorted(mediators):
        if step.startswith(FROM_MEDIATOR):
            continue
        for after, share in classes.pop(step).steps.items():
            end = classes.get(f"{FROM_MEDIATOR}{after}") or classes.get(after)
            if end is not None and after != reverse_path((step,))[0]:
                classes[f"{step}{THROUGH}{after}"] = end
                longer.setdefault(step, {})[f"{step}{THROUGH}{after}"] = share
    for key, each in classes.items() if longer else ():
        steps: dict[str, float] = {}
        for step, share in each.steps.items():
            steps |= {more: share * part for more, part in longer[step].items()} if step in longer else {step: share}
        classes[key] = SetDistributions(steps, each.kinds, each.value)
    for key in [key for key in classes if key.startswith(FROM_MEDIATOR)]:
        del classes[key]


def group_types_by_name(types: Iterable[Type]) -> dict[str, KindSource]:
    """Return the kinds by name, each with the types that are of it: its own and their subclasses."""
    types = list(types)
    names = {id_: normalise_kind_name(name) for id_, name, _ in types}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for id_, _, ups in types:
        for up in (id_, *ups):
            if up in names:
                found[names[up]][id_] = None
    return {name: KindSource(tuple(ids)) for name, ids in found.items()}


def derive_kinds_from_relation_ends(relations: Sequence[RelationInfo]) -> dict[str, KindSource]:
    """Return the kinds of a graph without types: what the words for the ends of its relations name."""
    ends: dict[str, list[str]] = defaultdict(list)
    normalise = cache(normalise_kind_name)  # many ends are called the same
    for relation in relations:
        for end, kind, step in (
            (relation.head, relation.domain, relation.name),
            (relation.tail, relation.range, f"^{relation.name}"),
        ):
            if end.kind in (*VALUE_KINDS, "text"):
                continue
            said = [normalise(kind)] if kind else []
            said += [end.kind] if end.kind != UNKNOWN else []
            for name in dict.fromkeys([*said, *map(normalise, end.words)]):
                ends[name].append(step)
    return {name: KindSource((), tuple(steps)) for name, steps in ends.items() if name and name not in STOP_WORDS}


def read_types(catalogue: RelationCatalogue, words: Mapping[str, RelationWords]) -> Request[list[Type]] | None:
    """Read the types of the graph, the largest first; None where no relation leads to any."""
    relations = [r for r in catalogue.relations if _leads_to_types(words[r.name])]
    if not relations:
        return None

    def decode(rows: Sequence[Row]) -> list[Type]:
        return [(id_, name or id_, ups) for id_, name, ups in rows]

    subclass = [r.name for r in catalogue.relations if format_relation(r.name).lower() in SUBCLASS_RELATIONS]
    params = {"relations": [r.name for r in relations], "subclass": subclass, "limit": MAX_KINDS}
    return Request(
        load_query("read_types"),
        params,
        decode,
        {"TYPES": list(dict.fromkeys(r.stored_as or r.name for r in relations))},
    )


def _read_samples(
    db: Gateway | Database, catalogue: RelationCatalogue, words: Mapping[str, RelationWords]
) -> tuple[list[Sample], frozenset[str]]:
    """Read samples of the triples, and the steps that lead to one thing from most; two round trips."""

    def decode(rows: Sequence[Row]) -> list[Row]:
        return list(rows)

    known = {relation.name for relation in catalogue.relations}
    rows = db.run(Request(load_query("sample_steps"), {"limit": SAMPLED, "among": AMONG, "most": MAX_STEPS}, decode))
    ids = dict.fromkeys(id_ for head, _, steps in rows for id_ in (head, *(step[3] for step in steps)))
    types, signatures = db.run_all([read_entity_types(list(ids), catalogue, words), read_signatures(list(ids))])
    samples, times, starts = [], Counter[str](), Counter[str]()
    numbers = {id_: each.relations for id_, each in signatures.items()}
    for id_, is_unnamed, steps in rows:
        own: End = (id_, numbers.get(id_, ()), types.get(id_, ()), is_unnamed, "")
        for relation, leaves, num, other, other_unnamed, dimension in steps:
            if relation in known:
                end: End = (other, numbers.get(other, ()), types.get(other, ()), other_unnamed, dimension)
                samples.append((relation, own, end) if leaves else (relation, end, own))
                step = relation if leaves else f"^{relation}"
                times[step] += num
                starts[step] += 1
    return samples, frozenset(step for step, num in times.items() if num <= TO_ONE * starts[step])


def read_entity_types(
    ids: Sequence[str], catalogue: RelationCatalogue, words: Mapping[str, RelationWords]
) -> Request[dict[str, list[str]]]:
    """Read the ids of the types of things, by id."""
    types = [relation.name for relation in catalogue.relations if _leads_to_types(words[relation.name])]
    return Request(load_query("read_types_of"), {"ids": list(ids), "types": types, "limit": 10}, dict)


def read_schema(
    db: Gateway | Database, catalogue: RelationCatalogue, words: Mapping[str, RelationWords]
) -> GraphSchema:
    """Read the schema of the graph with this catalogue; words: of its relations."""
    of_types = read_types(catalogue, words)
    types = db.run(of_types) if of_types else []
    return make_schema(catalogue, words, types, *_read_samples(db, catalogue, words))
