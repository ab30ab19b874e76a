# SPDX-License-Identifier: GPL-3.0-or-later
"""memscope.hardware: what this machine has."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ._given import usage
from ._tables import Device, devices


@dataclass(frozen=True)
class Hardware:
    """A CUDA device and the host. Bytes are as PyTorch counts them."""

    index: int | None  # among the devices that PyTorch sees; None: there is none, or none was asked for
    name: str | None  # of memscope.devices(); None: not one of them
    title: str
    total_bytes: int  # of the device; of the host where there is no device
    free_bytes: int
    host_bytes: int  # free
    link_bytes_per_s: float | None  # each way, of the slot; None: not known


def _host_free_bytes() -> int:
    """What the kernel says is available, or the control group leaves."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            words = [line.split() for line in file]
        free = next((int(row[1]) * 1024 for row in words if row[0] == "MemAvailable:"), free)
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            most = file.read().strip()
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            used = int(file.read())
        if most != "max":
            free = min(free, max(0, int(most) - used))
    except (OSError, ValueError, IndexError):
        pass
    return free


# Bytes per second and lane, of a GT/s: 8b/10b up to the second generation, then 128b/130b.
def _lane_rate(gigatransfers: float) -> float:
    return gigatransfers * 1e9 / 8 * (0.8 if gigatransfers <= 5 else 128 / 130)


def _link_rate(properties: Any) -> float | None:
    try:
        address = f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
        values = []
        for name in ("max_link_speed", "max_link_width"):
            with open(f"/sys/bus/pci/devices/{address}/{name}", encoding="ascii") as file:
                values.append(float(file.read().split()[0]))
        return _lane_rate(values[0]) * values[1]
    except (AttributeError, OSError, ValueError, IndexError):
        return None


def device_like(title: str, capability: int, multiprocessors: int, total_bytes: int) -> Device | None:
    """The row of memscope.devices() that a device is: of its capability, multiprocessors and memory."""
    rows = [row for row in devices() if row.compute_capability == capability and row.multiprocessors == multiprocessors
            and abs(row.total_bytes - total_bytes) <= 0.03 * total_bytes]
    is_pcie = "pcie" in title.lower()
    return min(rows, default=None,
               key=lambda row: (("pcie" in row.name) != is_pcie, abs(row.total_bytes - total_bytes)))


def hardware(index: int | None = None, on_host: bool = False) -> Hardware:
    """The CUDA device of that index, by default the current one; without any, or if that is asked for, the host."""
    if isinstance(index, bool) or not isinstance(index, (int, type(None))):
        raise usage(f"hardware: found {index!r}, expected the index of a CUDA device")
    free = _host_free_bytes()
    try:
        import torch
        is_there = torch.cuda.is_available() and not on_host
    except ImportError:
        is_there = False
    if not is_there:
        if index is not None and not on_host:
            raise usage(f"hardware: found {index}, but PyTorch sees no CUDA device")
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return Hardware(None, "cpu", "CPU (memory of the host)", total, free, free, None)
    if index is None:
        index = torch.cuda.current_device()
    count = torch.cuda.device_count()
    if not 0 <= index < count:
        raise usage(f"hardware: found {index!r}, expected the index of a CUDA device, from 0 to {count - 1}")
    properties = torch.cuda.get_device_properties(index)
    left, total = torch.cuda.mem_get_info(index)
    row = device_like(properties.name, 10 * properties.major + properties.minor, properties.multi_processor_count,
                      total)
    return Hardware(index, row.name if row else None, properties.name, total, left, free, _link_rate(properties))
