# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of runtime_report.json that are made from a replayed step."""
import re
from collections import defaultdict

CATEGORIES = ("weight", "buffer", "gradient", "optimizer_state", "input", "activation", "temporary")
MOST_ALLOCATIONS = 40
STRETCHES = 500


def peak(replay, phase, peak_bytes):
    """What is alive at the most; categories, and allocations with the others, sum to `peak_bytes`."""
    alive = replay.alive(replay.top_at)
    found = defaultdict(lambda: [0, 0])
    for block in alive:
        _count(found[block.category], block)
    rows = [{"category": name, "count": count, "bytes": size} for name, (count, size) in sorted(found.items(), key=lambda row: -row[1][1])]
    rounding = peak_bytes - replay.timeline[replay.top_at]  # ends of blocks that were too small to be split off
    if rounding:
        rows.append({"category": "rounding", "count": 0, "bytes": rounding})
    last = replay.order[replay.top_at - 1][0] if replay.top_at else None
    out = {"bytes": peak_bytes, "phase": phase["phase"], "micro_step": phase["micro_step"], "event": replay.top_at,
           "module": last.module if last else "", **_line(last.line if last else ("", 0, "")), "categories": rows}
    listed, others = _allocations(alive)
    out["allocations"], out["other_allocations"] = listed, {"count": others[0], "bytes": others[1] + rounding}
    return out


def _count(row, block):
    row[0] += 1
    row[1] += block.bytes


def _line(line):
    return {"file": line[0], "line": line[1], "function": line[2]}


def _allocations(alive):
    """The largest, with those of equal layers as one."""
    found = defaultdict(lambda: [0, 0])
    for block in alive:
        _count(found[block.category, re.sub(r"(?<=\.)\d+(?=\.|$)", "*", block.module), block.line], block)
    rows = sorted(found.items(), key=lambda row: (-row[1][1], row[0]))
    listed = [{"category": category, "module": module, **_line(line), "count": count, "bytes": size}
              for (category, module, line), (count, size) in rows[:MOST_ALLOCATIONS]]
    return listed, [sum(count for _, (count, _) in rows[MOST_ALLOCATIONS:]), sum(size for _, (_, size) in rows[MOST_ALLOCATIONS:])]


def modules(replay, classes):
    """By module, without those in it, in the model's order; the first row is what no module asked for."""
    rows = {path: dict.fromkeys((*CATEGORIES, "saved", "most_temporary"), 0) for path in ["", *classes]}
    for block in replay.alive(replay.top_at):
        rows.setdefault(block.module, dict.fromkeys((*CATEGORIES, "saved", "most_temporary"), 0))[block.category] += block.bytes
    for block in replay.saved():
        if block.module in rows:
            rows[block.module]["saved"] += block.bytes
    for path, most in _most_temporary(replay).items():
        if path in rows:
            rows[path]["most_temporary"] = most
    return [{"module": path, "class": classes.get(path, ""), "peak_bytes": sum(row[name] for name in CATEGORIES),
             **{name + "_bytes": row[name] for name in (*CATEGORIES, "saved", "most_temporary")}}
            for path, row in rows.items() if any(row.values())]


def _most_temporary(replay):
    """By module: the most bytes of temporaries alive at one time."""
    used, most = defaultdict(int), defaultdict(int)
    for block, is_new in replay.order:
        if block and block.category == "temporary":
            used[block.module] += block.bytes if is_new else -block.bytes
            most[block.module] = max(most[block.module], used[block.module])
    return most


def timeline(replay, phase_at):
    """The lowest and the highest point of each stretch."""
    points, length = set(), max(1, -(-len(replay.timeline) // STRETCHES))
    for begin in range(0, len(replay.timeline), length):
        stretch = range(begin, min(begin + length, len(replay.timeline)))
        points |= {min(stretch, key=replay.timeline.__getitem__), max(stretch, key=replay.timeline.__getitem__)}
    points |= {0, replay.top_at, len(replay.timeline) - 1}
    return [{"event": event, "phase": phase_at(event), "bytes": replay.timeline[event]} for event in sorted(points)]


def events(replay, phase_at):
    """A line for each event: number, + or -, bytes asked for, bytes asked for since the step began, tensor, line, phase, module."""
    numbers, asked = {}, 0
    for index, (block, is_new) in enumerate(replay.order):
        if block is None:
            continue
        asked += block.asked if is_new else -block.asked
        if is_new:
            numbers[block] = len(numbers) + 1
            where = f"{block.line[0]}:{block.line[1]}".replace(" ", "_") if block.line[1] else "-"
            yield f"{index:6d} + {block.asked:12d} {asked:14d}  t{numbers[block]:<6d} {where:40s} {phase_at(index + 1):10s} {block.module}"
        else:
            number = numbers.get(block, "(before)")
            yield f"{index:6d} - {block.asked:12d} {asked:14d}  t{number}"
