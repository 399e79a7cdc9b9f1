"""Show what becomes of a property graph: for people a few lines, whatever its size; for programs everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .mapping import GraphMapping, LabelMapping
from .naming import guess_names
from .survey import Survey

MOST_LINES = 25
"""Labels and relationship types that are shown, those with most elements first."""
MOST_KEYS = 8
"""Properties of one of them that are shown."""


def describe_mapping(survey: Survey, mapping: GraphMapping) -> Iterator[str]:
    """Yield lines that say what becomes of labels, relationship types and properties."""
    yield (
        f"{survey.num_nodes:,} nodes with {len(survey.labels):,} labels, {survey.num_relationships:,} relationships of "
        f"{len(survey.relationships):,} types"
    )
    for name, condition in zip(("nodes", "relationships"), mapping.where, strict=True):
        if condition:
            yield f"only {name} where {condition}"
    yield f"labels, {'kept as types' if mapping.types else 'not kept'}"
    nodes = {label: facts.num for label, facts in survey.labels.items()}
    labels = {label: partial(_describe_label, survey, label, each) for label, each in mapping.labels.items()}
    yield from _describe_all(nodes, labels)
    yield "relationships"
    edges = {type_: facts.num for type_, facts in survey.relationships.items()}
    types = {type_: partial(_describe_type, survey, type_, keys) for type_, keys in mapping.relationships.items()}
    yield from _describe_all(edges, types)


def _describe_all(counts: Mapping[str, int], described: Mapping[str, Callable[[], str]]) -> Iterator[str]:
    """Yield a line for each of those with most elements, one for the rest, and one for what is left out."""
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    kept, left = [name for name in ranked if name in described], [name for name in ranked if name not in described]
    for name in kept[:MOST_LINES]:
        yield f"  {name or '(no label)':<20} {counts[name]:>9,}  {described[name]()}"
    if more := kept[MOST_LINES:]:
        yield f"  and {len(more):,} more with {sum(counts[name] for name in more):,}: --save-mapping FILE has all"
    if left:
        shown = [f"{name or '(no label)'} ({counts[name]:,})" for name in left]
        yield f"  left out: {_some(shown)}"


def mapping_as_json(survey: Survey, mapping: GraphMapping) -> dict[str, Any]:
    """Return the mapping with the counts of the survey as plain data for JSON."""
    counts = {
        "nodes": survey.num_nodes,
        "relationships": survey.num_relationships,
        "labels": {label: facts.num for label, facts in survey.labels.items()},
        "relationship_types": {type_: facts.num for type_, facts in survey.relationships.items()},
    }
    return {"mapping": mapping.as_json(), "counts": counts}


def _describe_label(survey: Survey, label: str, mapping: LabelMapping) -> str:
    facts = survey.labels[label]
    said = []
    if mapping.name:
        name = " + ".join(mapping.name)
        covered = max(facts.keys[key] for key in mapping.name) / max(facts.num, 1)
        others = [" + ".join(keys) for keys in guess_names(label, facts) if keys != mapping.name]
        or_ = f" (or {', '.join(others[:3])})" if others else ""
        said.append(f"named by {name}{or_}" + (f" in {covered:.0%}" if covered < 1 else ""))
    else:
        said.append("unnamed records")
    if mapping.aliases:
        said.append(f"aliases {_some(mapping.aliases)}")
    if mapping.literals:
        said.append(f"literals {_some(mapping.literals)}")
    if left := sorted(set(facts.keys) - mapping.kept):
        said.append(f"left out {_some(left)}")
    return "; ".join(said)


def _describe_type(survey: Survey, type_: str, keys: Sequence[str]) -> str:
    facts = survey.relationships[type_]
    said = [f"{facts.starts} → {facts.ends}"] if facts.starts or facts.ends else []
    if keys:
        number = f"{facts.num_with_keys:,} of them " if facts.num_with_keys < facts.num else ""
        said.append(f"{number}records with {_some(keys)}")
    else:
        said.append("triples")
    if left := sorted(set(facts.keys) - set(keys)):
        said.append(f"left out {_some(left)}")
    return "; ".join(said)


def _some(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - MOST_KEYS:,} more" if len(keys) > MOST_KEYS else ""
    return ", ".join(keys[:MOST_KEYS]) + more
