#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What wrap and its like do without PyTorch: settings are checked, and one sentence says what is missing."""
import dataclasses
import subprocess
import sys

import support
from support import memscope

from memscope import _changes, _decision, _hardware

# A field, values that are taken, and values that are not.
FIELDS = [
    ("mode", [None, "conservative", "balanced", "aggressive"], ["", "fast", 1, True]),
    ("enable_checkpointing", [True, False], [1, None, "yes"]),
    ("enable_offloading", [True, False], [0]),
    ("enable_tiling", [True, False], ["no"]),
    ("max_cpu_offload_gb", [None, 0, 0.5, 64], [-1, float("nan"), float("inf"), "64", True]),
    ("target_gpu_utilization", [1, 0.01, 1.0], [0, -0.5, 1.01, float("nan"), "0.9", True, None]),
    ("use_static_profiling", [True, False], [2]),
    ("use_empirical_fallback", [True, False], ["x"]),
    ("warmup_steps", [1, 100], [0, -1, 1.5, True, None]),
    ("enable_logging", [True, False], [None]),
    ("log_file", [None, "x.jsonl", support.TOP], [3, b"x", True]),
    ("observability_port", [None, 1, 9090, 65535], [0, 65536, -1, 9090.0, "9090", True]),
    ("gpu_cost_per_hour", [0, 2.5, 100], [-1, float("nan"), float("inf"), None, "2"]),
    ("verify_correctness", [True, False], [1]),
]


class Settings(support.Case):
    def test_fields(self):
        self.assertEqual([name for name, _, _ in FIELDS], [field.name for field in dataclasses.fields(memscope.Config)])
        for name, good, bad in FIELDS:
            for value in good:
                self.assertEqual(getattr(memscope.Config(**{name: value}), name), value)
            for value in bad:
                with self.subTest(name, value=value):
                    self.fails(memscope.InputError, f"Config: {name}: found {value!r}, expected ", lambda name=name, value=value: memscope.Config(**{name: value}))

    def test_together(self):
        self.fails(memscope.InputError, "there is nothing to plan with",
                   lambda: memscope.Config(use_static_profiling=False, use_empirical_fallback=False))
        self.assertEqual(memscope.Config(enable_tiling=False).techniques_without(), ["tile", "chunk"])
        self.assertEqual(memscope.Config(enable_checkpointing=False, enable_offloading=False).techniques_without(), ["checkpoint", "selective", "offload"])

    def test_dicts(self):
        from memscope._config import config_of
        self.assertEqual(config_of({"warmup_steps": 7}).warmup_steps, 7)
        self.assertEqual(config_of(None), memscope.Config())
        self.fails(memscope.InputError, "Config has no field 'warmup'; it has mode, ", lambda: config_of({"warmup": 7}))
        self.fails(memscope.InputError, "config: found a int", lambda: config_of(3))


class Deciding(support.Case):
    def test_plans(self):
        plan = memscope.plan("gpt2", device="rtx-4090", batch=64, quiet=True)
        with support.folder() as folder:
            plan.save(folder / "plan.json")
            for one in (plan, plan.to_dict(), folder / "plan.json", str(folder / "plan.json")):
                found = _decision.given(one, 12)
                self.assertEqual((found.treat, found.predicted.peak_bytes), (plan.treat, plan.peak_memory_bytes))
                self.assertEqual(found.untreated.peak_bytes, plan.keep_all.peak_memory_bytes)
            (folder / "broken.json").write_text("{")
            self.fails(memscope.InputError, "broken.json: it is not JSON", lambda: _decision.given(folder / "broken.json", 12))
            (folder / "list.json").write_text("[]")
            self.fails(memscope.InputError, "found no object, expected a plan", lambda: _decision.given(str(folder / "list.json"), 12))
        self.assertEqual(_decision.given("0=checkpoint", 12).treat, "0=checkpoint")
        deepspeed = memscope.plan("gpt2", device="h100-80gb", target="deepspeed", quiet=True)
        self.fails(memscope.InputError, "the plan is for deepspeed; wrap takes plans for pytorch, hf or free", lambda: _decision.given(deepspeed, 12))

    def test_hardware(self):
        found = memscope.hardware()
        self.assertGreater(found.host_bytes, 0)
        self.assertGreater(found.total_bytes, found.free_bytes // 2)
        for row in memscope.devices():
            if row.compute_capability and row.total_bytes and row.multiprocessors:
                title = "X PCIe" if "pcie" in row.name else "X"
                same = _hardware.device_like(title, row.compute_capability, row.multiprocessors, row.total_bytes)
                self.assertEqual(same.total_bytes, row.total_bytes, row.name)
        self.assertIsNone(_hardware.device_like("X", 90, 1, 1 << 30))


class Undoing(support.Case):
    def test_attributes_and_dicts(self):
        class Thing:
            pass
        thing = Thing()
        thing.kept, thing.changed, thing.hooks = 1, 2, {"a": 1}
        before = {**vars(thing), "hooks": dict(thing.hooks)}
        changes = _changes.Changes([thing])
        thing.changed, thing.new = 3, 4
        thing.hooks["b"] = 2
        changes.end()
        thing.later = 5
        changes.undo()
        self.assertEqual(vars(thing), {**before, "later": 5})
        changes.undo()
        self.assertEqual(vars(thing), {**before, "later": 5})

    def test_what_others_set_stays(self):
        class Thing:
            pass
        thing = Thing()
        changes = _changes.Changes([thing])
        thing.a = 1
        changes.end()
        thing.a = 2
        changes.undo()
        self.assertEqual(thing.a, 2)


class WithoutTorch(support.Case):
    def test_one_sentence(self):
        for call in ("wrap(1)", "detach(1)", "optimize(1).__enter__()", "offload(0.5)", "stream(1)"):
            done = subprocess.run([sys.executable, "-c", f"import sys; sys.modules['torch'] = None\nimport memscope; memscope.{call}"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.stderr.splitlines()[-1], f"memscope.InputError: {call.partition('(')[0]} needs PyTorch, which this Python does not have")

    def test_importing_imports_none_of_it(self):
        code = "import memscope, sys; print(sorted(n for n in sys.modules if n.startswith(('torch', 'memscope.pytorch', 'memscope._wrap'))))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")


if __name__ == "__main__":
    support.main()
