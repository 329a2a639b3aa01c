"""Checks of function arguments before they reach the library: an error names the argument and the expected form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from wayleave._errors import InputError
from wayleave._wayleave import Network


def kind(value: object) -> str:
    """Describes a value, for messages."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def whole(name: str, value: Any, least: int = 0) -> int:
    """Returns a whole number in 64 bits, which may be NumPy's."""
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number < 2**64:
        raise InputError(f"{name}: a whole number from {least} is expected: this is {value!r}")
    return number


def names(argument: str, values: Any, example: str) -> list[str]:
    """Returns a list of texts; a single text is refused, and so is a dictionary."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{argument}: a list of names is expected, such as {example}: this is {kind(values)}")
    listed = list(values)
    wrong = next((value for value in listed if not isinstance(value, str)), None)
    if wrong is not None:
        raise InputError(f"{argument}: a list of names is expected, such as {example}: {wrong!r} is {kind(wrong)}")
    return listed


def seeds(values: Any) -> list[int]:
    """Returns different seeds; a number is their count: 3 is 1, 2 and 3."""
    if isinstance(values, int) or (hasattr(values, "item") and getattr(values, "ndim", None) == 0):
        return list(range(1, whole("seeds", values, least=1) + 1))
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"seeds: a number of seeds, or a list such as [1, 2, 5], is expected: this is {kind(values)}")
    chosen = [whole(f"seeds[{index}]", seed) for index, seed in enumerate(values)]
    known: set[int] = set()
    for index, seed in enumerate(chosen):
        if seed in known:
            raise InputError(
                f"seeds[{index}]: {seed} is listed twice: runs with the same seed are identical, and would count twice in every mean"
            )
        known.add(seed)
    return chosen


def grid(given: Any) -> list[tuple[str, list[Any]]]:
    """Returns paths with their values in a sweep, each value once."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise InputError(f'grid: a dictionary of lists is expected, such as {{"traffic.web.load": [0.2, 0.8]}}: this is {kind(given)}')
    paths = []
    for path, values in given.items():
        if not isinstance(path, str):
            raise InputError(f'grid: paths are texts, such as "traffic.web.load": {path!r} is {kind(path)}')
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise InputError(f'grid: a list of values is expected for "{path}", such as [{values!r}]: this is {kind(values)}')
        listed = list(values)
        for index, value in enumerate(listed):
            if isinstance(value, (str, int, float)) and any(type(value) is type(other) and value == other for other in listed[:index]):
                raise InputError(f'grid: {value!r} is in the values of "{path}" twice: its runs would count twice in every mean')
        paths.append((path, listed))
    return paths


def text_of(what: str, value: object, **layout: Any) -> str:
    """Converts a value of a program to JSON, with NumPy's numbers and paths as Python's. Any other object is an error, and not converted to text."""

    def plain(other: Any) -> Any:
        if isinstance(other, os.PathLike):
            return os.fspath(other)
        if hasattr(other, "tolist"):  # NumPy
            return other.tolist()
        where = ' belongs below `topology` of a scenario, or into the values of "topology" of a grid' if isinstance(other, Network) else ""
        raise InputError(
            f"{what}: {kind(other)} is not allowed here{where}: texts, numbers, lists and dictionaries are expected: {other!r}"
        )

    try:
        return json.dumps(value, default=plain, **layout)
    except (TypeError, ValueError) as error:  # Keys that are not texts, and lists that contain themselves.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what}: this cannot be written as JSON: {error}") from error


def placed(networks: dict[str, str], value: Any) -> Any:
    """Returns a value of ``topology``; a network becomes a file of `networks`, under its name."""
    if not isinstance(value, Network):
        return value
    text, name, number = value.to_yaml(), f"{value.name}.yaml", 1
    while networks.get(name, text) != text:
        number += 1
        name = f"{value.name}-{number}.yaml"
    networks[name] = text
    return {"file": name}
