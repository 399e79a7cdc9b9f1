"""Report what a load did, as text and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import starmap
from operator import itemgetter
from typing import Any, Self

from ..engine.neo4j.catalogue import LABEL_SEPARATOR, LoadManifest
from ..engine.writing import make_relation_label
from ..models import quote_line
from ..models.wording import make_question
from .stage import StageCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport(StageCounts):
    """The outcome of a load. Counts are the source's, without duplicates, which are counted separately."""

    source: str
    kind: str
    sha256: str
    number: int
    writer: str
    seconds: float
    num_related: int = 0  # relations without their own relationship type
    question: str | None = None  # A question that the graph answers
    rejects_file: str | None = None
    already_loaded: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)  # of a property graph: what was left out or assumed
    num_removed: int = 0
    """Triples of an earlier load that were removed one by one since, and are not among `num_triples`."""

    @classmethod
    def of(
        cls,
        manifest: LoadManifest,
        counts: StageCounts,
        num_related: int,
        seconds: float,
        rejects_file: str | None,
        labels: Mapping[str, str],
        left_out: Mapping[str, int],
    ) -> Self:
        return cls(
            **_same_fields(manifest) | _same_fields(counts),
            question=_choose_question(counts.examples, labels),
            num_related=num_related,
            seconds=seconds,
            rejects_file=rejects_file if counts.num_rejects else None,
            left_out=left_out,
        )

    @classmethod
    def of_manifest(cls, manifest: LoadManifest, seconds: float) -> Self:
        return cls(**_same_fields(manifest), seconds=seconds, already_loaded=True)

    def __str__(self) -> str:
        of_literals = f"{count_text(self.num_literals, 'literal')}, " if self.num_literals else ""
        counts = f"{count_text(self.num_triples, 'triple')}, {count_text(self.num_entities, 'entity', 'entities')}, "
        counts += of_literals + count_text(self.num_relations, "relation")
        if self.already_loaded:
            removed = count_text(self.num_removed, "triple of it was", "triples of it were")
            again = f"; {removed} removed since: delete the load and load it again to have them back"
            return f"{self.source} is already loaded: {counts}{again if self.num_removed else ''}"
        rate = self.num_triples / max(self.seconds, 1e-3)
        left_out = {name: n for name, n in self.categories.items() if name not in _KEPT and n} | dict(self.left_out)
        pair = " and ".join(map(quote_line, self.alike[:2]))
        notes = {
            f"{counts} in {self.seconds:.1f} s ({rate:,.0f} triples/s, {self.writer})": True,
            f"{count_text(self.num_duplicates, 'duplicate')} stored once": self.num_duplicates,
            f"{count_text(self.num_names_ignored, 'name')} of unknown ids or repeated ignored": self.num_names_ignored,
            count_text(self.num_values, "value is a literal", "values are literals"): self.num_values,
            self._describe_names(): True,
            f"{count_text(self.num_alike, 'id differs', 'ids differ')} from another only in case, spaces or Unicode's "
            f"form, as {pair}": self.num_alike,
            "left out: " + ", ".join(f"{number:,} × {name}" for name, number in sorted(left_out.items())): left_out,
            f"{self.num_related:,} of {self.num_relations:,} relations stored as :RELATED, since Neo4j keeps at most "
            "65,536 relationship types": self.num_related,
            f"{count_text(self.num_rejects, 'line')} rejected: see {self.rejects_file}": self.num_rejects,
        }
        return "; ".join(note for note, is_told in notes.items() if is_told)

    def _describe_names(self) -> str:
        num_named = self.num_entities - self.num_unnamed
        numbers = {_NAMED_BY.get(name) or make_relation_label(name): number for name, number in self.named_by.items()}
        by = [f"{name} ({number:,})" for name, number in numbers.items()] if len(numbers) > 1 else list(numbers)
        listed = ", ".join(by[:4]) + (f" and {len(by) - 4} more" if len(by) > 4 else "")
        said = f"{num_named:,} of {count_text(self.num_entities, 'entity has', 'entities have')} names"
        said += f", by {listed}" if listed else ""
        if 2 * num_named < self.num_entities:
            said += ": few (records have none; for others name the relation or the property of names)"
        return said

    @property
    def advice(self) -> str:
        """What can be asked now, in one sentence."""
        kinds = f"{count_text(self.num_kinds, 'kind')}, " if self.num_kinds else ""
        asked = f"; try: lodestar ask {shlex.quote(self.question)}" if self.question else ""
        return f"{kinds}{count_text(self.num_relations, 'relation')}, {count_text(self.num_triples, 'triple')}{asked}"


_KEPT = ("triple", "name", "comment", "reject", "blank", "header", "id")
_NAMED_BY = {"id": "their ids", "": "the names given"}


def _same_fields(of: StageCounts | LoadManifest) -> dict[str, Any]:
    wanted = {each.name for each in fields(LoadReport)}
    return {each.name: getattr(of, each.name) for each in fields(of) if each.name in wanted}


def _choose_question(examples: Sequence[Sequence[str]], labels: Mapping[str, str]) -> str | None:
    labelled = [
        (labels.get(relation) or make_relation_label(relation).rpartition(LABEL_SEPARATOR)[2], name)
        for relation, name in examples
    ]
    made = [*filter(None, starmap(make_question, labelled))]
    return next((text for text, is_noun in (*filter(itemgetter(1), made), *made)), None)


def count_text(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
