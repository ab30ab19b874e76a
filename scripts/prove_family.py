#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove a family: compare its steps with transformers' on random small configs, without a GPU.

usage: prove_family.py MODEL_TYPE [--family FILE] [--configs N] [--seed N] [--out DIR] [--config KEYS.json ...]

Draws small configs of the model type (sizes at random, and each flag that the modeling file asks for), adds eight ways to
train (eager and fused attention, bf16, fp32 with autocast, checkpoints, accumulation, LoRA on all linear layers, a padded
batch), measures every step in transformers on memscope's null device, and compares memory, phases, what is reserved, and
the order of all allocations and frees over 4 KiB. The default config's parameters are compared too. Where events part,
the first ones are shown with their surroundings.

The last lines are a table, and "proven" or what is left. The exit status is 0 when all are equal. Needs torch,
transformers and peft, and a memscope that was built (`make`). --out keeps the cases, which scripts/oracle.py reads.
"""
import argparse
import glob
import inspect
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "..", "tests", "oracle")
MODES = {
    "eager": {"attn": "eager", "batch": 3, "seq": 96, "weights": "bf16"},
    "bf16": {"batch": 2, "seq": 137, "weights": "bf16"},
    "fp32": {"batch": 1, "seq": 60, "weights": "fp32"},
    "autocast": {"batch": 2, "seq": 200, "weights": "fp32", "autocast": "bf16"},
    "checkpoints": {"batch": 2, "seq": 96, "weights": "bf16", "checkpointing": True},
    "accumulated": {"batch": 2, "seq": 64, "weights": "fp32", "optimizer": "adamw_foreach", "clip": True, "accumulate": 2},
    "lora": {"batch": 2, "seq": 96, "weights": "bf16", "lora": {"r": 8, "targets": "all-linear"}},
    "padded": {"batch": 3, "seq": 80, "weights": "bf16", "padding": "yes"},
}
FIXED = re.compile(r"use_cache|output_|return_dict|torchscript|tie_|is_decoder|add_cross|gradient_checkpointing|pruned|"
                   r"cross_attention|_bos|_eos")


def sizes(rng):
    """Sizes by what keys are called: the first pattern that fits a whole name counts."""
    heads = rng.choice([2, 3, 4, 6, 8])
    groups = rng.choice([g for g in range(1, heads + 1) if heads % g == 0])
    width = rng.choice([16, 24, 32, 64])
    experts = rng.choice([4, 8])
    layers = rng.choice([2, 3, 4])
    return {
        r"vocab_size": rng.choice([320, 1000, 1024, 3000]),
        r"hidden_size|d_model|n_embd|dim|model_dim": heads * width,
        r"num_hidden_layers|n_layers?|num_layers": layers,
        r"num_attention_heads|n_heads?|num_heads|attention_heads": heads,
        r"num_key_value_heads|num_kv_heads|n_head_kv|multi_query_group_num": groups,
        r"head_dim|kv_channels|attention_head_size": width,
        r"intermediate_size|ffn_dim|n_inner|ffn_hidden_size|mlp_hidden_size|d_ff": rng.choice([96, 176, 256, 360]),
        r"moe_intermediate_size|expert_ffn_size|shared_expert_intermediate_size|shared_intermediate_size": rng.choice([48, 96, 128]),
        r"num_experts|num_local_experts|n_routed_experts|moe_num_experts": experts,
        r"num_experts_per_tok|experts_per_token|moe_topk|top_k|moe_top_k": 2,
        r"num_shared_experts|n_shared_experts": rng.choice([1, 2]),
        r"n_group": 2, r"topk_group": 1,
        r"first_k_dense_replace": rng.choice([0, 1]),
        r"max_position_embeddings|n_positions|max_sequence_length|n_ctx|seq_length": 512,
        r"sliding_window": rng.choice([48, 4096]),
    }


def flags_of(config_class, model_class):
    """Names of the config that the modeling file asks for, and whose default is True or False."""
    source = open(inspect.getsourcefile(model_class), encoding="utf-8").read()
    asked = set(re.findall(r"config\.(\w+)", source))
    default = config_class().to_dict()
    return sorted(k for k, v in default.items() if isinstance(v, bool) and k in asked and not FIXED.search(k))


def draw(rng, config_class, flags):
    known = sizes(rng)
    keys = {}
    default = config_class().to_dict()
    for name, value in default.items():
        if isinstance(value, bool) or not (isinstance(value, int) or value is None):
            continue
        for pattern, size in known.items():
            if re.fullmatch(pattern, name) and (value is not None or name.endswith("_heads")):
                keys[name] = size
    for name in flags:
        if rng.random() < 0.3:
            keys[name] = not default[name]
    if default.get("pad_token_id") is not None and default["pad_token_id"] >= keys.get("vocab_size", 1 << 30):
        keys["pad_token_id"] = 0
    for name in ("bos_token_id", "eos_token_id"):
        if isinstance(default.get(name), int):
            keys[name] = 1
    return keys


def is_possible(model_type, keys):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    try:
        config = AutoConfig.for_model(model_type, **keys)
        with torch.device("meta"):
            AutoModelForCausalLM.from_config(config)
        return True
    except Exception as e:  # a combination that the class refuses
        print("not possible: %s (%s)" % (json.dumps(keys), str(e).splitlines()[0] if str(e) else type(e).__name__), file=sys.stderr)
        return False


def draw_all(o):
    from transformers import AutoConfig, AutoModelForCausalLM
    config_class = type(AutoConfig.for_model(o.model_type))
    model_class = AutoModelForCausalLM._model_mapping[config_class]
    o.attention = "sdpa" if getattr(model_class, "_supports_sdpa", True) else "eager"
    flags = flags_of(config_class, model_class)
    rng = random.Random("%s %d" % (o.model_type, o.seed))
    found = []
    for _ in range(20 * o.configs):
        keys = draw(rng, config_class, flags)
        if len(found) < o.configs and keys not in found and is_possible(o.model_type, keys):
            found.append(keys)
    return found, model_class.__name__


def default_parameters(o):
    """What transformers and memscope count for the default config; None: the class cannot be made without keys."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    try:
        config = AutoConfig.for_model(o.model_type)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
    except Exception as e:
        print("no default config: %s" % e, file=sys.stderr)
        return None
    theirs = sum(p.numel() for p in model.parameters())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        config.save_pretrained(folder)
        run = subprocess.run([o.memscope, "analyze", path, "--batch", "1", "--seq", "64", "--format", "json", "-o", "-"],
                             capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        return theirs, run.stderr.strip()
    return theirs, json.loads(run.stdout)["summary"]["param_count"]


def give_family(o, folder):
    """Every program that is started finds the user's text, and those beside it that it may import."""
    families = os.path.join(folder, "families")
    os.makedirs(families, exist_ok=True)
    for path in glob.glob(os.path.join(glob.escape(os.path.dirname(os.path.abspath(o.family))), "*.family")):
        shutil.copy(path, families)
    shutil.copy(o.family, os.path.join(families, o.model_type + ".family"))
    os.environ["MEMSCOPE_FAMILIES"] = families


def cases_of(o, configs):
    cases = []
    for i, keys in enumerate(configs):
        for name, mode in MODES.items():
            if not o.modes or name in o.modes:
                cases.append({"id": "%s-%02d/%s" % (o.model_type, i, name), "config": {"model_type": o.model_type, **keys},
                              "attn": o.attention, "optimizer": "adamw_fused", **mode})
    return cases


def measure(o, cases, folder):
    """On the null device that memscope has; several at once."""
    jobs, files = [], []
    for k in range(o.jobs):
        part, out = os.path.join(folder, "cases%d.json" % k), os.path.join(folder, "measured%d.json" % k)
        json.dump({"cases": cases[k::o.jobs]}, open(part, "w"))
        command = [o.memscope, "capture", "-q", "--device", "a100-80gb", "--out", os.path.join(folder, "capture%d" % k),
                   "--time-limit", "36000", "--", sys.executable, os.path.join(ORACLE, "measure_step.py"), part, out, "--device", "cuda",
                   "--events", os.path.join(folder, "events"), "--stacks"]
        jobs.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}))
        files.append(out)
    for job in jobs:
        said = job.communicate()[1]
        if o.verbose:
            print(said, file=sys.stderr)
    whole = None
    for path in files:
        if not os.path.exists(path):
            continue
        part = json.load(open(path))
        if whole is None:
            whole = part
        else:
            whole["cases"] += part["cases"]
    if whole is None:
        sys.exit("nothing was measured; --verbose shows why")
    path = os.path.join(folder, "%s_cuda.json" % o.model_type)
    json.dump(whole, open(path, "w"), indent=1)
    return path, whole["cases"]


def compare(o, path, case, folder):
    """(figures are equal, events are equal, what is said of it)."""
    command = [sys.executable, os.path.join(HERE, "oracle.py"), path, "--binary", o.memscope, "--only", case["id"],
               "--require", "steady:exact=1", "--require", "reserved:exact=1", "--require", "static:exact=1",
               "--require", "saved:exact=1", "--require", "first:exact=1"]
    figures = subprocess.run(command, capture_output=True, text=True, check=False)
    events = subprocess.run([sys.executable, os.path.join(ORACLE, "compare_events.py"), "--binary", o.memscope, "--cases", path,
                             "--traces", os.path.join(folder, "events"), "--only", case["id"]],
                            capture_output=True, text=True, check=False)
    return figures.returncode == 0, events.returncode == 0, figures.stdout + figures.stderr, events.stdout + events.stderr


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="\n".join(__doc__.split("\n")[2:]),
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model_type")
    ap.add_argument("--family", default="", metavar="FILE", help="a text of the user's own")
    ap.add_argument("--configs", type=int, default=12, metavar="N", help="random configs [12]")
    ap.add_argument("--config", action="append", default=[], metavar="KEYS.json", help="a config of your own, beside these")
    ap.add_argument("--seed", type=int, default=1, metavar="N", help="of the configs [1]")
    ap.add_argument("--modes", type=lambda s: s.split(","), metavar="NAME,...", help="some of: " + ", ".join(MODES))
    ap.add_argument("--out", default="", metavar="DIR", help="keep cases, measured figures and events there")
    ap.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at once [2]")
    ap.add_argument("--memscope", default=os.environ.get("MEMSCOPE", os.path.join(HERE, "..", "build", "release", "memscope")))
    ap.add_argument("--verbose", action="store_true", help="what the measured programs print")
    o = ap.parse_args()
    o.memscope = os.path.abspath(o.memscope)
    with tempfile.TemporaryDirectory() as temporary:
        return prove(o, os.path.abspath(o.out) if o.out else temporary)


def prove(o, folder):
    os.makedirs(folder, exist_ok=True)
    if o.family:
        give_family(o, folder)
    configs, class_name = draw_all(o)
    configs += [json.load(open(path)) for path in o.config]
    counted = default_parameters(o)
    path, cases = measure(o, cases_of(o, configs), folder)
    wrong, unmeasured, equal, shown = [], [], 0, False
    for case in cases:
        if "error" in case["measured"]:
            unmeasured.append("%s: %s" % (case["id"], case["measured"]["error"].strip().splitlines()[-1]))
            continue
        has_figures, has_events, figures, events = compare(o, path, case, folder)
        equal += has_figures and has_events
        if has_figures and has_events:
            continue
        wrong.append("%s: %s differ" % (case["id"], "figures and events" if not has_figures and not has_events
                                        else "events" if has_figures else "figures"))
        if not shown:
            print("\n".join((figures if has_events else events).splitlines()[:40]))
            shown = True
    for line in wrong + unmeasured:
        print(line)
    is_counted = counted is None or counted[0] == counted[1]
    if counted:
        print("parameters of the default config: %s in transformers, %s in memscope" % counted)
    print("%s (%s): %d of %d steps equal, of %d configs; %d could not be measured" %
          (o.model_type, class_name, equal, equal + len(wrong), len(configs), len(unmeasured)))
    is_proven = is_counted and not wrong and equal > 0
    print("proven" if is_proven else "not proven")
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
