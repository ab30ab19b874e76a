#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives the recipes that trainers publish to `memscope analyze` and counts the answers.

usage: survey_recipes.py [--memscope PROGRAM] [--list] DIR...

DIR is a checkout, or a bare git directory, of axolotl, torchtune, LLaMA-Factory, torchtitan or
open-r1; which of them, its own files say. Of torchtitan the last commit with TOML files is taken
where there is a history. Each recipe is read beside the files that it may name, for eight ranks
where it shards over a number that it does not say. A line is printed for each framework:

  certain     fits, is tight, or does not fit
  unknown     a figure without what is not predicted (exit status 4)
  no name     the model's name is not built in: its config.json would answer
  no family   the model's type is not predicted
  refused     settings, each with its key and line (--list)
  other step  recipes of another step than the supervised one, of which "certain" ones are listed

Nothing is written.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

SUFFIXES = (".yaml", ".yml", ".toml", ".json")
# framework: a path that tells it, the recipes, and files that are none
FRAMEWORKS = {
    "axolotl": ("src/axolotl/__init__.py", r"examples/.*\.ya?ml$", r"/cloud/"),
    "torchtune": ("torchtune/__init__.py", r"recipes/configs/.*\.yaml$",
                  r"generation|evaluation|quantization|eleuther"),
    "LLaMA-Factory": ("src/llamafactory/__init__.py",
                      r"examples/(train_|extras/|v1/train|ascend|megatron|ktransformers/train).*\.ya?ml$",
                      None),
    "torchtitan": ("torchtitan/__init__.py", r".*train_configs.*\.toml$", None),
    "open-r1": ("src/open_r1/__init__.py", r"recipes/.*\.yaml$", r"accelerate|filter"),
}
# marks of another step: by the file's name, and by a line in it
OTHER_NAME = re.compile(r"dpo|kto|orpo|simpo|ppo|grpo|reward|(^|[/_-])rm[._-]|distill|(^|[/_])kd[._]|qat|ebft|gdpo", re.I)
OTHER_LINE = re.compile(r"^(rl|reward_model|process_reward_model|kd_trainer|qat):\s*(?!null|false)\S|^stage:\s*(dpo|kto|ppo|rm)|"
                        r"_component_:.*(DPO|PPO|GRPO|KDLoss|QAT)", re.M)
COLUMNS = ("files", "certain", "unknown", "no name", "no family", "refused", "other step", "of these certain")


def git(where, *words):
    return subprocess.run(["git", "-C", where, *words], capture_output=True, check=False).stdout


def revision_of(where, recipes):
    """The newest commit that has recipes; None for a folder without a history."""
    if not git(where, "rev-parse", "HEAD").strip():
        return None
    names = git(where, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines()
    if any(re.match(recipes, n) for n in names):
        return "HEAD"
    last = git(where, "log", "-1", "--format=%H", "--diff-filter=D", "--", "*train_configs*.toml").decode().strip()
    return last + "^" if last else "HEAD"


def copy_settings(where, revision, top):
    """Writes all settings files below `top`, and lists them."""
    names = git(where, "ls-tree", "-r", "--name-only", revision).decode().splitlines()
    kept = [n for n in names if n.endswith(SUFFIXES)]
    for name in kept:
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(git(where, "show", f"{revision}:{name}"))
    return kept


def framework_of(names):
    return next((f for f, (mark, _, _) in FRAMEWORKS.items() if mark in names), None)


def names_in(where):
    if git(where, "rev-parse", "HEAD").strip():
        return set(git(where, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines())
    return {os.path.relpath(os.path.join(d, f), where) for d, _, fs in os.walk(where) for f in fs}


def ask(memscope, top, recipe):
    """The exit status and the first line of what is refused."""
    more = []
    while True:
        words = [memscope, "analyze", "--training-args", recipe, "--device", "h100-80gb", "--no-advice", *more]
        run = subprocess.run(words, cwd=top, capture_output=True, text=True, timeout=600, check=False)
        if run.returncode != 2 or "world" not in run.stderr or more:
            lines = [x for x in run.stderr.splitlines() if x and not x.startswith("note:")]
            return run.returncode, lines[0] if run.returncode == 2 and lines else ""
        more = ["--world", "8"]


def kind_of(status, said):
    if status in (0, 1):
        return "certain"
    if status == 4:
        return "unknown"
    if "is of a family that is not predicted" in said:
        return "no family"
    return "no name" if "is not a built-in model" in said else "refused"


def survey(memscope, where, lists):
    name = framework_of(names_in(where))
    if not name:
        sys.exit(f"{where}: none of {', '.join(FRAMEWORKS)}")
    _, recipes, others = FRAMEWORKS[name]
    count = collections.Counter()
    lines = []
    with tempfile.TemporaryDirectory() as top:
        revision = revision_of(where, recipes)
        if revision:
            names = copy_settings(where, revision, top)
        else:
            top, names = where, sorted(names_in(where))
        for recipe in names:
            if not re.match(recipes, recipe) or (others and re.search(others, recipe)):
                continue
            status, said = ask(memscope, top, recipe)
            if status not in (0, 1, 2, 4):
                sys.exit(f"{recipe}: exit status {status}")
            kind = kind_of(status, said)
            count["files"] += 1
            count[kind] += 1
            with open(os.path.join(top, recipe), encoding="utf-8", errors="replace") as text:
                is_other = bool(OTHER_NAME.search(recipe) or OTHER_LINE.search(text.read()))
            count["other step"] += is_other
            if is_other and kind == "certain":
                count["of these certain"] += 1
                lines.append(f"  {recipe}: exit {status}, of another step")
            if kind == "refused":
                lines.append(f"  {said or recipe}")
    print(f"{name:<14}" + "".join(f"{count[c]:>{max(10, len(c) + 2)}}" for c in COLUMNS), flush=True)
    if lists:
        print("\n".join(lines))
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memscope", default="memscope")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("dirs", nargs="+", metavar="DIR")
    given = parser.parse_args()
    print(" " * 14 + "".join(f"{c:>{max(10, len(c) + 2)}}" for c in COLUMNS))
    memscope = os.path.abspath(given.memscope) if os.sep in given.memscope else given.memscope
    total = sum((survey(memscope, d, given.list) for d in given.dirs), collections.Counter())
    print(f"{'all':<14}" + "".join(f"{total[c]:>{max(10, len(c) + 2)}}" for c in COLUMNS))


if __name__ == "__main__":
    main()
