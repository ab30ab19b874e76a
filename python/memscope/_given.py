# SPDX-License-Identifier: GPL-3.0-or-later
"""What a call is given, as the command would be: options with texts, and files for Python values."""
from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _objects
from ._errors import InputError, MemscopeError, Stopped
from ._library import check, library, new_error, text_bytes

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

# Options that are files, and may be given as Python values.
_FILES = {"config", "training-args", "adapter", "plan", "calibration", "graph", "ops", "runs", "budgets"}


def usage(text: str) -> InputError:
    return InputError(text, "MS_ERR_USAGE")


def option_of(keyword: str) -> str:
    return keyword.replace("_", "-")


def as_json(value: Any) -> str:
    """Sets as lists, what JSON does not know as its text ("torch.bfloat16" as "bfloat16"), and numbers that are not
    finite as transformers writes them."""
    import json

    def other(item: Any) -> Any:
        if isinstance(item, (set, frozenset)):
            return sorted(item, key=str)
        return str(item).removeprefix("torch.")
    try:
        return json.dumps(_finite(value), default=other)
    except (ValueError, RecursionError) as error:  # it holds itself
        raise usage(f"cannot be written as JSON: {error}") from None


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"__float__": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, (list, tuple)) else value


@functools.cache
def _flags() -> frozenset[str]:
    """Options without a value; any other that is a truth is yes or no."""
    found = set()
    for name in ("ms_run_fields", "ms_plan_fields", "ms_sweep_fields"):
        count = ctypes.c_size_t()
        rows = getattr(library(), name)(ctypes.byref(count))
        found |= {row.name.decode() for row in rows[:count.value] if row.value_name is None}
    return frozenset(found)


def text_of(option: str, value: Any) -> str:
    """A value as the command line has it: lists separated by commas, mappings as r=16,targets=all."""
    if isinstance(value, bool):
        truths = ("false", "true") if option in _flags() else ("no", "yes")
        return truths[value]
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Mapping):
        return ",".join(f"{key}={text_of(option, item)}" for key, item in value.items())
    if option == "launch" and isinstance(value, Iterable):
        import shlex
        return shlex.join(map(str, value))
    if isinstance(value, Iterable):
        return ",".join(text_of(option, item) for item in value)
    text = str(value)
    if text.startswith("torch."):  # a torch.dtype
        return text[6:]
    raise usage(f"{option}: found a {type(value).__name__}, expected a text, a number, a path or a list")


class Given:
    """Options of one call. Files that Python values are written to are gone after the `with`."""

    def __init__(self, objects: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        self.options: dict[str, Any] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self.written: dict[str, str] = {}  # files of Python values: what they were given as
        named = {option_of(keyword): value for keyword, value in options.items() if value is not None}
        self._named = set(named)
        for value in objects:
            self._take(value)
        if "config" in named:
            self.once("config", named.pop("config"))
        self.options.update(named)
        if not isinstance(self.options.get("optimizer", ""), (str, list, tuple)):
            self._named.discard("optimizer")
            self._merge(_objects.of_optimizer(self.options.pop("optimizer")))

    def is_named(self, option: str) -> bool:
        """Whether it is given in the call, and not by an object."""
        return option in self._named

    def _take(self, value: Any) -> None:
        if isinstance(value, (str, os.PathLike, Mapping)):
            return self.once("config", value)
        found = _objects.fields_of(value)
        if found is None:
            raise usage(f"cannot read a config from a {type(value).__name__}: expected a name, a path, a dict, "
                        "or a config, model, TrainingArguments or optimizer")
        if "config" in found:
            self.once("config", found.pop("config"))
        self._merge(found)

    def once(self, option: str, value: Any) -> None:
        if option in self.options:
            raise usage(f"two configs given: {self._title(self.options[option])} and {self._title(value)}")
        self.options[option] = value

    @staticmethod
    def _title(value: Any) -> str:
        return "a dict" if isinstance(value, Mapping) else str(value)

    def _merge(self, found: Mapping[str, Any]) -> None:
        """What was named in the call counts, whatever an object has."""
        for option, value in found.items():
            if option not in self._named:
                self.options[option] = value

    def take(self, *names: str) -> dict[str, Any]:
        """Removes these options, which are not the library's."""
        return {name: self.options.pop(name) for name in names if name in self.options}

    def refuse_others(self, call: str) -> None:
        """For calls all of whose options are taken by now."""
        for option in self.options:
            raise usage(f"{call} has no keyword {option.replace('-', '_')}")

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each option with its text."""
        for option, value in self.options.items():
            if option == "training-args" and isinstance(value, (list, tuple)):  # read together
                for one in value:
                    yield option, os.fspath(one) if isinstance(one, (str, os.PathLike)) else self.file(option, one)
            elif option in _FILES and not isinstance(value, (str, os.PathLike)):
                yield option, self.file(option, value)
            else:
                yield option, text_of(option, value)

    def set(self, pointer: Any, setters: Mapping[str, str], usual: str) -> None:
        """Gives each option to the function of the library that `setters` has for it, or the usual one."""
        err = new_error()
        for option, text in self.texts():
            missing = library().ms_run_field_missing(text_bytes(option, "keyword"))
            if missing and option not in setters:
                raise usage(f"no option {option}: {missing.decode()}")
            setter = getattr(library(), setters.get(option, usual))
            check(setter(pointer, text_bytes(option, option), text_bytes(text, option), ctypes.byref(err)), err)

    # ---- files ----

    def __enter__(self) -> Given:
        return self

    def close(self) -> None:
        if self._folder:
            self._folder.cleanup()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()
        if isinstance(error, (MemscopeError, Stopped)):
            self._rename(error)

    def _rename(self, error: MemscopeError | Stopped) -> None:
        """Names a file that no one has seen by what it was written for."""
        for path, option in self.written.items():
            error.file = error.file.replace(path, f"<{option}>")
            error.text = error.text.replace(path, f"<{option}>")

    def config_text(self, value: Any) -> str:
        """One config of several: a name or a path as it is, anything else by way of a file."""
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        found = {"config": value} if isinstance(value, Mapping) else _objects.fields_of(value) or {}
        if "config" not in found:
            raise usage(f"cannot read a config from a {type(value).__name__}")
        return self.file("config", found["config"])

    def side(self, name: str, value: Any) -> bytes:
        """A side of a comparison: a report, or what a config may be."""
        found = None if isinstance(value, (str, os.PathLike, Mapping)) else _objects.fields_of(value)
        return self.path(name, found["config"] if found and "config" in found else value)

    def path(self, option: str, value: Any) -> bytes:
        """A path as it is, anything else by way of a file."""
        is_path = isinstance(value, (str, os.PathLike))
        return text_bytes(os.fspath(value) if is_path else self.file(option, value), option)

    def file(self, option: str, value: Any) -> str:
        """Writes a Python value to a file: a dict, or what has one."""
        content = _objects.as_dict(value)
        if content is None:
            raise usage(f"{option}: found a {type(value).__name__}, expected a path or a dict")
        if not self._folder:
            from tempfile import TemporaryDirectory
            self._folder = TemporaryDirectory(prefix="memscope-")
        name = _objects.title_of(content) if option == "config" else option
        name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name).strip("-.")
        folder = os.path.join(self._folder.name, str(len(self.written)))
        os.mkdir(folder)
        path = os.path.join(folder, f"{name or option}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(as_json(content))
        self.written[path] = option
        return path
