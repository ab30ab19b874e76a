#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a benchmark script of Liger-Kernel as it is, but for what it goes through: memory alone, and the implementations named.

usage: liger.py SCRIPT PROVIDER[,PROVIDER...] [--with JSON] [--before GIB]

--with changes settings that the script has for its own. --before takes so much and gives it back first, as a process has done that
measured something larger before. Prints a line of JSON for each row that the script would have written to its table. Liger's own
kernels are not among what can run without a GPU, and times mean nothing there.
"""
import argparse
import json
import os
import runpy
import sys


def rows_of(utils, providers, changes):
    def run_benchmarks(bench_test_fn, kernel_name, metric_name, x_values, kernel_providers, kernel_operation_modes, extra_benchmark_configs, **_):
        if metric_name != "memory":
            return
        for config in ({**config, **changes} for config in extra_benchmark_configs):
            for mode in kernel_operation_modes:
                for provider in (name for name in kernel_providers if name in providers):
                    for x in x_values:
                        found = bench_test_fn(utils.SingleBenchmarkRunInput(x, provider, mode, config))
                        print(json.dumps({"kernel": kernel_name, "mode": mode, "x": x, "mib": found.y_50,
                                          "config": json.loads(json.dumps(config, cls=utils.CustomEncoder))}), flush=True)
    return run_benchmarks


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("script", type=os.path.abspath)
    parser.add_argument("providers", type=lambda text: text.split(","))
    parser.add_argument("--with", dest="changes", type=json.loads, default={})
    parser.add_argument("--before", type=int, default=0)
    asked = parser.parse_args()
    import torch
    torch.empty(asked.before << 30, dtype=torch.uint8, device="cuda")
    sys.path.insert(0, os.path.dirname(asked.script))
    import utils
    utils.run_benchmarks = rows_of(utils, asked.providers, asked.changes)
    sys.argv = [asked.script]
    runpy.run_path(asked.script, run_name="__main__")


if __name__ == "__main__":
    main()
