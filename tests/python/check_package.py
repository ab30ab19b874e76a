#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What importing and calling cost, that types and style are clean, that the examples run."""
import doctest
import importlib.util
import os
import re
import subprocess
import sys

import support
from support import memscope

PYTHON = sorted(str(path) for path in (support.TOP / "python/memscope").rglob("*.py"))


class Costs(support.Case):
    def test_import_and_analyze(self):
        done = subprocess.run([sys.executable, str(support.TOP / "scripts/time_python.py")], capture_output=True, text=True, check=False)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Style(support.Case):
    def run_tool(self, name, *words):
        if not importlib.util.find_spec(name):
            self.skipTest(f"no {name}")
        done = subprocess.run([sys.executable, "-m", name, *words], cwd=support.TOP, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_types(self):
        with support.folder() as folder:
            (folder / "user.py").write_text('import memscope\nfits: bool = memscope.analyze("gpt2", batch=2, device="h100-80gb").fits\n')
            self.run_tool("mypy", "--strict", "--cache-dir", str(support.BUILD / "mypy"), str(folder / "user.py"), *PYTHON)

    def test_style(self):
        self.run_tool("ruff", "check", "--no-cache", "python", "setup.py", "examples")

    def test_files_are_short(self):
        for path in [*PYTHON, *map(str, (support.TOP / "examples").glob("*.py"))]:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertTrue(lines[0].startswith("# SPDX") or lines[1].startswith("# SPDX"), path)
            if "Made by scripts/" not in lines[1]:
                self.assertLessEqual(max(map(len, lines)), 120, path)
                self.assertLessEqual(len(lines), 400, path)

    def test_names(self):
        self.assertEqual(sorted(memscope.__all__), sorted(set(memscope.__all__)))
        for name in memscope.__all__:
            self.assertTrue(getattr(memscope, name), name)
        self.assertEqual(memscope.__version__, support.said_by("--version").split()[1].decode())


class Document(support.Case):
    def test_what_it_shows_is_what_is_printed(self):
        text = (support.TOP / "docs/python.md").read_text()
        blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.S)).replace("/tmp/", "")
        test = doctest.DocTestParser().get_doctest(blocks, {}, "docs/python.md", "docs/python.md", 0)
        said = []
        with support.folder() as folder:
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
        self.assertGreater(result.attempted, 10)
        self.assertEqual(result.failed, 0, "".join(said))

    def test_it_lists_every_call(self):
        text = (support.TOP / "docs/python.md").read_text()
        for name in memscope.__all__:
            self.assertRegex(text, rf"\b{name}\b")


# What an example is given, and what it prints.
EXAMPLES = {
    "first_report.py": ([], r"fits: .* GiB on h100-80gb"),
    "largest_batch.py": (["llama-3.2-1b"], r"rtx-4090 +\d+"),
    "plan_and_check.py": (["llama-3.2-1b"], r"planned: +tight|planned: +fits"),
    "compare_settings.py": ([], r"checkpointing +none +all"),
    "sweep_table.py": ([], r"longest sequence"),
}


# What tests/external/torch/test_wrap.py runs, as it needs PyTorch.
WITH_TORCH = {"own_loop.py", "wrap_trainer.py", "plan_and_train.ipynb"}


class Examples(support.Case):
    def test_each_is_run(self):
        folder = support.TOP / "examples"
        self.assertEqual({path.name for path in folder.iterdir() if path.is_file()}, set(EXAMPLES) | WITH_TORCH)
        for name, (words, said) in EXAMPLES.items():
            with self.subTest(name), support.folder() as work:
                done = subprocess.run([sys.executable, "-W", "error::ResourceWarning", str(folder / name), *words], cwd=work,
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, re.compile(said))


if __name__ == "__main__":
    support.main()
