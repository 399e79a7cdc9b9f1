"""Lines of every format for hypothesis: well formed, nearly so, and anything."""

from __future__ import annotations

from hypothesis import strategies as st

# What LineReader lets through: no line end, no zero byte, no surrogate.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")
TEXT = st.text(CHARACTERS, max_size=8)
PIECES = st.sampled_from(
    [
        *'<>"\\@^.#_:,|-*%?/ \t\r',
        "</",
        "<http://rdf.freebase.com/ns/",
        "type.object.name",
        "common.topic.alias",
        "type.object.type",
        "common.topic",
        "http://www.w3.org/2000/01/rdf-schema#label",
        "http://www.w3.org/2001/XMLSchema#string",
        "^^<http://www.w3.org/2001/XMLSchema#string>",
        "^^http://a",
        "@en",
        "@EN",
        "@en-GB",
        "@de",
        "_:b1",
        "_:b.",
        "\\u00e9",
        "\\U0001F600",
        "\\ud83d",
        "\\u0000",
        "\\U00110000",
        '\\"',
        "\\\\",
        "\\n",
        "\\q",
        '""',
        "a",
        "m.1",
        "é",
        "漢",
        "😀",
        " .",
        "\t.",
        "> <",
        ">\t<",
        ">\t<http://rdf.freebase.com/ns/",
        ">\t.",
        '"x"',
    ]
)
NOISE = st.lists(PIECES | TEXT, max_size=10).map("".join)


def mutated(lines: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Lines with something put in, or in the place of something else."""

    def put(line: str, at: int, width: int, piece: str) -> str:
        at %= len(line) + 1
        return line[:at] + piece + line[at + width :]

    return st.builds(put, lines, st.integers(0, 200), st.integers(0, 3), PIECES | TEXT)


_identifiers = (
    st.sampled_from(["m.1", "a.b.c", "common.topic", "type.object.type", "é", "a\\u00e9", "x y", "key/a"]) | NOISE
)
_relations = st.sampled_from(["type.object.name", "common.topic.alias", "type.object.type", "a.b.c", "key/a", "x"])
_prefixes = st.sampled_from(["<http://rdf.freebase.com/ns/", "</", "<", "<http://www.w3.org/2000/01/rdf-schema#"])
_iris = st.builds("{}{}>".format, _prefixes, _identifiers)
_predicates = st.builds("{}{}>".format, _prefixes, _relations) | st.just("<http://www.w3.org/2000/01/rdf-schema#label>")
_bodies = st.lists(
    st.sampled_from(["a", " ", "é", "漢", "😀", "\\n", '\\"', "\\\\", "\\u00e9", "\\U0001F600", "^^", "<", ">", "@en"]),
    max_size=4,
).map("".join)
_suffixes = st.sampled_from(
    [
        "",
        "",
        "@en",
        "@EN",
        "@de",
        "@en-GB",
        "^^<http://t>",
        "^^<http://t/\\u00e9>",
        "^^<http://www.w3.org/2001/XMLSchema#string>",
    ]
)
_literals = st.builds('"{}"{}'.format, _bodies | NOISE, _suffixes)

_freebase = st.builds("{}\t{}\t{}\t.".format, _iris, _predicates, _iris | _literals)
_plain_freebase = st.builds(
    "<http://rdf.freebase.com/ns/{}>\t<http://rdf.freebase.com/ns/{}>\t<http://rdf.freebase.com/ns/{}>\t.".format,
    _identifiers,
    _relations,
    _identifiers,
)
_ids = st.sampled_from(["m.1", "m.2", "a/b", "é漢", "a.b.c"])
_ids_freebase = st.builds(
    "<http://rdf.freebase.com/ns/{}>\t<http://rdf.freebase.com/ns/{}>\t<http://rdf.freebase.com/ns/{}>\t.".format,
    _ids,
    _ids | _relations,
    _ids,
)
FREEBASE = _freebase | _plain_freebase | _ids_freebase | mutated(_freebase) | mutated(_plain_freebase) | NOISE

_values = st.sampled_from(
    ["m.1", "a b", "9^^http://t", "^^https://t/é", "a^^http://b^^http://c", "9^^x"]
) | st.sampled_from(
    [
        "9^^xsd:date",
        "^^xsd:",
        '"9"^^xsd:int',
        "9^^<http://t>",
        "a^^http://b^^xsd:x",
        "7.5",
        "2001-02-03",
        "Yes",
        "-1e5 %",
    ]
)
_cells = _values | _literals | NOISE
_quoted = _cells.map(lambda cell: '"' + cell.replace('"', '""') + '"')


def delimited(separator: str, quoted: bool = False) -> st.SearchStrategy[str]:
    cells = _cells | _quoted if quoted else _cells
    lines = st.lists(cells, min_size=3, max_size=3).map(separator.join)
    plain = st.lists(_ids, min_size=3, max_size=4).map(separator.join)
    return lines | plain | mutated(lines) | mutated(plain) | st.lists(cells, max_size=5).map(separator.join)
