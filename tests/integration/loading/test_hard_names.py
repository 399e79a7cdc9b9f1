"""Names of any script, with signs, very long or empty: found, never query syntax, in bounded time."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator

import pytest
from lodestar.engine.api import Engine

from tests.conftest import OpenOver
from tests.made.graphs import TripleSource

HARD_NAMES = {
    "h.lucene": '+Yes AND (title:"no" OR *) ~ ^2 [a TO b] {c} \\ / && || !', "h.not": "Not", "h.stars": "***",
    "h.colon": "Mission: Impossible", "h.slash": "AC/DC", "h.joined": "Wave:CD", "h.points": "will.i.am",
    "h.small": "The Who", "h.emoji": "🎬👩‍👩‍👧", "h.arabic": "جمهورية مصر العربية", "h.chinese": "中华人民共和国",
    "h.japanese": "千と千尋の神隠し", "h.thai": "กรุงเทพมหานคร", "h.long": "Endless Story " + "and on " * 1_500,
    "h.empty": " ", "h.zero": "\u200b", "h.quote": "\"quoted\" 'name'", "h.combining": "Ame\u0301lie",
    "h.dotted": "A.I.", "h.stop": "The The", "h.it": "It", "h.obrien": "Miles O'Brien", "h.loreal": "L’Oréal",
    "h.xian": "Xi'an", "h.lora": "LoRA", "h.lora+": "LoRA+", "h.arcade": "TokenArcade",
}  # fmt: skip

SCRIPTS = {
    "Adlam": "𞤀𞤣𞤤𞤢𞤥", "Arabic": "الرِّيَاض", "Armenian": "Երևան", "Balinese": "ᬤᬾᬦ᭄ᬧᬲᬃ", "Bengali": "ঢাকা", "Bopomofo": "ㄊㄞˊㄅㄟˇ",
    "Canadian": "ᐃᖃᓗᐃᑦ", "Chakma": "𑄌𑄋𑄴𑄟𑄳𑄦", "Cham": "ꨌꩌ", "Cherokee": "ᏣᎳᎩ", "Cyrillic": "Королёвский", "Devanagari": "काठमाण्डू",
    "Ethiopic": "አዲስ አበባ", "Georgian": "თბილისი", "Greek": "Ἀθῆναι", "Gujarati": "અમદાવાદ", "Gurmukhi": "ਅੰਮ੍ਰਿਤਸਰ", "Han": "北京",
    "Hangul": "서울특별시", "Hebrew": "יְרוּשָׁלַיִם", "Hiragana": "さいたま", "Javanese": "ꦪꦺꦴꦒꦾꦏꦂꦠ", "Kannada": "ಬೆಂಗಳೂರು", "Katakana": "ドウキョウ",
    "Khmer": "ភ្នំពេញ", "Lao": "ວຽງຈັນ", "Latin": "Łódź Việt", "Lepcha": "ᰛᰩᰴ", "Limbu": "ᤛᤡᤖᤡᤈᤨᤅ", "Lisu": "ꓡꓲꓢꓴ", "Malayalam": "തിരുവനന്തപുരം",
    "Meetei": "ꯏꯝꯐꯥꯜ", "Mongolian": "ᠤᠯᠠᠭᠠᠨᠪᠠᠭᠠᠲᠤᠷ", "Myanmar": "ရန်ကုန်", "Nko": "ߓߡߊߞߏ߫", "Odia": "ଭୁବନେଶ୍ୱର", "Ol Chiki": "ᱥᱟᱱᱛᱟᱲᱤ",
    "Osage": "𐓏𐓘𐓻𐓘𐓻𐓟", "Rohingya": "𐴌𐴗𐴥𐴝", "Sinhala": "කොළඹ", "Syriac": "ܐܘܪܗܝ", "Tamil": "சென்னை", "Telugu": "హైదరాబాద్",
    "Thaana": "މާލެ", "Thai": "เชียงใหม่", "Tibetan": "ལྷ་ས", "Tifinagh": "ⵜⵉⴼⵉⵏⴰⵖ", "Vai": "ꕙꔤ", "Yi": "ꆈꌠ",
}  # fmt: skip
"""A name in each script that a living language is written in (Unicode's annex 31, recommended and limited use)."""
OTHERWISE = {
    "Arabic": "الرياض", "Cyrillic": "королевскии", "Georgian": "ᲗᲑᲘᲚᲘᲡᲘ", "Greek": "ΑΘΗΝΑΙ", "Hebrew": "ירושלים",
    "Latin": "LODZ VIET", "Osage": "𐓷𐓘𐓻𐓘𐓻𐓟",
}  # fmt: skip
"""The same names without points and accents, or in the other case."""


@pytest.fixture(scope="module")
def hard(open_over: OpenOver) -> Iterator[Engine]:
    names = HARD_NAMES | SCRIPTS
    with open_over(TripleSource([(id_, "work.kind", "m.kind") for id_ in names], names)) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("Who made Mission: Impossible?", "h.colon"),
        ("Who plays in AC/DC?", "h.slash"),
        ("which tracks has Wave:CD ?", "h.joined"),
        ("Which band is will.i.am in?", "h.points"),
        ("who is the drummer of The Who?", "h.small"),
        ("WHO PLAYS IN AC/DC", "h.slash"),
        ("ما هي عاصمة جمهورية مصر العربية؟", "h.arabic"),
        ("איפה נמצאת ירושלים?", "Hebrew"),
        ("中华人民共和国的首都是哪里", "h.chinese"),
        ("千と千尋の神隠しの監督は誰ですか", "h.japanese"),
        ("who said quoted name", "h.quote"),
        ("Who directed Amélie?", "h.combining"),
        ("who wrote endless story", "h.long"),
        ("Who directed A.I.?", "h.dotted"),
        ("Who directed AI?", "h.dotted"),
        ("Who is the singer of The The?", "h.stop"),
        ("Who wrote the film It?", "h.it"),
        ("Where was Miles O'Brien born?", "h.obrien"),
        ("Who owns L'Oreal?", "h.loreal"),
        ("Who was born in Xi'an?", "h.xian"),
        ("Who invented LoRA?", "h.lora"),
        ("Who invented LoRA+?", "h.lora+"),
        ("Where is Token Arcade?", "h.arcade"),
    ],
)
def test_names_of_any_script_and_with_signs_are_found(hard: Engine, text: str, id_: str) -> None:
    assert [each.entity.id for each in hard.link(text)][:1] == [id_]


def test_a_name_is_found_in_every_script_as_it_is_written_and_decomposed_and_without_marks(hard: Engine) -> None:
    decomposed = {script: unicodedata.normalize("NFD", name) for script, name in SCRIPTS.items()}
    asked = [(script, name) for names in (SCRIPTS, decomposed, OTHERWISE) for script, name in names.items()]
    found = [hard.link(f"Who is the mayor of {name}?")[:1] for _, name in asked]
    missed = [each for each, topics in zip(asked, found, strict=True) if [t.entity.id for t in topics] != [each[0]]]
    assert not missed


@pytest.mark.parametrize("name", HARD_NAMES.values(), ids=HARD_NAMES)
def test_a_name_asked_as_it_is_written_breaks_nothing_and_takes_bounded_time(hard: Engine, name: str) -> None:
    started = time.perf_counter()
    found = hard.link(f"What is {name[:9_900]}?")
    assert time.perf_counter() - started < 20
    assert {each.entity.id for each in found} <= HARD_NAMES.keys() | SCRIPTS.keys()
    assert [(-each.score, each.entity.id) for each in found] == sorted((-each.score, each.entity.id) for each in found)
