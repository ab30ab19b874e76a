# SPDX-License-Identifier: GPL-3.0-or-later
"""One class for each exit status of the command."""
from __future__ import annotations

from typing import Any, ClassVar


class _Fields:
    """What is known of a failure; the text is one sentence."""

    exit_status: ClassVar[int]
    text: str
    status: str  # "MS_ERR_CONFIG", ...: the names of memscope/error.h
    file: str  # "" when it is not about a file
    line: int  # from 1; 0 when there is no place
    column: int  # in characters, from 1
    pointer: str  # RFC 6901 path into the file, or the name of an option
    excerpt: str  # the line of the file
    more: tuple[str, ...]  # what else is refused of the same input, with its places

    def _fill(self, text: str, status: str, file: str, line: int, column: int, pointer: str,
              excerpt: str, more: tuple[str, ...]) -> None:
        self.more = more
        self.text, self.status, self.file = text, status, file
        self.line, self.column, self.pointer, self.excerpt = line, column, pointer, excerpt

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: "
        pointer = f"{self.pointer}: " if self.pointer else ""
        return "\n".join(((place if self.file else "") + pointer + self.text, *self.more))


class MemscopeError(_Fields, Exception):
    """Any failure but an interruption."""

    def __init__(self, text: str, status: str = "", file: str = "", line: int = 0, column: int = 0,
                 pointer: str = "", excerpt: str = "", more: tuple[str, ...] = ()) -> None:
        super().__init__(text, status, file, line, column, pointer, excerpt, more)
        self._fill(text, status, file, line, column, pointer, excerpt, more)


class DoesNotFitError(MemscopeError):
    """A device is full (exit status 1)."""

    exit_status = 1


class InputError(MemscopeError, ValueError):
    """Bad usage or input, or a file that cannot be read or written (exit status 2)."""

    exit_status = 2


class InfeasibleError(MemscopeError):
    """No plan was found that fits (exit status 3); `plan` is the answer that the command writes."""

    exit_status = 3
    plan: Any | None = None


class InternalError(MemscopeError):
    """An internal fault, or no memory (exit status 70)."""

    exit_status = 70


class Stopped(_Fields, KeyboardInterrupt):
    """Ctrl-C (exit status 130); `plan` is the best one found by then. No MemscopeError, so that a
    loop that catches those ends."""

    exit_status = 130
    plan: Any | None = None

    def __init__(self, text: str, status: str = "", file: str = "", line: int = 0, column: int = 0,
                 pointer: str = "", excerpt: str = "", more: tuple[str, ...] = ()) -> None:
        super().__init__(text, status, file, line, column, pointer, excerpt, more)
        self._fill(text, status, file, line, column, pointer, excerpt, more)


class Note(UserWarning):
    """A sentence about an accepted input that a user should know."""


CLASSES: dict[int, Any] = {1: DoesNotFitError, 2: InputError, 3: InfeasibleError, 70: InternalError, 130: Stopped}


for _class in (*CLASSES.values(), MemscopeError, Note):
    _class.__module__ = "memscope"
