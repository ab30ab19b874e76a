#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure a Hugging Face decoder with a DynamicCache: a prompt, in one pass or several, and single tokens after it.

usage: generation.py CASES.json OUT.json [--only SUBSTRING] [--events DIR]

On CUDA or the null device; each case in a process of its own. No gradients; the logits of the last token alone, whose
argmax is the next token. The `run` of a case is a run file of memscope, its `tokens` those of each pass. `measured` has
allocated bytes: `loaded` when the model is made, then of each pass the `peak` and the `end`, when the next token's id is
there and the outputs are gone. With --events also every allocation and free, with the Python lines that asked.
"""
import argparse
import json
import multiprocessing
import os
import warnings

warnings.filterwarnings("ignore")
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def answer_value_questions():
    """What the masks ask of values: one sequence in each row, and no padding. The original code runs too."""
    from transformers import masking_utils

    packed, fast = masking_utils.find_packed_sequence_indices, masking_utils.fast_all
    masking_utils.find_packed_sequence_indices = lambda ids: (packed(ids), None)[1]
    masking_utils.fast_all = lambda tensor: (fast(tensor), True)[1]


def build(torch, case):
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.Tensor.erfinv_ = lambda self: self  # the null device runs no kernel that is compiled only now
    run = case["run"]
    config = AutoConfig.for_model(**run["model"])
    config._attn_implementation = run.get("attention", "sdpa")
    torch.set_default_dtype(getattr(torch, DTYPES[run["dtype"]]))
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config).eval()
    torch.set_default_dtype(torch.float32)
    return config, model


def write_events(torch, path):
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    with open(path, "w") as out:
        names, count = {}, 0
        for e in trace:
            if e["action"] not in ("alloc", "free_requested"):
                continue
            if e["action"] == "alloc":
                count += 1
                names[e["addr"]] = count
            where = [f"{os.path.basename(f['filename'])}:{f['line']} {f['name']}" for f in e.get("frames", [])
                     if f["filename"].endswith(".py")]
            print("+" if e["action"] == "alloc" else "-", e["size"], f"t{names.get(e['addr'], 0)}", *where[:4], sep="\t", file=out)


def measure(case, events):
    import torch
    import transformers
    from transformers import DynamicCache

    transformers.logging.set_verbosity_error()
    torch.cuda.init()
    answer_value_questions()
    torch.manual_seed(0)

    def figures():
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        torch.cuda.reset_peak_memory_stats()
        return {"peak": stats["allocated_bytes.all.peak"], "end": stats["allocated_bytes.all.current"]}

    with torch.no_grad():
        config, model = build(torch, case)
        result = {"loaded": figures()["end"], "passes": []}
        if events:
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=1_000_000)
        cache, prompts, token = DynamicCache(config=config), [], None
        for count in case["tokens"]:
            if token is None or count > 1:
                prompts.append(torch.randint(0, 100, (case["run"]["batch"], count), device="cuda"))
            out = model(
                input_ids=prompts[-1] if token is None or count > 1 else token,
                past_key_values=cache, use_cache=True, logits_to_keep=1,
            )
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            del out
            result["passes"].append(figures())
        if events:
            write_events(torch, events)
    return result


def run(case, events, pipe):
    try:
        pipe.send(measure(case, events))
    except Exception as error:  # noqa: BLE001
        pipe.send({"error": repr(error)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases"), parser.add_argument("out")
    parser.add_argument("--only", default=""), parser.add_argument("--events", default="")
    args = parser.parse_args()
    results, context = [], multiprocessing.get_context("spawn")
    with open(args.cases) as file:
        cases = [c for c in json.load(file)["cases"] if args.only in c["id"]]
    for case in cases:
        receiver, sender = context.Pipe()
        events = args.events and os.path.join(args.events, case["id"] + ".txt")
        worker = context.Process(target=run, args=(case, events, sender))
        worker.start(), sender.close()
        try:
            measured = receiver.recv()
        except EOFError:
            measured = {"error": "died"}
        worker.join()
        results.append({**{k: v for k, v in case.items() if k != "measured"}, "measured": measured})
        print(case["id"], measured.get("error") or measured["loaded"], measured.get("passes", [])[:3], flush=True)
    import torch
    import transformers

    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    with open(args.out, "w") as file:
        file.write(json.dumps(versions)[:-1] + ', "cases": [\n')
        file.write(",\n".join(json.dumps(result) for result in results) + "\n]}\n")


if __name__ == "__main__":
    main()
