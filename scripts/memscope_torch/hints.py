# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user can do about a failure whose own message does not state it. Needs no PyTorch."""
import os

_COMPILERS = ("torch._dynamo", "torch._inductor")  # modules of their exceptions
_COMPILING = ("torch._dynamo.convert_frame", "torch._inductor.compile_fx")  # modules whose code runs only while they compile


def _chain(value):
    """The exception and those that it came from."""
    while value is not None:
        yield value
        value = value.__cause__ or value.__context__


def _frames(value):
    trace = value.__traceback__
    while trace:
        yield trace.tb_frame.f_globals.get("__name__") or ""
        trace = trace.tb_next


def _was_compiling(_kind, value):
    return os.environ.get("TORCHDYNAMO_DISABLE") != "1" and any(
        type(error).__module__.startswith(_COMPILERS) or any(name in _COMPILING for name in _frames(error)) for error in _chain(value))


def _has_ranks(_kind, value):
    words = str(value)
    return os.environ.get("MEMSCOPE_CAPTURE_WORLD", "0") == "0" and (
        "environment variable RANK expected" in words
        or "environment variable WORLD_SIZE expected" in words or "invalid device ordinal" in words)


def _wants_devices(_kind, value):
    return "is larger than the number of available GPUs" in " ".join(str(value).split())


_HINTS = [
    (_wants_devices, "the program gets several devices with --device-count N"),
    (_has_ranks, "a program of several ranks is captured with --world N, which runs one of them; one that uses several devices with --device-count N"),
    (_was_compiling, "torch.compile failed; with TORCHDYNAMO_DISABLE=1 in its environment the program runs eagerly, and its figure is usually higher"),
]


# Exceptions of launchers: the process that they started has said more.
_OF_ANOTHER = ("ChildFailedError", "ProcessRaisedException", "ProcessExitedException", "CalledProcessError", "SignalException")


def is_of_another(kind, _value):
    return kind.__name__ in _OF_ANOTHER


def line_of(kind, value):
    """An exception in one line: its first, or the last where another process's traceback stands in it."""
    name, text = kind.__name__, str(value)
    if hasattr(value, "get_first_failure"):
        rank, failure = value.get_first_failure()
        text = f"rank {rank} " + (f"exited with status {failure.exitcode}" if failure.exitcode >= 0 else f"was ended by signal {-failure.exitcode}")
    elif name == "ProcessRaisedException":
        text = ([line for line in text.splitlines() if line.strip()] or [""])[-1]
    return f"{name}: {text}".splitlines()[0]


def of(kind, value):
    """A sentence without its point, or None."""
    return next((sentence for applies, sentence in _HINTS if applies(kind, value)), None)
