# SPDX-License-Identifier: GPL-3.0-or-later
"""What wrap does to a model and what is predicted for it, read from a plan that is given."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._errors import InputError
from ._given import as_json, usage
from ._objects import as_dict
from ._plan import Plan


class Figures(NamedTuple):
    """Of a step, as predicted."""

    peak_bytes: int
    step_ms: float | None
    host_bytes: int = 0
    fits: bool | None = None
    is_most: bool = False  # the peak may be lower


class Decision(NamedTuple):
    treat: str  # in the words of --treat; "": none
    kind: str = "non-reentrant"
    modules: Sequence[str] = ()  # names of modules to recompute, of a plan for measured modules
    fraction: float | None = None  # of the device's memory, which the allocator is held to
    predicted: Figures | None = None
    untreated: Figures | None = None
    plan: Any = None
    cost_per_hour: float | None = None
    assumed: str = ""  # the optimizer that the figures count, where none was given

    @property
    def words(self) -> str:
        if self.modules:
            return f"recompute {len(self.modules)} modules: {', '.join(self.modules[:4])}" + (
                ", ..." if len(self.modules) > 4 else "")
        return self.treat or "nothing to change"


def _wrong(name: str, value: Any, expected: str) -> InputError:
    found = as_json(value) if isinstance(value, (str, int, float, bool, type(None))) else f"a {type(value).__name__}"
    return usage(f"plan: {name}: found {found}, expected {expected}")


def _number(row: Mapping[str, Any], name: str, where: str = "") -> float | None:
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e19:
        raise _wrong(where + name, value, "a number from 0 on")
    return value


def _part(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "an object")
    return value


def _figures(row: Mapping[str, Any], where: str = "") -> Figures | None:
    peak = _number(row, "peak_memory_bytes", where)
    if not peak:
        return None
    fits = row.get("fits")
    return Figures(int(peak), _number(row, "step_ms", where), int(_number(row, "host_bytes", where) or 0),
                   fits if isinstance(fits, bool) else None)


def _of_modules(content: Mapping[str, Any], plan: Any, cost: float | None) -> Decision:
    rows = _part(content, "decisions")
    for name, fraction in rows.items():
        if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 < fraction <= 1:
            raise _wrong(f"decisions: {name}", fraction, "a number above 0, at most 1")
    names = [name.partition(".")[2] for name in rows]
    peak = _number(content, "peak_bytes")
    is_most = any(fraction < 1 for fraction in rows.values())  # they are recomputed whole
    return Decision("", modules=[name for name in names if name], plan=plan, cost_per_hour=cost,
                    predicted=Figures(int(peak), None, is_most=is_most) if peak else None)


def content_of(content: Mapping[str, Any], layers: int, plan: Any, cost: float | None = None) -> Decision:
    """Of what a plan.json has."""
    if "decisions" in content:
        return _of_modules(content, plan, cost)
    if not isinstance(content.get("treat"), str):
        raise usage("plan: found no treat and no decisions, expected what memscope.plan or `memscope plan -o` gives")
    about = _part(content, "metadata")
    if about.get("num_layers", layers) != layers:
        raise usage(f"the plan is for the {about['num_layers']} layers of {about.get('model')}, "
                    f"but this model has {layers}")
    kind = about.get("checkpoint_kind", "non-reentrant")
    if kind not in ("non-reentrant", "reentrant"):
        raise _wrong("metadata: checkpoint_kind", kind, "reentrant or non-reentrant")
    for place in ("optimizer_device", "parameter_device"):
        if content.get(place, "device") != "device":
            raise usage(f"the plan keeps {place.partition('_')[0]} data on the host, but wrap does not move it there")
    fraction = _number(_part(content, "allocator_limit"), "fraction", "allocator_limit: ")
    if fraction is not None and not 0 < fraction <= 1:
        raise _wrong("allocator_limit: fraction", fraction, "a number above 0, at most 1")
    return Decision(content["treat"], kind, fraction=fraction, predicted=_figures(content),
                    untreated=_figures(_part(content, "keep_all"), "keep_all: "), plan=plan, cost_per_hour=cost)


def _loaded(path: Any) -> Mapping[str, Any]:
    import json
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise InputError(f"cannot open: {error.strerror}", "MS_ERR_IO", name) from None
    except ValueError as error:
        raise InputError(f"it is not JSON: {error}", "MS_ERR_SYNTAX", name) from None
    if not isinstance(content, dict):
        raise InputError("found no object, expected a plan", "MS_ERR_SYNTAX", name)
    return content


def _given_content(content: Mapping[str, Any], layers: int, plan: Any) -> Decision:
    target = _part(content, "target").get("name")
    if target not in (None, "pytorch", "free", "hf"):
        raise usage(f"the plan is for {target}; wrap takes plans for pytorch, hf or free")
    return content_of(content, layers, plan)


def given(plan: Any, layers: int) -> Decision:
    """Of a Plan, a dict, a path of a plan.json, or the words of --treat."""
    if isinstance(plan, Plan):
        content = plan.to_dict()
        return _given_content(content, layers, plan)
    if isinstance(plan, os.PathLike) or (isinstance(plan, str) and "=" not in plan and plan.endswith(".json")):
        return _given_content(_loaded(plan), layers, plan)
    if isinstance(plan, str):
        if not plan.strip():
            raise usage("plan: found an empty text, expected words such as '0-7=checkpoint', or none")
        return Decision("" if plan == "none" else plan)
    content = as_dict(plan) or {}
    if not content:
        raise usage(f"plan: found a {type(plan).__name__}, expected a plan, its path, or words such as "
                    "'0-7=checkpoint'")
    return _given_content(content, layers, plan)


__all__ = ["Decision", "Figures", "content_of", "given"]
