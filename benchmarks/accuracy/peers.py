"""Ask a property graph as people do without Lodestar: by Cypher that a language model writes, and by vector search.

Each peer is set up as its documentation says, over a server that `native_graphs` made, with the language model of the
settings: `Text2CypherRetriever` of neo4j-graphrag and `GraphCypherQAChain` of LangChain (``pip install
langchain-neo4j``), both with the whole schema in the prompt, an agent with the two tools of mcp-neo4j-cypher, and
`VectorCypherRetriever` over a passage for each node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import neo4j
from lodestar.engine.settings import Settings, make_connection, resolve_settings
from lodestar.models import one_line
from lodestar.models.text.encoders import SentenceEncoder

Said = dict[str, Any]
"""An answer: what is given, whether it is unsure, its probability, seconds, tokens."""
Ask = Callable[[str], Said]

MAX_TOKENS = 300
MAX_ROWS = 1_000
NUM_PASSAGES = 5
MAX_STEPS = 6
MAX_CHARS = 4_000
AGENT = """You answer questions about a Neo4j database by calling tools: first get_neo4j_schema, then read_neo4j_cypher
with a query that fits the schema. After the result of the query, reply with the names or the number that answer, and
nothing else, separated by semicolons."""
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}
    for name, text, parameters in (
        (
            "get_neo4j_schema",
            "List all nodes, their attributes and their relationships to other nodes in the neo4j database.",
            {"type": "object", "properties": {}},
        ),
        (
            "read_neo4j_cypher",
            "Execute a read Cypher query on the neo4j database.",
            {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        ),
    )
]
INSTRUCTIONS = """Context:
{context}

Answer the question with the names or the number alone, separated by semicolons; "unknown" if the context lacks it.
Question: {query_text}
Answer:"""


@contextmanager
def open_text_to_cypher(server: str) -> Iterator[Ask]:
    """Yield what asks neo4j-graphrag's `Text2CypherRetriever`."""
    from neo4j_graphrag.exceptions import Neo4jGraphRagError
    from neo4j_graphrag.retrievers import Text2CypherRetriever
    from neo4j_graphrag.schema import format_schema

    with _open(server) as (settings, driver):
        llm, spent = _count_tokens(settings)
        schema = format_schema(read_schema(driver), is_enhanced=False)
        retriever = Text2CypherRetriever(driver, llm, neo4j_schema=schema)

        def ask(text: str) -> Said:
            before = spent()
            try:
                records = retriever.get_search_results(text).records
            except (Neo4jGraphRagError, neo4j.exceptions.Neo4jError):
                records = []
            return _said(names_in(records), spent() - before)

        yield ask


@contextmanager
def open_cypher_chain(server: str) -> Iterator[Ask]:
    """Yield what asks LangChain's `GraphCypherQAChain`; the rows of its query are the answers."""
    from langchain_core.callbacks import UsageMetadataCallbackHandler
    from langchain_neo4j import GraphCypherQAChain  # pyright: ignore[reportMissingImports] - none of our dependencies
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    with _open(server) as (settings, driver):

        class Graph:
            """What the chain needs of `Neo4jGraph`, which asks for APOC."""

            get_schema = ""
            get_structured_schema: Mapping[str, Any] = read_schema(driver)

            def query(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
                written: Any = query
                return [dict(row) for row in driver.execute_query(written, dict(params or {})).records]

            def refresh_schema(self) -> None: ...

            def add_graph_documents(self, graph_documents: Any, include_source: bool = False) -> None: ...

        usage = UsageMetadataCallbackHandler()
        llm = ChatOpenAI(
            model=settings.llm_model, base_url=settings.llm_base_url, api_key=SecretStr(settings.llm_api_key or "none"),
            temperature=0, max_completion_tokens=MAX_TOKENS, timeout=settings.llm_timeout_s, callbacks=[usage],
        )  # fmt: skip
        chain = GraphCypherQAChain.from_llm(
            llm, graph=Graph(), return_direct=True, top_k=MAX_ROWS, allow_dangerous_requests=True
        )

        def ask(text: str) -> Said:
            usage.usage_metadata = {}
            try:
                rows = chain.invoke({"query": text})["result"]
            except (ValueError, neo4j.exceptions.Neo4jError):
                rows = []
            return _said(names_in(rows), sum(each["total_tokens"] for each in usage.usage_metadata.values()))

        yield ask


@contextmanager
def open_vector_search(server: str) -> Iterator[Ask]:
    """Yield what asks `GraphRAG` over `VectorCypherRetriever`; the passages are deleted at the end."""
    from neo4j_graphrag.embeddings import Embedder
    from neo4j_graphrag.exceptions import Neo4jGraphRagError
    from neo4j_graphrag.generation import GraphRAG, RagTemplate
    from neo4j_graphrag.retrievers import VectorCypherRetriever

    encoder = SentenceEncoder(Settings().encoder)

    class Encoder(Embedder):
        def embed_query(self, text: str) -> list[float]:
            return [float(each) for each in encoder.encode([text])[0]]

    template = RagTemplate(template=INSTRUCTIONS, expected_inputs=["query_text", "context"])
    with _open(server) as (settings, driver):
        write, index, read, delete = read_queries("passages")
        driver.execute_query(delete)
        texts = [row["text"] for row in driver.execute_query(read).records]
        rows = [{"text": text, "vector": v.tolist()} for text, v in zip(texts, encoder.encode(texts), strict=True)]
        try:
            driver.execute_query(write, rows=rows)
            driver.execute_query(index, dimension=len(rows[0]["vector"]))
            driver.execute_query("CALL db.awaitIndexes()")
            llm, spent = _count_tokens(settings)
            search = GraphRAG(
                VectorCypherRetriever(driver, "passages", "RETURN node.text AS text", Encoder()), llm, template
            )

            def ask(text: str) -> Said:
                before = spent()
                try:
                    said = search.search(text, retriever_config={"top_k": NUM_PASSAGES}).answer
                except Neo4jGraphRagError:
                    said = ""
                return _said(split_said(said), spent() - before)

            yield ask
        finally:
            driver.execute_query(delete)


@contextmanager
def open_agent(server: str) -> Iterator[Ask]:
    """Yield what asks the model with the tools of mcp-neo4j-cypher: it calls them until it answers.

    A call that a small model writes as JSON into its text counts as one.
    """
    from openai import OpenAI

    with _open(server) as (settings, driver):
        client = OpenAI(base_url=settings.llm_base_url or None, api_key=settings.llm_api_key or "none")
        schema = json.dumps(read_schema(driver))

        def use(call: Mapping[str, Any]) -> str:
            if call["name"] == "get_neo4j_schema":
                return schema
            try:
                query: Any = str(call["arguments"]["query"])
                found = driver.execute_query(query, routing_=neo4j.RoutingControl.READ).records
            except (KeyError, TypeError, neo4j.exceptions.Neo4jError) as error:
                return one_line(error)
            return "; ".join(names_in(found))[:MAX_CHARS]

        def ask(text: str) -> Said:
            messages: list[Any] = [{"role": "system", "content": AGENT}, {"role": "user", "content": text}]
            tokens = 0
            for _ in range(MAX_STEPS):
                reply = client.chat.completions.create(
                    model=settings.llm_model, messages=messages, tools=TOOLS, temperature=0, max_tokens=MAX_TOKENS,
                    timeout=settings.llm_timeout_s,
                )  # fmt: skip
                tokens += reply.usage.total_tokens if reply.usage else 0
                message = reply.choices[0].message
                content = message.content or ""
                calls = [
                    (each.id, {"name": each.function.name, "arguments": read_json(each.function.arguments)})
                    for each in message.tool_calls or []
                    if each.type == "function"
                ]
                messages.append(message.model_dump(exclude_none=True))
                if not calls and (written := read_json(content)) and "name" in written:
                    messages.append({"role": "user", "content": f"Result: {use(written)}"})
                elif not calls:
                    return _said(split_said(content), tokens)
                for id_, call in calls:
                    messages.append({"role": "tool", "tool_call_id": id_, "content": use(call)})
            return _said([], tokens)

        yield ask


def read_json(text: str) -> dict[str, Any]:
    """Return the first object that a text has, in a block of code or in doubled braces; {} for none."""
    for brace in re.finditer(r"\{", text):
        try:
            value, _ = json.JSONDecoder().raw_decode(text[brace.start() :])
        except ValueError:
            continue
        return value
    return {}


def split_said(said: str) -> list[str]:
    given = [each.strip(" .") for each in re.split(r"[;\n]", said) if each.strip(" .")]
    return [each for each in given if each.lower() != "unknown"]


PEERS: Mapping[str, Callable[[str], AbstractContextManager[Ask]]] = {
    "text-to-cypher": open_text_to_cypher,
    "cypher-chain": open_cypher_chain,
    "agent": open_agent,
    "vector-search": open_vector_search,
}


@contextmanager
def _open(server: str) -> Iterator[tuple[Settings, neo4j.Driver]]:
    settings = resolve_settings({"name": server})
    connection = make_connection(settings)
    with neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
        yield settings, driver


def _count_tokens(settings: Settings) -> tuple[Any, Callable[[], int]]:
    """Return neo4j-graphrag's client of the language model, and what returns the tokens that it used."""
    from neo4j_graphrag.llm import OpenAILLM

    spent = 0

    class Counted(OpenAILLM):
        def invoke(self, *args: Any, **kwargs: Any) -> Any:
            nonlocal spent
            response = super().invoke(*args, **kwargs)
            spent += getattr(getattr(response, "usage", None), "total_tokens", 0) or 0
            return response

    llm = Counted(
        settings.llm_model,
        model_params={"temperature": 0, "max_tokens": MAX_TOKENS},
        base_url=settings.llm_base_url or None,
        api_key=settings.llm_api_key or "none",
    )
    return llm, lambda: spent


def _said(given: list[str], tokens: int) -> Said:
    return {"given": given, "unsure": False, "probability": None, "tokens": tokens}


def read_queries(name: str) -> list[Any]:
    """Return the queries of a file of Cypher of this folder, in its order."""
    text = Path(__file__).with_name(f"{name}.cypher").read_text(encoding="utf-8")
    return [query.strip() for query in text.split(";\n") if query.strip()]


def read_schema(driver: Any) -> dict[str, Any]:
    """Return what nodes and relationships have, and what joins them, in the form of `neo4j_graphrag.schema`."""
    nodes, joins, relationships = (driver.execute_query(query).records for query in read_queries("describe_native"))
    props = [{each["name"]: each["properties"] for each in rows} for rows in (nodes, joins)]
    return {"node_props": props[0], "rel_props": props[1], "relationships": [dict(each) for each in relationships]}


def names_in(rows: Iterable[Any]) -> list[str]:
    return [name for row in rows for value in row.values() for name in names_of(value)]


def names_of(value: Any) -> list[str]:
    """Return a value of a record as answers: of a node its name or title, of a list each."""
    if isinstance(value, list | tuple):
        return [name for each in value for name in names_of(each)]
    if hasattr(value, "labels"):
        texts = {key: text for key, text in value.items() if isinstance(text, str)}
        named = [text for key, text in texts.items() if re.search("name|title", key, re.I)]
        return named[:1] or list(texts.values())[:1]
    return [] if value is None or hasattr(value, "type") else [str(value)]
