# SPDX-License-Identifier: GPL-3.0-or-later
"""Python objects that ranks give each other. `--rank all` runs ranks one after another, and keeps what one gives for the
others; a rank that is given something by one that has not run yet says so, ends, and is run again after that one
(src/cli/capture/ranks.c). Without it nothing is known."""
import functools
import hashlib
import inspect
import os
import pickle
from collections import Counter


class Exchange:
    def __init__(self, c10d, rank, tell):
        self.c10d, self.rank, self.tell, self.counts = c10d, rank, tell, Counter()
        self.missing = None  # the file that was looked for last
        self.folder = os.environ.get("MEMSCOPE_CAPTURE_KEPT")

    def install(self):
        for name in ("broadcast_object_list", "scatter_object_list", "gather_object", "send_object_list", "recv_object_list"):
            function = getattr(self.c10d, name, None)
            if function:
                setattr(self.c10d, name, self._follows(function, getattr(self, "_" + name.split("_")[0])))

    def _follows(self, function, follow):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def run(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            group = given.get("group") or self.c10d.group.WORLD
            if group is self.c10d.GroupMember.NON_GROUP_MEMBER:
                return function(*args, **kwargs)
            ranks = self.c10d.get_process_group_ranks(group)
            return follow(lambda **changes: function(**{**given, **changes}), given, ranks)

        return run

    def _broadcast(self, function, given, ranks):
        source = self._peer(given, "src", ranks)
        key = "broadcast", source, _short(ranks)
        if source == self.rank:
            self._keep(given["object_list"], *key)
            return function()
        found = self._find(*key)
        if found is None and all(item is None for item in given["object_list"]):
            raise self._unknown(source)
        if found is None:
            self.tell(f"rank {source} broadcasts objects to rank {self.rank}, whose own were taken for them")
        else:
            given["object_list"][:] = found
        return function(**_from(self.rank, given, ranks))

    def _scatter(self, function, given, ranks):
        source = self._peer(given, "src", ranks)
        key = "scatter", source, _short(ranks)
        if source == self.rank:
            self._keep(given["scatter_object_input_list"], *key)
            return function()
        found = self._find(*key)
        if found is None:
            raise self._unknown(source)
        given["scatter_object_output_list"][0] = found[ranks.index(self.rank)]
        return None

    def _gather(self, function, given, ranks):
        """Ranks of which nothing is known are taken to give what this one gives."""
        root, group = self._peer(given, "dst", ranks), _short(ranks)
        if root != self.rank:
            self._keep([given["obj"]], "gather", root, group, self.rank)
            return function()
        found = [self._find("gather", root, group, rank) if rank != root else None for rank in ranks]
        given["object_gather_list"][:] = [objects[0] if objects else given["obj"] for objects in found]
        return None

    def _send(self, function, given, ranks):
        self._keep(given["object_list"], "send", self.rank, self._peer(given, "dst", ranks))
        return function()

    def _recv(self, _function, given, ranks):
        source = self._peer(given, "src", ranks)
        found = self._find("send", source, self.rank)
        if found is None:
            raise self._unknown(source)
        given["object_list"][:] = found
        return source

    def _peer(self, given, name, ranks):
        """Its rank in the world."""
        if given.get("group_" + name) is not None:
            return ranks[given["group_" + name]]
        return given[name] or 0

    def _path(self, *key):
        self.counts[key] += 1
        return os.path.join(self.folder, "-".join(str(part) for part in (*key, self.counts[key]))) if self.folder else None

    def _keep(self, objects, *key):
        path = self._path(*key)
        if path:
            with open(path, "wb") as file:
                pickle.dump(list(objects), file)

    def _find(self, *key):
        self.missing = path = self._path(*key)
        if not path or not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            return pickle.load(file)

    def _unknown(self, source):
        if self.missing:
            with open(os.path.join(self.folder, f"waits-{self.rank}"), "w") as file:
                file.write(os.path.basename(self.missing))
        how = "which has not sent them" if self.folder else "which is not run; --rank all runs the ranks in order and keeps what they send"
        return RuntimeError(f"rank {self.rank} is given objects by rank {source}, {how}")


def _short(ranks):
    return hashlib.sha256(repr(list(ranks)).encode()).hexdigest()[:16]


def _from(rank, given, ranks):
    """Arguments of the same call if this rank were the source."""
    return {"src": None, "group_src": ranks.index(rank)} if "group_src" in given else {"src": rank}
