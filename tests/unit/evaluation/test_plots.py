"""The plots of a report: well formed, and every mark where its figure says, inside the frame."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest
from lodestar.engine.evaluation import page as plots

SVG = "{http://www.w3.org/2000/svg}"


def figure(mean: float, low: float, high: float) -> dict[str, float]:
    return {"mean": mean, "low": low, "high": high, "n": 1_200}


def drawn(text: str) -> Xml.Element:
    root = Xml.fromstring(text)
    for tag, x, y in (("circle", "cx", "cy"), ("rect", "x", "y")):
        for mark in root.iter(f"{SVG}{tag}"):
            assert 0 <= float(mark.attrib[x]) <= 374
            assert 0 <= float(mark.attrib[y]) <= 230
    return root


def test_bars_are_as_high_as_their_means() -> None:
    by_hops = {
        hops: {"strict/hits_at_1": figure(mean, 0, 1), "path/hits_at_1_any": figure(1.0, 1, 1)}
        for hops, mean in (("1", 0.5), ("2", 0.25))
    }
    root = drawn(plots.draw_hits_by_hops(by_hops))
    heights = [float(bar.attrib["height"]) for bar in root.iter(f"{SVG}rect") if float(bar.attrib["width"]) > 8]
    assert [height / max(heights) for height in heights] == pytest.approx([0.5, 0.25, 1, 1], abs=0.01)
    assert "1 (1,200)" in "".join(root.itertext())


def test_rows_are_as_long_as_their_shares_and_names_stay_text() -> None:
    root = drawn(plots.draw_misses({"<pruned>": {"share": 0.6, "num": 6}, "failed": {"share": 0.3, "num": 3}}))
    widths = [float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect")]
    assert widths[1] / widths[0] == pytest.approx(2, abs=0.02)
    assert "<pruned>" in "".join(root.itertext())
    stages = {"link": {"p50_s": 0.0, "p95_s": 0.0}}
    assert "link" in "".join(drawn(plots.draw_latency_by_stage(stages)).itertext())


def test_curves_have_a_point_for_each_figure() -> None:
    figures = {f"path/{kind}_recall@{k}": figure(0.5, 0.4, 0.6) for kind in ("answer", "path") for k in (1, 5, 10)}
    root = drawn(plots.draw_recall_by_k(figures))
    assert len(list(root.iter(f"{SVG}circle"))) == 6
    assert len({circle.attrib["cx"] for circle in root.iter(f"{SVG}circle")}) == 3


def test_points_of_calibration_and_risk() -> None:
    bins = [{"num": 5, "mean_confidence": 0.5, "share_right": 0.75}]
    (dot,) = drawn(plots.draw_calibration(bins)).iter(f"{SVG}circle")
    assert (float(dot.attrib["cx"]), float(dot.attrib["cy"])) == pytest.approx((203, 66.5), abs=0.1)
    curve = [{"coverage": 0.5, "risk": 0.1, "confidence": 0.9}, {"coverage": 1.0, "risk": 0.3, "confidence": 0.1}]
    kept = {"threshold": 0.5, "kept": 0.8}
    asked = {"n": 9, "num_unanswerable": 2, "curve": curve, "false_answers": kept}
    root = drawn(plots.draw_risk_coverage(asked))
    assert "80% of the right answers" in "".join(root.itertext())
    assert len(list(root.iter(f"{SVG}circle"))) == 1
