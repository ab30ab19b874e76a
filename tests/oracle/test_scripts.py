#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison itself, on figures made by hand: what differs must be seen, and only that."""
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import compare_events  # noqa: E402
import oracle  # noqa: E402
import published_peaks  # noqa: E402
import published_ranks  # noqa: E402
from rules import OUTSIDE, adapter_of, command_of, source_of  # noqa: E402

MEASURED = {"parameters": 10, "saved_bytes": 70,
            "phases": [{"phase": "forward", "peak_bytes": 40, "end_bytes": 30},
                       {"phase": "backward", "peak_bytes": 50, "end_bytes": 0}]}


def report(**changes):
    phases = [{"phase": "forward", "start_bytes": 100, "peak_bytes": 140, "end_bytes": 130},
              {"phase": "backward", "start_bytes": 130, "peak_bytes": 150, "end_bytes": 100}]
    phases[1].update(changes)
    return {"summary": {"param_count": 10, "saved_bytes": 70}, "phases": phases}


def summary_of(*reports):
    results = []
    for r in reports:
        figures = {}
        for group, *row in oracle.figures_of(r, MEASURED):
            figures.setdefault(group, []).append(tuple(row))
        results.append({"figures": figures})
    return oracle.summarize(results)


class Figures(unittest.TestCase):
    def test_equal(self):
        summary = summary_of(report())
        self.assertEqual(summary["phases"]["exact"], 1)
        self.assertIsNone(oracle.check("phases", "exact=1,within=0", summary))

    def test_one_byte_is_seen(self):
        summary = summary_of(report(), report(peak_bytes=151))
        self.assertEqual(summary["phases"]["exact"], 1)
        self.assertIsNotNone(oracle.check("phases", "exact=0.6", summary))
        self.assertIsNone(oracle.check("phases", "exact=0.5,within=0.02", summary))
        self.assertIsNotNone(oracle.check("phases", "within=0.01", summary))
        self.assertIsNone(oracle.check("phases", "within=0.01@0.5", summary))

    def test_missing_and_nonzero(self):
        missing = report()
        del missing["phases"][1]["peak_bytes"]
        for r in (missing, report(end_bytes=101)):
            self.assertEqual(summary_of(r)["phases"]["worst"], float("inf"))

    def test_group_without_cases(self):
        self.assertIsNotNone(oracle.check("reserved", "exact=0", summary_of(report())))

    def test_micro_steps(self):
        phases = [{"phase": p} for p in ("forward", "backward", "forward", "backward", "optimizer")]
        self.assertEqual(oracle.phase_names(phases),
                         ["forward[0]", "backward[0]", "forward[1]", "backward[1]", "optimizer"])


class Events(unittest.TestCase):
    def equal(self, ours, theirs):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, n) for n in ("ours", "theirs")]
            for path, events in zip(paths, (ours, theirs)):
                with open(path, "w") as f:
                    f.writelines("%6d %s %12d %14d  t1\n" % (i, e[0], int(e[1:]), 0) for i, e in enumerate(events))
            return compare_events.compare("hand-made", *paths)

    def test_order_sign_and_size_count(self):
        self.assertTrue(self.equal(["+8192", "-8192"], ["+8192", "+16", "-8192"]))
        self.assertFalse(self.equal(["+8192", "+9000"], ["+9000", "+8192"]))
        self.assertFalse(self.equal(["+8192"], ["-8192"]))
        self.assertFalse(self.equal(["+8192"], ["+8192", "-8192"]))
        self.assertFalse(self.equal([], []))


def published_row(**changes):
    row = {"id": "m1", "source": "litgpt:config_hub/x", "model": "meta-llama/Llama-2-7b-hf", "mode": "qlora", "framework": "litgpt",
           "dtype": "bf16-true/bnb.nf4", "optimizer": "torch.optim.AdamW", "micro_batch": "2", "seq": "512", "ckpt": "none",
           "world": "1", "gpu": "A10G-24GB", "metric": "allocated", "notes": "lora_r=32 targets=query,value"}
    return {**row, **changes}


class Published(unittest.TestCase):
    def reason(self, **changes):
        return next((title for title, holds in OUTSIDE if holds(published_row(**changes))), None)

    def command(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            return " ".join(command_of(published_row(**changes), "memscope", folder))

    def test_what_is_outside(self):
        self.assertIsNone(self.reason())
        self.assertIn("inference", self.reason(mode="infer"))
        self.assertIn("device", self.reason(world="4"))
        self.assertEqual(self.reason(notes="packed, compile"), "torch.compile")
        self.assertIn("sequence", self.reason(seq="alpaca"))
        self.assertIsNone(self.reason(seq="<=768"))
        self.assertIn("shapes", self.reason(model="somebody/unknown"))

    def test_command(self):
        self.assertIn("--config llama-2-7b --batch 2 --seq 512 --dtype bf16 --optimizer adamw", self.command())
        self.assertIn("--quantize nf4 ", self.command())
        self.assertIn("--quantize nf4:double ", self.command(dtype="bf16-true/bnb.nf4-dq"))
        self.assertNotIn("--upcast", self.command(mode="lora"))
        self.assertNotIn("--adapter", self.command(mode="train"))
        self.assertIn("--checkpointing all", self.command(ckpt="full"))

    def test_adapter(self):
        adapter = adapter_of(published_row(), source_of(published_row()))
        self.assertEqual((adapter["r"], adapter["target_modules"]), (32, ["q_proj", "v_proj"]))
        fused = published_row(model="tiiuae/falcon-7b")
        self.assertEqual(adapter_of(fused, source_of(fused))["target_modules"], ["query_key_value"])
        usual = published_row(source="litgpt:tutorials/resource-tables", notes="")
        self.assertEqual(adapter_of(usual, source_of(usual))["r"], 8)

    def test_refusals(self):
        reason = published_peaks.reason_of
        self.assertIn("adapter", reason("a.json:1:14: /peft_type: 'BOFT' is not supported; LORA and IA3 are"))
        self.assertIn("optimizer", reason("memscope: optimizer: found 'x', expected one of adamw"))
        self.assertEqual(reason("memscope: something else"), "refused: something else")


class PublishedRanks(unittest.TestCase):
    def row(self, **changes):
        return {**next(r for r in published_ranks.read_rows() if r["id"] == "g0411"), **changes}

    def reason(self, **changes):
        return next((title for title, holds in published_ranks.rules.OUTSIDE if holds(self.row(**changes))), None)

    def test_what_is_outside(self):
        self.assertIsNone(self.reason())
        self.assertEqual(self.reason(strategy="Megatron-Core"), "Megatron")
        self.assertEqual(self.reason(extras="compile inductor"), "torch.compile")
        self.assertIsNone(self.reason(extras="compile eager"))
        self.assertIn("sequence", self.reason(seq="<=4096"))
        self.assertIn("requirement", self.reason(status="CAPACITY (requirement, not a reading)"))

    def test_command(self):
        text = " ".join(published_ranks.rules.command_of(self.row(), "memscope", "."))
        self.assertIn("--config mistral-7b-v0.1 --parallel fsdp1=4 --batch 4 --seq 4096", text)
        self.assertIn("--dtype fp32 --load-dtype bf16 --autocast bf16 --param-dtype bf16", text)

    def test_figures(self):
        self.assertEqual(published_ranks.published_of(self.row(value="3", unit="MiB")), 3 * 2**20)
        self.assertIsNone(published_ranks.published_of(self.row(status="OOM")))
        self.assertEqual(published_ranks.reason_of("memscope: parallel: FSDP1 is not predicted with an adapter"), "an adapter with FSDP1")


if __name__ == "__main__":
    done = unittest.main(exit=False, argv=sys.argv[:1]).result
    bad = len(done.failures) + len(done.errors)
    print("%d passed, %d failed" % (done.testsRun - bad, bad))
    sys.exit(bad > 0)
