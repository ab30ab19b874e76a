#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the calls answer is what the command writes; answers as Python values."""
import gc
import html.parser
import json
import pathlib
import re
import threading

import support
from support import memscope

CONFIG = json.loads((support.TOP / "configs/gpt2.json").read_text())


class Report(support.Case):
    def test_fields(self):
        report = memscope.analyze("llama-3.1-8b", device="h100-80gb")
        said = json.loads(support.json_of("analyze", "llama-3.1-8b", "--device", "h100-80gb"))
        self.assertEqual(report.to_dict(), said)
        self.assertEqual(report.summary.peak_memory_bytes, report.peak_bytes)
        self.assertEqual(report.summary.reserved_memory_bytes, report.reserved_bytes)
        self.assertEqual(report.summary.expected_device_bytes, report.device_bytes)
        self.assertEqual(report.summary.verdict, report.verdict)
        self.assertIs(report.fits, True)
        self.assertEqual(report.device, "h100-80gb")
        self.assertEqual(report.peak.categories[0].category, said["peak"]["categories"][0]["category"])
        self.assertLessEqual(set(said), set(dir(report)))
        with self.assertRaisesRegex(AttributeError, "has no field pek; it has schema_version, summary"):
            _ = report.pek
        self.assertIs(memscope.analyze("llama-3.1-8b", device="rtx-4090").fits, False)

    def test_texts_of_all_formats(self):
        report = memscope.analyze("gpt2", seq=64)
        for name in report.formats():
            said = support.said_by("analyze", "gpt2", "--seq=64", "--format", name, "-o", "-")
            self.assertEqual(report.write(name), said, name)
        self.assertEqual(str(report), support.said_by("analyze", "gpt2", "--seq=64", "-o", "-").decode().rstrip("\n"))
        self.assertIn("Over the step", report.text(chart=True))
        self.assertIn("\u2588", report.text(unicode=True))
        self.assertGreater(max(map(len, report.text(columns=120).splitlines())), 80)
        self.assertEqual(repr(report).count("\n"), 0)
        self.assertTrue(report.events().splitlines())

    def test_files(self):
        report = memscope.analyze("gpt2", seq=64)
        with support.folder() as folder:
            for name, format in (("x.html", "html"), ("x.svg", "svg"), ("x.json", "json"), ("x", "console"), ("x.txt", "console")):
                report.save(folder / name)
                self.assertEqual((folder / name).read_bytes(), report.write(format), name)
            report.save(folder / "y.txt", "md")
            self.assertEqual((folder / "y.txt").read_bytes(), report.write("md"))
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["x", "x.html", "x.json", "x.svg", "x.txt", "y.txt"])
            (folder / "config.json").write_text(json.dumps(CONFIG))
            own = memscope.analyze(folder / "config.json")
            (folder / "link.json").symlink_to("config.json")
            for name in ("config.json", "link.json"):
                self.fails(memscope.InputError, "was read in this call", lambda: own.save(folder / name))  # noqa: B023
            self.assertEqual(json.loads((folder / "config.json").read_text()), CONFIG)
        with self.assertRaises(OSError):
            report.save("/no/such/folder/x.html")

    def test_equality_and_difference(self):
        report, same, other = (memscope.analyze("gpt2", batch=batch) for batch in (1, 1, 2))
        self.assertTrue(report == same and hash(report) == hash(same) and report != other and report != 3)
        change = other - report
        self.assertFalse(change.same)
        self.assertTrue((same - report).same)
        with support.folder() as folder:
            report.save(folder / "a.json")
            other.save(folder / "b.json")
            said = json.loads(support.json_of("diff", folder / "a.json", folder / "b.json"))
            for side in ("a", "b"):
                said[side]["name"] = side
            self.assertEqual(change.to_dict(), said)
        self.assertNotIn("/memscope-", str(change) + change.write("json").decode())
        with self.assertRaises(TypeError):
            _ = report - 3

    def test_in_a_notebook(self):
        report = memscope.analyze("gpt2", device="h100-80gb")
        text = report._repr_html_()
        self.assertIn(f"fits: {report.device_bytes / 2**30:.2f} of", text)
        self.assertEqual(re.findall(r"(?:src|href)=\"(?!data:)", text), [])
        self.assertNotRegex(text, r"<script|<style| id=| class=| on[a-z]+=")
        self.assertGreaterEqual(text.count("<table"), 2)
        opened = []

        class Tags(html.parser.HTMLParser):
            def handle_starttag(self, tag, _):
                if tag not in ("br", "img", "col"):
                    opened.append(tag)

            def handle_endtag(self, tag):
                assert opened.pop() == tag
        Tags().feed(text)
        self.assertEqual(opened, [])

    def test_a_hostile_name_in_a_notebook(self):
        with support.folder() as folder:
            path = folder / '<img src=x onerror=alert(1)>"&.json'
            path.write_text(json.dumps(CONFIG))
            text = memscope.analyze(path, device="t4", dtype="fp16", batch=64)._repr_html_()
        self.assertEqual(text.count("<img"), 1)
        self.assertIn("&lt;img src=x onerror=alert(1)&gt;&quot;&amp;", text)
        self.assertIn("does not fit", text)

    def test_threads(self):
        reports, expected = [], [memscope.analyze("gpt2", batch=batch).peak_bytes for batch in range(1, 9)]
        threads = [threading.Thread(target=lambda b=b: reports.append((b, memscope.analyze("gpt2", batch=b).peak_bytes))) for b in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([peak for _, peak in sorted(reports)], expected)
        report, texts = memscope.analyze("gpt2"), []
        threads = [threading.Thread(target=lambda: texts.append(report.write("json"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(texts)), 1)

    def test_files_are_read_together(self):
        launcher = {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 3}, "num_processes": 4}
        settings = {"per_device_train_batch_size": 2, "bf16": True, "max_length": 512}
        report = memscope.analyze("llama-3.2-1b", training_args=[launcher, settings], device="l4")
        self.assertEqual((report.metadata.batch, report.metadata.seq), (2, 512))
        self.assertIn(b"zero=3,dp=4", report.write("console"))

    def test_notes_are_warnings(self):
        with self.assertWarns(memscope.Note) as caught:
            memscope.analyze({**CONFIG, "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "torch_dtype": "float32"}, training_args={
                "per_device_train_batch_size": 1, "some_setting": 1, "push_to_hub": True, "deepspeed": None, "max_steps": 3, "torch_compile": True})
        self.assertEqual(pathlib.Path(caught.filename).name, "check_calls.py")


class Others(support.Case):
    def test_plan_applied(self):
        plan = memscope.plan("llama-3.2-1b", device="rtx-4090", batch=4)
        self.assertTrue(plan.fits)
        planned = memscope.analyze("llama-3.2-1b", device="rtx-4090", batch=4, plan=plan)
        self.assertEqual((planned.peak_bytes, planned.verdict), (plan.peak_memory_bytes, plan.verdict))
        self.assertEqual(planned.metadata.treat, plan.treat)
        with support.folder() as folder:
            plan.save(folder / "plan.json")
            self.assertEqual(memscope.analyze("llama-3.2-1b", device="rtx-4090", batch=4, plan=folder / "plan.json"), planned)
            self.assertEqual(plan.formats(), ("console", "json", "md", "csv", "svg", "html"))

    def test_nothing_fits(self):
        error = self.fails(memscope.InfeasibleError, "no combination", lambda: memscope.plan("llama-3.1-8b", device="rtx-4090"))
        self.assertEqual((error.exit_status, error.status), (3, "MS_ERR_INFEASIBLE"))
        self.assertIn("does not fit", str(error.plan))
        found = memscope.fit("llama-3.1-8b", device="rtx-4090")
        self.assertEqual((found.value, found.safe_value), (0, 0))

    def test_fit(self):
        found = memscope.fit("llama-3.2-1b", device="rtx-4090", checkpointing="all")
        self.assertTrue(memscope.analyze("llama-3.2-1b", device="rtx-4090", checkpointing="all", batch=found.value).fits)
        self.assertFalse(memscope.analyze("llama-3.2-1b", device="rtx-4090", checkpointing="all", batch=found.value + 1).fits)
        self.assertLessEqual(found.safe_value, found.value)
        self.assertIn("batch", str(found))

    def test_sweep(self):
        rows = memscope.sweep(["gpt2", CONFIG, "no-such"], batch=range(1, 4), seq="64:256:*2", jobs=2)
        self.assertEqual((rows.total, rows.done), (27, 0))
        found = list(rows)
        self.assertEqual((rows.done, rows.errors, len(found)), (27, 9, 27))
        self.assertEqual([row.peak_memory_bytes for row in found[:9]], [row.peak_memory_bytes for row in found[9:18]])
        self.assertEqual(found[4].peak_memory_bytes, memscope.analyze("gpt2", batch=2, seq=128).peak_bytes)
        self.assertIn("no-such", found[20].error)
        self.assertEqual(list(rows), [])

    def test_sweep_ends_early(self):
        before = threading.active_count()
        rows = memscope.sweep("gpt2", batch=range(1, 10000))
        self.assertEqual(next(rows).batch, 1)
        del rows
        gc.collect()
        self.assertEqual(threading.active_count(), before)
        with memscope.sweep("gpt2", batch=range(1, 10000)) as rows:
            next(rows)
        self.assertEqual((list(rows), threading.active_count()), ([], before))

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        table = memscope.sweep("gpt2", batch=[1, 2]).to_pandas()
        self.assertEqual(list(table.batch), [1, 2])
        self.assertEqual(list(table.peak_memory_bytes), [memscope.analyze("gpt2", batch=b).peak_bytes for b in (1, 2)])

    def test_diff_of_configs(self):
        made = memscope.diff("gpt2", {**CONFIG, "n_layer": 6}, batch=2)
        self.assertFalse(made.same)
        self.assertIn("n_layer", str(made))
        self.assertEqual(memscope.diff("gpt2", CONFIG, batch=2).a.name, "gpt2")

    def test_compare(self):
        a, b = memscope.analyze("gpt2"), memscope.analyze("gpt2", batch=2)
        made = memscope.compare(a, b)
        with support.folder() as folder:
            a.save(folder / "first.json")
            b.save(folder / "second.json")
            said = json.loads(support.said_by("compare", folder / "first.json", folder / "second.json", "--format=json"))
        self.assertEqual(made.to_dict()["totals"], said["totals"])
        self.assertNotIn("/memscope-", made.write("json").decode() + str(made))

    def test_check(self):
        budgets = {"version": 1, "budgets": [{"name": "small", "config": "gpt2", "limits": {"peak_memory_bytes": "1GiB"}}]}
        found = support.TOP / "tests/golden/cli/check/require/files/memscope.budgets.json"
        with support.folder() as folder:
            (folder / "x.json").write_bytes(found.read_bytes())
            done = support.said_by("check", "--budgets", folder / "x.json", "--format=json", "-o", "-", "--quiet", codes=(0, 1, 2, 3))
            made = memscope.check(folder / "x.json", quiet=True)
            self.assertEqual(made.write("json"), done)
            self.assertEqual(made.passed, made.exit_code == 0)
        self.fails(memscope.InputError, "<budgets>", lambda: memscope.check({**budgets, "x": 1}))

    def test_calibrate(self):
        table = support.TOP / "tests/golden/cli/calibrate/calibrate/files/points.csv"
        made = memscope.calibrate(table)
        self.assertEqual(made.write("json"), support.said_by("calibrate", table, "--format=json", "-o", "-", "-q"))
        report = memscope.analyze("gpt2", device=made.device, calibration=made)
        with support.folder() as folder:
            made.save(folder / "calibration.json")
            self.assertEqual(memscope.analyze("gpt2", device=made.device, calibration=folder / "calibration.json"), report)

    def test_capture_of_what_is_no_torch(self):
        error = self.fails(memscope.InputError, "found no Python process of true", lambda: memscope.capture(["true"]))
        self.assertEqual(error.exit_status, 2)
        self.assertFalse(hasattr(error, "capture"))

    def test_tables(self):
        table = support.said_by("models", columns=200).decode().splitlines()[1:]
        self.assertEqual(memscope.models(), [line.split()[0] for line in table])
        table = support.said_by("devices", columns=200).decode().split("\n\n")[0].splitlines()[2:]
        devices = memscope.devices()
        self.assertEqual([(d.name, d.title) for d in devices], [(line.split()[0], line.rstrip()[-len(d.title):]) for line, d in zip(table, devices)])
        self.assertEqual(len(devices), len(table))
        h100 = next(d for d in devices if d.name == "h100-80gb")
        self.assertEqual((h100.compute_capability, h100.multiprocessors), (90, 132))


if __name__ == "__main__":
    support.main()
