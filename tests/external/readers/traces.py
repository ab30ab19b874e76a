# SPDX-License-Identifier: GPL-3.0-or-later
"""A Chrome trace in the viewers it is made for: Perfetto's own page, asked by SQL, and Catapult's trace viewer, which
is chrome://tracing where Chromium has that. Both must hold what Python's json reads."""

import collections
import itertools
import json
import pathlib

from devtools import serve

# What the trace processor is asked, under the names that `read` gives the same of the JSON.
QUERIES = {
    "errors": "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
    "slices": "select t.tid, s.name, s.ts, s.dur from slice s join thread_track k on s.track_id = k.id join thread t using (utid)",
    "counters": "select k.name, count(*), min(c.value), max(c.value) from counter c join counter_track k on c.track_id = k.id group by k.name",
    "tensors": "select s.name, s.ts, s.dur, extract_arg(s.arg_set_id, 'args.bytes') from slice s join process_track k on s.track_id = k.id",
    "flows": "select o.ts, i.ts from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id",
    "instants": "select s.name, s.ts from slice s join track k on s.track_id = k.id where k.type like '%instants'",
    "processes": "select pid, name from process where name is not null",
    "threads": "select tid, name from thread where name is not null",
}
ASK = """(async () => {
  const result = await app.trace.engine.query(%s), names = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(names.map((name) => typeof row.get(name) === "bigint" ? Number(row.get(name)) : row.get(name)));
  return rows;
})()"""

# Catapult's viewer has a model of its own, in milliseconds from the first event.
VIEW = "document.querySelector('x-profiling-view')"
OPEN = f"fetch('/trace.json').then((answer) => answer.text()).then((text) => {VIEW}.setActiveTrace('trace.json', text))"
MODEL = """(() => {
  const model = %s.timelineView.model;
  const threads = model.getAllThreads(), counters = model.getAllProcesses().flatMap((p) => Object.values(p.counters));
  return {
    errors: model.importWarnings.map((w) => [w.type, w.message]),
    slices: threads.flatMap((t) => t.sliceGroup.slices.map((s) => [t.tid, s.title, s.start, s.duration])),
    counters: counters.flatMap((c) => c.series.map((s) => [c.name + " " + s.name, s.samples.length,
      Math.min(...s.samples.map((v) => v.value)), Math.max(...s.samples.map((v) => v.value))])),
    tensors: threads.flatMap((t) => t.asyncSliceGroup.slices.map((s) => [s.title, s.start, s.duration, s.args.bytes])),
    flows: model.flowEvents.map((f) => [f.startSlice.start, f.endSlice.start]),
    instants: model.instantEvents.map((i) => [i.title, i.start]),
    processes: model.getAllProcesses().map((p) => [p.pid, p.name]),
    threads: threads.filter((t) => t.name).map((t) => [t.tid, t.name]),
  };
})()""" % VIEW


def ns(us):
    return round(us * 1000)


def read(text):
    """The lists of QUERIES, from the JSON alone."""
    kinds, counters = collections.defaultdict(list), collections.defaultdict(list)
    for event in json.loads(text)["traceEvents"]:
        kinds[event["ph"]].append(event)
    for event in kinds["C"]:
        for series, value in event["args"].items():
            counters[f"{event['name']} {series}"].append(value)
    ends = {(e["id2"]["local"], e["name"]): e["ts"] for e in kinds["e"]}
    arrives = {e["id"]: e for e in kinds["f"]}
    around = lambda e: next(x for x in kinds["X"] if x["tid"] == e["tid"] and x["ts"] <= e["ts"] <= x["ts"] + x["dur"])
    names = lambda what, key: [[e[key], e["args"]["name"]] for e in kinds["M"] if e["name"] == what]
    return {
        "errors": [],
        "slices": [[e["tid"], e["name"], ns(e["ts"]), ns(e["dur"])] for e in kinds["X"]],
        "counters": [[name, len(values), min(values), max(values)] for name, values in counters.items()],
        "tensors": [[e["name"], ns(e["ts"]), ns(ends[e["id2"]["local"], e["name"]]) - ns(e["ts"]), e["args"]["bytes"]]
                    for e in kinds["b"]],
        "flows": [[ns(around(e)["ts"]), ns(around(arrives[e["id"]])["ts"])] for e in kinds["s"]],
        "instants": [[e["name"], ns(e["ts"])] for e in kinds["i"]],
        "processes": names("process_name", "pid"),
        "threads": names("thread_name", "tid"),
    }


def compare(text, told):
    wanted = read(text)
    for what, rows in wanted.items():
        ours, theirs = sorted(rows), sorted(told[what])
        differs = [row for row in itertools.zip_longest(ours, theirs) if row[0] != row[1]][:2]
        assert ours == theirs, f"{what}: {len(ours)} of ours, {len(theirs)} of theirs; {differs}"
    counts = {what: len(rows) for what, rows in wanted.items()}
    values = sum(row[1] for row in wanted["counters"])
    return (f"no import error; {counts['slices']:,} slices, {counts['tensors']} tensors and {counts['flows']} flows with their "
            f"times, {counts['counters']} counters of {values:,} values with least and most, {counts['instants']} instant, names")


def in_perfetto(web, browser, folder, text, picture):
    """`web` is a folder with the files of ui.perfetto.dev."""
    with serve(browser, web, folder, {"/trace.json": text}) as (page, address):
        page.go(f"{address}/#!/?url={address}/trace.json")
        page.wait_for("Boolean(window.app && app.trace)")
        told = {what: page.value(ASK % json.dumps(query)) for what, query in QUERIES.items()}
        assert page.value("app.trace.loadingErrors.length") == 0
        page.value("app.trace.workspace.flatTracks.forEach((track) => track.expand())")
        page.wait_for("document.querySelectorAll('.pf-track').length > 20")
        page.wait_for("app.trace.engine.numRequestsPending === 0")
        page.picture(picture)
    return compare(text, told)


def in_catapult(web, browser, folder, text, picture):
    """Perfetto's page has it for what it calls its legacy view."""
    with serve(browser, web, folder, {"/trace.json": text}) as (page, address):
        page.go(f"{address}/{perfetto_version(web)}/assets/catapult_trace_viewer.html")
        page.wait_for(f"Boolean({VIEW}?.timelineView)")
        page.value(OPEN)
        page.wait_for(f"Boolean({VIEW}.timelineView.model)")
        told = page.value(MODEL)
        page.picture(picture)
    for what, times in (("slices", (2, 3)), ("tensors", (1, 2)), ("flows", (0, 1)), ("instants", (1,))):
        for row in told[what]:
            for at in times:
                row[at] = ns(row[at] * 1000)
    return compare(text, told)


def perfetto_version(web):
    """The UI is below a folder that its version names."""
    return next(path.name for path in pathlib.Path(web).iterdir() if path.is_dir() and path.name.startswith("v"))
