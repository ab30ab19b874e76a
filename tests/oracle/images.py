# SPDX-License-Identifier: GPL-3.0-or-later
"""What "images" and "image_size" of a case mean: that many images of [width, height] pixels in every sequence; "freeze_vision": the
tower is not trained.

The batch is what the model's processor makes of them: pixels in fp32 as rows of patches, the grid of each image, the kind of
each token, one of text before each image and the others behind the last. On the null device, which cannot be asked for values,
what the model reads back is answered here; the original functions still run, so that their allocations stay. The convolution,
which cuDNN would run, is its result alone, but with "cudnn": false PyTorch's own. The sizes that PyTorch itself reads back are given by memscope's null device
(memscope_null_answer): run it with LD_PRELOAD and LD_LIBRARY_PATH as `memscope capture` does.
"""
import ctypes, importlib, sys

import torch


class Grid:
    """The images of a batch, all alike, for a tower of Qwen2.5-VL."""

    def __init__(self, case, config):
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize
        vision = config.vision_config
        self.config, self.count = vision, case["batch"] * case["images"]
        width, height = case["image_size"]
        least, most = (3136, 12845056) if config.model_type in ("qwen2_vl", "qwen2_5_vl") else (65536, 16777216)  # of the published processors
        height, width = smart_resize(height, width, vision.patch_size * vision.spatial_merge_size, least, most)
        self.rows, self.columns = height // vision.patch_size, width // vision.patch_size
        self.merge = vision.spatial_merge_size
        self.patches = self.rows * self.columns
        self.tokens = self.patches // self.merge ** 2

    def all(self):
        return torch.tensor([[1, self.rows, self.columns]] * self.count)

    def kinds(self, batch, seq):
        """1 for image tokens; a token of text before each image."""
        kinds = torch.zeros(batch, seq, dtype=torch.int64)
        for image in range(self.count // batch):
            first = 1 + image * (self.tokens + 1)
            kinds[:, first:first + self.tokens] = 1
        return kinds


def inputs(case, config, device, ids):
    if config.model_type == "gemma4":
        return padded_inputs(case, config, device, ids)
    return (whole_inputs if hasattr(config.vision_config, "image_size") else patch_inputs)(case, config, device, ids)


def patch_inputs(case, config, device, ids):
    """Of a tower that takes the patches of images of any size."""
    grid = Grid(case, config)
    vision = config.vision_config
    kinds = grid.kinds(case["batch"], case["seq"])
    assert int(kinds.sum()) == grid.count * grid.tokens, "the images do not fit in the sequences"
    width = vision.in_channels * vision.temporal_patch_size * vision.patch_size ** 2
    ids.data.copy_(torch.where(kinds.bool(), config.image_token_id, ids.cpu().clamp(max=config.image_token_id - 1)))
    if device == "cuda" and hasattr(ctypes.CDLL(None), "memscope_null_answer"):
        answer(grid, kinds, config.model_type)
    return {"input_ids": ids, "labels": ids, "mm_token_type_ids": kinds.to(device),
            "pixel_values": torch.zeros(grid.count * grid.patches, width, device=device), "image_grid_thw": grid.all().to(device)}


class Pictures:
    """The images of a batch, all of the size that the tower has."""

    def __init__(self, case, config):
        self.count, vision = case["batch"] * case["images"], config.vision_config
        patches = (vision.image_size // vision.patch_size) ** 2
        self.tokens = patches + (config.vision_feature_select_strategy == "full") if config.model_type == "llava" else config.mm_tokens_per_image

    kinds = Grid.kinds


def whole_inputs(case, config, device, ids):
    pictures, vision = Pictures(case, config), config.vision_config
    kinds = pictures.kinds(case["batch"], case["seq"])
    assert int(kinds.sum()) == pictures.count * pictures.tokens, "the images do not fit in the sequences"
    ids.data.copy_(torch.where(kinds.bool(), config.image_token_id, torch.where(ids.cpu() == config.image_token_id, 0, ids.cpu())))
    if device == "cuda":
        answer_whole(pictures, kinds, config.model_type)
    pixels = torch.zeros(pictures.count, vision.num_channels, vision.image_size, vision.image_size, device=device)
    beside = {} if config.model_type == "llava" else {"token_type_ids": kinds.to(device)}
    return {"input_ids": ids, "labels": ids, **beside, "pixel_values": pixels}


class PaddedPatches:
    """The images of a batch, all alike, as patches that are padded to the number that the published processors allow."""

    MOST_TOKENS = 280

    def __init__(self, case, config):
        from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size
        vision = config.vision_config
        self.count = case["batch"] * case["images"]
        self.pool = vision.pooling_kernel_size
        self.stored = self.MOST_TOKENS * self.pool ** 2
        width, height = case["image_size"]
        sides = get_aspect_ratio_preserving_size(height, width, vision.patch_size, self.stored, self.pool)
        self.rows, self.columns = (side // vision.patch_size for side in sides)
        self.tokens = self.rows * self.columns // self.pool ** 2

    kinds = Grid.kinds

    def places(self):
        """Column and row of each patch; -1 for padding."""
        grid = torch.meshgrid(torch.arange(self.columns), torch.arange(self.rows), indexing="xy")
        places = torch.full((self.count, self.stored, 2), -1)
        places[:, :self.rows * self.columns] = torch.stack(grid, dim=-1).reshape(-1, 2)
        return places


def padded_inputs(case, config, device, ids):
    patches, vision = PaddedPatches(case, config), config.vision_config
    kinds = patches.kinds(case["batch"], case["seq"])
    assert int(kinds.sum()) == patches.count * patches.tokens, "the images do not fit in the sequences"
    special = (config.image_token_id, config.video_token_id, config.audio_token_id)
    text = torch.where(torch.isin(ids.cpu(), torch.tensor(special)), 0, ids.cpu())
    ids.data.copy_(torch.where(kinds.bool(), config.image_token_id, text))
    if device == "cuda":
        answer_padded(patches, kinds)
    pixels = torch.zeros(patches.count, patches.stored, 3 * vision.patch_size ** 2, device=device)
    return {"input_ids": ids, "labels": ids, "mm_token_type_ids": kinds.to(device), "pixel_values": pixels,
            "image_position_ids": patches.places().to(device)}


def answer_padded(patches, kinds):
    from transformers import masking_utils
    from transformers.models.gemma4 import modeling_gemma4 as modeling
    tolist, skips = torch.Tensor.tolist, masking_utils._ignore_bidirectional_mask_sdpa

    def answered_list(tensor):
        made = tolist(tensor)
        return [patches.tokens] * patches.count if sys._getframe(1).f_code.co_name == "get_image_features" else made

    def answered_skip(*args, **kwargs):
        skips(*args, **kwargs)
        return patches.rows * patches.columns == patches.stored

    torch.Tensor.tolist, masking_utils._ignore_bidirectional_mask_sdpa = answered_list, answered_skip
    answer_tokens(modeling, patches, kinds)


def tower(model):
    return model.model.visual if hasattr(model.model, "visual") else model.model.vision_tower


def renew(model):
    """What the model keeps from step to step, made anew: the profiler knows only frees of what it saw being made."""
    for module in model.modules():
        if getattr(module, "rope_deltas", None) is not None:
            module.rope_deltas = module.rope_deltas.clone()


def windows_of(grid):
    """The lengths of the windows of Qwen2.5-VL's attention, without the empty ones."""
    from transformers import vision_utils
    if not hasattr(grid.config, "window_size"):
        return []
    window = vision_utils.get_vision_window_index(grid.all(), grid.merge, grid.config.window_size, grid.config.patch_size)[1]
    return (window[1:] - window[:-1]).tolist()


def answer(grid, kinds, family):
    """Answers what the model asks the device for; in each function, by its name."""
    modeling = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    host = grid.all()
    lengths = {"windows": windows_of(grid), "images": [grid.patches] * grid.count}
    tolist, item, unique, repeat = torch.Tensor.tolist, torch.Tensor.item, torch.unique_consecutive, torch.repeat_interleave
    arange = torch.arange
    def answered_list(tensor):
        made = tolist(tensor)
        asker = sys._getframe(1).f_code.co_name
        if not tensor.is_cuda:
            return made
        if tensor.dtype == torch.int32:  # of an attention
            return lengths["windows" if tensor.numel() == len(lengths["windows"]) else "images"]
        if tensor.dim() == 2:
            return host.tolist()
        if asker == "get_vision_position_ids":
            return [grid.merge] * grid.count
        if asker == "get_image_features":
            return [grid.tokens] * grid.count
        return kinds[tensor.storage_offset() // kinds.shape[1]].tolist() if asker == "get_rope_index" else made

    def answered_item(tensor):
        made = item(tensor)
        if tensor.is_cuda and sys._getframe(1).f_code.co_name == "get_vision_position_ids":
            return (1, grid.rows, grid.columns)[tensor.storage_offset() % 3]
        return made

    def answered_repeat(values, repeats):
        (repeats >= 0).all()  # as where the size is read
        asker = sys._getframe(1).f_code.co_name
        each = grid.patches if asker == "get_vision_interpolation_indices_and_weights" else 1
        return repeat(values, repeats, output_size=grid.count * each)

    def answered_arange(end, *args, **kwargs):  # of as many numbers as there are patches
        if isinstance(end, torch.Tensor):
            return saying(grid.count * grid.patches, ctypes.c_int64, arange, end, *args, **kwargs)
        return arange(end, *args, **kwargs)

    torch.Tensor.tolist, torch.Tensor.item = answered_list, answered_item
    torch.Tensor.prod = torch.Tensor.sum  # its kernel is compiled as it runs; a sum's result is as large
    torch.unique_consecutive = lambda values: saying(len(lengths["windows"]) + 1, ctypes.c_int64, unique, values)
    torch.repeat_interleave, torch.arange = answered_repeat, answered_arange
    answer_tokens(modeling, grid, kinds)


def saying(number, kind, function, *args, **kwargs):
    """Calls it while the null device answers what is read from it with that number."""
    say, value = ctypes.CDLL(None).memscope_null_answer, kind(number)
    say.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    say(ctypes.addressof(value), ctypes.sizeof(value))
    try:
        return function(*args, **kwargs)
    finally:
        say(None, 0)


def answer_tokens(modeling, images, kinds):
    """How many image tokens there are; and cuDNN's convolutions."""
    def nonzero(mask):  # of masked_select
        found = torch.empty(0, dtype=torch.int64, device=mask.device)
        of_tokens = mask.shape[:2] == kinds.shape  # else of the tokens that a tower can make of each image
        count = images.count * images.tokens * (mask.numel() // kinds.numel() if of_tokens else 1)
        return saying(count, ctypes.c_int32, torch.ops.aten.nonzero.out, mask, out=found)

    modeling.torch_compilable_check = lambda condition, _message: bool(condition)
    answer_tokens.library = torch.library.Library("aten", "IMPL")  # while it lives
    answer_tokens.library.impl("nonzero", nonzero, "CUDA")
    if torch.backends.cudnn.enabled:
        answer_tokens.library.impl("convolution", convolution, "CUDA")
        answer_tokens.library.impl("convolution_backward", convolution_backward, "CUDA")


def answer_whole(pictures, kinds, family):
    answer_tokens(importlib.import_module(f"transformers.models.{family}.modeling_{family}"), pictures, kinds)


def convolution(image, weight, *_):
    """In place of cuDNN's, which needs a GPU: of patches, each of which is one position of the result."""
    places = [side // kernel for side, kernel in zip(image.shape[2:], weight.shape[2:])]
    return image.new_empty(image.shape[0], weight.shape[0], *places)


def convolution_backward(grad, _image, weight, bias_sizes, *_):
    grad = grad.contiguous()  # while the others are made
    return None, weight.new_empty(weight.shape), weight.new_empty(bias_sizes) if bias_sizes else None
