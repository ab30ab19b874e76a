# SPDX-License-Identifier: GPL-3.0-or-later
"""What we make must not set off Python's collection of cycles: it takes long, and would free the program's tensors early."""
import functools
import gc


def without_collecting(function):
    @functools.wraps(function)
    def inside(*args, **kwargs):
        was_on = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return inside
