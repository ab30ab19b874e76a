#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_compare.py MEMSCOPE

Compares reports of runs that differ in one thing, and holds the comparison to what it promises: both
sides are the reports' own figures, parts sum to the peaks, shares to one, the schema accepts it, and
its page and its Markdown say the same.
"""
import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BASE = "--config smollm2-135m --seq 1024 --device a10"
# What the second run has beside, and the category that must be the largest cause; None: nothing differs.
PAIRS = [
    ("", None),
    ("--checkpointing all", "activation"),
    ("--optimizer sgd", "optimizer_state"),
    ("--attention eager", "activation"),
    ("--batch 4", "activation"),
]


class Page(html.parser.HTMLParser):
    """Elements that must be closed are; texts are kept."""
    VOID = {"meta", "link", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.text, self.values = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "data":
            self.values.append(dict(attrs)["value"])

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def check_figures(comparison, first, second, cause):
    verdict = comparison["verdict"]
    peaks = [report["summary"]["peak_memory_bytes"] for report in (first, second)]
    assert verdict["residual_bytes"] == peaks[1] - peaks[0]
    assert verdict["equal"] == (cause is None)
    assert (verdict["category"] or {}).get("name") == cause, verdict["category"]
    for table in ("categories", "modules"):
        rows = comparison[table]
        for side, peak in zip(("first_bytes", "second_bytes"), peaks):
            assert sum(row[side] or 0 for row in rows) == peak, (table, side)
        assert sum(row["residual_bytes"] for row in rows) == verdict["residual_bytes"]
        shares = [row["share_of_residual"] for row in rows]
        assert shares == [None] * len(rows) or abs(sum(shares) - 1) < 1e-4, table
    phases = {row["name"]: row for row in comparison["phases"]}
    for report, side in ((first, "first_bytes"), (second, "second_bytes")):
        for phase in report["phases"]:
            assert phases[phase["phase"]][side] == phase["peak_bytes"]


def check_timelines(comparison, first, second):
    """Held against the levels of both reports, event by event where both tell all of them."""
    found = comparison["timelines"]
    ours, theirs = first["levels"], second["levels"]
    assert (found["first_events"], found["second_events"]) == (ours["events"], theirs["events"])
    step = max(ours["stride"], theirs["stride"])
    a, b = ours["bytes"][::step // ours["stride"]], theirs["bytes"][::step // theirs["stride"]]
    gaps = [y - x for x, y in zip(a, b)]
    assert found["residual_at_start_bytes"] == gaps[0]
    first_change = next((i for i, gap in enumerate(gaps) if gap != gaps[0]), None)
    if first_change is None:
        assert found["parted"] is None
    else:
        assert found["parted"]["event"] == first_change * step
        assert found["last_same_event"] == (first_change - 1) * step


def check_others(program, files, comparison):
    page = Page()
    page.feed(run(program, "compare", *files, "--format", "html"))
    assert not page.open
    text = " ".join(page.text)
    assert comparison["verdict"]["text"] in text and comparison["verdict"]["why"] in text
    told = {str(row["residual_bytes"]) for row in comparison["categories"]}
    assert told <= set(page.values)
    markdown = run(program, "compare", *files, "--format", "md").replace("\\", "")
    assert comparison["verdict"]["text"] in markdown and comparison["verdict"]["why"] in markdown
    for row in comparison["categories"]:
        assert f"| {row['name']} |" in markdown


def check_schema(comparison):
    try:
        import jsonschema
    except ImportError:
        return
    schema = json.loads((ROOT / "schemas/compare.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    errors = [f"{list(e.absolute_path)}: {e.message}" for e in jsonschema.Draft7Validator(schema).iter_errors(comparison)]
    assert not errors, errors[:5]


def compare(program, folder, options, cause):
    files = [str(folder / name) for name in ("a.json", "b.json")]
    for path, more in zip(files, ("", options)):
        run(program, "analyze", *BASE.split(), *more.split(), "-q", "--output", f"json={path}")
    reports = [json.loads(pathlib.Path(path).read_text()) for path in files]
    comparison = json.loads(run(program, "compare", *files, "--format", "json"))
    check_schema(comparison)
    check_figures(comparison, *reports, cause)
    check_timelines(comparison, *reports)
    check_others(program, files, comparison)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    for options, cause in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                compare(program, pathlib.Path(folder), options, cause)
                passed += 1
            except Exception as error:  # a member that is missing is a failure like any other
                failed += 1
                print(f"compare with {options or 'itself'}: {type(error).__name__}: {str(error)[:400]}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
