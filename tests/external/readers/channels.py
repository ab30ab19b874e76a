# SPDX-License-Identifier: GPL-3.0-or-later
"""What `memscope check` writes for CI systems, in readers from pip. All must hold what its JSON says."""

import csv
import json
import subprocess
import sys

from junitparser import Error, Failure, JUnitXml, Skipped
from prometheus_client.parser import text_string_to_metric_families
from sarif_pydantic import Sarif

NASTY = 'over <50%> & "more": a, b\\c'
BUDGETS = {
    "defaults": {"device": "h100-80gb"},
    "budgets": [
        {"name": "kept", "config": "model.json", "limits": {"max": "79 GiB"}},
        {"name": "near", "config": "model.json", "limits": {"max": "79 GiB", "warn": "60 GiB"}},
        {"name": NASTY, "config": "model.json", "limits": {"max": "65 GiB"}},
        {"name": "grown", "config": "model.json", "limits": {"max_increase": "1 MiB"}, "baseline": "*.base.json"},
        {"name": "gone", "config": "missing.json", "limits": {"max": "1 GiB"}},
        {"name": "free", "config": "model.json"},
    ],
}
FORMATS = ["json", "sarif", "gitlab", "junit", "prometheus", "shields", "custom-smaller-is-better", "github", "md"]
LEVELS = {"failed": "error", "over": "error", "warned": "warning"}


class Check:
    """A budget of each outcome for one model, checked once with every channel."""

    def __init__(self, program, folder, config):
        self.folder = folder
        (folder / "model.json").write_text(json.dumps(config, indent=2) + "\n")
        (folder / "memscope.budgets.json").write_text(json.dumps(BUDGETS, indent=2) + "\n")
        run = lambda *words: subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
        run("baseline", "--update")
        config = config | {"num_hidden_layers": config["num_hidden_layers"] + 1}
        (folder / "model.json").write_text(json.dumps(config, indent=2) + "\n")
        outputs = [word for form in FORMATS for word in ("--output", f"{form}=check.{form}")]
        done = run("check", "-q", *outputs)
        assert done.returncode == 2, (done.returncode, done.stderr)
        self.verdicts = json.loads(self.text("json"))["budgets"]
        self.problems = [v for v in self.verdicts if v["outcome"] in LEVELS]
        outcomes = sorted(v["outcome"] for v in self.verdicts)
        assert outcomes == ["failed", "over", "over", "passed", "skipped", "warned"], outcomes

    def path(self, form):
        return self.folder / f"check.{form}"

    def text(self, form):
        return self.path(form).read_text()

    def of_problems(self, *keys):
        """For each problem what its JSON says, sorted: level, name, file, line."""
        values = {"level": lambda v: LEVELS[v["outcome"]], "name": lambda v: v["name"],
                  "file": lambda v: v["place"]["file"], "line": lambda v: v["place"]["line"]}
        return sorted([values[key](v) for key in keys] for v in self.problems)


def name_of(description, check):
    return next(v["name"] for v in check.problems if description.startswith(v["name"] + ": "))


def sarif_tools(check, *words):
    done = subprocess.run([sys.executable, "-m", "sarif", *words], cwd=check.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_sarif_tools(check):
    summary = sarif_tools(check, "summary", "check.sarif")
    counts = {level: sum(row[0] == level for row in check.of_problems("level")) for level in ("error", "warning", "note")}
    for level, count in counts.items():
        assert f"\n{level}: {count}\n" in "\n" + summary, summary
    sarif_tools(check, "csv", "check.sarif", "-o", "sarif.csv")
    with open(check.folder / "sarif.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    told = sorted([r["Severity"], name_of(r["Description"], check), r["Location"], int(r["Line"])] for r in rows)
    assert told == check.of_problems("level", "name", "file", "line"), told
    return f"{len(rows)} results: level, text, file and line; counts of each level"


def in_sarif_pydantic(check):
    """Its models keep all that they know: what is read and written again must be the same."""
    log = Sarif.model_validate_json(check.text("sarif"))
    again = json.loads(log.model_dump_json(by_alias=True, exclude_none=True))
    assert again == json.loads(check.text("sarif")), "something is lost on the way"
    told = sorted([r.level.value, r.locations[0].physical_location.region.start_line] for r in log.runs[0].results)
    assert told == check.of_problems("level", "line"), told
    return f"{len(told)} results; the whole file is the same when it is written again from the models"


def gitlab_in_sarif_tools(check):
    """sarif-tools makes GitLab's format from the SARIF file: both must say the same."""
    sarif_tools(check, "codeclimate", "check.sarif", "-o", "codeclimate.json")
    parts = lambda found: sorted([f["check_name"], f["description"], f["location"]["path"], f["location"]["lines"]["begin"]]
                                 for f in found)
    theirs, ours = json.loads((check.folder / "codeclimate.json").read_text()), json.loads(check.text("gitlab"))
    assert parts(theirs) == parts(ours)
    assert all(set(f) >= {"description", "check_name", "fingerprint", "severity", "location"} for f in ours)
    return f"{len(ours)} findings: rule, text, file and line, as it makes them from the SARIF file"


def in_junitparser(check):
    suites = JUnitXml.fromstring(check.text("junit").encode())
    suite, = suites
    kinds = {Failure: "over", Error: "failed", Skipped: "skipped"}
    told = {case.name: {kinds[type(r)] for r in case.result} for case in suite}
    said = {v["name"]: {v["outcome"]} & set(kinds.values()) for v in check.verdicts}
    assert told == said, told
    count = lambda outcome: sum(v["outcome"] == outcome for v in check.verdicts)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (len(check.verdicts), count("over"), count("failed"), count("skipped"))
    lines = {case.name: (case._elem.get("file"), int(case._elem.get("line"))) for case in suite}
    assert all(lines[v["name"]] == (v["place"]["file"], v["place"]["line"]) for v in check.verdicts)
    return f"{len(told)} cases with their outcome, file and line; the counts"


def in_xmllint(check):
    subprocess.run(["xmllint", "--noout", "--nonet", str(check.path("junit"))], check=True, capture_output=True)
    return "well formed"


def in_prometheus(check):
    told = {}
    for family in text_string_to_metric_families(check.text("prometheus")):
        assert family.type == "gauge" and family.documentation, family
        for sample in family.samples:
            told[sample.name, sample.labels["budget"]] = sample.value
    said = {}
    for v in check.verdicts:
        said["memscope_within_budget", v["name"]] = v["outcome"] not in ("over", "failed")
        for key in ("expected_bytes", "upper_bytes", "limit_bytes"):
            if v.get(key) is not None:
                said[f"memscope_{key}", v["name"]] = v[key]
    assert told == said, set(told.items()) ^ set(said.items())
    return f"{len(told)} values of {len({name for name, _ in told})} gauges"
