# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.Config: what wrap and optimize may do, and what they show."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ._given import usage

MODES = ("conservative", "balanced", "aggressive")
_MOST_PORT = 65535


def _refuse(name: str, value: Any, expected: str) -> None:
    raise usage(f"Config: {name}: found {value!r}, expected {expected}")


def _is_number(value: Any, above: float, most: float, whole: bool = False) -> bool:
    kinds = (int,) if whole else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and above < value <= most


@dataclass(frozen=True)
class Config:
    """Settings of wrap and optimize. Each is checked when it is made.

    mode                    asks the rule engine, in this mode, in place of the planner that proves its answers:
                            conservative, balanced or aggressive
    enable_checkpointing    layers may be recomputed in backward, whole or but for some operators
    enable_offloading       what layers save may wait in the host's memory
    enable_tiling           the MLP, attention and the loss may be computed in pieces
    max_cpu_offload_gb      GB of the host's memory that offloading may take; None: half of what is free
    target_gpu_utilization  share of the device's memory to plan for
    use_static_profiling    predict models of known families from their config
    use_empirical_fallback  measure the modules of other models, and of all where the former is False
    warmup_steps            optimizer steps before anything is measured
    enable_logging          write the plan and the outcome to standard error
    log_file                append both, and each step, to this file as lines of JSON
    observability_port      serve them to Prometheus at this port (needs prometheus_client)
    gpu_cost_per_hour       price per GPU-hour, in any currency
    verify_correctness      compare the gradients of a small step with those of the untreated model
    """

    mode: str | None = None
    enable_checkpointing: bool = True
    enable_offloading: bool = True
    enable_tiling: bool = True
    max_cpu_offload_gb: float | None = None
    target_gpu_utilization: float = 0.95
    use_static_profiling: bool = True
    use_empirical_fallback: bool = True
    warmup_steps: int = 3
    enable_logging: bool = True
    log_file: str | os.PathLike[str] | None = None
    observability_port: int | None = None
    gpu_cost_per_hour: float = 2.5
    verify_correctness: bool = False

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in MODES:
            _refuse("mode", self.mode, "conservative, balanced, aggressive or None")
        for name in ("enable_checkpointing", "enable_offloading", "enable_tiling", "use_static_profiling",
                     "use_empirical_fallback", "enable_logging", "verify_correctness"):
            if not isinstance(getattr(self, name), bool):
                _refuse(name, getattr(self, name), "True or False")
        self._check_numbers()
        if self.log_file is not None and not isinstance(self.log_file, (str, os.PathLike)):
            _refuse("log_file", self.log_file, "a path or None")
        if not self.use_static_profiling and not self.use_empirical_fallback:
            raise usage("Config: with use_static_profiling and use_empirical_fallback both False there is nothing "
                        "to plan with")

    def _check_numbers(self) -> None:
        cap, port, warmup = self.max_cpu_offload_gb, self.observability_port, self.warmup_steps
        if cap is not None and (not _is_number(cap, -1, 1e9) or cap < 0):
            _refuse("max_cpu_offload_gb", cap, "a number from 0 on, or None")
        if not _is_number(self.target_gpu_utilization, 0, 1):
            _refuse("target_gpu_utilization", self.target_gpu_utilization, "a number above 0, at most 1")
        if not _is_number(warmup, 0, 1e9, whole=True):
            _refuse("warmup_steps", warmup, "a whole number from 1 on")
        if port is not None and not _is_number(port, 0, _MOST_PORT, whole=True):
            _refuse("observability_port", port, f"a whole number from 1 to {_MOST_PORT}, or None")
        if not _is_number(self.gpu_cost_per_hour, -1, 1e9) or self.gpu_cost_per_hour < 0:
            _refuse("gpu_cost_per_hour", self.gpu_cost_per_hour, "a number from 0 on")

    def techniques_without(self) -> list[str]:
        """The words of --without."""
        rows = ((self.enable_checkpointing, ("checkpoint", "selective")), (self.enable_offloading, ("offload",)),
                (self.enable_tiling, ("tile", "chunk")))
        return [word for is_enabled, words in rows if not is_enabled for word in words]


def config_of(value: Any) -> Config:
    """A Config, from one, from a dict of its fields, or from None."""
    if value is None:
        return Config()
    if isinstance(value, Config):
        return value
    if not isinstance(value, dict):
        raise usage(f"config: found a {type(value).__name__}, expected a memscope.Config or a dict")
    known = Config.__dataclass_fields__
    for name in value:
        if name not in known:
            raise usage(f"Config has no field {name!r}; it has {', '.join(known)}")
    return Config(**value)
