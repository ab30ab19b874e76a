#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: mutate.py MEMSCOPE [RUNS [SEED]]

Changes files of every kind that is read as someone who knows their structure would: keys that go, come twice, move
or get each other's values; numbers at the edges of their types; other types; deep, long and empty things; the same
tree as YAML. Each input is given to the commands that read it. A run may end with 0 to 3 alone; it must end within
the time limit; a JSON report must be JSON; and what a sanitizer says is a failure. Inputs that fail are kept in
$BUILD/mutate. Build with CONFIG=asan first: `make mutate`.
"""

import copy
import csv
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
CORPUS = TOP / "tests/fuzz/corpus"
SECONDS = 60
NUMBERS = [0, 1, -1, 2, 3, 7, 63, 64, 65, 127, 128, 255, 256, 1000, 4095, 65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
           1 << 32, (1 << 53) + 1, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**30, -(1 << 63), 0.5, 1e-9, 1.5, -0.25,
           1e308, 1e-320]
TEXTS = ["", "0", "1", "-1", "true", "null", "auto", "none", "all", "cpu", "bf16", "fp32", "0-3", "every:2", "all-linear", "80GiB", "1e30 GiB",
         "18446744073709551615", "18446744073709551615 B", "5 %", "101%", "a" * 300, "\n::x::", "\x1b[0m", "\ufffe", "\u202e", ".*", "(a*)*b",
         "a{1000}{1000}", "[", "*", "layers.*", "../config.json", "config.json", "-", "/dev/null", "llama", "gpt2", "%s%n", "model", "é", "\U0001f600"]


class Dice:
    """Every choice comes from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, items):
        return self.random.choice(items)

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 3 else 6)
        if kind < 2:
            return self.one(NUMBERS)
        if kind < 4:
            return self.one(TEXTS)
        if kind == 4:
            return self.one([True, False, None])
        if kind == 5:
            return self.random.uniform(-1e6, 1e6)
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.one([0, 1, 2, 5, 40]))]
        if kind == 7:
            return {self.one(TEXTS): self.value(depth + 1) for _ in range(self.one([0, 1, 3]))}
        value = self.value(3)
        for _ in range(self.one([3, 60, 300])):
            value = [value]
        return value


def nodes(tree, path=()):
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in items:
        yield from nodes(item, (*path, key))


def at(tree, path):
    for step in path:
        tree = tree[step]
    return tree


class Twice(dict):
    """Written with one of its keys twice."""


def change(dice, tree, others):
    """One change, in place; returns the tree, which may be another."""
    paths = list(nodes(tree))
    path = dice.one(paths)
    if not path:
        return dice.value() if dice.random.random() < 0.02 else tree
    parent, key = at(tree, path[:-1]), path[-1]
    kind = dice.random.randrange(12)
    old = parent[key]
    if kind == 0:
        del parent[key]
    elif kind == 1:
        parent[key] = dice.value()
    elif kind == 2 and isinstance(old, (int, float)) and not isinstance(old, bool):
        parent[key] = dice.one([old + 1, old - 1, -old, old * 2, old * 1000003, old / 3, str(old), old == 1, 0])
    elif kind == 3 and isinstance(old, str):
        parent[key] = dice.one([old + dice.one(TEXTS), dice.one(TEXTS) + old, old.upper(), old[:-1], old * 20, old + "\x00"])
    elif kind == 4:
        parent[key] = copy.deepcopy(at(tree, dice.one(paths[1:])))
    elif kind == 5 and isinstance(parent, dict):
        parent[dice.one([str(key) + "x", dice.one(TEXTS), "x" * 70])] = parent.pop(key)
    elif kind == 6 and isinstance(parent, list):
        parent[key:key] = [copy.deepcopy(old) for _ in range(dice.one([1, 2, 50]))]
    elif kind == 7 and isinstance(parent, dict) and others:
        other = dice.one(others)
        if isinstance(other, dict) and other:
            name = dice.one(list(other))
            parent[name] = copy.deepcopy(other[name])
    elif kind == 8 and isinstance(parent, dict):
        path_up = path[:-1]
        twice = Twice(parent)
        if not path_up:
            return twice
        at(tree, path_up[:-1])[path_up[-1]] = twice
    elif kind == 9:
        parent[key] = [old]
    elif kind == 10:
        parent[key] = {str(key): old}
    else:
        parent[key] = dice.one(NUMBERS)
    return tree


def to_json(dice, tree):
    def put(value):
        if isinstance(value, dict):
            items = [f"{json.dumps(k)}: {put(v)}" for k, v in value.items()]
            if isinstance(value, Twice) and items:
                items.append(dice.one(items))
            return "{" + ", ".join(items) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(put, value)) + "]"
        return json.dumps(value)
    text = put(tree)
    kind = dice.random.randrange(40)
    if kind == 0:
        cut = dice.random.randrange(len(text) + 1)
        text = text[:cut] + dice.one(["", "\x00", "}", "[", "\"", "\ufeff", "1e", "\\ud800"]) + text[cut + dice.random.randrange(3):]
    return text


def to_yaml(dice, tree, indent=0):
    pad = "  " * indent
    if isinstance(tree, dict) and tree:
        lines = []
        for key, value in tree.items():
            name = key if str(key).replace("_", "").isalnum() and dice.random.random() < 0.9 else json.dumps(str(key))
            odd = dice.random.random() < 0.03
            mark = dice.one([" &a", " !!str", " !x"]) if odd else ""
            if isinstance(value, (dict, list)) and value:
                lines.append(f"{pad}{name}:{mark}\n{to_yaml(dice, value, indent + 1)}")
            else:
                lines.append(f"{pad}{name}:{mark} {dice.one(['*a', '|', '<<', '']) if odd else to_yaml(dice, value, indent)}")
        return "\n".join(lines)
    if isinstance(tree, list) and tree:
        return "\n".join(f"{pad}- {to_yaml(dice, v, indent + 1).lstrip()}" for v in tree)
    if isinstance(tree, str):
        return dice.one([tree.replace("\n", " ").replace("\x00", ""), json.dumps(tree)])
    return json.dumps(tree)


def to_csv(dice, rows):
    rows = [list(row) for row in rows]
    for _ in range(dice.one([1, 1, 2, 5])):
        row = dice.one(rows)
        kind = dice.random.randrange(6)
        place = dice.random.randrange(len(row)) if row else 0
        if kind == 0 and row:
            row[place] = str(dice.one(NUMBERS))
        elif kind == 1 and row:
            row[place] = dice.one(TEXTS)
        elif kind == 2 and row:
            del row[place]
        elif kind == 3:
            row.insert(place, dice.one(TEXTS))
        elif kind == 4:
            rows.insert(dice.random.randrange(len(rows) + 1), list(dice.one(rows)))
        elif len(rows) > 1:
            rows.remove(row)
        if not rows:
            rows = [[""]]
    out = io.StringIO()
    csv.writer(out, lineterminator=dice.one(["\n", "\n", "\r\n"])).writerows(rows)
    return out.getvalue()


# ---- seeds, and the commands that read them ----

def trees(*globs):
    found = []
    for pattern in globs:
        for path in sorted(TOP.glob(pattern)):
            try:
                found.append(json.loads(path.read_text()))
            except (ValueError, UnicodeDecodeError):
                pass
    return [tree for tree in found if isinstance(tree, (dict, list)) and tree]


def tables(*globs):
    return [list(csv.reader(io.StringIO(path.read_text(errors="replace").replace("\x00", "")))) or [[""]] for pattern in globs for path in sorted(TOP.glob(pattern))]


SMALL = ["--seq", "32", "--device", "l4"]
LLAMA = ["analyze", "small.json", *SMALL]
QUIET = ["-q", "--format", "json", "-o", "out.json"]


def kinds(reports):
    return {
        "config": (trees("configs/*.json", "tests/fuzz/corpus/model_config/*"),
                   [["analyze", "in", *SMALL, *QUIET], ["analyze", "in", *SMALL, "-q", "--format", "html", "-o", "out.html"],
                    ["analyze", "in", *SMALL, "--quantize", "nf4", "--lora", "r=4,targets=all-linear", *QUIET]]),
        "run file": (trees("tests/golden/config/runs/*", "tests/fuzz/corpus/run_file/*"), [["analyze", "in", *QUIET], ["fit", "in", "--what", "batch", "--step", "64", "-q"]]),
        "budgets": (trees("tests/fuzz/corpus/budgets/*", "ci/memscope.budgets.json"),
                    [["check", "--budgets", "in", "--no-plans", *QUIET], ["baseline", "--budgets", "in"]]),
        "adapter": (trees("tests/fuzz/corpus/adapter/*"), [[*LLAMA, "--adapter", "in", *QUIET]]),
        "plan": ([reports["plan"]], [[*LLAMA, "--plan", "in", *QUIET], ["diff", "in", "a.json", *QUIET]]),
        "modules": (trees("tests/fuzz/corpus/plan_file/modules"), [["plan", "--graph", "in", "--budget", "64MiB", "--time-limit", "5", *QUIET],
                                                                    ["plan", "--graph", "in", "--fsdp", "--budget", "64MiB", "--time-limit", "5", *QUIET]]),
        "operators": (trees("tests/fuzz/corpus/plan_file/operators"), [["plan", "--ops", "in", "--memory-budget", "0.5", *QUIET]]),
        "report": ([reports["a"], *trees("tests/fuzz/corpus/report/*", "tests/golden/cli/diff/reports/files/*")],
                   [["diff", "a.json", "in", *QUIET], ["diff", "in", "a.json", "--format", "md", "-o", "out.md"], ["compare", "a.json", "in", *QUIET]]),
        "recorded": (trees("tests/fuzz/corpus/recorded/*", "tests/golden/cli/compare/compare/files/*.json"),
                     [["compare", "a.json", "in", *QUIET], ["compare", "in", "a.json", "--format", "html", "-o", "out.html"], ["calibrate", "in", "a.json"]]),
        "links": (trees("tests/golden/cli/calibrate/links/files/device_links.json"), [["calibrate", "in", *QUIET]]),
        "calibration": (trees("tests/fuzz/corpus/calibration/file"), [[*LLAMA[:-1], "h100-80gb", "--calibration", "in", *QUIET]]),
        "training": (trees("tests/fuzz/corpus/training_args/*"), [[*LLAMA, "--training-args", "in.json", *QUIET]]),
        "training as YAML": (trees("tests/fuzz/corpus/training_args/*") + [{"base_model": "x", "adapter": "lora", "lora_r": 8, "micro_batch_size": 1,
                                                                            "lora_target_modules": ["q_proj"], "sequence_len": 64, "optimizer": "adamw_torch"}],
                             [[*LLAMA, "--training-args", "in.yaml", *QUIET]]),
        "runs": (tables("tests/fuzz/corpus/rows/*", "tests/golden/cli/sweep/*/files/*.csv") + [[["config", "batch", "seq", "optimizer"], ["small.json", "1", "32", "adamw"], ["small.json", "2", "64", "sgd"]]],
                 [["sweep", "--runs", "in", "--device", "l4", "-q", "-o", "out.csv"], ["merge", "in", "-o", "out.csv"], ["merge", "--frontier", "in", "-o", "out.csv"]]),
        "points": (tables("tests/golden/cli/calibrate/calibrate/files/points.csv", "tests/fuzz/corpus/calibration/table"), [["calibrate", "in.csv", *QUIET]]),
    }


def write_input(folder, name, dice, seed, others):
    if name in ("runs", "points"):
        text = to_csv(dice, seed)
    else:
        tree = copy.deepcopy(seed)
        for _ in range(dice.one([1, 1, 1, 2, 3, 8])):
            tree = change(dice, tree, others)
            if not isinstance(tree, (dict, list)) or not tree:
                break
        text = to_yaml(dice, tree) if name == "training as YAML" else to_json(dice, tree)
    for suffix in ("", ".json", ".yaml", ".csv"):
        (folder / f"in{suffix}").write_text(text, errors="surrogatepass")
    return text


def fault_of(done, folder):
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2, 3):
        return f"exit {done.returncode}"
    if "Sanitizer" in said or "runtime error" in said:
        return "a sanitizer"
    out = folder / "out.json"
    if done.returncode == 2 and not said.strip() and not out.exists():
        return "refused without a word"
    if out.exists() and done.returncode != 2:
        try:
            json.loads(out.read_text())
        except ValueError as why:
            return f"no JSON: {why}"
    if list(folder.glob("out*.??????")):
        return "a temporary file"
    return None


def start(program, words, folder):
    return subprocess.run([program, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)


def accepted(program, folder, kind, seeds, commands):
    """The seeds that are taken as they are; what is refused anyway is changed less often."""
    good = []
    for seed in seeds:
        rows = kind in ("runs", "points")
        text = "\n".join(",".join(row) for row in seed) if rows else json.dumps(seed)
        for suffix in ("", ".json", ".yaml", ".csv"):
            (folder / f"in{suffix}").write_text(text, errors="surrogatepass")
        if any(start(program, words, folder).returncode != 2 for words in commands):
            good.append(seed)
    if not good:
        sys.exit(f"mutate: no seed of kind {kind} is taken: {start(program, commands[0], folder).stderr.decode()}")
    return good


def run_all(program, runs, seed, kept):
    counts, failed = {}, 0
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:hard_rss_limit_mb=4096:allocator_may_return_null=0"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small = json.loads((CORPUS / "model_config/llama-defaults").read_text())
        small.update(num_hidden_layers=2, hidden_size=64, intermediate_size=96, vocab_size=256, num_attention_heads=4)
        for file in ("small.json", "config.json"):
            (folder / file).write_text(json.dumps(small))
        made = {}
        for key, words in (("a", ["analyze", "small.json", *SMALL]), ("plan", ["plan", "small.json", *SMALL, "--budget", "1GiB"])):
            subprocess.run([program, *words, "-q", "--format", "json", "-o", f"{key}.json"], cwd=folder, check=True)
            made[key] = json.loads((folder / f"{key}.json").read_text())
        groups = {kind: (seeds, accepted(program, folder, kind, seeds, commands), commands) for kind, (seeds, commands) in kinds(made).items()}
        for index in range(runs):
            dice = Dice(f"{seed}/{index}")
            kind = list(groups)[index % len(groups)]
            seeds, good, commands = groups[kind]
            text = write_input(folder, kind, dice, dice.one(good if dice.random.random() < 0.9 else seeds), seeds)
            words = dice.one(commands)
            for old in folder.glob("out*"):
                old.unlink()
            try:
                done = subprocess.run([program, *words], cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL,
                                      timeout=SECONDS, check=False)
                fault, said = fault_of(done, folder), done.stderr
            except subprocess.TimeoutExpired as why:
                fault, said = f"more than {SECONDS} s", why.stderr or b""
            codes = counts.setdefault(kind, {})
            code = "fault" if fault else done.returncode
            codes[code] = codes.get(code, 0) + 1
            if fault:
                failed += 1
                kept.mkdir(parents=True, exist_ok=True)
                (kept / f"{index}").write_text(text, errors="surrogatepass")
                print(f"{index} ({kind}): {fault}: {' '.join(words)}\n{said[-1500:].decode(errors='replace')}")
    for kind, codes in counts.items():
        print(f"{kind:18} " + ", ".join(f"{n} x exit {code}" if code != "fault" else f"{n} faults" for code, n in sorted(codes.items(), key=str)))
    print(f"{runs - failed} passed, {failed} failed")
    return failed


def main():
    sys.setrecursionlimit(100000)
    program = os.path.abspath(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    sys.exit(run_all(program, runs, seed, pathlib.Path(os.environ.get("BUILD", "build/asan")) / "mutate") > 0)


if __name__ == "__main__":
    main()
