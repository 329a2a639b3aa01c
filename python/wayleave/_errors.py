"""Exceptions, with file, line and advice."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """A single problem of an input."""

    message: str
    """Cause and expected form, in one sentence."""
    file: str
    """File, or the name of the text."""
    line: int | None
    """Line from 1; ``None`` for a file as a whole."""
    column: int | None
    """Column from 1, in characters."""
    hint: str | None
    """Advice, if the message has none."""
    context: str | None
    """Enclosing object, such as ``contract "robot"``."""


class Error(Exception):
    """An operation of Wayleave ended without a result; the text contains advice."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self._problems = problems

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems of files, each with its place."""
        return self._problems

    def __reduce__(self) -> tuple[type[Error], tuple[str, tuple[Problem, ...]]]:
        return type(self), (str(self), self.problems)

    @property
    def file(self) -> str | None:
        """Returns the file of the first problem."""
        return self.problems[0].file if self.problems else None

    @property
    def line(self) -> int | None:
        """Returns the line of the first problem, from 1."""
        return self.problems[0].line if self.problems else None

    @property
    def column(self) -> int | None:
        """Returns the column of the first problem, from 1."""
        return self.problems[0].column if self.problems else None

    @property
    def hint(self) -> str | None:
        """Returns the advice of the first problem that has a hint."""
        return next((problem.hint for problem in self.problems if problem.hint), None)


class InputError(Error, ValueError):
    """A file, a text or an argument is invalid: another one may succeed."""


class OperationError(Error, RuntimeError):
    """An environment failure: a file could not be written, or a machine has too little memory."""


# Tracebacks, pickles and documentation use the public names.
for _public in (Problem, Error, InputError, OperationError):
    _public.__module__ = "wayleave"
