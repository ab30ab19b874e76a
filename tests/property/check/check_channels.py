# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope check: limits, exits, and every channel through a reader that is not ours."""

import json
import os
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree as xml

from support import CONFIG, TOP, assert_valid, is_valid, main, run, write

NASTY = "50% <off> & \"more\": a, b\\c"


def budget(name, **limits):
    return {"name": name, "config": "config.json", "device": "rtx-4090", "limits": limits}


def check(folder, *words, **more):
    code, text, said = run("check", "--format", "json", *words, cwd=folder, **more)
    found = json.loads(text) if text else None
    if found:
        assert_valid(found, "check")
        assert found["exit_code"] == code
    return code, found, said


def project(folder, *budgets, **more):
    """A folder with one model and these budgets."""
    write(folder, "config.json", {**CONFIG, **more})
    write(folder, "memscope.budgets.json", {"budgets": list(budgets)})


def upper_bytes(folder):
    write(folder, "config.json", CONFIG)
    _, text, _ = run("analyze", "config.json", "--device", "rtx-4090", "-q", "--format", "json", "-o", "-", cwd=folder)
    return json.loads(text)["summary"]["high_device_bytes"]


def mixed(folder):
    """One budget of each outcome, their names hard to write; the model has grown since the
    baseline."""
    upper = upper_bytes(folder)
    grown = {**budget(NASTY, max_increase="1 MiB"), "baseline": "baselines/*.json"}
    project(folder, grown, budget("kept", max="20 GiB"), budget("near", max="20 GiB", warn="1 MiB"),
            {**budget("gone", max="1 GiB"), "config": "missing.json"}, budget("over", max=f"{upper - 1} B"),
            budget("free"))
    code, _, said = run("baseline", "--update", cwd=folder)
    assert code == 2 and "missing.json" in said  # the others are written all the same
    write(folder, "config.json", {**CONFIG, "num_hidden_layers": 6})
    return upper


def test_to_the_byte(folder):
    upper = upper_bytes(folder)
    for more, expected in ((0, 0), (-1, 1)):
        project(folder, budget("b", max=f"{upper + more} B"))
        code, found, _ = check(folder)
        assert code == expected and found["budgets"][0]["used_bytes"] == upper


def test_expected_end(folder):
    upper_bytes(folder)
    project(folder, budget("b", max="20 GiB"))
    expected = check(folder)[1]["budgets"][0]["expected_bytes"]
    for more, code in ((0, 0), (-1, 1)):
        project(folder, budget("b", max=f"{expected + more} B", use="expected"))
        assert check(folder)[0] == code


def test_figures_are_the_reports(folder):
    upper_bytes(folder)
    report = json.loads(run("analyze", "config.json", "--device", "rtx-4090", "-q", "--format", "json", "-o", "-", cwd=folder)[1])
    at_peak = {c["category"]: c["bytes"] for c in report["peak"]["categories"]}
    highest = {p["phase"]: p["peak_bytes"] for p in report["phases"]}
    expected = {"peak": report["summary"]["high_device_bytes"], "reserved": report["summary"]["reserved_memory_bytes"],
                "forward": highest["forward"], "backward": highest["backward"], "optimizer": highest["optimizer"],
                "weights": at_peak["weight"] + at_peak.get("buffer", 0),
                "activations": report["summary"]["activation_memory_bytes"]}
    project(folder, *(budget(phase, max="20 GiB", phase=phase) for phase in expected))
    _, found, _ = check(folder)
    assert {b["name"]: b["used_bytes"] for b in found["budgets"]} == expected


def test_worst_first_and_exits(folder):
    mixed(folder)
    code, found, _ = check(folder)
    assert code == 2
    assert [b["outcome"] for b in found["budgets"]] == ["failed", "over", "over", "warned", "passed", "skipped"]
    assert check(folder, "--warn-only")[0] == 2  # what cannot be read is never hidden
    project(folder, budget("over", max="700 MiB"))
    assert check(folder)[0] in (1, 3)
    assert check(folder, "--no-plans")[0] == 1
    assert check(folder, "--warn-only")[0] == 0


def test_fix_fits(folder):
    """The plan that a check names is within the limit when it is run."""
    big = {"name": "b", "run": {"model": "llama-3.1-8b", "batch": 1, "seq": 4096, "device": "a100-80gb"},
           "limits": {"max": "72 GiB"}}
    project(folder, big)
    code, found, _ = check(folder)
    verdict = found["budgets"][0]
    assert code == 1
    assert re.fullmatch(r"checkpoint \d+ of 32 layers, \+\d+\.\d % step time", verdict["fix"]), verdict["fix"]
    big["run"]["treat"] = verdict["treat"]
    big["run"]["budget"] = "72 GiB"
    project(folder, big)
    assert check(folder)[0] == 0


def test_no_plan_fits(folder):
    """What a check names instead is a change of the run, and it is within the limit when it is run."""
    run_ = {"model": "llama-3.1-8b", "seq": 512, "device": "a100-80gb"}
    project(folder, {"name": "b", "run": run_, "limits": {"max": "40 GiB"}})
    code, found, _ = check(folder)
    verdict = found["budgets"][0]
    assert code == 3 and verdict["treat"] is None and verdict["fix"], verdict
    words = verdict["option"].split()
    changed = {name[2:]: value for name, value in zip(words[::2], words[1::2])}
    project(folder, {"name": "b", "run": {**run_, **changed}, "limits": {"max": "40 GiB"}})
    assert check(folder)[0] == 0


def test_changed_key_on_its_line(folder):
    mixed(folder)
    verdict = next(b for b in check(folder)[1]["budgets"] if b["name"] == NASTY)
    changed = {k["name"]: k for k in verdict["changed_keys"]}
    assert set(changed) == {"num_hidden_layers"}
    lines = open(f"{folder}/config.json").read().split("\n")
    place = changed["num_hidden_layers"]["place"]
    assert place == verdict["place"] and place["file"] == "config.json"
    assert '"num_hidden_layers"' in lines[place["line"] - 1]
    assert lines[place["line"] - 1][place["column"] - 1:].startswith("6")
    assert "num_hidden_layers 4 -> 6" in verdict["message"]
    assert [row["name"] for row in verdict["grown"]["places"]] == ["layers"]
    assert any("layers.*" in row["name"] for row in verdict["grown"]["operators"])


def test_changed_run_key(folder):
    """Of a run file, and of a run in the file of budgets itself."""
    write(folder, "config.json", CONFIG)
    write(folder, "memscope.run.json", {"model": "config.json", "seq": 64, "device": "rtx-4090"})
    inline = {"model": "config.json", "batch": 1, "seq": 64, "device": "rtx-4090"}
    budgets = [{"name": "file", "config": "memscope.run.json", "limits": {"max_increase": "1 B"}, "baseline": "*.base.json"},
               {"name": "inline", "run": inline, "limits": {"max_increase": "1 B"}, "baseline": "*.base.json"}]
    write(folder, "memscope.budgets.json", {"budgets": budgets})
    assert run("baseline", "--update", cwd=folder)[0] == 0
    write(folder, "memscope.run.json", {"model": "config.json", "seq": 640, "device": "rtx-4090"})
    inline["batch"] = 8
    write(folder, "memscope.budgets.json", {"budgets": budgets})
    found = {b["name"]: b for b in check(folder, "--no-plans")[1]["budgets"]}
    for name, key, file in (("file", "seq", "memscope.run.json"), ("inline", "batch", "memscope.budgets.json")):
        place = found[name]["place"]
        assert place["file"] == file and f'"{key}"' in open(f"{folder}/{file}").read().split("\n")[place["line"] - 1]


def test_changed_training_argument(folder):
    """What training arguments say has its line there, in a run file and in an inline run."""
    write(folder, "config.json", CONFIG)
    said = {"model": "config.json", "training-args": "args.yaml", "seq": 64, "device": "rtx-4090"}
    write(folder, "memscope.run.json", said)
    write(folder, "args.yaml", "output_dir: out\nper_device_train_batch_size: 1\noptim: adamw_torch\n")
    increase = {"limits": {"max_increase": "1 B"}, "baseline": "*.base.json"}
    write(folder, "memscope.budgets.json", {"budgets": [{"name": "file", "config": "memscope.run.json", **increase},
                                                        {"name": "inline", "run": said, **increase}]})
    assert run("baseline", "--update", cwd=folder)[0] == 0
    write(folder, "args.yaml", "output_dir: out\n\nper_device_train_batch_size: 16\noptim: adamw_torch\n")
    for verdict in check(folder, "--no-plans")[1]["budgets"]:
        place = verdict["place"]
        assert (place["file"], place["line"], place["column"]) == ("args.yaml", 3, 30), place


def test_changed_key_by_another_name(folder):
    """Of a key with two spellings, and of one in an object of the config."""
    vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "patch_size": 14}
    text = {"model_type": "gemma3_text", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32}
    gpt2 = {"model_type": "gpt2", "vocab_size": 512, "n_embd": 64, "n_head": 2, "n_layer": 2}
    gemma = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "text_config": text, "vision_config": vision,
             "image_token_index": 500}
    entries = [{"name": n, "config": f"{n}.json", "device": "l4", "limits": {"max_increase": "1 B"}, "baseline": "base/*.json"} for n in ("gpt2x", "gemmax")]
    write(folder, "memscope.budgets.json", {"budgets": entries})
    write(folder, "gpt2x.json", gpt2), write(folder, "gemmax.json", gemma)
    code, _, said = run("baseline", "--update", cwd=folder)
    assert code == 0, said
    gpt2["num_hidden_layers"] = gpt2.pop("n_layer") + 1
    text["num_hidden_layers"] = 3
    write(folder, "gpt2x.json", gpt2), write(folder, "gemmax.json", gemma)
    found = {b["name"]: b["changed_keys"] for b in check(folder, "--no-plans")[1]["budgets"]}
    for name, key in (("gpt2x", "n_layer"), ("gemmax", "text_config.num_hidden_layers")):
        said = [k for k in found[name] if "place" in k]  # what follows from it stands nowhere
        assert [k["name"] for k in said] == [key], found[name]
        place = said[0]["place"]
        assert '"num_hidden_layers": 3' in open(f"{folder}/{place['file']}").read().split("\n")[place["line"] - 1]


def test_junit(folder):
    mixed(folder)
    _, text, _ = run("check", "--format", "junit", cwd=folder)
    suite = xml.fromstring(text).find("testsuite")
    cases = {c.get("name"): c for c in suite.findall("testcase")}
    assert [suite.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["6", "2", "1", "1"]
    assert {n: c[0].tag for n, c in cases.items()} == {NASTY: "failure", "over": "failure", "gone": "error",
                                                       "near": "system-out", "kept": "system-out", "free": "skipped"}
    assert "num_hidden_layers 4 -> 6" in cases[NASTY].find("failure").text
    if shutil.which("xmllint"):
        subprocess.run(["xmllint", "--noout", "-"], input=text, text=True, check=True)


def unescape(text, more=False):
    for code, character in (("%0A", "\n"), ("%0D", "\r")) + ((("%3A", ":"), ("%2C", ",")) if more else ()):
        text = text.replace(code, character)
    return text.replace("%25", "%")


def annotations(text):
    found = []
    for line in text.split("\n"):
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        if match:
            properties = dict(p.split("=", 1) for p in match[2].split(","))
            found.append((match[1], {k: unescape(v, True) for k, v in properties.items()}, unescape(match[3])))
    return found


def test_annotations(folder):
    mixed(folder)
    found = annotations(run("check", "--format", "github", cwd=folder)[1])
    assert [kind for kind, _, _ in found] == ["error", "error", "error", "warning"]
    assert {p["title"] for _, p, _ in found} == {NASTY, "over", "gone", "near"}
    for _, properties, message in found:
        assert int(properties["line"]) > 0 and int(properties["col"]) > 0 and message
        open(f"{folder}/{properties['file']}").close()


def test_at_most_ten_annotations(folder):
    project(folder, *(budget(f"over {i}", max=f"{600 + i} MiB") for i in range(13)),
            *(budget(f"near {i}", max="20 GiB", warn="1 MiB") for i in range(12)))
    found = annotations(run("check", "--format", "github", "--no-plans", cwd=folder)[1])
    assert [kind for kind, _, _ in found] == ["error"] * 10 + ["warning"] * 10
    assert found[0][1]["title"] == "over 0"  # the worst


def test_in_a_workflow(folder):
    mixed(folder)
    write(folder, "summary", "before\n")
    _, text, _ = run("check", cwd=folder, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=f"{folder}/summary")
    assert len(annotations(text)) == 4
    assert all(line.startswith("::") for line in text.split("\n")[:4])  # before anything that could stop them
    summary = open(f"{folder}/summary").read()
    assert summary.startswith("before\n<!-- memscope-check -->\n") and "num\\_hidden\\_layers 4 -> 6" in summary
    assert not annotations(run("check", cwd=folder)[1])


def test_formats_for_programs_in_a_workflow(folder):
    """Standard output holds the format and nothing else."""
    mixed(folder)
    for name in ("json", "sarif", "gitlab", "junit", "custom-smaller-is-better", "shields", "prometheus", "md"):
        alone = run("check", "--format", name, cwd=folder)[1]
        for words in (["--format", name], ["-q", "--output", f"{name}=-"]):
            _, text, said = run("check", *words, cwd=folder, GITHUB_ACTIONS="true")
            assert text == alone and len(annotations(said)) == 4, name
    _, text, said = run("check", "--format", "github", cwd=folder, GITHUB_ACTIONS="true")
    assert len(annotations(text)) == 4 and not said
    _, text, said = run("check", "--format", "json", "-o", "out.json", cwd=folder, GITHUB_ACTIONS="true")
    assert len(annotations(text)) == 4 and not said


def test_paths_from_the_top_of_the_checkout(folder):
    below = os.path.join(folder, "deep/er")
    os.makedirs(below)
    mixed(below)
    files = lambda text: {place["file"] for _, place, _ in annotations(text)}
    here = files(run("check", cwd=below, GITHUB_ACTIONS="true")[1])
    assert here and not any(file.startswith("deep") for file in here)
    top = files(run("check", cwd=below, GITHUB_ACTIONS="true", GITHUB_WORKSPACE=str(folder))[1])
    assert top == {"deep/er/" + file for file in here}
    assert files(run("check", cwd=below, GITHUB_ACTIONS="true", GITHUB_WORKSPACE=below + "/../er/.")[1]) == here
    elsewhere = files(run("check", cwd=below, GITHUB_ACTIONS="true", GITHUB_WORKSPACE="/usr")[1])
    assert elsewhere == here
    sarif = json.loads(run("check", "--format", "sarif", cwd=below, GITHUB_ACTIONS="true", GITHUB_WORKSPACE=str(folder))[1])
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in sarif["runs"][0]["results"]}
    assert uris and all(uri.startswith("deep/er/") for uri in uris)


def test_sarif(folder):
    mixed(folder)
    sarif = json.loads(run("check", "--format", "sarif", cwd=folder)[1])
    assert sarif["version"] == "2.1.0" and "sarif" in sarif["$schema"]
    driver = sarif["runs"][0]["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] == "memscope" and len(set(rules)) == len(rules)
    results = sarif["runs"][0]["results"]
    assert [(r["ruleId"], r["level"]) for r in results] == [("unreadable", "error"), ("over-budget", "error"),
                                                            ("over-budget", "error"), ("near-budget", "warning")]
    prints = [r["partialFingerprints"]["memscopeBudget/v1"] for r in results]
    assert len(set(prints)) == 4
    for result in results:
        assert result["ruleId"] in rules and result["message"]["text"]
        location = result["locations"][0]["physicalLocation"]
        uri = urllib.parse.urlparse(location["artifactLocation"]["uri"])
        assert not uri.scheme and not uri.path.startswith("/") and location["region"]["startLine"] > 0
        assert location["region"]["startColumn"] > 0
    again = json.loads(run("check", "--format", "sarif", cwd=folder)[1])
    assert again == sarif


def test_gitlab(folder):
    mixed(folder)
    found = json.loads(run("check", "--format", "gitlab", cwd=folder)[1])
    assert [f["severity"] for f in found] == ["blocker", "major", "major", "minor"]
    for f in found:
        assert set(f) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert f["location"]["lines"]["begin"] > 0 and f["location"]["path"]


def test_small_formats(folder):
    mixed(folder)
    figures = {b["name"]: b for b in check(folder)[1]["budgets"]}
    chart = json.loads(run("check", "--format", "custom-smaller-is-better", cwd=folder)[1])
    assert {c["name"]: c["value"] for c in chart} == {n: b["used_bytes"] for n, b in figures.items() if n != "gone"}
    assert {c["unit"] for c in chart} == {"bytes"}
    badge = json.loads(run("check", "--format", "shields", cwd=folder)[1])
    assert (badge["schemaVersion"], badge["message"], badge["color"]) == (1, "3 of 6 within budget", "red")
    metrics = {}
    for line in run("check", "--format", "prometheus", cwd=folder)[1].splitlines():
        match = re.fullmatch(r'(\w+)\{budget="((?:[^"\\\n]|\\["\\n])*)"\} (\d+)', line)
        assert match or re.fullmatch(r"# (HELP|TYPE) \w+ .+", line), line
        if match:
            metrics[match[1], re.sub(r"\\(.)", r"\1", match[2])] = int(match[3])
    for name, b in figures.items():
        assert metrics["memscope_within_budget", name] == (b["outcome"] not in ("over", "failed"))
        assert metrics.get(("memscope_upper_bytes", name)) == b.get("upper_bytes")


def test_markdown(folder):
    mixed(folder)
    text = run("check", "--format", "md", cwd=folder)[1]
    rows = [re.split(r"(?<!\\)\|", line) for line in text.split("\n") if line.startswith("|")]
    assert text.startswith("<!-- memscope-check -->\n") and len(rows) == 8
    assert {len(row) for row in rows} == {8} and "\\<off>" in text


def test_same_bytes(folder):
    """Every channel and baseline: over two runs, numbers of threads and folders."""
    names = ["console", "json", "md", "html", "junit", "github", "sarif", "gitlab", "custom-smaller-is-better", "shields", "prometheus"]
    written = []
    for part, jobs in (("one", "1"), ("a/far/other", "7")):
        where = f"{folder}/{part}"
        write(where, "config.json", CONFIG)
        mixed(where)
        outputs = [word for name in names for word in ("--output", f"{name}={name}.out")]
        run("check", "-q", "-j", jobs, *outputs, cwd=where)
        files = [f"{where}/{name}.out" for name in names] + [f"{where}/baselines/{re.sub('[^A-Za-z0-9._-]', '-', NASTY)}.json"]
        written.append([open(file).read() for file in files])
    assert written[0] == written[1] and all(written[0])


def test_baselines(folder):
    project(folder, {**budget("b", max_increase="0%"), "baseline": "base/*.json"}, budget("none"))
    code, _, said = run("check", cwd=folder)
    assert code == 2
    code, text, _ = run("baseline", cwd=folder)
    assert code == 1 and "missing" in text
    assert run("baseline", "--update", cwd=folder)[0] == 0
    first = open(f"{folder}/base/b.json").read()
    assert_valid(json.loads(first), "static_report")
    assert run("baseline", cwd=folder)[0] == 0 and run("check", cwd=folder)[0] == 0
    assert run("baseline", "--update", cwd=folder)[1].startswith("current")
    write(folder, "config.json", {**CONFIG, "vocab_size": 2048})
    assert run("check", cwd=folder)[0] in (1, 3)
    code, text, _ = run("baseline", cwd=folder)
    assert code == 1 and "stale" in text and open(f"{folder}/base/b.json").read() == first


def test_glob(folder):
    for name in "ab":
        write(folder, f"models/{name}/config.json", CONFIG)
    write(folder, "memscope.budgets.json", {"budgets": [{**budget("all", max="20 GiB"), "config": "models/*/config.json", "baseline": "base/*.json"}]})
    assert run("baseline", "--update", cwd=folder)[0] == 0
    code, found, _ = check(folder)
    assert code == 0
    assert {b["name"] for b in found["budgets"]} == {"all: models/a/config.json", "all: models/b/config.json"}
    elsewhere = write(folder, "elsewhere/note", "")
    code, found, _ = check(elsewhere.parent, "--budgets", "../memscope.budgets.json")
    assert code == 0 and len(found["budgets"]) == 2


def test_default_device_is_weaker_than_the_runs(folder):
    write(folder, "config.json", CONFIG)
    run_file = {"model": "config.json", "device": "a100-80gb"}
    write(folder, "said.run.json", run_file)
    write(folder, "memscope.budgets.json", {"defaults": {"device": "l4"}, "budgets": [
        {"name": "file", "config": "said.run.json"}, {"name": "inline", "run": run_file}, {"name": "config", "config": "config.json"},
        {"name": "own", "run": run_file, "device": "rtx-4090"}]})
    found = {b["name"]: b["device"] for b in check(folder)[1]["budgets"]}
    assert found == {"file": "a100-80gb", "inline": "a100-80gb", "config": "l4", "own": "rtx-4090"}


REFUSED = [
    ({"budgets": []}, "no budget"),
    ({"budgets": [budget("b", max=80)]}, "write for example \"80 GiB\""),
    ({"budgets": [budget("b", max="80")]}, "no unit"),
    ({"budgets": [budget("b", max="1 GiB and 3%")]}, ""),
    ({"budgets": [budget("b", maximum="1 GiB")]}, "unknown key 'maximum'"),
    ({"budgets": [budget("b", phase="peek")]}, "expected peak, forward"),
    ({"budgets": [budget("b", use="lower")]}, ""),
    ({"budgets": [{**budget("b"), "devise": "l4"}]}, "did you mean 'device'"),
    ({"budgets": [{"config": "config.json"}]}, "name"),
    ({"budgets": [{"name": "b"}]}, "either"),
    ({"budgets": [{**budget("b"), "run": {"model": "gpt2"}}]}, "either"),
    ({"budgets": [budget("b")], "default": {}}, "did you mean 'defaults'"),
    ({"defaults": {"config": "x"}, "budgets": [budget("b")]}, "unknown key"),
    ([], ""),
]


def test_refused_alike_by_schema(folder):
    write(folder, "config.json", CONFIG)
    for value, text in REFUSED:
        write(folder, "memscope.budgets.json", value)
        code, _, said = run("check", cwd=folder)
        assert code == 2 and text in said and "memscope.budgets.json:" in said, (value, said)
        assert not is_valid(value, "budgets"), value
    for value in ({"budgets": [budget("b"), budget("b")]}, {"budgets": [{**budget("b"), "config": "none/*.json"}]}):
        write(folder, "memscope.budgets.json", value)
        assert run("check", cwd=folder)[0] == 2  # more than a schema can say


def test_schema_takes_what_is_taken(folder):
    mixed(folder)
    accepted = json.load(open(f"{folder}/memscope.budgets.json"))
    assert_valid(accepted, "budgets")
    keys = json.loads((TOP / "schemas/budgets.schema.json").read_text())["definitions"]["limits"]["properties"]
    project(folder, budget("b", **{k: v.get("default") or v.get("enum", ["3%"])[0] for k, v in keys.items() if k != "max_increase"}))
    assert run("check", "--no-plans", cwd=folder)[0] in (0, 1)


def test_unreadable(folder):
    assert run("check", cwd=folder)[0] == 2  # no file
    write(folder, "config.json", "{")
    write(folder, "memscope.budgets.json", {"budgets": [budget("b", max="1 GiB")]})
    code, found, _ = check(folder)
    assert code == 2 and found["budgets"][0]["place"]["file"] == "config.json"
    write(folder, "config.json", {**CONFIG, "num_attention_heads": 7})
    code, found, _ = check(folder)
    line = open(f"{folder}/config.json").read().split("\n")[found["budgets"][0]["place"]["line"] - 1]
    assert code == 2 and ("num_attention_heads" in line or "hidden_size" in line or "num_key_value_heads" in line)


main(globals())
