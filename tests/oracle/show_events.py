#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print an event file of `measure_step.py --events DIR --stacks` as text: one line per allocation or free.

usage: show_events.py EVENTS.json.gz
columns: number, + or -, bytes asked, bytes live since the step began (raw), tensor number, ATen operator, autograd node, Python frame
"""
import gzip, json, sys

live, number, tensor_of, size_of = 0, 0, {}, {}
for i, event in enumerate(json.load(gzip.open(sys.argv[1]))):
    action, size, address = event[:3]
    who = event[4] if len(event) > 4 else ["", "", []]
    if action == "alloc":
        number += 1
        tensor_of[address], size_of[address] = number, size
        live += size
        print(f"{i:6d} + {size:12d} {live:14d}  t{number:<6d} {who[0]:28s} {who[1]:26s} {who[2][0] if who[2] else ''}")
    elif action == "free_requested":
        known = tensor_of.pop(address, 0)
        live -= size_of.pop(address, size)
        print(f"{i:6d} - {size:12d} {live:14d}  t{known or '(before)'}")
