# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope diff against tables that are worked out here, from the two reports."""

import collections
import html.parser
import json
import re

from support import CONFIG, assert_valid, main, run, write


def reports(folder, first, second):
    """Two static reports, and what they hold."""
    loaded = []
    for name, words in (("a.json", first), ("b.json", second)):
        code, _, said = run("analyze", *words, "-q", "--no-advice", "--format", "json", "-o", name, cwd=folder)
        assert code in (0, 1), said
        loaded.append(json.load(open(f"{folder}/{name}")))
    return loaded


def layer_count(text):
    spans = [part.split("-") for part in text.split(",")] if text else []
    return sum(int(span[-1]) - int(span[0]) + 1 for span in spans) or 1


def operator_key(r):
    extra, name = r["extra"], r["name"]
    layers = extra.get("layers") or ""
    if layers.isdigit():
        name = re.sub(rf"(^|\.){layers}(?=\.|$)", r"\1*", name, count=1)
    return name, "recompute" if extra.get("pass") == "recompute" else r["phase"]


def operators(report):
    """What all executions hold at the peak, where the report says it."""
    if all("peak_bytes" in r["extra"] for r in report["operators"]):
        held = collections.Counter()
        for r in report["operators"]:
            if r["extra"]["peak_bytes"]:
                held[operator_key(r)] += r["extra"]["peak_bytes"]
        return held
    kept, working = collections.Counter(), collections.Counter()
    for r in report["operators"]:
        extra, key = r["extra"], operator_key(r)
        layers = extra.get("layers") or ""
        if r["persistent"]:
            kept[key] += r["memory_bytes"] * extra["count"]
            working[key] += 0
        else:
            kept[key] += extra["saved_bytes"] * layer_count(layers)
            working[key] = max(working[key],
                               r["memory_bytes"] - extra["saved_bytes"] + extra["temporary_bytes"])
    return {key: kept[key] + working[key] for key in working}


def categories(report):
    return {(c["category"], ""): c["bytes"] for c in report["peak"]["categories"]}


def places(report):
    total = collections.Counter()
    for row in report["peak"]["layers"]:
        total["outside the layers" if row["first_layer"] is None else "layers", ""] += row["bytes"]
    return total


def phases(report):
    most = collections.Counter()
    for row in report["phases"]:
        most[row["phase"], ""] = max(most[row["phase"], ""], row["peak_bytes"])
    return most


TABLES = {"categories": categories, "places": places, "phases": phases, "operators": operators}


def expected_rows(a, b):
    rows = []
    for key in set(a) | set(b):
        change = "NEW" if key not in a else "GONE" if key not in b else "CHANGED"
        if change != "CHANGED" or a[key] != b[key]:
            rows.append((change, key, a.get(key, 0), b.get(key, 0)))
    return sorted(rows, key=lambda row: (-abs(row[3] - row[2]), row[1]))


def check_pair(folder, first, second):
    a, b = reports(folder, first, second)
    code, text, said = run("diff", "a.json", "b.json", "--format", "json", cwd=folder)
    assert code == 1 and not said, said
    diff = json.loads(text)
    assert_valid(diff, "diff")
    for name, table in TABLES.items():
        found = [(r["change"], (r["name"], r.get("where", "")), r["a_bytes"], r["b_bytes"])
                 for r in diff[name]]
        assert found == expected_rows(table(a), table(b)), name
        assert all(r["change_bytes"] == r["b_bytes"] - r["a_bytes"] for r in diff[name])
    for key, figure in diff["figures"].items():
        assert (figure["a_bytes"], figure["b_bytes"]) == (a["summary"][key], b["summary"][key])
    changed = {r["name"]: (r["a"], r["b"]) for r in diff["config"]}
    for name in set(a["config"]) | set(b["config"]):
        differs = a["config"].get(name, "?") != b["config"].get(name, "?")
        assert differs == (name in changed), name
    return diff


def test_settings(folder):
    write(folder, "config.json", CONFIG)
    diff = check_pair(folder, ["config.json", "--seq", "64"], ["config.json", "--seq", "128", "--batch", "2"])
    assert [(r["name"], r["a"], r["b"]) for r in diff["settings"]] == [
        ("batch", "1", "2"), ("seq", "64", "128")]
    assert not diff["config"]


def test_one_key(folder):
    write(folder, "one/config.json", CONFIG)
    write(folder, "two/config.json", {**CONFIG, "num_hidden_layers": 6})
    diff = check_pair(folder, ["one", "--seq", "64"], ["two", "--seq", "64"])
    assert [(r["name"], r["a"], r["b"]) for r in diff["config"]] == [("num_hidden_layers", "4", "6")]


def test_checkpointing_and_accumulation(folder):
    check_pair(folder, ["gpt2", "--batch", "2", "--accumulate", "6"], ["gpt2", "--batch", "2", "--checkpointing", "first:5"])


def test_families(folder):
    check_pair(folder, ["llama-3.1-8b", "--seq", "512"], ["llama-3.2-1b", "--seq", "512"])


def test_analyzed_in_process(folder):
    """A config gives the very tables that its report gives."""
    write(folder, "config.json", CONFIG)
    reports(folder, ["config.json", "--seq", "64"], ["gpt2", "--seq", "64"])
    _, from_files, _ = run("diff", "a.json", "b.json", "--format", "json", cwd=folder)
    _, analyzed, _ = run("diff", "config.json", "gpt2", "--seq", "64", "--format", "json", cwd=folder)
    for text in (from_files, analyzed):
        assert_valid(json.loads(text), "diff")
    files, own = json.loads(from_files), json.loads(analyzed)
    for side in "ab":
        files[side].pop("name"), own[side].pop("name")
    assert files == own


class Tables(html.parser.HTMLParser):
    """Rows of a page by section: texts and values of the cells."""

    def __init__(self):
        super().__init__()
        self.sections, self.section, self.row, self.sources = {}, None, None, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.sources += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "section":
            self.section = self.sections.setdefault(attributes["id"], [])
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th") and self.row is not None:
            self.row.append("")
        elif tag == "data" and self.row:
            self.row[-1] = int(float(attributes["value"]))

    def handle_endtag(self, tag):
        if tag == "tr" and self.section is not None and self.row:
            self.section.append(self.row)
            self.row = None
        elif tag == "section":
            self.section = None

    def handle_data(self, data):
        if self.row and isinstance(self.row[-1], str):
            self.row[-1] += data


def test_page(folder):
    """The page has the figures of the JSON, and nothing from elsewhere."""
    write(folder, "config.json", CONFIG)
    reports(folder, ["config.json", "--seq", "64"], ["gpt2", "--seq", "96", "--batch", "2"])
    diff = json.loads(run("diff", "a.json", "b.json", "--format", "json", cwd=folder)[1])
    code, text, said = run("diff", "a.json", "b.json", "--format", "html", cwd=folder)
    assert code == 1 and not said
    page = Tables()
    page.feed(text)
    assert all(source.startswith(("#", "data:")) for source in page.sources)
    for name in TABLES:
        rows = [(name, change, a, b, difference) for name, change, a, b, difference in page.sections[name][1:]]
        label = lambda r: r["name"] + (", " + r["where"] if r.get("where") else "")
        assert rows == [(label(r), r["change"], r["a_bytes"], r["b_bytes"], r["change_bytes"]) for r in diff[name]], name
    figures = {tuple(row[1:]) for row in page.sections["figures"]}
    for figure in diff["figures"].values():
        if figure["a_bytes"] or figure["b_bytes"]:
            assert (figure["a_bytes"], figure["b_bytes"], figure["b_bytes"] - figure["a_bytes"]) in figures
    for name, key in (("config", "config"), ("run", "settings")):
        rows = [tuple(row) for row in page.sections.get(name, [])[1:]]
        said = lambda value: "-" if value is None else value
        assert rows == [(r["name"], r["change"], said(r["a"]), said(r["b"])) for r in diff[key]], name


def test_same_and_mirrored(folder):
    write(folder, "config.json", CONFIG)
    reports(folder, ["config.json", "--seq", "64"], ["config.json", "--seq", "96"])
    assert run("diff", "a.json", "a.json", cwd=folder)[0] == 0
    there = json.loads(run("diff", "a.json", "b.json", "--format", "json", cwd=folder)[1])
    back = json.loads(run("diff", "b.json", "a.json", "--format", "json", cwd=folder)[1])
    for name in TABLES:
        mirrored = [(r["name"], r.get("where"), r["b_bytes"], r["a_bytes"]) for r in back[name]]
        assert mirrored == [(r["name"], r.get("where"), r["a_bytes"], r["b_bytes"]) for r in there[name]]


def test_unrolled_folds_to_the_same(folder):
    write(folder, "config.json", CONFIG)
    run("analyze", "config.json", "--seq", "64", "-q", "--format", "json", "-o", "a.json", cwd=folder)
    run("analyze", "config.json", "--seq", "64", "-q", "--format", "json", "-o", "b.json", "--unroll", cwd=folder)
    diff = json.loads(run("diff", "a.json", "b.json", "--format", "json", cwd=folder)[1])
    assert diff["same"], diff["operators"][:3]


def test_plan(folder):
    write(folder, "config.json", CONFIG)
    words = ["config.json", "--seq", "256", "--batch", "8"]
    reports(folder, words, words)
    code, _, said = run("plan", *words, "--budget", "20GiB", "-q", "-o", "plan.json", cwd=folder)
    assert code == 0, said
    diff = json.loads(run("diff", "a.json", "plan.json", "--format", "json", cwd=folder)[1])
    assert_valid(diff, "diff")
    assert diff["figures"]["peak_memory_bytes"]["change_bytes"] == 0  # there is room for all
    assert "low_device_bytes" not in diff["figures"]


def test_older_and_newer(folder):
    write(folder, "config.json", CONFIG)
    a, _ = reports(folder, ["config.json", "--seq", "64"], ["gpt2"])
    a.pop("config")
    a["schema_version"] = "1.0"
    write(folder, "old.json", a)
    assert run("diff", "old.json", "a.json", cwd=folder)[0] == 0
    a["schema_version"], a["unheard_of"] = "1.99", {"x": 1}
    write(folder, "later.json", a)
    assert run("diff", "later.json", "a.json", cwd=folder)[0] == 0
    a["schema_version"] = "3.1"
    write(folder, "newer.json", a)
    code, _, said = run("diff", "newer.json", "a.json", cwd=folder)
    assert code == 2 and "newer.json" in said and "3.1" in said, said


def test_every_family_reads_its_own_report(folder):
    """One model of each family: its report is read again, and is what it is."""
    rows = [line.split()[:2] for line in run("models", cwd=folder)[1].splitlines()[1:]]
    for family, name in {family: name for name, family in rows}.items():
        short = ["--seq", "64"] if family.startswith("mamba") else []  # operators for each token
        code, text, said = run("diff", name, name, "--batch", "1", *short, cwd=folder)
        assert code == 0, (name, text, said)


main(globals())
