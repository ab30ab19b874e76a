#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python part of `memscope capture` does without PyTorch: what reports show of arguments, messages and paths,
which tests of values belong to assertions, which failures get a hint, and how endings are told.

usage: check_capture.py MEMSCOPE
"""
import json
import os
import signal
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
    """Of PyTorch's launcher: its text is a frame of many lines."""

    def get_first_failure(self):
        return 1, self

    exitcode = -9


class ProcessRaisedException(Exception):
    """Of torch.multiprocessing: its text is another process's traceback."""


InductorError = type("InductorError", (RuntimeError,), {"__module__": "torch._inductor.exc"})


def check_hints():
    inner = InductorError("ImportError: undefined symbol")
    outer = RuntimeError("it failed")
    outer.__cause__ = inner
    cases = [(ChildFailedError(""), None), (RuntimeError("CUDA error: invalid device ordinal"), "--world N"), (ValueError("environment variable RANK expected, but not set"), "--world N"),
             (inner, "TORCHDYNAMO_DISABLE=1"), (outer, "TORCHDYNAMO_DISABLE=1"), (RuntimeError("CUDA out of memory"), None)]
    faults = []
    for error, words in cases:
        found = hints.of(type(error), error)
        faults += [] if (words in found if words and found else found is words) else [f"{error!r}: hint {found}"]
    lines = [(ChildFailedError("\n===="), "ChildFailedError: rank 1 was ended by signal 9", True), (KeyError("x"), "KeyError: 'x'", False),
             (ProcessRaisedException("\n\n-- Process 1:\nTraceback\nValueError: 3\n"), "ProcessRaisedException: ValueError: 3", True)]
    for error, line, is_of_another in lines:
        found = hints.line_of(type(error), error), hints.is_of_another(type(error), error)
        faults += [] if found == (line, is_of_another) else [f"{error!r}: {found}"]
    return len(cases) + len(lines), faults


# Programs that need no PyTorch, what stands before them, options, exit status, outcome, and the last line on the console.
ENDINGS = [
    ("import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\ntime.sleep(60)", [], ["--time-limit", "5"], 2, "time_limit",
     "the capture is incomplete: the program did not take 3 optimizer steps in 5 s"),
    ("import os, signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(60)", [], [], 130, "interrupted", "the capture was interrupted: the program was sent signal 2 (Interrupt)"),
    ("import os, signal, time\ntry:\n    os.kill(os.getppid(), signal.SIGTERM)\n    time.sleep(60)\nexcept BaseException:\n    pass", [], [], 130, "interrupted",
     "the capture was interrupted: the program was sent signal 15 (Terminated)"),
    ("raise KeyboardInterrupt", [], [], 130, "interrupted", "the capture was interrupted: KeyboardInterrupt: "),
    ("import shutil\nshutil.rmtree('out')", [], [], 2, None, "the folder of --out was removed while the program ran: no report could be written; the program exited with status 0"),
    ("import shutil\nshutil.rmtree('out')\nraise KeyError('x')", [], [], 2, None, "the folder of --out was removed while the program ran: no report could be written; the program exited with status 1"),
    # A process of another rank ends before it does anything; of this one the device count is that of the launcher's node.
    ("import os\nprint(*(os.environ[name] for name in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'MEMSCOPE_NULL_COUNT')))\nraise ValueError('it ran')",
     ["env", "RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=4"], [], 2, "failed", "0 0 4 4"),
    ("raise ValueError('it ran')", ["env", "RANK=2", "LOCAL_RANK=2", "WORLD_SIZE=4"], [], 2, None, "to follow and no use of CUDA; it exited with status 0"),
    ("raise ValueError('it ran')", ["env", "RANK=2", "LOCAL_RANK=2", "WORLD_SIZE=4"], ["--world", "4", "--rank", "2"], 2, "failed", "ValueError: it ran"),
    ("import os\nprint(*(os.environ[name] for name in ('RANK', 'LOCAL_RANK', 'GROUP_RANK', 'LOCAL_WORLD_SIZE')))\nraise ValueError('it ran')", [],
     ["--world", "20", "--rank", "11"], 2, "failed", "11 3 1 8"),
    # The process that failed says more than the one that started it.
    ("import multiprocessing, os\nif __name__ == '__main__':\n    multiprocessing.get_context('spawn').Process(target=os.listdir, args=('none',)).start()", [], [], 2, "failed",
     "FileNotFoundError: [Errno 2] No such file or directory: 'none'"),
]


def check_endings(memscope):
    faults = []
    for source, launcher, options, status, outcome, words in ENDINGS:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "train.py"), "w") as file:
                file.write(source + "\n")
            command = [memscope, "capture", "--out", "out", *options, "--", *launcher, sys.executable, "train.py"]
            run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")})
            path = os.path.join(folder, "out", "runtime_report.json")
            found = json.load(open(path))["outcome"] if os.path.exists(path) else None
        good = run.returncode == status and found == outcome and words in run.stderr and "memscope_torch/report" not in run.stderr
        faults += [] if good else [f"{source!r} {launcher} {options}: {run.returncode}, {found}: {run.stderr}"]
    return len(ENDINGS), faults


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
    for check in (check_shown, check_snapshot, check_assertions, check_hints, lambda: check_endings(os.path.abspath(sys.argv[1])),
                  lambda: check_report(os.path.abspath(sys.argv[1]))):
        count, faults = check()
        print("".join(fault + "\n" for fault in faults), end="")
        done, bad = done + count, bad + len(faults)
    print(f"{done - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    # A shell starts what runs in its background with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
