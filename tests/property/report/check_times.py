#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_times.py MEMSCOPE

The table of rates is the one that its script fits, and has every figure with a source. What a report says its times
rest on is what they rest on: an MFU, a calibration of the link, the table.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def the_table_is_fitted(_):
    done = subprocess.run([sys.executable, str(ROOT / "scripts/fit_rates.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@check
def every_figure_is_for_any_device(_):
    table = json.loads((ROOT / "configs/rates.json").read_text())
    names = {d["name"] for d in json.loads((ROOT / "configs/devices.json").read_text())["devices"]}
    for figure in table["figures"]:
        rows = [r for r in table["rates"] if r["figure"] == figure]
        assert sum("any" in r["capabilities"] for r in rows) == 1, figure
        assert all(r["value"] > 0 and r["measured"] and r["source"] and set(r["devices"]) <= names for r in rows), figure
        assert figure.endswith(("us", "traffic", "per_s")) or all(r["value"] <= 1 for r in rows), figure
    assert all(r["figure"] in table["figures"] for r in table["rates"])


def run(program, *words, code=0):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.stderr)
    return done


def report(program, *words):
    return json.loads(run(program, *words, "--format", "json", "-o", "-", "-q").stdout)


def products_ms(answer):
    """Of operators with FLOPs."""
    extras = [o["extra"] for o in answer["operators"] if o["extra"].get("flops")]
    return sum(e["time_us"] * e["count"] for e in extras) / 1000


@check
def an_mfu_sets_products_and_attention(program):
    run_ = ["analyze", "llama-3.2-1b", "--batch", "4", "--device", "h100-80gb"]
    half, quarter = (report(program, *run_, "--mfu", x) for x in ("0.5", "0.25"))
    peak = 989e12
    flops = sum(o["extra"].get("flops", 0) * o["extra"]["count"] for o in half["operators"])
    assert abs(products_ms(half) / (flops / peak / 0.5 * 1000) - 1) < 0.01, products_ms(half)
    assert abs(products_ms(quarter) / products_ms(half) - 2) < 0.01
    others = [a["summary"]["step_time_ms"] - products_ms(a) for a in (half, quarter)]
    assert abs(others[0] - others[1]) < 0.01 * others[0], others
    assert half["times"]["basis"] == {"product": "mfu", "attention": "mfu", "other": "table"}
    assert half["times"]["text"].startswith("times: products at most 0.5 of peak (--mfu), attention at most 0.5 (--mfu), memory ")
    assert half["metadata"]["mfu"] == 0.5
    text = report(program, "analyze", "gpt2", "--device", "h100-80gb", "--mfu", "0.001")["times"]["text"]
    assert "products at most 0.001 of peak" in text, text


@check
def half_of_the_link_is_what_a_calibration_of_it_gives(program):
    run_ = ["llama-3.2-1b", "--batch", "4", "--device", "rtx-4090"]
    with tempfile.TemporaryDirectory() as folder:
        plan, slow = folder + "/plan.json", folder + "/slow.json"
        run(program, "plan", *run_, "-q", "--format", "json", "-o", plan)
        answer = json.loads(pathlib.Path(plan).read_text())
        link = answer["times"]["host_link_gb_per_s"] * 1e9
        fitted = {"points": 1, "value": link / 2, "low": link / 2, "high": link / 2}
        pathlib.Path(slow).write_text(json.dumps({"schema_version": "1.0", "device": "rtx-4090", "points": 1,
                                                  "parameters": {"host_link_bytes_per_s": fitted}}))
        again = report(program, "analyze", *run_, "--plan", plan, "--budget", "40GiB", "--calibration", slow)
    half, step = answer["host_link"]["step_ms_at_half"], again["summary"]["step_time_ms"]
    assert half > answer["step_ms"] and abs(half / step - 1) < 1e-3, (half, step)
    text = " ".join(run(program, "plan", *run_).stdout.split())
    assert "at half of that rate the step" in text and "link %.1f GB/s" % (link / 1e9) in text, text


@check
def a_calibrated_class_is_a_multiple_of_the_roofline(program):
    """A share after it says what it is a share of; a calibrated link is the device's own."""
    run_ = ["analyze", "gpt2", "--batch", "1", "--seq", "64", "--device", "gb200"]
    fitted = {"points": 1, "value": 2, "low": 2, "high": 2}
    link = {"points": 1, "value": 9e10, "low": 9e10, "high": 9e10}
    rows = (({"product_slowdown": fitted}, "products 2.00 x roofline time, attention 0.48* of peak, memory 0.69*, link 361.4 GB/s*"),
            ({"attention_slowdown": fitted}, "products 0.54* of peak, attention 2.00 x roofline time, memory 0.69* of peak, link 361.4 GB/s*"),
            ({n + "_slowdown": fitted for n in ("product", "attention", "other")} | {"host_link_bytes_per_s": link},
             "products 2.00 x roofline time, attention 2.00 x, memory 2.00 x, link 90.0 GB/s"))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "calibration.json")
        for parameters, wanted in rows:
            path.write_text(json.dumps({"schema_version": "1.0", "device": "gb200", "points": 1, "parameters": parameters}))
            text = report(program, *run_, "--calibration", str(path))["times"]["text"]
            assert text == "times: " + wanted + (" (* another device's)" if "*" in wanted else ""), text


@check
def a_star_marks_what_another_device_gave(program):
    shown = {"products": "product_share", "attention": "attention_forward_share", "memory": "memory_share", "link": "host_link_share"}
    for device in ("a100-80gb", "b200", "gb200", "rtx-4090", "rtx-5090", "t4"):
        times = report(program, "analyze", "gpt2", "--seq", "64", "--device", device)["times"]
        own = {r["name"]: r["is_own"] for r in times["rates"]}
        parts = dict(p.split(" ", 1) for p in times["text"].removeprefix("times: ").split(" (* ")[0].split(", "))
        assert {k: "*" not in v for k, v in parts.items()} == {k: own[n] for k, n in shown.items()}, (device, times["text"])
        assert times["text"].endswith(" (* another device's)") == (not all(own[n] for n in shown.values())), device


@check
def what_copies_nothing_names_no_link(program):
    plan = report(program, "plan", "gpt2", "--batch", "1", "--seq", "64")
    assert not plan["host_link"] and plan["host_bytes"] == 0


@check
def devices_without_rates_have_no_times(program):
    for device in ("cpu", "h100-nvl"):
        assert "times" not in report(program, "analyze", "gpt2", "--seq", "64", "--device", device), device


@check
def every_figure_of_a_report_has_its_source(program):
    table = json.loads((ROOT / "configs/rates.json").read_text())
    for device in ("a100-80gb", "gh200-96gb", "mi300x", "t4"):
        rates = report(program, "analyze", "gpt2", "--seq", "64", "--device", device)["times"]["rates"]
        assert {r["name"] for r in rates} == set(table["figures"])
        for r in rates:
            row = [t for t in table["rates"] if t["figure"] == r["name"] and t["source"] == r["source"] and abs(t["value"] - r["value"]) < 1e-3]
            assert row and r["is_own"] == (device in row[0]["devices"]), (device, r)


@check
def an_mfu_beside_a_calibration_of_products_is_refused(program):
    calibration = next((ROOT / "tests").glob("**/calibration.json"))
    device = json.loads(calibration.read_text())["device"]
    done = run(program, "analyze", "gpt2", "--device", device, "--calibration", str(calibration), "--mfu", "0.4", code=2)
    assert "mfu: the calibration already has the times of matrix products" in done.stderr, done.stderr


def main():
    passed = failed = 0
    for function in CHECKS:
        try:
            function(sys.argv[1])
            passed += 1
        except AssertionError as e:
            failed += 1
            print(f"{function.__name__}: {e}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
