"""`lodestar browse` in a real web browser: headless Chromium reads names and scores off Neo4j Browser's page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lodestar.engine.settings import Connection
from playwright.sync_api import Locator, Page, Route, sync_playwright

from tests.conftest import OpenOver
from tests.e2e.conftest import Lodestar, run_process
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource

QUESTION = "Which currency is used in the country whose capital is Lima?"
NUM_PATHS = 3
PATIENCE_MS = 90_000
PATH_COLOUR = "rgb(255, 196, 84)"

# Relationships between entities that the picture shows, which are not on its paths.
HUB = tuple(
    ("m.peru", f"hub.{kind}", other) for kind in ("zeppelin", "zither") for other in ("m.lima", "m.sol", "m.peru")
)


@pytest.fixture(scope="module")
def loaded(open_over: OpenOver, environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a command line over a small graph with a hub."""
    with open_over(TripleSource(COUNTRIES + HUB, COUNTRY_NAMES)):
        yield environment


@pytest.fixture(scope="module")
def retrieved(loaded: dict[str, str]) -> dict[str, Any]:
    ran = run_process(loaded, "ask", "--paths-only", "--json", "--topic", "m.lima", QUESTION)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.fixture
def page(connection: Connection, chromium: str) -> Iterator[Page]:
    """A page that reaches this machine alone; a request elsewhere is refused."""

    def gate(route: Route) -> None:
        if urlsplit(route.request.url).hostname in (None, "127.0.0.1", "localhost"):
            route.continue_()
        else:
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"],
        )
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.route("**/*", gate)
        yield page
        browser.close()


def log_in(page: Page, link: str, connection: Connection) -> None:
    """Open the link, type the password, and wait until Browser has taken the style and shows the question alone."""
    page.goto(link)
    password = page.locator("input[type=password]")
    password.fill(connection.password)
    password.press("Enter")
    page.locator(".monaco-editor", has_text=re.compile("MATCH")).first.wait_for()
    page.wait_for_function("() => localStorage.getItem('neo4j.grass')?.includes('node.LodestarPath')")
    page.wait_for_timeout(500)
    assert page.get_by_test_id("frameCommand").count() == 0


def run_what_is_prefilled(page: Page) -> None:
    """Press the one key; the editor has the focus."""
    page.wait_for_function("document.activeElement.closest('.monaco-editor') !== null")
    page.keyboard.press("Enter")


def texts(found: Locator) -> list[str]:
    """What the drawings say, the pieces of a wrapped caption joined."""
    return sorted(" ".join(text.split()) for text in found.all_text_contents())


@pytest.mark.browser
def test_the_link_is_run_by_one_key_and_its_paths_are_styled(
    page: Page, loaded: dict[str, str], retrieved: dict[str, Any], connection: Connection, tmp_path: Path
) -> None:
    ran = run_process(loaded, "browse", "--json", "--topic", "m.lima", QUESTION)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert not connection.password or connection.password not in unquote(ran.stdout + ran.stderr)
    log_in(page, answer["link"], connection)
    run_what_is_prefilled(page)
    page.locator("svg .node").first.wait_for()
    page.get_by_text(re.compile(r"Displaying \d+ nodes, \d+ relationships")).wait_for()
    page.locator(f"svg .node circle.b-outline[fill='{PATH_COLOUR}']").first.wait_for()  # styled
    page.get_by_title("Fullscreen", exact=True).first.click()
    page.get_by_label("zoom-to-fit").click()

    paths = [f"{rank} · {p['score']:.3f}" for rank, p in enumerate(retrieved["items"][:NUM_PATHS], start=1)]
    left_out = len(retrieved["items"]) - NUM_PATHS
    assert {QUESTION, *paths, f"and {left_out} more paths", "Peru"} <= set(texts(page.locator("svg g.node")))
    path_nodes = page.locator("svg g.node").filter(has=page.locator(f"circle.b-outline[fill='{PATH_COLOUR}']"))
    assert texts(path_nodes) == paths
    arrows = texts(page.locator("svg g.relationship"))
    assert [a for a in arrows if a.startswith("path ")] == [f"path {rank}" for rank in range(1, NUM_PATHS + 1)]
    page.screenshot(path=tmp_path / "browser.png")


def test_an_error_is_one_line(loaded: dict[str, str], lodestar: Lodestar) -> None:
    ran = lodestar("browse", "--topic", "m.nowhere", QUESTION)
    assert (ran.code, ran.out, ran.err.count("\n")) == (5, "", 1)
    assert "m.nowhere" in ran.err
