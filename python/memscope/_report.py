# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.analyze"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._document import OWN, Document, Handle, Inputs, Path, write_file
from ._given import Given
from ._library import check, library, new_error, written
from ._program import check_with

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._diff import Difference
    from ._options import AnalyzeOptions


class Report(Document):
    """The memory of a predicted step. The attributes are those of static_report.json; some need none
    of it."""

    _calls, _formats = "ms_analysis", "ms_report_format_at"
    comparison: str | None = None  # with check_with="capture": what the command prints

    def __init__(self, handle: Handle, inputs: Inputs | None = None) -> None:
        super().__init__(handle, inputs)
        self._summary = library().ms_analysis_summary(handle.pointer)[0]

    @property
    def fits(self) -> bool:
        """Whether the step fits the budget, else the device, even if only just."""
        return bool(self._summary.fits)

    @property
    def verdict(self) -> str:
        """fits, tight or no."""
        return str(library().ms_fit_verdict_name(self._summary.verdict).decode())

    @property
    def peak_bytes(self) -> int:
        """What torch.cuda.max_memory_allocated() would say."""
        return int(self._summary.peak_memory_bytes)

    @property
    def reserved_bytes(self) -> int:
        """What torch.cuda.max_memory_reserved() would say."""
        return int(self._summary.reserved_memory_bytes)

    @property
    def device_bytes(self) -> int:
        """What nvidia-smi would show, with the CUDA context: an estimate."""
        return int(self._summary.expected_device_bytes)

    @property
    def device(self) -> str:
        return str(library().ms_analysis_device(self._handle.pointer).decode())

    def events(self) -> str:
        """The allocations and frees of the steady step, one per line."""
        with self._lock:
            return written(lambda out, err: library().ms_analysis_write_events(
                self._handle.pointer, out, err)).decode()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self._write("json") == other._write("json")

    def __hash__(self) -> int:
        return hash(self._write("json"))

    def __sub__(self, other: object) -> Difference:
        """What changed from the other report to this one."""
        from ._diff import diff
        return diff(other, self) if isinstance(other, Report) else NotImplemented

    def _repr_html_(self) -> str:
        from ._html import REPORT, fragment
        return fragment(self._write("html").decode(), self._write("svg"), REPORT)


def analyze(*config: Any, **options: Unpack[AnalyzeOptions]) -> Report:
    """Predicts the memory of a training step.

    `config` is a preset, a path, a dict, a config or model of transformers, a PEFT model; beside it
    may stand TrainingArguments and an optimizer. The keywords are the options of `memscope analyze`,
    with _ for -: memscope.options("analyze") lists them."""
    with Given(config, options) as given:
        own = given.take(*OWN, "out", "events", "unroll", "no-advice", "check-with", "python")
        report = _analyze(given)
        if "check-with" in own:
            report.comparison = check_with(given, own)
    if own.get("unroll"):
        err = new_error()
        check(library().ms_analysis_unroll(report._handle.pointer, ctypes.byref(err)), err)
    if own.get("no-advice"):
        library().ms_analysis_skip_advice(report._handle.pointer)
    report._warn(own)
    _write_asked(report, own)
    return report


def run_of(given: Given, inputs: Inputs) -> Handle:
    """A run with the options that are fields of one."""
    run = Handle(library().ms_run_create(), "ms_run_free")
    library().ms_run_set_inputs(run.pointer, inputs.pointer)
    given.set(run.pointer, {}, "ms_run_set")
    return run


def _analyze(given: Given) -> Report:
    err, inputs = new_error(), Inputs()
    run = run_of(given, inputs)
    pointer = library().ms_analyze(run.pointer, ctypes.byref(err))
    check(pointer, err)
    return Report(Handle(pointer, "ms_analysis_free"), inputs)


def _write_asked(report: Report, own: Mapping[str, Any]) -> None:
    report._apply(own)
    if "events" in own:
        _guarded(report, own["events"], report.events().encode())
    if "out" in own:
        folder = os.fspath(own["out"])
        os.makedirs(folder, exist_ok=True)
        for format in ("json", "md"):
            report.save(os.path.join(folder, f"static_report.{format}"), format)


def _guarded(report: Report, path: Path, data: bytes) -> None:
    if report._inputs:
        report._inputs.guard(path)
    write_file(path, data)


__all__ = ["Report", "analyze", "run_of"]
