# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded step played again: which blocks are alive when, what they are, and whose."""
from collections import Counter

from . import frames

BLOCK_BYTES = 512
NAMED = ("weight", "buffer", "gradient", "optimizer_state")


class Block:
    __slots__ = ("bytes", "asked", "born", "gone", "category", "module", "line")

    def __init__(self, size, asked, born, gone, module, line):
        self.bytes, self.asked, self.born, self.gone = size, asked, born, gone
        self.category, self.module, self.line = None, module, line

    def alive(self, at):
        return self.born <= at < self.gone


class Replay:
    """`timeline` is bytes after each event, the start first; `order` is (block, is new) by event; born 0: before the step."""

    def __init__(self, recording, forwards, changes, buckets=()):
        """`forwards`: first and last event of each forward phase; `changes`: labels by event, where PyTorch keeps none;
        `buckets`: bytes of buffers of gradients, which are known by these alone."""
        self.blocks, self.order, self.forwards = [], [], forwards
        self.by_address, self.used = {}, 0
        self.buckets = Counter(buckets)
        events = recording.events()
        self.never = len(events) + 1
        self.from_before = {}  # by block, what was asked
        for address, (size, line, asked) in recording.start.items():
            self._add(address, Block(size, size, 0, self.never, "", line))
            self.from_before[self.blocks[-1]] = asked
        self.timeline = [self.used]
        marks = sorted(recording.names, key=lambda mark: mark[0])
        labels = _Labels(changes, recording.start_event)
        for index, event in enumerate(events):
            marks = self._name(marks, index)
            self._play(event, index + 1, labels.at(index, event))
            self.timeline.append(self.used)
        self._name(marks, len(events))
        self.top_at = max(range(len(self.timeline)), key=self.timeline.__getitem__)
        for block in self.blocks:
            if block.category is None:
                block.category = self._kind(block)

    def _add(self, address, block):
        self.by_address[address] = block
        self.blocks.append(block)
        self.used += block.bytes

    def _play(self, event, number, label):
        if event["action"] == "alloc":
            size = -(-event["size"] // BLOCK_BYTES) * BLOCK_BYTES
            self._add(event["addr"], Block(size, event["size"], number, self.never, label, frames.top(event.get("frames"))))
            self.order.append((self.blocks[-1], True))
        elif event["addr"] in self.by_address:
            block = self.by_address.pop(event["addr"])
            block.gone = number
            self.used -= block.bytes
            self.order.append((block, False))
        else:
            self.order.append((None, False))

    def _name(self, marks, index):
        """What is known by now; returns the rest."""
        while marks and marks[0][0] <= index:
            for address, (category, module) in marks[0][1].items():
                if address in self.by_address:
                    self.by_address[address].category = category
                    self.by_address[address].module = module
            marks = marks[1:]
        return marks

    def _is_bucket(self, block):
        """Where no tensor leads to it, its size tells."""
        asked = self.from_before[block]
        self.buckets[asked] -= 1
        return self.buckets[asked] >= 0

    def _kind(self, block):
        if block.born == 0:
            return "gradient" if self._is_bucket(block) else "input"
        return "activation" if any(block.alive(end) for _, end in self.forwards) else "temporary"

    def alive(self, at):
        return [block for block in self.blocks if block.alive(at)]

    def saved(self):
        """What the last forward pass made and left."""
        if not self.forwards:
            return []
        begin, end = self.forwards[-1]
        return [block for block in self.alive(end) if block.born > begin and block.category not in NAMED]


class _Labels:
    def __init__(self, changes, start_event):
        self.changes = [(event - start_event, label) for event, label in changes] if changes is not None else None

    def at(self, index, event):
        if self.changes is None:
            return event.get("user_metadata", "")
        while len(self.changes) > 1 and self.changes[1][0] <= index:
            self.changes.pop(0)
        return self.changes[0][1] if self.changes else ""
