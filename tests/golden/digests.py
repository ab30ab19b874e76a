#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: digests.py MEMSCOPE            prints a digest of every output, a line each
       digests.py MEMSCOPE OTHER      runs both programs and prints where they differ
       digests.py MEMSCOPE FILE       compares with digests that were printed before

For changes that must not change what is written: all presets in all formats, lists of events, runs with every kind of
option, plans, checks, sweeps, comparisons and help texts. Times of the machine are taken out. With `--only WORD` only
the outputs whose name has the word; `make digests AGAINST=PROGRAM` compares with a program built before the change.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
FORMATS = ["console", "json", "md", "csv", "html", "svg", "chrome-trace", "memory-viz", "speedscope", "folded"]
# What the machine took, in JSON, in texts, and in HTML.
TIMES = re.compile(rb'("solve_ms": )[0-9.e+-]+|(simulations, |points, )[0-9,.]+( ms)|(>)[0-9.]+( ms, (?:simulations|points))')
BASE = "--seq 512 --device h100-80gb"
PLAIN = "llama-3.2-1b --batch 2 --seq 1024 --device a100-80gb"

RUNS = [
    "--checkpointing all", "--checkpointing 0-3", "--checkpointing all --checkpoint-kind reentrant", "--treat every:2=offload:0.5",
    "--treat 0-7=checkpoint,8-15=offload:0.3,loss=chunk:4", "--treat 0-15=tile:4", "--treat all=checkpoint+offload", "--treat 0-3=tile-attention:4",
    "--treat all=checkpoint-mlp", "--treat all=checkpoint-norms", "--treat 0-5=selective:mm+offload", "--treat all=selective:0.5", "--optimizer sgd", "--optimizer adamw-8bit",
    "--optimizer paged-adamw-8bit", "--optimizer adafactor", "--optimizer muon", "--optimizer lion", "--optimizer-impl foreach", "--optimizer-impl loop",
    "--optimizer-in-backward yes", "--optimizer-device host", "--optimizer-device host --parameter-device host --treat all=checkpoint", "--lora r=16,targets=all-linear",
    "--lora r=8,targets=q_proj+v_proj --quantize nf4:double --autocast bf16", "--quantize int8 --lora r=8,targets=all-linear", "--autocast bf16 --dtype fp32",
    "--dtype fp32", "--attention eager", "--attention math", "--accumulate 4", "--accumulate 2 --grad-accumulation-dtype fp32", "--clip 1.0", "--liger all",
    "--allocator raw", "--allocator cuda-expandable", "--budget 12GiB", "--budget 100GiB", "--label-smoothing 0.1", "--treat loss=chunk:8", "--batch 7 --seq 333",
    "--device cpu", "--device rtx-4090", "--device mi300x", "--eval-batch 4", "--empty-cache-steps 1", "--unroll",
]
PLANS = [
    *(f"{PLAIN} --budget {n}GiB" for n in (16, 17, 18, 19, 20, 22, 30, 80)),
    *(f"{PLAIN} --budget 18GiB --allocator {a}" for a in ("raw", "cuda-expandable")),
    *(f"{PLAIN} --budget 18GiB --planner {p}" for p in ("greedy", "rules", "uniform", "none")),
    *(f"{PLAIN} --budget 18GiB --target {t}" for t in ("hf", "pytorch", "torchtitan", "torchtune", "deepspeed", "axolotl", "all")),
    *(f"{PLAIN} --budget 18GiB --without {t}" for t in ("offload", "offload,tile", "checkpoint,selective")),
    f"{PLAIN} --budget 10GiB", f"{PLAIN} --budget 14GiB --allow host-parameters", f"{PLAIN} --budget 18GiB --gpu-cost-per-hour 2",
    "gemma-3-4b --batch 1 --seq 2048 --device rtx-4090", "qwen3-8b --batch 2 --seq 4096 --device h100-80gb", "gpt2-xl --batch 4 --seq 1024 --device a100-40gb --budget 30GiB",
    "--graph tests/fuzz/corpus/plan_file/modules --budget 64MiB", "--ops tests/fuzz/corpus/plan_file/operators --memory-budget 0.5",
]
CHECKS = ["console", "json", "md", "junit", "github", "sarif", "gitlab", "custom-smaller-is-better", "shields", "prometheus"]
OTHERS = [
    *(f"fit llama-3.1-8b --lora r=16,targets=all-linear --quantize nf4:double --autocast bf16 --checkpointing all --device rtx-4090 --what {w} --format {f}"
      for w, f in (("batch", "console"), ("seq", "json"), ("rank", "json"), ("layers", "console"))),
    *(f"diff tests/golden/cli/diff/reports/files/a.json llama-3.2-1b --format {f} -o -" for f in ("console", "json", "md", "html")),
    *(f"diff tests/golden/cli/diff/reports/files/a.json tests/golden/cli/diff/reports/files/b.json --format {f} -o -" for f in ("console", "json", "md", "html")),
    *(f"compare tests/golden/cli/compare/compare/files/runtime.json tests/golden/cli/compare/compare/files/runtime.json --format {f} -o -" for f in ("console", "json", "md", "html")),
    *(f"calibrate tests/golden/cli/calibrate/calibrate/files/points.csv --format {f} -o -" for f in ("console", "json")),
    *(f"sweep llama-3.2-1b,gpt2 --batch 1,2,4 --seq 256:1024:*2 --checkpointing none,all --device rtx-4090,h100-80gb --format {f} -o -" for f in ("csv", "jsonl")),
    "sweep llama-3.2-1b --batch 1:8 --checkpointing none,all --frontier --format csv -o -", "sweep llama-3.2-1b --checkpointing none,all --device all --fit seq --format csv -o -",
    *(f"plan {PLAIN} --curve --points 6 --format {f} -o -" for f in ("console", "json", "md", "csv", "svg", "html")),
    "models", "devices", "schema", "help", "help --man", "help --completion zsh", "help --completion fish", "", "nosuch", "analyze --nosuch",
]


def lines_of(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout.splitlines()


def all_outputs(program):
    """Name and arguments of every output."""
    presets = [line.split()[0] for line in lines_of(program, "models") if line and not line[0].isspace()][1:]
    for preset in presets:
        for form in FORMATS:
            yield f"analyze {preset} {BASE} --format {form} -o -"
        yield f"analyze {preset} {BASE} -q --events -"
    for run in RUNS:
        for form in ("console", "json", "html"):
            yield f"analyze {PLAIN} {run} --format {form} -o -"
        yield f"analyze {PLAIN} {run} -q --events -"
    for index, plan in enumerate(PLANS):
        for form in ("console", "json") if "--graph" in plan or "--ops" in plan else ("console", "json", "md", "html") if index < 4 else ("console", "json"):
            yield f"plan {plan} --format {form} -o -"
    for form in CHECKS:
        for more in ("", " --no-plans"):
            yield f"check --budgets ci/memscope.budgets.json{more} --format {form} -o -"
    yield from OTHERS
    for page in lines_of(program, "help", "--man"):
        yield f"help --man {page.removeprefix('memscope-').rsplit('.', 1)[0]}"
    for command in lines_of(program, "help", "--man"):
        if command.endswith(".1"):
            yield f"help {command.removeprefix('memscope-').removesuffix('.1')}"
    for schema in sorted(TOP.glob("schemas/*.schema.json")):
        yield f"schema {schema.name.removesuffix('.schema.json')}"


def digest(program, words):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "COLUMNS"))}
    done = subprocess.run([program, *words.split()], cwd=TOP, env={**environment, "LC_ALL": "C"}, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=300, check=False)
    text = b"%d\n%s\n%s" % (done.returncode, TIMES.sub(b"T", done.stdout), done.stderr.replace(os.fsencode(program), b"memscope"))
    return hashlib.sha256(text).hexdigest()[:24], text


def digests(program, names):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, (d[0] for d in pool.map(lambda n: digest(program, n), names))))


def differences(program, names, before, other):
    now = digests(program, names)
    changed = [name for name in names if before.get(name) != now[name]]
    for name in changed:
        print(f"differs: memscope {name}")
    for name in before.keys() - set(names):
        print(f"is gone: memscope {name}")
    if changed and other:
        first, second = (digest(p, changed[0])[1] for p in (other, program))
        with tempfile.TemporaryDirectory() as folder:
            for side, text in (("a", first), ("b", second)):
                pathlib.Path(folder, side).write_bytes(text)
            print(subprocess.run(["diff", "-u", "a", "b"], cwd=folder, capture_output=True, check=False).stdout[:4000].decode(errors="replace"))
    print(f"{len(names) - len(changed)} equal, {len(changed)} differ")
    return len(changed) > 0 or before.keys() - set(names)


def main():
    words = sys.argv[1:]
    only = ""
    if "--only" in words:
        place = words.index("--only")
        only = words[place + 1]
        del words[place:place + 2]
    program = os.path.abspath(words[0])
    names = [name for name in dict.fromkeys(all_outputs(program)) if only in name]
    if len(words) == 1:
        for name, value in digests(program, names).items():
            print(value, name)
        return
    other = os.path.abspath(words[1])
    if os.access(other, os.X_OK):
        sys.exit(bool(differences(program, names, digests(other, names), other)))
    before = dict(reversed(line.split(" ", 1)) for line in pathlib.Path(other).read_text().splitlines())
    sys.exit(bool(differences(program, names, {n: v for n, v in before.items() if only in n}, None)))


if __name__ == "__main__":
    main()
