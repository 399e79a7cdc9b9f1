"""The page in headless Chromium: begun, asked, drawn, changed by a click, copied, used by keyboard, on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import neo4j
import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Connection, Settings
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.made.serving import serving

QUESTION = "Which currency is used in Peru?"
WHICH = "Which currency is used in Georgia?"
TOKEN = "a-token-of-the-page"
EVIL = '<img src=x onerror="window.hit=1">'
TWO_GEORGIAS = (
    ("m.georgia_country", "location.country.currency_used", "m.lari"),
    ("m.georgia_country", "location.country.capital", "m.tbilisi"),
    ("m.georgia_state", "location.country.currency_used", "m.dollar"),
    ("m.georgia_state", "location.country.capital", "m.evil"),
)
NAMES = {
    "m.georgia_country": "Georgia",
    "m.georgia_state": "Georgia",
    "m.lari": "Georgian lari",
    "m.dollar": "US dollar",
    "m.tbilisi": "Tbilisi",
    "m.evil": EVIL,
}


@pytest.fixture(scope="module")
def url(gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> Iterator[str]:
    clear_database(driver, connection.database)
    load(TripleSource((*COUNTRIES, *TWO_GEORGIAS), COUNTRY_NAMES | NAMES), gateway)
    with serving(settings, ServerOptions(token="")) as url:
        yield url


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """A page on which nothing may go wrong: no message of the console, no request to another host."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(30_000)
    wrong: list[str] = []
    hosts: set[str | None] = set()
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    page.goto(url)
    yield page
    page.close()
    assert wrong == []
    assert hosts <= {"127.0.0.1", None}


def answered(page: Page) -> str:
    page.locator("#status:not(.busy)", has_text="answer").wait_for()
    return page.locator("#answer").inner_text()


def ask(page: Page, question: str) -> str:
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    return answered(page)


@pytest.mark.browser
def test_a_question_is_answered_drawn_and_said(page: Page, tmp_path: Path) -> None:
    assert ask(page, QUESTION) == "Peruvian sol"
    assert "confidence 0." in page.locator("#sure").inner_text()
    assert "Peru" in page.locator("#about").inner_text()
    lines = page.locator("#paths li")
    assert lines.first.inner_text().replace("\n", " ").startswith("1.")
    assert "Peru —[country currency used]→ Peruvian sol" in lines.first.inner_text()
    drawn = page.locator("#picture canvas")
    assert drawn.count() >= 1
    box = page.locator("#picture").bounding_box()
    assert box is not None
    assert box["width"] > 400
    assert box["height"] > 60
    assert "round trips" in page.locator("#took").inner_text()
    page.screenshot(path=tmp_path / "page.png", full_page=True)


@pytest.mark.browser
def test_it_begins_with_the_graph_and_questions_that_it_answers(page: Page) -> None:
    page.locator("#tries button").first.wait_for()
    assert "relations" in page.locator("#sizes").inner_text()
    question = page.locator("#tries button").first.inner_text()
    page.locator("#tries button").first.click()
    assert answered(page) not in ("", "Not in the graph")
    assert page.locator("#asked").inner_text() == question


@pytest.mark.browser
def test_what_is_not_in_the_graph_comes_without_a_drawing_and_with_the_nearest_paths_closed(page: Page) -> None:
    assert ask(page, "Who is the president of Peru?") == "Not in the graph"
    assert page.locator("#sure").inner_text() != ""
    assert page.locator("#picture-card").is_hidden()
    assert page.locator("#paths li").first.is_hidden()


@pytest.mark.browser
def test_an_answer_is_copied_as_text_as_link_and_as_json(page: Page, url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    ask(page, QUESTION)
    copied = {}
    for kind in ("text", "link", "json"):
        page.locator(f"#copy-{kind}").click()
        page.locator("#copied", has_text="copied").wait_for()
        copied[kind] = page.evaluate("navigator.clipboard.readText()")
    assert copied["text"].splitlines()[:2] == [QUESTION, "Peruvian sol"]
    assert copied["link"].startswith(f"{url}/?q=Which")
    assert json.loads(copied["json"])["answer"] == "Peruvian sol"


@pytest.mark.browser
def test_a_plan_says_how_and_lists_what_orders_its_results(page: Page) -> None:
    assert ask(page, "Which country has the most official languages?").endswith("Peru")
    assert "most" in page.locator("#how").inner_text()
    assert page.locator("#results tbody tr").all_inner_texts() == ["1\tPeru\t2"]
    assert page.locator("#picture canvas").count() >= 1
    ask(page, QUESTION)
    assert page.locator("#how").inner_text() == ""
    assert page.locator("#results").is_hidden()


@pytest.mark.browser
def test_both_of_a_yes_or_no_question_are_asked_about_and_neither_is_the_answer(page: Page) -> None:
    assert ask(page, "Does Peru border Chile?") == "yes"
    assert [text.split()[0] for text in page.locator("#about .chip").all_inner_texts()] == ["Peru", "Chile"]
    assert page.locator("#legend .topic").is_visible()
    assert page.locator("#legend .answer").is_hidden()


@pytest.mark.browser
def test_a_click_on_a_topics_rival_changes_the_answer(page: Page, url: str) -> None:
    ask(page, WHICH)
    for id_, currency in (("m.georgia_state", "US dollar"), ("m.georgia_country", "Georgian lari")):
        page.locator(f"#about button[title*='{id_}']").click()
        page.wait_for_url(f"**topic={id_}")
        page.locator("#answer", has_text=currency).wait_for()
        assert answered(page) == currency
        page.get_by_role("button", name="let Lodestar choose").click()
        page.locator(f"#about button[title*='{id_}']").wait_for()


@pytest.mark.browser
def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    assert answered(page) == "Peruvian sol"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#paths li')"):
            break
    assert page.locator("#paths li.on").count() == 1
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "question"
    assert page.evaluate("document.activeElement.value") == QUESTION


@pytest.mark.browser
def test_an_address_is_a_question_and_back_asks_the_one_before(page: Page, url: str) -> None:
    ask(page, QUESTION)
    ask(page, "What is the capital of Chile?")
    page.go_back()
    page.locator("#answer", has_text="Peruvian sol").wait_for()
    page.goto(f"{url}/?q=capital&topic=m.chile")
    page.locator("#answer", has_text="Santiago").wait_for()


@pytest.mark.browser
def test_names_of_the_graph_are_text(page: Page) -> None:
    ask(page, "What is the capital of Georgia?")
    page.locator("#about button[title*='m.georgia_state']").click()
    page.locator("#answer", has_text="onerror").wait_for()
    assert page.evaluate("window.hit") is None
    assert page.locator("#result img").count() == 0


@pytest.mark.browser
def test_where_nothing_is_known_it_says_so_and_offers_names(page: Page) -> None:
    assert "no" in ask(page, "Which currency is used in Perru?").lower()
    page.locator("#meant button", has_text="Peru").first.click()
    page.locator("#answer", has_text="Peruvian sol").wait_for()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(browser: Browser, url: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.goto(url)
    ask(page, QUESTION)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    answer = page.locator("#answer").bounding_box()
    assert answer is not None
    assert 0 < answer["y"] < 370
    ground, ink = page.evaluate(
        "['background-color', 'color'].map(name => getComputedStyle(document.documentElement).getPropertyValue(name))"
    )
    dark = scheme == "dark"
    assert (sum(json.loads(f"[{ground[4:-1]}]")) < sum(json.loads(f"[{ink[4:-1]}]"))) is dark
    page.close()


@pytest.mark.browser
def test_a_token_is_asked_for_on_the_page(browser: Browser, url: str, settings: Settings) -> None:
    with serving(settings, ServerOptions(token=TOKEN)) as guarded:
        page = browser.new_page()
        page.goto(guarded)
        page.locator("#question").fill(QUESTION)
        page.keyboard.press("Enter")
        page.locator("#token").fill(TOKEN)
        page.keyboard.press("Enter")
        page.locator("#answer", has_text="Peruvian sol").wait_for()
        page.close()
