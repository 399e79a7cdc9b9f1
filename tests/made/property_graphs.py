"""Property graphs of the usual examples' shape, for tests of `lodestar load neo4j`: films, and a trader's orders."""

from __future__ import annotations

from typing import Any

import neo4j

MOVIES = """
CREATE (matrix:Movie {title: 'The Matrix', released: 1999, tagline: 'Welcome to the Real World'}),
       (cloud:Movie {title: 'Cloud Atlas', released: 2012, tagline: 'Everything is connected'}),
       (polar:Movie {title: 'The Polar Express', released: 2004}),
       (keanu:Person {name: 'Keanu Reeves', born: 1964}),
       (carrie:Person {name: 'Carrie-Anne Moss', born: 1967}),
       (tom:Person {name: 'Tom Hanks', born: 1956}),
       (lana:Person {name: 'Lana Wachowski', born: 1965}),
       (tykwer:Person {name: 'Tom Tykwer', born: 1965}),
       (zemeckis:Person {name: 'Robert Zemeckis', born: 1951}),
       (jessica:Person:Critic {name: 'Jessica Thompson', site: 'https://example.org'}),
       (keanu)-[:ACTED_IN {roles: ['Neo']}]->(matrix),
       (carrie)-[:ACTED_IN {roles: ['Trinity']}]->(matrix),
       (tom)-[:ACTED_IN {roles: ['Zachry', 'Dr. Henry Goose']}]->(cloud),
       (tom)-[:ACTED_IN {roles: ['Conductor']}]->(polar),
       (lana)-[:DIRECTED]->(matrix),
       (lana)-[:DIRECTED]->(cloud),
       (tykwer)-[:DIRECTED]->(cloud),
       (zemeckis)-[:DIRECTED]->(polar),
       (jessica)-[:REVIEWED {summary: 'An amazing journey', rating: 95}]->(cloud),
       (jessica)-[:FOLLOWS]->(tom)
"""
"""Relationships with and without properties, a list, a node with two labels."""


def write_graph(driver: neo4j.Driver, *statements: str) -> None:
    """Put a graph in the place of what a database holds."""
    driver.execute_query("MATCH (n) DETACH DELETE n")
    statement: Any
    for statement in statements:
        driver.execute_query(statement)
