# SPDX-License-Identifier: GPL-3.0-or-later
"""runtime_trace.jsonl: every allocation and free since the device was first used, in the format of schemas/trace.schema.json,
so that `memscope probe --trace` can run them again. It has no operators and no copies."""
import json

STREAMS = (("compute", "none", "operators"), ("copy", "host", "copies to the device"),
           ("copy", "host", "copies to the host"), ("host", "host_memory", "updates on the host"))
PHASES = ("forward", "backward", "clip", "optimizer", "zero_grad")


def write(out, tracer, replay, entries, run):
    """`out` is an open file, `entries` are those of recording.History.until; `run` says what was run."""
    lines = _Lines()
    _Player(lines, tracer, replay, entries).play()
    head = {"version": "1.0", "made_by": "memscope capture", "run": run, "names": len(lines.names), "symbols": len(lines.symbols),
            "scopes": len(lines.scopes), "streams": len(lines.streams), "storages": len(lines.storages), "operators": 0,
            "events": len(lines.events)}
    for kind, rows in (("trace", [head]), ("name", lines.names), ("symbol", lines.symbols), ("scope", lines.scopes),
                       ("stream", lines.streams), ("storage", lines.storages)):
        out.writelines(json.dumps({kind: row}) + "\n" for row in rows)
    out.writelines(json.dumps(event) + "\n" for event in lines.events)


class _Lines:
    """The tables of a trace; what adds a row returns its number."""

    def __init__(self):
        self.names, self.symbols, self.scopes, self.streams, self.storages, self.events = [], [], [], [], [], []
        self._numbers = {}
        self.name("")
        for kind, link, name in STREAMS:
            self.streams.append({"kind": kind, "link": link, "name": self.name(name)})

    def _number(self, kind, key, table, row):
        if (kind, key) not in self._numbers:
            self._numbers[kind, key] = len(table)
            table.append(row)
        return self._numbers[kind, key]

    def name(self, text):
        return self._number("name", text, self.names, text)

    def size(self, value):
        return self._number("symbol", value, self.symbols, {"kind": "number", "left": 0, "right": 0, "text": None, "value": value})

    def scope(self, path):
        if not path:
            return None
        parent, _, last = path.rpartition(".")
        row = {"parent": self.scope(parent), "name": self.name(last), "layer": None}
        return self._number("scope", path, self.scopes, row)

    def stream(self, handle):
        """Of PyTorch; None: one that used a tensor of another, whichever it was."""
        if handle == 0:
            return 0
        number = len(self.streams) - len(STREAMS) + 1
        row = {"kind": "copy" if handle is None else "compute", "link": "none",
               "name": self.name("another stream" if handle is None else f"stream {number}")}
        return self._number("stream", handle, self.streams, row)

    def storage(self, size, stream):
        self.storages.append({"bytes": size, "dtype": "uint8", "symbols": [self.size(size)], "category": "temporary", "saved": False,
                              "name": 0, "scope": None, "op": None, "stream": self.stream(stream), "same_as": None})
        return len(self.storages) - 1

    def event(self, kind, value):
        self.events.append({kind: value})


class _Player:
    def __init__(self, lines, tracer, replay, entries):
        self.lines, self.replay, self.recording, self.entries = lines, replay, tracer.recording, entries
        is_last = tracer.steps and tracer.recorded is tracer.steps[-1]
        self.marks = _marks(tracer.steps if is_last else [*tracer.steps, tracer.recorded])
        self.alive, self.count, self.is_emptied = {}, 0, False

    def play(self):
        self._mark()
        for index, (action, address, size, stream) in enumerate(self.entries):
            if action in ("segment_free", "segment_unmap"):
                self._empty()
            elif action == "alloc":
                self._begin()
                self.alive[address] = self.lines.storage(size, stream)
                self.lines.event("alloc", self.alive[address])
                self._end(address, True)
            elif action == "free_requested":
                self._begin()
                if not self._is_completed(index, address) and address in self.alive:
                    self.lines.event("use", {"storage": self.alive[address], "stream": self.lines.stream(None)})
                self._end(address, False)
        self._mark()

    def _is_completed(self, index, address):
        """Memory that another stream uses is free only when that is done."""
        return index + 1 < len(self.entries) and self.entries[index + 1][:2] == ("free_completed", address)

    def _empty(self):
        """Segments go all at once."""
        if not self.is_emptied:
            self.lines.event("empty_cache", None)
        self.is_emptied = True

    def _begin(self):
        self.is_emptied = False
        if self.count == self.recording.start_event:
            blocks = dict(zip(self.recording.start, self.replay.blocks))
            for address, storage in self.alive.items():
                self._describe(storage, blocks.get(address))

    def _end(self, address, is_new):
        number = self.count - self.recording.start_event
        if is_new and 0 <= number < len(self.replay.order):
            self._describe(self.alive[address], self.replay.order[number][0])
        if not is_new and address in self.alive:
            self.lines.event("free", self.alive.pop(address))
        self.count += 1
        self._mark()

    def _describe(self, storage, block):
        if block:
            row, (file, line, _) = self.lines.storages[storage], block.line
            row["category"], row["saved"] = block.category, block.category == "activation"
            row["scope"] = self.lines.scope(block.module)
            row["name"] = self.lines.name(f"{file}:{line}" if line else "")

    def _mark(self):
        while self.marks and self.marks[0][0] <= self.count:
            self.lines.event("mark", self.marks.pop(0)[1])


def _marks(steps):
    """Where phases begin and end: how many allocations and frees there were by then, and the mark."""
    out = [(0, _row(True, "build", 0)), (min(row["_events"][0] for row in steps[0]), _row(False, "build", 0))]
    for number, rows in enumerate(steps):
        for row in rows:
            if row["phase"] in PHASES:
                begin, end = row["_events"]
                out += [(begin, _row(True, row["phase"], number + 1, row["micro_step"])), (end, _row(False, row["phase"], number + 1, row["micro_step"]))]
    return out


def _row(begin, phase, step, micro_step=0):
    return {"begin": begin, "phase": phase, "step": step, "micro_step": micro_step, "repeats": 1}
