#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_notes.py MEMSCOPE

Holds the notes beside a verdict to the program itself: each figure is what a run with the setting
gives, every report has each sentence, and runs without a surprise have none.
"""
import html
import json
import os
import pathlib
import re
import subprocess
import sys

from check_reports import changed, check_suggestions_hold

# Arguments, and the notes that are there.
RUNS = [
    ("llama-3.2-1b --quantize nf4:double --lora r=16,targets=all-linear --batch 2 --seq 1024",
     ["peft-checkpoints", "fp32-after-quantizing", "math-attention"]),
    ("pythia-1b --quantize nf4 --lora r=8,targets=query_key_value --seq 2048",
     ["peft-checkpoints", "fp32-after-quantizing"]),
    ("llama-3.2-1b --quantize nf4 --lora r=16,targets=all-linear --autocast bf16 --seq 256", ["peft-checkpoints"]),
    ("llama-3.2-1b --quantize nf4 --lora r=16,targets=all-linear --upcast no --seq 256", []),
    ("llama-3.2-1b --dtype fp32 --seq 2048", ["math-attention"]),
    ("llama-3.2-1b --dtype fp32 --seq 2048 --attention math", []),  # that was asked for
    ("llama-3.2-1b --dtype fp32 --seq 64", []),
    ("llama-3.2-1b --dtype fp32 --quantize nf4 --lora r=8,targets=all-linear --seq 2048 --upcast no",
     ["math-attention"]),
    ("llama-3.2-1b --device t4 --dtype fp16 --seq 4096 --lora r=8", ["math-attention", "cached-memory"]),
    ("llama-3.2-1b --device t4 --seq 512", ["emulated-bf16", "half-precision"]),
    ("pythia-1b --device v100-32gb --seq 1024", ["emulated-bf16"]),
    ("pythia-1b --device v100-32gb --seq 1024 --dtype fp16", ["cached-memory"]),
    ("gpt2 --device t4 --dtype fp32 --autocast bf16 --seq 512", ["emulated-bf16", "cached-memory"]),
    ("pythia-1b --device t4 --quantize nf4 --lora r=8,targets=query_key_value --seq 2048",
     ["peft-checkpoints", "fp32-after-quantizing", "emulated-bf16"]),
    ("pythia-1b --device t4 --quantize nf4 --lora r=8,targets=query_key_value --seq 512 --autocast bf16",
     ["peft-checkpoints", "emulated-bf16"]),
    ("qwen2.5-0.5b --seq 2048 --batch 8 --dtype fp32 --autocast bf16", ["cached-memory"]),
    ("llama-3.1-8b --batch 4 --checkpointing all", ["half-precision", "unneeded-recompute", "cached-memory"]),
    ("llama-3.1-8b --batch 4 --checkpointing all --dtype bf16", ["unneeded-recompute", "cached-memory"]),
    ("llama-3.1-8b --batch 4 --checkpointing all --allocator cuda-expandable", ["half-precision", "unneeded-recompute", "cached-memory"]),
    ("llama-3.2-1b --checkpointing all --dtype bf16", ["unneeded-recompute", "cached-memory"]),
    ("llama-3.2-1b --checkpointing every:2 --dtype bf16 --batch 4 --budget 44GiB", ["unneeded-recompute", "cached-memory"]),
    ("smollm2-135m --seq 256", []),  # more than a twentieth, but less than 256 MiB
    ("llama-3.1-8b --seq 4096", ["padded-batches", "half-precision"]),
    ("gpt2 --dtype fp32 --device cpu --seq 128", []),
    ("phi-3-mini-4k --seq 512 --batch 2 --budget 30GiB", ["half-precision", "allocator-retries"]),
    ("gpt2-xl --seq 1024 --batch 4 --budget 30GiB", ["padded-batches", "half-precision", "allocator-retries"]),
    ("phi-3-mini-4k --seq 512 --batch 2 --budget 29GiB", ["cached-memory"]),  # it does not fit
]
# Of several ranks another may need most with a suggestion than without.
RANKS = [
    ("qwen2.5-3b --device a100-80gb --seq 1000 --batch 8 --parallel pp=3,schedule=1f1b,microbatches=6 --budget 32GiB",
     ["cached-memory"]),
    ("llama-3.1-8b --device rtx-4090 --parallel pp=4,schedule=1f1b,microbatches=8 --budget 21GiB", []),
    ("llama-2-70b --device a100-40gb --lora r=8 --quantize nf4:double --checkpointing all --seq 512 --parallel zero=3,dp=4",
     ["gathered-base", "number-of-gpus", "cached-memory"]),
    ("tinyllama-1.1b --device a100-80gb --budget 8GiB --seq 2048 --batch 4 --parallel fsdp=3 --clip 1", ["number-of-gpus", "cached-memory"]),
]
EVERY = int(os.environ.get("CHECK_EVERY", "1"))  # of several ranks, which are few, every fifth part of that
UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]


def write(program, arguments, form):
    done = subprocess.run([program, "analyze", *arguments.split(), "--format", form],
                          capture_output=True, check=False, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def report_of(program, arguments):
    return json.loads(write(program, arguments, "json"))


def size(count):
    """As the program writes it: two decimals, rounded half up."""
    unit = 0
    while count >> (10 * (unit + 1)):
        unit += 1
    if unit == 0:
        return f"{count} B"
    hundredths = (count * 100 + (1 << (10 * unit - 1))) >> (10 * unit)
    return f"{hundredths // 100}.{hundredths % 100:02} {UNITS[unit]}"


def check_remedies(report, program, arguments):
    before = report["summary"]["expected_device_bytes"]
    for note in report["notes"]:
        for remedy in note["remedies"]:
            summary = report_of(program, changed(f"{arguments} --no-advice", remedy["option"]))["summary"]
            saved = before - summary["expected_device_bytes"]
            assert summary["expected_device_bytes"] == remedy["device_bytes"], note
            assert saved == remedy["saved_device_bytes"], note
            assert summary["allocator_retries"] == remedy["allocator_retries"], note
            assert remedy["option"] in note["text"], note
            if note["name"] not in ("allocator-retries", "peft-checkpoints"):
                more = "as much" if saved == 0 else f"{size(abs(saved))} {'less' if saved > 0 else 'more'}"
                assert f"{remedy['option']} needs {more}" in note["text"], (note, more)


def check_half(report, note, program, arguments):
    """The same run with fp32 weights under autocast does not fit, and needs that."""
    option = re.search(r"\((--dtype fp32 --autocast \w+)\)", note["text"]).group(1)
    summary = report_of(program, changed(arguments, option))["summary"]
    assert summary["expected_device_bytes"] == note["bytes"], note
    assert report["summary"]["fits"] and not summary["fits"], note
    assert size(note["bytes"]) in note["text"], note


def check_recompute(report, note, program, arguments):
    """Without checkpoints the run fits, or does not and needs what is said."""
    summary = report_of(program, changed(f"{arguments} --no-advice", "--checkpointing none"))["summary"]
    assert report["summary"]["fits"] and size(summary["expected_device_bytes"]) in note["text"], note
    assert (summary["verdict"] == "fits") == bool(note["remedies"]), (note, summary["verdict"])
    assert note["remedies"] or note["bytes"] == summary["expected_device_bytes"], note


def check_checkpoints(report, note, program, arguments):
    """With the checkpoints of PEFT's preparation the run needs what is said, and fits or does not."""
    summary = report_of(program, changed(f"{arguments} --no-advice", "--checkpointing all"))["summary"]
    assert size(summary["expected_device_bytes"]) in note["text"], note
    assert note["text"].endswith("fits") == summary["fits"], note


def check_padding(report, note, program, arguments):
    """A padded batch needs what is said and does not fit."""
    summary = report_of(program, changed(f"{arguments} --no-advice", "--padding yes"))["summary"]
    assert size(summary["expected_device_bytes"]) in note["text"] or size(note["bytes"] or 0) in note["text"], note
    assert summary["fits"] != ("does not fit" in note["text"]), (note, summary)


def check_math(report, note):
    """The scores of a layer are an operator's own memory."""
    sizes = {r["memory_bytes"] for r in report["operators"] if "softmax" in r["name"]}
    assert note["bytes"] in sizes, (note, sizes)
    assert size(note["bytes"]) in note["text"]


def check_cached(report, note):
    """What is cached at the peak, piece by piece, is what is reserved then but not allocated."""
    summary = report["summary"]
    assert note["bytes"] == summary["reserved_memory_bytes"] - summary["peak_memory_bytes"]
    assert size(note["bytes"]) in note["text"]
    kinds = re.findall(r"([\d.]+ \w+) in (?:free|whole)", note["text"])
    total = sum(float(k.split()[0]) * 1024 ** UNITS.index(k.split()[1]) for k in kinds)
    assert total <= note["bytes"] * 1.001, (total, note)


def check_retries(report, note):
    summary = report["summary"]
    assert summary["fits"] and summary["allocator_retries"] > 0
    words = re.search(r": (never|once|(\d+) times) in a steady step.*?, (never|once|(\d+) times) before",
                      note["text"])
    counts = [{"never": 0, "once": 1}.get(words[i]) if words[i + 1] is None else int(words[i + 1])
              for i in (1, 3)]
    assert sum(counts) == summary["allocator_retries"], note
    assert (counts[0] > 0) == (note["bytes"] is not None)


AS_RUN = {"half-precision": check_half, "unneeded-recompute": check_recompute, "peft-checkpoints": check_checkpoints,
          "padded-batches": check_padding}
ABOUT = {"math-attention": check_math, "cached-memory": check_cached, "allocator-retries": check_retries}


def check_texts(report, program, arguments):
    """The same sentences in every report, before its first table."""
    plain = {
        "console": lambda text: re.sub(r"\s+", " ", text.split("At the peak  (GiB)")[0]),
        "md": lambda text: text.split("## The peak")[0].replace("\\", ""),
        "html": lambda text: html.unescape(text.split("<main")[0]),
    }
    for form, before in plain.items():
        text = before(write(program, arguments, form))
        shown = [note for note in report["notes"] if form != "console" or note["name"] != "input"]  # the program says those as it reads
        for note in shown:
            assert note["text"] in text, (form, note["text"], text[-2000:])
        marks = {"console": "note: ", "md": "- Note: ", "html": "<strong>Note:</strong>"}
        assert text.count(marks[form]) == len(shown), (form, text[-2000:])


def check_run(program, arguments, expected):
    report = report_of(program, arguments)
    assert [note["name"] for note in report["notes"] if note["name"] != "input"] == expected, report["notes"]
    check_remedies(report, program, arguments)
    check_suggestions_hold(report, program, arguments)
    for note in report["notes"]:
        if note["name"] in ABOUT:
            ABOUT[note["name"]](report, note)
        if note["name"] in AS_RUN:
            AS_RUN[note["name"]](report, note, program, arguments)
    check_texts(report, program, arguments)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    for arguments, expected in RUNS[::EVERY] + RANKS[::max(1, EVERY // 5)]:
        try:
            check_run(program, arguments, expected)
            passed += 1
        except Exception as error:  # a report that lacks a member is a failure like any other
            failed += 1
            print(f"{arguments}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
