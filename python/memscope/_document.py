# SPDX-License-Identifier: GPL-3.0-or-later
"""What every answer has: the fields of its JSON as attributes, its text, its files."""
from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Callable, Union

from . import _c
from ._errors import Note
from ._given import usage
from ._library import library, names, text_bytes, written

Path = Union[str, "os.PathLike[str]"]


class Fields(dict[str, Any]):
    """A JSON object whose members are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def from_json(text: bytes | str, objects: Any = Fields) -> Any:
    import json  # takes longer to import than all of this package
    return json.loads(text, object_hook=objects)


class Handle:
    """An object of the C library, which is freed with this one."""

    def __init__(self, pointer: int | None, free: str) -> None:
        self.pointer, self._free = pointer, getattr(library(), free)
        if not pointer:
            raise MemoryError("out of memory")

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)


class Inputs(Handle):
    """The files that a call read, which no answer is written over."""

    def __init__(self) -> None:
        super().__init__(library().ms_inputs_create(), "ms_inputs_free")

    def guard(self, path: Path) -> None:
        found = library().ms_inputs_find(self.pointer, text_bytes(os.fspath(path), "file"))
        if found is not None:
            raise usage(f"{os.fspath(path)} was read in this call, so it is not overwritten")


def write_file(path: Path, data: bytes) -> None:
    """Completely or not at all; a device or a pipe is written in place."""
    name = os.fspath(path)
    try:
        in_place = not stat.S_ISREG(os.stat(name).st_mode)
    except FileNotFoundError:
        in_place = False
    if in_place:
        with open(name, "wb") as file:
            file.write(data)
        return
    name = os.path.realpath(name)
    part = f"{name}.{os.getpid()}-{threading.get_ident()}"
    try:
        with open(part, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, name)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


class Document:
    """An answer. Its fields are those of the JSON that the command writes."""

    _calls: str  # of the C library: "ms_fit" for ms_fit_write, ms_fit_format_at, ...
    _formats = ""  # where the list of formats has another name
    _written: Mapping[str, str] = {}  # files of Python values: what answers call them
    _handle: Handle

    def __init__(self, handle: Handle, inputs: Inputs | None = None) -> None:
        self._handle, self._inputs = handle, inputs
        self._lock = threading.Lock()
        self._format, self._style = "console", _c.ms_style(80, False, False, False)
        self._parsed: Fields | None = None

    # ---- what the library has of it ----

    def _call(self, name: str, *arguments: Any) -> Any:
        return getattr(library(), f"{self._calls}_{name}")(*arguments)

    def _write(self, format: str, style: Any = None) -> bytes:
        """The answer in a format; what was no file has no file's name in it."""
        name = text_bytes(format, "format")
        with self._lock:
            self._call("set_style", self._handle.pointer, ctypes.byref(style or self._style))
            text = written(lambda out, err: self._write_to(name, out, err))
        for path, shown in self._written.items():
            text = text.replace(os.fsencode(path), shown.encode())
        return text

    def _write_to(self, format: bytes, out: Any, err: Any) -> int:
        return int(self._call("write", self._handle.pointer, format, out, err))

    @classmethod
    def formats(cls) -> Sequence[str]:
        """The names that `write` and `save` take."""
        at = getattr(library(), cls._formats or f"{cls._calls}_format_at")
        if at.restype is ctypes.c_char_p:
            return tuple(names(at))
        return tuple(names(lambda index: at(index)[0].name if at(index) else None))

    def _notes(self) -> Iterator[str]:
        return names(lambda index: self._call("note", self._handle.pointer, index))

    # ---- texts and files ----

    def write(self, format: str) -> bytes:
        """The answer in a format."""
        return self._write(format)

    def text(self, format: str | None = None, *, columns: int = 80, color: bool = False,
             unicode: bool = False, chart: bool = False) -> str:
        """The answer as text, laid out for people where the format is for people."""
        return self._write(format or self._format, _c.ms_style(columns, color, unicode, chart)).decode()

    def __str__(self) -> str:
        return self._write(self._format).decode().rstrip("\n")

    def save(self, path: Path, format: str | None = None) -> None:
        """Writes a file, in the format that its name ends in, as -o of the command does."""
        ending = os.path.splitext(os.fspath(path))[1][1:]
        names_of_formats = self.formats()
        chosen = format or (ending if ending in names_of_formats else names_of_formats[0])
        if self._inputs:
            self._inputs.guard(path)
        write_file(path, self._write(chosen))

    # ---- fields ----

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command."""
        return dict(from_json(self._write("json"), dict))

    def _fields(self) -> Fields:
        if self._parsed is None:
            self._parsed = from_json(self._write("json"))
        return self._parsed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = self._fields()
        if name not in fields:
            raise AttributeError(f"{type(self).__name__} has no field {name}; it has {', '.join(fields)}")
        return fields[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields()]

    def __repr__(self) -> str:
        lines = [line.strip() for line in str(self).splitlines() if line.strip()]
        return f"<memscope.{type(self).__name__} {'; '.join(lines[:2])}>"

    def _repr_html_(self) -> str:
        from ._html import plain
        return plain(str(self))

    # ---- options of every command ----

    def _apply(self, own: Mapping[str, Any]) -> None:
        """What the command does with --format, --file, --output, --color, --chart and --quiet."""
        color = own.get("color", "auto")
        if color not in ("auto", "always", "never"):
            raise usage(f"color: no {color!r} (auto, always or never)")
        self._style.color = color == "always" and not own.get("no-color")
        self._style.chart = bool(own.get("chart"))
        self._format = self._known(own.get("format", "console"))
        if "file" in own:
            self.save(own["file"], own.get("format"))
        for format, path in _outputs(own.get("output", {})):
            self.save(path, self._known(format))

    def _known(self, format: str) -> str:
        if format not in self.formats():
            raise usage(f"no format {format!r} ({', '.join(self.formats())})")
        return format

    def _warn(self, own: Mapping[str, Any]) -> None:
        if not own.get("quiet"):
            for note in self._notes():
                warnings.warn(note, Note, stacklevel=3)


OWN = ("format", "file", "output", "color", "no-color", "chart", "quiet")


def _outputs(given: Any) -> Iterator[Any]:
    """Pairs of a format and a path, from {"svg": "x.svg"}, "svg=x.svg" or a list of these."""
    if isinstance(given, Mapping):
        yield from given.items()
        return
    for word in [given] if isinstance(given, str) else given:
        format, equals, path = str(word).partition("=")
        if not equals or not path:
            raise usage("output needs FORMAT=FILE, for example output='json=report.json'")
        yield format, path


# ---- long calls ----

class Watch(Handle):
    """Counts what a call has done, and ends it."""

    def __init__(self) -> None:
        super().__init__(library().ms_watch_create(), "ms_watch_free")

    @property
    def done(self) -> int:
        return int(library().ms_watch_done(self.pointer))

    def stop(self) -> None:
        library().ms_watch_stop(self.pointer)


_told: ContextVar[Callable[[int], Any] | None] = ContextVar("memscope.progress", default=None)
_INTERVAL_S = 0.1


@contextlib.contextmanager
def progress(told: Callable[[int], Any]) -> Iterator[None]:
    """Within a `with`, plan, fit and check call the function about ten times a second, with the number of simulations
    (a check: of budgets) that are done. What it raises ends the call. A sweep has `done` and `total` itself."""
    if not callable(told):
        raise usage(f"progress: found a {type(told).__name__}, expected a function of a number")
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def _wait(done: threading.Event, watch: Watch | None) -> None:
    told = _told.get()
    if told is None or watch is None:
        done.wait()
        return
    while not done.wait(_INTERVAL_S):
        told(watch.done)
    told(watch.done)


def interruptible(call: Callable[[], Any], stop: Callable[[], None], watch: Watch | None = None) -> Any:
    """Runs a long call in a thread of its own, so that Ctrl-C is heard at once: then it is stopped, and its answer
    awaited."""
    done = threading.Event()
    results: list[Any] = []
    faults: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as fault:  # handed over to the caller's thread
            faults.append(fault)
        finally:
            done.set()
    threading.Thread(target=work, daemon=True).start()
    try:
        _wait(done, watch)
    except KeyboardInterrupt:
        stop()
        done.wait()
    except BaseException:
        stop()
        done.wait()
        raise
    if faults:
        raise faults[0]
    return results[0]
