"""Errors of an input have its file, its line and advice."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import wayleave as wl


def test_a_wrong_file_is_reported_with_line_column_and_hint(tmp_path: Path, examples: Path) -> None:
    file = tmp_path / "contracts.yaml"
    file.write_text((examples / "contracts.yaml").read_text().replace("to: h5, rate: 300Mbit", "to: h55, rate: 300Mbit"))
    with pytest.raises(wl.InputError) as raised:
        wl.plan(examples / "network.yaml", file)
    error = raised.value
    assert (error.file, error.line) == (str(file), 7)
    line = file.read_text().splitlines()[6]
    assert error.column == line.index("h55") + 1
    assert error.hint is not None and "h1, h2, h3" in error.hint
    assert error.problems[0].context == 'contract "video"'
    assert f"{file}:7:" in str(error) and line.strip() in str(error)
    assert isinstance(error, ValueError) and isinstance(error, wl.Error)


def test_all_errors_are_reported_at_once(examples: Path) -> None:
    rows = [{"name": name, "from": "h1", "to": "nobody", "rate": "fast", "burst": "1kB", "deadline": "1ms"} for name in "ab"]
    with pytest.raises(wl.InputError) as raised:
        wl.plan(examples / "network.yaml", rows)
    assert [problem.context for problem in raised.value.problems] == ['contract "a"'] * 2 + ['contract "b"'] * 2


def test_a_missing_file_is_named(tmp_path: Path, fat_tree: wl.Network) -> None:
    missing = str(tmp_path / "missing.yaml")
    for ask in (
        lambda: wl.plan(fat_tree, missing),
        lambda: wl.Network.read(missing),
        lambda: wl.simulate(missing),
        lambda: wl.sweep(missing),
        lambda: wl.analyze(missing),
    ):
        with pytest.raises(wl.InputError, match="no such file") as raised:
            ask()
        assert (raised.value.file, raised.value.line) == (missing, None)


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda s: wl.Network("fat-tree:k=3"), "k is 3: expected an even number from 2 to 64"),
        (lambda s: wl.Network.fat_tree(4, quees=3), 'did you mean "queues"'),
        (lambda s: wl.plan(3, []), "this is an int"),  # type: ignore[arg-type]
        (lambda s: wl.plan("star:hosts=3", 3), "contracts: a path"),
        (lambda s: wl.plan("star:hosts=3", [], scheme="chamelon"), "expected chameleon"),
        (lambda s: wl.plan("star:hosts=3", [], scheme="chameleon", foo=3), "no parameter foo"),
        (lambda s: wl.plan("star:hosts=3", [], model="mine"), "none of default, published"),  # type: ignore[arg-type]
        (lambda s: wl.explain("star:hosts=3", [], "robot"), "no contract"),
        (lambda s: wl.verify("star:hosts=3", [], effort="much"), "none of quick, usual, long"),  # type: ignore[arg-type]
        (lambda s: wl.simulate(3), "this is an int"),
        (lambda s: wl.simulate({**s, "sweep": {"seeds": [1, 2], "vary": {"duration": ["1ms", "2ms"]}}}), "wayleave.sweep does them all"),
        (lambda s: wl.simulate(s, seed=-1), "seed: a whole number from 0"),
        (lambda s: wl.sweep(s, seeds=[0, -1]), r"seeds\[1\]: a whole number from 0"),
        (lambda s: wl.sweep(s, threads=0), "threads: a whole number from 1"),
        (lambda s: wl.sweep(s, {"duration": "1ms"}), "such as \\['1ms'\\]"),
        (lambda s: wl.sweep(s, {"traffic.web.load": []}), "a list without values"),
        (lambda s: wl.sweep(s, {"traffic.web.lod": [0.5]}), 'unknown key "lod", did you mean "load"'),
        (lambda s: wl.reproduce("fig0"), "wayleave.figures"),
        (lambda s: wl.Refuse("no", "BORED"), "none of NO_PATH"),  # type: ignore[arg-type]
        (lambda s: wl.Network.fat_tree().shortest_paths("h1", "h1x"), 'there is no node "h1x"'),
    ],
)
def test_a_wrong_argument_is_reported_with_the_expected_form(ask: Any, expected: str, scenario: dict[str, Any]) -> None:
    with pytest.raises(wl.InputError, match=expected):
        ask(scenario)


def test_an_error_of_a_grid_has_no_line_of_the_file(examples: Path) -> None:
    file = str(examples / "scenario-sweep.yaml")
    with pytest.raises(wl.InputError) as raised:
        wl.sweep(file, {"traffic.web.lod": [0.5]})
    assert raised.value.file == f"{file} with a grid"


def test_hints_name_arguments(examples: Path) -> None:
    with pytest.raises(wl.InputError) as raised:
        wl.Network.read(examples / "coast.gml")
    assert raised.value.hint is not None and 'default_rate="10Gbit"' in raised.value.hint
    assert "--" not in raised.value.hint


def test_an_error_from_another_process_is_complete(examples: Path) -> None:
    with pytest.raises(wl.InputError) as raised:
        wl.plan(examples / "network.yaml", examples / "network.yaml")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (type(copy), str(copy), copy.problems) == (wl.InputError, str(raised.value), raised.value.problems)
