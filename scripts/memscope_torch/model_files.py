# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an inference engine's model is on this machine: often only its config."""

import glob
import os

_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
_TOKENIZERS = ("tokenizer*", "vocab*", "tekken*", "*.tiktoken", "spiece.model", "*.gguf")
_DUMMY = (
    "the model's weights are not on this machine: the engine was given --load-format dummy, which takes the same memory"
)


def prepare(arguments, model, tokenizer, other_hub):
    """Gives an engine's arguments what a model needs of which only the config is here; returns the notes. `other_hub`:
    the environment's variable that says that the engine looks elsewhere."""
    notes = []
    if arguments.load_format == "auto" and _lack_weights(model, other_hub):
        arguments.load_format = "dummy"
        notes.append(_DUMMY)
    if not tokenizer and _lack_tokenizer(model):
        arguments.skip_tokenizer_init = True
    return notes


def _lack_weights(model, other_hub):
    """Known to: no file of a folder, or of a model in Hugging Face's cache, holds weights."""
    folders = _folders(model, other_hub)
    return folders is not None and not _has(folders, _WEIGHTS)


def _lack_tokenizer(folder):
    return os.path.isdir(folder) and not _has([folder], _TOKENIZERS)


def _folders(model, other_hub):
    """Where a model's files are; None: elsewhere."""
    if os.path.isdir(model):
        return [model]
    if os.path.exists(model) or os.environ.get(other_hub, "0").lower() in ("1", "true"):
        return None
    from huggingface_hub import constants

    name = os.path.join(constants.HF_HUB_CACHE, "models--" + model.replace("/", "--"), "snapshots")
    return glob.glob(os.path.join(glob.escape(name), "*"))


def _has(folders, patterns):
    return any(glob.glob(os.path.join(glob.escape(folder), pattern)) for folder in folders for pattern in patterns)
