# SPDX-License-Identifier: GPL-3.0-or-later
from contextlib import contextmanager
from typing import Any
from collections.abc import Iterator
import torch
from torch.utils.checkpoint import get_device_states, set_device_states


class Surroundings:
    """What a part of forward ran under, for running it again in backward: autocast, and random numbers, so that
    dropout repeats itself."""

    def __init__(self, x: Any) -> None:
        device = x.device.type
        self.autocast = {"device_type": device, "enabled": torch.is_autocast_enabled(device),
                         "dtype": torch.get_autocast_dtype(device)}
        self.cpu_state, (self.devices, self.states) = torch.get_rng_state(), get_device_states(x)

    @contextmanager
    def again(self, keep_casts: bool) -> Iterator[None]:
        with torch.random.fork_rng(self.devices), torch.autocast(**self.autocast, cache_enabled=keep_casts):
            torch.set_rng_state(self.cpu_state)
            set_device_states(self.devices, self.states)
            yield
