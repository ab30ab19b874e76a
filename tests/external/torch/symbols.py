#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which calls of CUDA's libraries other programs make, and which of these the null device answers.

usage: symbols.py NULL_DEVICE HEADERS NAME=PATH...      reports/null_device_symbols.md, to standard output

NULL_DEVICE: libmemscope_null.so; HEADERS: the include folder of a CUDA toolkit; PATH: a shared library, a wheel, or a
folder of such. A library is linked to a call, or looks it up by name as it runs: a text in it that is the name of a
driver's function in the headers."""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

PREFIX = re.compile(r"(?:__cuda|cuda[A-Z]|cu[A-Z]|cublas|cufft|cusparse|cusolver|nvml|nccl|nvrtc|cudnn)\w*$")
# Libraries that are programs of their own, of which the null device answers what PyTorch calls.
APART = ("cudnn", "cusparseLt", "cuFile", "cuBLASMp", "cublasMp")


def declared(folder):
    """Names of functions in CUDA's headers."""
    names = set()
    for path in os.listdir(folder):
        if path.endswith(".h") and path != "cuComplex.h":  # functions without a library
            with open(os.path.join(folder, path), encoding="utf-8", errors="replace") as file:
                names.update(re.findall(r"\b((?:cu|nvml|nvrtc)[A-Za-z0-9_]+)\s*\(", file.read()))
    return {name for name in names if PREFIX.match(name) and not name.startswith("cuda")}


def symbols(path, which):
    found = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True, check=False).stdout
    return {line.split()[-1].split("@")[0] for line in found.splitlines() if line.split()}


def texts(path):
    with open(path, "rb") as file:
        return {name.decode() for name in re.findall(rb"(?<=\0)[a-zA-Z_][a-zA-Z0-9_]{5,63}(?=\0)", file.read())}


def libraries(path, scratch):
    """Shared libraries in a folder or a wheel, or the one that it is."""
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as wheel:
            return [wheel.extract(name, scratch) for name in wheel.namelist() if ".so" in os.path.basename(name)]
    if os.path.isdir(path):
        return [os.path.join(top, name) for top, _, names in os.walk(path) for name in names if ".so" in name]
    return [path]


def main():
    null, headers, *programs = sys.argv[1:]
    answered, known = symbols(null, "--defined-only"), declared(headers)
    print("# Calls of CUDA that programs make\n\nWhat libraries are linked to, or look up by name, and the null device exports. Made by\n"
          "`tests/external/torch/symbols.py`; cuDNN and others that the null device does not stand for are\nleft out.\n")
    print("| program | calls | answered | not answered |\n|---|---|---|---|")
    for program in programs:
        name, path = program.split("=", 1)
        wanted, own = set(), set()
        with tempfile.TemporaryDirectory() as scratch:
            for library in libraries(path, scratch):
                wanted |= {n for n in symbols(library, "--undefined-only") if PREFIX.match(n)} | (texts(library) & known)
                own |= symbols(library, "--defined-only")
        wanted = {n for n in wanted - own if not n.startswith(APART)}
        missing = sorted(wanted - answered)
        print(f"| {name} | {len(wanted)} | {len(wanted & answered)} | {' '.join(f'`{n}`' for n in missing) or 'none'} |")


if __name__ == "__main__":
    main()
