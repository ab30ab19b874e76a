# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.plan"""
from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

from . import _c
from ._document import OWN, Document, Handle, Inputs, Watch, interruptible
from ._errors import InfeasibleError, Stopped
from ._given import Given, usage
from ._library import fault_of, library, new_error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import PlanOptions

# What a plan decides itself.
_DECIDED = ("checkpointing", "treat", "plan")


class Plan(Document):
    """How to treat each layer, or what to checkpoint of a graph. The attributes are those of plan.json."""

    _calls = "ms_plan"

    def _repr_html_(self) -> str:
        from ._html import PLAN, fragment
        if "treat" not in self._fields():  # for figures in a file, or a curve
            return super()._repr_html_()
        return fragment(self._write("html").decode(), None, PLAN)


@functools.cache
def own_fields(name: str) -> frozenset[str]:
    count = ctypes.c_size_t()
    rows = getattr(library(), name)(ctypes.byref(count))
    return frozenset(row.name.decode() for row in rows[:count.value])


def plan(*config: Any, **options: Unpack[PlanOptions]) -> Plan:
    """Plans how to treat the layers of a run so that its step fits.

    Without a config it plans for the file that graph= or ops= names. The keywords are the options of
    `memscope plan`: memscope.options("plan") lists them. Raises InfeasibleError where no plan is found
    that fits, and Stopped after Ctrl-C; both have the answer as `plan`."""
    with Given(config, options) as given:
        own = given.take(*OWN)
        for option in _DECIDED:
            if given.is_named(option):
                raise usage(f"{option}: the plan decides this itself")
            given.options.pop(option, None)  # as a model has it now
        inputs = Inputs()
        made = Plan(Handle(library().ms_plan_create(), "ms_plan_free"), inputs)
        pointer = made._handle.pointer
        library().ms_plan_set_inputs(pointer, inputs.pointer)
        given.set(pointer, dict.fromkeys(own_fields("ms_plan_fields"), "ms_plan_set"), "ms_plan_set_run")
        fault = _solve(made)
        if isinstance(fault, (InfeasibleError, Stopped)):
            fault.plan = made
        elif fault:
            raise fault
    made._warn(own)
    made._apply(own)
    if fault:
        raise fault
    return made


def _solve(made: Plan) -> BaseException | None:
    """How it failed, if it did; Ctrl-C keeps the best plan found by then."""
    lib, err, pointer, watch = library(), new_error(), made._handle.pointer, Watch()
    lib.ms_plan_set_watch(pointer, watch.pointer)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        lib.ms_plan_stop(pointer)

    def solve() -> Any:
        assert made  # kept until the end, whoever waits for it
        return lib.ms_plan_solve(pointer, ctypes.byref(err))
    try:
        interruptible(solve, stop, watch)
    finally:
        lib.ms_plan_set_watch(pointer, None)
    if stopped and not err.status:
        err = _c.ms_error(status=12, text=b"stopped")
    return fault_of(err) if err.status else None
