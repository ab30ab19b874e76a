#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_plans.py MEMSCOPE

Plans runs and holds the answers to what they promise: a plan that fits is within its budget,
`memscope analyze --plan` finds the very same figures, shares and sums agree, a trainer's plan is no
faster than the free one, curves never rise, and the schemas accept what is written.
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[3]
CATEGORIES = {"weight", "buffer", "gradient", "optimizer_state", "input", "activation", "temporary",
              "workspace"}
# The run, what else is asked, and the exit status.
PLANS = [
    ("smollm2-135m --batch 8 --device rtx-4090", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 12GiB", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 6GiB", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 12GiB --accumulate 2 --clip 1", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 1500MiB", "", 3),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "--without selective,offload", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "--planner greedy", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "--planner uniform", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "--planner none", 3),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 30GiB", "--planner rules", None),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 20GiB", "--target hf", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 17GiB", "--target torchtitan", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "--target pytorch", 0),
    ("llama-3.2-1b --batch 2 --device a100-40gb --budget 16GiB", "--target all", 0),
    ("llama-3.2-1b --batch 1 --device rtx-4090 --budget 8GiB", "--allow host-optimizer", 0),
    ("llama-3.2-1b --batch 1 --device rtx-4090 --budget 4GiB", "--allow host-optimizer", 3),
    ("llama-3.2-1b --batch 1 --device rtx-4090 --budget 20GiB", "--allow host-optimizer", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 5GiB --optimizer-device host", "", 0),
    ("llama-3.1-8b --batch 1 --device rtx-4090 --budget 12GiB", "--allow host-parameters", 0),
    ("llama-3.2-1b --batch 1 --device rtx-4090 --budget 8GiB", "--allow host-parameters", 0),
    ("gpt2 --batch 4 --accumulate 2 --clip 1 --device rtx-4090 --budget 2GiB",
     "--allow host-optimizer,host-parameters", 0),
    ("qwen3-0.6b --dtype fp32 --autocast bf16 --device rtx-4090 --budget 7GiB"
     " --optimizer-device host --parameter-device host", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 1500MiB --allocator cuda-expandable", "", 3),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 6GiB", "--without checkpoint,chunk", 3),
    # Layers of several kinds run different operators.
    ("gemma-3-1b --batch 4 --seq 2048 --device a100-40gb --budget 22GiB", "", 0),
    ("deepseek-v2-lite --batch 2 --seq 2048 --device h200 --budget 124GiB", "", 0),
    ("gpt2 --batch 4 --dtype fp32 --device cpu --budget 8GiB", "", 0),
    ("qwen3-0.6b --batch 4 --dtype fp32 --autocast bf16 --device a100-40gb --budget 20GiB",
     "--gpu-cost-per-hour 10", 0),
    # The optimizer in backward, and an evaluation that needs less, about as much and more.
    ("llama-3.2-1b --batch 4 --device a100-40gb --budget 24GiB --optimizer-in-backward yes", "", 0),
    ("gpt2 --batch 4 --device rtx-4090 --budget 2GiB --optimizer-in-backward yes", "", 3),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 6GiB --eval-batch 2", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 12GiB --eval-batch 8", "", 0),
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 6GiB --eval-batch 16", "", 3),
]
# Retries and all of the budget, whose time is the step's.
PLANS += [
    ("smollm2-135m --batch 8 --device rtx-4090 --budget 6GiB", "--allow retries", 0),
    ("llama-3.2-1b --batch 2 --seq 4096 --device a100-40gb --parallel fsdp=8", "", 0),
    ("llama-3.2-1b --batch 4 --seq 4096 --device a100-40gb --parallel fsdp=8", "", 0),
    # GLPK's simplex method went in circles here.
    ("qwen3-30b-a3b --batch 2 --seq 4096 --device h100-80gb --parallel fsdp=8", "", 0),
]
CURVES = ["llama-3.2-1b --batch 2 --device a100-40gb", "smollm2-135m --batch 4 --without offload,tile"]

# Plans that a person would try where the budget is tight. They run within it, and the planner's must
# not be more than a percent slower.
BY_HAND = [
    ("llama-3.1-8b --batch 1 --device h200 --budget 61.90GiB", "0-17=checkpoint+offload"),
    ("llama-3.1-8b --batch 1 --device h200 --budget 62.12GiB", "0-14=checkpoint+offload"),
    ("llama-3.1-8b --batch 4 --device h200 --budget 63GiB",
     "0-10=checkpoint+offload,11-31=selective:mean#0+add#0+rsqrt#0+mm#0+mm#1+mm#2+mul#4+add#2+mm#3"
     "+mean#1+add#4+rsqrt#1+mm#4+mm#5+offload,loss=chunk:16"),
]


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, check=False)


def plan(program, arguments, form="json"):
    done = run(program, "plan", *arguments.split(), "--format", form)
    if done.returncode not in (0, 3):
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}")
    return done


def check_figures(figures):
    assert set(figures["categories"]) <= CATEGORIES, figures["categories"]
    assert sum(figures["categories"].values()) == figures["peak_memory_bytes"]
    assert figures["peak_memory_bytes"] <= figures["reserved_memory_bytes"]
    assert figures["reserved_memory_bytes"] <= figures["device_bytes"]
    if figures["step_ms"] is not None:
        parts = figures["compute_ms"] + figures["exposed_copy_ms"] + figures["retry_ms"]
        assert abs(parts - figures["step_ms"]) <= 0.01 + 1e-6 * parts, (parts, figures["step_ms"])
        assert figures["recompute_ms"] <= figures["compute_ms"]


def check_budget(answer):
    every = [answer, answer["keep_all"], answer["checkpoint_all"], *answer.get("targets", [])]
    every += [row for row in answer["compared"] if "fits" in row]
    for figures in every:
        check_figures(figures)
        assert not figures["fits"] or figures["device_bytes"] <= answer["budget_bytes"], figures
    assert answer["fits"] == (answer["status"] != "infeasible")
    margin = answer["margin"]
    if answer["fits"] and not margin["allows_retries"]:
        assert answer["allocator_retries"] == 0 and answer["retry_ms"] in (0, None), answer["retry_ms"]
        if "evaluation" not in answer["peak_stage"]:
            assert answer["device_bytes"] + margin["bytes"] <= answer["budget_bytes"], margin
    assert margin["bytes"] == margin["context_bytes"] + margin["communicator_bytes"]
    for row in answer["suggestions"]:
        assert row["fits"] and row["option"], row


def check_time(answer):
    base, step = answer["keep_all"]["step_ms"], answer["step_ms"]
    if base is None:
        assert step is None and answer["overhead_pct"] is None
        return
    assert abs(answer["overhead_pct"] - 100 * (step - base) / base) < 0.01
    rate = answer["cost"]["gpu_cost_per_hour"]
    for name, figures in (("plan", answer), ("keep_all", answer["keep_all"]),
                          ("checkpoint_all", answer["checkpoint_all"])):
        money = answer["cost"]["per_1000_steps"][name]
        money_of_all = rate * answer["cost"]["gpus"] * figures["step_ms"] / 3600
        assert abs(money - money_of_all) < 1e-4, (name, money)
    is_on_host = answer["metadata"]["parameter_device"] == "host"
    if answer["rationale"] and not is_on_host:  # then copies of parameters share the link
        added = sum(row["added_ms"] for row in answer["rationale"])
        more = step - answer["retry_ms"] - (base - answer["keep_all"]["retry_ms"])
        assert abs(added - more) < 0.01 + 1e-5 * step, (added, more)
    if answer["bound_ms"] is not None:
        assert answer["bound_ms"] <= step + 1e-3
        assert abs(answer["gap"] - (step - answer["bound_ms"]) / step) < 1e-4
        assert (answer["status"] == "optimal") == (answer["gap"] <= 0.001), answer["status"]


def check_layers(answer):
    layers = [row["layer"] for row in answer["treatments"]]
    assert layers == list(range(answer["metadata"]["num_layers"]))
    treated = {row["layer"] for row in answer["treatments"] if row["treatment"] != "keep"}
    told = set()
    for row in answer["rationale"]:
        assert row["why"] and row["treatment"] != "keep"
        if row["first_layer"] is None:
            assert answer["loss_chunks"] > 0
            continue
        layers = range(row["first_layer"], row["last_layer"] + 1)
        assert not told & set(layers), row
        told |= set(layers)
        for layer in layers:
            assert answer["treatments"][layer]["treatment"] == row["treatment"], row
    assert told == treated or not answer["rationale"], (told, treated)
    freed = [row["freed_bytes"] for row in answer["rationale"]]
    assert freed == sorted(freed, reverse=True)


def check_target(answer):
    price, target = answer["target"]["price"], answer["target"]
    if target["name"] == "free" or answer["status"] == "infeasible":
        return
    assert target["text"], target
    if target["name"] == "pytorch":  # which can express anything
        assert price is None
        return
    assert price["step_ms"] > -1e-3 * answer["step_ms"], price
    assert abs(answer["step_ms"] - target["free_step_ms"] - price["step_ms"]) < 0.01


def check_analysis(answer, program, arguments):
    """What was planned is what a run with the plan's file needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "plan.json"
        path.write_text(json.dumps(answer))
        asked = [*arguments.split(), "--plan", str(path), "--format", "json"]
        budget = answer["least_budget_bytes"]
        if answer["allocator_limit"] and answer["margin"]["bytes"]:  # the plan holds where the allocator is held below the margin
            budget = answer["budget_bytes"] - answer["margin"]["bytes"]
        if budget:
            if "--budget" in asked:
                at = asked.index("--budget")
                del asked[at:at + 2]
            asked += ["--budget", f"{budget}B"]
        done = run(program, "analyze", "--no-advice", *asked)
    assert done.returncode in (0, 1), done.stderr.decode()
    summary = json.loads(done.stdout)["summary"]
    assert summary["fits"] or not answer["fits"]
    for ours, theirs in (("peak_memory_bytes", "peak_memory_bytes"),
                         ("reserved_memory_bytes", "reserved_memory_bytes"),
                         ("device_bytes", "expected_device_bytes"),
                         ("host_bytes", "host_memory_bytes"), ("peak_stage", "peak_stage"),
                         ("allocator_retries", "allocator_retries")):
        assert answer[ours] == summary[theirs], (ours, answer[ours], summary[theirs])
    if answer["step_ms"] is not None:
        assert abs(answer["step_ms"] - summary["step_time_ms"]) < 0.01


def check_elsewhere(answer, program, arguments):
    """With what the rules might send to the host, which the plan says, any host plans the same."""
    rules = answer.get("rules_estimate")
    if rules and rules["is_half_of_host"]:
        most = rules["max_cpu_offload_bytes"]
        rules["is_half_of_host"] = False
        check_again(answer, program, f"{arguments} --max-cpu-offload {most}B")


def check_again(answer, program, arguments):
    """Only the time of solving differs between two runs."""
    again = json.loads(plan(program, arguments).stdout)
    again["solve_ms"] = answer["solve_ms"]
    assert again == answer


def check_texts(answer, program, arguments):
    for form in ("console", "md"):
        text = plan(program, arguments, form).stdout.decode()
        assert "nan" not in text, text
        verdict = text.split("\n")[2]
        lines = (answer["target"]["text"] or "").splitlines() if answer["fits"] else []
        assert all(line in text for line in lines), answer["target"]
        assert ("does not fit" in verdict or "no plan was found" in verdict) == (not answer["fits"]), verdict


def schema(name):
    try:
        import jsonschema
    except ImportError:
        return None
    text = json.loads((ROOT / "schemas" / name).read_text())
    jsonschema.Draft7Validator.check_schema(text)
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft7Validator(text)


def check_schema(answer, validator):
    if validator:
        errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(answer)]
        assert not errors, errors[:5]


def check_curve(curve, program, arguments):
    points = curve["points"]
    assert 2 <= len(points) <= 9, len(points)
    for point in points:
        check_figures(point)
        assert point["fits"] and point["device_bytes"] <= point["budget_bytes"], point
    for low, high in zip(points, points[1:]):
        assert low["budget_bytes"] < high["budget_bytes"]
        assert low["step_ms"] >= high["step_ms"], (low["step_ms"], high["step_ms"])
    check_figures(curve["keep_all"])
    assert points[-1]["overhead_pct"] < 0.01, points[-1]["overhead_pct"]
    rows = list(csv.DictReader(io.StringIO(plan(program, arguments, "csv").stdout.decode())))
    assert [int(row["budget_bytes"]) for row in rows] == [p["budget_bytes"] for p in points]
    assert [row["treat"] for row in rows] == [p["treat"] for p in points]
    picture = xml.dom.minidom.parseString(plan(program, arguments, "svg").stdout)
    titles = picture.getElementsByTagName("title")
    assert len(titles) == len(points) + 2  # and what keeps everything, and the picture's own
    assert not picture.getElementsByTagName("script")
    for form in ("console", "md"):
        assert plan(program, arguments, form).stdout


def check_hand(answer, program, arguments, treat):
    done = run(program, "analyze", "--no-advice", *arguments.split(), "--treat", treat, "--format", "json")
    by_hand = json.loads(done.stdout)["summary"]
    assert by_hand["fits"], f"{treat} does not fit"
    by_hand_ms = by_hand["step_time_ms"]
    assert answer["step_ms"] <= 1.01 * by_hand_ms, (answer["step_ms"], by_hand_ms)


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
        except Exception as error:  # an answer that lacks a member is a failure like any other
            failed += 1
            print(f"{label}: {check.__name__}: {type(error).__name__}: {str(error)[:400]}")

    def read(label, status):
        done = plan(program, label)
        assert status in (None, done.returncode), f"exit {done.returncode}, not {status}"
        return json.loads(done.stdout)

    validators = {name: schema(f"{name}.schema.json") for name in ("plan", "curve")}
    for arguments, asked, status in PLANS[::EVERY]:
        label = f"{arguments} {asked}".strip()
        try:
            answer = read(label, status)
        except (AssertionError, json.JSONDecodeError) as error:
            failed += 1
            print(f"plan {label}: {error}")
            continue
        for check in (check_budget, check_time, check_layers, check_target):
            attempt(f"plan {label}", check, answer)
        attempt(f"plan {label}", check_schema, answer, validators["plan"])
        attempt(f"plan {label}", check_analysis, answer, program, arguments)
        attempt(f"plan {label}", check_again, answer, program, label)
        attempt(f"plan {label}", check_texts, answer, program, label)
        attempt(f"plan {label}", check_elsewhere, answer, program, label)
    for arguments, treat in BY_HAND[::EVERY]:
        answer = read(f"{arguments} --allow retries", 0)
        attempt(f"plan {arguments}", check_hand, answer, program, arguments, treat)
    for label in (f"{curve} --curve --points 9" for curve in CURVES[::EVERY]):
        try:
            curve = read(label, 0)
        except (AssertionError, json.JSONDecodeError) as error:
            failed += 1
            print(f"plan {label}: {error}")
            continue
        attempt(f"plan {label}", check_schema, curve, validators["curve"])
        attempt(f"plan {label}", check_curve, curve, program, label)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
