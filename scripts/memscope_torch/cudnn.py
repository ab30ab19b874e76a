# SPDX-License-Identifier: GPL-3.0-or-later
"""cuDNN is off on the null device, and stays off: which of its kernels runs, and the workspace it asks for, only the library
knows, from the device that it runs on. PyTorch's own kernels do the same on the same tensors."""


# Kinds of modules of torch.nn that cuDNN runs on a device, and how far its figure and that of PyTorch's own kernels agree.
KINDS = [
    (("_ConvNd",), "convolutions ran by PyTorch's own kernels, which keep the same for backward as cuDNN; cuDNN's workspace while one runs is not in the figures"),
    (("RNNBase",), "recurrent layers ran by PyTorch's own kernels, which keep other tensors for backward than cuDNN: the figures of these layers are not a device's"),
]


def replaced(torch, roots):
    """Rows of the report's answers: modules that cuDNN would have run."""
    from . import members
    found = {id(module): module for root in roots for module in members.modules(root).values()}.values()
    out = []
    for names, assumes in KINDS:
        kinds = tuple(getattr(place, name) for place in (torch.nn.modules.conv, torch.nn.modules.rnn) for name in names if hasattr(place, name))
        count = sum(isinstance(module, kinds) for module in found)
        if count:
            out.append({"question": "cuDNN", "assumes": assumes, "count": count})
    return out


def switch_off(torch, notes):
    """`notes` gets a line when the program switches it on."""
    core, state = torch._C, {"attention": False}
    use_flash = core._set_sdp_use_flash

    def note(text):
        if text not in notes:
            notes.append(text)

    def set_enabled(on):
        if on:
            note("the program switches cuDNN on; it stayed off, and convolutions and recurrent layers used PyTorch's own kernels")

    def set_attention(on):
        state["attention"] = bool(on)
        if on:
            note("the program asks for cuDNN's attention; flash attention was used instead, which saves the same tensors")
            use_flash(True)

    core._set_cudnn_enabled(False)
    core._set_cudnn_enabled = set_enabled
    type(torch.backends.cudnn).__dict__["enabled"].setter = set_enabled
    if hasattr(core, "_set_sdp_use_cudnn"):
        core._set_sdp_use_cudnn(False)
        core._set_sdp_use_cudnn = set_attention
        core._set_sdp_use_flash = lambda on: use_flash(on or state["attention"])
