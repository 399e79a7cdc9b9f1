"""Evidence made by hand, for tests of what Neo4j Browser shows of them."""

from __future__ import annotations

from lodestar.engine.data_model import Chain, Entity, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Evidence

from tests.made.evidence import Path, chain_of

CAPITAL = "location.country.capital"
CURRENCY = "location.country.currency_used"
ADJOINS = ("location.location.adjoin_s", "location.adjoining_relationship.adjoins")

LIMA = Entity("m.lima", "Lima")
PERU = Entity("m.peru", "Peru")
SOL = Entity("m.sol", "Peruvian_sol")
CHILE = Entity("m.chile", "Chile")
BRAZIL = Entity("m.brazil", "Brazil")
MEDIATOR = Entity("m.adj1")

_CAPITAL_OF = Triple(PERU, CAPITAL, LIMA)


def scored(score: float, instances: list[Path], *, cut: bool = False) -> Scored[Chain]:
    """A scored chain of these entity paths, which all have the relations of the first."""
    return Scored(chain_of(*instances, cut=cut), score)


def country_retrieval(text: str = "Which currency is used in the country whose capital is Lima?") -> Evidence[Chain]:
    """Three paths from Lima through Peru, the last through an unnamed mediator."""
    currency = Path((_CAPITAL_OF, Triple(PERU, CURRENCY, SOL)), (True, False))
    capital = Path((_CAPITAL_OF,), (True,))
    adjoining = [
        Path(
            (_CAPITAL_OF, Triple(PERU, ADJOINS[0], MEDIATOR), Triple(MEDIATOR, ADJOINS[1], other)), (True, False, False)
        )
        for other in (CHILE, BRAZIL)
    ]
    return Evidence(
        Question(text),
        (Topic(LIMA, 10, (), 0.99, "Lima", "Lima"),),
        "chain",
        (scored(0.8712, [currency]), scored(0.55, [capital]), scored(0.41, adjoining)),
    )


def neighbours(num_ends: int, *, extra_paths: int = 0, cut: bool = False) -> Evidence[Chain]:
    """One path from a hub to this many ends, and more paths of one end each."""

    def star(relation: str, size: int) -> list[Path]:
        return [
            Path((Triple(PERU, relation, Entity(f"{relation}{i}", f"{relation} {i}")),), (False,)) for i in range(size)
        ]

    paths = [scored(0.9, star("near", num_ends), cut=cut)]
    paths += [scored(0.5, star(f"other{i}", 1)) for i in range(extra_paths)]
    return Evidence(Question("What is near Peru?"), (), "chain", tuple(paths))
