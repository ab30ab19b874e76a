#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_reports.py MEMSCOPE

Runs memscope and holds its JSON reports to what they promise: every formula evaluates to its
memory_bytes, the peak's three views sum to the peak, the timeline has the extremes, folded records
stand for the unrolled ones, and the schema (where python3-jsonschema is there) accepts the report.
"""
import ast
import json
import operator
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUNS = [
    "--config llama-3.1-8b --seq 4096",
    "--config llama-3.1-8b --seq 1024 --checkpointing first:8 --attention eager --clip 1",
    "--config llama-3.2-1b --batch 2 --seq 512 --dtype fp32 --autocast bf16 --optimizer-impl foreach",
    "--config qwen3-0.6b --batch 2 --seq 300 --accumulate 3 --allocator cuda-expandable",
    "--config qwen2.5-7b --seq 128 --optimizer-impl loop --attention math --checkpointing all "
    "--checkpoint-kind reentrant",
    "--config mistral-7b-v0.3 --seq 100 --optimizer sgd-momentum --attention math",
    "--config gpt2-medium --dtype fp16 --attention math --device v100-16gb --optimizer adam",
    "--config gpt2 --batch 2 --seq 77 --dtype fp32 --device cpu",
    "--config smollm2-135m --seq 256 --accumulate 16 --clip 1",
    "--config gpt2-xl --seq 64 --optimizer sgd --max-split-size 64MiB --attention efficient",
    "--config smollm2-135m --unroll --checkpointing every:2 --accumulate 2 --clip 0.5",
]

OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul}


def evaluate(node, symbols):
    """Exact integers only: numbers, names, + and *, half(x), ceilN(x)."""
    if isinstance(node, ast.Expression):
        return evaluate(node.body, symbols)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return symbols[node.id]
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](evaluate(node.left, symbols), evaluate(node.right, symbols))
    if isinstance(node, ast.Call) and len(node.args) == 1:
        value = evaluate(node.args[0], symbols)
        if node.func.id == "half":
            assert value % 2 == 0, "half of an odd number"
            return value // 2
        step = int(node.func.id.removeprefix("ceil"))
        return -(-value // step) * step
    raise ValueError(ast.dump(node))


def check_formulas(report):
    symbols = report["metadata"]["symbols"]
    for record in report["operators"]:
        value = evaluate(ast.parse(record["formula"], mode="eval"), symbols)
        assert value == record["memory_bytes"], (record["name"], record["formula"], value,
                                                 record["memory_bytes"])
        assert record["memory_bytes"] < 1 << 20 or any(c.isalpha() for c in record["formula"]), \
            ("a large figure without symbols", record["name"], record["formula"])


def check_peak(report):
    peak = report["peak"]
    total = report["summary"]["peak_memory_bytes"]
    assert peak["bytes"] == total
    assert sum(row["bytes"] for row in peak["categories"]) == total
    # What records hold then is alive: of no category more than there is. A few scalars are no operator's.
    saved = next((row["bytes"] for row in peak["categories"] if row["category"] == "activation"), 0)
    held = [record["extra"] for record in report["operators"]]
    assert saved - (1 << 20) <= sum(extra["peak_saved_bytes"] for extra in held) <= saved
    assert sum(extra["peak_bytes"] for extra in held) <= total
    assert sum(row["bytes"] for row in peak["layers"]) == total
    assert sum(row["bytes"] for row in peak["tensors"]) + peak["other_tensors"]["bytes"] == total
    counts = sum(row["count"] for row in peak["categories"])
    assert counts == sum(row["count"] for row in peak["tensors"]) + peak["other_tensors"]["count"]
    layers = [row["count"] for row in peak["layers"] if row["first_layer"] is not None]
    assert sum(layers) == report["metadata"]["num_layers"], layers


def check_phases(report):
    summary, phases = report["summary"], report["phases"]
    assert max(phase["peak_bytes"] for phase in phases) == summary["peak_memory_bytes"]
    assert phases[0]["start_bytes"] == summary["start_bytes"]
    # The loss goes between two of them, and the arguments a reentrant checkpoint held.
    reentrant = report["metadata"]["checkpoint_kind"] == "reentrant"
    for before, after in zip(phases, phases[1:]):
        assert 0 <= before["end_bytes"] - after["start_bytes"] <= (1 << 20 if reentrant else 512)
    for phase in phases + report["first_step_phases"]:
        assert phase["peak_bytes"] >= max(phase["start_bytes"], phase["end_bytes"])
        assert phase["peak_reserved_bytes"] >= phase["peak_bytes"]
    micro_steps = [set(range(p["micro_step"], p["micro_step"] + p["repeats"]))
                   for p in phases if p["phase"] == "backward"]
    assert sum(map(len, micro_steps)) == report["metadata"]["accumulate"], micro_steps
    assert set.union(*micro_steps) == set(range(report["metadata"]["accumulate"])), micro_steps
    peak = next(p for p in phases if p["peak_bytes"] == summary["peak_memory_bytes"])
    assert summary["peak_stage"] == peak["phase"] == report["peak"]["phase"]


def check_timeline(report):
    points = report["timeline"]
    assert len(points) <= 402
    assert max(p["bytes"] for p in points) == report["summary"]["peak_memory_bytes"]
    assert all(a["event"] < b["event"] for a, b in zip(points, points[1:]))
    for phase in {p["phase"] for p in report["phases"]} & {"forward", "backward"}:
        assert any(p["phase"] == phase for p in points)


def check_modules(report):
    peak = report["summary"]["peak_memory_bytes"]
    assert sum(row["peak_bytes"] for row in report["modules"]) == peak
    rounded = sum(row["peak_rounded_bytes"] for row in report["modules"])
    assert rounded == sum(row["rounded_bytes"] for row in report["peak"]["categories"]) <= peak
    assert sum(row["count"] for row in report["modules"]) == sum(row["count"] for row in report["peak"]["categories"])
    names = [row["module"] for row in report["modules"]]
    assert len(set(names)) == len(names)


def check_levels(report):
    """From the start of the step to its end; the highest is what is rounded at the peak, where every event is told."""
    levels, summary = report["levels"], report["summary"]
    assert levels["bytes"][0] == summary["start_bytes"]
    assert len(levels["bytes"]) == levels["events"] // levels["stride"] + 1 <= 2048
    assert max(levels["bytes"]) <= summary["peak_memory_bytes"]
    rounded = sum(row["rounded_bytes"] for row in report["peak"]["categories"])
    assert levels["stride"] > 1 or max(levels["bytes"]) >= rounded
    if levels["events"] % levels["stride"] == 0:
        assert levels["bytes"][-1] == report["phases"][-1]["end_bytes"]
    starts = [row["event"] for row in levels["phases"]]
    assert starts == sorted(starts) and len(starts) == len(report["phases"])


def total(report, category):
    return sum(record["memory_bytes"] * record["extra"]["count"] for record in report["operators"]
               if record["persistent"] and record["category"] == category)


def tensor_count(report):
    return sum(record["extra"]["count"] for record in report["operators"]
               if record["persistent"] and record["category"] == "weight")


def check_summary(report):
    summary = report["summary"]
    assert total(report, "weight") == summary["weight_memory_bytes"]
    assert total(report, "buffer") == summary["buffer_memory_bytes"]
    assert total(report, "gradient") == summary["grad_memory_bytes"]
    # Step counters of unfused optimizers lie on the host: state, but no device memory.
    on_host = summary["optimizer_memory_bytes"] - total(report, "optimizer_state")
    unfused = report["metadata"]["optimizer_impl"] != "fused"
    assert on_host == (4 * tensor_count(report) if unfused else 0) or (unfused and on_host == 0)
    assert summary["low_device_bytes"] <= summary["expected_device_bytes"] <= summary["high_device_bytes"]
    if summary["budget_bytes"] is not None:
        assert summary["headroom_bytes"] == summary["budget_bytes"] - summary["expected_device_bytes"]
        assert summary["fits"] == (summary["headroom_bytes"] >= 0)


def check_suggestions(report):
    """What fits comes first, then what costs least; nothing saves less than a hundredth."""
    costs = ["none", "time", "rounding", "result", "device"]
    order = [(not s["fits"], costs.index(s["cost"])) for s in report["suggestions"]]
    assert order == sorted(order), order
    least = report["summary"]["expected_device_bytes"] // 100
    for suggestion in report["suggestions"]:
        if suggestion["cost"] == "device":
            continue
        assert suggestion["saved_device_bytes"] >= least
        assert (suggestion["changes_result"] is None) == (suggestion["cost"] in ("none", "time"))
        assert (suggestion["device_bytes"] + suggestion["saved_device_bytes"]
                == report["summary"]["expected_device_bytes"])


def flatten(report):
    """What the records add up to, whatever the folding: counts and bytes by operator."""
    totals = {}
    for record in report["operators"]:
        kind = (record["name"].split(".")[-1], record["category"], record["phase"])
        count, memory, saved, flops = totals.get(kind, (0, 0, 0, 0))
        n, extra = record["extra"]["count"], record["extra"]
        totals[kind] = (count + n, memory + n * record["memory_bytes"],
                        saved + n * extra.get("saved_bytes", 0), flops + n * extra.get("flops", 0))
    return totals


def changed(arguments, options):
    """The arguments with other options, each of which is given once."""
    words, names = arguments.split(), {word for word in options.split() if word.startswith("--")}
    kept = [word for at, word in enumerate(words) if word not in names and (at == 0 or words[at - 1] not in names)]
    return " ".join([*kept, options])


def check_suggestions_hold(report, program, arguments):
    """Each suggestion is what a run with its option gives."""
    before = report["summary"]["peak_memory_bytes"]
    for suggestion in report["suggestions"]:
        summary = run(program, "--no-advice " + changed(arguments, suggestion["option"]))["summary"]
        assert summary["expected_device_bytes"] == suggestion["device_bytes"], suggestion
        assert summary["verdict"] == suggestion["verdict"], suggestion
        if suggestion["cost"] == "device":
            continue
        assert before - summary["peak_memory_bytes"] == suggestion["saved_peak_bytes"], suggestion
        assert summary["step_time_ms"] == suggestion["step_time_ms"], suggestion
        assert summary["fits"] == suggestion["fits"], suggestion


def check_no_advice(report, bare):
    """--no-advice leaves out what other runs are simulated for, and nothing else."""
    advice = ("suggestions", "notes", "one_device")
    assert not bare["suggestions"] and not bare.get("one_device"), bare["suggestions"]
    assert all(note in report["notes"] for note in bare["notes"]), bare["notes"]
    assert {k: v for k, v in report.items() if k not in advice} == {k: v for k, v in bare.items() if k not in advice}


CHECKS = [check_formulas, check_peak, check_phases, check_timeline, check_modules, check_levels,
          check_summary, check_suggestions]


def run(program, arguments):
    done = subprocess.run([program, "analyze", *arguments.split(), "--format", "json"],
                          capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def schema_check():
    try:
        import jsonschema
    except ImportError:
        print("python3-jsonschema is not there: reports are not validated")
        return []
    schema = json.loads((ROOT / "schemas/static_report.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)

    def check_schema(report):
        errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(report)]
        assert not errors, errors[:5]
    return [check_schema]


# A slow program, as sanitizers make it, is asked less.
EVERY = int(os.environ.get("CHECK_EVERY", "1"))


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    checks = CHECKS + schema_check()
    passed = failed = 0

    def attempt(label, check, *arguments):
        nonlocal passed, failed
        try:
            check(*arguments)
            passed += 1
        except Exception as error:  # a report that lacks a member is a failure like any other
            failed += 1
            print(f"{label}: {check.__name__}: {type(error).__name__}: {str(error)[:400]}")

    for arguments in RUNS[::EVERY]:
        try:
            report = run(program, arguments)
        except (AssertionError, json.JSONDecodeError) as error:
            failed += 1
            print(f"{arguments}: {error}")
            continue
        for check in checks:
            attempt(arguments, check, report)
        attempt(arguments, check_suggestions_hold, report, program, arguments)
        if "--unroll" not in arguments:
            def check_unrolled(folded, unrolled):
                assert flatten(folded) == flatten(unrolled)
                last = max(p["repeats"] for p in unrolled["phases"])
                assert {r["extra"]["count"] for r in unrolled["operators"]} == {1, last}
            attempt(arguments, check_unrolled, report, run(program, arguments + " --unroll --no-advice"))
        attempt(arguments, check_no_advice, report, run(program, arguments + " --no-advice"))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
