"""Output in notebooks: pages of HTML with self-contained pictures."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import wayleave as wl

SVG = "{http://www.w3.org/2000/svg}svg"


class Page(HTMLParser):
    """Counts open elements, and collects pictures, cells and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[str] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == [], f"{self.open} are not closed"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        source = dict(attrs).get("src") or ""
        assert tag == "img" and source.startswith("data:image/svg+xml,")
        self.pictures.append(unquote(source.partition(",")[2]))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def of(shown: Any) -> Page:
    return Page(shown._repr_html_())


def drawn(picture: str) -> ElementTree.Element:
    root = ElementTree.fromstring(picture)
    assert root.tag == SVG and root.get("viewBox")
    return root


def test_a_network_is_drawn_with_its_nodes_and_cables() -> None:
    (picture,) = of(wl.Network.leaf_spine(2, 2, 3)).pictures
    shapes = [element.tag.rpartition("}")[2] for element in drawn(picture).iter()]
    assert shapes.count("rect") >= 10 and shapes.count("line") == 10
    assert "leaf2" in picture and "h6" in picture
    big = wl.Network.fat_tree(k=12)
    assert big.picture() is None and of(big).pictures == []


def test_plans_verifications_runs_sweeps_and_figures_have_pictures(plan: wl.Plan, scenario: dict[str, Any]) -> None:
    sweep = wl.sweep(scenario, {"traffic.web.load": [0.2, 0.6]}, seeds=[1, 2])
    for shown in (plan, plan.verify(effort="quick"), wl.simulate(scenario), sweep):
        page = of(shown)
        assert page.pictures, shown
        for picture in page.pictures:
            # It has its own colours, in light and in dark.
            assert "prefers-color-scheme" in picture
            assert len(list(drawn(picture).iter())) > 20
        assert page.text
    dots = [element for element in drawn(of(plan).pictures[0]).iter() if element.tag.endswith(("circle", "path"))]
    assert len(dots) >= len(plan.admitted)


def test_texts_of_files_are_shown_and_not_interpreted(tmp_path: Path) -> None:
    rows = [{"name": "a", "tenant": "x", "from": "h1", "to": "h2", "rate": "1Mbit", "burst": "1500B", "deadline": "5ms"}]

    class Scornful:
        def admit(self, request: wl.Request) -> wl.Refuse:
            return wl.Refuse("<script>alert('&')</script>")

    plan = wl.plan("star:hosts=2", rows, scheme=Scornful())
    assert "<script>" not in plan._repr_html_()
    assert any("<script>alert('&')</script>" in cell for cell in of(plan).cells)
    assert "script>" not in of(wl.explain("star:hosts=2", rows, "a", scheme=Scornful())).open


def test_a_long_table_is_shown_truncated(fat_tree: wl.Network) -> None:
    page = of(fat_tree.links)
    assert f"20 of {len(fat_tree.links)} rows" in page.text
    assert f"wayleave {wl.__version__}" in page.text


@pytest.mark.parametrize("name", ["network", "analysis", "explanation"])
def test_everything_else_is_shown_as_well(name: str, plan: wl.Plan, examples: Path) -> None:
    shown = {
        "network": wl.Network.star(2).links,
        "analysis": wl.analyze(plan),
        "explanation": wl.explain(examples / "network.yaml", examples / "contracts.yaml", "backup"),
    }[name]
    assert len(of(shown).text) > 40
