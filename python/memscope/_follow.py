# SPDX-License-Identifier: GPL-3.0-or-later
"""Optimizer steps of a treated model: their peak and time, beside what was predicted."""
from __future__ import annotations

import os
import re
import sys
import time
import weakref
from collections.abc import Iterable
from typing import Any

from ._config import Config
from ._decide import Decision
from ._given import usage

_GIB = 1 << 30
_MOST_WORDS = 200


def size_text(size: float | None) -> str:
    """As reports print sizes: 20.92 GiB, and MiB below one of these."""
    if size is None:
        return "not"
    return f"{size / _GIB:.2f} GiB" if abs(size) >= _GIB else f"{1024 * size / _GIB:.2f} MiB"


def _short(words: str) -> str:
    """Without the operators that selective checkpoints keep, on a line or two."""
    text = re.sub(r"selective:([^,+]+\+)*?[^,+]+(?=\+offload|\+save_on_cpu|\+tile|,|$)", "selective", words)
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS - 3] + "..."


class Gauges:
    """Figures for Prometheus, at a port of this machine."""

    _ROWS = (("predicted_peak_bytes", "peak of allocated memory, as predicted"),
             ("untreated_peak_bytes", "the same without treatments"),
             ("measured_peak_bytes", "peak of allocated memory, as measured"),
             ("step_seconds", "time of an optimizer step"), ("steps", "optimizer steps so far"))

    def __init__(self, port: int) -> None:
        try:
            import prometheus_client as prometheus
        except ImportError:
            raise usage("observability_port needs the package prometheus_client, which this Python does not "
                        "have") from None
        registry = prometheus.CollectorRegistry()
        self._gauges = {name: prometheus.Gauge(f"memscope_{name}", help, registry=registry)
                        for name, help in self._ROWS}
        try:
            self._server, self._thread = prometheus.start_http_server(port, "127.0.0.1", registry=registry)
        except OSError as error:
            raise usage(f"observability_port: cannot listen at port {port}: {error.strerror}") from None

    def set(self, name: str, value: float | None) -> None:
        if value is not None:
            self._gauges[name].set(value)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Follower:
    """From the first optimizer step after the treatment to the last before it is taken back."""

    def __init__(self, parameters: Iterable[Any], name: str, decision: Decision, config: Config) -> None:
        self.name, self.decision, self.config = name, decision, config
        self._ours = {id(parameter): weakref.ref(parameter) for parameter in parameters}
        self._device: Any = None
        self.steps = self.timed = 0
        self._began: float | None = None
        self._last: float | None = None
        self.peak_bytes: int | None = None
        self._log: Any = None
        self._gauges: Gauges | None = None
        self._hook: Any = None
        self._shown = 0

    # ---- what is shown ----

    def _say(self, text: str) -> None:
        if self.config.enable_logging:
            print(f"memscope: {text}", file=sys.stderr)

    def _line(self, event: str, **fields: Any) -> None:
        if self._log:
            import json
            self._log.write(json.dumps({"event": event, "time": round(time.time(), 3), **fields}) + "\n")
            self._log.flush()

    def begin(self) -> None:
        """May fail, with one sentence, before anything is left behind."""
        if self.config.observability_port is not None:
            self._gauges = Gauges(self.config.observability_port)
        try:
            if self.config.log_file is not None:
                self._log = open(os.fspath(self.config.log_file), "a", encoding="utf-8")  # noqa: SIM115
            self._hook = self._attach()
        except OSError as error:
            self.close()
            raise usage(f"log_file: cannot open {self.config.log_file}: {error.strerror}") from None
        self._show_plan()

    def _show_plan(self) -> None:
        predicted, untreated = self.decision.predicted, self.decision.untreated
        text = f"{self.name}: {_short(self.decision.words)}"
        if predicted:
            text += f"; predicted peak {self._most()}{size_text(predicted.peak_bytes)}"
        if untreated:
            text += f", untreated {size_text(untreated.peak_bytes)}"
        if predicted and untreated and predicted.step_ms and untreated.step_ms:
            text += f", time {100 * (predicted.step_ms / untreated.step_ms - 1):+.1f} %"
        self._say(text)
        self._line("plan", model=self.name, treatment=self.decision.words,
                   predicted_peak_bytes=predicted and predicted.peak_bytes,
                   untreated_peak_bytes=untreated and untreated.peak_bytes,
                   predicted_step_ms=predicted and predicted.step_ms)
        if self._gauges:
            self._gauges.set("predicted_peak_bytes", predicted and predicted.peak_bytes)
            self._gauges.set("untreated_peak_bytes", untreated and untreated.peak_bytes)

    def note(self, text: str) -> None:
        self._say(text)
        self._line("note", text=text)

    # ---- steps ----

    def _attach(self) -> Any:
        from torch.optim import optimizer
        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        return register(self._stepped) if register else None

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        """Of any optimizer; only of ours it counts."""
        found = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        first: Any = found[0] if found else None
        ours = self._ours.get(id(first))
        is_ours = first is not None and ours is not None and ours() is first
        if not is_ours:
            return
        import torch
        if first.is_cuda:
            self._device = first.device
        now = time.perf_counter()
        self.steps += 1
        if self.steps == self.config.warmup_steps:
            self._began = now
            if self._device is not None:
                torch.cuda.reset_peak_memory_stats(self._device)
        elif self.steps > self.config.warmup_steps:
            self.timed += 1
            self._last = now
            if self._device is not None:
                self.peak_bytes = int(torch.cuda.max_memory_allocated(self._device))
        self._line("step", step=self.steps, peak_bytes=self.peak_bytes, step_ms=self.step_ms)
        if self._gauges:
            self._gauges.set("steps", self.steps)
            self._gauges.set("measured_peak_bytes", self.peak_bytes)
            self._gauges.set("step_seconds", None if self.step_ms is None else self.step_ms / 1000)

    @property
    def step_ms(self) -> float | None:
        """The mean after the warm-up."""
        if not self.timed or self._began is None or self._last is None:
            return None
        return round(1000 * (self._last - self._began) / self.timed, 3)

    # ---- the end ----

    def _most(self) -> str:
        return "at most " if self.decision.predicted and self.decision.predicted.is_most else ""

    def figures(self) -> dict[str, Any]:
        """What was measured, beside what was predicted; None where it is not known."""
        predicted, untreated = self.decision.predicted, self.decision.untreated
        saved = untreated.peak_bytes - self.peak_bytes if untreated and self.peak_bytes is not None else None
        cost = None if self.step_ms is None else self.step_ms / 3600 * self.config.gpu_cost_per_hour
        return {"steps": self.steps, "measured_peak_bytes": self.peak_bytes,
                "predicted_peak_bytes": predicted and predicted.peak_bytes,
                "predicted_is_most": bool(predicted and predicted.is_most),
                "untreated_peak_bytes": untreated and untreated.peak_bytes, "saved_bytes": saved,
                "measured_step_ms": self.step_ms, "predicted_step_ms": predicted and predicted.step_ms,
                "cost_per_1000_steps": None if cost is None else round(cost, 4)}

    def show(self) -> None:
        """The outcome so far, once; nothing before the first step."""
        if self._shown == self.steps:
            return
        self._shown, found = self.steps, self.figures()
        parts = [f"{self.steps} optimizer step{'' if self.steps == 1 else 's'}"]
        if found["measured_peak_bytes"] is not None:
            parts.append(f"peak {size_text(found['measured_peak_bytes'])} measured, "
                         f"{self._most()}{size_text(found['predicted_peak_bytes'])} predicted")
        is_treated = self.decision.treat or self.decision.modules
        if is_treated and not self._most() and found["saved_bytes"] is not None and found["saved_bytes"] > 0:
            parts.append(f"{size_text(found['saved_bytes'])} less than untreated")
        if found["measured_step_ms"] is not None:
            predicted = found["predicted_step_ms"] if self._device is not None else None  # it is of a GPU
            parts.append(f"{found['measured_step_ms']:.1f} ms a step" + (
                f", {predicted:.1f} predicted" if predicted else ""))
            parts.append(f"{found['cost_per_1000_steps']:.4f} per 1,000 steps at "
                         f"{self.config.gpu_cost_per_hour:.2f} an hour")
        self._say("; ".join(parts))
        self._line("end", **found)

    def close(self) -> None:
        """Takes the hook of optimizers off, and closes the file and the port."""
        if self._hook:
            self._hook.remove()
        if self._log:
            self._log.close()
        if self._gauges:
            self._gauges.close()
        self._hook = self._log = self._gauges = None

    def end(self) -> None:
        if self._hook:
            self.show()
        self.close()
