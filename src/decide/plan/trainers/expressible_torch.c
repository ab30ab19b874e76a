/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trainers that checkpoint whole layers by PyTorch's own function: Hugging Face Trainer, DeepSpeed,
 * torchtune. Names and rules were read in transformers 5.23, DeepSpeed 0.19 and torchtune 0.6.
 */
#include <inttypes.h>
#include <string.h>

#include "input/config/model/family_facts.h"

#include "decide/plan/trainers/expressible.h"

static bool is_reentrant(const ms_expressible_list *list)
{
    return list->task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
}

/* PyTorch's save_on_cpu around each checkpoint: "offload" in transformers. */
static uint32_t save_on_cpu_option(ms_expressible_list *list, uint32_t tiles)
{
    const ms_treatment t = {
        .kind = MS_TREAT_CHECKPOINT, .input = MS_INPUT_SAVED_ON_CPU, .parts[MS_PART_TILE] = tiles};
    return ms_expressible_option(list, &t);
}

/* ---- Hugging Face Trainer ---- */

/* Every n-th layer, from the first on. */
static void add_hf_offload(ms_expressible_list *list)
{
    uint32_t count = list->costs->layer_count, option = save_on_cpu_option(list, 0);
    for (uint32_t n = 1; n <= count; n++) {
        const char *every =
            n > 1 ? ms_arena_printf(list->arena, "\"every_n_layers\": %" PRIu32 ", ", n) : "";
        ms_expressible_add(
            list, (ms_layer_range){0, n, count}, option,
            every ? ms_arena_printf(list->arena,
                                    "TrainingArguments(activation_checkpointing=True, "
                                    "activation_checkpointing_kwargs={%s\"offload\": True, "
                                    "\"use_reentrant\": False})\n"
                                    "# transformers 5.23; older ones have no offload",
                                    every)
                  : NULL);
    }
}

ms_status ms_expressible_hf(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    const char *reentrant = is_reentrant(&list) ? "True" : "False";
    ms_expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP,
                       "TrainingArguments(activation_checkpointing=False)\n"
                       "# older transformers: gradient_checkpointing=False");
    if (!ms_expressible_may(&list, MS_MAY_CHECKPOINT))
        return list.status;
    ms_expressible_add(&list, MS_FIRST_LAYERS(costs->layer_count), MS_OPTION_CHECKPOINT,
                       ms_arena_printf(arena,
                                       "TrainingArguments(activation_checkpointing=True, "
                                       "activation_checkpointing_kwargs={\"use_reentrant\": %s})\n"
                                       "# older transformers: gradient_checkpointing=True, "
                                       "gradient_checkpointing_kwargs={\"use_reentrant\": %s}",
                                       reentrant, reentrant));
    for (uint32_t n = 2; n <= costs->layer_count; n++)
        ms_expressible_add(&list, (ms_layer_range){0, n, costs->layer_count}, MS_OPTION_CHECKPOINT,
                           ms_arena_printf(arena,
                                           "TrainingArguments(activation_checkpointing=True, "
                                           "activation_checkpointing_kwargs={\"every_n_layers\": "
                                           "%" PRIu32 ", \"use_reentrant\": %s})\n"
                                           "# transformers 5.23; older ones have no every_n_layers",
                                           n, reentrant));
    if (ms_expressible_may_save_on_cpu(&list))
        add_hf_offload(&list);
    return list.status;
}

/* ---- torchtune ----
 *
 * Counts layers from one, so every second is 1, 3, 5, ... here. Left out: ac_option "op", which
 * torchtune 0.6 names but does not run; enable_activation_offloading, which sends all that autograd
 * saves in the model; CEWithChunkedOutputLoss, which keeps all logits
 * for backward. */

ms_status ms_expressible_torchtune(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    uint32_t count = costs->layer_count;
    ms_expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP,
                       "enable_activation_checkpointing: False");
    if (!ms_expressible_may(&list, MS_MAY_CHECKPOINT))
        return list.status;
    ms_expressible_add(&list, MS_FIRST_LAYERS(count), MS_OPTION_CHECKPOINT,
                       "enable_activation_checkpointing: True");
    for (uint32_t n = 2; n <= count; n++)
        ms_expressible_add(
            &list, (ms_layer_range){n - 1, n, count}, MS_OPTION_CHECKPOINT,
            ms_arena_printf(arena,
                            "enable_activation_checkpointing: False\n"
                            "ac_mode: selective\n"
                            "ac_option: %" PRIu32 "\n"
                            "# recipes full_finetune_distributed and qat_distributed",
                            n));
    return list.status;
}

/* ---- DeepSpeed ----
 *
 * Checkpoints are those of transformers. Left out: "cpu_checkpointing", which only models read that
 * call DeepSpeed's own checkpoints, a kind of reentrant ones; "number_checkpoints", several layers
 * a checkpoint; TiledFusedLogitsLoss, which runs backward within forward. */

static const char *deepspeed_checkpoint(const ms_expressible_list *list)
{
    return ms_arena_printf(
        list->arena,
        "model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": "
        "%s})\n"
        "# \"activation_checkpointing\" in ds_config.json is read only by models that call "
        "deepspeed.checkpointing.checkpoint",
        is_reentrant(list) ? "True" : "False");
}

static const char deepspeed_offload[] =
    "model.activation_checkpointing_enable(activation_checkpointing_kwargs={\"use_reentrant\": "
    "False}, offload=True)\n"
    "# transformers 5.23; older ones have no offload";

static const char *deepspeed_tiles(const ms_expressible_list *list, uint32_t tiles,
                                   const char *behind)
{
    return ms_arena_printf(
        list->arena,
        "from deepspeed.runtime.sequence_parallel.ulysses_sp import TiledMLP\n"
        "\n"
        "def tile(mlp, shards):\n"
        "    run, weights = type(mlp).forward, list(mlp.parameters())\n"
        "    mlp.forward = lambda x: TiledMLP.apply(run, mlp, x, shards, weights)\n"
        "\n"
        "decoder = model.get_decoder()\n"
        "for layer in decoder.layers if hasattr(decoder, \"layers\") else decoder.h:\n"
        "    tile(layer.mlp, %" PRIu32 ")%s%s",
        tiles, *behind ? "\n" : "", behind);
}

/* TiledMLP hands on pieces along the tokens, which are not contiguous in a batch of several
 * sequences; Conv1D refuses those. */
static bool may_tile(const ms_expressible_list *list)
{
    return ms_expressible_may(list, MS_MAY_TILE) &&
           (list->task->run->batch == 1 ||
            !ms_family_facts_of(list->task->model->family)->has_conv1d);
}

/* The MLP in as many pieces as option `i` has them, with and without checkpoints. */
static void add_deepspeed_tiles(ms_expressible_list *list, uint32_t i, const char *checkpoint)
{
    const ms_treatment t = list->costs->options[i].treatment;
    ms_layer_range all = MS_FIRST_LAYERS(list->costs->layer_count);
    if (!ms_treatment_tiles_mlp_alone(&t))
        return;
    if (t.kind == MS_TREAT_KEEP)
        ms_expressible_add(list, all, i, deepspeed_tiles(list, t.parts[MS_PART_TILE], ""));
    if (!ms_is_plain_checkpoint(&t) || !ms_expressible_may(list, MS_MAY_CHECKPOINT))
        return;
    ms_expressible_add(
        list, all, i, checkpoint ? deepspeed_tiles(list, t.parts[MS_PART_TILE], checkpoint) : NULL);
    if (ms_expressible_may_save_on_cpu(list))
        ms_expressible_add(list, all, save_on_cpu_option(list, t.parts[MS_PART_TILE]),
                           deepspeed_tiles(list, t.parts[MS_PART_TILE], deepspeed_offload));
}

ms_status ms_expressible_deepspeed(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    ms_layer_range all = MS_FIRST_LAYERS(costs->layer_count);
    uint32_t option_count = costs->option_count;
    const char *checkpoint = deepspeed_checkpoint(&list);
    ms_expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP,
                       "model.gradient_checkpointing_disable()");
    if (ms_expressible_may(&list, MS_MAY_CHECKPOINT))
        ms_expressible_add(&list, all, MS_OPTION_CHECKPOINT, checkpoint);
    if (ms_expressible_may_save_on_cpu(&list))
        ms_expressible_add(&list, all, save_on_cpu_option(&list, 0), deepspeed_offload);
    for (uint32_t i = 0; may_tile(&list) && i < option_count; i++)
        add_deepspeed_tiles(&list, i, checkpoint);
    return list.status;
}
