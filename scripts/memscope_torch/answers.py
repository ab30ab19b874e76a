# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions that libraries ask a device that is not there and that decide about memory, with the answers of an ordinary
batch. The library's own function still runs, so that its allocations stay.
"""
import functools

# Where it is asked, since which version of the library, the answer, why it leaves memory as it is or how it does not.
ANSWERS = [
    ("transformers.masking_utils", "find_packed_sequence_indices", "transformers 4.53", None,
     "a batch of one sequence a row is not packed"),
    ("transformers.masking_utils", "fast_all", "transformers 5.0", True,
     "nothing is masked in a batch without padding"),
    ("trl.kernels.chunked_logprob", "_use_triton", "trl 1.0", False,
     "Triton's kernels do not run here; every position is scored, without the copy of the hidden states that have a label"),
]
# PyTorch's own: values are 0 on such a device, and these decide whether a step is taken at all.
FINITE = ("torch.isfinite answers True for a single value: the loss and the norm of a step that is taken are finite")


def _answered(function, answer):
    @functools.wraps(function)
    def ask(*args, **kwargs):
        function(*args, **kwargs)
        return answer

    return ask


def actions(used):
    """For after_import; `used` gets what was answered, for the report."""

    def give(module):
        for name, function, since, answer, why in ANSWERS:
            if name == module.__name__ and hasattr(module, function):
                setattr(module, function, _answered(getattr(module, function), answer))
                used.append(f"{name}.{function} (since {since}) answers {answer}: {why}")

    return {row[0]: give for row in ANSWERS}


def install(torch, reads, used, loss=None):
    """Answers of PyTorch's own functions; `loss`: what single floating-point values are when they are read back."""
    true, asked = torch.tensor(True), []

    def finite(function):
        @functools.wraps(function)
        def ask(*args, **kwargs):
            result = function(*args, **kwargs)
            if result.is_cuda and result.numel() == 1:
                result.copy_(true)  # is played back
                if not asked:
                    asked.append(used.append(FINITE))
            return result

        return ask

    torch.isfinite = finite(torch.isfinite)
    torch.Tensor.isfinite = finite(torch.Tensor.isfinite)
    if loss is not None:
        used.append(f"single floating-point values that are read back are {loss}")
        for name in ("item", "__float__", "tolist", "cpu"):
            setattr(torch.Tensor, name, _read(getattr(torch.Tensor, name), loss, reads, torch))


def _like(value, loss):
    """The loss in place of the one number that is in a value."""
    if isinstance(value, list):
        return [_like(item, loss) for item in value]
    return loss if isinstance(value, float) else value.fill_(loss)


def _read(function, loss, reads, torch):
    @functools.wraps(function)
    def read(tensor, *args, **kwargs):
        reads.last_played_back = None
        value = function(tensor, *args, **kwargs)
        if reads.last_played_back is False and tensor.is_cuda and tensor.numel() == 1 and tensor.is_floating_point():
            with torch.no_grad():
                return _like(value, loss)
        return value

    return read
