# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows a program step by step and writes its memory down when enough steps are done, or it ends."""
import atexit
import contextlib
import functools
import os
import signal
import sys

from . import answers, apex, folding, fused_attention, hints, importing, kernels, sglang_engine, stepping, vllm_engine, world

_capture = None


def current():
    """What follows this program, or None."""
    return _capture


def is_null():
    """The device is not there."""
    return os.environ.get("MEMSCOPE_CAPTURE_MODE") == "null"


@contextlib.contextmanager
def paused():
    """What runs meanwhile is not followed: the program asks for its modules, and may want no more."""
    tracer = _capture.tracer if _capture else None
    was_on = tracer and tracer.is_on
    if tracer:
        tracer.is_on = False
    try:
        yield
        if tracer:
            _capture.gave_modules = True
    finally:
        if tracer:
            tracer.is_on = was_on


class Stopped(SystemExit):
    """Ends the program once its steps are measured."""


def begin():
    """Called as Python starts, before the program."""
    global _capture
    _capture = Capture(os.environ["MEMSCOPE_CAPTURE_DIR"], int(os.environ.get("MEMSCOPE_CAPTURE_STEPS", "3")))
    asked = {}
    if is_null():
        notes = _capture.answers.notes
        asked = {**_capture.answers.actions(), **fused_attention.actions(notes), **kernels.actions(notes),
                 **folding.actions(_capture.answers)}
        apex.supply(_capture.answers)
    others = {**asked, **world.actions(_capture.resign, _capture.answers.note), **vllm_engine.actions(),
              **sglang_engine.actions()}
    importing.after_import({"torch": _capture.install, **others, **stepping.actions(_capture.follow),
                            "multiprocessing.process": lambda module: _see_failures(module.BaseProcess, "run"),
                            "torch.multiprocessing.spawn": lambda module: _see_failures(module, "_wrap", True)})
    _capture.note("7-python")
    atexit.register(_capture.at_exit)
    os.register_at_fork(after_in_child=_capture.leave)
    hook = sys.excepthook
    sys.excepthook = lambda kind, value, trace: (_capture.failed(kind, value), hook(kind, value, trace))


def _see_failures(owner, name, in_first_argument=False):
    """A function whose exceptions do not reach Python's own hook: it, or the function that it is given, tells us first."""
    function = getattr(owner, name, None)

    def telling(inner):
        @functools.wraps(inner)
        def run(*args, **kwargs):
            try:
                return inner(*args, **kwargs)
            except BaseException as error:
                _capture.failed(type(error), error)
                raise

        return run

    @functools.wraps(function)
    def given(*args, **kwargs):
        return function(telling(args[0]), *args[1:], **kwargs)

    if function:
        setattr(owner, name, telling(function) if not in_first_argument else given)


class Capture:
    def __init__(self, folder, steps):
        self.folder, self.wanted, self.pid = folder, steps, os.getpid()
        self.tracer = self.reads = self.failure = None
        self.answers, self.written, self.asked_to_stop, self.noted = answers.Answers(), False, 0, None
        self.gave_modules = self.has_complained = False

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

    def follow(self, owner, name, phase):
        if self.tracer and self.tracer.is_on:
            self.tracer.follow(owner, name, phase)

    def note(self, stem):
        """What is known so far, for a report should the program be cut off; stems sort among those of whole reports."""
        from . import report
        if self.pid and not self.written:
            source = report.Source(self.tracer, "crashed", None, self.reads, self.answers)
            with self.writing():
                path = report.write_rest(source, self.folder, f"{stem}-{_rank():05}-{self.pid}")
                if path != self.noted:
                    self.forget()
                self.noted = path

    @contextlib.contextmanager
    def writing(self):
        """Signals wait. A folder that the program removed, or memscope when it has waited long enough, is told of there."""
        with _signals_held():
            try:
                yield
            except OSError as error:
                if os.path.isdir(self.folder) and not self.has_complained:
                    self.has_complained = True
                    print(f"memscope: the report could not be written: {error.strerror}", file=sys.stderr, flush=True)

    def ended_by(self):
        """Outcome and words that src/cli/capture/program.c left when it ended the program, or None."""
        try:
            with open(os.path.join(self.folder, ".ended")) as file:
                outcome, how = file.read().split("\n", 1)
            return outcome, f"the program {how}"
        except (OSError, ValueError):
            return None

    def forget(self):
        if self.noted:
            with contextlib.suppress(OSError):
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
        if not issubclass(kind, SystemExit):
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
            outcome = outcome or report.outcome(self.tracer, self.failure, self.gave_modules)
            self._write(report.Source(self.tracer, outcome, self.failure, self.reads, self.answers))

    def _write(self, source):
        """Of several processes the one whose record sorts first is told: a launcher that only says that another one
        failed, or one that was ended before it had figures, comes after those."""
        from . import report
        self.written, outcome = True, source.outcome
        ended = self.ended_by() if outcome not in ("stepped", "out_of_memory") else None
        if ended:
            source = source._replace(outcome=ended[0], failure=None, message=ended[1])
        if ended or outcome == "interrupted" or (outcome == "failed" and hints.is_of_another(*source.failure)):
            outcome = report.outcome(self.tracer, None)
        with self.writing():
            report.write(source, self.folder, f"{report.OUTCOMES.index(outcome)}-{source.outcome}-{_rank():05}-{os.getpid()}")
        self.forget()


@contextlib.contextmanager
def _signals_held():
    """One that comes while we write would end in a traceback of ours."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _rank():
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else 0
