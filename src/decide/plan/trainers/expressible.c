/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/trainers/expressible.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/option_list.h"
#include "decide/plan/costs/step_task.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/treatment/treatment.h"
#include "run/simulate/variation.h"

/* ---- layer products ---- */

/* The matrix products that each layer of a run executes, for policies that count them. */

/* An execution of "mm" in a layer's forward: [rows, inner] times [inner, columns]. */
typedef struct ms_layer_product {
    const char *module; /* that executes it: "q_proj" */
    uint64_t inner, columns;
} ms_layer_product;

/* Of one layer, in the order of execution; in the arena. */
typedef struct ms_layer_products {
    ms_layer_product *items;
    uint32_t count;
} ms_layer_products;

static ms_status fail_nomem(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for a layer's products");
}

/* MS_NONE: no product of a layer. */
static uint32_t layer_of(const ms_trace *trace, const ms_op_exec *op)
{
    bool is_product = strcmp(op->name, "mm") == 0 && op->product_count > 0 && op->scope != MS_NONE;
    return is_product ? trace->scopes.items[op->scope].layer : MS_NONE;
}

/* The first forward pass of the step: operators before any of another pass. */
static uint32_t forward_count(const ms_trace *trace)
{
    uint32_t count = 0;
    while (count < trace->ops.count && trace->ops.items[count].pass == MS_PASS_FORWARD)
        count++;
    return count;
}

static ms_status read_products(ms_arena *arena, const ms_trace *trace, ms_layer_products *layers,
                               uint64_t layer_count, ms_error *err)
{
    const uint32_t ops = forward_count(trace);
    for (uint32_t i = 0; i < ops; i++) {
        uint32_t layer = layer_of(trace, &trace->ops.items[i]);
        if (layer < layer_count)
            layers[layer].count++;
    }
    for (uint64_t i = 0; i < layer_count; i++) {
        layers[i].items = ms_arena_array(arena, ms_layer_product, (size_t)layers[i].count + 1);
        if (!layers[i].items)
            return fail_nomem(err);
        layers[i].count = 0;
    }
    for (uint32_t i = 0; i < ops; i++) {
        const ms_op_exec *op = &trace->ops.items[i];
        uint32_t layer = layer_of(trace, op);
        if (layer >= layer_count)
            continue;
        const ms_gemm *gemm = &trace->products.items[op->first_product];
        const char *name = trace->names.items[trace->scopes.items[op->scope].name];
        ms_layer_product product = {ms_arena_strdup(arena, name), gemm->inner, gemm->columns};
        if (!product.module)
            return fail_nomem(err);
        layers[layer].items[layers[layer].count++] = product;
    }
    return MS_OK;
}

/* Simulates the step with every layer kept, and reads the products of each layer: `layers` gets as
 * many entries as the model has layers, in the arena. */
static ms_status layer_products_read(ms_arena *arena, const ms_step_task *task,
                                     ms_layer_products **layers, ms_error *err)
{
    static const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    ms_variation v = ms_vary_run(task->model, task->run, arena);
    ms_simulated simulated;
    *layers = ms_arena_array(arena, ms_layer_products, task->model->num_layers);
    if (!*layers || !ms_vary_all_layers(&v, &keep, 0))
        return fail_nomem(err);
    const ms_job job = ms_variation_job(&v);
    ms_status status = ms_simulate(&job, MS_SIMULATE_PROFILE, &simulated, err);
    if (status != MS_OK)
        return status;
    status =
        read_products(arena, &simulated.simulation.trace, *layers, task->model->num_layers, err);
    ms_simulated_free(&simulated);
    return status;
}

typedef struct ms_expressible_list {
    ms_arena *arena;
    const ms_step_task *task;
    ms_cost_model *costs;
    ms_target_plans *plans;
    ms_error *err;
    ms_status status;
} ms_expressible_list;

/* In the place of an option: its treatment cannot be simulated for this model. */
#define MS_OPTION_REFUSED UINT32_MAX

/* Every `step`-th layer from `first` on, below `end`. */
typedef struct ms_layer_range {
    uint32_t first, step, end;
} ms_layer_range;

#define MS_NO_LAYERS ((ms_layer_range){0, 1, 0})
#define MS_FIRST_LAYERS(n) ((ms_layer_range){0, 1, (n)})

/* ---- expressible ---- */

/* Whether the task allows all of these ms_technique bits. */
static bool expressible_may(const ms_expressible_list *list, uint32_t techniques)
{
    const ms_step_task *task = list->task;
    const uint32_t impossible = ms_techniques_impossible(task->model, task->run);
    return (task->techniques & ~impossible & techniques) == techniques;
}

/* Whether checkpoints' inputs may be offloaded by save_on_cpu. */
static bool expressible_may_save_on_cpu(const ms_expressible_list *list)
{
    const ms_run_config *run = list->task->run;
    return expressible_may(list, MS_MAY_CHECKPOINT | MS_MAY_OFFLOAD) && !run->device->is_cpu &&
           run->checkpoint_kind == MS_CHECKPOINT_NON_REENTRANT;
}

/* A checkpoint whose input stays on the device; parts in it may be tiled. */
static bool is_plain_checkpoint(const ms_treatment *treatment)
{
    return treatment->kind == MS_TREAT_CHECKPOINT && treatment->input == MS_INPUT_ON_DEVICE;
}

static bool is_run(const ms_op_list *ops, const char *name)
{
    for (uint32_t i = 0; i < ops->count; i++)
        if (ms_kept_name_means(name, ops->items[i].name))
            return true;
    return false;
}

/* Without the operators that no layer runs: policies name those of all models. */
static ms_treatment known_to_layers(ms_expressible_list *list, const ms_treatment *treatment)
{
    ms_treatment known = *treatment;
    if (treatment->kept_count == 0)
        return known;
    ms_kept_op *kept = ms_arena_array(list->arena, ms_kept_op, treatment->kept_count);
    if (!kept)
        list->status = ms_fail(list->err, MS_ERR_NOMEM, "out of memory for kept operators");
    known.kept_ops = kept;
    known.kept_count = 0;
    for (uint32_t i = 0; kept && i < treatment->kept_count; i++)
        if (is_run(&list->costs->ops, treatment->kept_ops[i].name))
            kept[known.kept_count++] = treatment->kept_ops[i];
    if (known.kept_count == 0)
        known.kind = MS_TREAT_CHECKPOINT;
    return known;
}

/* The cost model's option for this treatment, without operators that no layer runs; it is measured
 * if missing. MS_OPTION_REFUSED: it is refused. */
static uint32_t expressible_option(ms_expressible_list *list, const ms_treatment *treatment)
{
    uint32_t index = MS_OPTION_KEEP;
    if (list->status != MS_OK)
        return index;
    const ms_treatment known = known_to_layers(list, treatment);
    ms_error reason = {0};
    if (list->status == MS_OK)
        list->status = ms_cost_model_add_option(list->arena, list->task->model, list->task->run,
                                                &known, list->costs, &index, &reason);
    if (list->status == MS_ERR_CONFIG || list->status == MS_ERR_USAGE) {
        list->status = MS_OK;
        return MS_OPTION_REFUSED;
    }
    ms_error_add(list->err, &reason);
    return list->status == MS_OK ? index : MS_OPTION_KEEP;
}

/* Adds the plan that treats these layers by `option` and keeps the others, without chunking the
 * loss, unless the option was refused. NULL as `text` means out of memory. */
static void expressible_add(ms_expressible_list *list, ms_layer_range layers, uint32_t option,
                            const char *text)
{
    if (list->status != MS_OK || option == MS_OPTION_REFUSED)
        return;
    ms_target_plan shape = {.text = text};
    shape.assignment.options = ms_arena_array(list->arena, uint32_t, list->costs->layer_count);
    for (uint32_t i = layers.first; shape.assignment.options && i < layers.end; i += layers.step)
        shape.assignment.options[i] = option;
    if (!text || !shape.assignment.options || !ms_vec_push(list->plans, shape))
        list->status = ms_fail(list->err, MS_ERR_NOMEM, "out of memory for a trainer's plans");
}

/* ---- expressible axolotl ---- */

/* Axolotl's keys, as read in axolotl 0.19. Checkpoints and tiles of the MLP can be combined.
 * Unsupported: activation_offloading, which offloads more than the checkpoints' inputs, or
 * keeps two and fetches the others into a stream's own memory;
 * selective_checkpointing.offload, which offloads the kept results; layer_offloading, for
 * frozen weights; chunked and cut cross entropy, which keep other tensors than a recomputed
 * chunk does. */

/* A set of operators that selective_checkpointing.save can name. */
typedef struct save_set {
    const char *save;
    ms_kept_op kept[5];
    uint32_t count;
} save_set;

static const save_set save_sets[] = {
    {"attention", {{"flash_attention", UINT32_MAX}, {"efficient_attention", UINT32_MAX}}, 2},
    {"attention, \"aten::mm\", \"aten::addmm\"",
     {{"flash_attention", UINT32_MAX},
      {"efficient_attention", UINT32_MAX},
      {"mm", UINT32_MAX},
      {"addmm", UINT32_MAX}},
     4},
};

static bool is_reentrant(const ms_expressible_list *list)
{
    return list->task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
}

static const char *checkpoint_keys(const ms_expressible_list *list)
{
    bool is_reentrant = list->task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    return ms_arena_printf(list->arena,
                           "gradient_checkpointing: true\n"
                           "gradient_checkpointing_kwargs:\n"
                           "  use_reentrant: %s",
                           is_reentrant ? "true" : "false");
}

/* Layers with a sliding window would be excluded from it. */
static const char *selective_keys(const ms_expressible_list *list, const char *checkpoint,
                                  const save_set *set)
{
    if (!checkpoint)
        return NULL;
    return ms_arena_printf(list->arena,
                           "%s\n"
                           "selective_checkpointing:\n"
                           "  save: [%s]%s",
                           checkpoint, set->save,
                           list->task->model->sliding_window > 0 ? "\n  save_sliding_window: true"
                                                                 : "");
}

/* Its own TiledMLP adds up gradients beside those that are there, and mixes up the sequences of a
 * batch: tiles are for a batch of one. DeepSpeed's, which it uses with DeepSpeed, does neither. */
static const char *tile_keys(const ms_expressible_list *list, const char *checkpoint,
                             uint32_t tiles)
{
    if (!checkpoint)
        return NULL;
    return ms_arena_printf(
        list->arena,
        "%s\n"
        "tiled_mlp: true\n"
        "tiled_mlp_num_shards: %" PRIu32 "\n"
        "# without DeepSpeed the gradients of one layer's MLP exist twice for a time",
        checkpoint, tiles);
}

static void add_tiles(ms_expressible_list *list, const char *keep, const char *checkpoint)
{
    ms_layer_range all = MS_FIRST_LAYERS(list->costs->layer_count);
    bool may_checkpoint = expressible_may(list, MS_MAY_CHECKPOINT);
    for (uint32_t i = 0; i < list->costs->option_count; i++) {
        const ms_treatment *t = &list->costs->options[i].treatment;
        if (ms_treatment_tiles_mlp_alone(t) && t->kind == MS_TREAT_KEEP)
            expressible_add(list, all, i, tile_keys(list, keep, t->parts[MS_PART_TILE]));
        if (ms_treatment_tiles_mlp_alone(t) && is_plain_checkpoint(t) && may_checkpoint)
            expressible_add(list, all, i, tile_keys(list, checkpoint, t->parts[MS_PART_TILE]));
    }
}

ms_status ms_expressible_axolotl(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    ms_layer_range all = MS_FIRST_LAYERS(costs->layer_count);
    const char *keep = "gradient_checkpointing: false", *checkpoint = checkpoint_keys(&list);
    expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP, keep);
    if (expressible_may(&list, MS_MAY_CHECKPOINT))
        expressible_add(&list, all, MS_OPTION_CHECKPOINT, checkpoint);
    if (expressible_may(&list, MS_MAY_TILE) && task->run->batch == 1)
        add_tiles(&list, keep, checkpoint);
    if (!expressible_may(&list, MS_MAY_SELECT) ||
        task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return list.status;
    for (size_t i = 0; i < sizeof save_sets / sizeof *save_sets; i++) {
        if (!ms_op_list_may_keep(&costs->ops, save_sets[i].kept, save_sets[i].count))
            continue;
        ms_treatment t = {.kind = MS_TREAT_SELECTIVE,
                          .kept_ops = save_sets[i].kept,
                          .kept_count = save_sets[i].count};
        expressible_add(&list, all, expressible_option(&list, &t),
                        selective_keys(&list, checkpoint, &save_sets[i]));
    }
    return list.status;
}

/* ---- expressible torchtitan ---- */

/* torchtitan's activation checkpointing. Names and rules were read in torchtitan 0.3.
 * Unsupported: memory-budget, where the compiler chooses; ChunkedLossWrapper, which runs
 * backward within forward. */

/* What SelectiveAC always saves. */
static const char *const always_saved[] = {"flash_attention", "efficient_attention", "bmm",
                                           "addmm"};

enum { ALWAYS_SAVED = sizeof always_saved / sizeof *always_saved };

static bool is_router(const ms_layer_product *p)
{
    return strcmp(p->module, "gate") == 0 || strcmp(p->module, "router") == 0;
}

/* force_recompute_mm_shapes_by_fqns: products of the router's shape are recomputed, and do not
 * count. */
static bool is_forced(const ms_layer_products *products, const ms_layer_product *p)
{
    for (uint32_t i = 0; i < products->count; i++)
        if (is_router(&products->items[i]) && products->items[i].inner == p->inner &&
            products->items[i].columns == p->columns)
            return true;
    return false;
}

static bool is_of_qkv(const ms_layer_product *p)
{
    return strcmp(p->module, "q_proj") == 0 || strcmp(p->module, "k_proj") == 0 ||
           strcmp(p->module, "v_proj") == 0;
}

/* Of the mm that a layer executes each second one is saved, from the first on. torchtitan computes
 * q, k and v as one; where they are several here, all share the fate of the first. Those that have
 * a bias are addmm. */
static ms_treatment selective_policy(const ms_layer_products *products, ms_kept_op *kept)
{
    ms_treatment t = {.kind = MS_TREAT_SELECTIVE, .kept_ops = kept};
    bool saves = false, has_qkv = false, saves_qkv = false;
    for (uint32_t i = 0; i < ALWAYS_SAVED; i++)
        kept[t.kept_count++] = (ms_kept_op){always_saved[i], UINT32_MAX};
    for (uint32_t i = 0; i < products->count; i++) {
        const ms_layer_product *p = &products->items[i];
        bool joins = is_of_qkv(p) && has_qkv;
        if (is_forced(products, p))
            continue;
        if (!joins)
            saves = !saves;
        if (is_of_qkv(p) && !joins) {
            has_qkv = true;
            saves_qkv = saves;
        }
        if (joins ? saves_qkv : saves)
            kept[t.kept_count++] = (ms_kept_op){"mm", i};
    }
    return t;
}

/* An option for each kind of layer, by the products that it executes. */
static void add_selective(ms_expressible_list *list, const ms_layer_products *layers)
{
    const uint32_t count = list->costs->layer_count;
    ms_target_plan shape = {
        .assignment.options = ms_arena_array(list->arena, uint32_t, count),
        .text = "activation_checkpoint:selective\n"
                "# in a config function: activation_checkpoint=SelectiveAC.Config()"};
    ms_treatment before = {.kind = MS_TREAT_KEEP};
    for (uint32_t i = 0; i < count && shape.assignment.options; i++) {
        ms_kept_op *kept =
            ms_arena_array(list->arena, ms_kept_op, (size_t)ALWAYS_SAVED + layers[i].count);
        if (!kept)
            break;
        ms_treatment t = selective_policy(&layers[i], kept);
        if (!ms_op_list_may_keep(&list->costs->ops, t.kept_ops, t.kept_count))
            return;
        shape.assignment.options[i] = i > 0 && ms_treatment_equal(&t, &before)
                                          ? shape.assignment.options[i - 1]
                                          : expressible_option(list, &t);
        if (shape.assignment.options[i] == MS_OPTION_REFUSED)
            return;
        before = t;
    }
    if (list->status == MS_OK && (before.kind == MS_TREAT_KEEP || !ms_vec_push(list->plans, shape)))
        list->status = ms_fail(list->err, MS_ERR_NOMEM, "out of memory for a trainer's plans");
}

ms_status ms_expressible_torchtitan(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    ms_layer_products *layers;
    expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP,
                    "activation_checkpoint:none\n"
                    "# in a config function: activation_checkpoint=None");
    if (expressible_may(&list, MS_MAY_CHECKPOINT))
        expressible_add(&list, MS_FIRST_LAYERS(costs->layer_count), MS_OPTION_CHECKPOINT,
                        "activation_checkpoint:full\n"
                        "# in a config function: activation_checkpoint=FullAC.Config()");
    /* Its selective policy is not read back from a file for several ranks. */
    if (list.status != MS_OK || !expressible_may(&list, MS_MAY_SELECT) ||
        task->run->parallel.layout.kind != MS_PARALLEL_NONE ||
        task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return list.status;
    list.status = layer_products_read(arena, task, &layers, err);
    if (list.status == MS_OK)
        add_selective(&list, layers);
    return list.status;
}

/* ---- expressible torch ---- */

/* Trainers that checkpoint whole layers by PyTorch's own function: Hugging Face Trainer,
 * DeepSpeed, torchtune. Names and rules were read in transformers 5.23, DeepSpeed 0.19 and
 * torchtune 0.6. */

/* PyTorch's save_on_cpu around each checkpoint: "offload" in transformers. */
static uint32_t save_on_cpu_option(ms_expressible_list *list, uint32_t tiles)
{
    const ms_treatment t = {
        .kind = MS_TREAT_CHECKPOINT, .input = MS_INPUT_SAVED_ON_CPU, .parts[MS_PART_TILE] = tiles};
    return expressible_option(list, &t);
}

/* ---- Hugging Face Trainer ---- */

/* Every n-th layer, from the first on. */
static void add_hf_offload(ms_expressible_list *list)
{
    uint32_t count = list->costs->layer_count, option = save_on_cpu_option(list, 0);
    for (uint32_t n = 1; n <= count; n++) {
        const char *every =
            n > 1 ? ms_arena_printf(list->arena, "\"every_n_layers\": %" PRIu32 ", ", n) : "";
        expressible_add(
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
    expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP,
                    "TrainingArguments(activation_checkpointing=False)\n"
                    "# older transformers: gradient_checkpointing=False");
    if (!expressible_may(&list, MS_MAY_CHECKPOINT))
        return list.status;
    expressible_add(&list, MS_FIRST_LAYERS(costs->layer_count), MS_OPTION_CHECKPOINT,
                    ms_arena_printf(arena,
                                    "TrainingArguments(activation_checkpointing=True, "
                                    "activation_checkpointing_kwargs={\"use_reentrant\": %s})\n"
                                    "# older transformers: gradient_checkpointing=True, "
                                    "gradient_checkpointing_kwargs={\"use_reentrant\": %s}",
                                    reentrant, reentrant));
    for (uint32_t n = 2; n <= costs->layer_count; n++)
        expressible_add(&list, (ms_layer_range){0, n, costs->layer_count}, MS_OPTION_CHECKPOINT,
                        ms_arena_printf(arena,
                                        "TrainingArguments(activation_checkpointing=True, "
                                        "activation_checkpointing_kwargs={\"every_n_layers\": "
                                        "%" PRIu32 ", \"use_reentrant\": %s})\n"
                                        "# transformers 5.23; older ones have no every_n_layers",
                                        n, reentrant));
    if (expressible_may_save_on_cpu(&list))
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
    expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP, "enable_activation_checkpointing: False");
    if (!expressible_may(&list, MS_MAY_CHECKPOINT))
        return list.status;
    expressible_add(&list, MS_FIRST_LAYERS(count), MS_OPTION_CHECKPOINT,
                    "enable_activation_checkpointing: True");
    for (uint32_t n = 2; n <= count; n++)
        expressible_add(&list, (ms_layer_range){n - 1, n, count}, MS_OPTION_CHECKPOINT,
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
    return expressible_may(list, MS_MAY_TILE) &&
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
        expressible_add(list, all, i, deepspeed_tiles(list, t.parts[MS_PART_TILE], ""));
    if (!is_plain_checkpoint(&t) || !expressible_may(list, MS_MAY_CHECKPOINT))
        return;
    expressible_add(list, all, i,
                    checkpoint ? deepspeed_tiles(list, t.parts[MS_PART_TILE], checkpoint) : NULL);
    if (expressible_may_save_on_cpu(list))
        expressible_add(list, all, save_on_cpu_option(list, t.parts[MS_PART_TILE]),
                        deepspeed_tiles(list, t.parts[MS_PART_TILE], deepspeed_offload));
}

ms_status ms_expressible_deepspeed(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    ms_layer_range all = MS_FIRST_LAYERS(costs->layer_count);
    uint32_t option_count = costs->option_count;
    const char *checkpoint = deepspeed_checkpoint(&list);
    expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP, "model.gradient_checkpointing_disable()");
    if (expressible_may(&list, MS_MAY_CHECKPOINT))
        expressible_add(&list, all, MS_OPTION_CHECKPOINT, checkpoint);
    if (expressible_may_save_on_cpu(&list))
        expressible_add(&list, all, save_on_cpu_option(&list, 0), deepspeed_offload);
    for (uint32_t i = 0; may_tile(&list) && i < option_count; i++)
        add_deepspeed_tiles(&list, i, checkpoint);
    return list.status;
}
