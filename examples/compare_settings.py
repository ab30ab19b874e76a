#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one setting costs: two runs that differ in it, side by side."""
import sys

import memscope

option, values = (sys.argv[1], sys.argv[2:4]) if len(sys.argv) > 3 else ("checkpointing", ["none", "all"])
reports = [memscope.analyze("llama-3.2-1b", device="a100-40gb", batch=4, **{option: value}) for value in values]
print(f"{option:<20} {values[0]:>12} {values[1]:>12}")
for name in ("peak_memory_bytes", "reserved_memory_bytes", "expected_device_bytes"):
    print(f"{name[:-6]:<20}", *(f"{report.summary[name] / 2**30:>12.2f}" for report in reports), "GiB")
print(f"{'step':<20}", *(f"{report.summary.step_time_ms:>12.1f}" for report in reports), "ms")
