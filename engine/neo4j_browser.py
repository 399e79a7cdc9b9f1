"""Show retrieved paths in Neo4j Browser: write them as nodes of their own, and link to them.

Browser draws every relationship between the nodes that it shows, and a link cannot turn that off: with a query it runs
no command but ``:param``, ``:use`` and ``:auto``. So the paths are copied to nodes of their own, under labels that
nothing else reads; each has a relationship to its entity, from which you can explore further.

Browser has one style sheet, which the embedded server replaces after each connection (`neo4j/style.json`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from .data_model import Chain, Entity, Question, Triple
from .errors import UsageError
from .evidence import Evidence, Item
from .evidence.chains_and_triples import convert_to_chains
from .neo4j import Request, load_query
from .neo4j.gateway import Gateway
from .progress import format_count
from .settings import Connection

if TYPE_CHECKING:
    from .api import Engine

MAX_PATHS = 3
MAX_INSTANCES = 5
MAX_PICTURES = 50
"""Pictures that stay in a database, the newest."""
MAX_SAID = 200
"""Characters of a question before its query."""


@dataclass(frozen=True, slots=True)
class _Picture:
    """The nodes and arrows of one question, as the query that writes them takes them.

    A node has one label, which decides its style. Arrows name nodes by their places; node 0 is the question.
    """

    question_id: str
    nodes: list[dict[str, Any]] = field(default_factory=list)
    arrows: list[dict[str, Any]] = field(default_factory=list)

    def add_node(self, label: str, name: str, **properties: Any) -> int:
        self.nodes.append({"label": label, "properties": {"name": name, **properties}})
        return len(self.nodes) - 1

    def add_arrow(self, start: int, end: int, type_: str, **properties: Any) -> None:
        self.arrows.append({"start": start, "end": end, "type": type_, "properties": properties})

    def add_rest(self, of: int, words: str) -> None:
        self.add_arrow(of, self.add_node("LodestarRest", words), "LODESTAR_REST")


def make_picture_id(question: Question) -> str:
    """Return the id of a question's picture, hexadecimal digits from its text and topic entities."""
    key = "\n".join((question.text, *question.topic_entities))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def make_picture(chains: Evidence[Chain], max_paths: int = MAX_PATHS, max_instances: int = MAX_INSTANCES) -> _Picture:
    """Return the picture of the best `max_paths` paths, each with at most `max_instances` of its entity paths.

    An entity is one node, even on several paths; a separate node tells how much is left out.
    """
    picture = _Picture(make_picture_id(chains.question))
    picture.add_node("LodestarQuestion", chains.question.text)
    shown = [(path, path.value.instances(max_instances)) for path in chains.items[:max_paths]]
    instances = [instance for _, some in shown for instance in some]
    topics, ends = {each[0][0] for each in instances}, {each[-1][1] for each in instances}
    scores = {topic.entity: topic.score for topic in chains.topics}
    places: dict[Entity, int] = {}
    for entity in dict.fromkeys(entity for instance in instances for link in instance for entity in link):
        label = "LodestarTopic" if entity in topics else "LodestarEnd" if entity in ends else "LodestarInner"
        key = "literal" if entity.is_literal else "id"
        places[entity] = picture.add_node(label, entity.label, **{key: entity.id})
        if entity in topics:
            score = {"score": scores[entity]} if entity in scores else {}
            picture.add_arrow(0, places[entity], "LODESTAR_ABOUT", **score)
    ranks: dict[Triple, list[int]] = {}
    for rank, (path, some) in enumerate(shown, start=1):
        ranked = {"rank": rank, "score": path.score}
        name, relations = f"{rank} · {path.score:.3f}", str(path.value.relation_path)
        index = picture.add_node("LodestarPath", name, **ranked, relation_path=relations)
        picture.add_arrow(0, index, "LODESTAR_PATH", **ranked)
        for end in dict.fromkeys(instance[-1][1] for instance in some):
            picture.add_arrow(index, places[end], "LODESTAR_LEADS_TO")
        left_out = len(path.value.ends) - len(some)
        if left_out or path.value.cut:
            number = f"{left_out:,}{'+' if path.value.cut else ''} " if left_out else ""
            picture.add_rest(index, f"and {number}more")
        for triple in dict.fromkeys(triple for instance in some for triple in path.value.triples_of(instance)):
            ranks.setdefault(triple, []).append(rank)
    for triple, paths in ranks.items():
        picture.add_arrow(places[triple.head], places[triple.tail], triple.relation, paths=paths)
    if more := len(chains.items) - len(shown):
        picture.add_rest(0, f"and {format_count(more, 'more path')}")
    return picture


def make_picture_query(question_id: str, question: str = "") -> str:
    """Return the query that shows a picture, on one line, so that Enter runs it in Browser's editor.

    The question's letters, digits and plain punctuation are a comment before it: nothing that could end the comment,
    or the address, where Browser cuts at "&" and "#".
    """
    int(question_id, 16)  # becomes part of the query: hexadecimal digits only
    said = " ".join(re.sub(r"[^\w .,?'’()-]", " ", question)[:MAX_SAID].split())
    text = load_query("show_browser_picture").render({})
    query = " ".join(text.replace("$question", f"'{question_id}'").split())
    return f"/* {said} */ {query}" if said else query


def store_picture_in_database(gateway: Gateway, browser_url: str, evidence: Evidence[Item]) -> str:
    """Write a picture of the evidence, replacing an earlier one of the same question and the oldest; return its link.

    browser_url: Browser's own address. Raises `UsageError` if nothing was retrieved.
    """
    if not evidence.items:
        raise UsageError(f"nothing to show for {evidence.question.text!r}: {evidence.note or 'no path was found'}")
    picture = make_picture(convert_to_chains(gateway, [evidence])[0])
    params = {"question": picture.question_id, "nodes": picture.nodes, "arrows": picture.arrows}
    params["others"] = MAX_PICTURES - 1
    gateway.run(Request(load_query("write_browser_picture"), params, lambda rows: int(rows[0][0])))
    return make_browser_link(
        browser_url, gateway.connection, make_picture_query(picture.question_id, evidence.question.text)
    )


# Links


def make_browser_link(browser_url: str, connection: Connection, command: str) -> str:
    """Return the link that opens Browser at this database with `command` in its editor.

    It contains the user's name but never a password.
    """
    parts = urlsplit(connection.uri)
    scheme = parts.scheme.replace("+ssc", "+s")  # Browser has no +ssc: the web browser checks certificates
    server = f"{scheme}://{quote(connection.user, safe='')}@{parts.netloc.rpartition('@')[2]}"
    values = {"dbms": server, "db": connection.database, "cmd": "edit", "arg": command}
    return f"{browser_url}?{urlencode(values, safe='', quote_via=quote)}"


def find_browser_login(engine: Engine) -> tuple[str, str]:
    """Return Browser's address at the engine's server, and which password it asks for, in words."""
    from .neo4j.embedded import EmbeddedServer

    if not engine.settings.uri:
        status = EmbeddedServer.of(engine.settings).status()
        return status.browser_url, f"the password in {status.password_file}"
    parts = urlsplit(engine.settings.uri)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or "localhost"
    url = f"https://{host}:7473/browser/" if "+s" in parts.scheme else f"http://{host}:7474/browser/"
    return url, "your password"
