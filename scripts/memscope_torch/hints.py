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


def after_reads(value, reads, bounds, path):
    """Of a failure in a function that has read values, none of which is there; `reads` and `bounds`: file, line and function."""
    places = []
    trace = value.__traceback__
    while trace:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    for file, line, function in reversed(places):
        read = [other for name, other, inside in (*reads, *bounds) if (name, inside) == (file, function) and other <= line]
        if read:
            return f"{path(file)}:{max(read)} reads values from the device, which are not there, and sizes that depend on them are not known"
    return None


# Calls that the null device does not cover, by how their names begin: what needs them, and what goes round it.
_EAGERLY = "with TORCHDYNAMO_DISABLE=1 in its environment a compiled program runs eagerly without them, and its figure is usually higher"
_POOLS = ("cudaDeviceGetDefaultMemPool", "cudaMemPool", "cudaMallocFromPool", "cuMemPool", "cuMemAllocFromPool", "cuDeviceGetDefaultMemPool")
_NATIVE = "without backend:cudaMallocAsync in PYTORCH_CUDA_ALLOC_CONF PyTorch's own allocator is captured"
_FEATURES = [
    (_POOLS, "memory pools of the driver", _NATIVE),
    (("cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraph", "cuStreamBeginCapture", "cuGraph"), "CUDA graphs", _EAGERLY),
    (("cusolver",), "linear algebra of cuSOLVER", None), (("cusparse",), "sparse matrices of cuSPARSE", None),
    (("cufft",), "Fourier transforms of cuFFT", None), (("cudnn",), "cuDNN", None), (("nvrtc",), "kernels that are compiled as the program runs", None),
    (("nccl",), "communication by NCCL that its ranks do not do by collectives", None), (("cuda", "cu"), "a call of CUDA", None),
]


def of_uncovered(uncovered, path):
    """`uncovered`: file, line and function by call."""
    for call, (file, line, _) in list(uncovered.items())[-1:]:
        feature, way = next((feature, way) for names, feature, way in (*_FEATURES, (("",), "a library", None)) if call.startswith(names))
        return f"it needs {feature} at {path(file)}:{line}: {call} is not covered" + (f"; {way}" if way else "")
    return None


def doing(tracer):
    """What the program was doing."""
    if tracer is None or tracer.phases is None:
        return None
    rows = [row["phase"] for row in tracer.phases.rows if row["phase"] != "between"]
    name = tracer.phases.name if tracer.phases.name not in (None, "between") else rows[-1] if rows else None
    return f"it was in {name} of step {len(tracer.steps) + 1}" if name else None


def of_bounds(bounds, path):
    """Of memory that ran out."""
    if not bounds:
        return None
    file, line, _ = min(bounds)
    others = f" and {len(bounds) - 1} more lines" if len(bounds) > 1 else ""
    return f"sizes that depend on values are upper bounds ({path(file)}:{line}{others}): a real run may need less"
