#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module trees with more layers than those of sac_instances.json, made of their layers.

    siblings.py NAME LAYERS [FILE]    e.g. siblings.py alternating-24-85 126

A sibling has the named instance's layers again and again. What depends on the place (act_total,
grad_total, the root's figures) is summed up anew, as it is in the instances.
"""
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load():
    """The instances by name."""
    with open(os.path.join(HERE, "sac_instances.json"), encoding="utf-8") as file:
        return {i["name"]: i for i in json.load(file)["instances"]}


def baseline_peak(info, world_size=1):
    """Bytes at the peak of the backward pass when nothing is discarded."""
    root = info["mod_stats"][0]["param_per_module"]
    return max(m["act_total"] + m["act_grad_per_module"] +
               -(-(root + m["grad_total"]) // world_size) for m in info["mod_stats"])


def layers_of(info):
    """The layers of an instance, each a list of its stats; the layer itself is the first."""
    stats = {m["fqn"]: m for m in info["mod_stats"]}
    tops = [f for f in info["mod_order"]["fw_pre_order"] if f.count(".") == 2]
    return [[m for f, m in stats.items() if f == top or f.startswith(top + ".")] for top in tops]


def stretch(info, count):
    """The module info with `count` layers."""
    kinds, stats = layers_of(info), {m["fqn"]: m for m in info["mod_stats"]}
    first, second, output, root = kinds[0][0], kinds[1][0], stats["Model.output"], stats["Model"]
    between = second["act_total"] - first["act_total"] - second["act_fw_per_module"]
    before = first["act_total"] - first["act_fw_per_module"] - between
    layers = [kinds[i % len(kinds)] for i in range(count)]
    params = sum(layer[0]["param_per_module"] for layer in layers) + root["param_per_module"] - \
        sum(kind[0]["param_per_module"] for kind in kinds)
    made, act_total, grads = [], before, params
    for i, layer in enumerate(layers):
        name = layer[0]["fqn"]
        act_total += layer[0]["act_fw_per_module"] + between
        grads -= layer[0]["param_per_module"]
        for m in layer:
            made.append(m | {"fqn": f"Model.layers.{i}" + m["fqn"][len(name):],
                             "act_total": act_total - (layer[0]["act_total"] - m["act_total"]),
                             "grad_total": grads + m["grad_total"] - layer[0]["grad_total"]})
    saved = act_total - before + root["act_fw_per_module"] - \
        sum(k[0]["act_fw_per_module"] + between for k in kinds)
    ms = sum(layer[0]["sac_runtime"] for layer in layers)
    last = act_total - kinds[-1][0]["act_total"]
    made.append(output | {"act_total": output["act_total"] + last})
    made.insert(0, root | {
        "param_per_module": params, "grad_per_module": params, "act_fw_per_module": saved,
        "act_total": root["act_total"] + last, "sac_runtime": ms, "fw_runtime_per_module": ms,
        "bw_runtime_per_module": 2 * ms, "sac_memory": saved + root["sac_memory"] -
        root["act_fw_per_module"]})
    return with_orders(made)


def with_orders(stats):
    """Module info of stats in the order of forward."""
    names, post, open_modules = [m["fqn"] for m in stats], [], []
    for name in names:
        while open_modules and not name.startswith(open_modules[-1] + "."):
            post.append(open_modules.pop())
        open_modules.append(name)
    post += reversed(open_modules)
    return {"mod_order": {"fw_pre_order": names, "fw_post_order": post,
                          "bw_pre_order": post[::-1], "bw_post_order": names[::-1]},
            "mod_stats": stats}


def flat(count, seed=1):
    """So many modules side by side, no two of them alike."""
    rng = random.Random(seed)
    stats, act_total = [], 0
    for i in range(count):
        saved = rng.randrange(1 << 20, 1 << 26)
        made, ms = saved + rng.randrange(saved), rng.uniform(0.01, 1)
        act_total += saved
        split, low = rng.uniform(0.3, 0.8), rng.uniform(0.1, 0.25)
        slopes = [low / split, (1 - low) / (1 - split)]
        stats.append({"fqn": f"M.m{i}", "param_per_module": 0, "grad_total": 0,
                      "act_fw_per_module": saved, "act_grad_per_module": 0, "act_total": act_total,
                      "is_leaf": False, "sac_runtime": ms, "sac_memory": made, "slopes": slopes,
                      "intercepts": [0, 1 - slopes[1]]})
    root = {"fqn": "M", "param_per_module": 0, "grad_total": 0, "act_fw_per_module": act_total,
            "act_grad_per_module": 0, "act_total": act_total, "is_leaf": True}
    return with_orders([root] + stats)


def charged(count, seed=1):
    """So many modules side by side, of which discarding a little costs almost as much as discarding all, and what a
    byte costs is nearly the same everywhere."""
    rng = random.Random(seed)
    stats, act_total = [], 0
    for i in range(count):
        saved = rng.randrange(1 << 20, 1 << 26)
        act_total += saved
        stats.append({"fqn": f"M.m{i}", "param_per_module": 0, "grad_total": 0, "act_fw_per_module": saved,
                      "act_grad_per_module": 0, "act_total": act_total, "is_leaf": False,
                      "sac_runtime": saved / 2**26 + 0.1, "sac_memory": saved, "slopes": [0.01],
                      "intercepts": [0.99]})
    root = {"fqn": "M", "param_per_module": 0, "grad_total": 0, "act_fw_per_module": act_total,
            "act_grad_per_module": 0, "act_total": act_total, "is_leaf": True}
    return with_orders([root] + stats)


def main():
    name, count = sys.argv[1], int(sys.argv[2])
    info = flat(count) if name == "flat" else stretch(load()[name]["module_info"], count)
    with open(sys.argv[3], "w", encoding="utf-8") if len(sys.argv) > 3 else sys.stdout as file:
        json.dump(info, file)


if __name__ == "__main__":
    main()
