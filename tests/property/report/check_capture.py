#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python part of `memscope capture` does without PyTorch: what reports show of arguments, messages and paths,
which tests of values belong to assertions, and which failures get a hint.

usage: check_capture.py MEMSCOPE
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
os.environ.pop("MEMSCOPE_CAPTURE_PATHS", None)
from memscope_torch import assertions, hints, shown  # noqa: E402

HEX, JWT = "0123456789abcdef" * 2 + "01234567", "eyJhbGciOi.eyJzdWIi.c2lnbmVk"
# Arguments behind `python train.py`, and what is shown of them.
ARGUMENTS = [
    (["--hf-token", "hf_X", "--password", "hunter2", "--lr", "1e-4"], ["--hf-token", "***", "--password", "***", "--lr", "1e-4"]),
    (["--api-key=abc", "--db_passwd=abc", "--auth=u:p", "--credentials=abc"], ["--api-key=***", "--db_passwd=***", "--auth=***", "--credentials=***"]),
    (["WANDB_API_KEY=abc", "trainer.hub_token=abc", "+secret=abc", "hfToken=abc"], ["WANDB_API_KEY=***", "trainer.hub_token=***", "+secret=***", "hfToken=***"]),
    (["hf_abcdefghij", "sk-abcdefghijklmnop", "ghp_abcdefghijklmnopqrst", "AKIAABCDEFGHIJKLMNOP", HEX, JWT], ["***"] * 6),
    (["x=hf_abcdefghij", "--note", f"key is {HEX}."], ["x=***", "--note", "key is ***."]),
    (['{"hf_token": "two words", "lr": 1}'], ['{"hf_token": "***", "lr": 1}']),
    (["https://user:pw@host/x/y?token=abc&n=1", "s3://bucket/key"], ["https://***@host/x/y?token=***&n=1", "s3://bucket/key"]),
    # not secrets
    (["--tokenizer", "meta/x", "--max_tokens", "2048", "--pad_token_id", "0", "--num_key_value_heads", "8"],
     ["--tokenizer", "meta/x", "--max_tokens", "2048", "--pad_token_id", "0", "--num_key_value_heads", "8"]),
    (["--use-auth", "--lr", "1", "--model", "Qwen/Qwen2.5-0.5B", "--ratio=1/2"], ["--use-auth", "--lr", "1", "--model", "Qwen/Qwen2.5-0.5B", "--ratio=1/2"]),
    # paths
    (["--data=/home/alice/data/x.json", "--out", "/home/alice", "/scratch/a/b/", "file:///home/alice/x.json", "~alice/x", "--path", "/a/b:/c/d"],
     ["--data=x.json", "--out", "~", "b", "file:x.json", "x", "--path", "b:d"]),
    ([os.path.join(os.getcwd(), "configs", "x.json"), "../y.json"], ["configs/x.json", "../y.json"]),
]
COMMANDS = [
    (["/home/alice/venv/bin/python3", "-u", "/home/alice/train.py", "a"], ["python3", "-u", "train.py", "a"]),
    (["python", "-m", "package.train", "--token", "abc"], ["python", "-m", "package.train", "--token", "***"]),
    (["python", "-Ic", "print('hunter2')", "a"], ["python", "-Ic", "...", "a"]),
    (["python", "-cprint('hunter2')", "a"], ["python", "-c", "...", "a"]),
    (["python", "-X", "importtime", "-W", "ignore", "src/train.py"], ["python", "-X", "importtime", "-W", "ignore", "src/train.py"]),
]
MESSAGES = [
    ("FileNotFoundError: [Errno 2] No such file or directory: '/home/alice/my data/x.json'", "FileNotFoundError: [Errno 2] No such file or directory: 'x.json'"),
    ("OSError: gated; token=hf_abcdefghijk, at /usr/lib/python9/site-packages/hub/file.py:3", "OSError: gated; token=***, at hub/file.py:3"),
    ("HTTPError: 401 for https://huggingface.co/a/b?token=xx", "HTTPError: 401 for https://huggingface.co/a/b?token=***"),
    ("Error: Authorization: Bearer abcdefghijkl", "Error: Authorization: *** ***"),
    ("KeyError: 'layer'", "KeyError: 'layer'"),
    ("Error: " + "/a" * 500000, "Error: ..."),
    ("RuntimeError: Missing key: layers.0.weight, 3 / 4 and 1/2 at 3 MiB/s", "RuntimeError: Missing key: layers.0.weight, 3 / 4 and 1/2 at 3 MiB/s"),
    ("ImportError: /tmp/torchinductor_alice/ab/cuda_utils.so: undefined symbol", "ImportError: torchinductor: undefined symbol"),
]
PATHS = [
    (os.__file__, "os.py"), ("/opt/v/lib/python3.11/site-packages/torch/nn/x.py", "torch/nn/x.py"), ("/usr/lib/python3/dist-packages/a/b.py", "a/b.py"),
    (os.path.join(os.getcwd(), "tests", "x.py"), "tests/x.py"), ("/home/alice/x.py", "x.py"), ("train.py", "train.py"), ("<string>", "<string>"), ("", ""),
]


def check_shown():
    faults = []
    cases = [(shown.arguments, *row) for row in ARGUMENTS] + [(shown.command, *row) for row in COMMANDS] + \
        [(shown.text, *row) for row in MESSAGES] + [(shown.path, *row) for row in PATHS]
    for function, given, expected in cases:
        found = function(given)
        faults += [] if found == expected else [f"{function.__name__}({given}): {found}, expected {expected}"]
    return len(cases), faults


def check_snapshot():
    """Frames that several entries share stay shared; what is given stays as it is."""
    frame = {"filename": "/home/alice/train.py", "line": 3, "name": "step"}
    stack = [frame, {"filename": "/v/site-packages/torch/x.py", "line": 1, "name": "f"}]
    given = {"segments": [{"address": 0, "blocks": [{"size": 1, "frames": stack}, {"size": 2}], "frames": []}], "device_traces": [[{"action": "alloc", "frames": stack}]]}
    before = repr(given)
    found = shown.snapshot(given)
    block, event = found["segments"][0]["blocks"][0], found["device_traces"][0][0]
    faults = [] if "alice" not in repr(found) and "site-packages" not in repr(found) else [f"a path is left: {found}"]
    faults += [] if block["frames"] is event["frames"] and block["frames"][0]["line"] == 3 else ["frames are no longer shared"]
    faults += [] if repr(given) == before else ["what was given has changed"]
    return 1, faults


class Value:
    """Stands for a tensor of one value that the device does not know."""

    is_cuda = True

    def __init__(self, value=False):
        self.value = value


class Told:
    """Of answers.Answers what assertions.holding needs."""

    def __init__(self):
        self.reads, self.given = self, 0
        self.last_played_back = None

    def give(self, *_question):
        self.given += 1


TOLD = Told()


def _read(value):
    TOLD.last_played_back = False
    return value.value


Value.__bool__ = assertions.holding(_read, TOLD)


def asserts(x, y):
    assert x
    assert x, "words"
    assert x and y, f"{x is y}"
    assert (x or y)
    assert not x
    if x:
        return "a branch was taken"
    while y:
        return "a loop was run"
    return "no assertion" if not (x or y) else "an expression was answered"


def check_assertions():
    try:
        found = asserts(Value(), Value())
    except AssertionError as error:
        return 1, [f"an assertion failed: {error}"]
    return 1, [] if found == "no assertion" and TOLD.given == 6 else [f"{found}, {TOLD.given} answers, expected 6"]


class ChildFailedError(Exception):
    pass


InductorError = type("InductorError", (RuntimeError,), {"__module__": "torch._inductor.exc"})


def check_hints():
    inner = InductorError("ImportError: undefined symbol")
    outer = RuntimeError("it failed")
    outer.__cause__ = inner
    cases = [(ChildFailedError(""), "--world N"), (ValueError("environment variable RANK expected, but not set"), "--world N"),
             (inner, "TORCHDYNAMO_DISABLE=1"), (outer, "TORCHDYNAMO_DISABLE=1"), (RuntimeError("CUDA out of memory"), None)]
    faults = []
    for error, words in cases:
        found = hints.of(type(error), error)
        faults += [] if (words in found if words and found else found is words) else [f"{error!r}: hint {found}"]
    return len(cases), faults


def check_report(memscope):
    """A Python without PyTorch: what its report says of the command line."""
    secrets = ["hf_secret0123", "hunter2", "alice"]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "alice", "train.py")
        os.makedirs(os.path.dirname(program))
        with open(program, "w") as file:
            file.write("raise RuntimeError('/data/alice/x.bin: token=hunter2')\n")
        command = [memscope, "capture", "--out", "out", "--", sys.executable, program, "--hf-token", secrets[0], "--password=hunter2", "/home/alice/x"]
        run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        with open(os.path.join(folder, "out", "runtime_report.json")) as file:
            words = file.read()
    report = json.loads(words)
    expected = [os.path.basename(sys.executable), "alice/train.py", "--hf-token", "***", "--password=***", "x"]
    faults = [] if report["metadata"]["command"] == expected else [f"command {report['metadata']['command']}, expected {expected}"]
    faults += [f"{secret} is in the report" for secret in secrets[:2] if secret in words]
    faults += [] if report["message"] == "RuntimeError: x.bin: token=***" else [f"message {report['message']}"]
    last = run.stderr.splitlines()[-1]
    return 1, faults + ([f"the console tells {last}"] if any(secret in last for secret in secrets) else [])


def main():
    done = bad = 0
    for check in (check_shown, check_snapshot, check_assertions, check_hints, lambda: check_report(os.path.abspath(sys.argv[1]))):
        count, faults = check()
        print("".join(fault + "\n" for fault in faults), end="")
        done, bad = done + count, bad + len(faults)
    print(f"{done - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
