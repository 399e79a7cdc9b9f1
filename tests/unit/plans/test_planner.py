"""Constructions of English over three small graphs: what the best plan gives is what a person means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import pytest
from lodestar.engine.data_model import Entity, Topic
from lodestar.engine.neo4j.catalogue import RelationCatalogue, RelationInfo
from lodestar.engine.plans import plan
from lodestar.engine.plans.plan_selection import read_plan_weights
from lodestar.engine.plans.planner import Candidate, Planner
from lodestar.engine.plans.schema import make_schema
from lodestar.engine.plans.words import StepWordMatcher, tokenise
from lodestar.engine.relations import make_words_by_relation
from lodestar.engine.settings import Settings
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors
from lodestar.models.wording.answer_kinds import RelationEndProfile, classify_noun

from tests.references.plans import Naive

GEO = """
lima type city; cusco type city; quito type city; bonn type city; peru type country; ecuador type country; chile type country
germany type country; amazon type river; rhine type river; lima located_in peru; cusco located_in peru; quito located_in ecuador
bonn located_in germany; peru borders ecuador; peru borders chile; ecuador borders peru; chile borders peru; peru capital lima
ecuador capital quito; germany capital bonn; amazon flows_through peru; amazon flows_through ecuador
rhine flows_through germany; amazon length 6400; rhine length 1230; lima population 9750000; cusco population 428000
quito population 1760000; bonn population 330000; peru population 33000000; ecuador population 17000000
chile population 19000000; germany population 83000000; peru trade _t1; _t1 partner chile; _t1 volume 20; peru trade _t2
_t2 partner ecuador; _t2 volume 30; chile trade _t3; _t3 partner ecuador; _t3 volume 40
"""
FILMS = """
heat type film; ronin type film; alien type film; blade type film; pacino type person; deniro type person; weaver type person
ford type person; scott type person; mann type person; heat director mann; ronin director scott; alien director scott
blade director scott; pacino acted_in heat; deniro acted_in heat; deniro acted_in ronin; weaver acted_in alien
ford acted_in blade; heat release_date 1995-12-15; ronin release_date 1998-09-25; alien release_date 1979-05-25
blade release_date 1982-06-25; heat budget 60; ronin budget 55; alien budget 11; blade budget 30
weaver reviewed _r1; _r1 review_of heat; _r1 rating 65; weaver reviewed _r2; _r2 review_of ronin; _r2 rating 90
ford reviewed _r3; _r3 review_of heat; _r3 rating 70
"""
FIRM = """
ann type employee; bob type employee; cid type employee; dot type employee; sales type department; lab type department
apollo type project; gemini type project; ann works_in sales; bob works_in sales; cid works_in lab; dot works_in lab
ann manages apollo; cid manages gemini; ann salary 61000; bob salary 40000; cid salary 52000; dot salary 75000
ann hired_on 2015-03-01; bob hired_on 2016-07-16; cid hired_on 2019-11-05; dot hired_on 2020-02-02
apollo cost 900; gemini cost 1200; ann booked _b1; _b1 booked_for apollo; _b1 hours 12; ann booked _b2
_b2 booked_for gemini; _b2 hours 8; bob booked _b3; _b3 booked_for apollo; _b3 hours 5
"""
WINES = """
t1 type tasting; t2 type tasting; t3 type tasting; t1 taster mira; t2 taster jon; t3 taster mira; t1 wine smaragd; t2 wine smaragd
t3 wine aligote; smaragd type wine; aligote type wine; malbec type wine; smaragd organic yes; aligote organic no
malbec organic yes; smaragd weight_g 1300; aligote weight_g 1200; malbec weight_g 1600; b1 type red; b2 type white; b3 type white
b1 cellar east; b2 cellar west; b3 cellar east; east type cellar; west type cellar
"""
GRAPHS = {"geo": GEO, "films": FILMS, "firm": FIRM, "wines": WINES}
FLAGS = ("yes", "no", "true", "false")


@cache
def encoder() -> TextVectors:
    return TextVectors(SentenceEncoder(Settings().encoder))


@cache
def graph_of(name: str) -> tuple[Planner, Naive, Mapping[str, tuple[int, ...]], Mapping[str, tuple[str, ...]]]:
    triples = [tuple(each.split()) for line in GRAPHS[name].strip().splitlines() for each in line.split(";")]
    relations = list(dict.fromkeys(r for _, r, _ in triples))
    tails = {r: next(t for _, s, t in triples if s == r) for r in relations}
    kinds = {
        r: "yes or no" if t in FLAGS else "date" if "-" in t else "number" if t[:1].isdigit() else ""
        for r, t in tails.items()
    }
    tail = {r: RelationEndProfile(kind, 1.0) if kind else RelationEndProfile() for r, kind in kinds.items()}
    infos = [RelationInfo(n, r, r.replace("_", " "), 1, tail=tail[r]) for n, r in enumerate(relations, 1)]
    catalogue = RelationCatalogue(tuple(infos))
    number = {r.name: r.number for r in catalogue.relations}
    signatures: dict[str, set[int]] = defaultdict(set)
    types: dict[str, list[str]] = defaultdict(list)
    for h, r, t in triples:
        signatures[h].add(number[r])
        if not kinds[r]:
            signatures[t].add(-number[r])
        if r == "type":
            types[h].append(t)
    samples = [
        (
            r,
            (h, list(signatures[h]), types[h], h[0] == "_", ""),
            (t, [] if kinds[r] else list(signatures[t]), types[t], t[0] == "_", ""),
        )
        for h, r, t in triples
    ]
    words = make_words_by_relation(catalogue.relations)
    to_one = {r for r in relations if len({h for h, s, _ in triples if s == r}) == sum(s == r for _, s, _ in triples)}
    named = [(t, t, []) for t in dict.fromkeys(t for some in types.values() for t in some)]
    schema = make_schema(catalogue, words, named, samples, frozenset(to_one))
    planner = Planner(schema, StepWordMatcher(words, schema.ends, encoder()), read_plan_weights()["plans"])
    texts = {each: each for h, _, t in triples for each in (h, t)}
    return planner, Naive(triples, texts, schema), {k: tuple(v) for k, v in signatures.items()}, types


def plans(name: str, question: str) -> list[Candidate]:
    planner, _, signatures, types = graph_of(name)
    words = {token.text for token in tokenise(question)}
    topics = [
        Topic(Entity(each, each), 1, some, 0.9, each, each, 0.9)
        for each, some in signatures.items()
        if each in words and each not in {t for of in types.values() for t in of}
    ]
    return planner.plan(question, topics, types)


def gives(name: str, question: str) -> object:
    found = graph_of(name)[1].run(plans(name, question)[0].plan)
    return {str(each) for each in found} if isinstance(found, set) else found


@pytest.mark.parametrize(
    ("name", "question", "words"),
    [
        ("geo", "what are the coastal or alpine cities in peru", ("coastal", "alpine")),
        ("films", "which british and french films did scott direct", ("british", "french")),
        ("firm", "which junior or senior employees work in sales", ("junior", "senior")),
    ],
)
def test_adjectives_that_nothing_means_are_named(name: str, question: str, words: tuple[str, ...]) -> None:
    found = plans(name, question)[0]
    assert found.leaves_operator or found.unread == words


@pytest.mark.parametrize(
    ("name", "question", "right"),
    [
        # a kind
        ("films", "which films are there", {"heat", "ronin", "alien", "blade"}),
        # a kind of a topic
        ("geo", "what are the cities in peru", {"lima", "cusco"}),
        # more than another thing, or than the mean
        ("geo", "which cities are larger than quito", {"lima"}),
        ("films", "which films are older than ronin", {"heat", "alien", "blade"}),
        ("geo", "which rivers are longer than the average river", {"amazon"}),
        # the same as another thing
        ("films", "which films have the same director as alien", {"ronin", "blade"}),
        # but for one
        ("geo", "which countries other than chile border peru", {"ecuador"}),
        # so many by the name of a relation
        ("geo", "which rivers flow through exactly one country", {"rhine"}),
        ("films", "who acted in more than one film", {"deniro"}),
        # who, by the most
        ("films", "who acted in the most films", {"deniro"}),
        ("firm", "who was hired first", {"ann"}),
        ("firm", "who was hired first, bob or cid", {"bob"}),
        # one beside the other
        ("geo", "lima vs quito population", {"9750000", "1760000"}),
        # dates
        ("films", "which films were released in the 1990s", {"heat", "ronin"}),
        ("films", "which films were released before may 1980", {"alien"}),
        ("firm", "who was hired after july 2016", {"cid", "dot"}),
        # of two things by what joins them
        ("films", "what rating did weaver give heat", {"65"}),
        # a kind that says of what another is
        ("geo", "which country cities are located in peru", {"lima", "cusco"}),
        # the first few
        ("geo", "list the top two largest cities", {"lima", "quito"}),
        # is there
        ("geo", "is there a river in chile", False),
        ("firm", "is there an employee in sales", True),
        # how many
        ("geo", "how many cities are in peru", 2.0),
        # superlatives by a value
        ("geo", "what is the longest river", {"amazon"}),
        ("firm", "which employee has the highest salary", {"dot"}),
        # superlatives of what a topic leads to
        ("films", "what is the newest film directed by scott", {"ronin"}),
        ("firm", "which employee in sales has the lowest salary", {"bob"}),
        # what follows a superlative says of what it is one, here not of all
        ("geo", "what is the largest city in ecuador", {"quito"}),
        ("firm", "which employee in sales has the highest salary", {"ann"}),
        # possessives
        ("geo", "what is peru's largest city", {"lima"}),
        # the earliest of what is said
        ("films", "which film has the earliest release date", {"alien"}),
        ("firm", "which employee was hired first", {"ann"}),
        # superlatives by a count
        ("geo", "which country borders the most countries", {"peru"}),
        # comparisons with numbers and dates
        ("geo", "which cities have a population above 1000000", {"lima", "quito"}),
        ("films", "which films were released before 1983", {"alien", "blade"}),
        ("geo", "which cities have a population between 400000 and 2 million", {"cusco", "quito"}),
        ("films", "which films were released between 1980 and 1996", {"blade", "heat"}),
        # negation
        ("films", "which films were not directed by scott", {"heat"}),
        # both
        ("films", "which films have both pacino and deniro acted in", {"heat"}),
        # nested
        ("geo", "what is the capital of the country with the largest population", {"bonn"}),
        ("geo", "which rivers flow through countries that border chile", {"amazon"}),
        # ordinals, and the first few
        ("films", "what is the second oldest film", {"blade"}),
        ("firm", "name the two employees with the highest salary", {"dot", "ann"}),
        # one or the other, whether one is more than the other
        ("geo", "which is longer the amazon or the rhine", {"amazon"}),
        ("geo", "is the amazon longer than the rhine", True),
        ("films", "is heat older than alien", False),
        # values compared by an adjective
        ("geo", "which rivers are longer than 2000", {"amazon"}),
        # for each kind
        ("films", "how many films did each person direct", {"scott": 3.0, "mann": 1.0}),
        ("firm", "what is the average salary per department", {"sales": 50500.0, "lab": 63500.0}),
        # how long, how high
        ("geo", "how long is the rhine", {"1230"}),
        ("firm", "what is the total cost of all projects", 2100.0),
        # a particle before its clause
        ("geo", "through which countries does the amazon flow", {"peru", "ecuador"}),
        # what is left out has no part in the superlative
        ("films", "what is the oldest film except alien", {"blade"}),
        # how much the most is
        ("geo", "what is the largest population of the cities in peru", {"9750000"}),
        # a property that is so or not
        ("wines", "which wines are organic", {"smaragd", "malbec"}),
        ("wines", "which wines are not organic", {"aligote"}),
        # a number in another unit than that of the relation's name
        ("wines", "which wines have a weight above 1.25 kg", {"smaragd", "malbec"}),
        # what two share, each by an event of its own
        ("wines", "which wine was tasted by both mira and jon", {"smaragd"}),
        # a kind that only some of what a relation leads to is of
        ("wines", "which cellars have no reds", {"west"}),
        ("geo", "the river amazon flows through which countries", {"peru", "ecuador"}),
        ("films", "the film heat was directed by who", {"mann"}),
        ("firm", "the employee ann works in which department", {"sales"}),
        # where: the smallest place
        ("geo", "where is cusco", {"peru"}),
    ],
)
def test_what_is_meant_is_found(name: str, question: str, right: object) -> None:
    assert gives(name, question) == right


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("geo", "which countries border peru only"),
        ("films", "which films cost more per minute than heat"),
        ("firm", "which employees earn the most each year except ann"),
    ],
)
def test_an_operator_word_that_no_plan_uses_is_left(name: str, question: str) -> None:
    found = plans(name, question)
    assert not found or found[0].leaves_operator


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("geo", "which city has the sparsest population"),
        ("films", "which film has the strangest budget"),
        ("firm", "which employee has the oddest salary"),
    ],
)
def test_a_superlative_of_no_known_adjective_is_not_taken_for_a_relation(name: str, question: str) -> None:
    assert all(each.leaves_operator for each in plans(name, question))


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("geo", "which canal of peru is the longest"),
        ("films", "which stunt in heat was the most expensive"),
        ("firm", "which desk of sales is the cheapest"),
    ],
)
def test_one_thing_is_the_most_of_nothing(name: str, question: str) -> None:
    best = [getattr(each.plan, "of", None) for each in plans(name, question)]
    assert not [each for each in best if isinstance(each, plan.TopByValue) and isinstance(each.of, plan.TopicSet)]


def test_no_plan_is_deeper_than_one_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MAX_DEPTH", 2)
    for name, question in (
        ("geo", "what is the capital of the country with the largest population"),
        ("films", "what is the newest film directed by scott"),
        ("firm", "which employee in sales has the lowest salary"),
    ):
        for each in plans(name, question):
            plan.check_plan(each.plan)


@pytest.mark.parametrize(
    ("sort", "genre", "relation", "said"),
    [
        ("work", "musical", "has_genre", "films"),
        ("place", "village", "category", "places"),
        ("person", "pianist", "sort", "people"),
    ],
)
def test_a_genre_does_not_say_what_a_thing_is(sort: str, genre: str, relation: str, said: str) -> None:
    """Where things have genres alone, "films" are all of them, no musicals; where they have types, what has the type."""
    for name, expected in ((relation, sort), ("type", genre)):
        made_by = RelationInfo(2, "made_by", "made by", 2, head=RelationEndProfile(sort, 1.0))
        catalogue = RelationCatalogue((RelationInfo(1, name, name.replace("_", " "), 1), made_by))
        one, other = ("one", [1, 2], [genre], False, ""), ("other", [2], [], False, "")
        samples = [(name, one, (genre, [-1], [], False, ""))]
        samples += [("made_by", each, ("maker", [-2], [], False, "")) for each in (one, other)]
        words = make_words_by_relation(catalogue.relations)
        schema = make_schema(catalogue, words, [(genre, genre, [])], samples)
        assert schema.largest[classify_noun(said)] == expected


def test_a_hub_of_many_relations_is_held_in_a_size_linear_in_them() -> None:
    """Of 3,000 relations, each with a kind of its own, 200 count at each end: 200 steps and 200 kinds, and the way
    back."""
    numbers = range(1, 3_001)
    infos = [RelationInfo(n, f"r{n}", f"r {n}", 1, head=RelationEndProfile(words=(f"sort {n}",))) for n in numbers]
    catalogue = RelationCatalogue(tuple(infos))
    samples = [(f"r{n}", ("hub", numbers, [], False, ""), (f"t{n}", [-n], [], False, "")) for n in numbers]
    schema = make_schema(catalogue, make_words_by_relation(catalogue.relations), [], samples)
    held = sum(len(each.steps) + len(each.kinds) for some in (schema.ends, schema.of_kind) for each in some.values())
    assert held < 500 * 3_000
    assert all(schema.ends[f"^r{n}"].steps[f"r{n}"] == 1.0 for n in numbers)
