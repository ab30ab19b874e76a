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


if __name__ == "__main__":
    done = unittest.main(exit=False, argv=sys.argv[:1]).result
    bad = len(done.failures) + len(done.errors)
    print("%d passed, %d failed" % (done.testsRun - bad, bad))
    sys.exit(bad > 0)
