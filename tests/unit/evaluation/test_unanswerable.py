"""Questions that are asked again without what leads to their answers, on a graph small enough to see which that is."""

from __future__ import annotations

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.evaluation.judging import GoldIdResolver
from lodestar.engine.evaluation.unanswerable import check_excluded, exclude_relations
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.values import Entity, Path, Scored, Triple

from tests.made.evidence import chain_of, evidence_of, leads

GOLD = GoldIdResolver(
    WholeGraph.of(
        (Entity(h, h.upper()), r, Entity(t, t.upper()))
        for h, r, t in [
            ("peru", "capital", "lima"),
            ("peru", "largest_city", "lima"),
            ("peru", "city", "lima"),
            ("peru", "city", "cusco"),
            ("peru", "city", "puno"),
            ("peru", "city", "ica"),
            ("peru", "river", "amazon"),
            ("amazon", "flows_by", "lima"),
            ("chile", "capital", "santiago"),
        ]
    )
)


def asked(*answers: str, topic: str = "peru", paths: tuple[GoldPath, ...] = ()) -> GoldQuestion:
    return GoldQuestion("q", "?", tuple(map(GoldAnswer, answers)), topic_ids=(topic,), paths=paths)


def test_what_leads_to_right_answers_and_to_little_else_is_left_out() -> None:
    (one,) = exclude_relations([asked("lima")], GOLD, 1)
    assert (one.id, len(one.answers)) == ("q without its relations", 0)
    assert one.excluded_relations == {"capital", "largest_city"}
    (two,) = exclude_relations([asked("lima")], GOLD, 2)
    assert two.excluded_relations == {"capital", "largest_city", "river", "flows_by"}
    assert one.as_question(("peru",)).excluded_relations == one.excluded_relations


def test_the_best_paths_are_left_out_where_none_is_good() -> None:
    (found,) = exclude_relations([asked("cusco")], GOLD, 1)
    assert found.excluded_relations == {"city"}


def test_from_an_f1_of_one_half_on_a_path_is_left_out_beside_a_better_one() -> None:
    """Beside `seat`, whose F1 is 1: `towns` has two ends (2/3), `places` three (1/2), `stops` four (2/5)."""
    ends = {"seat": "l", "towns": "la", "places": "lab", "stops": "labc"}
    gold = GoldIdResolver(
        WholeGraph.of((Entity("p", "P"), r, Entity(t, t)) for r, tails in ends.items() for t in tails)
    )
    (found,) = exclude_relations([asked("l", topic="p")], gold, 1)
    assert found.excluded_relations == {"seat", "towns", "places"}


def test_gold_paths_are_left_out_too() -> None:
    (found,) = exclude_relations([asked("lima", paths=(GoldPath(("seat_of_government",)),))], GOLD, 1)
    assert found.excluded_relations == {"capital", "largest_city", "seat_of_government"}
    assert not found.paths


def test_what_cannot_be_answered_as_it_is_is_not_asked_again() -> None:
    nowhere = [asked(), asked("santiago"), asked("lima", topic="utopia")]
    assert len(exclude_relations([*nowhere, asked("lima")], GOLD, 2)) == 1
    with pytest.raises(UsageError, match=r"--unanswerable: expected questions with a gold answer .*, found none of 3"):
        exclude_relations(nowhere, GOLD, 2)


def test_a_search_that_does_not_leave_them_out_is_found_out() -> None:
    (question,) = exclude_relations([asked("lima")], GOLD, 1)
    evidence = evidence_of(Scored(leads("city", Entity("lima", "Lima"), topic=Entity("peru", "Peru")), 1.0))
    check_excluded(question, evidence)
    used = evidence_of(Scored(leads("capital", Entity("lima", "Lima"), topic=Entity("peru", "Peru")), 1.0))
    with pytest.raises(UsageError, match="found the excluded 'capital'"):
        check_excluded(question, used)


def test_of_several_excluded_relations_the_first_by_name_is_said() -> None:
    (question,) = exclude_relations([asked("lima")], GOLD, 2)
    peru, amazon, lima = (Entity(id_, id_.title()) for id_ in ("peru", "amazon", "lima"))
    path = Path((Triple(peru, "river", amazon), Triple(amazon, "flows_by", lima)), (False, False))
    with pytest.raises(UsageError, match="found the excluded 'flows_by'"):
        check_excluded(question, evidence_of(Scored(chain_of(path), 1.0)))
