# SPDX-License-Identifier: GPL-3.0-or-later
"""Python runs this first in a program that `memscope capture` starts; the program's own sitecustomize comes after it."""
import importlib
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _here]
if os.environ.get("MEMSCOPE_CAPTURE_DIR"):
    _package = os.path.dirname(os.path.dirname(_here))
    sys.path.append(_package)
    import memscope_torch.capture

    sys.path.remove(_package)
    memscope_torch.capture.begin()
_own = sys.modules.pop("sitecustomize", None)
try:
    importlib.import_module("sitecustomize")
except ImportError:
    sys.modules["sitecustomize"] = _own
