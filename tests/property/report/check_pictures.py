#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_pictures.py MEMSCOPE

Runs memscope and reads its pages, pictures and traces with parsers of others: Python's html.parser,
ElementTree, json and pickle. What they show must be what the JSON report of the same run says.
"""
import collections
import html.parser
import json
import os
import pathlib
import pickle
import pickletools
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUNS = [
    "--config llama-3.1-8b --seq 4096 --device h100-80gb",
    "--config llama-3.1-405b --seq 2048 --device h200",
    "--config llama-3.2-1b --batch 2 --seq 512 --dtype fp32 --autocast bf16 --device a100-40gb",
    "--config llama-3.2-1b --seq 1024 --treat 0-13=offload:0.5,14=checkpoint+tile:4,loss=chunk:4 "
    "--device rtx-4090",
    "--config smollm2-135m --seq 256 --accumulate 16 --clip 1 --allocator cuda-expandable",
    "--config smollm2-135m --seq 256 --optimizer-device host --parameter-device host --device l4 "
    "--accumulate 2",
    "--config gpt2 --batch 2 --seq 77 --dtype fp32 --device cpu",
    "--config mixtral-8x7b --seq 512 --device b200",
    "--config qwen3-0.6b --unroll --seq 300 --device t4 --budget 4GiB",
]
FORMATS = ["html", "svg", "chrome-trace", "memory-viz", "speedscope", "folded"]
VOID = {"meta", "link", "br", "input", "hr", "img"}
# What the unpickler of PyTorch's viewer knows.
VIEWER_OPCODES = set("""PROTO FRAME EMPTY_DICT EMPTY_LIST EMPTY_TUPLE MARK APPEND APPENDS SETITEM SETITEMS BINUNICODE
SHORT_BINUNICODE BININT BININT1 BININT2 LONG1 BINFLOAT NEWTRUE NEWFALSE NONE TUPLE TUPLE1 TUPLE2 TUPLE3 DICT LIST
MEMOIZE BINPUT BINGET LONG_BINPUT LONG_BINGET STOP""".split())


def analyze(program, arguments, form):
    ran = subprocess.run([program, "analyze", "-q", *arguments.split(), "--format", form],
                         capture_output=True, check=False)
    assert ran.returncode in (0, 1) and not ran.stderr, ran.stderr
    return ran.stdout


class Page(html.parser.HTMLParser):
    """Elements must nest; collects what the checks ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.data, self.rows, self.links = [], [], {}, [], []
        self.text, self.scripts = collections.defaultdict(str), {}
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("src", "href", "xlink:href", "action"):
            if name in attributes:
                self.links.append(attributes[name])
        assert not any(name.startswith("on") for name in attributes), attributes
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "data" and "id" in attributes:
            self.data[attributes["id"]] = int(attributes["value"])
        if tag == "tr":
            self.rows.append({"section": self.section(), "cells": [], "values": []})
        if tag in ("td", "th") and self.rows:
            self.rows[-1]["cells"].append("")
        if tag == "data" and self.rows and "td" in [t for t, _ in self.open]:
            self.rows[-1]["values"].append(attributes["value"])
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open[-2:])
        self.open.pop()

    def section(self):
        return next((a["id"] for t, a in self.open if t == "section"), "")

    def handle_data(self, text):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script":
            self.scripts[attributes.get("id", "")] = text
        elif "id" in attributes:
            self.text[attributes["id"]] += text
        if any(t in ("td", "th") for t, _ in self.open) and self.rows:
            self.rows[-1]["cells"][-1] += text

    def table(self, section):
        return [row for row in self.rows if row["section"] == section and row["values"]]


def check_page(page, report):
    summary = report["summary"]
    for name, value in page.data.items():
        assert summary[name] == value, (name, value, summary[name])
    shown = {k for k, v in summary.items() if isinstance(v, int) and not isinstance(v, bool)}
    assert shown - set(page.data) <= {"headroom_bytes", "tokens", "balanced_peak_bytes", "skewed_peak_bytes"}
    assert len(page.ids) == len(set(page.ids)), "an id comes twice"
    anchors = {link[1:] for link in page.links if link.startswith("#")}
    assert anchors <= set(page.ids), anchors - set(page.ids)
    assert all(link.startswith("#") or link == "data:," for link in page.links), page.links
    wanted = {"timeline", "peak", "operators", "figures", "run", "not-modelled"}
    assert wanted <= set(page.ids), wanted - set(page.ids)


def check_operators(page, report):
    rows = page.table("operators")
    operators = report["operators"]
    shown = [(r["cells"][0], [int(v) for v in r["values"][:6]], r["cells"][-1]) for r in rows]
    told = [(o["name"], [o["extra"]["count"], o["extra"]["peak_bytes"], o["extra"]["peak_saved_bytes"],
                         o["memory_bytes"], o["extra"].get("saved_bytes", 0),
                         o["extra"].get("temporary_bytes", 0)], o["formula"]) for o in operators]
    if len(operators) > 1200:
        assert len(shown) == 1200 and set(map(str, shown)) <= set(map(str, told))
        return
    # What stays was not saved; the report tells no such figures of it.
    for row, operator in zip(shown, told):
        assert row[0] == operator[0] and row[1][:4] == operator[1][:4] and row[2] == operator[2]
    assert len(shown) == len(told)


def check_timeline(page, report):
    data = json.loads(page.scripts["timeline-data"])
    assert [(p["event"], p["bytes"]) for p in data["points"]] == \
        [(p["event"], p["bytes"]) for p in report["timeline"]]
    for point in data["points"]:
        assert sum(point["categories"]) == point["bytes"], point
    times = [point["ms"] for point in data["points"]]
    assert times == sorted(times) and times[-1] <= data["end_ms"]
    assert data["is_timed"] == (report["summary"]["step_time_ms"] is not None)
    peak = next(p for p in data["points"] if p["event"] == data["peak_event"])
    assert peak["bytes"] == report["peak"]["bytes"]
    ids = {"weights": "weight", "buffers": "buffer", "gradients": "gradient", "inputs": "input",
           "optimizer states": "optimizer_state", "saved activations": "activation",
           "temporaries": "temporary", "workspaces": "workspace"}
    told = {row["category"]: row["bytes"] for row in report["peak"]["categories"]}
    assert {ids[n]: b for n, b in zip(data["categories"], peak["categories"]) if b} == \
        {c: b for c, b in told.items() if b}


def check_html(output, report):
    text = output.decode()
    assert len(output) < 1 << 20, len(output)
    assert "http:" not in text.replace("http://www.w3.org", "") and "https:" not in text
    page = Page(text)
    check_page(page, report)
    check_operators(page, report)
    check_timeline(page, report)
    verdict = page.text["verdict"]
    assert verdict.startswith("does not fit") != report["summary"]["fits"], verdict
    treated = {report["metadata"][name] for name in ("checkpointing", "treat")} != {"none"}
    assert ("treatments" in page.ids) == treated, page.ids


def check_svg(output, report):
    root = xml.etree.ElementTree.fromstring(output)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg"
    areas = collections.Counter()
    for group in root.iter(space + "g"):
        title, cell = group.find(space + "title"), group.find(space + "rect")
        if title is not None and cell is not None and cell.get("class").startswith("cell "):
            areas[cell.get("class")[5:]] += float(cell.get("width")) * float(cell.get("height"))
    told = {row["category"]: row["bytes"] for row in report["peak"]["categories"]}
    whole = 1040 * 380
    for category, area in areas.items():
        share = told[category] / report["peak"]["bytes"]
        assert abs(area / whole - share) < 0.05, (category, area / whole, share)
    assert {c for c, b in told.items() if b} == set(areas), areas
    pins = [e for e in root.iter(space + "circle") if e.get("class") == "pin-head"]
    assert len(pins) == 1
    layers = [e for e in root.iter(space + "rect") if (e.get("class") or "").startswith("layer")]
    assert len(layers) >= 2 * report["metadata"]["num_layers"]


def check_chrome_trace(output, report):
    trace = json.loads(output)
    events = trace["traceEvents"]
    by_kind = collections.defaultdict(list)
    for event in events:
        by_kind[event["ph"]].append(event)
        assert event["ts"] >= 0
    tracks = collections.defaultdict(list)
    for event in by_kind["X"]:
        tracks[event["tid"]].append((round(event["ts"] * 1000), round(event["dur"] * 1000)))
    for track, slices in tracks.items():
        if track == 1:  # layers lie within phases
            continue
        slices.sort()
        for (begin, length), (following, _) in zip(slices, slices[1:]):
            assert begin + length <= following, (track, begin, length, following)
    total = [e["args"]["total"] for e in by_kind["C"] if e["name"] == "allocated"]
    reserved = [e["args"]["total"] for e in by_kind["C"] if e["name"] == "reserved"]
    assert max(total) == report["summary"]["peak_memory_bytes"]
    assert max(reserved) == report["summary"]["reserved_memory_bytes"]
    series = {tuple(e["args"]) for e in by_kind["C"] if e["name"] == "allocated by category"}
    assert len(series) == 1, "the first event fixes the series"
    begun = {(e["pid"], e["id2"]["local"], e["name"], e["cat"]): e["ts"] for e in by_kind["b"]}
    ended = {(e["pid"], e["id2"]["local"], e["name"], e["cat"]): e["ts"] for e in by_kind["e"]}
    assert begun.keys() == ended.keys() and 0 < len(begun) <= 256
    assert all(begun[key] <= ended[key] for key in begun)
    peak, = by_kind["i"]
    assert peak["s"] == "g" and peak["args"]["bytes"] == report["peak"]["bytes"]
    starts, ends = ({e["id"]: e["ts"] for e in by_kind[k]} for k in "sf")
    assert starts.keys() == ends.keys() and all(starts[k] <= ends[k] for k in starts)
    metadata = report["metadata"]
    links = "offload" in metadata["treat"] or metadata["parameter_device"] == "host" and metadata["accumulate"] > 1
    assert bool(starts) == links, len(starts)
    if report["summary"]["step_time_ms"] and metadata["accumulate"] < 5:
        last = max(e["ts"] + e["dur"] for e in by_kind["X"] if e["tid"] <= 2)
        assert abs(last / 1000 - report["summary"]["step_time_ms"]) < 0.01


def check_memory_viz(output, report):
    assert {op.name for op, _, _ in pickletools.genops(output)} <= VIEWER_OPCODES
    assert output[:2] == b"\x80\x04"
    snapshot = pickle.loads(output)
    entries, = snapshot["device_traces"]
    active = {}
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == address, "a gap in a segment"
            address += block["size"]
            if block["state"] == "active_allocated":
                assert block["requested_size"] <= block["size"] and block["frames"]
                active[block["address"]] = block["size"]
        assert address == segment["address"] + segment["total_size"]
    phases = report["phases"]
    assert sum(active.values()) == phases[-1]["end_bytes"]
    if report["metadata"]["allocator"] != "raw":
        total = sum(segment["total_size"] for segment in snapshot["segments"])
        assert total == phases[-1]["end_reserved_bytes"], (total, phases[-1])
    level = most = sum(active.values())
    for entry in reversed(entries):
        assert set(entry) == {"action", "addr", "size", "stream", "frames", "time_us"}
        if entry["action"] == "free_completed":
            assert entry["addr"] not in active
            active[entry["addr"]] = entry["size"]
            level += entry["size"]
        elif entry["action"] == "alloc":
            assert active.pop(entry["addr"]) == entry["size"]
            level -= entry["size"]
        most = max(most, level)
    assert most == report["summary"]["peak_memory_bytes"], (most, report["summary"])
    assert level == report["summary"]["start_bytes"]
    assert all(e["frames"] for e in entries if e["action"] != "segment_alloc")


def check_speedscope(output, report):
    file = json.loads(output)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    profile, = file["profiles"]
    assert profile["type"] == "sampled" and profile["unit"] == "bytes"
    assert profile["endValue"] == report["peak"]["bytes"] == sum(profile["weights"])
    assert len(profile["samples"]) == len(profile["weights"])
    frames = file["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    assert all(0 <= index < len(frames) for sample in profile["samples"] for index in sample)


def check_folded(output, report):
    stacks = collections.Counter()
    for line in output.decode().splitlines():
        stack, size = line.rsplit(" ", 1)
        assert stack not in stacks, stack
        stacks[stack] += int(size)
    assert sum(stacks.values()) == report["peak"]["bytes"]
    assert len({stack.split(";")[0] for stack in stacks}) == 1


CHECKS = {"html": check_html, "svg": check_svg, "chrome-trace": check_chrome_trace,
          "memory-viz": check_memory_viz, "speedscope": check_speedscope, "folded": check_folded}


def check_run(program, arguments, form):
    report = json.loads(analyze(program, arguments, "json"))
    output = analyze(program, arguments, form)
    CHECKS[form](output, report)
    assert analyze(program, arguments, form) == output, "not the same twice"


def check_escapes(program, form):
    """A model's name is the only text of a run that its user chooses."""
    name = "<b onload=alert(1)>&amp;\"'];b.json" if form != "folded" else "a;b c.json"
    config = (ROOT / "configs" / "smollm2-135m.json").read_text()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.write_text(config)
        ran = subprocess.run([program, "analyze", "-q", "--config", path, "--seq", "64", "--device",
                              "l4", "--format", form], capture_output=True, check=False)
        assert ran.returncode == 0, ran.stderr
        plain = json.loads(subprocess.run([program, "analyze", "-q", "--config", path, "--seq", "64",
                                           "--device", "l4", "--format", "json"],
                                          capture_output=True, check=True).stdout)
    assert plain["metadata"]["model"].startswith("<b" if form != "folded" else "a;"), plain["metadata"]["model"]
    CHECKS[form](ran.stdout, plain)
    assert b"<b onload" not in ran.stdout or form not in ("html", "svg")


def check_large(program):
    """126 layers, a record for each: still below a megabyte."""
    arguments = "--config llama-3.1-405b --seq 1024 --device b200 --unroll --treat 0-60=checkpoint"
    check_run(program, arguments, "html")


def check_plan_page(program, arguments, exit_code):
    def plan(form):
        ran = subprocess.run([program, "plan", "-q", *arguments.split(), "--format", form],
                             capture_output=True, check=False)
        assert ran.returncode == exit_code, (ran.returncode, ran.stderr)
        return ran.stdout
    text, answer = plan("html").decode(), json.loads(plan("json"))
    page = Page(text)
    assert len(text) < 1 << 20 and "https:" not in text
    assert len(page.ids) == len(set(page.ids))
    if "points" in answer:
        rows = page.table("points")
        assert [int(r["values"][0]) for r in rows] == [p["peak_memory_bytes"] for p in answer["points"]]
        assert [r["cells"][-1] for r in rows] == [p["treat"] or "keep everything" for p in answer["points"]]
        return
    assert int(page.table("ways")[0]["values"][0]) == answer["peak_memory_bytes"]
    if answer["treat"]:
        assert page.text["treat"] == "--treat " + answer["treat"] or exit_code == 3
    if exit_code == 0:
        data = json.loads(page.scripts["timeline-data"])
        assert max(p["bytes"] for p in data["points"]) == answer["peak_memory_bytes"]
        assert sum(int(r["values"][0]) for r in page.table("treatments")) == answer["metadata"]["num_layers"]


PLANS = [
    ("--config llama-3.2-1b --device rtx-4090 --batch 4 --seq 2048", 0),
    ("--config smollm2-135m --batch 8 --seq 1024 --device t4 --budget 4GiB --target all", 0),
    ("--config llama-3.1-8b --device rtx-4090", 3),
    ("--config smollm2-135m --batch 8 --seq 1024 --device a10 --curve --points 4", 0),
    ("--config gpt2 --device cpu --batch 8 --seq 512 --budget 4GiB", 0),
]


# A slow program, as sanitizers make it, is asked less.
EVERY = int(os.environ.get("CHECK_EVERY", "1"))


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0

    def attempt(label, check, *arguments):
        nonlocal passed, failed
        try:
            check(*arguments)
            passed += 1
        except Exception as error:  # what cannot be read is a failure like any other
            failed += 1
            print(f"{label}: {check.__name__}: {type(error).__name__}: {str(error)[:300]}")

    for arguments in RUNS[::EVERY]:
        for form in FORMATS:
            attempt(f"analyze {arguments} --format {form}", check_run, program, arguments, form)
    for form in FORMATS:
        attempt(f"a model's name in {form}", check_escapes, program, form)
    attempt("126 layers, unrolled", check_large, program)
    for arguments, code in PLANS[::EVERY]:
        attempt(f"plan {arguments}", check_plan_page, program, arguments, code)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
