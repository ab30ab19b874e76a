# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows a program step by step and writes its memory down when enough steps are done, or it ends."""
import atexit
import os
import sys

from . import answers, importing

_capture = None


class Stopped(SystemExit):
    """Ends the program once its steps are measured."""


def begin():
    """Called as Python starts, before the program."""
    global _capture
    _capture = Capture(os.environ["MEMSCOPE_CAPTURE_DIR"], int(os.environ.get("MEMSCOPE_CAPTURE_STEPS", "3")))
    importing.after_import({"torch": _capture.install, **answers.actions(_capture.answered)})
    atexit.register(_capture.at_exit)
    os.register_at_fork(after_in_child=_capture.leave)
    hook = sys.excepthook
    sys.excepthook = lambda kind, value, trace: (_capture.failed(kind, value), hook(kind, value, trace))


class Capture:
    def __init__(self, folder, steps):
        self.folder, self.wanted, self.pid = folder, steps, os.getpid()
        self.torch = self.tracer = self.reads = self.failure = None
        self.answered, self.written, self.asked_to_stop = [], False, 0

    def install(self, torch):
        from . import reads, tracer
        self.torch = torch
        self.reads = reads.Reads()
        if os.environ.get("MEMSCOPE_CAPTURE_MODE") == "null":
            torch.backends.cuda.enable_cudnn_sdp(False)
            torch.backends.cudnn.enabled = False
        self.tracer = tracer.Tracer(self.wanted, self.stop)
        self.tracer.install()

    def stop(self):
        """The program ends here; one that goes on anyway is ended at its next forward pass."""
        self.write("stepped")
        self.tracer.is_on = True
        self.asked_to_stop += 1
        if self.asked_to_stop > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        raise Stopped(0)

    def failed(self, kind, value):
        if not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            self.failure = kind, value
            if self.tracer and self.pid:
                self.tracer.finish(failed=True)

    def leave(self):
        """In a process forked from the program: nothing is followed there."""
        self.pid = 0
        if self.tracer:
            self.tracer.is_on = False

    def at_exit(self):
        if os.getpid() == self.pid and not self.written:
            if self.tracer:
                self.tracer.finish()
            self.write(self.outcome())

    def outcome(self):
        if self.failure:
            is_memory = self.torch and issubclass(self.failure[0], getattr(self.torch, "OutOfMemoryError", ()))
            return "out_of_memory" if is_memory else "failed"
        if not self.torch:
            return "no_torch"
        if len(self.tracer.steps) >= self.wanted:
            return "stepped"
        if not self.torch.cuda.is_initialized():
            return "no_device"
        return "few_steps" if self.tracer.steps else "no_step"

    def message(self):
        if not self.failure:
            return None
        kind, value = self.failure
        return f"{kind.__name__}: {value}".splitlines()[0][:400]

    def write(self, outcome):
        from . import report
        if not self.written:
            self.written = True
            rank = int(os.environ.get("RANK", "0") or 0)
            stem = f"{report.OUTCOMES.index(outcome)}-{outcome}-{rank:05}-{os.getpid()}"
            report.write(report.Source(self.tracer, outcome, self.message(), self.reads, self.answered), self.folder, stem)
