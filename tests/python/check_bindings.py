#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python tables are those of the headers, of the library and of the C compiler."""
import ctypes
import os
import re
import subprocess
import sys

import support
from memscope import _c, _library

STRUCTS = {name: kind for name, kind in vars(_c).items() if isinstance(kind, type) and issubclass(kind, ctypes.Structure)
           and name != "Structure"}


class Bindings(support.Case):
    def test_files_are_made_from_headers_and_help(self):
        done = subprocess.run([sys.executable, str(support.TOP / "scripts/python_tables.py"), support.PROGRAM, "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_declared_function_is_bound(self):
        declared = set(re.findall(r"(ms_\w+);", (support.BUILD / "gen/exports.map").read_text()))
        self.assertGreater(len(declared), 130)
        self.assertEqual(set(_c.PROTOTYPES), declared)
        for name in declared:
            self.assertTrue(getattr(_library.library(), name))

    def test_structs_are_laid_out_as_in_c(self):
        lines = ["#include <stdio.h>", "#include <stddef.h>"]
        lines += [f'#include "memscope/{path.name}"' for path in sorted((support.TOP / "include/memscope").glob("*.h"))]
        lines.append("int main(void) {")
        for name, kind in STRUCTS.items():
            lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'    printf("{name}.{row[0]} %zu %zu\\n", offsetof({name}, {row[0]}), sizeof((({name} *)0)->{row[0]}));'
                      for row in kind._fields_]
        with support.folder() as folder:
            (folder / "sizes.c").write_text("\n".join([*lines, "    return 0;", "}", ""]))
            subprocess.run([os.environ.get("CC", "cc"), "-I", str(support.TOP / "include"), "-o", "sizes", "sizes.c"],
                           cwd=folder, check=True)
            said = subprocess.run(["./sizes"], cwd=folder, capture_output=True, text=True, check=True).stdout
        here = []
        for name, kind in STRUCTS.items():
            here.append(f"{name} {ctypes.sizeof(kind)}")
            here += [f"{name}.{row[0]} {getattr(kind, row[0]).offset} {getattr(kind, row[0]).size}" for row in kind._fields_]
        self.assertGreater(len(here), 90)
        self.assertEqual(said.splitlines(), here)

    def test_statuses_have_the_classes_of_their_exit_statuses(self):
        for number, (name, exit_status) in _c.STATUSES.items():
            text = _library.library().ms_status_text(number)
            self.assertTrue(text)
            self.assertEqual(_library.library().ms_status_exit_code(number), exit_status, name)
            if number:
                fault = _library.fault_of(_c.ms_error(status=number, text=b"why"))
                self.assertEqual((fault.exit_status, fault.status, str(fault)), (exit_status, name, "why"))


if __name__ == "__main__":
    support.main()
