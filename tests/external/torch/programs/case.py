# SPDX-License-Identifier: GPL-3.0-or-later
"""case.py CASES.json ID: the loop of measure_step.py for one case, without its measuring."""
import contextlib
import gc
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "oracle"))
import measure_step
import transformers.masking_utils  # before a device is chosen, as there: with torch 2.6 it brings torch._dynamo, which makes tensors where it is imported

cases = json.load(open(sys.argv[1]))
case = next(c for c in (cases["cases"] if isinstance(cases, dict) else cases) if c["id"] == sys.argv[2])
step = measure_step.Step(case, "cuda")
for number in range(100):
    if number == 2:
        gc.collect()
    step.run(lambda name: contextlib.nullcontext())
