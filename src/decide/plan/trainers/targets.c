/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/trainers/targets.h"

#include "decide/plan/trainers/target.h"

#include <string.h>

#include "decide/plan/trainers/expressible.h"
#include "decide/plan/trainers/ranks_text.h"

/* Gradients and master weights in fp32 whatever the weights are in, layers that save other tensors.
 */
static const char megatron[] =
    "its model and optimizer are its own and are not predicted; memscope capture runs them, and "
    "--target deepspeed plans for what is predicted";

static const ms_target targets[] = {
    {.name = "free",
     .title = "any combination of treatments, layer by layer",
     .is_free = true,
     .techniques = MS_MAY_ALL},
    {.name = "hf",
     .title = "Hugging Face Trainer",
     .techniques = MS_MAY_CHECKPOINT | MS_MAY_OFFLOAD,
     .list = ms_expressible_hf,
     .ranks = ms_ranks_accelerate},
    {.name = "pytorch",
     .title = "PyTorch, as code for a Hugging Face model",
     .is_free = true,
     .techniques = MS_MAY_ALL,
     .text = ms_pytorch_code,
     .held_text = ms_pytorch_held_code,
     .ranks = ms_ranks_pytorch},
    {.name = "torchtitan",
     .title = "torchtitan",
     .techniques = MS_MAY_CHECKPOINT | MS_MAY_SELECT,
     .list = ms_expressible_torchtitan,
     .ranks = ms_ranks_torchtitan},
    {.name = "torchtune",
     .title = "torchtune",
     .techniques = MS_MAY_CHECKPOINT,
     .list = ms_expressible_torchtune,
     .ranks = ms_ranks_torchtune},
    {.name = "megatron", .title = "Megatron-LM", .unpredicted = megatron},
    {.name = "deepspeed",
     .title = "DeepSpeed, with a Hugging Face model",
     .techniques = MS_MAY_CHECKPOINT | MS_MAY_OFFLOAD | MS_MAY_TILE,
     .list = ms_expressible_deepspeed,
     .ranks = ms_ranks_deepspeed},
    {.name = "nemo", .title = "NeMo, by Megatron Bridge", .unpredicted = megatron},
    {.name = "axolotl",
     .title = "Axolotl",
     .techniques = MS_MAY_CHECKPOINT | MS_MAY_SELECT | MS_MAY_TILE,
     .list = ms_expressible_axolotl},
};

const ms_target *ms_target_find(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

const ms_target *ms_target_at(size_t index)
{
    return index < sizeof targets / sizeof *targets ? &targets[index] : NULL;
}
