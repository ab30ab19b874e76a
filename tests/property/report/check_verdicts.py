#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_verdicts.py MEMSCOPE

One run, one verdict: every output of a run says the same of whether it fits, console, Markdown, page, JSON, a sweep's
rows, a plan that keeps everything, a check, a comparison and the exit status. And the verdict follows from the figures
beside it. Budgets are laid around what each run needs, so that every reason comes up.
"""
import csv
import html
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MIB = 1 << 20
EVERY = int(os.environ.get("CHECK_EVERY", "1"))
RUNS = [
    "smollm2-135m --seq 512 --batch 4",
    "gpt2 --seq 512 --batch 2 --dtype fp32",
    "llama-3.2-1b --seq 1024 --batch 2 --checkpointing all",
    "gpt2-medium --seq 256 --batch 3 --allocator cuda-expandable",
    "smollm2-135m --seq 256 --batch 2 --eval-batch 32",
    "qwen2.5-0.5b --seq 700 --batch 2 --autocast bf16 --dtype fp32",
]
FIXED = [  # without a budget, or with one at which the allocator retries
    "gpt2 --seq 64 --device cpu --dtype fp32",
    "gpt2-xl --seq 1024 --batch 4 --budget 30GiB",
    "phi-3-mini-4k --seq 512 --batch 2 --budget 30GiB",
]
VERDICT_OF = {"over-budget": "no", "no-room": "no", "allocator-retries": "tight", "upper-end": "tight",
              "within-budget": "fits", "no-budget": "fits"}
LEAD = {"fits": "fits: ", "tight": "tight: ", "no": "does not fit: "}


def run(program, *words, codes=(0, 1)):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode in codes, (words, done.returncode, done.stderr)
    return done.returncode, done.stdout


def summary_of(program, words):
    code, out = run(program, "analyze", "--no-advice", *words, "-q", "--format", "json", "-o", "-")
    return code, json.loads(out)["summary"]


def budgets_around(summary):
    expected, high = summary["expected_device_bytes"], summary["high_device_bytes"]
    for bytes_ in (expected - 1, expected, high - 1, high, summary["peak_memory_bytes"] + 100 * MIB, 2 * high):
        yield f"{bytes_}B"


def check_reason(summary):
    """The verdict, worked out again from the report's own figures."""
    reason, budget = summary["verdict_reason"], summary["budget_bytes"]
    expected, high = summary["expected_device_bytes"], summary["high_device_bytes"]
    assert VERDICT_OF[reason] == summary["verdict"]
    assert summary["fits"] == (summary["verdict"] != "no")
    assert (reason == "no-budget") == (budget is None)
    if budget is None:
        return
    assert (reason == "over-budget") == (expected > budget)
    if reason == "within-budget":
        assert high <= budget and summary["allocator_retries"] == 0
    if reason == "upper-end":
        assert expected <= budget < high and summary["allocator_retries"] == 0
    if summary["allocator_retries"]:
        assert summary["verdict"] != "fits"


def check_texts(program, words, summary):
    """The answer is the first thing that is said, and why it is tight the next."""
    lead = LEAD[summary["verdict"]] if summary["budget_bytes"] is not None else "needs "
    _, console = run(program, "analyze", *words, "-q", "-o", "-")
    answer = console.split("\n\n")[1]  # below the title
    assert answer.strip().startswith(lead), answer
    assert re.search(r"\n +Why:", answer), answer
    _, markdown = run(program, "analyze", *words, "-q", "--format", "md", "-o", "-")
    assert re.search(r"^\*\*(.*)\*\*$", markdown, re.M).group(1).startswith(lead)
    assert "\n- Why: " in markdown
    _, page = run(program, "analyze", *words, "-q", "--format", "html", "-o", "-")
    tone, text = re.search(r'<p class="verdict (\w+)" id="verdict">(.*?)</p>', page).groups()
    assert html.unescape(text).startswith(lead), text
    assert tone == {"fits": "good", "tight": "tight", "no": "bad"}[summary["verdict"]]
    assert "<strong>Why:</strong>" in page
    spoken = " ".join(console.split("\n\n")[1].split("Why:")[1].split("note:")[0].split())
    assert spoken in " ".join(markdown.replace("\\", "").split()), spoken
    assert spoken in html.unescape(page), spoken


def check_rows(program, words, summary):
    for form in ("csv", "jsonl"):
        _, out = run(program, "sweep", *words, "-q", "--format", form, "-o", "-")
        row = next(csv.DictReader(io.StringIO(out))) if form == "csv" else json.loads(out)
        assert row["verdict"] == summary["verdict"] and row["verdict_reason"] == summary["verdict_reason"], row
        assert str(row["fits"]).lower() == str(summary["fits"]).lower(), row


def check_plan(program, words, summary):
    """Keeping everything is the run itself, where the plan may use what the run may."""
    if any(w in words for w in ("--checkpointing", "--eval-batch", "cpu")):
        return
    _, out = run(program, "plan", *words, "-q", "--planner", "none", "--allow", "retries", "--format", "json",
                 codes=(0, 3))
    plan = json.loads(out)
    for way in (plan, plan["keep_all"]):
        for key in ("fits", "verdict", "verdict_reason"):
            assert way[key] == summary[key], (key, way[key], summary[key])


def check_gate(program, words, summary, folder):
    """A check passes with a warning what is less than fits, unless it says what it requires."""
    fields = dict(zip((w.removeprefix("--") for w in words[1::2]), words[2::2]))
    fields = {k: int(v) if v.isdigit() else v for k, v in fields.items()}
    file = folder / "budgets.json"
    entry = {"run": {"model": words[0], **fields}}
    file.write_text(json.dumps({"budgets": [
        {"name": require or "unsaid", **entry, "limits": {"max": "9TiB", **({"require": require} if require else {})}}
        for require in (None, "nothing", "tight", "fits")]}))
    code, out = run(program, "check", "--budgets", str(file), "--format", "json", codes=(0, 1, 3))
    rows = {r["name"]: r for r in json.loads(out)["budgets"]}
    rank = ["no", "tight", "fits"].index(summary["verdict"])
    assert rows["unsaid"]["outcome"] == ("passed" if rank == 2 else "warned")
    assert rows["nothing"]["outcome"] == "passed"
    assert rows["tight"]["outcome"] == ("passed" if rank > 0 else "over")
    assert rows["fits"]["outcome"] == ("passed" if rank == 2 else "over")
    assert (code == 0) == (rank == 2)
    for row in rows.values():
        assert all(row[k] == summary[k] for k in ("fits", "verdict", "verdict_reason"))
    _, out = run(program, "check", "--budgets", str(file), "--format", "prometheus", codes=(0, 1, 3))
    assert out.count(f'memscope_fit_verdict{{budget="fits"}} {rank}\n') == 1, out


def check_diff(program, words, summary, folder):
    file = folder / "report.json"
    run(program, "analyze", *words, "-q", "--format", "json", "-o", str(file))
    _, out = run(program, "diff", str(file), str(file), "--format", "json", "-o", "-")
    for side in (json.loads(out)["a"], json.loads(out)["b"]):
        assert all(side[k] == summary[k] for k in ("fits", "verdict", "verdict_reason"))
    begin = {"no-budget": "needs"}.get(summary["verdict_reason"]) or {"no": "does not fit,"}.get(
        summary["verdict"], f'{summary["verdict"]},')
    hundredths = (summary["expected_device_bytes"] * 100 + (1 << 29)) >> 30
    budget = (summary["budget_bytes"] * 100 + (1 << 29)) >> 30 if summary["budget_bytes"] else 0
    of = f" of {budget // 100}.{budget % 100:02}" if budget else ""
    words_ = f"{begin} {hundredths // 100}.{hundredths % 100:02}{of} GiB"
    for form in ("console", "md", "html"):
        _, out = run(program, "diff", str(file), str(file), "--format", form, "-o", "-")
        assert out.count(words_) == 2, (form, words_)


def check(program, words, folder, seen):
    code, summary = summary_of(program, words)
    seen.add(summary["verdict_reason"])
    assert code == (0 if summary["fits"] else 1)
    check_reason(summary)
    check_texts(program, words, summary)
    check_rows(program, words, summary)
    check_plan(program, words, summary)
    check_gate(program, words, summary, folder)
    check_diff(program, words, summary, folder)


def all_runs(program):
    for words in RUNS:
        summary = summary_of(program, words.split() + ["--budget", "1TiB"])[1]
        for budget in budgets_around(summary):
            yield words.split() + ["--budget", budget]
    for words in FIXED:
        yield words.split()


def main():
    program, passed, failed, seen = sys.argv[1], 0, 0, set()
    with tempfile.TemporaryDirectory() as folder:
        for words in list(all_runs(program))[::EVERY]:
            try:
                check(program, words, pathlib.Path(folder), seen)
                passed += 1
            except Exception as e:
                failed += 1
                print(f"{' '.join(words)}: {type(e).__name__}: {e}")
    missing = set(VERDICT_OF) - seen - {"no-room"}  # a unit test has that one
    if missing and EVERY == 1:
        failed += 1
        print("no run came to", ", ".join(sorted(missing)))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
