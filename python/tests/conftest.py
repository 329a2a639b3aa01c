"""Fixtures: examples of the repository, and a small scenario with packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wayleave as wl


@pytest.fixture(scope="session")
def examples() -> Path:
    """Returns the folder of the example files."""
    return Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture
def scenario() -> dict[str, Any]:
    """Returns a scenario of about a thousand packets on a star, which takes milliseconds."""
    return {
        "name": "loads",
        "topology": "star:hosts=4,rate=1Gbit",
        "duration": "5ms",
        "traffic": [{"name": "web", "load": 0.5, "sizes": "20kB"}],
    }


@pytest.fixture(scope="session")
def fat_tree() -> wl.Network:
    return wl.Network.fat_tree(k=4)


@pytest.fixture(scope="session")
def plan(fat_tree: wl.Network) -> wl.Plan:
    """Returns twenty contracts that all fit."""
    return wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, count=20))
