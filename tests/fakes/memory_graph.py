"""A graph in memory that answers the read requests as Neo4j would: a fake for unit and property tests of the stages.

It shares nothing with the Cypher but its contract; the integration tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from lodestar.engine.neo4j import Request, Row
from lodestar.models.placement import count_call

from tests.references import chains

T = TypeVar("T")


class MemoryGraph:
    """Triples of ids with optional names; ids that `names` does not hold are unnamed when `names` is given at all.

    Ids in `literals` are literals with these values, tails all of them; the relations in `related` share a type.
    """

    def __init__(
        self,
        triples: Iterable[tuple[str, str, str]],
        names: Mapping[str, str] | None = None,
        *,
        literals: Mapping[str, str] | None = None,
        related: Collection[str] = (),
    ) -> None:
        self.triples = list(dict.fromkeys(triples))
        self.relations = {name: i for i, name in enumerate(sorted({r for _, r, _ in self.triples}), start=1)}
        self.literals = dict(literals or {})
        self.stored_as = dict.fromkeys(related, "RELATED")
        ids = [i for h, _, t in self.triples for i in (h, t) if i not in self.literals]
        self.names: dict[str, str | None] = {i: (i if names is None else names.get(i)) for i in dict.fromkeys(ids)}
        self.requests: list[str] = []

    @property
    def numbered(self) -> dict[int, str]:
        return {number: name for name, number in self.relations.items()}

    def run(self, request: Request[T]) -> T:
        """Return the decoded answer of one request."""
        (answer,) = self.run_all([request])
        decoded: T = answer
        return decoded

    def run_all(self, requests: Sequence[Request[Any]]) -> list[Any]:
        for _ in requests:
            count_call("round_trips")
        return [self._answer(request) for request in requests]

    def degree(self, id_: str) -> int:
        return sum((h == id_) + (t == id_) for h, _, t in self.triples)

    def signature(self, id_: str) -> list[int]:
        out = {self.relations[r] for h, r, _ in self.triples if h == id_}
        into = {-self.relations[r] for _, r, t in self.triples if t == id_}
        return sorted(out | into)

    def _answer(self, request: Request[Any]) -> Any:
        self.requests.append(request.template.name)
        rows: Sequence[Row] = getattr(self, f"_{request.template.name}")(request.params, request.names)
        return request.decode(rows)

    def _read_edition(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(0, None, None, len(self.relations), None, 0)]

    def _expand_chains(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        """A graph without triples has all that are given."""
        return list(chains.expand(params, self.triples or None))

    def _join_topics(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        rows: list[Row] = []
        for pair, (start, end) in enumerate(params["pairs"]):
            paths: list[tuple[list[str], list[str]]] = [([], [start])]
            for _ in range(2):
                paths = [
                    ([*steps, step], [*nodes, after])
                    for steps, nodes in paths
                    if nodes[-1] == start or self.degree(nodes[-1]) <= params["max_degree"]
                    for head, relation, tail in self.triples
                    for step, before, after in ((relation, head, tail), (f"^{relation}", tail, head))
                    if before == nodes[-1] and after not in nodes and after not in self.literals
                ]
                if found := [(pair, steps, nodes[1:-1]) for steps, nodes in paths if nodes[-1] == end]:
                    rows += found[: params["max_paths"] + 1]
                    break
        return rows

    def _read_signatures(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(i, self.names[i], self.degree(i), self.signature(i)) for i in params["ids"] if i in self.names]

    def _read_search_names(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(i, self.names[i], [self.names[i]], self.degree(i)) for i in params["ids"] if i in self.names]

    def _find_values(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [
            (place, id_, self.literals[id_])
            for place, term in enumerate(params["terms"])
            for id_ in sorted(i for i in self.literals if i.startswith(term))[: params["limit"]]
        ]

    def _read_value_signatures(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(i, self.literals[i], self.degree(i), self.signature(i)) for i in params["ids"] if i in self.literals]

    def _expand_values(self, params: Mapping[str, Any], names: Mapping[str, str]) -> list[Row]:
        expansions = [{**x, "inverse": True} for x in params["expansions"]]
        return self._expand_steps({**params, "expansions": expansions}, names)

    def _read_signature_counts(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(i, self.names[i], self._signature_counts(i)) for i in params["ids"] if i in self.names]

    def _read_neighbours(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        numbers, found = params["numbers"], []
        for place, id_ in enumerate([*params["whole"], *(part["id"] for part in params["parts"])]):
            part = params["parts"][place - len(params["whole"])] if place >= len(params["whole"]) else None
            for entering, relation in ((entering, relation) for entering in (0, 1) for relation in numbers):
                ends = self._tails(id_, relation, inverse=bool(entering))
                if part is not None:
                    ends = ends[: part[("leaving", "entering")[entering]].get(relation, 0)]
                for at, end in enumerate(ends):
                    code = (2 * place + entering) * params["num_relations"] + numbers[relation]
                    found.append((end, code * params["positions"] + (at if part is not None else 0)))
        return self._neighbours(found, params["last"])

    def _read_hub_neighbours(self, params: Mapping[str, Any], names: Mapping[str, str]) -> list[Row]:
        relation = self._stored(names["RELATION"], params["relation"] or names["RELATION"])
        limit = params["limit"]
        found = [
            (end, place * limit + at)
            for place, hub in enumerate(params["hubs"])
            for at, end in enumerate(self._tails(hub, relation, params["inverse"])[:limit])
        ]
        return self._neighbours(found, params["last"])

    def _neighbours(self, found: list[tuple[str, int]], last: bool) -> list[Row]:
        codes: dict[str, list[int]] = {}
        for end, code in found:
            codes.setdefault(end, []).append(code)
        names = [self.literals.get(end, self.names.get(end)) for end in codes]
        literals = [end for end in codes if end in self.literals]
        signatures = [
            None if end in self.literals or (last and self.names[end] is not None) else self._signature_counts(end)
            for end in codes
        ]
        return [(list(codes), names, literals, list(codes.values()), signatures)]

    def _signature_counts(self, id_: str) -> list[int]:
        signature = self.signature(id_)
        named = self.numbered
        return [*signature, *(len(self._tails(id_, named[abs(n)], n < 0)) for n in signature)]

    def _find_entity_candidates(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [
            (query["question"], i, name, [name.replace("_", " ")], self.degree(i))
            for query in params["queries"]
            for i, name in self.names.items()
            if name is not None
        ]

    def _expand_steps(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        rows: list[Row] = []
        for x in params["expansions"]:
            room = params["max_tails"] + 1
            relation = self._stored(x["type"], x["relation"])
            for source in x["sources"]:
                tails = self._tails(source, relation, x["inverse"])[: min(room, params["fan_out"] + 1)]
                room -= len(tails)
                if tails:
                    rows.append((x["key"], source, *self._columns(tails, x["signatures"], x["last"])))
        return rows

    def _expand_hub_step(self, params: Mapping[str, Any], names: Mapping[str, str]) -> list[Row]:
        relation = self._stored(names["RELATION"], params["relation"] or names["RELATION"])
        found = ((s, self._tails(s, relation, params["inverse"])[: params["fan_out"] + 1]) for s in params["sources"])
        return [(s, *self._columns(tails, params["signatures"], params["last"])) for s, tails in found if tails]

    def _find_answer_paths(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        rows: list[Row] = []
        for pair in params["pairs"]:
            answers = set(pair["answers"])
            paths: dict[tuple[str, ...], None] = {}
            for first, middle in self._steps(pair["topic"]):
                if middle in answers:
                    paths[first,] = None
                paths |= {(first, last): None for last, end in self._steps(middle) if end in answers}
            kept = [list(path) for path in paths][: params["max_paths"]]
            rows.append((pair["key"], kept, len(paths) > params["max_paths"]))
        return rows

    def _find_last_steps(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        last: dict[tuple[str, str], dict[str, None]] = {}
        for source in self.names:
            for step, end in self._steps(source):
                if end in params["answers"]:
                    last.setdefault((end, step), {})[source] = None
        return [(answer, step, list(sources), False) for (answer, step), sources in last.items()]

    def _steps(self, source: str) -> list[tuple[str, str]]:
        """Every step that leaves an entity, as it is written, with where it leads; none leaves a literal."""
        if source in self.literals:
            return []
        forward = [(r, t) for h, r, t in self.triples if h == source]
        return forward + [(f"^{r}", h) for h, r, t in self.triples if t == source]

    def _find_entities_by_name(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        known = [*self.names.items(), *self.literals.items()]
        return [(w["name"], sorted(i for i, name in known if name == w["name"])) for w in params["wanted"]]

    def _stored(self, type_: str, relation: str) -> str:
        """The relation, where it is stored under this type; else one that has no triples."""
        return relation if self.stored_as.get(relation, relation) == type_ else ""

    def _tails(self, source: str, relation: str, inverse: bool) -> list[str]:
        if inverse:
            return [h for h, r, t in self.triples if t == source and r == relation]
        return [t for h, r, t in self.triples if h == source and r == relation]

    def _columns(self, tails: list[str], signatures: int, last: bool) -> tuple[list[Any], list[Any]]:
        return ([self._tail(t) for t in tails], [self._tail_signature(t, last) for t in tails[:signatures]])

    def _tail(self, id_: str) -> list[Any]:
        if id_ in self.literals:
            return [id_, self.literals[id_], 0, True]
        return [id_, self.names[id_], self.degree(id_), False]

    def _tail_signature(self, id_: str, last: bool) -> list[int] | None:
        if id_ in self.literals or (last and self.names[id_] is not None):
            return None
        return self.signature(id_)
