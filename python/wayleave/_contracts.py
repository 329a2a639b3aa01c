"""Contracts in any form that a program has."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from wayleave._arguments import kind, text_of
from wayleave._errors import InputError
from wayleave._wayleave import Contracts, Network, Table

__all__ = ["Contracts", "contracts"]


def contracts(what: Any, network: Network, *, name: str = "contracts") -> Contracts:
    """Contracts from a file, several files, rows, or a table.

    ``what`` is a path or a list of paths (YAML, JSON or CSV); a list of dictionaries with the keys of such files, one for each contract; a
    DataFrame of pandas or polars or a table of pyarrow with these columns; or contracts already, which are returned as they are.
    """
    if isinstance(what, Contracts):
        return what
    if isinstance(what, (str, os.PathLike)):
        return Contracts._read([os.fspath(what)], network)
    rows = _rows(what)
    if rows is None:
        expected = "a path, a list of paths, a list of dictionaries with one for each contract, or a table"
        raise InputError(f"contracts: {expected} is expected: this is {kind(what)}")
    paths = [os.fspath(row) for row in rows if isinstance(row, (str, os.PathLike))]
    if paths and len(paths) == len(rows):
        return Contracts._read(paths, network)
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError("contracts: a list has paths, or dictionaries such as {'name': 'robot', 'from': 'h1', 'to': 'h5', ...}")
    document = {
        "apiVersion": "wayleave/v1",
        "kind": "Contracts",
        "metadata": {"name": name},
        "spec": {"contracts": [_present(row) for row in rows]},
    }
    return Contracts._parse([(name, text_of("contracts", document, indent=1))], network)


def _rows(what: Any) -> list[Any] | None:
    """Returns the rows of a list or of a table; ``None`` for any other object."""
    if hasattr(what, "to_pylist"):  # pyarrow
        return list(what.to_pylist())
    if hasattr(what, "to_dicts"):  # polars
        return list(what.to_dicts())
    if hasattr(what, "to_dict") and hasattr(what, "columns"):  # pandas
        return list(what.to_dict("records"))
    # Iterating a dictionary would give its keys, which would be taken for paths.
    if isinstance(what, Iterable) and not isinstance(what, (Mapping, bytes, Table)):
        return list(what)
    return None


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a row without its empty cells: tables have a cell in every column."""

    def is_empty(value: Any) -> bool:
        # The last ones are from pandas, which is not imported for this.
        return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")

    return {key: value for key, value in row.items() if not is_empty(value)}
