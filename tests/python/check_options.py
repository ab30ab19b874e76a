#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option of the commands is a keyword of the calls, with the same default and the same effect."""
import json
import pathlib
import re

import support
from support import memscope

# What the commands have, and a call has in another way: help(memscope.analyze), and the config itself.
ELSEWHERE = {"help", "config"}

RUN = ("llama-3.2-1b", {"seq": 128})
LORA = {"lora": {"r": 8, "targets": "all-linear"}}
# Options that need others, and values that are not the default.
BESIDE = {"parameter_device": {"optimizer_device": "host"}, "adapter_dtype": LORA, "upcast": {"quantize": "nf4", **LORA},
          "quantize": LORA, "eval_logits": {"eval_batch": 1}, "routing": {"experts": "eager"}, "checkpoint_kind": {"checkpointing": "all"},
          "prices": {"device": "h100-80gb"}, "calibration": {"device": json.loads(support.CALIBRATION.read_text())["device"]},
          "ignore_sharding": {"training_args": {"per_device_train_batch_size": 1, "fsdp": "full_shard"}},
          "assume": {"training_args": {"per_device_train_batch_size": 1, "surprise_me": 1}}, "assume_version": {"training_args": {"per_device_train_batch_size": 1}}}
# Options of several ranks, by what they need.
DDP, FSDP, FSDP1, TP, ZERO, ZERO3 = ({"parallel": layout} for layout in ("dp=2", "fsdp=2", "fsdp1=2", "tp=2", "zero=2,dp=2", "zero=3,dp=2"))
OF_RANKS = [
    (DDP, {"world": 2, "bucket_cap_mb": 50, "init_sync": False, "gradient_as_bucket_view": True, "static_graph": True, "find_unused_parameters": True, "zero_optimizer": True}),
    ({**DDP, "zero_optimizer": True}, {"parameters_as_bucket_view": True}), ({**DDP, "accumulate": 2}, {"no_sync": True}),
    (FSDP, {"rank": 1, "param_dtype": "fp16", "reduce_dtype": "fp32", "reshard_after_forward": False, "reshard_root": True, "build": "device",
            "fsdp_offload": True}),
    ({"parallel": "fsdp=4"}, {"reshard_ranks": 2}), ({"parallel": "hsdp=2x2", "accumulate": 2}, {"no_all_reduce": True}),
    ({**FSDP1, "param_dtype": "bf16", "dtype": "fp32"}, {"load_dtype": "bf16"}), ({**FSDP, "accumulate": 2}, {"reshard_after_backward": False}),
    ({**FSDP, "batch": 1}, {"fsdp_units": "torchtitan"}),
    (FSDP1, {"use_orig_params": False, "forward_prefetch": True, "backward_prefetch": "post", "limit_all_gathers": False}),
    (TP, {"sequence_parallel": True, "loss_parallel": True}),
    (ZERO, {"reduce_bucket_size": 1000000, "overlap_comm": True, "contiguous_gradients": False, "decay_groups": True}),
    (ZERO3, {"zero_init": False, "stage3_prefetch_bucket_size": 1000, "stage3_max_live_parameters": 1000,
             "stage3_max_reuse_distance": 1000, "stage3_param_persistence_threshold": 10}),
    ({**ZERO3, "optimizer_device": "host"}, {"offload_param": True}),
]
for beside, values in OF_RANKS:
    BESIDE.update({name: beside for name in values})
BESIDE.update({"documents": {"padding": "yes"}, "labels": {"loss": "trl"}})
BESIDE.update({"images": {"image_size": "112x112"}, "image_size": {"images": 1}, "freeze_vision": {"images": 1, "image_size": "112x112"}})
MODELS = {"family": support.FAMILY.with_name("config.json"), "families": support.FAMILY.with_name("config.json"), "routing": "olmoe-1b-7b", "experts": "olmoe-1b-7b", "fsdp_units": "qwen3-8b", "sequence_parallel": "qwen3-8b",
          "loss_parallel": "qwen3-8b", "source_length": "t5-small", "images": "qwen2.5-vl-3b", "image_size": "qwen2.5-vl-3b",
          "freeze_vision": "qwen2.5-vl-3b"}
VALUES = {"training_args": {"per_device_train_batch_size": 3}, "launch": "python train.py --per_device_train_batch_size 3", "ignore_sharding": True, "assume": "surprise_me=harmless", "assume_version": "accelerate=1.10", "batch": 2, "seq": 64, "source_length": 96, "padding": "yes", "documents": 3, "labels": 40,
          "images": 1, "image_size": "112x112", "freeze_vision": True, "dtype": "fp32",
          "autocast": "bf16", "optimizer": "sgd", "optimizer_impl": "foreach", "optimizer_in_backward": True,
          "optimizer_device": "host", "parameter_device": "host", "weight_decay": 0.25, "accumulate": 2, "loop": "loader", "loss": "trl",
          "grad_accumulation_dtype": "fp32", "clip": 0.5, "label_smoothing": 0.5, "liger": "all", "logits_to_keep": 32,
          "empty_cache_steps": 3, "eval_batch": 2, "eval_logits": 2, "checkpointing": "all", "treat": {"0": "checkpoint"},
          "adapter": {"peft_type": "LORA", "r": 8, "target_modules": "all-linear"}, "lora": LORA["lora"], "adapter_dtype": "bf16",
          "quantize": "nf4", "upcast": False, "plan": {"treat": "0=checkpoint"}, "checkpoint_kind": "reentrant",
          "attention": "math", "experts": "eager", "routing": "skewed", "device": "h200", "calibration": support.CALIBRATION, "prices": support.PRICES, "family": support.FAMILY, "families": support.FAMILY.parent,
          "mfu": 0.45, "network": "50GB", "torch": "2.10", "allocator": "cuda-expandable", "max_split_size": "64MiB", "roundup_power2_divisions": 8, "addresses": "down",
          "budget": "70GiB", "parallel": "dp=2", **{name: value for _, values in OF_RANKS for name, value in values.items()}}


def words_of(options, folder):
    """The same for the command line."""
    words = []
    for name, value in options.items():
        if isinstance(value, dict) and name not in ("lora", "treat"):
            path = folder / f"{name.replace('_', '-')}.json"
            path.write_text(json.dumps(value))
            value = path
        if value is True and name in ("ignore_sharding", "unroll", "no_advice", "curve", "frontier"):
            words.append(f"--{name.replace('_', '-')}")
            continue
        if isinstance(value, dict):
            value = ",".join(f"{k}={v}" for k, v in value.items())
        words.append(f"--{name.replace('_', '-')}={ {True: 'yes', False: 'no'}.get(value, value) if isinstance(value, bool) else value}")
    return words


def listed(command):
    """{option: default} as the help of the command has it."""
    text = support.said_by("help", command).decode()
    found = {}
    for name, said in re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)(?: \S+)? {2,}(.*)$", text, re.M):
        default = re.search(r"\[([^][]*)\]$", said) or re.search(r"\(default: ([^()]*)\)$", said)
        found[name] = default[1] if default else None
    return found


def without_folders(report):
    """Files that Python writes for the program have folders of their own."""
    for key in report["inputs"]:
        key["file"] = pathlib.Path(key["file"]).name
    return report


class Options(support.Case):
    def test_each_option_exists_in_both_with_the_same_default(self):
        for command in ("analyze", "plan", "fit", "sweep", "diff", "check", "compare", "calibrate", "capture"):
            help_has = {name.replace("-", "_"): default for name, default in listed(command).items() if name not in ELSEWHERE}
            self.assertEqual({row.name: row.default for row in memscope.options(command)}, help_has, command)
            self.assertGreaterEqual(len(help_has), 4)

    def test_each_option_of_a_run_does_the_same(self):
        own = {row.name for row in memscope.options("analyze")} - set(VALUES)
        self.assertEqual(own, {"format", "file", "output", "out", "events", "chart", "check_with", "python", "unroll", "no_advice", "quiet", "color",
                               "no_color"})
        plain = memscope.analyze(RUN[0], no_advice=True, **RUN[1]).to_dict()
        for name, value in VALUES.items():
            options = {**RUN[1], "no_advice": True, **BESIDE.get(name, {}), name: value}
            model = MODELS.get(name, RUN[0])
            with self.subTest(name), support.folder() as folder:
                text = support.json_of("analyze", model, *words_of(options, folder))
                report = memscope.analyze(model, **options)
                self.assertEqual(without_folders(report.to_dict()), without_folders(json.loads(text)))
                self.assertNotEqual(report.to_dict(), plain)

    def test_no_option_is_no_option(self):
        self.assertEqual(memscope.analyze("gpt2").write("json"), support.json_of("analyze", "gpt2"))
        self.assertEqual(memscope.fit("gpt2").write("json"), support.json_of("fit", "gpt2"))
        self.assertEqual(list(memscope.sweep("gpt2")), self.rows(support.said_by("sweep", "gpt2", "--format", "jsonl")))
        made = memscope.plan("gpt2", device="rtx-3090", batch=8).to_dict()
        said = json.loads(support.json_of("plan", "gpt2", "--device", "rtx-3090", "--batch", "8"))
        self.assertGreater(made.pop("solve_ms"), 0)
        said.pop("solve_ms")
        self.assertEqual(made, said)

    @staticmethod
    def rows(text):
        return [json.loads(line) for line in text.splitlines()]

    # ---- of analyze ----

    def test_outputs(self):
        with support.folder() as folder:
            report = memscope.analyze("gpt2", unroll=True, file=folder / "a.svg", out=folder / "out", events=folder / "events",
                                      output={"md": folder / "b", "csv": folder / "c.csv"}, quiet=True, chart=True, color="always",
                                      format="console")
            words = ["analyze", "gpt2", "--unroll", "-o", folder / "d.svg", "--format", "console", "--out", folder / "out2", "--events",
                     folder / "events2", "--output", f"md={folder / 'b2'}", "--output", f"csv={folder / 'c2.csv'}", "--chart", "--quiet",
                     "--color=always"]
            support.said_by(*words)
            for a, b in (("events", "events2"), ("b", "b2"), ("c.csv", "c2.csv"), ("a.svg", "d.svg"),
                         ("out/static_report.json", "out2/static_report.json"), ("out/static_report.md", "out2/static_report.md")):
                self.assertEqual((folder / a).read_bytes(), (folder / b).read_bytes(), a)
            self.assertEqual(str(report) + "\n", (folder / "d.svg").read_text())
            self.assertIn("\x1b[", str(report))
            self.assertNotIn("\x1b[", str(memscope.analyze("gpt2", color="always", no_color=True)))
        self.assertIn("# ", str(memscope.analyze("gpt2", format="md")))

    # ---- of plan, fit and sweep ----

    def test_options_of_a_plan(self):
        graph = "tests/golden/cli/plan/graph/files/modules.json"
        ops = next((support.TOP / "tests/golden/cli/plan").glob("*/files/operators.json"))
        run = {"batch": 8, "device": "rtx-3090"}
        rows = [("gpt2", {**run, "budget": "6GiB", "gap": 0.01, "time_limit": 20, "without": ["offload", "tile"], "gpu_cost_per_hour": 1.5}),
                ("gpt2", {**run, "planner": "rules", "rules_mode": "aggressive", "max_cpu_offload": "8GiB"}),
                ("gpt2", {**run, "target": "hf"}), ("gpt2", {**run, "curve": True, "points": 3}),
                ("gpt2", {**run, "allow": "host-optimizer"}),
                (None, {"graph": support.TOP / graph, "budget": "40GiB", "world_size": 8, "time_limit": 5}),
                (None, {"ops": ops, "memory_budget": 0.5})]
        seen = set()
        for model, options in rows:
            seen |= set(options)
            with self.subTest(options), support.folder() as folder:
                model_words = [model] if model else []
                text = support.json_of("plan", *model_words, *[",".join(w) if isinstance(w, list) else w for w in words_of(
                    {k: ",".join(v) if isinstance(v, list) else v for k, v in options.items()}, folder)], codes=(0, 3))
                try:
                    made = memscope.plan(*model_words, **options).to_dict()
                except memscope.InfeasibleError as error:
                    made = error.plan.to_dict()
                said = json.loads(text)
                for each in (made, said):
                    each.pop("solve_ms", None)
                self.assertEqual(made, said)
        left = {row.name for row in memscope.options("plan")} - {row.name for row in memscope.options("fit")} - seen
        self.assertEqual(left, {"fsdp", "ac_units", "latency", "bandwidth"})

    def test_options_of_modules(self):
        graph = support.TOP / "tests/golden/cli/plan/graph/files/modules.json"
        for name, value in (("fsdp_units", "none-such"), ("ac_units", "none-such"), ("latency", "x"), ("bandwidth", "x"), ("fsdp", "x")):
            said = self.fails(memscope.InputError, "", lambda: memscope.plan(graph=graph, budget="40GiB", **{name: value}))  # noqa: B023
            self.assertIn(name.replace("_", "-"), said.text + said.pointer)

    def test_options_of_a_fit(self):
        for options in ({"what": "seq", "step": 128}, {"what": "layers"}, {"what": "rank", "lora": "r=8,targets=all-linear"}):
            found = memscope.fit("gpt2", device="rtx-3090", **options)
            with support.folder() as folder:
                self.assertEqual(found.write("json"), support.json_of("fit", "gpt2", "--device=rtx-3090", *words_of(options, folder)))

    def test_options_of_a_sweep(self):
        lists = {"batch": [1, 2, 4], "treat": ["0=checkpoint", "0=checkpoint,1=offload:0.5"], "lora": ["none", {"r": 8, "targets": "all-linear"}]}
        words = ["--batch=1,2,4", "--treat=0=checkpoint;0=checkpoint,1=offload:0.5", "--lora=none;r=8,targets=all-linear"]
        for options in ({}, {"shard": "2/3", "jobs": 2}, {"frontier": True, "objectives": ["peak_memory_bytes", "tokens_per_s"]},
                        {"fit": "seq", "step": 256}):
            more = [f"--{k}" if v is True else f"--{k}={','.join(v) if isinstance(v, list) else v}" for k, v in options.items()]
            said = support.said_by("sweep", "gpt2", *words, *more, "--quiet", "--format=jsonl", codes=(0, 1))
            self.assertEqual(list(memscope.sweep("gpt2", **lists, **options)), self.rows(said), options)

    def test_rows_in_a_file(self):
        rows = list(memscope.sweep("gpt2", batch=[1, 2]))
        with support.folder() as folder:
            (folder / "runs.csv").write_text("batch\n1\n2\n")
            for options in ({"file": folder / "rows.csv"}, {"file": folder / "rows.jsonl"},
                            {"file": folder / "rows.txt", "format": "jsonl", "resume": True}):
                self.assertEqual(list(memscope.sweep("gpt2", batch=[1, 2], **options)), rows)
            self.assertEqual([row.batch for row in memscope.sweep("gpt2", runs=folder / "runs.csv", quiet=True)], [1, 2])


if __name__ == "__main__":
    support.main()
