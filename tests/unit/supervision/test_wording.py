"""Questions in plain English out of relation words: forms, phrases, whole paths."""

from __future__ import annotations

import random
import re

import pytest
from lodestar.models.wording.english import (
    base_of,
    is_held_out,
    is_verb,
    list_common_relations,
    plural,
    property_of,
    read_lexicon,
    singular,
)
from lodestar.models.wording.phrases import HopWording, phrases_of
from lodestar.models.wording.questions import joint_question, question_of

TEXTS = (
    "directed by", "place of birth", "has genre", "in language", "located in", "works at", "capital of", "contains",
    "wrote", "P31", "http://example.org/born", "出生地", "hired on", "spouse", "reports to", "adjoin s", "42",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("directed by", "by"), ("place of birth", "noun"), ("has genre", "noun"), ("located in", "participle"),
        ("works at", "verb"), ("capital of", "of"), ("contains", "verb"), ("42", "name"), ("出生地", "name"),
        ("http://example.org/born", "name"), ("parents", "noun"), ("need", "noun"), ("seed", "noun"), ("", "name"),
    ],
)  # fmt: skip
def test_shapes(text: str, shape: str) -> None:
    assert property_of(text).shape == shape


def test_a_noun_is_what_a_thing_has() -> None:
    assert [property_of(text).noun for text in ("has genre", "in language", "place_of_birth")] == [
        "genre", "language", "place of birth",
    ]  # fmt: skip
    assert [property_of(text).words for text in ("has", "has been led by", "is_is")] == ["has", "led by", "is"]
    directed = property_of("directed by")
    assert (directed.verb, directed.base, directed.agent) == ("directed", "direct", "director")
    assert property_of("written by").verb == "wrote"
    assert property_of("written and directed by").agent == "writer"
    assert property_of("set up in").verb == "set up"
    assert [property_of(text).base for text in ("works", "works for many", "founded")] == [
        "work",
        "work for many",
        "found",
    ]


@pytest.mark.parametrize(
    ("one", "many"),
    [("country", "countries"), ("city", "cities"), ("boss", "bosses"), ("child", "children"), ("person", "people"),
     ("place of birth", "places of birth"), ("film", "films"), ("key", "keys"), ("films", "films"),
     ("movie", "movies"), ("species", "species")],
)  # fmt: skip
def test_plural(one: str, many: str) -> None:
    assert plural(one) == many
    if one != "films" and " " not in one:
        assert singular(many) == one


@pytest.mark.parametrize(
    ("verb", "base"),
    [("directed", "direct"), ("produced", "produce"), ("married", "marry"), ("written", "write"), ("works", "work")],
)
def test_base(verb: str, base: str) -> None:
    assert base_of(verb) == base


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("reached", [(), ("film", "movie")])
def test_every_phrase_has_its_topic_and_nothing_left_open(text: str, inverse: bool, reached: tuple[str, ...]) -> None:
    for properties in ((text,), ("membership", text)):
        phrases = phrases_of(HopWording(properties, inverse, reached))
        assert phrases.own[0] and phrases.own[1]
        for form in (*phrases.nouns, *phrases.asks):
            assert form.count("{x}") == 1, form
            assert "{" not in form.replace("{x}", ""), form


@pytest.mark.parametrize(
    ("text", "reached", "noun", "ask"),
    [
        ("written by", ("author", "poet"), "the author {x} was written by", "which author wrote {x}"),
        ("located in", ("country", "land"), "the country {x} is located in", "which country was {x} located in"),
        ("capital of", ("country", "land"), "the country that {x} is the capital of", "of which country is {x} the capital"),
        ("works at", ("company", "firm"), "the company that {x} works at", "which company does {x} work at"),
    ],
)  # fmt: skip
def test_what_a_hop_leads_to_has_its_first_name(text: str, reached: tuple[str, str], noun: str, ask: str) -> None:
    phrases = phrases_of(HopWording((text,), False, reached))
    assert noun in phrases.nouns
    assert ask in phrases.asks
    assert not any(reached[1] in said for said in (*phrases.nouns, *phrases.asks))


@pytest.mark.parametrize(
    ("text", "reached", "noun", "ask"),
    [
        ("directed by", "film", "the films directed by {x}", "which films did {x} direct"),
        ("located in", "city", "cities that are located in {x}", "which cities are located in {x}"),
        ("works at", "person", "the people that work at {x}", "which people work at {x}"),
        ("capital of", "city", "{x}'s capital", "which city is capital of {x}"),
        ("42", "city", "the city with 42 {x}", "which cities have 42 {x}"),
        ("genres", "film", "the film whose genre is {x}", "for what film is {x} the genre"),
        ("in language", "film", "films that have {x} as language", "which films are in {x}"),
    ],
)
def test_what_leads_to_the_topic_is_worded_by_the_shape_of_the_relation(
    text: str, reached: str, noun: str, ask: str
) -> None:
    phrases = phrases_of(HopWording((text,), True, (reached,)))
    assert noun in phrases.nouns[: phrases.own[0]]
    assert ask in phrases.asks[: phrases.own[1]]


def test_what_leads_to_the_topic_goes_by_its_first_three_names() -> None:
    said = " ".join(phrases_of(HopWording(("directed by",), True, ("film", "movie", "picture", "flick"))).nouns)
    assert [f"{name}s" in said for name in ("film", "movie", "picture", "flick")] == [True, True, True, False]


def test_what_is_no_english_is_put_beside_the_topic() -> None:
    assert phrases_of(HopWording(("42",), False)).asks == ("{x} 42", "42 of {x}")


def test_only_what_has_a_preposition_is_asked_for_with_it() -> None:
    assert "what is in {x}" not in phrases_of(HopWording(("genre",), True)).asks
    assert "when was {x} hired" in phrases_of(HopWording(("hired on",), False)).asks
    assert "when was {x} based" not in phrases_of(HopWording(("based near",), False)).asks


@pytest.mark.parametrize(
    ("text", "inverse", "nouns", "asks"),
    [
        ("cause of death", True, ("people who died of {x}", "the film whose reason of death is {x}"), ("who died of {x}",)),
        ("genre", True, ("{x} films", "the film whose kind is {x}"), ("which films are {x}",)),
        ("genre", False, ("the kind of {x}", "{x}'s sort"), ("what sort of film is {x}",)),
        ("place of birth", False, ("the home town of {x}", "{x}'s home town"), ("where was {x} born",)),
    ],
)  # fmt: skip
def test_a_relation_is_said_in_the_words_of_the_lexicon(
    text: str, inverse: bool, nouns: tuple[str, ...], asks: tuple[str, ...]
) -> None:
    phrases = phrases_of(HopWording((text,), inverse, ("film", "movie")))
    assert {*nouns} <= {*phrases.nouns[phrases.own[0] :]}
    assert {*asks} <= {*phrases.asks[phrases.own[1] :]}


def test_what_leads_to_the_topic_is_not_said_by_the_name_of_the_relation_twice() -> None:
    """The lexicon's first noun of it is mostly the relation's own."""
    phrases = phrases_of(HopWording(("genre",), True, ("film",)))
    assert phrases.nouns.count("the film whose genre is {x}") == 1
    assert "the film whose kind is {x}" in phrases.nouns


@pytest.mark.parametrize(
    ("text", "inverse", "kind"),
    [("directed by", False, "person"), ("place of birth", False, "place"), ("release date", False, "time"),
     ("population", False, "number"), ("directed by", True, "thing"), ("musicians", False, "person"),
     ("located in", False, "place"), ("hired on", False, "time"), ("connected to", False, "thing")],
)  # fmt: skip
def test_kinds(text: str, inverse: bool, kind: str) -> None:
    assert phrases_of(HopWording((text,), inverse)).kind == kind


def test_what_stands_in_or_on_something_is_asked_for_so() -> None:
    asked = "in what language is {x}"
    assert asked in phrases_of(HopWording(("in language",), False)).asks
    assert asked not in phrases_of(HopWording(("with language",), False)).asks


def test_the_type_that_is_reached_tells_the_kind() -> None:
    assert phrases_of(HopWording(("profession",), True, ("person",))).kind == "person"


@pytest.mark.parametrize("text", TEXTS)
def test_a_question_names_its_topic_whole(text: str) -> None:
    for seed in range(30):
        path = [HopWording((text,), seed % 2 == 0), HopWording(("genre",), False)][: 1 + seed % 2]
        asked = question_of(path, "Ada Lovelace", random.Random(seed))
        assert "ada lovelace" in asked.lower()
        assert asked == question_of(path, "Ada Lovelace", random.Random(seed))


def test_a_third_of_questions_are_typed_in_small_letters() -> None:
    asked = [question_of([HopWording(("has genre",), False)], "Alien", random.Random(seed)) for seed in range(100)]
    assert 20 <= sum(text == text.lower() for text in asked) <= 50


def test_there_and_back_is_the_same() -> None:
    path = [HopWording(("has genre",), False), HopWording(("has genre",), True, ("film",))]
    said = {question_of(path, "Alien", random.Random(seed)).lower() for seed in range(40)}
    assert any("same genre as alien" in text for text in said)


def test_two_topics() -> None:
    paths = ([HopWording(("directed by",), True, ("film",))], [HopWording(("starring",), True, ("film",))])
    for seed in range(20):
        text = joint_question(paths, ("Jane Doe", "Bob Fox"), random.Random(seed)).lower()
        assert "jane doe" in text
        assert "bob fox" in text


def test_the_lexicon_is_whole() -> None:
    lexicon = read_lexicon()
    for text, noun in (
        ("imdb rating", "rating"),
        ("main head office", "headquarters"),
        ("adoptive legal father", "father"),
        ("Capitals", "capital"),
    ):
        assert lexicon.entry(text).nouns[0] == noun
    assert lexicon.kind("cause of death") == "thing"
    for entry in lexicon.relations.values():
        for form in (*entry.asks, *entry.inverse, *entry.back):
            assert "{x}" in form, form


def test_common_relations_are_those_of_the_lexicon_by_one_name_and_of_a_list() -> None:
    names = list_common_relations()
    assert ("spouse" in names, "married to" in names, "chief executive" in names) == (True, False, True)
    assert not any("#" in name for name in names)


def test_what_people_say_becomes_questions_and_noun_phrases() -> None:
    said = ("who looks after", "what can somebody do", "when did they join", "good at", "boss", "a {b}", "their office")
    phrases = phrases_of(HopWording(("qq7",), False, said=said))
    others = (*phrases.nouns[phrases.own[0] :], *phrases.asks[phrases.own[1] :])
    assert {"who looks after {x}", "what can {x} do", "when did {x} join", "{x} good at", "the boss of {x}"} <= {
        *others
    }
    for form in others:
        assert form.count("{x}") == 1, form
        assert "{" not in form.replace("{x}", ""), form
    asked = {
        question_of([HopWording(("qq7",), False, said=said)], "Ann", random.Random(seed)).lower() for seed in range(60)
    }
    assert any("who looks after ann" in text for text in asked)


def test_the_same_phrases_are_held_out_from_one_version_to_the_next() -> None:
    phrases = ("birthday", "Who looks after {x}", "offspring", "boss", "home town", "line of work", "who runs {x}")
    assert [is_held_out(phrase) for phrase in phrases] == [True, True, True, False, False, False, False]


def test_the_phrases_that_are_held_out_word_dev_questions_alone() -> None:
    said = tuple(f"word{number}" for number in range(40))
    out = {phrase for phrase in said if is_held_out(phrase)}
    assert 4 <= len(out) <= 20
    for held_out in (True, False):
        for inverse in (True, False):
            hop = HopWording(("qq7",), inverse, said=said, held_out=held_out)
            texts = " ".join(question_of([hop], "Alien", random.Random(seed)).lower() for seed in range(300))
            used = set(re.findall(r"word\d+", texts))
            assert used
            assert used <= out if held_out else not used & out
    alone = HopWording(("governs for",), False, said=("offspring",), held_out=True)
    assert all("offspring" in text for text in questions_of([alone]))
    everything = phrases_of(HopWording(("birthplace",), False))
    parts = [phrases_of(HopWording(("birthplace",), False, held_out=held_out)) for held_out in (True, False)]
    own = everything.own[1]
    assert sorted(everything.asks[own:]) == sorted([*parts[0].asks[own:], *parts[1].asks[own:]])
    assert parts[0].others
    assert not parts[1].others


@pytest.mark.parametrize(
    ("text", "shape"),
    [("founded", "verb"), ("led", "noun"), ("founded films", "noun"), ("of interest", "noun"), ("of", "noun"),
     ("by", "noun"), ("contains parts", "noun"), ("works for many", "verb"), ("needed by", "by"), ("need by", "noun"),
     ("was directed by", "by"), ("used in", "participle"), ("held", "noun"), ("added", "verb"), ("red", "noun"), ("bed in", "noun"), ("a", "name")],
)  # fmt: skip
def test_shapes_that_are_near_another(text: str, shape: str) -> None:
    assert property_of(text).shape == shape


@pytest.mark.parametrize(
    ("text", "agent"),
    [("produced by", "producer"), ("played by", "player"), ("acted by", "actor"), ("owned by", "owner")],
)
def test_who_does_something(text: str, agent: str) -> None:
    found = property_of(text)
    assert (found.agent, found.noun) == (agent, agent)


@pytest.mark.parametrize(
    ("one", "many"),
    [("box", "boxes"), ("human", "humans"), ("day", "days"), ("journey", "journeys"), ("fly", "flies"), ("pass", "passes"), ("grandchild", "grandchildren"),
     ("son in law", "sons in law"), ("dish", "dishes"), ("spokesperson", "spokespeople")],
)  # fmt: skip
def test_rarer_plurals(one: str, many: str) -> None:
    assert plural(one) == many
    if " " not in one:
        assert singular(many) == one


@pytest.mark.parametrize("word", ["pass", "bus", "basis", "famous", "news", "tie"])
def test_what_only_looks_like_a_plural_stays(word: str) -> None:
    assert singular(word) == word


def test_a_short_word_in_ies_is_the_plural_of_one_in_ie() -> None:
    assert [singular(word) for word in ("ties", "flies")] == ["tie", "fly"]


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("works", True), ("went", True), ("born", True), ("used", True), ("work", False), ("bed", False), ("need", False)],
)
def test_verbs_are_told_from_other_words(word: str, is_one: bool) -> None:
    assert is_verb(word) == is_one


@pytest.mark.parametrize(
    ("verb", "base"),
    [("planned", "plan"), ("banned", "ban"), ("called", "call"), ("passed", "pass"), ("created", "create"), ("played", "play"),
     ("added", "add"), ("bordered", "border"), ("treated", "treat"), ("shared", "share"), ("contains", "contain"),
     ("died", "die"), ("tied", "tie"), ("tried", "try"), ("studied", "study")],
)  # fmt: skip
def test_base_forms_by_rule(verb: str, base: str) -> None:
    assert base_of(verb) == base


@pytest.mark.parametrize(
    ("words", "kind"),
    [("botanist", "person"), ("twist", "thing"), ("botanists", "person"), ("place of birth", "place"),
     ("birth of a place", "place"), ("actors", "person"), ("oboist", "person"), ("name of xyz", "thing"),
     ("city population", "number"), ("population xyz", "number"), ("oboist count", "number"), ("of", "thing"),
     ("", "thing")],
)  # fmt: skip
def test_the_kind_of_words_is_that_of_their_head(words: str, kind: str) -> None:
    assert read_lexicon().kind(words) == kind


def test_a_hop_through_a_mediator_says_both_properties() -> None:
    forward = phrases_of(HopWording(("membership", "group"), False))
    assert {"the group of {x}'s membership", "the group of {x}"} <= {*forward.nouns}
    assert "which group is {x}'s membership" in forward.asks
    back = phrases_of(HopWording(("membership", "group"), True, ("person", "someone")))
    assert "the person whose membership group is {x}" in back.nouns
    assert "{x} is the group of which person" in back.asks
    assert "whose membership is {x}" in back.asks
    three = phrases_of(HopWording(("membership", "group", "town"), False))
    assert "the town of {x}'s membership" in three.nouns


def questions_of(path: list[HopWording], topic: str = "Alien", num: int = 200) -> set[str]:
    """Return wordings of a path without capitals and question marks."""
    return {question_of(path, topic, random.Random(seed)).lower().rstrip("?") for seed in range(num)}


def test_each_hop_of_a_long_path_is_worded() -> None:
    path = [HopWording((word,), False) for word in ("qq7", "qq8", "qq9")]
    for text in questions_of(path):
        assert [text.count(word) for word in ("qq7", "qq8", "qq9", "alien")] == [1, 1, 1, 1], text


def test_there_and_back_and_on_is_worded_with_what_follows() -> None:
    path = [HopWording(("genre",), False), HopWording(("genre",), True, ("film",)), HopWording(("qq7",), False)]
    texts = questions_of(path)
    assert all("genre" in text and "qq7" in text for text in texts)
    assert any("films" in text for text in texts)


def test_only_the_same_relation_the_other_way_is_the_way_back() -> None:
    """By the same relation twice in one direction, or back by another, no two things share anything."""
    for second in (HopWording(("genre",), False), HopWording(("language",), True)):
        assert not any(
            "same" in text or "share" in text for text in questions_of([HopWording(("genre",), False), second])
        )
    through = [HopWording(("membership", "group"), False), HopWording(("group", "membership"), True)]
    assert any("the things with the same group as alien" in text for text in questions_of(through))


def test_who_shares_a_thing_is_called_by_what_that_is() -> None:
    path = [HopWording(("directed by",), True, ("film",)), HopWording(("directed by",), False)]
    assert any("who share films with alien" in text for text in questions_of(path))
    unknown = [HopWording(("directed by",), True), HopWording(("directed by",), False)]
    assert any("who share things with alien" in text for text in questions_of(unknown))


def test_a_number_is_asked_for_by_what_and_a_person_by_who() -> None:
    numbers = questions_of([HopWording(("qq number",), False)])
    assert any(text.startswith("what is the qq number of") for text in numbers)
    assert not any(text.startswith("how much is") for text in numbers)
    assert any(text.startswith("who is the qq boss of") for text in questions_of([HopWording(("qq boss",), False)]))
    paths = ([HopWording(("qq number",), False)], [HopWording(("age",), False)])
    joined = {joint_question(paths, ("Ann", "Bob"), random.Random(seed)).lower() for seed in range(200)}
    assert any(text.startswith("what is both the qq number of") for text in joined)
    assert not any("how much" in text for text in joined)


def test_half_of_the_questions_are_clauses() -> None:
    """A clause says "42 of alien" or "alien 42"; a noun phrase has an article or is "alien's 42"."""
    texts = [question_of([HopWording(("42",), False)], "Alien", random.Random(seed)).lower() for seed in range(400)]
    assert 150 <= sum("the 42" in text or "'s 42" in text for text in texts) <= 250


def test_what_two_paths_have_in_common_is_asked_for_by_the_first_that_tells() -> None:
    def texts(first: HopWording, second: HopWording) -> set[str]:
        paths = (
            [HopWording(("qq6",), False), HopWording(("qq5",), False), first],
            [HopWording(("qq9",), False), second],
        )
        return {joint_question(paths, ("Ann", "Bob"), random.Random(seed)).lower() for seed in range(60)}

    person, thing = HopWording(("qq boss",), False), HopWording(("qq7",), False)
    film, song = (HopWording(("qq8",), True, names) for names in (("film", "movie"), ("song", "track")))
    for first, second, begins in (
        (person, thing, "who is both"),
        (thing, person, "what is both"),
        (film, thing, "which film is"),
        (thing, song, "which song is"),
        (song, film, "which song is"),
    ):
        assert any(text.startswith(begins) for text in texts(first, second))


def test_a_question_is_a_line_with_single_spaces() -> None:
    assert "ada lovelace" in question_of([HopWording(("qq7",), False)], "Ada \n Lovelace", random.Random(0)).lower()


def test_a_topic_at_the_beginning_stays_as_it_is_written() -> None:
    texts = [question_of([HopWording(("qq7",), False)], "eBay", random.Random(seed)) for seed in range(200)]
    assert {text[:4] for text in texts if text.lower().startswith("ebay")} == {"eBay", "ebay"}
    assert {"What", "what"} <= {text[:4] for text in texts if text.lower().startswith("what")} <= {"What", "what"}


def test_of_two_topics_each_hop_is_worded_and_what_is_reached_is_named() -> None:
    one = [HopWording(("qq6",), False), HopWording(("qq7",), False), HopWording(("qq8",), True, ("film",))]
    two = [HopWording(("qq9",), False)]
    texts = {joint_question((one, two), ("Ann", "Bob"), random.Random(seed)).lower() for seed in range(100)}
    assert all(
        "qq6" in text and "qq7" in text and ("qq8" in text or "film" in text) and "qq9" in text for text in texts
    )
    assert any("which film is the" in text for text in texts)
    assert any(
        "which one is the" in joint_question((two, two), ("A", "B"), random.Random(s)).lower() for s in range(60)
    )


def test_a_question_is_typed_with_a_capital_a_question_mark_both_or_neither() -> None:
    texts = [question_of([HopWording(("qq7",), False)], "alien", random.Random(seed)) for seed in range(400)]
    assert 200 <= sum(text.endswith("?") for text in texts) <= 280
    assert 120 <= sum(text[0].isupper() for text in texts) <= 240
    assert {(text[0].isupper(), text.endswith("?")) for text in texts} == {
        (a, b) for a in (True, False) for b in (True, False)
    }


def test_what_is_reached_is_asked_for_by_its_name_now_and_then() -> None:
    texts = [question_of([HopWording(("qq7",), True, ("film",))], "Alien", random.Random(seed)) for seed in range(400)]
    typed = sum(bool(re.search(r"(which|what) film is|, which film", text.lower())) for text in texts)
    assert 20 <= typed <= 80
    assert not any("which thing is" in text for text in questions_of([HopWording(("qq7",), False)]))


def test_other_words_are_used_in_two_of_five_questions() -> None:
    hop = HopWording(("qq7",), False, said=("word7",))
    texts = [question_of([hop], "Alien", random.Random(seed)).lower() for seed in range(400)]
    assert 120 <= sum("word7" in text for text in texts) <= 200


@pytest.mark.parametrize(
    ("phrase", "nouns", "asks"),
    [
        ("what is their office", [], ["what is {x}'s office"]),
        ("who told Somebody", [], ["who told {x}"]),
        ("Who leads", [], ["Who leads {x}"]),
        ("boss", ["the boss of {x}", "{x}'s boss"], ["{x} boss", "boss {x}"]),
        ("good at", [], ["{x} good at", "good at {x}", "what is {x} good at"]),
        ("in charge", [], ["in charge {x}"]),
        ("of note", [], ["{x} of note", "of note {x}", "what is {x} of note"]),
        ("really good At", [], ["{x} really good At", "really good At {x}", "what is {x} really good At"]),
        ("founded", [], ["{x} founded", "founded {x}", "what is {x} founded"]),
    ],
)
def test_a_phrase_is_worded_by_where_it_leaves_room_for_the_topic(
    phrase: str, nouns: list[str], asks: list[str]
) -> None:
    phrases = phrases_of(HopWording(("qq7",), False, said=(phrase,)))
    own = phrases.own
    found = ([*phrases.nouns[own[0] :]], [*phrases.asks[own[1] :]])
    assert found == (nouns, asks)
