#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a step of this model fit? Prints the report, and writes the page with pictures."""
import sys

import memscope

model = sys.argv[1] if len(sys.argv) > 1 else "llama-3.1-8b"
report = memscope.analyze(model, device="h100-80gb", batch=1, seq=4096)
print(report)
report.save("report.html")
sys.exit(not report.fits)
