#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans a step that does not fit, applies the plan to the prediction, and shows what changed."""
import sys

import memscope

model = sys.argv[1] if len(sys.argv) > 1 else "llama-3.2-1b"
run = {"device": "rtx-4090", "batch": 4}
before = memscope.analyze(model, **run)
print("as it is:", before.verdict)
try:
    plan = memscope.plan(model, **run)
except memscope.InfeasibleError as error:
    sys.exit(f"{error}\n{error.plan}")
after = memscope.analyze(model, **run, plan=plan)
print("planned: ", after.verdict)
print(plan.treat)
print(after - before)
