# SPDX-License-Identifier: GPL-3.0-or-later
"""Optimizer steps of a treated model: their peak and time, beside what was predicted."""
from __future__ import annotations

import contextlib
import math
import os
import re
import statistics
import sys
import time
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

from ._config import Config
from ._decision import Decision
from ._given import usage

_GIB = 1 << 30
_MOST_WORDS = 200
_MOST_TIMES = 1000  # the last ones, of which the median is told
_LIKE_ADAMW = ("Adam", "AdamW")  # the same states


def size_text(size: float | None) -> str:
    """As reports print sizes: 20.92 GiB, and MiB below one of these."""
    if size is None:
        return "not"
    return f"{size / _GIB:.2f} GiB" if abs(size) >= _GIB else f"{1024 * size / _GIB:.2f} MiB"


def _short(words: str) -> str:
    """Without the operators that selective checkpoints keep, on a line or two."""
    text = re.sub(r"selective:([^,+]+\+)*?[^,+]+(?=\+offload|\+save_on_cpu|\+tile|,|$)", "selective", words)
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS - 3] + "..."


def _nothing() -> None:
    """As the reference to a parameter that is gone."""


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
            raise usage(f"observability_port: cannot listen on port {port}: {error.strerror}") from None

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
        self.steps = 0
        self._optimizer: Any = None  # a weak reference: of several, the one that stepped first
        self._times: deque[float] = deque(maxlen=_MOST_TIMES)
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
            try:
                self._log.write(json.dumps({"event": event, "time": round(time.time(), 3), **fields}) + "\n")
                self._log.flush()
            except OSError as error:
                self._drop_log()
                print(f"memscope: log_file: cannot write {self.config.log_file}: {error.strerror}; nothing more is "
                      "written", file=sys.stderr)

    def _drop_log(self) -> None:
        """What could not be written is tried again when a file is closed, and is lost."""
        log, self._log = self._log, None
        with contextlib.suppress(OSError):
            log.close()

    def begin(self) -> None:
        """May fail, with one sentence, before anything is left behind."""
        if self.config.observability_port is not None:
            self._gauges = Gauges(self.config.observability_port)
        try:
            if self.config.log_file is not None:
                self._log = open(os.fspath(self.config.log_file), "a", encoding="utf-8")  # noqa: SIM115
            self._hook = self._attach()
        except (OSError, ValueError) as error:
            self.close()
            text = getattr(error, "strerror", None) or str(error)
            raise usage(f"log_file: cannot open {str(self.config.log_file)!r}: {text}") from None
        self._show_plan()

    def _show_plan(self) -> None:
        predicted, untreated = self.decision.predicted, self.decision.untreated
        text = f"{self.name}: {_short(self.decision.words)}"
        if predicted:
            text += f"; predicted peak {self._most()}{size_text(predicted.peak_bytes)}"
            text += f" with {self.decision.assumed}, as no optimizer is given" if self.decision.assumed else ""
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

    def _is_ours(self, optimizer: Any) -> bool:
        """Whether it trains our parameters, and is the first that does."""
        known = self._optimizer and self._optimizer()
        if known is not None:
            return known is optimizer
        parameters: list[Any] = [one for group in optimizer.param_groups for one in group["params"]]
        for parameter in parameters:
            ours: Any = self._ours.get(id(parameter), _nothing)()
            if ours is not None and ours is parameter:
                self._optimizer = weakref.ref(optimizer)
                self._device = parameter.device if parameter.is_cuda else None
                self._check_assumed(optimizer)
                return True
        return False

    def _check_assumed(self, optimizer: Any) -> None:
        """What was predicted for another optimizer is predicted no more."""
        name, group = type(optimizer).__name__, optimizer.param_groups[0]
        is_other = name not in _LIKE_ADAMW or group.get("fused") or group.get("foreach") is False
        if self.decision.assumed and self.decision.predicted and is_other:
            words = name + (", fused" if group.get("fused") else "")
            self.note(f"the prediction is for a step with {self.decision.assumed}, and this one is with {words}: "
                      "give the optimizer to memscope.optimize")
            self.decision = self.decision._replace(predicted=None, untreated=None)
            if self._gauges:
                self._gauges.set("predicted_peak_bytes", math.nan)
                self._gauges.set("untreated_peak_bytes", math.nan)

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        """Of any optimizer; only of ours it counts."""
        if not self._is_ours(optimizer):
            return
        now, before = time.perf_counter(), self._last
        self.steps += 1
        if self.steps == self.config.warmup_steps:
            self.evaluated()
        elif self.steps > self.config.warmup_steps and before is not None:
            self._times.append(now - before)
            self._record_peak()
        self._last = now
        self._line("step", step=self.steps, peak_bytes=self.peak_bytes, step_ms=self.step_ms)
        if self._gauges:
            self._gauges.set("steps", self.steps)
            self._gauges.set("measured_peak_bytes", self.peak_bytes)
            self._gauges.set("step_seconds", None if self.step_ms is None else self.step_ms / 1000)

    def _record_peak(self) -> None:
        import torch
        if self._device is not None:
            peak = int(torch.cuda.max_memory_allocated(self._device))
            self.peak_bytes = max(peak, self.peak_bytes or 0)

    def evaluated(self) -> None:
        """What happened since the last step is not of steps."""
        import torch
        if self._device is not None:
            torch.cuda.reset_peak_memory_stats(self._device)

    @property
    def step_ms(self) -> float | None:
        """The median after the warm-up: pauses do not count."""
        return round(1000 * statistics.median(self._times), 3) if self._times else None

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
