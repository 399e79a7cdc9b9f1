"""Read the world that is shipped: countries, capitals, cities, currencies, languages and neighbours.

It speaks in relations of Freebase, whose range and inverse `relations.tsv` has. The terms of the data: `TERMS.txt`.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ....engine.writing import RelationFacts
from ..delimited import TsvSource

_FOLDER = Path(__file__).parent
_RELATIONS = _FOLDER / "relations.tsv"


class GeonamesSource(TsvSource):
    """The shipped triples and names; all cities of 50,000 inhabitants and more, and all capitals."""

    kind = "geonames"

    def __init__(self) -> None:
        triples, names = (str(_FOLDER / f"{name}.tsv.gz") for name in ("triples", "names"))
        super().__init__(triples, names, has_header=False, literals=False, values="none")
        self.name = "GeoNames"

    def options(self) -> Mapping[str, object]:
        return {"relations": hashlib.sha256(_RELATIONS.read_bytes()).hexdigest()}

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        with _RELATIONS.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t")
            return {
                row["relation"]: RelationFacts(row["range"], row["inverse"] or None, row["label"] or None)
                for row in rows
            }
