#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_replays.py MEMSCOPE

Plans for ten budgets of each of two models, or for four where CHECK_EVERY is more than 1, are replayed on the host
backend: what is allocated and reserved is what was predicted, to the byte. One is executed with data. Offload by ratio
keeps to the ratio. Every report keeps to its schema where a validator is there.
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import MEMSCOPE, TINY, check, finish, interrupt, report_of, run

MODELS = {"llama-3.2-1b": "--batch 4 --seq 1024", "gpt2-medium": "--batch 8 --seq 512"}
BUDGETS = 10 if int(os.environ.get("CHECK_EVERY", "1")) == 1 else 4


def check_plan(model, settings, budget):
    run(f"plan {model} {settings} --budget {budget} --time-limit 5 --format json -o plan.json -q")
    analysis = json.loads(run(f"analyze {model} {settings} --budget {budget} --plan plan.json --no-advice --format json -o - -q").stdout)
    run(f"probe {model} {settings} --budget {budget} --plan plan.json --backend host --capacity 200GiB --memory-only -q -o run.json")
    report = report_of("run.json", "runtime_report")
    for figure in report["replay"]["figures"]:
        assert figure["predicted"] == figure["measured"], figure
    assert len(report["replay"]["figures"]) == 5 and report["replay"]["disagrees_most"] is None
    for key in ("peak_memory_bytes", "reserved_memory_bytes", "after_build_bytes", "start_bytes"):
        assert report["summary"][key] == analysis["summary"][key], key
    assert not any(report["replay"][key] for key in ("operators", "copies", "traffic_bytes"))


def check_budgets(model, settings):
    whole = json.loads(run(f"analyze {model} {settings} --no-advice --format json -o - -q").stdout)["summary"]
    least = whole["persistent_memory_bytes"] * 1.15 + (2 << 30)
    most = whole["expected_device_bytes"]
    for i in range(BUDGETS):
        budget = f"{int((least + (most - least) * (i + 1) / (BUDGETS + 1)) / (1 << 20))}MiB"
        check(f"{model} within {budget}", lambda: check_plan(model, settings, budget))


def check_data():
    run("probe smollm2-135m --seq 16 --treat 0-29=offload:0.6 --backend host --capacity 2GiB -q -o data.json")
    report = report_of("data.json", "runtime_report")
    replay, times = report["replay"], report["replay"]["times_ms"]
    assert all(f["predicted"] == f["measured"] for f in replay["figures"])
    assert replay["copies"] > 0 and replay["products"] > 100 and replay["traffic_bytes"] > 0
    assert replay["skipped_flops"] > 0 and "step_time_ms" not in report["summary"], "fused attention was not computed"
    step = times["step"]
    parts = sum(times[key] for key in ("product", "attention", "other", "waiting", "between"))
    assert step > 0 and abs(parts - step) < 0.01 and abs(sum(p["ms"] for p in times["phases"]) - step) < 0.01
    assert abs(times["hidden"] - (times["copies"] + times["host_updates"] - times["waiting"])) < 0.01 or times["hidden"] == 0
    assert replay["most_used_bytes"] <= 2 << 30


def check_whole():
    """Where all of the arithmetic runs, the time is that of the step."""
    run(f"probe {TINY} --seq 32 --attention eager --backend host --capacity 256MiB -q -o whole.json")
    report = report_of("whole.json", "runtime_report")
    assert report["replay"]["skipped_flops"] == 0
    assert report["summary"]["step_time_ms"] == report["replay"]["times_ms"]["step"] > 0


def check_offload():
    """Bytes of every ratio are those predicted, and what goes keeps to the ratio."""
    run("probe gpt2 --seq 256 --offload-ratio 0:1:0.1 --backend host --capacity 4GiB --memory-only -q -o offload.json")
    report = report_of("offload.json", "offload")
    saved = report["tags"][0]["saved_bytes"]
    assert len(report["ratios"]) == 11 and saved > 0
    before = -1
    for row in report["ratios"]:
        assert row["predicted"].keys() > row["measured"].keys()
        assert all(row["predicted"][key] == value for key, value in row["measured"].items()), row
        assert before < row["offloaded_bytes"] <= row["ratio"] * saved, row
        assert row["predicted"]["host_memory_bytes"] >= row["offloaded_bytes"]
        assert row["predicted"]["exposed_copy_ms"] <= row["predicted"]["copy_ms"]
        assert 0 <= row["predicted"]["link_use"] <= 1
        before = row["offloaded_bytes"]
    assert before == saved


def check_offload_data():
    run(f"probe {TINY} --seq 64 --attention eager --offload-ratio 0:1:0.5 --backend host --capacity 256MiB -q -o moved.json")
    for row in report_of("moved.json", "offload")["ratios"]:
        assert row["measured"]["step_time_ms"] > 0 and (row["measured"]["copy_ms"] > 0) == (row["offloaded_bytes"] > 0)
        assert row["measured"]["peak_memory_bytes"] == row["predicted"]["peak_memory_bytes"]
        assert row["measured"]["host_memory_bytes"] == row["predicted"]["host_memory_bytes"]


def check_offload_interrupted():
    """What is there is written, unless nothing is."""
    interrupt("probe smollm2-135m --seq 512 --accumulate 8 --offload-ratio 0:1:0.01 --backend host --capacity 20GiB --memory-only -q -o part.json")
    if os.path.exists("part.json"):
        report = report_of("part.json", "offload")
        assert report["metadata"]["partial"] and 0 < len(report["ratios"]) < 101


def check_interrupted():
    """Ctrl-C soon gives a partial report, with everything returned to the machine."""
    interrupt("probe smollm2-135m --seq 2048 --backend host --capacity 4GiB -q -o cut.json")
    report = report_of("cut.json", "runtime_report")
    assert report["outcome"] == "interrupted" and report["replay"]["partial"] and report["metadata"]["steps"] == 0
    assert report["replay"]["figures"] == [] and report["replay"]["times_ms"] is None


def check_appeared():
    """A file that was not named and appears meanwhile is kept, and the status is the measurement's."""
    mine = pathlib.Path("runtime_report.json")
    shown, message = interrupt("probe smollm2-135m --seq 2048 --backend host --capacity 4GiB", lambda: mine.write_text("mine", encoding="utf-8"))
    assert mine.read_text(encoding="utf-8") == "mine" and "cannot write runtime_report.json: File exists" in message, message
    assert "partial: " in shown
    assert not [name for name in os.listdir(".") if name.startswith("runtime_report.json.")]


def check_links():
    run("probe --links --backend host --capacity 512MiB --device t4 -q -o links.json")
    links = report_of("links.json", "device_links")
    assert all(row["bytes_per_s"] > 1e7 for row in links["copies"]) and links["in_use"]["loaded_bytes"] == 0
    assert {row["dtype"] for row in links["products"]} == {"bfloat16", "float16", "float32"}


os.chdir(tempfile.mkdtemp(dir=os.path.dirname(MEMSCOPE)))
for MODEL, SETTINGS in MODELS.items():
    check_budgets(MODEL, SETTINGS)
check("data", check_data)
check("whole", check_whole)
check("offload", check_offload)
check("offload with data", check_offload_data)
check("offload interrupted", check_offload_interrupted)
check("interrupted", check_interrupted)
check("appeared", check_appeared)
check("links", check_links)
finish()
