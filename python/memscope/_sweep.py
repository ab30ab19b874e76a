# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.sweep"""
from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Callable

from . import _c
from ._document import Fields, Handle, Inputs, from_json
from ._given import Given, text_of, usage
from ._library import check, fault_of, library, names, new_error, text_bytes, written
from ._plan import own_fields
from ._program import run, words_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import SweepOptions

_ROWS_AHEAD = 256
_LISTS_WITHIN = ("treat", "lora")  # values that contain commas


class _Work:
    """A sweep that runs in a thread of its own, until nobody wants its rows. The thread knows this
    object alone, so that a Sweep that is forgotten ends it."""

    def __init__(self, given: Given) -> None:
        import queue
        self.given, self.inputs = given, Inputs()
        self.handle = Handle(library().ms_sweep_create(), "ms_sweep_free")
        self.rows: queue.Queue[Any] = queue.Queue(_ROWS_AHEAD)
        self.full = queue.Full
        self.is_closed, self.thread = False, threading.Thread(target=self._run, daemon=True)
        library().ms_sweep_set_inputs(self.handle.pointer, self.inputs.pointer)
        own = dict.fromkeys(own_fields("ms_sweep_fields"), "ms_sweep_set")
        given.options["format"] = "jsonl"
        given.set(self.handle.pointer, own, "ms_sweep_set_run")
        err = new_error()
        check(library().ms_sweep_open(self.handle.pointer, ctypes.byref(err)), err)

    def progress(self) -> Any:
        return library().ms_sweep_progress_of(self.handle.pointer)[0]

    def put(self, row: Any) -> bool:
        """False once nobody takes rows any more."""
        while not self.is_closed:
            try:
                self.rows.put(row, timeout=0.1)
                return True
            except self.full:
                pass
        return False

    def close(self) -> None:
        """Ends the sweep once the points in progress are computed."""
        if not self.is_closed:
            self.is_closed = True
            library().ms_sweep_stop(self.handle.pointer)
            if self.thread.ident and self.thread is not threading.current_thread():
                self.thread.join()
            self.given.close()

    # ---- in the thread ----

    def _run(self) -> None:
        try:
            if library().ms_sweep_get(self.handle.pointer, b"frontier"):
                self._frontier()
            else:
                self._sweep(self._put_text)
            self.put(None)
        except BaseException as fault:  # handed over to whoever takes the rows
            self.put(fault)

    def _put_text(self, text: bytes) -> bool:
        return self.put(from_json(text))

    def _sweep(self, take: Callable[[bytes], bool]) -> None:
        faults: list[BaseException] = []

        def on_row(_context: Any, row: int, length: int, err: Any) -> int:
            try:
                if take(ctypes.string_at(row, length)):
                    return 0
            except BaseException as fault:  # none may pass through the library
                faults.append(fault)
            err[0].status = 12
            return 12
        err = new_error()
        library().ms_sweep_run(self.handle.pointer, _c.ms_sweep_take(on_row), None, ctypes.byref(err))
        if faults:
            raise faults[0]
        if err.status and not self.is_closed:
            raise fault_of(err)

    def _frontier(self) -> None:
        """The rows that fit and that no other beats: known once all are."""
        from tempfile import NamedTemporaryFile
        with NamedTemporaryFile(prefix="memscope-", suffix=".jsonl") as file:
            self._sweep(lambda text: not self.is_closed and file.write(text) > 0)
            file.flush()
            objectives = library().ms_sweep_get(self.handle.pointer, b"objectives")
            rows = library().fopen(text_bytes(file.name, "file"), b"r")
            try:
                text = written(lambda out, err: library().ms_sweep_frontier(rows, b"rows", objectives, out, err))
            finally:
                library().fclose(rows)
        for line in text.splitlines():
            self._put_text(line)


class Sweep(Iterator[Fields]):
    """The rows of a sweep, computed while they are taken, in the order of the points. A row has the
    columns of the command as attributes."""

    def __init__(self, work: _Work | None, rows: Iterable[Fields] = ()) -> None:
        self._work, self._read = work, list(rows)
        self._taken = 0

    @property
    def total(self) -> int:
        """Rows that there will be; fewer with frontier=True."""
        return int(self._work.progress().rows) if self._work else len(self._read)

    @property
    def done(self) -> int:
        """Rows that are computed."""
        return int(self._work.progress().done) if self._work else len(self._read)

    @property
    def errors(self) -> int:
        """Of those, the ones without figures: their `error` says why."""
        return int(self._work.progress().errors) if self._work else sum(row.status != "ok" for row in self._read)

    def __iter__(self) -> Sweep:
        return self

    def __next__(self) -> Fields:
        row = self._next_read() if not self._work else self._next_computed(self._work)
        if isinstance(row, Fields):
            return row
        self.close()
        if isinstance(row, BaseException):
            raise row
        raise StopIteration

    def _next_read(self) -> Fields | None:
        self._taken += 1
        return self._read[self._taken - 1] if self._taken <= len(self._read) else None

    def _next_computed(self, work: _Work) -> Any:
        if work.is_closed:
            return None
        if not work.thread.ident:
            work.thread.start()
        try:
            return work.rows.get()
        except KeyboardInterrupt:
            self.close()
            raise

    def close(self) -> None:
        """Ends the sweep once the points in progress are computed."""
        if self._work:
            self._work.close()

    def __del__(self) -> None:
        if getattr(self, "_work", None):
            self.close()

    def __enter__(self) -> Sweep:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def to_pandas(self) -> Any:
        """The rows that are left as a DataFrame, whose columns are those of the command."""
        import pandas
        return pandas.DataFrame.from_records(list(self))


# ---- the call ----

def _list_text(given: Given, option: str, values: Iterable[Any]) -> str:
    if option == "config":
        texts = [given.config_text(value) for value in values]
    else:
        texts = [text_of(option, value) for value in values]
    separator = ";" if option in _LISTS_WITHIN or any("," in text for text in texts) else ","
    return separator.join(texts)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, range, set, frozenset))


def _make(given: Given) -> Sweep:
    own = given.take("file", "resume", "quiet")
    known = list(names(library().ms_sweep_format_at))
    if given.options.get("format", known[0]) not in known:
        raise usage(f"no format {given.options['format']!r} ({', '.join(known)})")
    for option, value in given.options.items():
        if _is_list(value):
            given.options[option] = _list_text(given, option, value)
    if own.get("resume") and "file" not in own:
        raise usage("resume continues the file of file=, which is not given")
    return _sweep_to_file(given, own) if "file" in own else Sweep(_Work(given))


def sweep(*config: Any, **options: Unpack[SweepOptions]) -> Sweep:
    """Predicts many runs: an iterator of rows, one for each combination of values.

    The keywords are the options of `memscope sweep`: memscope.options("sweep") lists them. Those of a
    run take lists: batch=[1, 2, 4], seq="1024:131072:*2"; so does the config. With file= the command
    writes the rows there first."""
    several = len(config) == 1 and _is_list(config[0])
    given = Given((), {"config": config[0], **options}) if several else Given(config, options)
    try:
        return _make(given)
    except BaseException as error:
        given.__exit__(type(error), error, None)
        raise


# ---- rows in a file ----

def _sweep_to_file(given: Given, own: dict[str, Any]) -> Sweep:
    path = os.fspath(own["file"])
    words = words_of(given, ("ignore-sharding", "frontier"))
    words += [f"--file={path}", *(["--resume"] if own.get("resume") else [])]
    with given:
        run(["sweep", *words, "--quiet"], shows=False, good=(0, 1))
    is_csv = given.options.get("format", "jsonl" if path.endswith(".jsonl") else "csv") == "csv"
    with open(path, encoding="utf-8", newline="") as file:
        return Sweep(None, _rows_of_csv(file) if is_csv else _rows_of_lines(file))


def _rows_of_lines(lines: Iterable[str]) -> list[Fields]:
    return [from_json(line) for line in lines]


def _rows_of_csv(lines: Iterable[str]) -> list[Fields]:
    import csv
    return [Fields((name, _value_of(text)) for name, text in row.items()) for row in csv.DictReader(lines)]


def _value_of(text: str) -> Any:
    """A cell as the JSON lines have it."""
    if text in ("", "true", "false"):
        return {"": None, "true": True, "false": False}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


__all__ = ["Sweep", "sweep"]
