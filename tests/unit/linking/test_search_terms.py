from __future__ import annotations

import pytest
from lodestar.engine.linking.names import derive_forms, find_places
from lodestar.engine.writing import build_search_terms
from lodestar.models.wording import find_initials, find_other_spellings


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("United States of America", ("USA", "US")),
        ("John F. Kennedy", ("JFK",)),
        ("Washington, D.C.", ()),
        ("Lord of the Rings (film series)", ("LR",)),
        ("Peru", ()),
        ("of the", ()),
        ("Guns 'n Roses", ()),
        ("One Two Three Four Five Six", ("OTTFFS",)),
        ("20 Words That Are Far Too Many For Initials", ()),
        ("", ()),
        ("🜨 首都 🜨", ()),
    ],
)
def test_initials(name: str, short: tuple[str, ...]) -> None:
    assert find_initials(name) == short


def test_initials_come_behind_all_names() -> None:
    assert build_search_terms(["United_States_of_America", "The States"]) == [
        "United States of America",
        "The States",
        "USA",
        "US",
    ]
    assert build_search_terms([" "]) is None


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Peru", ()),
        ("Ἀθῆναι", ("Αθηναι",)),
        ("A.I.", ("AI",)),
        ("J.R.R. Tolkien", ("JRR. Tolkien",)),
        ("The The", ("the_the_",)),
        ("It", ("it_",)),
        ("It Follows", ()),
        ("TokenArcade", ("Token Arcade",)),
        ("McCoy", ("Mc Coy",)),
    ],
)
def test_a_name_is_also_found_as_the_index_has_it(name: str, others: tuple[str, ...]) -> None:
    assert find_other_spellings(name) == others


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("Peru", []),
        ("German Language", ["untyped german", "last language"]),
        ("Old German Language", ["untyped old german", "outer old language", "leading old german", "last language"]),
        ("Anna Smith (actress)", ["unbracketed anna smith", "last smith"]),
        ("Gulf of Mexico", ["outer gulf mexico", "inverted mexico gulf", "leading gulf", "last mexico"]),
        (
            "Head of the Free States",
            [
                "outer head states", "inverted free states head", "inverted fs head", "leading head of the free",
                "leading head", "last states",
            ],
        ),
        ("The House of", ["leading the house"]),
        ("House of The", ["outer house the", "leading house", "last the"]),
        ("Smith, Anna (actress)", ["unbracketed smith"]),
        ("(500) Days", ["last days"]),
        ("Type XYZ", ["last xyz"]),
        ("東京 (film)", ["unbracketed 東 京"]),
        ("東 Tower", []),
    ],
)  # fmt: skip
def test_a_name_has_shorter_forms(name: str, forms: list[str]) -> None:
    found = [form for _, form in derive_forms([name], {"language"}) if form.kind != "whole"]
    assert [" ".join((form.kind, *form.words)) for form in found] == forms


@pytest.mark.parametrize(
    ("word", "some"),
    [("iranian", "iran"), ("irish", "ireland"), ("danish", "dan"), ("dutch", "netherlands"), ("french", "france")],
)
def test_places_of_an_adjective(word: str, some: str) -> None:
    assert some in find_places(word)
