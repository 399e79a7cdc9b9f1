"""Read what a plan may name, and what leads on from where: kinds of things, and the relations at them, from samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...models.text.verbalise import RelationWords
from ...models.wording.english import singular
from ...models.wording.kinds import UNKNOWN, VALUE_KINDS, noun_kind
from ...models.words import fold
from ..evidence.text import relation_words
from ..neo4j.catalogue import Catalogue, RelationInfo
from ..neo4j.templates import Request, Row, template
from .compile import KindSource, Schema, reverse

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway

MAX_KINDS = 1_000
SAMPLED = 200
"""Triples of a relation that are looked at."""
MAX_RELATIONS = 2_000
SUBCLASS = ("subclass of", "sub class of", "subtype of")
FROM_MEDIATOR = "~"
THROUGH = "\t"
"""Joins the step into a mediator and the step out of it."""
NUMBERS = ("number", "year", "amount")
DATES = ("date", "year")


@dataclass(frozen=True, slots=True)
class SetClass:
    """What is known of the things in a set. steps: the shares of them from which each step leads on; kinds: that are of
    each kind; value: the kind of values they are, or empty."""

    steps: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, float] = field(default_factory=dict)
    value: str = ""


@dataclass(frozen=True, slots=True)
class GraphSchema(Schema):
    """A schema with the class of each end (by the step that leads there) and of each kind.

    kind_names: the kinds of each type, by id.
    """

    ends: Mapping[str, SetClass] = field(default_factory=dict)
    of_kind: Mapping[str, SetClass] = field(default_factory=dict)
    kind_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[int, str] = field(default_factory=dict)
    """The relations by their catalogue numbers."""
    places: frozenset[str] = frozenset()
    """Relations that lead to places."""


Type = tuple[str, str, Sequence[str]]
"""A type's id, its name, and the ids of all that it is a subclass of."""
Sample = tuple[str, Sequence[int], Sequence[str], bool, Sequence[int], Sequence[str], bool]
"""A triple: its relation, then of head and tail the signed numbers of the relations there, the ids of its types, and
whether it is a mediator."""
TYPE_NOUNS = frozenset("type category kind class genre species sort".split())
"""What the last word of a relation is that leads to what things are, besides `RelationWords.is_type`."""


def leads_to_types(words: RelationWords) -> bool:
    """Return whether a relation leads from things to what they are: "type", "ship type", "category"."""
    return words.is_type or (words.properties[-1].split()[-1:] != [] and words.properties[-1].split()[-1] in TYPE_NOUNS)


def path_of(step: str) -> tuple[str, ...]:
    """Return the path of a step; one through a mediator has two."""
    return tuple(step.split(THROUGH))


def back(step: str) -> str:
    """Return the step that leads back."""
    return THROUGH.join(reverse(path_of(step)))


def kind_name(text: str) -> str:
    """Return the name of a kind as a question has it: in small letters, in the singular; of an IRI the last part."""
    return singular(fold(relation_words(text) if "://" in text else text).strip())


def make_schema(
    catalogue: Catalogue, words: Mapping[str, RelationWords], types: Iterable[Type], samples: Iterable[Sample]
) -> GraphSchema:
    """Return the schema of a graph from its types and samples of its triples."""
    names = {r.number: r.name for r in catalogue.relations}
    type_relations = tuple(r.name for r in catalogue.relations if leads_to_types(words[r.name]))
    of_type: dict[str, list[str]] = defaultdict(list)
    kinds: dict[str, KindSource] = {}
    by_name: dict[str, list[str]] = defaultdict(list)
    titles: dict[str, str] = {}
    types = list(types)
    for id_, name, _ in types:
        titles[id_] = kind_name(name)
    for id_, _, ups in types:
        for up in dict.fromkeys([id_, *ups]):
            if up in titles:
                by_name[titles[up]].append(id_)
                of_type[id_].append(titles[up])
    kinds |= {name: KindSource(tuple(dict.fromkeys(ids))) for name, ids in by_name.items()}
    if not kinds:
        kinds |= _end_kinds(catalogue.relations)

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sizes: Counter[str] = Counter()

    def look(key: str, signature: Sequence[int], kinds_: Iterable[str]) -> None:
        steps = {f"^{names[-n]}" if n < 0 else names[n] for n in signature if abs(n) in names}
        for each in (key, *(f"kind {kind}" for kind in kinds_)):
            sizes[each] += 1
            counts[each].update(steps)
            counts[each].update(f"kind {kind}" for kind in kinds_)

    unnamed: Counter[str] = Counter()
    for relation, head, head_types, head_unnamed, tail, tail_types, tail_unnamed in samples:
        for step, signature, its_types, is_unnamed, other in (
            (f"^{relation}", head, head_types, head_unnamed, tail_unnamed),
            (relation, tail, tail_types, tail_unnamed, head_unnamed),
        ):
            key = f"{FROM_MEDIATOR}{step}" if other else step
            unnamed[key] += is_unnamed
            look(key, signature, dict.fromkeys(k for t in its_types for k in of_type.get(t, ())))
    values = {r.name: r.tail.kind for r in catalogue.relations if r.tail.kind in (*VALUE_KINDS, "text")}
    classes = {}
    for key, size in sizes.items():
        shares = {name: count / size for name, count in counts[key].items()}
        classes[key] = SetClass(
            {name: share for name, share in shares.items() if not name.startswith("kind ")},
            {name.removeprefix("kind "): share for name, share in shares.items() if name.startswith("kind ")},
            values.get(key.removeprefix(FROM_MEDIATOR), ""),
        )
    _pass_mediators(classes, {key for key, size in sizes.items() if unnamed[key] >= 0.5 * size})
    ends = {key: each for key, each in classes.items() if not key.startswith("kind ")}
    of_kind = {name: classes.get(f"kind {name}", SetClass()) for name in kinds}
    for name, source in kinds.items():
        if source.ends:
            of_kind[name] = _join([ends[_arrive(end)] for end in source.ends if _arrive(end) in ends], name)
    kinds |= {step: KindSource((), (step,)) for r in catalogue.relations for step in (r.name, f"^{r.name}")}
    relations = {r.name: r.stored_as or r.name for r in catalogue.relations}
    of_types = {id_: tuple(dict.fromkeys(of_type[id_])) for id_ in titles}
    places = frozenset(
        r.name for r in catalogue.relations if "place" in (r.tail.kind, noun_kind(words[r.name].properties[-1]))
    )
    return GraphSchema(relations, type_relations, kinds, ends, of_kind, of_types, names, places)


def _pass_mediators(classes: dict[str, SetClass], mediators: set[str]) -> None:
    """Replace steps to mediators by those through them."""
    longer: dict[str, dict[str, float]] = {}
    for step in mediators:
        if step.startswith(FROM_MEDIATOR):
            continue
        for after, share in classes.pop(step).steps.items():
            end = classes.get(f"{FROM_MEDIATOR}{after}") or classes.get(after)
            if end is not None and after != reverse((step,))[0]:
                classes[f"{step}{THROUGH}{after}"] = end
                longer.setdefault(step, {})[f"{step}{THROUGH}{after}"] = share
    for key, each in classes.items():
        steps: dict[str, float] = {}
        for step, share in each.steps.items():
            steps |= {more: share * part for more, part in longer[step].items()} if step in longer else {step: share}
        classes[key] = SetClass(steps, each.kinds, each.value)
    for key in [key for key in classes if key.startswith(FROM_MEDIATOR)]:
        del classes[key]


def _arrive(end: str) -> str:
    """Return the step that leads to an end: heads of a relation are reached against the arrow."""
    return end[1:] if end.startswith("^") else f"^{end}"


def _end_kinds(relations: Sequence[RelationInfo]) -> dict[str, KindSource]:
    """Return the kinds of a graph without types: what the words for the ends of its relations name."""
    ends: dict[str, list[str]] = defaultdict(list)
    for relation in relations:
        for end, kind, step in (
            (relation.head, relation.domain, relation.name),
            (relation.tail, relation.range, f"^{relation.name}"),
        ):
            if end.kind in (*VALUE_KINDS, "text"):
                continue
            said = [kind_name(kind)] if kind else []
            said += [end.kind] if end.kind != UNKNOWN else []
            for name in dict.fromkeys([*said, *map(kind_name, end.words)]):
                ends[name].append(step)
    return {name: KindSource((), tuple(steps)) for name, steps in ends.items() if name}


def _join(classes: Sequence[SetClass], name: str) -> SetClass:
    steps: dict[str, float] = {}
    for each in classes:
        for step, share in each.steps.items():
            steps[step] = max(share, steps.get(step, 0.0))
    return SetClass(steps, {name: 1.0})


def read_types(catalogue: Catalogue, words: Mapping[str, RelationWords]) -> list[Request[list[Type]]]:
    """Read the types of the graph, the largest first; a request for each relation that leads to them."""
    subclass = [r.name for r in catalogue.relations if relation_words(r.name).lower() in SUBCLASS]

    def decode(rows: Sequence[Row]) -> list[Type]:
        return [(id_, name or id_, ups) for id_, name, ups in rows]

    return [
        Request(
            template("read_types"),
            {"relation": r.name, "subclass": subclass, "limit": MAX_KINDS},
            decode,
            {"RELATION": r.stored_as or r.name},
        )
        for r in catalogue.relations
        if leads_to_types(words[r.name])
    ]


def sample_relations(catalogue: Catalogue, words: Mapping[str, RelationWords]) -> list[Request[list[Sample]]]:
    """Read some triples of each relation, with the relations and types at their ends; none of a graph with too many."""
    types = [r.stored_as or r.name for r in catalogue.relations if leads_to_types(words[r.name])]

    def request(relation: RelationInfo) -> Request[list[Sample]]:
        def decode(rows: Sequence[Row]) -> list[Sample]:
            return [(relation.name, *row) for row in rows]  # type: ignore[misc]

        params: dict[str, Any] = {"relation": relation.name, "types": types, "limit": SAMPLED}
        return Request(template("sample_ends_of"), params, decode, {"RELATION": relation.stored_as or relation.name})

    few = catalogue.relations if len(catalogue.relations) <= MAX_RELATIONS else ()
    return [request(each) for each in few]


def read_schema(db: Gateway, catalogue: Catalogue, words: Mapping[str, RelationWords]) -> GraphSchema:
    """Read the schema of the graph with this catalogue; words: of its relations."""
    types = [each for some in db.run_all(read_types(catalogue, words)) for each in some]
    samples = [each for some in db.run_all(sample_relations(catalogue, words)) for each in some]
    return make_schema(catalogue, words, types, samples)
