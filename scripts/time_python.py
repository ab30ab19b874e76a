#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints what `import memscope` and a call of analyze on the 8B model take, the latter beside the same in
the C library, and fails where they take longer than promised. It is the processor's time, which other
programs hardly change."""
import ctypes
import os
import subprocess
import sys
import tempfile
import time

IMPORT_MS, RATIO, ROUNDS = 50, 2, 15
IMPORT = "import time; t = time.process_time(); import memscope; print(time.process_time() - t)"


def best(call):
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return 1e3 * min(times)


def import_ms():
    """With compiled files, as an installed package has."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-c", IMPORT]
        return 1e3 * min(float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout) for _ in range(7))


def analyze_ms():
    """(in C, in Python)"""
    import memscope
    from memscope import _c, _library
    lib = _library.library()

    def in_c():
        err, run = _c.ms_error(), lib.ms_run_create()
        lib.ms_run_set(run, b"config", b"llama-3.1-8b", ctypes.byref(err))
        lib.ms_analysis_free(lib.ms_analyze(run, ctypes.byref(err)))
        lib.ms_run_free(run)

    def in_python():
        report = memscope.analyze("llama-3.1-8b", quiet=True)
        return report.fits, report.peak_bytes
    in_c()
    return best(in_c), best(in_python)


def main():
    took, (c, python) = import_ms(), analyze_ms()
    print(f"import memscope: {took:.1f} ms, at most {IMPORT_MS}")
    print(f"analyze of llama-3.1-8b: {python:.2f} ms, in C {c:.2f} ms, at most {RATIO} times as much")
    return took > IMPORT_MS or python > RATIO * c


if __name__ == "__main__":
    sys.exit(main())
