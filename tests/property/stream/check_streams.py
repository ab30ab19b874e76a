#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_streams.py MEMSCOPE

Streamed passes on the host backend: bytes as predicted for each number of layers ahead, times that add up, weights
from files of several shapes, and Ctrl-C. Every report keeps to its schema where a validator is there.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import MEMSCOPE, TINY, check, finish, interrupt, report_of, run

ON_HOST = "--run --backend host --format json -q -o ran.json"


def report():
    return report_of("ran.json", "stream")


def add_up(times):
    for one in (times["predicted"], times["measured"]):
        assert abs(one["compute"] + one["exposed"] - one["pass"]) < 1e-3, one
        assert one["hidden"] <= one["copies"] + 1e-6 and all(value >= 0 for value in one.values()), one


def check_rows(settings, numbers, capacity, is_raw=False):
    run(f"stream {settings} --prefetch {numbers} {ON_HOST} --capacity {capacity}")
    found = report()
    ran = found["run"]
    assert ran["outcome"] == "ran" and ran["message"] is None and len(ran["rows"]) == len(found["rows"])
    for told, row in zip(found["rows"], ran["rows"]):
        assert row["prefetch"] == told["prefetch"] and not row["partial"]
        for key, value in row["predicted"].items():
            # The arena gives pages, which blocks of the raw allocator are not.
            assert value == row["measured"][key] or (is_raw and key == "device_grown_bytes"), row
        assert row["measured"]["peak_memory_bytes"] == told["peak_memory_bytes"], (row, told)
        assert row["measured"]["pinned_bytes"] == told["pinned_bytes"]
        assert row["measured"]["device_grown_bytes"] <= ran["device_bytes"]
        assert row["checks"] == 2 * found["layers"] * ran["checked_passes"]
        add_up(row["times_ms"])


def check_predicted():
    run("stream llama-3.2-1b --prefetch 1:4 --format json -o ran.json")
    assert "run" not in report()


# ---- weights in files ----

def layer(number, prefix="model."):
    """The tensors of a layer of TINY."""
    sizes = {"self_attn.q_proj": [64, 64], "self_attn.k_proj": [32, 64], "self_attn.v_proj": [32, 64],
             "self_attn.o_proj": [64, 64], "mlp.gate_proj": [96, 64], "mlp.up_proj": [96, 64],
             "mlp.down_proj": [64, 96], "input_layernorm": [64], "post_attention_layernorm": [64]}
    return {f"{prefix}layers.{number}.{name}.weight": shape for name, shape in sizes.items()}


def write(path, tensors, seed):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors.items():
        count = 2
        for size in shape:
            count *= size
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + random.Random(seed).randbytes(at))


def check_weights():
    folder = pathlib.Path("sharded")
    folder.mkdir()
    first, second = layer(0), layer(1)
    moved = second.popitem()
    write(folder / "one.safetensors", {**first, moved[0]: moved[1]}, 1)
    write(folder / "two.safetensors", second, 2)
    names = {**{name: "one.safetensors" for name in [*first, moved[0]]}, **{name: "two.safetensors" for name in second}}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}), encoding="utf-8")
    write("base.safetensors", {**layer(0, ""), **layer(1, "")}, 3)
    for path in ("sharded", "base.safetensors"):
        run(f"stream {TINY} --seq 16 {ON_HOST} --capacity 64MiB --weights {path}")
        found = report()["run"]
        assert found["outcome"] == "ran" and found["weights"] == path and found["rows"][0]["checks"] == 4
    del names["model.layers.1.input_layernorm.weight"]
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}), encoding="utf-8")
    done = run(f"stream {TINY} --seq 16 {ON_HOST} --capacity 64MiB --weights sharded", 2)
    assert "model.layers.1.input_layernorm.weight" in done.stderr, done.stderr


def check_changed_headers():
    """Files that are nearly right are taken or refused with a sentence, and end nothing."""
    write("right.safetensors", {**layer(0), **layer(1)}, 4)
    right = pathlib.Path("right.safetensors").read_bytes()
    dice = random.Random(5)
    for turn in range(30):
        wrong = bytearray(right)
        for _ in range(dice.randrange(1, 4)):
            wrong[dice.randrange(1500)] = dice.choice(b'0123456789,:[]{}"x\x00\xff')
        if turn % 5 == 0:
            del wrong[dice.randrange(len(wrong)):]
        pathlib.Path("wrong.safetensors").write_bytes(wrong)
        done = subprocess.run([MEMSCOPE, "stream", str(TINY), "--seq", "16", "--run", "--backend", "host", "--capacity", "64MiB",
                               "--weights", "wrong.safetensors", "-q"], capture_output=True, text=True, errors="replace", check=False)
        assert done.returncode in (0, 2), (turn, done.returncode, done.stderr)
        assert done.returncode == 0 or done.stderr.strip(), turn


def check_interrupted():
    interrupt(f"stream smollm2-135m --seq 2048 --phase prefill {ON_HOST} --capacity 4GiB")
    found = report()["run"]
    assert found["outcome"] == "interrupted" and found["rows"][-1]["partial"] and found["rows"][-1]["times_ms"] is None


def check_not_written():
    """A place that is taken meanwhile is told, beside why the run ended."""
    message = interrupt("stream smollm2-135m --seq 2048 --phase prefill --run --backend host --capacity 4GiB -q -o taken.json",
                        lambda: pathlib.Path("taken.json").mkdir())[1]
    assert "cannot write taken.json" in message, message


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check("predicted only", check_predicted)
        check("decoding", lambda: check_rows(f"{TINY} --seq 48 --batch 2", "1,5", "64MiB"))
        check("prefill", lambda: check_rows(f"{TINY} --seq 64 --phase prefill --dtype fp32", "1", "64MiB"))
        check("several numbers", lambda: check_rows("smollm2-135m --seq 32", "1,3,29", "700MiB"))
        check("raw", lambda: check_rows(f"{TINY} --seq 32 --allocator raw", "1", "64MiB", True))
        check("weights", check_weights)
        check("changed headers", check_changed_headers)
        check("interrupted", check_interrupted)
        check("not written", check_not_written)
    finish()


if __name__ == "__main__":
    main()
