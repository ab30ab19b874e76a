# SPDX-License-Identifier: GPL-3.0-or-later
"""The ready-made CI pieces: their very script lines, run in scratch repositories with a budget that
is kept, one that is over by a byte, and one that cannot be read."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as xml

from support import CONFIG, PROGRAM, TOP, main, run, write


def block(text, key):
    """The lines of `key: |`, or what follows `key:` on its line."""
    lines, found = text.split("\n"), []
    for i, line in enumerate(lines):
        match = re.match(rf"( *)(- )?{key}: *(.*)$", line)
        if not match:
            continue
        if match[3] != "|":
            found.append(match[3])
            continue
        body = []
        for following in lines[i + 1:]:
            if following.strip() and len(following) - len(following.lstrip()) <= len(match[1]):
                break
            body.append(following)
        found.append("\n".join(body))
    return found


def list_items(text, key):
    """The items of a list of plain lines under `key:`."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.strip() == f"{key}:")
    items = []
    for line in lines[start + 1:]:
        match = re.match(r" *- (.*)$", line)
        if not match:
            break
        items.append(match[1])
    return items


def defaults_of(text):
    """The default of each input of an action."""
    names = re.findall(r"^  (\w+):\n    description: .*\n    default: (.*)$", text, re.M)
    return {name: value.strip('"') for name, value in names}


def repository(folder, kind):
    """A git repository whose budget is `kind`."""
    where = f"{folder}/{kind}"
    write(where, "config.json", CONFIG)
    write(where, "memscope.budgets.json", {"budgets": [{"name": kind, "config": "config.json", "device": "l4", "limits": {"max": "20 GiB"}}]})
    used = json.loads(run("check", "--format", "json", cwd=where)[1])["budgets"][0]["used_bytes"]
    limit = used - 1 if kind == "over" else used
    write(where, "memscope.budgets.json", {"budgets": [{"name": kind, "config": "config.json", "device": "l4", "limits": {"max": f"{limit} B"}}]})
    if kind == "unreadable":
        write(where, "config.json", '{"model_type": "llama",\n "hidden_size": "wide"}\n')
    subprocess.run(["git", "init", "-q", where], check=True)
    return where


def shell(script, where, **more):
    """Runs lines as a CI does, with the program on the path."""
    binaries = f"{where}/.bin"
    os.makedirs(binaries, exist_ok=True)
    if not os.path.lexists(f"{binaries}/memscope"):
        os.symlink(PROGRAM, f"{binaries}/memscope")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
    environment.update(more, PATH=f"{binaries}:{os.environ['PATH']}")
    done = subprocess.run(["sh", "-e", "-c", script], cwd=where, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


EXITS = {"kept": 0, "over": 1, "unreadable": 2}
LINES = {"over": ("memscope.budgets.json", '"max"'), "unreadable": ("config.json", '"hidden_size"')}


def test_github_action(folder):
    text = (TOP / "ci/github/action.yml").read_text()
    inputs = defaults_of(text)
    steps = block(text, "run")
    assert len(steps) == 2 and set(inputs) == {"budgets", "root", "out", "arguments"}
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(inputs)
    for kind, expected in EXITS.items():
        where = repository(folder, kind)
        summary = f"{where}/summary"
        more = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary, "ACTION_PATH": str(TOP / "ci/github"),
                "BUDGETS": inputs["budgets"], "ROOT": inputs["root"], "OUT": inputs["out"],
                "ARGUMENTS": inputs["arguments"]}
        assert shell(steps[0], where, **more)[0] == 0
        code, out = shell(steps[1], where, **more)
        assert code == expected, (kind, code, out)
        found = re.findall(r"^::error file=([^,]*),line=(\d+),col=(\d+),title=(\w+)::", out, re.M)
        assert len(found) == (expected > 0), out
        if found:
            file, key = LINES[kind]
            assert found[0][0] == file and found[0][3] == kind
            assert key in open(f"{where}/{file}").read().split("\n")[int(found[0][1]) - 1]
        assert "<!-- memscope-check -->" in open(summary).read()
        assert json.load(open(f"{where}/{inputs['out']}/memscope.sarif"))["version"] == "2.1.0"
        xml.parse(f"{where}/{inputs['out']}/memscope.xml")
        assert open(f"{where}/{inputs['out']}/memscope.md").read()
        assert shell(steps[1], where, **{**more, "ARGUMENTS": "--warn-only"})[0] == (0 if kind == "over" else expected)


def test_gitlab(folder):
    text = (TOP / "ci/gitlab-ci.yml").read_text()
    script = "\n".join(list_items(text, "script"))
    files = set(block(text, "junit") + block(text, "codequality") + list_items(text, "paths"))
    for kind, expected in EXITS.items():
        where = repository(folder, kind)
        code, _ = shell(script, where)
        assert code == expected
        assert all(os.path.exists(f"{where}/{name}") for name in files)
        quality = json.load(open(f"{where}/{block(text, 'codequality')[0]}"))
        assert len(quality) == (expected > 0)
        suite = xml.parse(f"{where}/{block(text, 'junit')[0]}").getroot().find("testsuite")
        assert (suite.get("failures"), suite.get("errors")) == (str(int(kind == "over")), str(int(kind == "unreadable")))


def test_pre_commit(folder):
    text = (TOP / ".pre-commit-hooks.yaml").read_text()
    entry, files = block(text, "entry")[0], re.compile(block(text, "files")[0])
    for name, wanted in (("config.json", True), ("models/a/config.json", True), ("memscope.budgets.json", True),
                         ("x/memscope.run.json", True), ("adapter_config.json", True), ("README.md", False)):
        assert bool(files.search(name)) == wanted
    for kind, expected in EXITS.items():
        where = repository(folder, kind)
        hook = write(where, ".git/hooks/pre-commit", f"#!/bin/sh\n{entry}\n")
        hook.chmod(0o755)
        assert shell(entry, where)[0] == expected
        commit = "git add config.json && git -c user.name=t -c user.email=t@t commit -q -m change"
        assert (shell(commit, where)[0] == 0) == (expected == 0)


main(globals())
