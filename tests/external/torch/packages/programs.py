# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that come inside pip packages: how each is started, and what others measured of it on a real GPU."""
import dataclasses

LITGPT = ["--data", "JSON", "--data.json_path", "{folder}/data/instructions.json", "--data.val_split_fraction", "0.1", "--precision", "bf16-true",
          "--out_dir", "{out}"]
EVERYWHERE = ["--lora_key", "true", "--lora_projection", "true", "--lora_mlp", "true", "--lora_head", "true"]
FULL = ["optimizer._component_=torch.optim.AdamW", "optimizer_in_bwd=False"]
PLAIN = ["batch_size=2", "enable_activation_checkpointing=False", "enable_activation_offloading=False", "loss._component_=torch.nn.CrossEntropyLoss"]
TRL = ["--output_dir", "{out}", "--per_device_train_batch_size", "2", "--dtype", "bfloat16", "--report_to", "none", "--gradient_accumulation_steps", "1"]
SFT = ["--max_length", "1024", "--dataset_name", "{folder}/data/sft"]
QLORA = ["--use_peft", "--load_in_4bit", "--use_bnb_nested_quant", "--optim", "paged_adamw_8bit"]
REWARD = ["--dataset_name", "{folder}/data/preference", "--max_length", "4096"]  # it leaves out what is longer


@dataclasses.dataclass
class Program:
    name: str
    packages: str  # the first one brings the program; with a version where a special one is meant
    command: list
    published: tuple = None  # peak of a real GPU with the same setting: bytes, row of peaks.csv
    steps: int = 3  # 0: takes none
    reason: str = ""  # why its figure is no figure
    made: str = ""  # what was published of the memory allocated and reserved once the model was made
    options: tuple = ()  # of memscope capture
    settings: tuple = ()  # of the environment, as NAME=VALUE


def litgpt(command, model, length, batch, together, *more, package="litgpt"):
    """A training command; `together` sequences make an optimizer step."""
    return ["{python}", "-m", "litgpt", command, "{folder}/" + package + "/" + model, *LITGPT, "--train.max_seq_length", str(length),
            "--train.micro_batch_size", str(batch), "--train.global_batch_size", str(together), *more]


def hub_lora(title, model, rank, batch, figure, row, *more, package="litgpt"):
    """A row of litgpt's config_hub."""
    return Program("litgpt finetune_lora, " + title, package, litgpt("finetune_lora", model, 512, batch, 8, "--lora_r", str(rank), *more, package=package), (figure, row))


def hub_qlora(title, model, rank, batch, figure, row, *more):
    """The same with weights in four bits, by the kernels of bitsandbytes."""
    return Program("litgpt finetune_lora, nf4, " + title, "litgpt bitsandbytes",
                   litgpt("finetune_lora", model, 512, batch, 8, "--lora_r", str(rank), "--quantize", "bnb.nf4", *more), (figure, row))


# What was published of four bits was measured with bitsandbytes 0.42, which keeps other tensors than today's. It runs with torch 2.6 for
# CUDA 12. It imports triton.ops, which Triton 3.2 no longer has, for kernels in eight bits: an empty module of that name stands in.
FOUR_BITS = {"packages": "litgpt==0.4.10 bitsandbytes==0.42.0", "settings": ("BNB_CUDA_VERSION=123",)}


def four_bits(title, model, batch, length, figure, row, kind, rank, *more, steps=3):
    together = batch if steps == 1 else 8
    return Program(f"litgpt finetune_lora, 4 bits as published, {title}, {batch} x {length}" + (", first step" if steps == 1 else ""),
                   command=litgpt("finetune_lora", model, length, batch, together, "--lora_r", str(rank), "--quantize", "bnb." + kind, *more, package="litgpt==0.4.10"),
                   published=(figure, row), steps=steps, **FOUR_BITS)


def hub_full(title, model, figure, row):
    return Program(f"litgpt finetune_full, {title}, 4 x 512", "litgpt", litgpt("finetune_full", model, 512, 4, 8), (figure, row))


def first(command, title, model, batch, length, figure, row, *more, packages="litgpt"):
    """A row of litgpt's tables of 2023, whose longest batch was the first."""
    return Program(f"litgpt {command}, {title}, {batch} x {length}, first step", packages, litgpt(command, model, length, batch, batch, *more), (figure, row), 1)


def first_qlora(title, model, batch, length, figure, row, kind="nf4"):
    return first("finetune_lora", f"{kind}, {title}", model, batch, length, figure, row, "--quantize", "bnb." + kind, packages="litgpt bitsandbytes")


def generate(title, model, figure, row, precision="bf16-true", kind=""):
    """The prompt has as many tokens as the publisher's."""
    return Program(f"litgpt generate, {title}" + (", " + precision if "mixed" in precision else "") + (", " + kind if kind else ""), "litgpt" + (" bitsandbytes" if kind else ""),
                   ["{python}", "-m", "litgpt", "generate", "{folder}/litgpt/" + model, "--precision", precision, "--prompt", "Hello",
                    *(["--quantize", "bnb." + kind] if kind else [])], (figure, row), 0)


def adapter(command, title, model):
    return Program(f"litgpt {command}, {title}", "litgpt", litgpt(command, model, 512, 1, 2))


def torchtune(recipe, model, config, title, *more, package="torchtune", length=1024, **rest):
    return Program(f"torchtune {recipe}, {title}", package + " torchao", [
        "{python}", "-m", "torchtune._cli.tune", "run", recipe, "--config", config, "checkpointer.checkpoint_dir={folder}/" + model,
        "checkpointer.checkpoint_files=[pytorch_model.bin]", "tokenizer._component_=torchtune.models.llama3.llama3_tokenizer",
        "tokenizer.path={folder}/" + model + "/tokenizer.model", f"tokenizer.max_seq_len={length}", "dataset._component_=torchtune.datasets.instruct_dataset",
        "dataset.source=json", "dataset.data_files={folder}/data/instructions.json", "dataset.split=train", "dataset.column_map.input=instruction",
        "dataset.column_map.output=output", "gradient_accumulation_steps=1", "output_dir={out}", "checkpointer.output_dir={out}", *more], **rest)


def trl(script, *more, packages="trl", title="", model="Qwen2.5 0.5B", before=("{python}",), **rest):
    words = [*TRL, "--model_name_or_path", "{folder}/" + model.lower().replace(" ", "-")]
    return Program(f"trl {script}, {model}{title}", packages, [*before, "{site}/trl/scripts/" + script, *words, *more], **rest)


def timm(title, model, *more):
    """timm's train.py, of its repository; the package does not ship it."""
    return Program(f"timm train.py, {title}, batch 32", "timm", ["{python}", "{folder}/scripts/timm/train.py", "--data-dir", "{folder}/images", "--workers", "1",
                                                                 "--num-classes", "1000", "--model", model, "--batch-size", "32", *more])


def diffusers(title, *command):
    return Program("diffusers " + title, "diffusers", ["{python}", *command])


MEGATRON = """--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 2 --global-batch-size 16
 --train-iters 10 --lr 1e-4 --bf16 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --transformer-impl local --no-persist-layer-norm
 --no-gradient-accumulation-fusion --no-masked-softmax-fusion --tensor-model-parallel-size 2 --eval-iters 0 --log-interval 1 --split 99,1,0""".split()
STABLELM, PHI, LLAMA7, LLAMA13 = "stablelm-base-alpha-3b", "phi-1_5", "Llama-2-7b-hf", "Llama-2-13b-hf"
PROGRAMS = [
    hub_lora("StableLM 3B", STABLELM, 32, 1, 8.58e9, "m117"),
    hub_lora("Llama 2 7B", LLAMA7, 32, 2, 19.77e9, "m087"),
    hub_lora("Llama 3 8B", "Meta-Llama-3-8B", 32, 1, 19.73e9, "m091"),
    hub_lora("Mistral 7B", "Mistral-7B-v0.1", 32, 2, 20.66e9, "m106"),
    hub_lora("phi-2, all layers", "phi-2", 8, 4, 13.98e9, "m110", *EVERYWHERE),
    hub_lora("Gemma 2B, all layers", "Gemma-2b", 8, 2, 12.62e9, "m075", *EVERYWHERE),
    hub_lora("Gemma 2 2B, all layers", "Gemma-2-2b", 8, 2, 14.31e9, "m081", *EVERYWHERE),
    hub_lora("Gemma 2 2B, all layers, as published", "Gemma-2-2b", 8, 2, 14.31e9, "m081", *EVERYWHERE, package="litgpt==0.4.10"),
    hub_lora("Llama 3.1 8B", "Llama-3.1-8B", 32, 1, 19.73e9, "m095"),
    hub_lora("Mistral 7B v0.2", "Mistral-7B-v0.2", 32, 2, 20.66e9, "m103"),
    hub_qlora("StableLM 3B", STABLELM, 32, 1, 5.24e9, "m119"),
    hub_qlora("Llama 2 7B", LLAMA7, 32, 2, 13.68e9, "m089"),
    hub_qlora("Mistral 7B", "Mistral-7B-v0.1", 32, 2, 14.29e9, "m108"),
    hub_qlora("Mistral 7B v0.2", "Mistral-7B-v0.2", 32, 2, 14.29e9, "m105"),
    hub_qlora("Llama 3.2 3B", "Llama-3.2-3B", 32, 2, 10.3e9, "m102"),
    hub_qlora("Falcon 7B", "falcon-7b", 32, 1, 9.44e9, "m073"),
    hub_qlora("phi-2, all layers", "phi-2", 8, 4, 14.27e9, "m112", *EVERYWHERE),
    hub_qlora("Gemma 2B, all layers", "Gemma-2b", 16, 2, 11.58e9, "m077", *EVERYWHERE),
    hub_qlora("Gemma 2 9B, all layers", "Gemma-2-9b", 16, 1, 20.92e9, "m085", *EVERYWHERE),
    hub_full("Llama 3.2 1B", "Llama-3.2-1B", 8.7e9, "m097"),
    hub_full("Llama 3.2 3B", "Llama-3.2-3B", 16.51e9, "m100"),
    hub_full("Phi 3 mini", "Phi-3-mini-4k-instruct", 17.01e9, "m113"),
    hub_lora("Llama 3.2 1B, 4 x 512", "Llama-3.2-1B", 8, 4, 8.7e9, "m097, as LoRA"),
    hub_lora("Llama 3.2 3B, 4 x 512", "Llama-3.2-3B", 8, 4, 16.51e9, "m100, as LoRA"),
    hub_lora("Phi 3 mini, 4 x 512", "Phi-3-mini-4k-instruct", 8, 4, 17.01e9, "m113, as LoRA"),
    hub_full("TinyLlama", "tiny-llama-1.1b", 14.1e9, "m120"),
    first("finetune_lora", "phi-1.5", PHI, 1, 1044, 4.82e9, "m001"),
    first("finetune_lora", "phi-1.5", PHI, 2, 1044, 6.76e9, "m004"),
    first("finetune_lora", "phi-1.5", PHI, 4, 1044, 10.68e9, "m005"),
    first("finetune_lora", "StableLM 3B", STABLELM, 1, 1034, 9.69e9, "m006"),
    first("finetune_lora", "StableLM 3B", STABLELM, 2, 1034, 12.10e9, "m009"),
    first("finetune_lora", "StableLM 3B", STABLELM, 4, 1034, 16.92e9, "m010"),
    four_bits("phi-1.5, nf4", PHI, 1, 1044, 3.78e9, "m002", "nf4", 8, steps=1),
    four_bits("StableLM 3B, nf4", STABLELM, 1, 1034, 6.35e9, "m007", "nf4", 8, steps=1),
    four_bits("StableLM 3B, nf4-dq", STABLELM, 1, 1034, 6.19e9, "m008", "nf4-dq", 8, steps=1),
    four_bits("Llama 2 7B, nf4-dq", LLAMA7, 1, 1304, 13.84e9, "m013", "nf4-dq", 8, steps=1),
    four_bits("StableLM 3B, nf4", STABLELM, 1, 512, 5.24e9, "m119", "nf4", 32),
    four_bits("Llama 2 7B, nf4", LLAMA7, 2, 512, 13.68e9, "m089", "nf4", 32),
    four_bits("phi-2, all layers, nf4", "phi-2", 4, 512, 14.27e9, "m112", "nf4", 8, *EVERYWHERE),
    four_bits("Gemma 2B, all layers, nf4", "Gemma-2b", 2, 512, 11.58e9, "m077", "nf4", 16, *EVERYWHERE),
    *[Program(f"litgpt generate, 4 bits as published, {title}", command=["{python}", "-m", "litgpt", "generate", "{folder}/litgpt==0.4.10/" + model, "--precision", "bf16-true",
                                                                         "--prompt", "Hello", "--quantize", kind], published=(figure, row), steps=0, **FOUR_BITS)
      for title, model, kind, figure, row in (("phi-1.5, nf4", PHI, "bnb.nf4", 1.39e9, "m049"), ("StableLM 3B, nf4-dq", STABLELM, "bnb.nf4-dq", 3.04e9, "m053"))],
    first_qlora("phi-1.5", PHI, 1, 1044, 3.78e9, "m002"),
    first_qlora("StableLM 3B", STABLELM, 1, 1034, 6.35e9, "m007"),
    first_qlora("StableLM 3B", STABLELM, 1, 1034, 6.19e9, "m008", "nf4-dq"),
    first_qlora("Llama 2 7B", LLAMA7, 1, 1304, 13.84e9, "m013", "nf4-dq"),
    first_qlora("Llama 2 13B", LLAMA13, 1, 1304, 22.55e9, "m018", "nf4-dq"),
    first("finetune_lora", "StableLM 3B, bf16-mixed", STABLELM, 1, 1034, 26.92e9, "m068", "--precision", "bf16-mixed"),
    first("finetune_adapter", "StableLM 3B", STABLELM, 1, 1034, 9.10e9, "m024"),
    first("finetune_adapter_v2", "StableLM 3B", STABLELM, 1, 1034, 10.71e9, "m030"),
    first("finetune_lora", "Llama 2 7B", LLAMA7, 1, 1304, 21.30e9, "m011"),
    first("finetune_lora", "Llama 2 7B", LLAMA7, 2, 1304, 29.07e9, "m014"),
    first("finetune_lora", "Llama 2 13B", LLAMA13, 1, 1304, 38.12e9, "m016"),
    first("finetune_adapter", "Llama 2 7B", LLAMA7, 1, 1304, 19.98e9, "m027"),
    first("finetune_adapter_v2", "Llama 2 7B", LLAMA7, 1, 1304, 25.51e9, "m033"),
    Program("litgpt finetune_lora, StableLM 3B, 1 x 1034, later steps", "litgpt", litgpt("finetune_lora", STABLELM, 1034, 1, 4), (9.69e9, "m006")),
    generate("phi-1.5", PHI, 2.86e9, "m048"),
    generate("StableLM 3B", STABLELM, 7.30e9, "m051"),
    generate("Llama 2 7B", LLAMA7, 13.52e9, "m054"),
    generate("Llama 2 13B", LLAMA13, 26.21e9, "m057"),
    generate("StableLM 3B", STABLELM, 21.43e9, "m069", "bf16-mixed"),
    generate("Llama 2 7B", LLAMA7, 40.21e9, "m070", "bf16-mixed"),
    generate("phi-1.5", PHI, 1.39e9, "m049", kind="nf4"),
    generate("StableLM 3B", STABLELM, 3.04e9, "m053", kind="nf4-dq"),
    generate("Llama 2 7B", LLAMA7, 4.57e9, "m055", kind="nf4"),
    adapter("finetune_adapter", "StableLM 3B", STABLELM),
    adapter("finetune_adapter_v2", "StableLM 3B", STABLELM),
    adapter("finetune_full", "StableLM 3B", STABLELM),
    torchtune("lora_finetune_single_device", "llama-3.2-1b", "llama3_2/1B_lora_single_device", "Llama 3.2 1B"),
    torchtune("full_finetune_single_device", "llama-3.2-1b", "llama3_2/1B_full_single_device", "Llama 3.2 1B", *FULL),
    torchtune("full_finetune_single_device", "llama-3.2-3b", "llama3_2/3B_full_single_device", "Llama 3.2 3B, 2 x 4096, as published", *FULL, *PLAIN,
              package="torchtune==0.4.0", length=4096, published=(60.0 * 2**30, "m163")),
    torchtune("full_finetune_single_device", "llama-3.2-3b", "llama3_2/3B_full_single_device", "Llama 3.2 3B, 2 x 4096", *FULL, *PLAIN, length=4096,
              published=(60.0 * 2**30, "m163")),
    torchtune("lora_finetune_single_device", "llama-3.2-3b", "llama3_2/3B_lora_single_device", "Llama 3.2 3B", made="6.21 and 6.27 GiB (m301, m302)"),
    torchtune("lora_finetune_single_device", "llama-2-7b", "llama2/7B_lora_single_device", "Llama 2 7B", "model.apply_lora_to_mlp=False",
              "model.lora_attn_modules=[q_proj,v_proj]", package="torchtune==0.4.0", made="13.96 and 13.98 GB, which is 13.00 and 13.02 GiB (m184)"),
    trl("reward.py", *REWARD),
    trl("reward.py", *REWARD, "--use_peft", "--lora_task_type", "SEQ_CLS", "--lora_r", "16", packages="trl peft", title=", LoRA of peft"),
    trl("sft.py", *SFT),
    trl("sft.py", *SFT, "--use_peft", "--lora_r", "16", packages="trl peft", title=", LoRA of peft"),
    trl("dpo.py", "--max_length", "1024", "--dataset_name", "{folder}/data/preference"),
    trl("sft.py", *SFT, *QLORA, "--lora_r", "16", packages="trl peft bitsandbytes", title=", QLoRA"),
    trl("sft.py", *SFT, *QLORA, "--lora_r", "64", "--lora_target_modules", "all-linear", packages="trl peft bitsandbytes", title=", QLoRA", model="Llama 2 7B"),
    trl("sft.py", *SFT, "--use_liger_kernel", packages="trl liger-kernel", title=", Liger"),
    trl("grpo.py", "--dataset_name", "{folder}/data/prompts", "--reward_funcs", "think_format_reward", "--max_completion_length", "64", "--num_generations", "2"),
    trl("sft.py", *SFT, "--deepspeed", "{folder}/zero3.json", packages="trl deepspeed", title=", deepspeed, ZeRO-3, 8 ranks",
        before=("{bin}/deepspeed", "--num_gpus", "8"), options=("--world", "8")),
    trl("sft.py", *SFT, packages="trl deepspeed", title=", accelerate launch, ZeRO-3, 8 ranks",
        before=("{python}", "-m", "accelerate.commands.launch", "--config_file", "{site}/trl/accelerate_configs/zero3.yaml"), options=("--world", "8")),
    timm("ResNet-50", "resnet50"),
    timm("ResNet-50, amp, channels_last", "resnet50", "--amp", "--channels-last"),
    timm("ViT-B/16", "vit_base_patch16_224"),
    timm("ViT-B/16, amp", "vit_base_patch16_224", "--amp"),
    diffusers("train_unconditional.py, UNet, 16 x 64 x 64, bf16", "{folder}/scripts/diffusers/train_unconditional.py", "--train_data_dir", "{folder}/images",
              "--resolution", "64", "--train_batch_size", "16", "--num_epochs", "1", "--mixed_precision", "bf16", "--output_dir", "{out}"),
    diffusers("DiT-XL/2, batch 16, bf16", "{here}/transformer_step.py", "dit"),
    diffusers("PixArt XL/2, batch 16, bf16", "{here}/transformer_step.py", "pixart"),
    Program("Megatron-LM run_simple_mcore_train_loop.py, tensors on 2 ranks", "megatron.core",
            ["{python}", "-m", "torch.distributed.run", "--nproc-per-node", "2", "{folder}/scripts/Megatron-LM/examples/run_simple_mcore_train_loop.py"],
            options=("--device-count", "2")),
    Program("Megatron-LM pretrain_gpt.py, local layers, 8 x 1024, tensors on 2 of 8 ranks", "megatron.core",
            ["{python}", "{folder}/scripts/Megatron-LM/pretrain_gpt.py", *MEGATRON], options=("--world", "8"), settings=("CUDA_DEVICE_MAX_CONNECTIONS=1",)),
    Program("accelerate test_sync.py", "accelerate", ["{python}", "{site}/accelerate/test_utils/scripts/test_sync.py"],
            reason="It compares gradients of two models, and stops as they are no real ones."),
]
