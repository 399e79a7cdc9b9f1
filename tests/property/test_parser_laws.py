"""The SQL parsers agree with the reference parsers on every line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.loaders.formats.delimited import value_pattern
from lodestar.loaders.formats.freebase import NoiseRule

from tests.conftest import examples
from tests.made import line_strategies as lines
from tests.references import parsers as reference
from tests.references.parsed import delimited_parameters, freebase_parameters, parsed, repr_by_line
from tests.references.parsers import Parsed

many = settings(max_examples=examples(25))
patterns = st.text(st.sampled_from("*?acom.typebjn%_\\[1é"), min_size=1, max_size=6) | st.sampled_from(
    ["*", "type.*", "common.topic", "type.object.type", "a.b.?", "*.*"]
)
rules = st.lists(st.builds(NoiseRule, patterns, st.just("*") | patterns, st.booleans()), max_size=4)


def assert_same(
    name: str, parameters: dict[str, object], texts: Sequence[str], expected: Callable[[str], list[Parsed]]
) -> None:
    found = parsed(name, parameters, texts)
    told = [(number, one) for number, text in enumerate(texts, start=1) for one in expected(text)]
    assert found == sorted(told, key=repr_by_line)


@many
@given(st.lists(lines.FREEBASE, max_size=40), st.sampled_from([["en"], ["de", "en-gb"], []]), st.booleans(), rules)
def test_freebase(texts: list[str], languages: list[str], every: bool, noise: list[NoiseRule]) -> None:
    parameters = freebase_parameters(languages, every, noise)
    assert_same("freebase", parameters, texts, lambda text: [reference.freebase(text, languages, every, noise)])


@many
@given(
    st.data(),
    st.sampled_from(["\t", "|", "||", ", "]),
    st.booleans(),
    st.sampled_from([(1, 2, 3), (3, 1, 2)]),
    st.sampled_from([None, value_pattern("auto", ()), value_pattern("all", ())]),
)
def test_delimited(
    data: st.DataObject, separator: str, literals: bool, columns: tuple[int, ...], pattern: str | None
) -> None:
    texts = data.draw(st.lists(lines.delimited(separator), max_size=40))
    parameters = delimited_parameters(
        separator=separator, literals=literals, columns=list(columns), value_pattern=pattern
    )
    assert_same(
        "delimited",
        parameters,
        texts,
        lambda text: [reference.delimited(text, separator, columns=columns, literals=literals, value_pattern=pattern)],
    )


@many
@given(st.data(), st.sampled_from([",", ";", "|", "\t", "\\", "^", "]", "-", "a", "é"]))
def test_quoted(data: st.DataObject, separator: str) -> None:
    texts = data.draw(st.lists(lines.delimited(separator, quoted=True), max_size=40))
    parameters = delimited_parameters(separator=separator, quoted=True)
    assert_same("delimited", parameters, texts, lambda text: [reference.delimited(text, separator, quoted=True)])


@many
@given(st.lists(lines.delimited("\t"), max_size=40))
def test_names(texts: list[str]) -> None:
    assert_same("names", {}, texts, reference.names)
