/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Unsupported settings of files of training settings.
 */
#include "config/trainers/training_unsupported.h"

#include <string.h>
#include <strings.h>

#include "config/trainers/training_keys.h"
#include "config/trainers/training_ranks.h"

enum {
    HF = 1 << MS_TRAINING_HF,
    AXOLOTL = 1 << MS_TRAINING_AXOLOTL,
    FACTORY = 1 << MS_TRAINING_FACTORY,
    TORCHTUNE = 1 << MS_TRAINING_TORCHTUNE,
    TITAN = 1 << MS_TRAINING_TITAN,
    TRAINER = HF | FACTORY /* TrainingArguments itself */
};

typedef struct unsupported_row {
    unsigned formats;
    const char *pointer;
    const char *text;
} unsupported_row;

static const char compiled[] = "the step is run eagerly";
static const char fsdp[] = "settings of FSDP", deepspeed[] = "settings of DeepSpeed";
static const char liger[] = "Liger's kernel for a loss over logits";
static const char input_on_host[] = "activation offloading to the host";
static const char fp8[] = "fp8 training";
static const char preference[] =
    "preference or reinforcement training; the step is one of supervised fine-tuning, without a "
    "reference model, rollouts or pairs";
static const char packed[] = "packing; each sequence is assumed to be full";

/* clang-format off */
static const unsupported_row unsupported_rows[] = {
    {TRAINER | AXOLOTL, "/torch_compile",            compiled},
    {TRAINER | AXOLOTL, "/torch_compile_backend",    compiled},
    {TRAINER,           "/torch_compile_mode",       compiled},
    {TORCHTUNE,         "/compile",                  compiled},
    {TITAN,             "/compile/enable",           compiled},
    {TITAN,             "/training/compile",         compiled},
    {TITAN,             "/model/flavor",             "torchtitan's own model code; it is that of transformers"},
    {TITAN,             "/model/converters",         "changes made by converters"},
    {TRAINER,           "/fsdp_config",              fsdp},
    {TRAINER,           "/liger_kernel_config/cross_entropy", liger},
    {AXOLOTL,           "/liger_cross_entropy",      liger},
    {AXOLOTL,           "/cut_cross_entropy",        "a fused loss; logits and loss are those of PyTorch"},
    {AXOLOTL,           "/plugins",                  "changes made by plugins"},
    {TRAINER,           "/auto_find_batch_size",     "trying smaller batches; the figures are for the given batch"},
    {TRAINER | AXOLOTL, "/neftune_noise_alpha",      "noise on the embeddings"},
    {TRAINER | AXOLOTL, "/optim_args",               "arguments of the optimizer"},
    {TRAINER | AXOLOTL, "/optim_target_modules",     "an optimizer for some modules only"},
    {TRAINER,           "/use_cpu",                  "the device is chosen by --device; for this one use --device cpu"},
    {HF,                "/fp8",                      fp8},
    {AXOLOTL,           "/fp8",                      fp8},
    {FACTORY,           "/fp8",                      fp8},
    {TORCHTUNE,         "/enable_fp8_training",      fp8},
    {TRAINER,           "/fp8_config",               fp8},
    {TRAINER,           "/dynamo_config",            compiled},
    {TRAINER,           "/deepspeed_config",         deepspeed},
    {TRAINER,           "/megatron_lm_config",       "settings of Megatron-LM"},
    {HF,                "/activation_offloading",    input_on_host},
    {AXOLOTL,           "/activation_offloading",    input_on_host},
    {AXOLOTL,           "/layer_offloading",         "layer offloading to the host"},
    {TORCHTUNE,         "/enable_activation_offloading", input_on_host},
    {TORCHTUNE,         "/optimizer_in_bwd",         "optimizer steps in the backward pass"},
    {TORCHTUNE,         "/loss/_component_",         "torchtune's loss; it is that of transformers"},
    {TORCHTUNE,         "/model/_component_",        "torchtune's own model code; it is that of transformers"},
    {TORCHTUNE,         "/dataset/packed",           packed},
    {HF | FACTORY,      "/packing",                  packed},
    {FACTORY,           "/neat_packing",             packed},
    {AXOLOTL,           "/sample_packing",           packed},
    {AXOLOTL,           "/flash_attention",          "the flash-attn package; attention is PyTorch's"},
    {AXOLOTL,           "/xformers_attention",       "xFormers; attention is PyTorch's"},
    {AXOLOTL,           "/unfrozen_parameters",      "training of some parameters only"},
    {AXOLOTL,           "/deepcompile",              compiled},
    {AXOLOTL,           "/relora",                   "ReLoRA"},
    {AXOLOTL,           "/lora_target_parameters",   "adapters of parameters"},
    {AXOLOTL,           "/bnb_config_kwargs",        "other settings of bitsandbytes"},
    {AXOLOTL,           "/lora_mlp_kernel",          "axolotl's LoRA kernels"},
    {AXOLOTL,           "/lora_qkv_kernel",          "axolotl's LoRA kernels"},
    {AXOLOTL,           "/lora_o_kernel",            "axolotl's LoRA kernels"},
    {AXOLOTL,           "/rl",                       preference},
    {FACTORY,           "/stage",                    preference},
    {HF,                "/num_generations",          preference},
    {HF,                "/beta",                     preference},
    {HF,                "/use_vllm",                 "vLLM beside training"},
    {FACTORY,           "/use_unsloth",              "Unsloth"},
    {FACTORY,           "/use_unsloth_gc",           input_on_host},
    {FACTORY,           "/upcast_layernorm",         "norms in fp32"},
    {FACTORY,           "/upcast_lmhead_output",     "logits in fp32"},
    {FACTORY,           "/use_galore",               "GaLore"},
    {FACTORY,           "/use_apollo",               "APOLLO"},
    {FACTORY,           "/use_badam",                "BAdam"},
    {FACTORY,           "/use_muon",                 "Muon"},
    {FACTORY,           "/use_adam_mini",            "Adam-mini"},
    {FACTORY,           "/shift_attn",               "shifted sparse attention"},
    {FACTORY,           "/mixture_of_depths",        "mixture of depths"},
};
/* clang-format on */

/* LLaMA-Factory's stages of ordinary training. */
static bool is_usual(const unsupported_row *row, ms_json_value value)
{
    const char *text = ms_training_value_text(value);
    return row->text == preference && (strcmp(text, "sft") == 0 || strcmp(text, "pt") == 0);
}

ms_status ms_training_unsupported(ms_arena *arena, ms_json_value root, ms_training_format format,
                                  bool reads_ranks, ms_notes *notes, ms_notes *unsupported,
                                  ms_error *err)
{
    ms_status status = MS_OK;
    bool is_noted = false;
    for (size_t i = 0; i < sizeof unsupported_rows / sizeof unsupported_rows[0] && status == MS_OK;
         i++) {
        ms_json_value value;
        const unsupported_row *row = &unsupported_rows[i];
        bool is_preference = row->text == preference;
        bool is_read = reads_ranks && (row->text == fsdp || row->text == deepspeed);
        if (is_read || !(row->formats & 1U << format) ||
            !ms_json_find_pointer(root, row->pointer, &value) || ms_training_says_nothing(value) ||
            is_usual(row, value) || (is_noted && is_preference))
            continue;
        ms_error at = {0};
        ms_json_error_set(&at, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
        is_noted |= is_preference;
        status = ms_note_add(is_preference ? notes : unsupported, arena, err,
                             "%s (line %u of the training arguments): %s", row->pointer + 1,
                             at.line, row->text);
    }
    return status;
}

bool ms_training_key_is_unsupported(const char *name, ms_training_format format)
{
    for (size_t i = 0; i < sizeof unsupported_rows / sizeof unsupported_rows[0]; i++)
        if ((unsupported_rows[i].formats & 1U << format) &&
            ms_training_key_starts(unsupported_rows[i].pointer, name))
            return true;
    return false;
}
