#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure one steady-state training step of a Hugging Face model, phase by phase.

usage: measure_step.py CASES.json OUT.json [--device cpu|cuda] [--only SUBSTRING] [--events DIR [--stacks]]

cpu:  raw bytes asked of the CPU allocator, from the profiler's allocation events of the third step; no rounding, no pools.
cuda: torch.cuda memory statistics of the third step (allocated = block bytes, reserved = segment bytes), each case in a
      process of its own, so that the caching allocator starts empty; with --events DIR also the allocator's own
      event list (action, size, address, stream) of that step, as gzip JSON; --stacks adds who asked: the ATen
      operator, the autograd node (in backward), the innermost Python frames.
CASES.json is a list of cases, or a file this program wrote, whose cases are measured again. "treat" in a case: see treatments.py;
"optimizer": see optimizers.py; "optimizer_device": "host": see host_optimizer.py; "parameter_device": "host": see host_parameters.py.
"backend": the one kernel of scaled_dot_product_attention that may run.
"empty_cache_steps": the cache is emptied between forward and backward of every so many steps, as Trainer's torch_empty_cache_steps does.
"eval_batch", "eval_logits": see evaluation.py.
"label_smoothing", "logits_to_keep": see losses.py; "grad_accumulation_dtype": see fp32_gradients.py.
"liger": see liger.py.
"compile": "whole" is torch.compile(model), "layer" compiles each decoder layer, both with "mode"; Inductor's cache is then empty.
"collector": "phases": Python collects cycles before each phase alone, as what lies in them is freed at moments that hang on
everything else that the process has made: compiling leaves 100 MB there.
"experts" is the framework's experts_implementation; "routing": see routing.py.
An encoder with a decoder has as many tokens on both sides, or "source" on the encoder's.
"images", "image_size": see images.py.
"padding": "ones" passes an attention mask of ones, "yes" one whose last row's last token is masked.
"build": "host" builds the model there and moves it, with its adapter, "host-base" adds that on the device.
"cudnn": false: PyTorch's own convolutions, as cuDNN's need a GPU. The config's "architectures" names the class; without it is the causal language model.
Needs torch, transformers, and peft for LoRA cases. Weights are random: no download.
"""
import argparse, contextlib, gc, gzip, json, multiprocessing, os, re, shutil, sys, tempfile, traceback, warnings

warnings.filterwarnings("ignore")
import losses
import torch
import transformers
from torch.profiler import ProfilerActivity, profile, record_function
from transformers import AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def answer_value_questions(case=None):
    """Our batches are never packed, and padded where the case says so; answer that where transformers asks the device for it.

    The original functions still run, so their allocations stay; on a real device the answers are the same. While a program
    is traced to be compiled transformers cannot ask, and takes a batch for a packed one: nothing is answered then.
    """
    from transformers import masking_utils
    case = case or {}
    is_whole = case.get("padding") != "yes"
    for name, answer in (("find_packed_sequence_indices", None), ("fast_all", is_whole)):
        if hasattr(masking_utils, name):
            setattr(masking_utils, name, answering(getattr(masking_utils, name), answer))
    if case.get("padding"):
        answer_all(case, is_whole)


def answer_all(case, answer):
    """The same where a model asks mask.all(), or reads a mask of the batch in another way."""
    shapes, every = [(case["batch"], case.get(key, case["seq"])) for key in ("seq", "source")], torch.Tensor.all

    def ask(self, *args, **kwargs):
        made = every(self, *args, **kwargs)
        return answer if self.shape in shapes and not args and not kwargs else made

    torch.Tensor.all = ask


def answering(function, answer):
    def ask(tensor):
        made = function(tensor)
        return made if torch.compiler.is_compiling() else answer

    return ask


def skip_compiled_kernels():
    """erfinv, as truncated normal distributions and Gemma 3n's MLP need it, is a kernel that is compiled while the program runs,
    which the null device cannot.

    It has no memory of its own beside the result, and values do not matter here.
    """
    torch.Tensor.erfinv_ = lambda tensor: tensor
    torch.erfinv = torch.empty_like


def cast(model, dtype):
    """As model.to(dtype), but parameters that the class keeps in fp32 stay as they were made, as from_pretrained leaves them."""
    kept = getattr(model, "_keep_in_fp32_modules_strict", None) or ()
    stays = {p.data_ptr() for name, p in model.named_parameters() if any(part in name for part in kept)}
    return model._apply(lambda t: t.to(dtype) if t.is_floating_point() and t.data_ptr() not in stays else t)


def untie_head(case):
    """T5's class ties its head whatever the config says, but from_pretrained() keeps a checkpoint's own one apart."""
    if case["config"]["model_type"] == "t5" and case["config"].get("tie_word_embeddings") is False:
        transformers.T5ForConditionalGeneration._tied_weights_keys.pop("lm_head.weight", None)


def build(case, device):
    untie_head(case)
    config = AutoConfig.for_model(**case["config"])
    config.use_cache = config.get_text_config().use_cache = False
    config._attn_implementation = case["attn"]
    if getattr(config, "audio_config", None) is not None:
        config.audio_config._attn_implementation = "eager"  # all that the classes of these towers have
    if case.get("experts"):
        config._experts_implementation = case["experts"]
    torch.manual_seed(0)
    torch.set_default_dtype(DTYPES[case["weights"]])
    is_moved = case.get("build", "device") != "device"
    with torch.device("cpu" if case.get("quantize") or is_moved else device):
        name = (config.architectures or [None])[0]
        model = getattr(transformers, name)._from_config(config) if name else AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(torch.float32)
    model = cast(model, DTYPES[case["weights"]])
    if case.get("quantize"):
        import quantized
        model = quantized.quantized(case, model, device)
    if case.get("build") == "host-base":
        model.to(device)
    if case.get("liger"):
        import liger
        liger.apply(model)
    if case.get("lora"):
        from peft import LoraConfig, get_peft_model
        lora = case["lora"]
        is_language_model = hasattr(model, "generate") and model.main_input_name == "input_ids"
        model = get_peft_model(model, LoraConfig(
            r=lora["r"], lora_alpha=16, target_modules=lora["targets"],
            lora_dropout=lora.get("dropout", 0.0), task_type="CAUSAL_LM" if is_language_model else None))
        if lora.get("adapter_dtype"):
            for p in model.parameters():
                if p.requires_grad:
                    p.data = p.data.to(DTYPES[lora["adapter_dtype"]])
    if case.get("adapter"):
        import peft
        kind = {"LORA": peft.LoraConfig, "IA3": peft.IA3Config}[case["adapter"]["peft_type"]]
        settings = {k: v for k, v in case["adapter"].items() if k != "peft_type"}
        model = peft.get_peft_model(model, kind(**settings, task_type="CAUSAL_LM"),
                                    autocast_adapter_dtype=case.get("adapter_dtype", "fp32") == "fp32")
    if is_moved:
        model.to(device)
    if case.get("freeze_vision"):
        import images
        images.tower(model.get_base_model() if case.get("lora") else model).requires_grad_(False)
    if case.get("checkpointing"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": bool(case.get("reentrant"))})
        if case.get("lora") or case.get("adapter"):
            model.enable_input_require_grads()
    if case.get("routing"):
        import routing
        routing.apply(model, case["routing"], case["batch"] * case["seq"], device)
    return model.train()


def build_on_host(case, device):
    """The model, of which all but the layers goes to the device, and what brings the layers there for a while."""
    from host_parameters import HostParameters
    model = build(case, "cpu")
    return model, HostParameters(model, device)


def compiled(model, how, mode=None):
    if how == "whole":
        return torch.compile(model, mode=mode)
    for layer in next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList)):
        layer.compile(mode=mode)
    return model


def optimizer_of(case, model, at_home):
    params = [p for p in model.parameters() if p.requires_grad]
    name = case["optimizer"]
    if case.get("optimizer_device") == "host":
        from host_optimizer import HostOptimizer
        make = {"adamw_fused": torch.optim.AdamW, "sgd": torch.optim.SGD, "sgd_momentum": torch.optim.SGD}[name]
        more = {"adamw_fused": {}, "sgd": {"lr": 1e-3}, "sgd_momentum": {"lr": 1e-3, "momentum": 0.9}}[name]
        return HostOptimizer(params, lambda p: make(p, fused=True, **more), at_home)
    from optimizers import optimizers_of
    return optimizers_of(case, model)


def storages(tensors):
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}


def with_mask(case, inputs):
    """The inputs, with an attention mask of the tokens' shape behind them."""
    if case.get("padding", "no") == "no":
        return inputs
    mask = torch.ones_like(inputs["input_ids"], device="cpu")
    if case["padding"] == "yes":
        mask[-1, -1] = 0
    return {"input_ids": inputs["input_ids"], "attention_mask": mask.to(inputs["input_ids"].device), **inputs}


def inputs_of(case, model, device):
    """The arguments of the model, with the labels of its class; pictures come in the weights' dtype."""
    config, name = model.config, type(model).__name__
    numbers = lambda end, *shape: torch.randint(0, end, shape, device=device)
    if name.endswith("ForImageClassification"):
        side = config.image_size if isinstance(config.image_size, (list, tuple)) else [config.image_size] * 2
        pixels = torch.zeros(case["batch"], config.num_channels, *side, dtype=DTYPES[case["weights"]], device=device)
        return {"pixel_values": pixels, "labels": numbers(config.num_labels, case["batch"])}
    if config.model_type == "whisper":
        frames = torch.zeros(case["batch"], config.num_mel_bins, 2 * config.max_source_positions, dtype=DTYPES[case["weights"]], device=device)
        return {"input_features": frames, "labels": numbers(config.vocab_size, case["batch"], case["seq"])}
    if config.is_encoder_decoder:
        ids = numbers(config.vocab_size, case["batch"], case.get("source", case["seq"]))
        return {"input_ids": ids, "labels": numbers(config.vocab_size, case["batch"], case["seq"])}
    ids = numbers(config.get_text_config().vocab_size, case["batch"], case["seq"])
    if name.endswith("ForSequenceClassification"):
        return {"input_ids": ids, "labels": numbers(config.num_labels, case["batch"])}
    if name.endswith("ForTokenClassification"):
        return {"input_ids": ids, "labels": numbers(config.num_labels, case["batch"], case["seq"])}
    if case.get("images"):
        import images
        return images.inputs(case, config, device, ids)
    if name.endswith("ForPreTraining"):
        return {"input_ids": ids, "labels": ids, "next_sentence_label": numbers(2, case["batch"])}
    return {"input_ids": ids, "labels": ids}


class Step:
    """The loop body whose memory is measured; `mark(name)` is entered around each phase."""

    def __init__(self, case, device):
        self.case, self.device, self.steps_done = case, device, 0
        if case.get("collector") == "phases":
            gc.disable()
        torch.backends.cudnn.enabled = case.get("cudnn", True)
        self.model, at_home = build_on_host(case, device) if case.get("parameter_device") == "host" else (build(case, device), None)
        if case.get("treat"):
            import treatments
            if (case.get("lora") or case.get("adapter")) and re.search("checkpoint(?!-)|selective", case["treat"]):
                self.model.enable_input_require_grads()  # as trainers do
            treatments.apply(self.model, case["treat"])
        self.optimizer = optimizer_of(case, self.model, at_home)
        self.fp32_gradients = None
        if case.get("grad_accumulation_dtype") == "fp32":
            from fp32_gradients import Fp32Gradients
            self.fp32_gradients = Fp32Gradients([p for p in self.model.parameters() if p.requires_grad])
        self.inputs = self.make_inputs()
        self.smoothing = losses.LabelSmoothing(self.model, case["label_smoothing"], self.inputs) if case.get("label_smoothing") else None
        if case.get("logits_to_keep"):
            self.inputs = losses.keep_logits(self.inputs, case["logits_to_keep"])
        if case.get("compile"):
            self.model = compiled(self.model, case["compile"], case.get("mode"))

    def make_inputs(self, batch=None):
        base = getattr(self.model, "get_base_model", lambda: self.model)()
        return with_mask(self.case, inputs_of({**self.case, **({"batch": batch} if batch else {})}, base, self.device))

    def loss(self):
        return self.model(**self.inputs).loss

    def autocast(self):
        return torch.autocast(self.device, dtype=DTYPES[self.case["autocast"]]) if self.case.get("autocast") else None

    def forward(self):
        if self.smoothing:
            return self.smoothing(self.inputs, self.autocast())
        with self.autocast() or contextlib.nullcontext():
            return self.loss()

    def outputs(self, inputs):
        """Loss and outputs as Trainer's compute_loss has them."""
        if self.smoothing:
            return self.smoothing.with_outputs(inputs, self.autocast())
        outputs = losses.trainer_outputs(self.model, inputs, self.autocast())
        return outputs.loss, outputs

    def evaluate(self, mark):
        from evaluation import Evaluation
        evaluation = Evaluation(self, self.case["eval_batch"], self.case.get("eval_logits"))
        with mark("evaluation"):
            evaluation.run()

    def collecting(self, mark):
        def begin(name):
            gc.collect()
            return mark(name)

        return begin

    def run(self, mark):
        if self.case.get("collector") == "phases":
            mark = self.collecting(mark)
        every = self.case.get("empty_cache_steps")
        empties = every and self.steps_done % every == 0
        self.steps_done += 1
        for _ in range(self.case.get("accumulate", 1)):
            with mark("forward"):
                loss = self.forward()
            with mark("backward"):
                if empties:
                    torch.cuda.empty_cache()
                loss.backward()
            del loss
        self.reached = {id(p) for p in self.model.parameters() if p.grad is not None}
        if self.fp32_gradients:
            self.reached |= {id(p) for p in self.fp32_gradients.buffers}
        if self.case.get("clip"):
            with mark("clip"):
                if self.fp32_gradients:
                    self.fp32_gradients.clip(1.0)
                else:
                    torch.nn.utils.clip_grad_norm_(self.with_gradients(), 1.0, foreach=True)
        with mark("optimizer"):
            if self.fp32_gradients:
                self.fp32_gradients.hand_over()
            self.optimizer.step()
        with mark("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)
            if self.fp32_gradients:
                self.fp32_gradients.zero()

    def with_gradients(self):
        if self.case.get("optimizer_device") == "host":
            return self.optimizer.with_gradients()
        return [p for p in self.model.parameters() if p.requires_grad]

    def static_figures(self):
        model, out = self.model, {}
        params = {id(p): p for p in model.parameters()}.values()
        weights, buffers = storages(params), storages(model.buffers())
        out["parameters"] = sum(p.numel() for p in params)
        if self.case.get("quantize"):
            import quantized
            weights.update(storages(quantized.tensors_beside(model)))
            out["parameters"] = quantized.count(model)
        out["trainable_parameters"] = sum(p.numel() for p in params if p.requires_grad)
        out["weight_bytes"] = sum(weights.values())
        out["buffer_bytes"] = sum(v for k, v in buffers.items() if k not in weights)
        stays = lambda p: p.untyped_storage().nbytes() > 0 and not self.case.get("in_backward")  # on the device between steps
        out["gradient_bytes"] = sum(p.numel() * p.element_size() for p in params if id(p) in self.reached and stays(p))
        out["gradient_bytes"] += self.fp32_gradients.bytes() if self.fp32_gradients else 0
        if self.case.get("optimizer_device") == "host":
            out["optimizer_state_bytes"] = 0  # on the device
            if "offload" not in self.case.get("treat", ""):  # what that sends is the host's too
                out["host_bytes"] = self.optimizer.host_bytes()
        else:
            out["optimizer_state_bytes"] = sum(storages(self.optimizer.device_tensors()).values())
            if self.optimizer.paged_bytes():
                out["host_bytes"] = self.optimizer.paged_bytes()
        keep, saved = [], {}
        skip = {t.untyped_storage()._cdata for t in (*params, *model.buffers())}

        def pack(t):
            s = t.untyped_storage()
            if s._cdata not in skip:
                saved[s.data_ptr()] = s.nbytes()
                keep.append(t)
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            loss = self.forward()
        out["saved_bytes"] = sum(saved.values())
        del loss, keep
        return out


def measure_cpu(case):
    answer_value_questions(case)
    step = Step(case, "cpu")
    quiet = lambda name: record_function("ph:" + name)
    step.run(quiet), step.run(quiet), gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as prof:
        if case.get("images"):
            import images
            images.renew(step.model)
        step.run(quiet)
    events, phases, stack = [], [], list(prof.profiler.kineto_results.experimental_event_tree())
    while stack:
        e = stack.pop()
        stack.extend(e.children)
        if e.tag.name == "Allocation":
            events.append((e.start_time_ns, e.extra_fields.alloc_size))
        elif e.name.startswith("ph:"):
            phases.append((e.start_time_ns, e.end_time_ns, e.name[3:]))
    events.sort(key=lambda e: e[0])
    if case.get("images"):
        events = [e for e in events if e[0] >= min(phases)[0]]
    out, live, i = {"phases": []}, 0, 0
    for _, end, name in sorted(phases):
        peak = live
        while i < len(events) and events[i][0] < end:
            live += events[i][1]
            peak = max(peak, live)
            i += 1
        out["phases"].append({"phase": name, "peak_bytes": peak, "end_bytes": live})
    out["transient_peak_bytes"] = max(p["peak_bytes"] for p in out["phases"])
    return {**out, **step.static_figures()}


class CudaMark:
    def __init__(self, name, phases):
        self.name, self.phases = name, phases

    def __enter__(self):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()

    def __exit__(self, *_):
        torch.cuda.synchronize()
        s = torch.cuda.memory_stats()
        self.phases.append({
            "phase": self.name,
            "peak_allocated_bytes": s["allocated_bytes.all.peak"], "end_allocated_bytes": s["allocated_bytes.all.current"],
            "peak_requested_bytes": s["requested_bytes.all.peak"], "end_requested_bytes": s["requested_bytes.all.current"],
            "peak_reserved_bytes": s["reserved_bytes.all.peak"], "end_reserved_bytes": s["reserved_bytes.all.current"],
            "inactive_split_bytes": s["inactive_split_bytes.all.current"]})


def frames_of(event):
    """Who allocated: [ATen operator, autograd node (backward) or "", innermost Python frames as 'file:line function']."""
    names = [f["name"] for f in event.get("frames", [])]
    first = lambda pattern: next((m.group(1) for m in (re.search(pattern, n) for n in names) if m), "")
    between = ("torch/_ops.py", "torch/_compile.py", "torch/_dynamo/eval_frame.py")  # a dispatch mode's (selective checkpointing)
    python = ["%s:%d %s" % (os.path.basename(f["filename"]), f["line"], f["name"]) for f in event.get("frames", [])
              if f["filename"].endswith(".py") and not f["filename"].endswith(between) and f["name"] != "__torch_dispatch__"]
    return [first(r"at::_ops::(\w+)::"), first(r"(\w+Backward\d+|AccumulateGrad)"), python[:3]]


def measure_cuda(case, events_path, stacks=False):
    torch.cuda.init()
    answer_value_questions(case)
    skip_compiled_kernels()
    free0, total = torch.cuda.mem_get_info()
    step, first, out = Step(case, "cuda"), [], {}
    out["after_build_allocated_bytes"] = torch.cuda.memory_allocated()
    step.run(lambda n: CudaMark(n, first))
    step.run(lambda n: CudaMark(n, []))
    gc.collect()
    out["start_allocated_bytes"] = torch.cuda.memory_allocated()
    if events_path:
        torch.cuda.memory._record_memory_history(context="alloc" if stacks else None, stacks="all", max_entries=2_000_000)
    steady = []
    step.run(lambda n: CudaMark(n, steady))
    if events_path:
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        torch.cuda.memory._record_memory_history(enabled=None)
        with gzip.open(events_path, "wt") as f:
            json.dump([[e["action"], e["size"], e.get("addr", 0), e.get("stream", 0)] + ([frames_of(e)] if stacks else [])
                       for e in trace], f)
    if case.get("eval_batch"):
        evaluated = []
        step.evaluate(lambda n: CudaMark(n, evaluated))
        out["evaluation"] = evaluated[0]
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(), step.run(lambda n: CudaMark(n, [])), stop.record(), torch.cuda.synchronize()
    free1, _ = torch.cuda.mem_get_info()
    out.update(first_step_phases=first, phases=steady, step_ms=start.elapsed_time(stop),
               device_used_bytes=free0 - free1, device_total_bytes=total,
               peak_allocated_bytes=max(p["peak_allocated_bytes"] for p in steady),
               peak_reserved_bytes=max(p["peak_reserved_bytes"] for p in steady))
    return {**out, **step.static_figures()}


def child(case, args, pipe):
    if case.get("backend"):
        for name, allow in (("FLASH_ATTENTION", "flash"), ("EFFICIENT_ATTENTION", "mem_efficient"), ("MATH", "math"), ("CUDNN_ATTENTION", "cudnn")):
            getattr(torch.backends.cuda, f"enable_{allow}_sdp")(name == case["backend"])
    cache = tempfile.mkdtemp()
    if case.get("compile"):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    try:
        path = args.events and os.path.join(args.events, case["id"].replace("/", "_") + ".json.gz")
        pipe.send(measure_cuda(case, path, args.stacks) if args.device == "cuda" else measure_cpu(case))
    except Exception:
        traceback.print_exc(limit=3)
        pipe.send({"error": "".join(traceback.format_exception_only(*sys.exc_info()[:2])).strip()})
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("cases"), ap.add_argument("out")
    ap.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    ap.add_argument("--only", default=""), ap.add_argument("--events", default=""), ap.add_argument("--stacks", action="store_true")
    args = ap.parse_args()
    if args.events:
        os.makedirs(args.events, exist_ok=True)
    results = []
    context = multiprocessing.get_context("fork")
    cases = json.load(open(args.cases))
    for case in cases["cases"] if isinstance(cases, dict) else cases:
        if args.only not in case["id"]:
            continue
        parent, pipe = context.Pipe()
        if case.get("alloc_conf"):
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["alloc_conf"]
        else:
            os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
        worker = context.Process(target=child, args=(case, args, pipe))
        worker.start()
        pipe.close()  # so that a process that dies is noticed
        try:
            measured = parent.recv() if parent.poll(300) else {"error": "no answer in 300 s"}
        except EOFError:
            measured = {"error": "the process died"}
        worker.join(5)
        if worker.is_alive():
            worker.kill()
        results.append({**case, "measured": measured})
        print(case["id"], measured.get("error") or {k: measured[k] for k in measured if k.endswith("peak_bytes") or k.startswith("peak_")}, file=sys.stderr, flush=True)
        meta = {"torch": torch.__version__, "transformers": transformers.__version__, "device": args.device}
        if args.device == "cuda":
            meta["command"] = "measure_step.py --device cuda"
        json.dump({**meta, "cases": results}, open(args.out, "w"), indent=1)


if __name__ == "__main__":
    main()
