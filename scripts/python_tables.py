#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what of the Python files is made from the C library, so that nothing is listed twice:

    python/memscope/_c.py             structs, constants and prototypes of include/memscope
    python/memscope/_options.py       keyword arguments of each command, from `memscope help`
    python/memscope/pytorch/loss.py   in it, the model types whose texts say that chunked_loss was compared

    python_tables.py MEMSCOPE [--check]

With --check it writes nothing and fails where a file differs from what would be written."""
import pathlib
import re
import subprocess
import sys
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[1]
HEADERS = TOP / "include/memscope"
PACKAGE = TOP / "python/memscope"
LICENCE = "# SPDX-License-Identifier: GPL-3.0-or-later\n"
MADE = "Made by scripts/python_tables.py."
COMMANDS = ["analyze", "plan", "fit", "sweep", "diff", "check", "compare", "calibrate", "capture"]
# Commands whose fields of a run are those of `analyze`.
OF_A_RUN = ["analyze", "plan", "fit", "sweep", "diff"]

# ---- the headers ----

SIMPLE = {"void": "None", "bool": "c_bool", "int": "c_int", "char": "c_char", "size_t": "c_size_t",
          "uint32_t": "c_uint32", "uint64_t": "c_uint64", "int64_t": "c_int64", "double": "c_double"}
FROM_CTYPES = ["CFUNCTYPE", "POINTER", "Structure", *sorted({*SIMPLE.values(), "c_char_p", "c_void_p"} - {"None"})]


class Headers:
    def __init__(self):
        first = ["error.h", "field.h"]  # others have their structs as members
        names = first + sorted(p.name for p in HEADERS.glob("*.h") if p.name not in first)
        text = "".join((HEADERS / name).read_text() for name in names)
        self.defines = dict(re.findall(r'#define (MS_\w+) "([^"]*)"', text))
        self.statuses = re.findall(r"X\((MS_\w+), (\d+), (\d+),", text)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*\n", "", text, flags=re.M)
        self.enums = set(re.findall(r"typedef enum (\w+) \{", text)) | {"ms_status"}
        self.callbacks = re.findall(r"typedef (\w+) \(\*(\w+)\)\(([^;]*)\);", text)
        self.structs = re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, re.S)
        self.names = [name for name, _ in self.structs]
        text = re.sub(r"(typedef|enum)\b[^;{]*\{.*?\}[^;]*;", "", text, flags=re.S)
        self.functions = re.findall(r"^((?:const )?\w+ \*?(?:const \*)*)(ms_\w+)\(([^;]*?)\);", text, re.M | re.S)

    def ctype(self, text):
        """The ctypes name of a C type, such as "const char *const *"."""
        words = re.sub(r"\b(const|struct)\b", " ", text)
        base, stars = words.replace("*", " ").split()[0], words.count("*")
        if base == "char" and stars:
            name, stars = "c_char_p", stars - 1
        elif base in self.enums:
            name = "c_int"
        elif base in self.names:
            name = base
        elif base in SIMPLE and (stars == 0 or base != "void"):
            name = SIMPLE[base]
        elif base in [c[1] for c in self.callbacks]:
            name = base
        else:  # an opaque object, a stream, void
            name, stars = "c_void_p", stars - 1
        return "POINTER(" * stars + name + ")" * stars

    def argument(self, text):
        """Its type and name; an array is a field's, or a pointer."""
        match = re.fullmatch(r"\s*(.*?)(\w+)(?:\[(\d+)\])?\s*", text, re.S)
        return self.ctype(match[1]), match[2], match[3]

    def arguments(self, text):
        if text.strip() == "void":
            return "()"
        types = [self.argument(part)[0] for part in text.split(",")]
        return "(" + ", ".join(types) + ("," if len(types) == 1 else "") + ")"

    def fields(self, body):
        """Members of a struct: several may share a type."""
        for line in body.split(";"):
            if not line.strip():
                continue
            parts = line.split(",")
            first_type = re.match(r"\s*(.*?)\w+(?:\[\d+\])?\s*$", parts[0], re.S)[1]
            for i, part in enumerate(parts):
                ctype, name, size = self.argument(part if i == 0 else first_type + part)
                yield name, f"c_char * {size}" if size else ctype


def bindings():
    h = Headers()
    lines = [LICENCE + f'"""Structs, constants and prototypes of the public headers. {MADE}"""',
             "from __future__ import annotations", "", "from ctypes import (", *(f"    {name}," for name in FROM_CTYPES), ")",
             "from typing import Any", ""]
    lines += [f'VERSION = "{h.defines["MS_VERSION"]}"',
              f'SONAME = "libmemscope.so.{h.defines["MS_VERSION"].split(".")[0]}"', "", "# number: name, exit status",
              "STATUSES = {"] + [f'    {number}: ("{name}", {code}),' for name, number, code in h.statuses] + ["}", ""]
    for name, body in h.structs:
        lines += ["", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{member}", {ctype}),' for member, ctype in h.fields(body)] + ["    ]", ""]
    for result, name, args in h.callbacks:  # a text of given length need not end with a zero
        types = [h.ctype(result)] + [h.argument(part)[0].replace("c_char_p", "c_void_p") for part in args.split(",")]
        lines += ["", f"{name} = CFUNCTYPE({', '.join(types)})"]
    lines += ["", "# name: result, arguments", "PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {"]
    lines += [f'    "{name}": ({h.ctype(result)}, {h.arguments(args)}),' for result, name, args in h.functions]
    return "\n".join(lines + ["}"]) + "\n"


# ---- the options ----

def help_rows(program, command):
    """(name, name of its value or None, help, default or None) of each option, as the command lists them."""
    text = subprocess.run([program, "help", command], capture_output=True, text=True, check=True).stdout
    for line in re.sub(r"\n {8,}", " ", text.split("\nUsage:")[1]).splitlines():
        match = re.fullmatch(r"  (?:-\w, )?--([a-z0-9-]+)(?: (\S+))? {2,}(.*)", line)
        if match and match[1] not in ("help", "config"):
            name, value, said = match.groups()
            default = re.search(r"\[([^][]*)\]$|\(default: (.*)\)$", said)
            yield name, value, said, (default[1] or default[2]) if default else None


def hint(name, value):
    if value is None:
        return "bool"
    if name == "optimizer":
        return "Any"
    if name in ("batch", "seq", "steps", "step", "jobs"):
        return "Number"
    return {"N": "Number", "R|all": "Number", "X": "Number", "YESNO": "YesNo", "SECONDS": "Number", "FRACTION": "Number", "MS": "Number",
            "FMT=FILE": "Outputs", "FILE": "File", "DIR": "File"}.get(value, "Text")


def options(program):
    rows = {command: list(help_rows(program, command)) for command in COMMANDS}
    shared = [row for row in rows["fit"] if all(any(row[0] == other[0] for other in rows[c]) for c in OF_A_RUN)
              and row[0] not in [r[0] for r in rows["calibrate"]] + ["step"]]
    names = [row[0] for row in shared]
    lines = [LICENCE + f'"""The keyword arguments of each call. {MADE}"""',
             "from __future__ import annotations", "",
             "from collections.abc import Mapping, Sequence", "from typing import Any, TypedDict, Union", "",
             "Number = Union[int, float, str, Sequence[Any]]", "Text = Union[str, Sequence[Any], Mapping[str, Any]]",
             "YesNo = Union[bool, str]", "File = Any  # a path, or a Python value that is written to a file",
             "Outputs = Union[str, Sequence[str], Mapping[str, Any]]", ""]

    def table(name, base, items):
        yield ""
        yield f"class {name}({base}total=False):"
        width = max(len(i[0].replace("-", "_") + hint(i[0], i[1])) for i in items) + 4
        for row in items:
            entry = f"    {row[0].replace('-', '_')}: {hint(row[0], row[1])}"
            yield f"{entry:<{width + 2}}  # {row[2]}"
        yield ""
    lines += table("RunOptions", "TypedDict, ", shared)
    for command in COMMANDS:
        own = [row for row in rows[command] if row[0] != "budgets" and (command not in OF_A_RUN or row[0] not in names)]
        lines += table(f"{command.capitalize()}Options", "RunOptions, " if command in OF_A_RUN else "TypedDict, ", own)
    lines += ["", "# command: (option, name of its value or None for a flag, default or None)",
              "OPTIONS: dict[str, list[tuple[str, str | None, str | None]]] = {"]
    for command in COMMANDS:
        lines += [f'    "{command}": [']
        lines += [f"        ({quoted(name)}, {quoted(value)}, {quoted(default)}),"
                  for name, value, _, default in rows[command]] + ["    ],"]
    return "\n".join(lines + ["}"]) + "\n"


def quoted(text):
    return "None" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- the families ----

def plain_losses():
    """The model types whose loss can be computed in chunks, as their families state it."""
    types = []
    for path in sorted((TOP / "families").glob("*.family")):
        text = path.read_text()
        compared = re.search(r"^    compared = \[(.*?)\]", text, re.M | re.S)
        if compared and '"chunked_loss"' in compared[1]:
            types += re.findall(r'^model_type = "([^"]+)"', text, re.M)
    return sorted(types)


def loss_code():
    path = PACKAGE / "pytorch/loss.py"
    rows = textwrap.fill(", ".join(f'"{name}"' for name in plain_losses()) + ",", 112, initial_indent="    ",
                         subsequent_indent="    ")
    return path, re.sub(r"(PLAIN = frozenset\(\[\n).*?(\n\]\))", rf"\1{rows}\2", path.read_text(), flags=re.S)


def main():
    program, bad = sys.argv[1], False
    for path, text in ((PACKAGE / "_c.py", bindings()), (PACKAGE / "_options.py", options(program)), loss_code()):
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(TOP)} is not what scripts/python_tables.py writes", file=sys.stderr)
            bad = True
    return bad


if __name__ == "__main__":
    sys.exit(main())
