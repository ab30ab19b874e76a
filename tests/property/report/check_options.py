#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option of a run is taken by the command line and by a run file alike, and is in the help, the man page, the completions and the
report; names of options in the source and in the capture scripts are those of options."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
FAMILY = TOP / "tests/golden/cli/analyze/family/files/nova.family"
CALIBRATION = TOP / "tests/golden/cli/analyze/calibration/files/calibration.json"
# Options that need others, or a value that no schema says.
BESIDE = {"optimizer-device": {}, "documents": {"padding": "yes"}, "labels": {"loss": "trl"}, "assume": {"training-args": "assumed.json"}, "assume-version": {"training-args": "plain.json"}, "parameter-device": {"optimizer-device": "host"}, "adapter-dtype": {"lora": "r=8,targets=all-linear"},
          "upcast": {"quantize": "nf4", "lora": "r=8,targets=all-linear"}, "quantize": {"lora": "r=8,targets=all-linear"},
          "eval-logits": {"eval-batch": 1}, "routing": {"model": "olmoe-1b-7b", "experts": "eager"}, "experts": {"model": "olmoe-1b-7b"}, "source-length": {"model": "t5-small"},
          "images": {"model": "qwen2.5-vl-3b", "image-size": "112x112"}, "image-size": {"model": "qwen2.5-vl-3b", "images": 1},
          "freeze-vision": {"model": "qwen2.5-vl-3b", "images": 1, "image-size": "112x112"}, "prices": {"device": "h100-80gb"},
          "checkpoint-kind": {"checkpointing": "all"}, "calibration": {"device": json.loads(CALIBRATION.read_text())["device"]},
          "ignore-sharding": {"training-args": "training.json"}}
# Options of several ranks, by what they need.
OF_RANKS = [
    ({"parallel": "dp=2"}, "world bucket-cap-mb init-sync gradient-as-bucket-view static-graph find-unused-parameters zero-optimizer"),
    ({"parallel": "dp=2", "zero-optimizer": "yes"}, "parameters-as-bucket-view"),
    ({"parallel": "dp=2", "accumulate": 2}, "no-sync"),
    ({"parallel": "fsdp=2"}, "rank param-dtype reduce-dtype reshard-after-forward reshard-root build fsdp-offload"),
    ({"parallel": "fsdp=4"}, "reshard-ranks"),
    ({"parallel": "hsdp=2x2", "accumulate": 2}, "no-all-reduce"),
    ({"parallel": "fsdp1=2", "param-dtype": "bf16", "dtype": "fp32"}, "load-dtype"),
    ({"parallel": "fsdp=2", "accumulate": 2}, "reshard-after-backward"),
    ({"parallel": "fsdp=2", "model": "qwen3-8b"}, "fsdp-units"),
    ({"parallel": "fsdp1=2"}, "use-orig-params forward-prefetch backward-prefetch limit-all-gathers"),
    ({"parallel": "tp=2", "model": "qwen3-8b"}, "sequence-parallel loss-parallel"),
    ({"parallel": "zero=2,dp=2"}, "reduce-bucket-size overlap-comm contiguous-gradients decay-groups"),
    ({"parallel": "zero=3,dp=2"}, "zero-init stage3-prefetch-bucket-size stage3-max-live-parameters stage3-max-reuse-distance "
                                  "stage3-param-persistence-threshold"),
    ({"parallel": "zero=3,dp=2", "optimizer-device": "host"}, "offload-param"),
]
for beside, names in OF_RANKS:
    BESIDE.update({name: beside for name in names.split()})
VALUES = {"training-args": "training.json", "assume": "surprise_me=harmless", "assume-version": "accelerate=1.10", "network": "50GB", "launch": "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 3", "adapter": "adapter.json", "lora": "r=8,targets=all-linear", "plan": "plan.json", "calibration": "calibration.json", "prices": "prices.json", "family": "nova.family", "families": ".", "images": 2, "image-size": "112x112", "freeze-vision": "yes",
          "budget": "70GiB", "quantize": "nf4", "weight-decay": 0.25, "upcast": "no", "optimizer-impl": "foreach", "adapter-dtype": "bf16", "treat": "0=checkpoint",
          "checkpointing": "first:1", "device": "h200", "liger": "all", "max-split-size": "64MiB", "roundup-power2-divisions": 8, "clip": 0.5, "torch": "2.10",
          "allocator": "cuda-expandable", "mfu": 0.45, "ignore-sharding": True, "label-smoothing": 0.5, "attention": "math",
          "parallel": "dp=2", "rank": 1, "reshard-ranks": 2, "load-dtype": "bf16", "build": "device", "fsdp-units": "torchtitan"}


def said_by(program, *words, at):
    done = subprocess.run([program, *words], capture_output=True, cwd=at)
    assert done.returncode == 0, (words, done.stderr.decode())
    return done.stdout.decode()


def files(folder):
    write = lambda name, value: (folder / name).write_text(json.dumps(value))
    write("training.json", {"per_device_train_batch_size": 1, "fsdp": "full_shard"})
    write("assumed.json", {"per_device_train_batch_size": 3, "surprise_me": 7})
    write("plain.json", {"per_device_train_batch_size": 3})
    write("adapter.json", {"peft_type": "LORA", "r": 8, "target_modules": "all-linear"})
    write("plan.json", {"treat": "0=checkpoint"})
    write("prices.json", {"h100-80gb": 2.99})
    (folder / "nova.family").write_bytes(FAMILY.read_bytes())
    (folder / "nova.json").write_bytes(FAMILY.with_name("config.json").read_bytes())
    (folder / "calibration.json").write_bytes(CALIBRATION.read_bytes())


def value_of(name, schema):
    """One that is not the default, where there is one."""
    if name in VALUES:
        return VALUES[name]
    if "anyOf" in schema:
        schema = schema["anyOf"][0]
    return [v for v in schema["enum"] if v != schema.get("default")][-1] if "enum" in schema else schema["minimum"] + 1


def check_both_ways(program, name, schema, folder):
    model = "nova.json" if name in ("family", "families") else "llama-3.2-1b"
    settings = {"model": model, "seq": 128, **BESIDE.get(name, {}), name: value_of(name, schema)}
    if name == "training-args":
        settings["ignore-sharding"] = True
    (folder / "run.json").write_text(json.dumps(settings))
    words = ["--config", settings.pop("model")]
    for key, value in settings.items():
        words += [f"--{key}"] if value is True else [f"--{key}", str(value)]
    text = said_by(program, "analyze", "--no-advice", *words, "--format", "json", "-o", "-", at=folder)
    by_file = said_by(program, "analyze", "--no-advice", "--config", "run.json", "--format", "json", "-o", "-", at=folder)
    assert text == by_file, name
    return json.loads(text)["metadata"]


def check_texts(program, names):
    texts = {"--help": said_by(program, "help", "analyze", at=TOP), "zsh": (TOP / "completions/_memscope").read_text(),
             "fish": (TOP / "completions/memscope.fish").read_text(), "man": said_by(program, "help", "--man", "analyze", at=TOP).replace("\\-", "-")}
    for name in names:
        for where, pattern in {"--help": rf"^  --{name} ", "zsh": rf"'--{name}\[", "fish": rf" -l {name}( |$)", "man": rf"--{name}\b"}.items():
            assert re.search(pattern, texts[where], re.M), (name, where)


def check_source(names):
    """Options that code speaks of by name, and what the capture scripts look for in a report."""
    patterns = [r'ms_(?:resolve_fail|resolve_is_set|training_offer|run_field_(?:is_set|unset|set|find))\(\s*(?:[\w&>.-]+,\s*)?"([^"]*)"', r'\bfield\[\] = "([^"]*)"',
                r'\{MS_TOPIC_\w+, "([a-z-]+)", \{']
    found = set()
    for path in TOP.glob("src/input/config/**/*.c"):
        for pattern in patterns:
            found |= set(re.findall(pattern, path.read_text()))
    assert len(found) > 25 and found <= names | {"config"}, sorted(found - names)
    shown = json.loads((TOP / "schemas/static_report.schema.json").read_text())["properties"]["metadata"]["properties"]
    for path in (TOP / "scripts/memscope_torch").glob("*.py"):
        known = re.search(r"^KNOWN = \{(.*?)\}$", path.read_text(), re.M | re.S)
        for name in re.findall(r'"(\w+)": \(', known.group(1)) if known else []:
            assert name in shown, (path.name, name)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    properties = json.loads((TOP / "schemas/run.schema.json").read_text())["properties"]
    shown = json.loads((TOP / "schemas/static_report.schema.json").read_text())["properties"]["metadata"]["properties"]
    options = {name: schema for name, schema in properties.items() if name not in ("$schema", "model")}
    with tempfile.TemporaryDirectory() as folder:
        files(pathlib.Path(folder))
        for name, schema in options.items():
            metadata = check_both_ways(program, name, schema, pathlib.Path(folder))
            if name.replace("-", "_") in shown:
                assert name.replace("-", "_") in metadata, name
    check_texts(program, options)
    check_source(set(options))
    print(f"{len(options)} passed, 0 failed")


if __name__ == "__main__":
    main()
