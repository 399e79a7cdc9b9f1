"""What a relation that is an IRI tells of the types of its ends: nothing."""

from __future__ import annotations

import pytest
from lodestar.engine.writing.names import domain_of, label_of


@pytest.mark.parametrize(
    ("relation", "domain", "label"),
    [
        ("http://www.example.org/treats", None, "treats"),
        ("https://kg.example/v1.2/half.life", None, "life"),
        ("http://med.example/v#isUsedFor", None, "is used for"),
        ("location.country.capital", "location.country", "capital"),
    ],
)
def test_the_host_of_an_iri_is_no_type(relation: str, domain: str | None, label: str) -> None:
    assert (domain_of(relation), label_of(relation)) == (domain, label)
