#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The largest batch on each of some devices, with and without checkpoints."""
import sys

import memscope

model = sys.argv[1] if len(sys.argv) > 1 else "llama-3.1-8b"
print(f"{model:<16} {'as it is':>9} {'checkpoints':>12}")
for device in ("rtx-4090", "a100-40gb", "h100-80gb", "h200"):
    found = [memscope.fit(model, device=device, checkpointing=kind).safe_value for kind in ("none", "all")]
    print(f"{device:<16} {found[0]:>9} {found[1]:>12}")
