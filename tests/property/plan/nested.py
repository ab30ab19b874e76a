# SPDX-License-Identifier: GPL-3.0-or-later
"""Small random trees of modules, many of whose parts are alike, and the least recomputation of any plan for them.

All sets of modules are tried of which none lies inside of another. Within a set the fractions are a linear problem: what
the first rows need is bought first, always from the piece of a curve that is cheapest there and helps the row.
"""
import math
import random

import siblings

MOST_SETS = 20000


def _figures(rng):
    """What a kind of module keeps, makes and takes, and the curve of recomputation."""
    saved = rng.choice([0, rng.randrange(1, 50), rng.randrange(1 << 20, 1 << 26)])
    made = saved + rng.choice([0, rng.randrange(saved + 1)])
    kind = rng.randrange(4)
    split, low = rng.uniform(0.3, 0.9), rng.uniform(0.0, 0.3)
    slopes = [low / split, (1 - low) / (1 - split)]
    curve = [([1.0], [0.0]), (slopes, [0.0, 1 - slopes[1]]), ([1.0], [rng.uniform(0, 0.4)]),
             ([slopes[0], slopes[1], 2 * slopes[1]], [0.0, 1 - slopes[1], 1 - 1.8 * slopes[1]])][kind]
    return {"act_fw_per_module": saved, "sac_memory": made, "sac_runtime": rng.choice([0.0, 1.0, rng.uniform(0.01, 3)]),
            "slopes": curve[0], "intercepts": curve[1]}


def _shape(rng, depth):
    """A kind of subtree: figures, whether it is a leaf, and the subtrees inside."""
    inside = [_shape(rng, depth - 1) for _ in range(rng.randrange(1, 4))] if depth > 0 and rng.random() < 0.7 else []
    if inside and rng.random() < 0.4:
        inside = [inside[0]] * len(inside)
    return _figures(rng), rng.random() < 0.15, inside


def tree(seed):
    """Module info of some 4 to 20 modules: a root that cannot be checkpointed, and subtrees of two or three kinds."""
    rng = random.Random(seed)
    kinds = [_shape(rng, rng.randrange(3)) for _ in range(rng.randrange(1, 4))]
    stats, level = [], 0

    def enter(shape, name):
        nonlocal level
        figures, is_leaf, inside = shape
        stat = figures | {"fqn": name, "param_per_module": 0, "grad_total": 0, "is_leaf": is_leaf,
                          "act_grad_per_module": rng.choice([0, rng.randrange(1 << 22)]), "act_total": 0}
        stats.append(stat)
        before = level
        for i, inner in enumerate(inside):
            if len(stats) < 20:
                enter(inner, f"{name}.{i}")
        level = max(level, before + figures["act_fw_per_module"]) + rng.choice([0, 1 << 16])
        stat["act_total"] = level + rng.choice([0, 0, rng.randrange(1 << 25)])

    for i in range(rng.randrange(2, 7)):
        enter(rng.choice(kinds), f"M.{i}")
    stats.insert(0, _figures(rng) | {"fqn": "M", "param_per_module": rng.randrange(1 << 20), "grad_total": 0, "is_leaf": True,
                                     "act_grad_per_module": 0, "act_total": level})
    return siblings.with_orders(stats)


def _pieces(stat):
    """The ms for which nothing is freed, and the pieces from there, as (ms per byte, bytes). Whole bytes are freed."""
    made, saved = max(stat["sac_memory"], stat["act_fw_per_module"]), stat["act_fw_per_module"]
    lines = list(zip(stat["slopes"], stat["intercepts"])) + [(0.0, 0.0)]

    def ms(freed):
        at = (made - saved + freed) / made
        return stat["sac_runtime"] * max(slope * at + intercept for slope, intercept in lines)

    corners = {0, saved}
    for slope, intercept in lines:
        for other, start in lines:
            if slope != other:
                freed = made * (start - intercept) / (slope - other) - (made - saved)
                corners |= {whole for whole in (math.floor(freed), math.ceil(freed)) if 0 < whole < saved}
    corners = sorted(corners)
    return ms(0), [((ms(b) - ms(a)) / (b - a), b - a) for a, b in zip(corners, corners[1:])]


def _sets(stats, names):
    """All sets of modules that may be checkpointed, none inside of another."""
    def of(first, end):
        if first == end:
            yield ()
            return
        after = next((i for i in range(first + 1, end) if not names[i].startswith(names[first] + ".")), end)
        stat = stats[names[first]]
        for rest in of(after, end):
            for inner in of(first + 1, after):
                yield inner + rest
            if not stat["is_leaf"] and stat["act_fw_per_module"] > 0:
                yield (names[first],) + rest

    return of(0, len(names))


def least_ms(info, budget):
    """The least recomputation of any plan within the budget, None if there is none; for at most MOST_SETS sets, else ...."""
    stats, order = {m["fqn"]: m for m in info["mod_stats"]}, info["mod_order"]
    root = stats[order["fw_pre_order"][0]]["param_per_module"]
    needs = [stats[n]["act_total"] + stats[n]["act_grad_per_module"] + root + stats[n]["grad_total"] - budget
             for n in order["fw_post_order"]]
    curves = {n: _pieces(m) for n, m in stats.items() if m["act_fw_per_module"] > 0}
    best = None
    for number, chosen in enumerate(_sets(stats, order["fw_pre_order"])):
        if number == MOST_SETS:
            return ...
        ms = _fill(needs, [(order["fw_post_order"].index(n), curves[n]) for n in chosen], best)
        best = ms if ms is not None and (best is None or ms < best) else best
    return best


def _fill(needs, chosen, best):
    ms = sum(curve[0] for _, curve in chosen)
    if best is not None and ms >= best:
        return None
    pieces = sorted([slope, at, size] for at, curve in chosen for slope, size in curve[1])
    freed = 0
    for at, need in enumerate(needs):
        for piece in pieces:
            if need <= freed:
                break
            if piece[1] < at:
                taken = min(piece[2], need - freed)
                piece[2] -= taken
                freed += taken
                ms += piece[0] * taken
        if need > freed:
            return None
    return ms
