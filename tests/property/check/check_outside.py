# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from outside in everything that is written: a hostile text takes the place of every name and value of
every file that is read, and each output is opened by a parser that is not ours. Nothing may be obeyed by a
terminal, a CI runner, a page, a spreadsheet or GitHub's Markdown."""

import copy
import csv
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

from support import CONFIG, PROGRAM, TOP, main

CONTROLS = "".join(map(chr, [*range(1, 0x20), *range(0x7f, 0xa0), 0xad, 0x200b, 0x200e, 0x2028, 0x2029, 0x202e, 0x2066, 0xfdd0,
                             0xfeff, 0xfffe, 0xffff, 0x1fffe, 0xe0041]))
HOSTILE = [
    "::stop-commands::x",
    "\n::error::forged\r::warning::forged\n ##[error]forged ##vso[task.complete]x ##teamcity[x] \u3000::error::forged" + CONTROLS,
    "@octocat see #12 [l](http://e.example/) ![i](//e.example/i.png) <img src=x onerror=e()> <!-- c --> | `c` **b** _i_ "
    "https://e.example www.e.example $m$ ~~s~~ &lt; \" ' a@e.example ]]> --> </title></script><script>e()</script>",
    "=1+1;{}\\\"x\",y h\u00e9\u4e2d\U0001f600",
]
BLOCKS = ["# h\u00e9", "1. x", "- [ ] x", "> x", "---", "| x |", "```", "    x"]  # where a line begins
# Bytes that are no UTF-8, and half characters; for arguments and file names.
BYTES = [b"\xff\xfe\x80", b"\xed\xa0\x80", b"\xc3", b"\n::error::forged", b"::stop-commands::x", b"x\x1b[31m\xc2\x85"]

COMMAND = re.compile(r"##[A-Za-z.]*\[")
EVERY = int(os.environ.get("TRY_EVERY", "1"))
CLEAN = {"check": (2,), "baseline": (2,)}  # one of the budgets cannot be read


class Fault(AssertionError):
    pass


def need(condition, what):
    if not condition:
        raise Fault(what)


# ---- one reader a format ----

def plain(text, colour=False):
    """Lines for a terminal or a log."""
    for number, line in enumerate(text.split("\n"), 1):
        need(not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]", line), f"control in line {number}: {line!r}")
        need(not line.strip().startswith("::"), f"a command begins line {number}: {line!r}")
        need(not COMMAND.search(line), f"an old command in line {number}: {line!r}")


def json_text(text):
    plain(text)
    return json.loads(text)


def json_lines(text):
    for line in text.splitlines():
        json_text(line)


def xml_text(text):
    plain(text)
    root = xml.fromstring(text)
    tags = {element.tag.split("}")[-1] for element in root.iter()}
    need(not tags & {"script", "img", "a", "foreignObject"}, f"tags {tags}")
    if shutil.which("xmllint"):
        done = subprocess.run(["xmllint", "--noout", "-"], input=text.encode(), capture_output=True, check=False)
        need(done.returncode == 0, f"xmllint: {done.stderr[:300]}")


class Page(html.parser.HTMLParser):
    """Scripts and pictures of a page, and handlers of events."""

    def __init__(self):
        super().__init__()
        self.scripts = 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script" and ("type", "application/json") not in attrs
        need(tag not in ("img", "iframe", "object", "form"), f"tag {tag}")
        need(not any(name.startswith("on") for name, _ in attrs), f"handler in {tag}")
        need(tag != "a" or all(value.startswith("#") for name, value in attrs if name == "href"), f"link {attrs}")


def page(text):
    plain(re.sub(r"(?s)<(style|script)>.*?</\1>", "", text))
    reader = Page()
    reader.feed(text)
    need(reader.scripts == 1, f"{reader.scripts} scripts")


def markdown(text):
    plain(text)
    if not shutil.which("cmark-gfm"):
        return
    done = subprocess.run(["cmark-gfm", "-t", "xml", "-e", "table", "-e", "autolink", "-e", "strikethrough"],
                          input=text.encode(), capture_output=True, check=True)
    root = xml.fromstring(done.stdout)
    for element in root.iter():
        tag = element.tag.split("}")[-1]
        need(tag not in ("link", "image", "strikethrough"), f"{tag} in {text!r}")
        if tag in ("html_inline", "html_block"):
            need(element.text.strip() in ("<!-- -->", "<!-- memscope-check -->", "<br>"), f"{tag} {element.text!r}")
        if tag == "text":
            need(not re.search(r"@\w|(?<![\w#])#\d", element.text or ""), f"a mention: {element.text!r}")
    for table in root.iter("{http://commonmark.org/xml/1.0}table"):
        need(len({len(row) for row in table}) == 1, "a table's rows differ")


def blocks_of(path):
    if not shutil.which("cmark-gfm"):
        return ""
    done = subprocess.run(["cmark-gfm", "-t", "xml", "-e", "table", path], capture_output=True, check=True)
    return " ".join(element.tag.split("}")[-1] for element in xml.fromstring(done.stdout))


def github(text):
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning) file=([^:,]*),line=\d+,col=\d+,title=([^:,]*)::(.*)", line)
        need(match, f"no annotation: {line!r}")
    plain("".join(line[2:] for line in text.splitlines(True)))


def comma_separated(text):
    plain(text)
    rows = list(csv.reader(io.StringIO(text), strict=True))
    need(len({len(row) for row in rows}) <= 1, "rows differ in length")
    need(len(rows) == len(text.splitlines()), "a cell of several lines")


def prometheus(text):
    plain(text)
    for line in text.splitlines():
        need(re.fullmatch(r'# (HELP|TYPE) \w+ .*|\w+\{budget="([^"\\]|\\\\|\\")*"\} \d+', line), line)


def folded(text):
    plain(text)
    for line in text.splitlines():
        need(re.fullmatch(r"([^;]+;)+[a-z_ ]+ \d+", line), line)


READERS = {"console": plain, "json": json_text, "md": markdown, "junit": xml_text, "github": github, "sarif": json_text,
           "gitlab": json_text, "custom-smaller-is-better": json_text, "shields": json_text, "prometheus": prometheus,
           "csv": comma_separated, "html": page, "svg": xml_text, "chrome-trace": json_text, "speedscope": json_text,
           "folded": folded, "trace": json_lines, "jsonl": json_lines, "events": plain}


# ---- every place of a file ----

def places(value, path=()):
    """Every key and text in it; of a list, in its first member."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield path, key, True
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:1]):
            yield from places(item, (*path, index))
    elif isinstance(value, str):
        yield path, value, False


def texts_for(place):
    """A key that nobody knows is refused or read over, whatever it is."""
    return HOSTILE[1:2] if place[2] else HOSTILE


def with_text(value, place, text):
    path, old, is_key = place
    changed = copy.deepcopy(value)
    at = changed
    for step in path if is_key else path[:-1]:
        at = at[step]
    if is_key:
        items = list(at.items())
        at.clear()
        at.update((text if key == old else key, item) for key, item in items)
    else:
        at[path[-1]] = text
    return changed


def run(folder, words, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
    environment.update(more)
    done = subprocess.run([PROGRAM, *words], cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                          check=False)
    need(done.returncode in (0, 1, 2, 3, 4), f"exit {done.returncode}: {words} {done.stderr[-400:]!r}")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def outputs(formats):
    return [word for name in formats for word in ("--output", f"{name}=out.{name}")]


def look(folder, words, formats, said, **more):
    """Runs it once, every format in a file and the console on standard output; said names the case."""
    for name in formats:
        if os.path.exists(f"{folder}/out.{name}"):
            os.unlink(f"{folder}/out.{name}")
    code, out, err = run(folder, [*words, *outputs(formats)] if formats else words, **more)
    try:
        READERS["console"](err)
        (READERS["github"] if "github" in said else READERS["console"])(out)
        for name in formats:
            if os.path.exists(f"{folder}/out.{name}"):
                with open(f"{folder}/out.{name}", encoding="utf-8", newline="") as file:
                    READERS[name](file.read())
    except Exception as why:
        raise Fault(f"{said}: {words}: {type(why).__name__}: {why}") from why
    return code


def put(folder, name, value):
    with open(f"{folder}/{name}", "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(value if isinstance(value, str) else json.dumps(value, ensure_ascii=len(str(value)) % 2 == 0))


def attack(folder, files, hostile, commands):
    """commands: (words, formats). Everything is written; then each place of the hostile files changes in turn."""
    for name, value in files.items():
        put(folder, name, value)
    for words, formats in commands:
        need(look(folder, words, formats, "clean") in CLEAN.get(words[0], (0, 1)), f"clean run of {words}")
    for name in hostile:
        for place in list(places(files[name]))[::EVERY]:
            for text in texts_for(place):
                put(folder, name, with_text(files[name], place, text))
                for words, formats in commands:
                    look(folder, words, formats, f"{name} {place} {text[:30]!r}")
        put(folder, name, files[name])


# ---- what is read ----

MODEL = {**CONFIG, "hidden_act": "silu", "_name_or_path": "model", "num_hidden_layers": 2}
CHANNELS = ["json", "md", "junit", "github", "sarif", "gitlab", "custom-smaller-is-better", "shields", "prometheus"]


def test_budgets(folder):
    """One of each outcome."""
    budgets = {"defaults": {"device": "rtx-4090"}, "budgets": [
        {"name": "over", "config": "config.json", "limits": {"max": "1 MiB", "phase": "peak"}},
        {"name": "grown", "config": "config.json", "baseline": "base.json", "limits": {"max_increase": "0%"}},
        {"name": "near", "config": "memscope.run.json", "limits": {"max": "20 GiB", "warn": "1 MiB"}},
        {"name": "gone", "run": {"model": "missing.json", "seq": 64}, "limits": {"max": "1 GiB"}}]}
    files = {"config.json": MODEL, "memscope.run.json": {"model": "config.json", "seq": 64, "device": "l4", "optimizer": "adamw"},
             "memscope.budgets.json": budgets}
    for name, value in files.items():
        put(folder, name, value)
    code, report, _ = run(folder, ["analyze", "config.json", "--device", "rtx-4090", "--format", "json", "-o", "-"])
    need(code == 0, "no baseline")
    put(folder, "base.json", report)
    files["config.json"] = {**MODEL, "num_hidden_layers": 3}
    attack(folder, files, ["memscope.budgets.json", "config.json"], [(["check", "--no-plans"], [c for c in CHANNELS])])
    commands = [(["check", "--no-plans"], ["json", "md"]), (["baseline"], [])]
    attack(folder, {**files, "base.json": {**json.loads(report), "operators": [], "config": {"hidden_act": "x"}}}, ["base.json"],
           commands[:1])
    attack(folder, files, ["memscope.run.json"], commands)


def test_analyses(folder):
    files = {"config.json": MODEL, "memscope.run.json": {"model": "config.json", "seq": 64, "device": "l4", "optimizer": "adamw", "treat": "0=checkpoint"},
             "adapter.json": {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}}
    formats = ["json", "md", "csv", "html", "svg", "chrome-trace", "speedscope", "folded", "trace"]
    words = ["analyze", "config.json", "--seq", "64", "--device", "l4"]
    attack(folder, files, ["config.json"], [([*words, "--events", "out.events"], formats)])
    attack(folder, files, ["memscope.run.json"], [(["analyze", "memscope.run.json"], ["json", "md", "html"])])
    attack(folder, files, ["adapter.json"], [([*words, "--adapter", "adapter.json"], ["json", "md", "html"])])
    for form in ("console", "json", "md", "html"):
        attack(folder, {"config.json": MODEL}, ["config.json"],
               [(["fit", "config.json", "--seq", "64", "--device", "l4", "--what", "batch", "--step", "4096", "--format", form], [])])


def test_names_of_models(folder):
    """The folder's name is the model's. What it is changes nothing in the structure of the Markdown."""
    structures = set()
    formats = ["json", "md", "csv", "html", "svg", "chrome-trace", "speedscope", "folded", "trace", "console"]
    curves = ("console", "json", "md", "csv", "svg")
    for i, text in enumerate([*(t.encode("utf-8").replace(b"/", b"") for t in HOSTILE + BLOCKS), *BYTES]):
        where = os.path.join(os.fsencode(folder), text[:200])
        os.makedirs(where, exist_ok=True)
        put(os.fsdecode(where), "config.json", MODEL)
        rest = [os.fsdecode(where), "--seq", "64", "--device", "l4"]
        need(look(folder, ["analyze", *rest], formats, f"{text!r}") == 0, f"{text!r}")
        need(look(folder, ["fit", *rest, "--what", "batch", "--step", "4096"], [], f"{text!r}") == 0, f"{text!r}")
        for form in ("console", "json", "md", "html"):
            need(look(folder, ["plan", *rest, "--format", form, "-o", "out"], [], f"{text!r}") == 0, f"{text!r}")
            structures.add((form, blocks_of(f"{folder}/out") if form == "md" else ""))
            check_file(folder, form)
        for form in curves if EVERY == 1 else curves[i % len(curves):][:1]:
            look(folder, ["plan", *rest, "--curve", "--points", "3", "--format", form, "-o", "out"], [], f"{text!r}")
            check_file(folder, form)
    need(len(structures) == 4, f"{structures}")


def test_names_of_files(folder):
    """Found by a glob, and as arguments; in a workflow and outside."""
    for text in [*(t.encode("utf-8").replace(b"/", b"") for t in HOSTILE), *BYTES]:
        put(folder, b"cfg".decode() + os.fsdecode(text[:100]) + ".json", {**MODEL, "hidden_act": "none"})
    put(folder, "memscope.budgets.json", {"budgets": [{"name": "all", "config": "cfg*.json", "device": "l4", "limits": {"max": "1 GiB"}}]})
    look(folder, ["check", "--no-plans"], CHANNELS, "names found by a glob")
    _, out, err = run(folder, ["check", "--no-plans", "-q"], GITHUB_ACTIONS="true")
    github(out)
    plain(err)
    _, out, err = run(folder, ["check", "--no-plans", "--format", "json"], GITHUB_ACTIONS="true")
    json_text(out)
    github(err)
    for text in BYTES:
        for command in ("analyze", "plan", "fit", "diff", "compare", "sweep", "merge", "calibrate", "baseline", "capture", "schema", "nosuch"):
            look(folder, [command, text], [], f"{command} {text!r}")
            look(folder, [command, b"--" + text, "x"], [], f"{command} --{text!r}")
        for option in ("device", "treat", "optimizer", "budget", "plan", "adapter", "training-args", "calibration", "format", "output", "seq"):
            look(folder, ["analyze", "llama-3.2-1b", "--" + option, text], [], f"--{option} {text!r}")


def test_training_arguments(folder):
    args = {"output_dir": "out", "per_device_train_batch_size": 1, "optim": "adamw_torch", "lr_scheduler_type": "cosine", "bf16": True,
            "report_to": ["wandb"], "hub_token": "x"}
    words = ["analyze", "config.json", "--seq", "64", "--device", "l4", "--training-args", "args.json"]
    attack(folder, {"config.json": MODEL, "args.json": args}, ["args.json"], [(words, ["json", "md", "html"])])
    put(folder, "config.json", MODEL)
    for text in HOSTILE:
        put(folder, "args.yaml", "output_dir: out\n? " + json.dumps(text) + "\n: 1\noptim: " + json.dumps(text) + "\n")
        look(folder, [*words[:-1], "args.yaml"], ["json", "md"], f"YAML {text[:30]!r}")
        put(folder, "args.yaml", "output_dir: out\n" + text + "\n")
        look(folder, [*words[:-1], "args.yaml"], ["json", "md"], f"YAML {text[:30]!r}")


def test_plans(folder):
    samples = TOP / "tests/fuzz/corpus/plan_file"
    modules, operators = (json.loads((samples / name).read_text()) for name in ("modules", "operators"))
    files = {"modules.json": modules, "operators.json": operators, "config.json": MODEL}
    for form in ("console", "json", "md", "html"):
        attack(folder, files, ["modules.json"], [(["plan", "--graph", "modules.json", "--budget", "64MiB", "--format", form], [])])
        attack(folder, files, ["operators.json"], [(["plan", "--ops", "operators.json", "--memory-budget", "0.5", "--format", form], [])])
    _, plan, _ = run(folder, ["plan", "config.json", "--seq", "64", "--device", "l4", "--format", "json", "-o", "-"])
    attack(folder, {"plan.json": json.loads(plan), "config.json": MODEL}, ["plan.json"],
           [(["analyze", "config.json", "--seq", "64", "--device", "l4", "--plan", "plan.json"], ["json", "md"])])


def test_comparisons(folder):
    samples = TOP / "tests/golden/cli"
    a, b = (json.loads((samples / "diff/reports/files" / name).read_text()) for name in ("a.json", "b.json"))
    runtime = json.loads((samples / "compare/compare/files/runtime.json").read_text())
    _, static, _ = run(folder, ["analyze", "llama-3.2-1b", "--seq", "512", "--device", "a100-80gb", "--format", "json", "-o", "-"])
    put(folder, "static.json", static)
    for form in ("console", "json", "md", "html"):
        attack(folder, {"a.json": a, "b.json": b}, ["b.json"], [(["diff", "a.json", "b.json", "--format", form, "-o", "out"], [])])
        check_file(folder, form)
        put(folder, "runtime.json", runtime)
        for place in list(places(runtime))[::EVERY]:
            for text in texts_for(place):
                put(folder, "runtime.json", with_text(runtime, place, text))
                look(folder, ["compare", "static.json", "runtime.json", "--format", form, "-o", "out"], [], f"compare {form} {place}")
                check_file(folder, form)


def check_file(folder, form):
    if os.path.exists(f"{folder}/out"):
        with open(f"{folder}/out", encoding="utf-8", newline="") as file:
            READERS[form](file.read())
        os.unlink(f"{folder}/out")


def test_sweeps(folder):
    put(folder, "config.json", MODEL)
    for text in HOSTILE:
        for column in ("name", "optimizer", "treat", "device", text):
            head, row = (["seq", "config"], ["64", text]) if column == "name" else (["seq", "config", column], ["64", "config.json", text])
            table = io.StringIO()
            csv.writer(table).writerows([head, row, row])
            put(folder, "runs.csv", table.getvalue().replace("\x00", ""))
            for form in ("csv", "jsonl"):
                look(folder, ["sweep", "--runs", "runs.csv", "--device", "l4", "-q", "--format", form, "-o", f"rows.{form}"], [], f"sweep {column} {text[:30]!r}")
                if os.path.exists(f"{folder}/rows.{form}"):
                    with open(f"{folder}/rows.{form}", encoding="utf-8", newline="") as file:
                        READERS[form](file.read())
                    look(folder, ["merge", f"rows.{form}", "-o", f"merged.{form}"], [], "merge")
                    os.unlink(f"{folder}/rows.{form}")


def test_names_survive_in_json(folder):
    """Escaped, not changed."""
    put(folder, "config.json", MODEL)
    names = {re.sub("[\x00-\x1f]", "", text).encode()[:180].decode(errors="ignore") for text in HOSTILE + BLOCKS}
    budgets = [{"name": text, "config": "config.json", "device": "l4", "limits": {"max": "1 MiB"}} for text in names]
    put(folder, "memscope.budgets.json", {"budgets": budgets})
    _, out, _ = run(folder, ["check", "--no-plans", "--format", "json"])
    need({b["name"] for b in json_text(out)["budgets"]} == names, "names")
    _, out, _ = run(folder, ["check", "--no-plans", "--format", "custom-smaller-is-better"])
    need({b["name"] for b in json_text(out)} == names, "names")


main(globals())
