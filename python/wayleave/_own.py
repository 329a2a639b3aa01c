"""Hashes of schemes and transports of a program, so that tables of different ones have different provenance."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from typing import Any


def code_hash(instance: Any) -> str:
    """Returns the hash of an object's code and state, or the reason why it has none.

    Code is the whole file of its class, with everything in that file, and the sources of its base classes. Imported modules are not
    covered: a program of several files, or another version of a package, may have an equal hash.
    """
    digest = hashlib.sha256()
    try:
        for part in _sources(type(instance)):
            digest.update(len(part).to_bytes(8, "little") + part)
    except (OSError, TypeError):
        return "not hashed: its source is not at hand"
    try:
        state = pickle.dumps(instance)
    except Exception:  # Any exception of a program's `__reduce__`.
        return "not hashed: its state cannot be pickled"
    digest.update(state)
    return digest.hexdigest()[:16]


def _sources(kind: type) -> list[bytes]:
    parts = []
    for base in kind.__mro__:
        if base.__module__ in sys.builtin_module_names or base.__module__ == "typing":
            continue
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        # In a notebook the file is unknown, but the cell of the class is known.
        source = inspect.getsource(module) if module is not None and file else inspect.getsource(base)
        parts.append(f"{base.__module__}.{base.__qualname__}\n{source}".encode())
    return parts
