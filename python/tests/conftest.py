"""What several tests need: the examples of the repository, and a small scenario in which packets flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wayleave as wl


@pytest.fixture(scope="session")
def examples() -> Path:
    """The files that the repository's documents use."""
    return Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture
def scenario() -> dict[str, Any]:
    """Some thousand packets on a star, in milliseconds of this machine."""
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
    """Twenty contracts that all fit."""
    return wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, count=20))
