# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows a program step by step and writes its memory down when enough steps are done, or it ends."""
import atexit
import contextlib
import os
import sys

from . import answers, flashinfer, importing, vllm_engine, world

_capture = None


def current():
    """What follows this program, or None."""
    return _capture


def is_null():
    """The device is not there."""
    return os.environ.get("MEMSCOPE_CAPTURE_MODE") == "null"


@contextlib.contextmanager
def paused():
    """What runs meanwhile is not followed."""
    tracer = _capture.tracer if _capture else None
    was_on = tracer and tracer.is_on
    if tracer:
        tracer.is_on = False
    try:
        yield
    finally:
        if tracer:
            tracer.is_on = was_on


class Stopped(SystemExit):
    """Ends the program once its steps are measured."""


def begin():
    """Called as Python starts, before the program."""
    global _capture
    _capture = Capture(os.environ["MEMSCOPE_CAPTURE_DIR"], int(os.environ.get("MEMSCOPE_CAPTURE_STEPS", "3")))
    asked = {**_capture.answers.actions(), **flashinfer.actions(_capture.answers.notes)} if is_null() else {}
    importing.after_import({"torch": _capture.install, **asked, **world.actions(_capture.resign), **vllm_engine.actions()})
    _capture.note("7-python")
    atexit.register(_capture.at_exit)
    os.register_at_fork(after_in_child=_capture.leave)
    hook = sys.excepthook
    sys.excepthook = lambda kind, value, trace: (_capture.failed(kind, value), hook(kind, value, trace))


class Capture:
    def __init__(self, folder, steps):
        self.folder, self.wanted, self.pid = folder, steps, os.getpid()
        self.tracer = self.reads = self.failure = None
        self.answers, self.written, self.asked_to_stop, self.noted = answers.Answers(), False, 0, None

    def install(self, torch):
        from . import cudnn, reads, recording, tracer
        self.reads = self.answers.reads = reads.Reads()
        self.tracer = tracer.Tracer(self.wanted, self.stop)
        if os.environ.get("MEMSCOPE_CAPTURE_TRACE") == "1" and recording.is_possible():
            self.tracer.history = recording.History()
        if is_null():
            cudnn.switch_off(torch, self.answers.notes)
            loss = os.environ.get("MEMSCOPE_CAPTURE_LOSS")
            answers.install(torch, self.answers, float(loss) if loss else None)
        elif torch.cuda.device_count() == 0:
            self.write("no_gpu")
            raise Stopped(0)
        self.tracer.install()
        self.tracer.began = lambda: self.note("2-used")
        self.note("4-torch")

    def note(self, stem):
        """What is known so far, for a report should the program be cut off; stems sort among those of whole reports."""
        from . import report
        if self.pid and not self.written:
            source = report.Source(self.tracer, "crashed", None, self.reads, self.answers)
            with self.folder_may_be_gone():
                path = report.write_rest(source, self.folder, f"{stem}-{_rank():05}-{self.pid}")
                if path != self.noted:
                    self.forget()
                self.noted = path

    @contextlib.contextmanager
    def folder_may_be_gone(self):
        """The program can remove it, and memscope when it has waited long enough: that is told there."""
        try:
            yield
        except FileNotFoundError:
            if os.path.isdir(self.folder):
                raise

    def was_interrupted(self):
        """src/cli/capture/program.c passed a signal on."""
        return os.path.exists(os.path.join(self.folder, ".interrupted"))

    def forget(self):
        if self.noted:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.noted)
            self.noted = None

    def resign(self):
        """This process is no longer of interest."""
        self.forget()
        self.leave()

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
            self.write()

    def hand_over(self):
        """The program says itself which steps count: it has a trace of its own."""
        self.tracer.remove()

    def take(self, source):
        if not self.written:
            self._write(source)

    def write(self, outcome=None):
        from . import report
        if not self.written and self.failure and self.tracer:
            from . import engine
            self.written = engine.write_failure(self)
            if self.written:
                self.forget()
        if not self.written:
            self._write(report.Source(self.tracer, outcome or report.outcome(self.tracer, self.failure), self.failure, self.reads, self.answers))

    def _write(self, source):
        from . import report
        self.written, place = True, report.OUTCOMES.index(source.outcome)
        if self.was_interrupted() and source.outcome not in ("stepped", "out_of_memory"):
            source = source._replace(outcome="interrupted")
        with self.folder_may_be_gone():
            report.write(source, self.folder, f"{place}-{source.outcome}-{_rank():05}-{os.getpid()}")
        self.forget()


def _rank():
    return int(os.environ.get("RANK", "0") or 0)
