# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions that libraries ask the device and that decide about memory, with the answers of an ordinary batch.

The library's own function still runs, so that its allocations stay. Rows: module, function, answer, why it is right.
"""

ANSWERS = [
    ("transformers.masking_utils", "find_packed_sequence_indices", None,
     "transformers 4.53 and later: a batch of one sequence a row is not packed"),
    ("transformers.masking_utils", "fast_all", True,
     "transformers 5: nothing is masked in a batch without padding"),
]


def _answered(function, answer):
    def ask(*args, **kwargs):
        function(*args, **kwargs)
        return answer

    return ask


def actions(used):
    """For after_import; `used` gets what was answered, for the report."""

    def give(module):
        for name, function, answer, why in ANSWERS:
            if name == module.__name__ and hasattr(module, function):
                setattr(module, function, _answered(getattr(module, function), answer))
                used.append(f"{name}.{function} answers {answer}: {why}")

    return {row[0]: give for row in ANSWERS}
