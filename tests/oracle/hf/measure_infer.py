#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures generations of transformers on CUDA (or the null device): cases.json and the files beside it.

usage: measure_infer.py CASES.json OUT.json [--only ID]

A case may have "quantize" (bitsandbytes), "gpu_layers" (accelerate) and "loop": "generate", or "read": one pass of an encoder; each runs in a
process of its own. "cudnn": see ../measure_step.py. Of an encoder with a decoder "prompt" is the source, after which the decoder begins with one
token; of Whisper, whose source is of one length, the decoder's first tokens.
With layers on the host, reserved bytes are the highest of a phase. PYTHONPATH must lead to bitsandbytes and accelerate.
"""
import functools, gc, json, os, multiprocessing, sys, types, traceback, warnings, logging
warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import torch, transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq, DynamicCache, StaticCache
from transformers.initialization import no_init_weights
transformers.logging.set_verbosity_error()
DT = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
import measure_step, quantized
asked = {"get_device_capability": (8, 0), "get_device_name": "null", "device_count": 1, "is_available": True}
real = {n: getattr(torch.cuda, n) for n in asked}  # importing bitsandbytes asks the device, and children are forked later
for n, v in asked.items(): setattr(torch.cuda, n, lambda *a, v=v: v)
import bitsandbytes
for n, f in real.items(): setattr(torch.cuda, n, f)
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None

def answers():
    from transformers import masking_utils as mu
    p, f = mu.find_packed_sequence_indices, mu.fast_all
    mu.find_packed_sequence_indices = lambda x: (p(x), None)[1]
    mu.fast_all = lambda t: (f(t), True)[1]
    torch.Tensor.erfinv_ = lambda tensor: tensor  # in place; its kernel is compiled as it runs

class Ones(torch.Tensor):
    """A mask of ones, which says so: generate() drops it then. What is made of it is a plain tensor."""
    __torch_function__ = torch._C._disabled_torch_function_impl
    def __eq__(self, number):
        is_equal = torch.Tensor.__eq__(self, number)
        return types.SimpleNamespace(all=lambda: (is_equal.all(), True)[1]) if number == 1 else is_equal

PEAK = False  # of reserved bytes, where they are given back during a pass

def stats(reset=True):
    torch.cuda.synchronize(); s = torch.cuda.memory_stats()
    r = {"allocated": s["allocated_bytes.all.current"], "peak_allocated": s["allocated_bytes.all.peak"], "reserved": s["reserved_bytes.all.peak" if PEAK else "reserved_bytes.all.current"]}
    if reset: torch.cuda.reset_peak_memory_stats()
    return r

def device_map_of(c, cfg, m):
    """The first layers on the device; those after them, and all that comes after layers, on the host; what is tied is beside its twin."""
    head, table, places = m.get_output_embeddings(), m.get_input_embeddings(), {}
    def walk(module, prefix, where):
        for name, child in module.named_children():
            path = f"{prefix}{name}"
            if isinstance(child, torch.nn.ModuleList) and len(child) == cfg.num_hidden_layers:
                places.update({f"{path}.{i}": 0 if i < c["gpu_layers"] else "cpu" for i in range(len(child))})
                where = 0 if c["gpu_layers"] > len(child) else "cpu"
            elif any(isinstance(x, torch.nn.ModuleList) and len(x) == cfg.num_hidden_layers for x in child.modules()): where = walk(child, path + ".", where)
            else: places[path] = 0 if child is head and child.weight is table.weight else where
        return where
    walk(m, "", 0)
    return places

def dispatched(c, cfg, m):
    from accelerate import dispatch_model
    m.tie_weights(); gc.collect()
    return dispatch_model(m, device_map_of(c, cfg, m), skip_keys=m._skip_keys_device_placement)

def made(cfg):
    """The class that the config names, or else the causal language model."""
    name = (cfg.architectures or [None])[0]
    auto = AutoModelForSeq2SeqLM if cfg.is_encoder_decoder and cfg.model_type != "whisper" else AutoModelForSpeechSeq2Seq if cfg.is_encoder_decoder else AutoModelForCausalLM
    return (getattr(transformers, name)._from_config(cfg) if name else auto.from_config(cfg)).eval()

def build(c):
    cfg = AutoConfig.for_model(**{k: v for k, v in c["config"].items() if k != "quantization_config"}); cfg._attn_implementation = c["attn"]
    torch.set_default_dtype(DT[c["weights"]])
    with no_init_weights(): m = made(cfg)
    torch.set_default_dtype(torch.float32)
    if "gpu_layers" in c: return cfg, dispatched(c, cfg, m)
    if "quantize" not in c:
        del m; torch.set_default_dtype(DT[c["weights"]])
        with torch.device("cuda"): m = made(cfg)
        torch.set_default_dtype(torch.float32)
        return cfg, m
    kind, _, double = c["quantize"].partition(":")
    m.tie_weights()
    if kind not in ("nf4", "fp4", "int8"): return cfg, quantized.quantized({**c, "upcast": False, "serves": True}, m, "cuda").eval()
    skip = [n for n, x in m.named_modules() if x is m.get_output_embeddings()]
    from transformers import BitsAndBytesConfig
    from transformers.integrations import replace_with_bnb_linear
    from transformers.pytorch_utils import Conv1D
    q = BitsAndBytesConfig(load_in_8bit=True, **c.get("bnb", {})) if kind == "int8" else BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=kind, bnb_4bit_use_double_quant=bool(double), bnb_4bit_compute_dtype=DT[c.get("compute_dtype", c["weights"])])
    from transformers.quantizers.quantizer_bnb_4bit import Bnb4BitHfQuantizer
    skip = Bnb4BitHfQuantizer(q).get_modules_to_not_convert(m, None, m._keep_in_fp32_modules)
    gc.collect()
    old = {n: x for n, x in m.named_modules()}
    replace_with_bnb_linear(m, modules_to_not_convert=skip, quantization_config=q)
    for n, x in m.named_modules():
        if x is not old[n]:
            w = old[n].weight.data
            if isinstance(old[n], Conv1D): w = w.T.contiguous()
            x.weight = type(x.weight)(w, requires_grad=False, **{k: v for k, v in x.weight.__dict__.items() if k not in ("CB", "SCB", "CxB")})
            x.bias = old[n].bias
    del old; gc.collect()
    return cfg, m.to("cuda").eval()

def packed_cache(c):
    """The arguments of a QuantizedCache."""
    names = {"nbits": "cache_bits", "q_group_size": "cache_group", "residual_length": "residual_length"}
    return {"backend": c["cache"], **{k: c[v] for k, v in names.items() if v in c}}

def cache_of(c, cfg):
    if c["cache"] == "static": return StaticCache(config=cfg, max_cache_len=c["prompt"] + c["generate"])
    if c["cache"] == "dynamic": return DynamicCache(config=cfg)
    from transformers import QuantizedCache
    if c["cache"] == "quanto":  # its extension is compiled on the machine that runs it: the result alone
        from optimum.quanto.library.extensions.cuda import ext
        ext._lib = types.SimpleNamespace(unpack=lambda t, bits: torch.empty(len(t) * (8 // bits), *t.shape[1:], dtype=t.dtype, device=t.device))
    return QuantizedCache(config=cfg, **packed_cache(c))

def generated(c, m, ids, out):
    """The same by generate(): a pass ends where the next begins."""
    marks, forward = [], type(m).forward
    @functools.wraps(forward)
    def marked(self, *args, **kwargs):
        marks.append(stats())
        if len(marks) == c["generate"] + 1: raise StopIteration  # the device cannot say that it ends
        return forward(self, *args, **kwargs)
    type(m).forward = marked
    m.generation_config.pad_token_id = m.generation_config.eos_token_id = None
    extra = {"bos_token_id": 1, "eos_token_id": 2}
    if c["cache"] not in ("dynamic", "static"): extra.update(cache_implementation="quantized", cache_config=packed_cache(c))
    mask = torch.ones_like(ids).as_subclass(Ones)
    try: m.generate(ids, attention_mask=mask, max_new_tokens=c["generate"] + 8, do_sample=bool(c.get("sample")), use_cache=True, **extra)
    except StopIteration: pass
    marks = marks[:c["generate"] + 1]
    out["prefill"] = marks[1]; out["decode_peak_allocated"] = max(x["peak_allocated"] for x in marks[2:]); out["end"] = marks[-1]
    return out

def convolved(self, x, weight, bias):
    """The result alone: cuDNN needs a GPU, and its workspace depends on which algorithm it finds to be the fastest."""
    width = (x.shape[-1] + 2 * self.padding[0] - self.kernel_size[0]) // self.stride[0] + 1
    return torch.empty(len(x), self.out_channels, width, dtype=x.dtype, device=x.device)

def translated(c, m, out):
    """The encoder once, and its result to the decoder of each pass, as generate() keeps it; the model makes the cache."""
    B, P, G = c["batch"], c["prompt"], c["generate"]
    is_sound = "num_mel_bins" in m.config.to_dict()
    torch.nn.Conv1d._conv_forward = convolved
    source = torch.randn(B, m.config.num_mel_bins, 2 * m.config.max_source_positions, device="cuda", dtype=DT[c["weights"]]) if is_sound else torch.randint(0, 100, (B, P), device="cuda")
    encoded = m.get_encoder()(source)
    nxt, cache, marks = torch.zeros(B, P if is_sound else 1, dtype=torch.int64, device="cuda"), None, []
    for i in range(G):
        o = m(encoder_outputs=encoded, decoder_input_ids=nxt, past_key_values=cache, use_cache=True)
        cache, following = o.past_key_values, o.logits[:, -1].argmax(-1, keepdim=True); del o
        nxt = following; del following
        marks.append(stats())
    out["prefill"] = marks[0]
    if G > 1: out["decode_peak_allocated"], out["end"] = max(x["peak_allocated"] for x in marks[1:]), marks[-1]
    return out

@torch.no_grad()
def run(c):
    if c.get("quantize", "").partition(":")[0] in ("gptq", "awq") and "allocator" not in c:  # as GPT-QModel sets it when it is imported
        os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True,max_split_size_mb:256,garbage_collection_threshold:0.7"
    torch.cuda.init(); answers(); torch.manual_seed(0); torch.backends.cuda.enable_cudnn_sdp(False)
    torch.backends.cudnn.enabled = c.get("cudnn", True)
    global PEAK
    PEAK = "gpu_layers" in c
    measure_step.untie_head(c)
    cfg, m = build(c)
    gc.collect()
    out = {"parameters": quantized.count(m) if "quantize" in c else sum(p.numel() for p in m.parameters()), "loaded": stats()}
    B, P, G = c["batch"], c["prompt"], c["generate"]
    if cfg.is_encoder_decoder and c.get("loop") != "generate": return translated(c, m, out)
    ids = torch.randint(0, 100, (B, P), device="cuda")
    if c.get("loop") == "read":  # an encoder's one pass
        o = m(input_ids=ids); del o
        return {**out, "prefill": stats()}
    cache = cache_of(c, cfg)
    if c.get("loop") == "generate": del cache; return generated(c, m, ids, out)
    name = "cache_params" if c["config"]["model_type"] in ("mamba", "mamba2") else "past_key_values"
    o = m(input_ids=ids, use_cache=True, logits_to_keep=1, **{name: cache})
    nxt = o.logits[:, -1].argmax(-1, keepdim=True); del o
    out["prefill"] = stats()
    peaks = []
    for i in range(G - 1):
        o = m(input_ids=nxt, use_cache=True, logits_to_keep=1, **{name: cache})
        nxt = o.logits[:, -1].argmax(-1, keepdim=True); del o
        peaks.append(stats())
    out["end"] = stats()
    if peaks: out["decode_peak_allocated"] = max(p["peak_allocated"] for p in peaks)
    if peaks and PEAK: out["end"]["reserved"] = max(p["reserved"] for p in peaks)
    return out

def child(c, pipe):
    try: pipe.send(run(c))
    except Exception: pipe.send({"error": traceback.format_exc(limit=-3)})

if __name__ == "__main__":
    ctx, res = multiprocessing.get_context("fork"), []
    for c in json.load(open(sys.argv[1])):
        if ONLY and ONLY not in c["id"]: continue
        a, b = ctx.Pipe(); w = ctx.Process(target=child, args=(c, b)); w.start(); b.close()
        try: m = a.recv() if a.poll(200) else {"error": "timeout"}
        except EOFError: m = {"error": "died"}
        w.join(5); w.is_alive() and w.kill()
        res.append({**c, "measured": m}); print(c["id"], m.get("error") or (m["loaded"]["allocated"], m["prefill"], m.get("decode_peak_allocated"), m.get("end")), file=sys.stderr, flush=True)
        json.dump({"torch": torch.__version__, "transformers": transformers.__version__, "cases": res}, open(sys.argv[2], "w"), indent=0)
