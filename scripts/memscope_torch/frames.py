# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines are the program's: neither PyTorch's nor Python's nor ours."""
import functools
import os
import sysconfig

import torch

from . import compiled, shown

_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
_OTHERS = (os.path.join(os.path.dirname(torch.__file__), ""), os.path.join(os.path.dirname(os.path.abspath(__file__)), ""), "<")


@functools.lru_cache(maxsize=None)
def is_program(file):
    return not file.startswith(_OTHERS) and (not file.startswith(_LIBRARY) or "-packages" in file)


def top(frames):
    """File, line and function of the first frame of an allocation that is the program's; "", 0, "" where there is none.
    Of code that Inductor wrote the function is the kernel."""
    for frame in frames or ():
        if is_program(frame["filename"]):
            file = shown.path(frame["filename"])
            name = compiled.kernel_at(frame["filename"], frame["line"]) if file == shown.COMPILED else None
            return file, frame["line"], name or frame["name"]
    return "", 0, ""
