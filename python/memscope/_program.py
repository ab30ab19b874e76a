# SPDX-License-Identifier: GPL-3.0-or-later
"""The command itself, for what only it can do: starting programs, and rows in a file."""
from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import CLASSES, InternalError, Stopped
from ._given import Given, text_of, usage

if TYPE_CHECKING:
    from subprocess import Popen


def program() -> str:
    """Where the command is: what $MEMSCOPE_PROGRAM names, where pip put it, or on the PATH."""
    asked = os.environ.get("MEMSCOPE_PROGRAM")
    if asked:
        return asked
    import shutil
    from importlib import metadata
    try:
        installed = metadata.files("memscope") or []
    except metadata.PackageNotFoundError:
        installed = []
    places = [str(file.locate()) for file in installed if file.parts[-2:] == ("bin", "memscope")]
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places.append(os.path.join(packages, "bin", "memscope"))  # pip install --target
    for place in places:
        if os.access(place, os.X_OK):
            return os.path.realpath(place)
    found = shutil.which("memscope")
    if not found:
        raise usage("the command memscope is neither where pip puts it nor on the PATH")
    return found


def words_of(given: Given, flags: Sequence[str]) -> list[str]:
    """Options as the command takes them."""
    words = []
    for option, text in given.texts():
        if option not in flags:
            words.append(f"--{option}={text}")
        elif text in ("true", "yes"):
            words.append(f"--{option}")
    return words


def run(words: Sequence[str], *, shows: bool, good: Sequence[int] = (0,)) -> str:
    """Runs the command; what it prints. What its program prints goes to standard error, if shown."""
    import signal
    import subprocess
    import tempfile
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        with subprocess.Popen([program(), *words], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as child:
            try:
                _follow(child, said, shows)
            except KeyboardInterrupt:
                child.send_signal(signal.SIGINT)
                _follow(child, said, False)
                raise Stopped(_sentence(said), "MS_ERR_STOPPED") from None
        out.seek(0)
        text = out.read()
    if child.returncode not in good:
        kind = CLASSES.get(child.returncode, InternalError)
        raise kind(_sentence(said) or f"the command ended with status {child.returncode}")
    return text


def _follow(child: Popen[str], said: list[str], shows: bool) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("memscope: "):
            said.append(line[10:].strip())
        elif shows and not line.startswith("Try: memscope "):
            sys.stderr.write(line)
    child.wait()


def _sentence(said: Sequence[str]) -> str:
    return said[-1] if said else ""


def check_with(given: Given, own: Mapping[str, Any]) -> str:
    """What `memscope analyze --check-with capture` prints; its records go to `out`, if that is given."""
    from tempfile import TemporaryDirectory
    with TemporaryDirectory(prefix="memscope-") as folder:
        words = [f"--check-with={text_of('check-with', own['check-with'])}", f"--out={own.get('out', folder)}"]
        if "python" in own:
            words.append(f"--python={text_of('python', own['python'])}")
        text = run(["analyze", *words_of(given, ["ignore-sharding"]), *words, "--quiet"], shows=False)
    return text.replace(f"{folder}/", "")
