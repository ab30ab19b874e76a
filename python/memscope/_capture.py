# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.capture"""
from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

from ._diff import load_recorded
from ._document import Document, Fields, from_json
from ._errors import MemscopeError, Stopped
from ._given import Given, text_of, usage
from ._library import library, text_bytes
from ._program import run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CaptureOptions

_FLAGS = ("real", "trace-calls", "no-paths", "quiet", "no-color")
_REPORT = "runtime_report.json"

# What the other Python runs: a function by its module, or by the file of the program that defines it.
_CALL = """import importlib, runpy, sys
sys.path[:] = sys.argv[4:]
names = sys.argv[3].split(".")
if sys.argv[1]:
    found = importlib.import_module(sys.argv[1])
else:
    found = type(sys)("__memscope__")
    found.__dict__.update(runpy.run_path(sys.argv[2], run_name="__memscope__"))
for name in names:
    found = getattr(found, name)
sys.argv[1:] = []
found()
"""


class Capture(Document):
    """What PyTorch's own allocator held, phase by phase and module by module. The attributes are those
    of runtime_report.json."""

    _calls = "ms_recorded"

    def __init__(self, path: str) -> None:
        super().__init__(load_recorded(text_bytes(path, "out")))
        with open(path, "rb") as file:
            self._bytes = file.read()

    @classmethod
    def formats(cls) -> Sequence[str]:
        return ("console", "json")

    def _write_to(self, format: bytes, out: Any, err: Any) -> int:
        return int(library().ms_recorded_write(self._handle.pointer, out, err))

    def _write(self, format: str, style: Any = None) -> bytes:
        return self._bytes if format == "json" else super()._write(self._known(format), style)

    def _fields(self) -> Fields:
        if self._parsed is None:
            self._parsed = from_json(self._bytes)
        return self._parsed


def _command_of(what: Callable[[], Any] | Sequence[Any]) -> list[str]:
    if not callable(what):
        if isinstance(what, str) or not what:
            raise usage("capture takes a function, or a command as a list: ['python', 'train.py']")
        return [os.fspath(word) for word in what]
    module, name = getattr(what, "__module__", None), getattr(what, "__qualname__", "<no name>")
    if "<" in name:
        raise usage(f"{name} cannot be called by another process: capture takes a function defined in a module or a "
                    "program")
    file = ""
    if module == "__main__":
        module, file = "", getattr(sys.modules["__main__"], "__file__", None) or ""
        if not os.path.isfile(file):
            raise usage(f"{name} is not in a file that another process can read: define it in a module")
        file = os.path.abspath(file)
    return [sys.executable, "-c", _CALL, module or "", file, name, *sys.path]


def capture(what: Callable[[], Any] | Sequence[Any], **options: Unpack[CaptureOptions]) -> Capture:
    """Runs a program, or a function without arguments, in another process on a device that is not
    there, and reports its memory.

    The keywords are the options of `memscope capture`: memscope.options("capture") lists them. Without
    out= the pictures and lists beside the report are not kept. A function of the program itself is
    called after its file was read again, whose __name__ is not "__main__" then."""
    if os.environ.get("MEMSCOPE_CAPTURE_DIR"):
        raise usage("this program is being captured: put what it runs on import below "
                    'if __name__ == "__main__"')
    with Given((), options) as given:
        words = [f"--{name}" if name in _FLAGS else f"--{name}={text_of(name, value)}"
                 for name, value in given.options.items() if value is not False and name != "out"]
        shows, out = not given.options.get("quiet"), given.options.get("out")
        from tempfile import TemporaryDirectory
        with TemporaryDirectory(prefix="memscope-") as folder:
            return _captured(words, os.fspath(out or folder), _command_of(what), shows)


def _captured(words: list[str], out: str, command: list[str], shows: bool) -> Capture:
    """A program that ended early may have left a report all the same: the failure has it then."""
    path = os.path.join(out, _REPORT)
    before = _stamp(path)
    try:
        run(["capture", *words, f"--out={out}", "--", *command], shows=shows)
    except (MemscopeError, Stopped) as fault:
        if _stamp(path) not in (None, before):
            extra: dict[str, Any] = {"capture": Capture(path)}
            fault.__dict__.update(extra)
        raise
    return Capture(path)


def _stamp(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
