#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The longest sequence that fits each device: rows of a sweep, taken as they are computed."""
import memscope

devices = ["rtx-3090", "rtx-4090", "a100-40gb"]
rows = memscope.sweep("llama-3.2-1b", device=devices, checkpointing=["none", "all"], fit="seq")
print(f"{'device':<12} {'checkpointing':<14} longest sequence")
for row in rows:
    print(f"{row.device:<12} {row.checkpointing:<14} {row.error or row.safe_value}")
