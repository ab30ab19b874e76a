#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Misuse ends in one sentence, of the class of its exit status, and leaves no file behind."""
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import time

import support
from support import memscope

CONFIG = json.loads((support.TOP / "configs/gpt2.json").read_text())
LOOP = {}
LOOP["self"] = LOOP

# What is called, and what the sentence has.
ROWS = [
    (lambda: memscope.analyze(), "config"),
    (lambda: memscope.analyze(3), "cannot read a config from a int"),
    (lambda: memscope.analyze(object()), "cannot read a config from a object"),
    (lambda: memscope.analyze(dict), "cannot read a config from a type"),
    (lambda: memscope.analyze("gpt2", "gpt2"), "two configs given: gpt2 and gpt2"),
    (lambda: memscope.analyze(CONFIG, config="gpt2"), "two configs given: a dict and gpt2"),
    (lambda: memscope.analyze("gtp2"), "did you mean 'gpt2'?"),
    (lambda: memscope.analyze("gpt2", batc=2), "did you mean 'batch'?"),
    (lambda: memscope.analyze("gpt2", batch="x"), "expected a whole number"),
    (lambda: memscope.analyze("gpt2", batch=-1), "expected a whole number"),
    (lambda: memscope.analyze("gpt2", batch=2**70), "expected a whole number"),
    (lambda: memscope.analyze("gpt2", batch=True), "found 'yes'"),
    (lambda: memscope.analyze("gpt2", batch=object()), "batch: found a object"),
    (lambda: memscope.analyze("gpt2", weight_decay=float("nan")), "weight-decay: found 'nan'"),
    (lambda: memscope.analyze("gpt2", torch_compile=True), "torch.compile is not supported"),
    (lambda: memscope.analyze("gpt2", device="h100\0"), "zero byte"),
    (lambda: memscope.analyze("gpt2", **{"no\0such": 1}), "zero byte"),
    (lambda: memscope.analyze("gpt2", format="pdf"), "no format 'pdf' (console, json"),
    (lambda: memscope.analyze("gpt2", color="red"), "color: no 'red'"),
    (lambda: memscope.analyze("gpt2", output="svg"), "output needs FORMAT=FILE"),
    (lambda: memscope.analyze("gpt2", check_with="x"), "--check-with: found 'x', expected capture"),
    (lambda: memscope.analyze("gpt2", plan=3), "plan: found a int, expected a path or a dict"),
    (lambda: memscope.analyze("gpt2", plan="/no/such"), "/no/such: "),
    (lambda: memscope.analyze({"model_type": "llama", "hidden_size": -3}), "<config>:1:40: /hidden_size: found -3"),
    (lambda: memscope.analyze(LOOP), "cannot be written as JSON"),
    (lambda: memscope.analyze("gpt2", training_args={"per_device_train_batch_size": "x"}), "<training-args>:1:"),
    (lambda: memscope.analyze("gpt2", optimizer=object()), "the optimizer object of builtins is not one"),
    (lambda: memscope.plan(), "nothing to plan"),
    (lambda: memscope.plan("gpt2", treat="0=checkpoint"), "treat: the plan decides this itself"),
    (lambda: memscope.plan("gpt2", planner="x"), "planner: found 'x'"),
    (lambda: memscope.plan(graph={"x": 1}, budget="1GiB"), "<graph>:1:"),
    (lambda: memscope.fit("gpt2", step=0), "step: found 0, expected"),
    (lambda: memscope.fit("gpt2", step=2**64), "expected a whole number above 0"),
    (lambda: memscope.fit("gpt2", what="depth"), "depth"),
    (lambda: memscope.sweep("gpt2", batch="1:"), "batch"),
    (lambda: memscope.sweep("gpt2", resume=True), "resume continues the file of file="),
    (lambda: memscope.sweep("gpt2", format="json"), "no format 'json' (csv, jsonl)"),
    (lambda: memscope.sweep([3]), "cannot read a config from a int"),
    (lambda: memscope.diff("gpt2", 3), "b: found a int, expected a path or a dict"),
    (lambda: memscope.diff("gpt2", {"model_type": "x"}), "<b>:1:16: /model_type: unknown model_type 'x'"),
    (lambda: memscope.compare("/no/such", "gpt2"), "/no/such: cannot open"),
    (lambda: memscope.compare({"x": 1}, {"x": 1}), "<first>"),
    (lambda: memscope.compare("a", "b", batch=1), "compare has no keyword batch"),
    (lambda: memscope.check("/no/such"), "/no/such: cannot open"),
    (lambda: memscope.check({"budgets": []}, jobs=1000), "jobs: found 1000"),
    (lambda: memscope.check({"budgets": []}, warn=True), "check has no keyword warn"),
    (lambda: memscope.calibrate(), "no points were given"),
    (lambda: memscope.calibrate(("a",)), "a point is a path, or a pair"),
    (lambda: memscope.calibrate("/no/such"), "/no/static_report.json: cannot open"),
    (lambda: memscope.capture("python train.py"), "capture takes a function, or a command as a list"),
    (lambda: memscope.capture([]), "capture takes a function"),
    (lambda: memscope.capture(lambda: 1), "<lambda> cannot be called by another process"),
    (lambda: memscope.capture(["true"], device="h1"), "unknown device 'h1'"),
    (lambda: memscope.capture(["true"], stepz=1), "no option --stepz"),
    (lambda: memscope.capture(["/no/such"]), "cannot run /no/such"),
    (lambda: memscope.options("analyse"), "no command 'analyse' (analyze"),
    (lambda: memscope.schema("nothing"), "no schema 'nothing'"),
]


class Misuse(support.Case):
    def test_rows(self):
        with support.folder() as folder:
            before, tempfile.tempdir = tempfile.tempdir, str(folder)
            try:
                for number, (call, text) in enumerate(ROWS):
                    with self.subTest(number):
                        error = self.fails(memscope.InputError, text, call)
                        self.assertEqual((error.exit_status, isinstance(error, ValueError)), (2, True))
                        self.assertNotIn(str(folder), str(error))
            finally:
                tempfile.tempdir = before
            self.assertEqual(list(folder.iterdir()), [])

    def test_fields_of_an_error(self):
        with support.folder() as folder:
            (folder / "config.json").write_text('{"model_type": "llama",\n "hidden_size": -3}\n')
            error = self.fails(memscope.InputError, "", lambda: memscope.analyze(folder / "config.json"))
            self.assertEqual((error.file, error.line, error.column, error.pointer), (str(folder / "config.json"), 2, 17, "/hidden_size"))
            self.assertEqual(error.excerpt, '"hidden_size": -3}')
            self.assertEqual(error.status, "MS_ERR_CONFIG")
            self.assertEqual(error.text, "found -3, expected a whole number from 1 to 262144")
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), again.line), (type(error), str(error), 2))

    def test_a_failing_save_leaves_no_file(self):
        report = memscope.analyze("gpt2")
        with support.folder() as folder:
            (folder / "x.html").write_text("kept")
            self.fails(memscope.InputError, "no format", lambda: report.save(folder / "x.html", "pdf"))
            self.assertEqual([(p.name, p.read_text()) for p in folder.iterdir()], [("x.html", "kept")])
            (folder / "d").mkdir()
            with self.assertRaises(OSError):
                report.save(folder / "d")
            self.assertEqual(sorted(p.name for p in folder.iterdir()), ["d", "x.html"])

    def test_another_library_is_refused(self):
        for path, said in (("/no/such.so", "cannot load memscope's library"),):
            done = subprocess.run([sys.executable, "-c", "import memscope; memscope.models()"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "MEMSCOPE_LIBRARY": path})
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr.splitlines()[-1])


# ---- Ctrl-C ----

class Interrupts(support.Case):
    def test_a_plan_is_stopped_and_kept(self):
        begun = time.monotonic()
        with self.assertRaises(memscope.Stopped) as caught, support.interrupted_after(0.5):
            memscope.plan("llama-3.1-70b", device="h200", curve=True, points=200)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertIsInstance(caught.exception, KeyboardInterrupt)
        self.assertNotIsInstance(caught.exception, memscope.MemscopeError)
        self.assertEqual(caught.exception.exit_status, 130)
        self.assertTrue(str(caught.exception.plan))

    def test_a_fit_and_a_check_are_stopped(self):
        budgets = {"defaults": {"device": "b200", "limits": {"max": "1 TiB"}},
                   "budgets": [{"name": f"b{n}", "config": "llama-3.1-405b"} for n in range(400)]}
        for call in (lambda: memscope.fit("llama-3.1-405b", device="b300", what="seq", step=1, lora="r=8", quantize="nf4"),
                     lambda: memscope.check(budgets, jobs=1, no_plans=True)):
            begun = time.monotonic()
            with self.assertRaises(memscope.Stopped) as caught, support.interrupted_after(0.3):
                call()
            self.assertLess(time.monotonic() - begun, 5)
            self.assertEqual((str(caught.exception), caught.exception.exit_status), ("stopped", 130))

    def test_progress(self):
        seen = []
        with memscope.progress(seen.append):
            self.assertTrue(memscope.plan("llama-3.2-1b", device="rtx-4090", batch=4, quiet=True).fits)
        self.assertEqual(seen, sorted(seen))
        self.assertGreater(seen[-1], 10)

        def enough(done):
            raise ZeroDivisionError
        for call in (lambda: memscope.plan("gpt2"), lambda: memscope.fit("gpt2")):
            with self.assertRaises(ZeroDivisionError), memscope.progress(enough):
                call()
        memscope.fit("gpt2")
        self.fails(memscope.InputError, "progress: found a int", lambda: memscope.progress(3).__enter__())

    def test_a_sweep_is_stopped(self):
        rows = memscope.sweep("llama-3.1-8b", batch=range(1, 1000), seq=[512, 1024, 2048, 4096, 8192])
        found = []
        with self.assertRaises(KeyboardInterrupt), support.interrupted_after(0.5):
            for row in rows:
                found.append(row)
        self.assertTrue(0 < len(found) < 5000)
        self.assertEqual(list(rows), [])

    def test_a_capture_is_stopped(self):
        begun = time.monotonic()
        with self.assertRaises(memscope.Stopped), support.interrupted_after(0.7):
            memscope.capture([sys.executable, "-S", "-c", "import time; time.sleep(30)"])
        self.assertLess(time.monotonic() - begun, 10)

    def test_other_threads_run_meanwhile(self):
        """In 0.4 s of planning another thread gets on, as the library does not hold the lock of Python."""
        import threading
        ticks, done = [], threading.Event()

        def tick():
            while not done.wait(0.005):
                ticks.append(1)
        thread = threading.Thread(target=tick)
        thread.start()
        begun = time.monotonic()
        while time.monotonic() - begun < 0.4:
            memscope.analyze("llama-3.1-8b")
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 8)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell began this in the background
    assert pathlib.Path(support.PROGRAM).exists()
    support.main()
