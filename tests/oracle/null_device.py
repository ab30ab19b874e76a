# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the program runs on a null device, where no kernel runs and no memory of the host is seen."""
import os


def is_present():
    return "NULLCUDA_SM" in os.environ or "null" in os.environ.get("LD_PRELOAD", "")
