#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random training runs as users write them, captured and predicted.

  user_runs.py draw SEED COUNT RUNS.json
  memscope capture --device a100-80gb --steps 3 --out DIR -- python user_runs.py measure RUNS.json RESULTS
  user_runs.py compare MEMSCOPE RESULTS|FILE.json [--table FILE.json]

Plain loops over a DataLoader, transformers' Trainer and TRL's SFTTrainer; small models of random shapes, built on the host, loaded
from a folder or made on the device; LoRA, DoRA, QLoRA; batches padded, with a mask of ones, or without one. `measure` has everything
imported once and runs each in a fork, which has the figures of a capture of its own; RESULTS has one file for each run and is taken up
where it ended. `compare` asks memscope as a user would, a Trainer's run by its arguments, and prints what differs.

Needs torch, transformers, peft, trl, accelerate and, for QLoRA, bitsandbytes.
"""
import collections
import gc
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

FAMILIES = ["llama", "llama", "qwen2", "qwen2", "qwen3", "qwen3", "gemma3_text", "mistral", "gpt2", "phi3", "mixtral", "gemma2", "olmo2",
            "granite", "gpt_neox", "smollm3", "qwen3_moe"]
CLASSIFIERS = {"bert": "Bert", "roberta": "Roberta", "distilbert": "DistilBert", "modernbert": "ModernBert", "llama": "Llama", "qwen2": "Qwen2"}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
TARGETS = {"gpt2": ["c_attn"], "phi3": ["qkv_proj", "o_proj"], "gpt_neox": ["query_key_value"], "bert": ["query", "value"],
           "roberta": ["query", "value"], "distilbert": ["q_lin", "v_lin"], "modernbert": ["Wqkv"]}
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}

# ---- draw ----


def draw_config(pick, task):
    family = pick(*(CLASSIFIERS if task == "cls" else FAMILIES))
    width, heads, layers = pick(32, 64, 64, 64, 80, 128), pick(2, 4, 6, 8), pick(2, 3, 4, 6)
    vocab, hidden = pick(5000, 8192, 12345, 32000, 50257, 64000), pick(256, 320, 384, 520, 512, 768)
    inner = pick(hidden * 2, hidden * 3, 688, 1000, 1376)
    if family == "distilbert":
        return {"model_type": family, "dim": heads * width, "hidden_dim": inner, "n_layers": layers, "n_heads": heads, "vocab_size": vocab}
    if family == "gpt2":
        return {"model_type": family, "n_embd": heads * width, "n_layer": layers, "n_head": heads, "vocab_size": vocab}
    config = {"model_type": family, "hidden_size": heads * width, "intermediate_size": inner, "num_hidden_layers": layers,
              "num_attention_heads": heads, "vocab_size": vocab}
    if family == "modernbert":
        config.update(TOKENS, cls_token_id=1, sep_token_id=1)
    if family in ("bert", "roberta", "modernbert"):
        return config
    config.update(TOKENS)
    if family != "gpt_neox":
        config["num_key_value_heads"] = pick(*[k for k in (1, 2, 4, heads) if heads % k == 0])
    if family not in ("qwen2", "phi3", "olmo2", "granite", "smollm3", "gpt_neox"):
        config.update(hidden_size=hidden, head_dim=width)
    if family in ("llama", "qwen2", "qwen3", "mistral", "granite", "mixtral"):
        config["tie_word_embeddings"] = pick(True, False)
    if family == "mixtral":
        config.update(num_local_experts=4, num_experts_per_tok=2)
    if family == "qwen3_moe":
        config.update(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=pick(128, 256), decoder_sparse_step=1)
    if family in ("gemma2", "gemma3_text", "mistral"):
        config["sliding_window"] = pick(64, 256, 4096)
    return config


def draw_adapter(rng, pick, family, kind, task):
    if rng.random() >= 0.45:
        return None
    is_mixture = family in ("mixtral", "qwen3_moe")
    every = ["q_proj", "k_proj", "v_proj", "o_proj"] + ([] if is_mixture else ["gate_proj", "up_proj", "down_proj"])
    targets = TARGETS.get(family) or pick(["q_proj", "v_proj"], every[:4], every)
    quantized = rng.random() < 0.3 and not is_mixture and family != "gpt2" and task == "causal" and kind != "sft"
    return {"r": pick(4, 8, 12, 16, 64), "targets": targets, "dropout": pick(0.0, 0.0, 0.05), "dora": not quantized and rng.random() < 0.3,
            "quant": pick("nf4", "nf4:double") if quantized else None}


def draw_loop(rng, pick, run):
    run["make"] = pick("host", "host", "pretrained", "device")
    mode = pick("bf16", "bf16", "autocast", "autocast", "fp32", "fp16-autocast")
    run["weights"] = "bf16" if mode == "bf16" else "fp32"
    run["autocast"] = {"autocast": "bf16", "fp16-autocast": "fp16"}.get(mode)
    if run["adapter"] and run["adapter"]["quant"]:
        run["weights"], run["autocast"] = "bf16", pick("bf16", None)
    run["optim"] = pick("adamw", "adamw", "adamw_fused", "adamw_foreach", "sgd", "sgdm")
    run["after_move"] = bool(run["adapter"]) and rng.random() < 0.3


def draw_trainer(rng, pick, run):
    run["make"], run["weights"] = pick("host", "pretrained"), pick("fp32", "fp32", "bf16")
    precision = pick("bf16", "bf16", "bf16", "none", "fp16") if run["weights"] == "fp32" else pick("bf16", "none")
    if run["adapter"] and run["adapter"]["quant"]:
        run["weights"], precision = "bf16", pick("bf16", "bf16", "none")
    args = {"per_device_train_batch_size": run["batch"]}
    if run["kind"] == "sft":
        run.update(padding=pick("padded", "none"), attn=None, weights="fp32", make="pretrained")
        precision = pick("bf16", "bf16", "none")
        args.update({} if precision == "bf16" else {"bf16": False}, max_length=run["seq"])
        args.update({} if run["checkpointing"] else {"gradient_checkpointing": False})
    else:
        args.update({} if precision == "none" else {precision: True})
        if run["checkpointing"]:
            args.update(gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False})
    run["autocast"] = None if precision == "none" else precision
    if run["accumulate"] > 1:
        args["gradient_accumulation_steps"] = run["accumulate"]
    optimizer = pick(None, None, "adamw_torch", "adafactor", "sgd")
    args.update({"optim": optimizer} if optimizer else {})
    args.update({"max_grad_norm": 0.0} if rng.random() < 0.3 else {})
    run["args"] = args


def draw_run(rng, seed, number):
    def pick(*values):
        return rng.choice(values)

    kind = pick("trainer", "trainer", "trainer", "loop", "loop", "loop", "sft")
    task = "causal" if kind == "sft" else pick("causal", "causal", "causal", "cls")
    config = draw_config(pick, task)
    family = config["model_type"]
    run = {"id": f"{seed}-{number:03d}-{kind}-{family}", "kind": kind, "task": task, "config": config,
           "adapter": draw_adapter(rng, pick, family, kind, task), "batch": pick(1, 2, 3, 4, 8), "seq": pick(64, 100, 127, 128, 256, 333, 512),
           "attn": "eager" if family == "gemma2" else pick(None, None, None, None, "sdpa", "eager"), "checkpointing": rng.random() < 0.3,
           "accumulate": pick(1, 1, 1, 2, 3), "padding": pick("padded", "padded", "ones", "none"), "side": pick("left", "right"),
           "clip": pick(None, 1.0)}
    (draw_loop if kind == "loop" else draw_trainer)(rng, pick, run)
    return run


def draw(seed, count, path):
    rng = random.Random(int(seed))
    with open(path, "w") as file:
        json.dump([draw_run(rng, seed, number) for number in range(int(count))], file, indent=1)


# ---- measure ----


def import_all(runs):
    """Before any device is used, as a fork cannot go on with one; libraries that only ask whether there is one are told so."""
    import torch
    torch.cuda.is_available, torch.cuda.device_count = (lambda: True), (lambda: 1)
    torch.cuda.get_device_capability = lambda *_: (8, 0)
    import accelerate, datasets, peft, safetensors.torch, torch.utils.data, transformers, trl  # noqa: E401, F401
    from transformers import Trainer  # noqa: F401
    from trl import SFTTrainer  # noqa: F401
    if any((run["adapter"] or {}).get("quant") for run in runs):
        import bitsandbytes  # noqa: F401
    transformers.logging.set_verbosity_error()


def tokenizer_of(side):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{i}": i + 3 for i in range(50)}}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<unk>")), pad_token="<pad>",
                                   eos_token="<eos>", unk_token="<unk>", padding_side=side)


def rows_of(run):
    rng = random.Random(1)
    rows = []
    for number in range(run["batch"] * run["accumulate"] * 8):
        length = max(4, run["seq"] - 1 - rng.randrange(run["seq"] // 2)) if run["padding"] == "padded" else run["seq"]
        row = {"input_ids": [rng.randrange(3, 50) for _ in range(length)]}
        if run["task"] == "cls":
            row["labels"] = number % 2
        elif run["padding"] == "none":
            row["labels"] = row["input_ids"]
        if run["padding"] != "none":
            row["attention_mask"] = [1] * length
        rows.append(row)
    return rows


def collator_of(run):
    from transformers import DataCollatorForLanguageModeling, DataCollatorWithPadding, default_data_collator
    if run["padding"] == "none":
        return default_data_collator
    if run["task"] == "cls":
        return DataCollatorWithPadding(tokenizer_of(run["side"]), padding="max_length", max_length=run["seq"])
    return DataCollatorForLanguageModeling(tokenizer_of(run["side"]), mlm=False, pad_to_multiple_of=run["seq"])


def model_of(run, folder):
    import torch
    from peft import prepare_model_for_kbit_training
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, BitsAndBytesConfig
    auto = AutoModelForSequenceClassification if run["task"] == "cls" else AutoModelForCausalLM
    config, dtype = AutoConfig.for_model(**run["config"]), getattr(torch, DTYPES[run["weights"]])
    more = {"attn_implementation": run["attn"]} if run["attn"] else {}
    quant = (run["adapter"] or {}).get("quant")
    if run["make"] == "pretrained" or quant:
        path = os.path.join(folder, "saved")
        auto.from_config(config, dtype=dtype).save_pretrained(path)
        gc.collect()
        if quant:
            more.update(device_map={"": 0}, quantization_config=BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=quant == "nf4:double",
                bnb_4bit_compute_dtype=torch.bfloat16))
        model = auto.from_pretrained(path, dtype=dtype, **more)
    elif run["make"] == "device":
        with torch.device("cuda"):
            model = auto.from_config(config, dtype=dtype, **more)
    else:
        model = auto.from_config(config, dtype=dtype, **more)
    model.config.use_cache = False
    if quant:
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=run["checkpointing"],
                                                gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def lora_of(run):
    from peft import LoraConfig
    adapter = run["adapter"]
    return LoraConfig(r=adapter["r"], lora_alpha=16, target_modules=adapter["targets"], lora_dropout=adapter["dropout"], use_dora=adapter["dora"],
                      bias="none", task_type="SEQ_CLS" if run["task"] == "cls" else "CAUSAL_LM", fan_in_fan_out=run["config"]["model_type"] == "gpt2")


def optimizer_of(run, parameters):
    import torch
    name, _, form = run["optim"].partition("_")
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-4, **({form: True} if form else {}))
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9 if name == "sgdm" else 0)


def loop(run, folder):
    import torch
    from peft import get_peft_model
    model, adapter = model_of(run, folder), run["adapter"]
    is_there = run["make"] == "device" or (adapter or {}).get("quant")
    if adapter and not run["after_move"]:
        model = get_peft_model(model, lora_of(run))
    if not is_there:
        model.cuda()
    if adapter and run["after_move"]:
        model = get_peft_model(model, lora_of(run))
    if run["checkpointing"] and not (adapter or {}).get("quant"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if adapter:
            model.enable_input_require_grads()
    parameters = [parameter for parameter in model.train().parameters() if parameter.requires_grad]
    optimizer = optimizer_of(run, parameters)
    loader = torch.utils.data.DataLoader(rows_of(run), batch_size=run["batch"], collate_fn=collator_of(run))
    dtype = getattr(torch, DTYPES[run["autocast"] or "bf16"])
    for number, batch in enumerate(loader):
        batch = {key: value.cuda() for key, value in batch.items()}
        with torch.autocast("cuda", dtype=dtype, enabled=bool(run["autocast"])):
            loss = model(**batch).loss
        if run["accumulate"] > 1:
            loss = loss / run["accumulate"]
        loss.backward()
        if (number + 1) % run["accumulate"] == 0:
            if run["clip"]:
                torch.nn.utils.clip_grad_norm_(parameters, run["clip"])
            optimizer.step()
            optimizer.zero_grad()


QUIET = {"max_steps": 6, "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_strategy": "no"}


def trainer(run, folder):
    from peft import get_peft_model
    from transformers import Trainer, TrainingArguments
    model = model_of(run, folder)
    if run["adapter"]:
        model = get_peft_model(model, lora_of(run))
    args = TrainingArguments(output_dir=os.path.join(folder, "out"), **QUIET, **run["args"])
    Trainer(model=model, args=args, train_dataset=rows_of(run), data_collator=collator_of(run)).train()


def sft(run, folder):
    import datasets
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from trl import SFTConfig, SFTTrainer
    path = os.path.join(folder, "saved")
    AutoModelForCausalLM.from_config(AutoConfig.for_model(**run["config"]), dtype=torch.bfloat16).save_pretrained(path)
    gc.collect()
    args = SFTConfig(output_dir=os.path.join(folder, "out"), **QUIET, **run["args"])
    rows = datasets.Dataset.from_list([{"input_ids": row["input_ids"]} for row in rows_of(run)])
    SFTTrainer(model=path, args=args, train_dataset=rows, processing_class=tokenizer_of("right"),
               peft_config=lora_of(run) if run["adapter"] else None).train()


def in_fork(run, folder):
    """The capture that follows this process follows the fork instead; it ends when enough steps are done."""
    from memscope_torch import capture
    following = capture.current()
    following.pid, following.folder, following.tracer.is_on = os.getpid(), folder, True
    try:
        {"loop": loop, "trainer": trainer, "sft": sft}[run["kind"]](run, folder)
    except SystemExit:
        pass
    except BaseException:
        with open(os.path.join(folder, "error.txt"), "w") as file:
            file.write(traceback.format_exc())
    finally:
        sys.stdout.flush()
        os._exit(0)


def measured(run, folder, seconds=300):
    pid = os.fork()
    if pid == 0:
        in_fork(run, folder)
    until = time.time() + seconds
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.time() > until:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            break
        time.sleep(0.05)
    reports = [path for path in glob.glob(os.path.join(folder, "*.json")) if "stepped" in path]
    if reports:
        with open(reports[0]) as file:
            report = json.load(file)
        return {"summary": report["summary"], "phases": report["phases"], "step": report["step"]}
    error = os.path.join(folder, "error.txt")
    return {"error": open(error).read() if os.path.exists(error) else "it ended without a step"}


def measure(path, results):
    with open(path) as file:
        runs = json.load(file)
    import_all(runs)
    os.makedirs(results, exist_ok=True)
    for run in runs:
        out = os.path.join(results, run["id"] + ".json")
        if os.path.exists(out):
            continue
        folder = tempfile.mkdtemp()
        found = measured(run, folder)
        with open(out, "w") as file:
            json.dump({"run": run, "measured": found}, file)
        shutil.rmtree(folder, ignore_errors=True)
        print(run["id"], found["summary"]["peak_memory_bytes"] if "summary" in found else found["error"].strip().split("\n")[-1][:200], flush=True)
    os._exit(0)


# ---- compare ----

PADDING = {"padded": "yes", "ones": "ones", "none": "no"}


def adapter_options(run, folder):
    adapter = run["adapter"]
    if not adapter:
        return []
    path = os.path.join(folder, "adapter_config.json")
    saved = {"modules_to_save": ["classifier", "score"]} if run["task"] == "cls" else {}
    with open(path, "w") as file:
        json.dump({"peft_type": "LORA", "r": adapter["r"], "lora_alpha": 16, "target_modules": adapter["targets"], "bias": "none",
                   "lora_dropout": adapter["dropout"], "use_dora": adapter["dora"], "task_type": "SEQ_CLS" if run["task"] == "cls" else "CAUSAL_LM",
                   **saved}, file)
    return ["--adapter", path] + (["--quantize", adapter["quant"]] if adapter["quant"] else [])


def loop_options(run):
    name, _, form = run["optim"].partition("_")
    is_loaded = run["make"] == "device" or (run["adapter"] or {}).get("quant")
    return ["--batch", str(run["batch"]), "--dtype", run["weights"], "--autocast", run["autocast"] or "none", "--accumulate",
            str(run["accumulate"]), "--checkpointing", "all" if run["checkpointing"] else "none", "--clip", str(run["clip"] or "none"),
            "--optimizer", {"sgdm": "sgd-momentum"}.get(name, name), "--optimizer-impl", form or "foreach", "--loop", "loader",
            "--build", "device" if is_loaded else "host"]


def command_of(memscope, run, folder):
    config = dict(run["config"], dtype=DTYPES[run["weights"]])
    if run["task"] == "cls":
        config["architectures"] = [CLASSIFIERS[config["model_type"]] + "ForSequenceClassification"]
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    command = [memscope, "analyze", "--config", os.path.join(folder, "config.json"), "--seq", str(run["seq"]), "--device", "a100-80gb",
               "--no-advice", "--format", "json", "-o", "-", "--padding", "ones" if run["kind"] == "sft" and run["padding"] == "none" else PADDING[run["padding"]],
               *adapter_options(run, folder)]
    command += ["--attention", "eager" if run["attn"] == "eager" else "auto"] if run["attn"] else []
    if run["kind"] == "loop":
        return command + loop_options(run)
    path = os.path.join(folder, "training_args.json")
    with open(path, "w") as file:
        json.dump({"output_dir": "out", **run["args"]}, file)
    return command + ["--training-args", path] + ([] if run["kind"] == "sft" else ["--dtype", run["weights"]])


def compared(memscope, record):
    """A row: how far the peak and what is reserved are off, or why there is none."""
    run, truth = record["run"], record["measured"]
    if "error" in truth:
        return {"id": run["id"], "not_measured": truth["error"].strip().split("\n")[-1][:160]}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command_of(memscope, run, folder), capture_output=True, text=True, check=False)
    if not done.stdout:
        return {"id": run["id"], "refused": done.stderr.strip().split("\n")[0][:200]}
    ours, theirs = json.loads(done.stdout)["summary"], truth["summary"]
    row = {"id": run["id"]}
    for name, member in (("peak", "peak_memory_bytes"), ("reserved", "reserved_memory_bytes")):
        row[name], row[name + "_off"] = theirs[member], ours.get("step_" + member, ours[member]) - theirs[member]
    row["run"] = {key: value for key, value in run.items() if value and key not in ("id", "kind", "task", "config", "side")}
    return row


def is_equal(row):
    return row.get("peak_off") == 0 and row.get("reserved_off") == 0


def groups_of(row):
    run = row.get("run", {})
    adapter = run.get("adapter") or {}
    yield row["id"].split("-")[2]
    yield run.get("padding")
    yield "adapter: " + ("dora" if adapter.get("dora") else adapter.get("quant") or ("lora" if adapter else "none"))
    yield "made: " + str(run.get("make"))


def print_rows(rows):
    counts = collections.Counter()
    for row in rows:
        if "run" not in row:
            print(row["id"], "refused: " + row["refused"] if "refused" in row else "not measured: " + row["not_measured"])
        elif not is_equal(row):
            print(row["id"], *(f"{name} {row[name + '_off']:+d} ({row[name + '_off'] / row[name]:+.3%})" for name in ("peak", "reserved")),
                  json.dumps(row["run"]) if os.environ.get("SHOW") else "")
        for group in groups_of(row) if "run" in row else ():
            counts[group, True] += is_equal(row)
            counts[group, False] += 1
    for group in sorted({group for group, _ in counts}):
        print(f"{group:24} {counts[group, True]:4} of {counts[group, False]}")


def records_of(results):
    """Of a folder that `measure` filled, or of a file that holds its records."""
    if os.path.isfile(results):
        with open(results) as file:
            return json.load(file)["runs"]
    records = []
    for path in sorted(glob.glob(os.path.join(results, "*.json"))):
        with open(path) as file:
            records.append(json.load(file))
    return records


def compare(memscope, results, *more):
    rows = [compared(memscope, record) for record in records_of(results)]
    print_rows(rows)
    if more and more[0] == "--table":
        with open(more[1], "w") as file:
            json.dump(rows, file, indent=1)
    known = [row for row in rows if "run" in row]
    low = [row for row in known if min(row[n + "_off"] / row[n] for n in ("peak", "reserved")) < -0.005]
    print(f"{len(known)} compared, {sum(map(is_equal, known))} equal to the byte in peak and reserved, {len(low)} too low by more than 0.5 %")


if __name__ == "__main__":
    {"draw": draw, "measure": measure, "compare": compare}[sys.argv[1]](*sys.argv[2:])
