from __future__ import annotations

import pytest
from lodestar.engine.linking.names import derive_forms, find_initials
from lodestar.engine.writing.names import build_search_terms


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("United States of America", ("USA", "US")),
        ("John F. Kennedy", ("JFK",)),
        ("united kingdom", ("UK",)),
        ("Washington, D.C.", ()),
        ("Lord of the Rings (film series)", ("LR",)),
        ("Peru", ()),
        ("of the", ()),
        ("Élysée Palace", ()),
        ("7 Up Company", ()),
        ("20 Words That Are Far Too Many For Initials", ()),
        ("a\0b", ()),
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
    ("name", "written"),
    [
        ("World War II", {"wwii", "ww2"}),
        ("World War IV", {"wwiv", "ww4"}),
        ("World War Two", {"wwt"}),
        ("Final II", {"fi"}),
    ],
)
def test_initials_that_end_in_a_number_are_written_with_it(name: str, written: set[str]) -> None:
    forms = derive_forms([name, *find_initials(name)], ())
    assert {form.words[0] for _, form in forms if form.kind == "initials"} == written


@pytest.mark.parametrize(
    ("name", "beginnings"),
    [("Bank of America", [("bank",)]), ("Treaty of Paris of 1763", [("treaty", "of", "paris"), ("treaty",)])],
)
def test_what_a_name_begins_with_does_not_end_in_a_function_word(name: str, beginnings: list[tuple[str, ...]]) -> None:
    assert [form.words for _, form in derive_forms([name], ()) if form.kind == "leading"] == beginnings
