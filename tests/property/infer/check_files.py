#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_files.py MEMSCOPE

Writes small models as safetensors files, in the forms that weights are stored in, and asks `memscope infer` about them: the types and
bytes that it reports must be those written, and the causes must sum to the difference from what is loaded. Files that contradict their
config.json, and headers that lie, must be refused in one sentence.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BITS = {"BF16": 16, "F16": 16, "F32": 32, "U8": 8, "I32": 32, "F8_E4M3": 8, "F4": 4}
CONFIG = {"model_type": "llama", "vocab_size": 128, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512, "torch_dtype": "bfloat16"}
MIXTRAL = dict(CONFIG, model_type="mixtral", num_local_experts=4, num_experts_per_tok=2)
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 64}
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
ATTENTION = {"self_attn.q_proj": [64, 64], "self_attn.k_proj": [32, 64], "self_attn.v_proj": [32, 64], "self_attn.o_proj": [64, 64]}
NORMS = {"input_layernorm": [64], "post_attention_layernorm": [64]}
MLP = {"mlp.gate_proj": [96, 64], "mlp.up_proj": [96, 64], "mlp.down_proj": [64, 96]}
EXPERTS = dict({"block_sparse_moe.gate": [4, 64]},
               **{f"block_sparse_moe.experts.{e}.{w}": s for e in range(4) for w, s in (("w1", [96, 64]), ("w2", [64, 96]), ("w3", [96, 64]))})


def model(kind="BF16", layers=2, head=True, mlp=MLP):
    tensors = {"model.embed_tokens.weight": (kind, [128, 64])}
    for layer in range(layers):
        for name, shape in {**ATTENTION, **mlp, **NORMS}.items():
            tensors[f"model.layers.{layer}.{name}.weight"] = (kind, shape)
    tensors["model.norm.weight"] = (kind, [64])
    if head:
        tensors["lm_head.weight"] = (kind, [128, 64])
    return tensors


def stored_as(form):
    """The products of layers in another form: a function of name and shape gives the tensors in place of each."""
    tensors = {}
    for name, (kind, shape) in model().items():
        tensors.update(form(name[:-len(".weight")], shape) if "_proj" in name else {name: (kind, shape)})
    return tensors


def gptq(name, shape):
    rows, columns = shape
    groups = -(-columns // 64)
    return {f"{name}.qweight": ("I32", [columns // 8, rows]), f"{name}.qzeros": ("I32", [groups, rows // 8]),
            f"{name}.scales": ("F16", [groups, rows]), f"{name}.g_idx": ("I32", [columns])}


def fp8(name, shape):
    return {f"{name}.weight": ("F8_E4M3", shape), f"{name}.weight_scale_inv": ("F32", [1, 1])}


def nf4(name, shape):
    count = shape[0] * shape[1]
    return {f"{name}.weight": ("U8", [count // 2, 1]), f"{name}.weight.absmax": ("F32", [count // 64]),
            f"{name}.weight.quant_map": ("F32", [16]), f"{name}.weight.quant_state.bitsandbytes__nf4": ("U8", [80])}


def compressed(name, shape):
    rows, columns = shape
    return {f"{name}.weight_packed": ("I32", [rows, columns // 8]), f"{name}.weight_scale": ("BF16", [rows, 1]),
            f"{name}.weight_shape": ("I32", [2])}


def nvfp4(name, shape):
    rows, columns = shape
    return {f"{name}.weight": ("U8", [rows, columns // 2]), f"{name}.weight_scale": ("F8_E4M3", [rows, columns // 16]),
            f"{name}.weight_scale_2": ("F32", []), f"{name}.input_scale": ("F32", [])}


def without(tensors, *names):
    return {name: value for name, value in tensors.items() if name not in names}


def bytes_of(kind, shape):
    bits = BITS[kind]
    for length in shape:
        bits *= length
    return bits // 8


def header_of(tensors):
    at, header = 0, {"__metadata__": {"format": "pt"}}
    for name, (kind, shape) in tensors.items():
        end = at + bytes_of(kind, shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, end]}
        at = end
    return header, at


def write_raw(path, text, data_bytes, length=None):
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text) if length is None else length) + text)
        out.truncate(8 + len(text) + data_bytes)


def write(path, tensors):
    header, data_bytes = header_of(tensors)
    write_raw(path, json.dumps(header, separators=(",", ":")).encode(), data_bytes)


Q = "model.layers.1.self_attn.q_proj"
EXTRA = {"vision_tower.patch.weight": ("BF16", [64, 64]), "model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", [8]),
         "what.is.this": ("F32", [7])}
# a label; the config; tensors; types by role as (type, role): tensors; causes other than the engine's
GOOD = [
    ("as its config", CONFIG, model(), {("BF16", "weights"): 21}, {}),
    ("fp32, loaded as bf16", CONFIG, model("F32"), {("F32", "weights"): 21}, {"type": -156288}),
    ("fp32, as the config has no type", without(CONFIG, "torch_dtype"), model("F32"), {("F32", "weights"): 21}, {}),
    ("bf16, loaded as fp32", dict(CONFIG, torch_dtype="float32"), model(), {("BF16", "weights"): 21}, {"type": 156288}),
    ("a tied head that is stored", dict(CONFIG, tie_word_embeddings=True), model(),
     {("BF16", "weights"): 20, ("BF16", "other"): 1}, {"tied-head": -16384}),
    ("a tied head that is not", dict(CONFIG, tie_word_embeddings=True), model(head=False), {("BF16", "weights"): 20}, {}),
    ("tensors of other models", CONFIG, {**model(), **EXTRA}, {("BF16", "weights"): 21, ("BF16", "other"): 1, ("F32", "other"): 2},
     {"vision": -8192, "made": -32, "extra": -28}),
    ("a mixture", MIXTRAL, model(mlp=EXPERTS), {("BF16", "weights"): 41}, {}),
]
# the same for llama.cpp, which converts them
PACKED = [
    ("GPTQ", dict(CONFIG, quantization_config=GPTQ), stored_as(gptq),
     {("BF16", "weights"): 7, ("I32", "packed"): 14, ("I32", "scales"): 28, ("F16", "scales"): 14}),
    ("blocks of fp8", dict(CONFIG, quantization_config=FP8), stored_as(fp8),
     {("BF16", "weights"): 7, ("F8_E4M3", "packed"): 14, ("F32", "scales"): 14}),
    ("bitsandbytes", dict(CONFIG, quantization_config=NF4), stored_as(nf4),
     {("BF16", "weights"): 7, ("U8", "packed"): 14, ("U8", "scales"): 14, ("F32", "scales"): 28}),
    ("compressed-tensors", CONFIG, stored_as(compressed),
     {("BF16", "weights"): 7, ("I32", "packed"): 14, ("BF16", "scales"): 14, ("I32", "scales"): 14}),
    ("nvfp4", CONFIG, stored_as(nvfp4),
     {("BF16", "weights"): 7, ("U8", "packed"): 14, ("F8_E4M3", "scales"): 14, ("F32", "scales"): 28}),
]
# a label; the config; tensors; words of the sentence
CONTRADICTIONS = [
    ("a layer too few", CONFIG, model(layers=1), f"the model of config.json has {Q}.weight, which is not stored, nor are 8 others"),
    ("a layer too many", CONFIG, model(layers=3), "belongs to layer 2, counted from 0, but config.json has num_hidden_layers 2"),
    ("another shape", CONFIG, {**model(), Q + ".weight": ("BF16", [64, 32])}, "is 64 x 32 of BF16, but the model of config.json has 64 x 64"),
    ("another rank", CONFIG, {**model(), "model.norm.weight": ("BF16", [8, 8])}, "is 8 x 8 of BF16, but the model of config.json has 64 there"),
    ("packed for another width", dict(CONFIG, quantization_config=GPTQ), {**stored_as(gptq), Q + ".qweight": ("I32", [9, 64])},
     "is 9 x 64 of I32, but the model of config.json has 64 x 64"),
    ("no head", CONFIG, model(head=False), "has lm_head.weight, which is not stored"),
    ("no tensor", CONFIG, {}, "has model.embed_tokens.weight, which is not stored, nor are 20 others"),
    ("an expert too few", MIXTRAL, without(model(mlp=EXPERTS), "model.layers.0.block_sparse_moe.experts.3.w2.weight"),
     "of model.layers.0.mlp.experts.down_proj, which the model of config.json has, only 18432 of 24576 weights are stored"),
    ("an expert too many", MIXTRAL, {**model(mlp=EXPERTS), "model.layers.0.block_sparse_moe.experts.4.w2.weight": ("BF16", [64, 96])},
     "belongs to expert 4, counted from 0, but the model of config.json has 4 there"),
    ("experts of another width", dict(MIXTRAL, intermediate_size=128), model(mlp=EXPERTS),
     "is 96 x 64 of BF16, but the model of config.json has 128 x 64"),
]
U8 = '"%s":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}'
# a label; the header; bytes that follow it; its length as the file has it, or None; words of the sentence
LIES = [
    ("a length of 2^63", b"{}", 0, 1 << 63, "its header would be longer than the file"),
    ("a length of 2^64 - 1", b"{}", 0, (1 << 64) - 1, "its header would be longer than the file"),
    ("a length of 17 MiB", b"{}", 32 << 20, 17 << 20, "larger than 16 MiB"),
    ("no length", b"", 0, 0, "it is not a safetensors file"),
    ("overlapping tensors", ("{" + U8 % ("a", 4, 0, 4) + "," + U8 % ("b", 4, 2, 6) + "}").encode(), 6, None, "it begins at byte 2"),
    ("a name twice", ("{" + U8 % ("a", 1, 0, 1) + "," + U8 % ("a", 1, 1, 2) + "}").encode(), 2, None, "twice"),
    ("no UTF-8", b'{"\xff":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1, None, "not UTF-8"),
    ("truncated", b'{"a":{"dtype":"U8","shape":[1],"data_off', 0, None, "the text ends inside a string"),
    ("tensors past the end", ("{" + U8 % ("a", 9, 0, 9) + "}").encode(), 4, None, "expected a whole number from 0 to 4"),
    ("an unknown type", b'{"a":{"dtype":"F5","shape":[1],"data_offsets":[0,1]}}', 1, None, "not supported"),
    ("a shape past 64 bits", b'{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}', 0, None, "2^64"),
    ("deep", b'{"a":' * 100, 0, None, "nest"),
]


def run(binary, path, *words):
    return subprocess.run([binary, "infer", str(path), "--context", "64", *words], capture_output=True, text=True)


def check_good(binary, folder, engine, kinds, causes, validate, bytes_written):
    done = run(binary, folder, "--engine", engine, "--format", "json")
    if done.returncode != 0:
        return [done.stderr]
    stored = json.loads(done.stdout)["stored"]
    validate(json.loads(done.stdout))
    bad = []
    found = {(t["type"], t["role"]): t["tensors"] for t in stored["types"]}
    said = {d["cause"]: d["bytes"] for d in stored["differences"]}
    if found != kinds:
        bad.append(f"types: {found}, and {kinds} were written")
    if stored["bytes"] != bytes_written or sum(t["bytes"] for t in stored["types"]) != bytes_written:
        bad.append(f"bytes: {stored['bytes']}, and {bytes_written} were written")
    if stored["loaded_bytes"] - stored["bytes"] != sum(said.values()):
        bad.append(f"the causes {said} do not sum to {stored['loaded_bytes']} - {stored['bytes']}")
    rest = said.pop("engine", 0)
    if causes is not None and (said != causes or not 0 <= rest < 4096):
        bad.append(f"causes: {said} and {rest}, expected {causes}")
    return bad


def check_refusal(binary, path, words):
    done = run(binary, path)
    lines = done.stderr.splitlines()
    is_good = done.returncode == 2 and not done.stdout and words in done.stderr and lines and str(path) in lines[0]
    return [] if is_good else [f"exit {done.returncode}: {done.stderr}, expected '{words}'"]


def write_model(folder, config, tensors, as_files=1):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    if as_files == 1:
        write(folder / "model.safetensors", tensors)
        return
    places, names = {}, list(tensors)
    for i in range(as_files):
        name = f"model-{i + 1:05d}-of-{as_files:05d}.safetensors"
        write(folder / name, {n: tensors[n] for n in names[i::as_files]})
        places.update({n: name for n in names[i::as_files]})
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))


def check_forms(binary, folder):
    """A folder, a file, an index, and files without one say the same; a config.json alone has no files."""
    write_model(folder, CONFIG, model(), 3)
    answers = [run(binary, path, "--engine", "hf", "--format", "json").stdout for path in (folder, folder / "model.safetensors.index.json")]
    (folder / "model.safetensors.index.json").unlink()
    answers.append(run(binary, folder, "--engine", "hf", "--format", "json").stdout)
    stored = [json.loads(a).get("stored") for a in answers]
    bad = [] if stored[0] and stored[0]["files"] == 3 and all(s == stored[0] for s in stored) else [f"{stored}"]
    alone = json.loads(run(binary, folder / "config.json", "--engine", "hf", "--format", "json").stdout)
    return bad + ([] if "stored" not in alone else ["config.json alone has files"])


def validator():
    try:
        import jsonschema
    except ImportError:
        return lambda answer: None
    schema = json.loads((ROOT / "schemas" / "infer.schema.json").read_text())
    return lambda answer: jsonschema.validate(answer, schema)


def main():
    binary, validate, passed, failed = sys.argv[1], validator(), 0, 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("BUILD", ".")) as top:
        top = pathlib.Path(top)
        results = []
        for i, (label, config, tensors, kinds, causes) in enumerate(GOOD + [row + (None,) for row in PACKED]):
            write_model(top / f"good{i}", config, tensors)
            written = sum(bytes_of(*t) for t in tensors.values())
            engine = "llama.cpp" if causes is None else "hf"
            results.append((label, check_good(binary, top / f"good{i}", engine, kinds, causes, validate, written)))
        for i, (label, config, tensors, words) in enumerate(CONTRADICTIONS):
            write_model(top / f"bad{i}", config, tensors)
            results.append((label, check_refusal(binary, top / f"bad{i}", words)))
        for i, (label, header, data_bytes, length, words) in enumerate(LIES):
            write_model(top / f"lie{i}", CONFIG, {})
            write_raw(top / f"lie{i}" / "model.safetensors", header, data_bytes, length)
            results.append((label, check_refusal(binary, top / f"lie{i}" / "model.safetensors", words)))
        results.append(("forms of a path", check_forms(binary, top / "forms")))
        (top / "alone").mkdir()
        write(top / "alone" / "model.safetensors", model())
        results.append(("no config", check_refusal(binary, top / "alone" / "model.safetensors", "need their model's config.json")))
        for label, bad in results:
            passed, failed = passed + (not bad), failed + bool(bad)
            for text in bad:
                print(f"{label}: {text}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
