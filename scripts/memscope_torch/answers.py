# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions that programs ask about values on a device that is not there, where the answer decides about memory. They get
the answer of an ordinary batch, or of the program's own values where it has copied them to the device itself. The
library's own function still runs, so that its allocations stay; while PyTorch's compiler traces, nothing is answered.
"""
import contextlib
import functools
import inspect
import sys
import threading
from collections import namedtuple

# `how`: a function of this file that makes the answering function. `on_device`: which path a device takes for such a
# batch, and why ours allocates the same; it was read in the versions that are named, and measured where that is said.
Row = namedtuple("Row", "module function since how assumes on_device")

MASKS = "transformers.masking_utils"
MOST_KNOWN = 1 << 20  # bytes that the null device keeps of a copy


def rows():
    return [
        Row(MASKS, "_preprocess_mask_arguments", "transformers 4.53 to 5.23", _looks_at_mask, None,
            "no question: it is given the batch's mask as the program made it, which says whether the next two are asked of a padded one"),
        Row(MASKS, "fast_all", "transformers 5.0 to 5.23", _all_set, "no token of the batch is padding",
            "sum and comparison run and a bool is read; then is_causal stands for the mask, and the kernel without one (flash) runs. A padded batch has its mask made and takes the kernel with one"),
        Row(MASKS, "_ignore_causal_mask_sdpa", "transformers 4.53 to 4.57", _before_fast_all, "no token of the batch is padding",
            "all() of the mask runs and is read, then as fast_all, which it asks from 5.0 on"),
        Row(MASKS, "_ignore_bidirectional_mask_sdpa", "transformers 4.57 to 5.23", _as_without_mask, "no token of the batch is padding",
            "all() of the mask runs and is read; then there is no mask, as of encoders"),
        Row(MASKS, "find_packed_sequence_indices", "transformers 4.53 to 5.23", _one_sequence, "each row of the batch is one sequence",
            "differences and sums of the positions run and a bool is read; then the indices that were made are dropped. Measured: the cases of tests/oracle have these allocations"),
        Row("transformers.generation.utils", "GenerationMixin._has_unfinished_sequences", "transformers 4.53 to 5.23", _ends_at_limit,
            "no sequence ends before the limit on its length: what is generated is as long as it can be",
            "a bool is read for each token, and says whether every sequence has ended: by its last token or by the limit"),
        Row("trl.trainer.utils", "_fused_forward", "trl 1.0 to 1.16", _selects_all, "every token has a label: prompts that are masked would make it less",
            "hidden states and labels are copied where the mask is set, and the loss runs on those, by Triton's kernels, which work in place and are launched here as well"),
        *[Row(f"trl.trainer.{name}_trainer", f"{trainer}._generate_single_turn", "trl 1.16", _keeps_whole, "every completion is as long as it can be",
              "the mask of each completion up to its last token is copied to the host, which cuts it there: the batch that is trained is as long as the longest")
          for name, trainer in (("grpo", "GRPOTrainer"), ("rloo", "RLOOTrainer"), ("distillation", "DistillationTrainer"))],
        Row("trl.trainer.distillation_trainer", "_chunked_divergence_loss", "trl 1.16", _selects_all, "every token of a completion has a label",
            "as in trl.trainer.utils, of student and teacher"),
        Row("megatron.training.training", "build_train_valid_test_data_loaders", "Megatron-LM core 0.14", _reads_data,
            "the first rank of a tensor-parallel group has data, as the others learn from it",
            "three integers are broadcast and read; a rank that reads no data itself trains where they say so"),
    ]


# PyTorch's own. The answer is copied into the result of isfinite, which takes no memory on the device, so that whoever
# reads it back (a scaler, a trainer that skips steps) does what it does where a loss is finite.
FINITE = "torch.isfinite", "losses and norms are finite, so that steps are taken"
LOSS = "--answer-loss", "single floating-point values that are read back are {}"


class Answers:
    """What was asked and answered, for the report. `notes`: lines for it about other things."""

    def __init__(self):
        self.given, self.notes, self.reads, self.is_padded = {}, [], None, None
        self.selected, self.bounds = None, set()  # lines whose sizes are upper bounds

    def give(self, question, assumes):
        self.given[question, assumes] = self.given.get((question, assumes), 0) + 1

    def note(self, line):
        if line not in self.notes:
            self.notes.append(line)

    def report(self):
        return [{"question": question, "assumes": assumes, "count": count} for (question, assumes), count in self.given.items()]

    @contextlib.contextmanager
    def unlisted(self):
        """What is read meanwhile decides nothing."""
        was_on, self.reads.is_on = self.reads.is_on, False
        try:
            yield
        finally:
            self.reads.is_on = was_on

    def values(self, tensor):
        """What the program has copied there itself; None where that is not known."""
        if not tensor.is_cuda or not tensor.numel():
            return None
        if tensor.dim() > 1 and tensor.stride(0) == 0:
            tensor = tensor[:1]  # a row for all
        if tensor.is_contiguous():
            return self._copied(tensor)
        whole = self._copied(tensor.new_empty(0).set_(tensor.untyped_storage()))
        return None if whole is None else whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def _copied(self, tensor):
        if tensor.numel() * tensor.element_size() > MOST_KNOWN:
            return None
        with self.unlisted():
            self.reads.last_played_back = None
            found = tensor.detach().cpu()
        return found if self.reads.last_played_back else None

    def actions(self):
        """For after_import."""
        by_module = {}
        for row in rows():
            by_module.setdefault(row.module, []).append(row)
        return {name: functools.partial(self._answer, found) for name, found in by_module.items()}

    def _answer(self, found, module):
        for row in found:
            row.how(self, row, module)


def _untraced(function, answered):
    """`answered` in place of the function, but for PyTorch's compiler."""
    from .tracing import is_tracing

    @functools.wraps(function)
    def ask(*args, **kwargs):
        return (function if is_tracing() else answered)(*args, **kwargs)

    return ask


def _replaces(make):
    """A `how` that puts `make(answers, row, function)` in the function's place."""

    def how(answers, row, module):
        function = getattr(module, row.function, None)
        if function:
            setattr(module, row.function, _untraced(function, make(answers, row, function)))

    return how


@_replaces
def _looks_at_mask(answers, _row, function):
    signature = inspect.signature(function)

    def look(*args, **kwargs):
        mask = signature.bind(*args, **kwargs).arguments.get("attention_mask")
        found = answers.values(mask) if hasattr(mask, "is_cuda") and mask.dim() == 2 else None
        answers.is_padded = None if found is None else not bool(found.all())
        return function(*args, **kwargs)

    return look


def _is_plain(answers, row):
    """No padding; an assumption where the mask is not known."""
    answers.give(f"{row.module}.{row.function}", row.assumes if answers.is_padded is None else "as the batch's own mask has it")
    return not answers.is_padded


@_replaces
def _all_set(answers, row, function):
    def ask(tensor):
        asked = function(tensor)
        return _is_plain(answers, row) if tensor.is_cuda else asked

    return ask


@_replaces
def _as_without_mask(answers, row, function):
    def ask(padding_mask, *args, **kwargs):
        if padding_mask is None or not padding_mask.is_cuda:
            return function(padding_mask, *args, **kwargs)
        with answers.unlisted():
            function(padding_mask, *args, **kwargs)
        return _is_plain(answers, row) and function(None, *args, **kwargs)

    return ask


def _before_fast_all(answers, row, module):
    if not hasattr(module, "fast_all"):
        _as_without_mask(answers, row, module)


@_replaces
def _one_sequence(answers, row, function):
    def ask(position_ids):
        if not position_ids.is_cuda:
            return function(position_ids)
        with answers.unlisted():
            made = function(position_ids)
        found = answers.values(position_ids)
        answers.give(f"{row.module}.{row.function}", row.assumes if found is None else "as the batch's own positions have it")
        return None if found is None or function(found) is None else made

    return ask


@_replaces
def _reads_data(answers, row, function):
    def build(*args, **kwargs):
        made = function(*args, **kwargs)
        given = sys.modules["megatron.training.global_vars"].get_args()
        if sys.modules["megatron.core.parallel_state"].get_tensor_model_parallel_rank() > 0 and not given.do_train:
            given.do_train, given.do_valid = given.train_iters > 0, given.eval_iters > 0
            given.do_test = given.do_valid
            answers.give(f"{row.module}.{row.function}", row.assumes)
        return made

    return build


def _ends_at_limit(answers, row, module):
    """Criteria are asked before each question; the limit is the one that does not hang on values."""
    check, has_more = module.StoppingCriteriaList.__call__, module.GenerationMixin._has_unfinished_sequences
    state = threading.local()

    @functools.wraps(check)
    def checked(criteria, input_ids, *args, **kwargs):
        limit = criteria.max_length
        state.is_reached = input_ids.is_cuda and limit is not None and input_ids.shape[1] >= limit
        return check(criteria, input_ids, *args, **kwargs)

    @functools.wraps(has_more)
    def asked(model, this_peer_finished, *args, **kwargs):
        is_reached, state.is_reached = getattr(state, "is_reached", False), False
        if is_reached:
            answers.give(f"{row.module}.{row.function}", row.assumes)
        return has_more(model, is_reached or this_peer_finished, *args, **kwargs)

    module.StoppingCriteriaList.__call__ = _untraced(check, checked)
    module.GenerationMixin._has_unfinished_sequences = _untraced(has_more, asked)


def _keeps_whole(answers, row, module):
    """While the method runs, masks that are copied to the host are set."""
    name, method = row.function.split(".")
    owner = getattr(module, name, None)
    function, copy, running = getattr(owner, method, None), sys.modules["torch"].Tensor.cpu, []
    if not function:
        return

    def copied(tensor, *args, **kwargs):
        answers.reads.last_played_back = None
        found = copy(tensor, *args, **kwargs)
        if running and tensor.is_cuda and tensor.dim() == 2 and "bool" in str(tensor.dtype) and answers.reads.last_played_back is False:
            answers.give(f"{row.module}.{row.function}", row.assumes)
            found.fill_(True)
        return found

    @functools.wraps(function)
    def run(*args, **kwargs):
        running.append(method)
        try:
            return function(*args, **kwargs)
        finally:
            running.pop()

    sys.modules["torch"].Tensor.cpu = _untraced(copy, copied)
    setattr(owner, method, run)


def _selects_all(answers, row, _module):
    answers.selected.add(row)


def install(torch, answers, loss=None):
    """Answers of PyTorch's own functions; `loss`: what single floating-point values are when they are read back."""
    from . import assertions, selected
    answers.selected = selected.Selected(answers)
    answers.selected.install()
    true = torch.tensor(True)

    def finite(function):
        def ask(*args, **kwargs):
            result = function(*args, **kwargs)
            if result.is_cuda and result.numel() == 1:
                result.copy_(true)  # is played back
                answers.give(*FINITE)
            return result

        return _untraced(function, ask)

    torch.isfinite = finite(torch.isfinite)
    torch.Tensor.isfinite = finite(torch.Tensor.isfinite)
    torch.Tensor.__bool__ = assertions.holding(torch.Tensor.__bool__, answers)
    if loss is not None:
        for name in ("item", "__float__", "tolist", "cpu"):
            function = getattr(torch.Tensor, name)
            setattr(torch.Tensor, name, _untraced(function, _read(function, loss, answers, torch)))


def _like(value, loss):
    """The loss in place of the one number that is in a value."""
    if isinstance(value, list):
        return [_like(item, loss) for item in value]
    return loss if isinstance(value, float) else value.fill_(loss)


def _read(function, loss, answers, torch):
    def read(tensor, *args, **kwargs):
        answers.reads.last_played_back = None
        value = function(tensor, *args, **kwargs)
        if answers.reads.last_played_back is False and tensor.is_cuda and tensor.numel() == 1 and tensor.is_floating_point():
            answers.give(LOSS[0], LOSS[1].format(loss))
            with torch.no_grad():
                return _like(value, loss)
        return value

    return read
