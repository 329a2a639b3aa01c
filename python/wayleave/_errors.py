"""What goes wrong, as exceptions: which file, which line, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong with an input."""

    message: str
    """What is wrong and what was expected, in one sentence."""
    file: str
    """The file, or the name of the text."""
    line: int | None
    """From 1; ``None`` for a file as a whole."""
    column: int | None
    """In characters, from 1."""
    hint: str | None
    """What to do about it, where the message does not say so."""
    context: str | None
    """What it is part of, such as ``contract "robot"``."""


class Error(Exception):
    """An operation of Wayleave ended without a result; the text says what to do."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self._problems = problems

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong with files, each with its place."""
        return self._problems

    def __reduce__(self) -> tuple[type[Error], tuple[str, tuple[Problem, ...]]]:
        return type(self), (str(self), self.problems)

    @property
    def file(self) -> str | None:
        """The file of the first problem."""
        return self.problems[0].file if self.problems else None

    @property
    def line(self) -> int | None:
        """The line of the first problem, from 1."""
        return self.problems[0].line if self.problems else None

    @property
    def column(self) -> int | None:
        """The column of the first problem, from 1."""
        return self.problems[0].column if self.problems else None

    @property
    def hint(self) -> str | None:
        """What to do about the first problem that has a hint."""
        return next((problem.hint for problem in self.problems if problem.hint), None)


class InputError(Error, ValueError):
    """A file, a text or an argument is wrong: another one would help."""


class OperationError(Error, RuntimeError):
    """Something that should work did not: a file could not be written, a machine has too little memory."""


# Tracebacks, pickles and documentation call them what programs call them.
for _public in (Problem, Error, InputError, OperationError):
    _public.__module__ = "wayleave"
