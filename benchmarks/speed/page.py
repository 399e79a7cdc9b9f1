"""How long the page takes from Enter to the drawn answer, beside what the engine takes for the same question.

Run ``python -m benchmarks.speed.page --data FOLDER`` with FB15k-237 loaded; it needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from ..question_sets import gold_questions
from .serving import percentile_ms

WARM_UP = 5
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


def ask(page: Page, question: str) -> tuple[float, float]:
    """Ask a question; seconds from Enter until the answer and its picture stand there, and those of the engine."""
    page.locator("#question").fill(question)
    page.evaluate(
        """() => {
            const status = document.getElementById("status");
            window.drawn = new Promise((done) => {
                let began = 0;
                document.addEventListener("keydown", () => { began = performance.now(); }, { once: true });
                new MutationObserver((_, observer) => {
                    if (!began || status.classList.contains("busy") || !status.textContent.includes("answer")) return;
                    observer.disconnect();
                    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
                }).observe(status, { attributes: true, childList: true, characterData: true, subtree: true });
            });
        }"""
    )
    page.keyboard.press("Enter")
    took_ms, engine_ms = page.evaluate(
        'async () => [await window.drawn, parseInt(document.getElementById("took").textContent.replaceAll(",", ""))]'
    )
    return took_ms / 1000, engine_ms / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with questions-dev.jsonl.gz")
    parser.add_argument("--questions", type=int, default=40)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        parser.error("expected Chromium, found none: install it")
    questions, _ = gold_questions(arguments.data / "questions-dev.jsonl.gz")
    texts = [question.text for question in questions[: arguments.questions]]
    command = [sys.executable, "-m", "lodestar", "serve", "--port", "0"]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS)) as browser,
    ):
        try:
            assert server.stderr is not None
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(120_000)
            page.goto(next(line for line in server.stderr if "http://" in line).split()[1])
            for text in texts[:WARM_UP]:
                ask(page, text)
            found = [ask(page, text) for text in texts]
        finally:
            server.terminate()
    beyond = [took - engine for took, engine in found]
    print(f"n {len(found)}: from Enter to drawn p50 {percentile_ms([took for took, _ in found], 50):,.0f} ms")
    print(
        f"beyond the engine's own time: p50 {percentile_ms(beyond, 50):,.0f}, p95 {percentile_ms(beyond, 95):,.0f} ms"
    )


if __name__ == "__main__":
    main()
