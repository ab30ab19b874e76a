#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fit configs/rates.json, the rates that devices reach, to the measured rates in tests/oracle/throughput/rates.csv.

    fit_rates.py            print the table
    fit_rates.py --check    fail unless configs/rates.json is that table
    fit_rates.py --errors   how well each figure describes what it was fitted to (Markdown)

The clock's time of an operator (src/run/measure/clock.h) is a sum of terms, each with one figure of the table, so
the figures are least squares of relative errors with coefficients that are not negative.
"""
import argparse
import collections
import csv
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "tests", "oracle", "throughput")
TABLE = os.path.join(HERE, "..", "configs", "rates.json")
DEVICES = os.path.join(HERE, "..", "configs", "devices.json")


def read_csv(name):
    with open(os.path.join(DATA, name), newline="") as f:
        return list(csv.DictReader(f))


with open(DEVICES, encoding="utf-8") as devices_file:
    DEVICE = {d["name"]: d for d in json.load(devices_file)["devices"]}
SOURCES = {s["source"]: s for s in read_csv("sources.csv")}
RATES = read_csv("rates.csv")
CITED = set()  # sources of the last selection


def select(**wanted):
    rows = [r for r in RATES if all(r[k] in v if isinstance(v, tuple) else r[k] == v for k, v in wanted.items())]
    CITED.clear()
    CITED.update(r["source"] for r in rows)
    return rows


def source_text(keys):
    texts = []
    for key in sorted(keys):
        s = SOURCES[key]
        where = "" if s["path"] == "text" else " " + s["path"]
        texts.append(s["repository"] + where + (" @ " + s["commit"][:9] if s["commit"] else ""))
    return "; ".join(texts)


# ---- least squares ----

def solve(matrix, right):
    size = len(right)
    rows = [list(row) + [b] for row, b in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(size):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(points):
    """Of points (terms, seconds): coefficients, none negative, with the least squares of relative errors."""
    used = list(range(len(points[0][0])))
    while True:
        matrix = [[sum(t[i] * t[j] / s / s for t, s in points) for j in used] for i in used]
        found = solve(matrix, [sum(t[i] / s for t, s in points) for i in used])
        if min(found) >= 0:
            whole = [0.0] * len(points[0][0])
            for i, value in zip(used, found):
                whole[i] = value
            return whole
        del used[found.index(min(found))]


def spread(points, coefficients):
    errors = sorted(abs(sum(a * b for a, b in zip(terms, coefficients)) / seconds - 1) for terms, seconds in points)
    return len(errors), errors[len(errors) // 2], errors[min(len(errors) - 1, len(errors) * 9 // 10)]


ERRORS = []  # (what, points, median, 90th percentile)


def fit(title, points):
    coefficients = least_squares(points)
    ERRORS.append((title,) + spread(points, coefficients))
    return coefficients


# ---- shapes ----

def pairs(text):
    return dict(re.split("[=:] *", p, maxsplit=1) for p in re.split("[;,] *", text) if re.search("[=:]", p))


def length(text):
    return int(text[:-1]) * 1024 if text.endswith("k") else int(text)


def bandwidth(device):
    return DEVICE[device]["memory_gb_per_s"] * 1e9


def peak(device):
    return DEVICE[device]["bf16_tflops"] * 1e12


# ---- products ----

def product_point(row, device):
    s = pairs(row["shape"])
    b, m, k, n = (int(s[x]) for x in "bmkn")
    out = (4 if s["out_dtype"] == "fp32" else 2) * (2 if s["accumulate"] == "True" else 1)
    flops = 2 * b * m * k * n
    return ([flops / peak(device), b * (2 * m * k + 2 * k * n + out * m * n) / bandwidth(device)],
            flops / (float(row["value"]) * 1e12))


def fit_products(source, device):
    rows = select(kind="matmul", source=source)
    share, traffic = fit("products, " + rows[0]["gpu"], [product_point(r, device) for r in rows])
    return 1 / share, traffic, len(rows)


# ---- attention ----

def attention_work(row):
    """FLOPs of forward as they are done, bytes of forward, FLOP/s."""
    s = pairs(row["shape"])
    rate = float(row["value"]) * 1e12
    if "head_num" in s:  # SimuMax: the rate counts the full square of a causal mask
        heads, kv, q, v = (int(s[k]) for k in ("head_num", "kv_head_num", "qk_head_dim", "v_head_dim"))
        seq, batch, share, rate = int(s["seq_len"]), 1, 0.5, rate / 2
    else:
        q = v = int(s["head_dim"])
        heads = kv = 2048 // q
        seq = length(s["seq"])
        batch, share = int(s.get("batch", 16384 // seq)), 0.5 if s["causal"].startswith("True") else 1
    return 2 * batch * heads * seq * seq * (q + v) * share, 2 * batch * seq * (heads + kv) * (q + v), rate


def attention_point(row, device, is_joined):
    flops, traffic, rate = attention_work(row)
    forward, backward = "fwd" in row["kind"], "bwd" in row["kind"]
    work = [flops * forward, 2.5 * flops * backward]
    terms = [w / peak(device) for w in work] if not is_joined else [sum(work) / peak(device)]
    return terms + [traffic * (forward + 2 * backward) / bandwidth(device)], sum(work) / rate


def fit_attention(title, rows, device, is_joined=False):
    found = fit("attention, " + title, [attention_point(r, device, is_joined) for r in rows])
    return [1 / c for c in found[:-1]] + [found[-1]]


# ---- memory ----

# Eager operators and single kernels: bytes of an element, kernels, the sizes whose product is the elements.
# LlamaRMSNorm in bf16: to fp32, square, mean, rsqrt, times, to bf16, times the weight: 36 bytes.
KERNELS = {
    ("A100-SXM4-80GB", "rms_norm huggingface forward"): (36, 8, ("M", "H")),
    ("A100-SXM4-80GB", "layer_norm huggingface forward"): (8, 1, ("N", "M")),
    ("A100-SXM4-80GB", "rms_norm liger forward"): (4, 1, ("M", "H")),
    ("H100 80GB HBM3", "relu_squared torch forward"): (8, 2, ("N", "M")),
    ("H100 80GB HBM3", "relu_squared torch backward"): (18, 4, ("N", "M")),
    ("H100 80GB HBM3", "fused_add_rms_norm huggingface forward"): (40, 6, ("M", "H")),
    ("H100 80GB HBM3", "layer_norm huggingface forward"): (8, 1, ("N", "M")),
    ("H100 80GB HBM3", "layer_norm huggingface backward"): (20, 2, ("N", "M")),
    ("H100 80GB HBM3", "megatron_rms_norm liger forward"): (4, 1, ("S", "H")),
    ("H100 80GB HBM3", "megatron_swiglu torch forward"): (10, 2, ("ffn_local", "S", "B")),
}


def kernel_point(row, device):
    size, kernels, names = KERNELS[row["gpu"], row["op"]]
    s = pairs(row["shape"])
    elements = 1
    for name in names:
        elements *= int(s[name])
    return [kernels * 1e-6, elements * size / bandwidth(device)], float(row["value"]) * 1e-3


def fit_memory(gpu, device):
    rows = select(kind="kernel_time", gpu=gpu)
    kernel_us, share = fit("memory, " + gpu, [kernel_point(r, device) for r in rows])
    return 1 / share, kernel_us, len(rows)


# ---- the table ----

Row = collections.namedtuple("Row", "figure devices capabilities value measured source")
ROWS = []


def add(figure, devices, capabilities, value, measured, source=None):
    ROWS.append(Row(figure, devices, capabilities, float("%.3g" % value), measured,
                    source if source is not None else source_text(CITED)))


A100 = ["a100-40gb", "a100-80gb"]
H100 = ["h100-80gb", "h200"]
AMPERE, ADA, HOPPER, BLACKWELL = ["8.0"], ["8.6", "8.9", "12.0"], ["9.0"], ["10.0", "10.3"]


def best(gpu):
    return float(select(kind="matmul_best", gpu=gpu)[0]["value"]) * 1e12


def add_products():
    share, traffic, count = fit_products("simumax-a100", "a100-80gb-pcie")
    add("product_share", ["a100-80gb-pcie"], [], share, "%d products on an A100 PCIe" % count)
    add("product_traffic", ["a100-80gb-pcie"], ["any"], traffic, "%d products on an A100 PCIe" % count)
    of_best = share * peak("a100-80gb-pcie") / best("A100 PCIe")
    scale = "times %.3g, as on the A100 PCIe" % of_best
    for gpu, title, devices, capabilities, device in (
            ("A100 SXM", "an A100 SXM", A100, AMPERE + ["any"], "a100-80gb"),
            ("H100 SXM", "an H100 SXM", H100, HOPPER, "h100-80gb"),
            ("AMD MI300X", "an MI300X", ["mi300x"], ["rocm"], "mi300x")):
        add("product_share", devices, capabilities, of_best * best(gpu) / peak(device),
            "the best product on %s, %s" % (title, scale))
    ada = float(select(kind="matmul", gpu="RTX4090")[0]["value"]) * 1e12
    add("product_share", ["rtx-4090"], ADA, of_best * ada / peak("rtx-4090"), "one product on an RTX 4090, " + scale)
    share, traffic, count = fit_products("simumax-b200", "b200")
    add("product_share", ["b200"], BLACKWELL, share, "%d products on a B200" % count)
    add("product_traffic", ["b200"], BLACKWELL, traffic, "%d products on a B200" % count)


def add_attention(devices, capabilities, forward, backward, traffic, measured):
    add("attention_forward_share", devices, capabilities, forward, measured[0])
    add("attention_backward_share", devices, capabilities, backward, measured[-1])
    add("attention_traffic", devices, capabilities, traffic, measured[0])


def add_attentions():
    rows = select(source=("flash2-a100", "simumax-a100"), kind=("attention_fwd", "attention_bwd", "attention_fwd_bwd"))
    add_attention(A100 + ["a100-80gb-pcie"], AMPERE + ["any"],
                  *fit_attention("A100, FlashAttention-2 and cuDNN", rows, "a100-80gb"),
                  ["%d calls on an A100" % len(rows)])
    rows = select(source="simumax-b200", kind=("attention_fwd", "attention_bwd"))
    forward, backward, traffic = fit_attention("B200, cuDNN", rows, "b200")
    add_attention(["b200"], BLACKWELL, forward, backward, traffic, ["%d calls on a B200" % len(rows)])
    ratio = backward / forward
    rows = select(source="flash2-h100", kind="attention_fwd_bwd")
    fit_attention("H100, FlashAttention-2, both passes (not used)", rows, "h100-80gb", True)
    rows = select(source="flash3-h100", op="cuDNN")
    forward, traffic = fit_attention("H100, cuDNN, forward", rows, "h100-80gb", True)
    add_attention(["h100-80gb"], HOPPER, forward, forward * ratio, traffic,
                  ["%d forward calls of cuDNN on an H100" % len(rows),
                   "%d forward calls of cuDNN on an H100, times %.3g, as on the B200" % (len(rows), ratio)])
    rows = select(source="ring-attention")
    points = [(t, s) for t, s in (attention_point(r, "a10", False) for r in rows)]
    a5000 = 111e12  # its dense rate; it is in no row of devices.json
    points = [([t[0] * peak("a10") / a5000, t[1] * peak("a10") / a5000, t[2] * bandwidth("a10") / 768e9], s)
              for t, s in points]
    forward, backward, traffic = fit("attention, RTX A5000, FlashAttention-2", points)
    add_attention([], ADA, 1 / forward, 1 / backward, traffic, ["%d calls on an RTX A5000" % len(rows)])


def add_memory():
    share, kernel_us, count = fit_memory("A100-SXM4-80GB", "a100-80gb")
    add("memory_share", A100, AMPERE + ["any"], share, "%d kernels on an A100 SXM" % count)
    add("kernel_us", A100, AMPERE + ["any"], kernel_us, "%d kernels on an A100 SXM" % count)
    share, kernel_us, count = fit_memory("H100 80GB HBM3", "h100-80gb")
    add("memory_share", ["h100-80gb"], HOPPER, share, "%d kernels on an H100" % count)
    add("kernel_us", ["h100-80gb"], HOPPER + BLACKWELL, kernel_us, "%d kernels on an H100" % count)
    rate = float(select(kind="memory_bandwidth", gpu="B200")[0]["value"]) * 1e9
    add("memory_share", ["b200"], BLACKWELL, rate / bandwidth("b200"), "a rate fitted to operators of a B200")


# The middle of tokens per second, published over predicted at the rates above alone, of the rows of reports/throughput.md.
STEP_SHARE = 0.93


def add_step():
    add("step_share", [], ["any"], STEP_SHARE, "12 steps on one GPU, all that could be expressed", "reports/throughput.md")


def add_links():
    for gpu, devices, capabilities, title in (
            ("A100-SXM4-80GB", A100, ["any"], "an A100 SXM in a DGX"), ("A100-PCIe-80GB", ["a100-80gb-pcie"], [], "an A100 PCIe"),
            ("H100-SXM-80GB", ["h100-80gb"], HOPPER, "an H100 SXM"), ("RTX4090", ["rtx-4090"], ["8.9"], "8 RTX 4090"),
            ("RTX5090", ["rtx-5090"], ["12.0"], "8 RTX 5090"), ("A10", ["a10"], ["8.6"], "an A10"),
            ("GH200", ["gh200-96gb"], [], "a GH200")):
        rows = [r for r in select(kind=("host_to_device", "device_to_host"), gpu=gpu) if "pageable" not in r["op"]]
        CITED.intersection_update(r["source"] for r in rows)
        slower = min(float(r["value"]) for r in rows)
        add("host_link_share", devices, capabilities, slower / DEVICE[devices[0]]["host_link_gb_per_s"],
            "pinned copies of %s, the slower way" % title)
    for gpu, devices, title in (("A100-SXM4-80GB", A100, "an A100 SXM in a DGX"),
                                ("A100-PCIe-80GB", ["a100-80gb-pcie"], "an A100 PCIe"), ("GTX1660Ti-MaxQ", [], "a GTX 1660 Ti")):
        rows = [r for r in select(kind=("host_to_device", "device_to_host"), gpu=gpu) if "pageable" in r["op"]]
        add("pageable_gb_per_s", devices, [] if devices else ["any"], min(float(r["value"]) for r in rows),
            "pageable copies of %s, the slower way" % title)


MEANING = {
    "product_share": "share of the dense rate of its dtype at which a product of matrices runs",
    "product_traffic": "added to that: a product's bytes over the data sheet's bandwidth, times this",
    "attention_forward_share": "share of the dense rate at which attention in one kernel runs, counted without what the mask hides",
    "attention_backward_share": "the same in backward",
    "attention_traffic": "added to that: its bytes over the data sheet's bandwidth, times this",
    "memory_share": "share of the data sheet's bandwidth that other operators reach",
    "kernel_us": "microseconds added for each kernel",
    "step_share": "share of these rates that is left in a whole step: what is between kernels, clocks under load",
    "host_link_share": "share of the data sheet's rate that pinned copies reach each way",
    "pageable_gb_per_s": "rate of copies from and to memory that is not pinned",
}


def table_text():
    lines = ['{', '  "figures": {']
    lines += ['    "%s": %s%s' % (k, json.dumps(v), "," if k != list(MEANING)[-1] else "") for k, v in MEANING.items()]
    lines += ['  },', '  "rates": [']
    for i, row in enumerate(ROWS):
        cells = ', '.join('"%s": %s' % (k, json.dumps(v)) for k, v in row._asdict().items() if k not in ("measured", "source"))
        lines.append('    { %s,\n      "measured": %s,\n      "source": %s }%s' % (
            cells, json.dumps(row.measured), json.dumps(row.source), "," if i + 1 < len(ROWS) else ""))
    return '\n'.join(lines + ['  ]', '}']) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args()
    for step in (add_products, add_attentions, add_memory, add_step, add_links):
        step()
    ROWS.sort(key=lambda r: list(MEANING).index(r.figure))
    text = table_text()
    if options.errors:
        print("| fitted to | points | median error | 90th percentile |\n|---|---:|---:|---:|")
        for title, count, median, high in ERRORS:
            print("| %s | %d | %.1f %% | %.1f %% |" % (title, count, 100 * median, 100 * high))
    elif options.check:
        with open(TABLE, encoding="utf-8") as f:
            same = f.read() == text
        print("configs/rates.json is%s what scripts/fit_rates.py prints" % ("" if same else " not"))
        sys.exit(not same)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
