/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/adapter.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/nearest.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "model/blocks/adapted.h"
#include "model/blocks/model.h"
#include "model/blocks/module_tree.h"
#include "model/blocks/packed/quantized.h"

/* ---- adapter order ---- */

/* The order of all parameters, trained and frozen, in a model with adapters. */

/* After a module's own parameters come its adapter's. */
typedef struct ordering {
    ms_tape *tape;
    const ms_parameter *all;
    uint32_t count;
    uint32_t *next;    /* of each parameter: the leaf whose last one it is, plus 1; or 0 */
    bool *is_adapters; /* placed with its module */
} ordering;

static void place(ordering *o, ms_tensor tensor)
{
    if (!tensor)
        return;
    const ms_parameter *parameter = &o->all[ms_info(o->tape, tensor)->leaf];
    const ms_placed row = {.tensor = tensor,
                           .name = parameter->name,
                           .scope = parameter->scope,
                           .parameter = MS_NONE,
                           .is_embedding = parameter->is_embedding};
    if (!ms_vec_push(&o->tape->in_order, row))
        ms_tape_fail(o->tape, MS_ERR_NOMEM);
}

static void note_leaf(ordering *o, const ms_leaf_module *leaf, uint32_t number)
{
    const struct ms_adapted *adapted = leaf->adapted;
    ms_tensor last = leaf->bias ? leaf->bias : leaf->weight;
    if (!adapted || !last)
        return;
    const ms_tensor added[] = {adapted->lora_a.weight, adapted->lora_b.weight, adapted->lora_b.bias,
                               adapted->magnitude, adapted->scale};
    o->next[ms_info(o->tape, last)->leaf] = number + 1;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (added[i])
            o->is_adapters[ms_info(o->tape, added[i])->leaf] = true;
}

static void place_all(ordering *o, const ms_model *model)
{
    for (uint32_t i = 0; i < model->leaves.count; i++)
        note_leaf(o, &model->leaves.items[i], i);
    for (uint32_t i = 0; i < o->count && o->tape->status == MS_OK; i++) {
        if (o->is_adapters[i])
            continue;
        place(o, o->all[i].tensor);
        if (o->next[i] == 0)
            continue;
        const struct ms_adapted *adapted = model->leaves.items[o->next[i] - 1].adapted;
        place(o, adapted->lora_a.weight);
        place(o, adapted->lora_b.weight);
        place(o, adapted->lora_b.bias);
        place(o, adapted->magnitude);
        place(o, adapted->scale);
    }
}

/* Fills tape->in_order as named_parameters() has them. `all` are the tape's parameters before some
 * are frozen, the adapters' last; the tensors' leaves are indices into it. */
static void adapter_order(ms_model *model, const ms_parameter *all, uint32_t count)
{
    ordering o = {.tape = model->tape, .all = all, .count = count};
    o.next = ms_arena_array(model->arena, uint32_t, count);
    o.is_adapters = ms_arena_array(model->arena, bool, count);
    if (o.next && o.is_adapters)
        place_all(&o, model);
    else
        ms_tape_fail(o.tape, MS_ERR_NOMEM);
}

/* ---- adapter ---- */

typedef struct attaching {
    ms_model *model;
    ms_module_tree modules;
    const ms_adapter *adapter;
    ms_adapter_matcher *matcher;
    ms_error *err;
} attaching;

/* ---- making ---- */

static bool is_linear(const ms_leaf_module *leaf)
{
    return leaf->kind == MS_LEAF_LINEAR || leaf->kind == MS_LEAF_CONV1D;
}

/* in and out of a linear layer: Conv1D stores its weight the other way round. */
static void widths_of(ms_model *model, const ms_leaf_module *leaf, ms_dim *in, ms_dim *out)
{
    const ms_shape *shape = &ms_info(model->tape, leaf->weight)->shape;
    bool is_conv = leaf->kind == MS_LEAF_CONV1D;
    *in = shape->dims[is_conv ? 0 : 1];
    *out = shape->dims[is_conv ? 1 : 0];
}

/* PEFT makes its weights in fp32 and gives them the type of the base's, if those are numbers. */
static ms_dtype dtype_beside(const ms_model *model, const ms_leaf_module *leaf)
{
    if (leaf->quantized)
        return leaf->quantized->packing->adapter_dtype(model);
    return (ms_dtype)ms_info(model->tape, leaf->weight)->dtype;
}

/* Not one of the model's modules: it is not listed. */
static ms_linear_module new_linear(ms_model *model, const ms_leaf_module *leaf, const char *name,
                                   ms_dim in, ms_dim out, bool bias)
{
    ms_dtype dtype = dtype_beside(model, leaf);
    ms_linear_module module = {.scope = ms_scope_add(model->tape, leaf->scope, name, MS_NONE)};
    module.weight = ms_parameter_of(model, module.scope, "weight", MS_SHAPE(out, in), dtype);
    if (bias)
        module.bias = ms_parameter_of(model, module.scope, "bias", MS_SHAPE(out), dtype);
    return module;
}

static void make_lora(attaching *a, const ms_leaf_module *leaf, const char *name,
                      struct ms_adapted *adapted)
{
    ms_dim in, out;
    ms_model *model = a->model;
    widths_of(model, leaf, &in, &out);
    ms_dim rank =
        ms_dim_name(&model->tape->trace->symbols, "r", ms_adapter_rank_of(a->matcher, name));
    adapted->lora_a = new_linear(model, leaf, "lora_A", in, rank, false);
    adapted->lora_b = new_linear(model, leaf, "lora_B", rank, out, a->adapter->has_bias);
    if (a->adapter->is_dora)
        adapted->magnitude = ms_dora_magnitude(model, leaf->scope, leaf->weight, adapted);
}

static void make_ia3(attaching *a, const ms_leaf_module *leaf, const char *name,
                     struct ms_adapted *adapted)
{
    ms_dim in, out, one = ms_dim_number(&a->model->tape->trace->symbols, 1);
    widths_of(a->model, leaf, &in, &out);
    adapted->scales_input = ms_adapter_scales_input(a->matcher, name);
    ms_shape shape = adapted->scales_input ? MS_SHAPE(one, in) : MS_SHAPE(out, one);
    adapted->scale =
        ms_parameter_of(a->model, leaf->scope, "ia3_l", shape, dtype_beside(a->model, leaf));
}

static ms_status fail_kind(attaching *a, const char *name)
{
    return ms_fail(a->err, MS_ERR_CONFIG,
                   "adapter: '%.80s' is not a linear layer; only linear layers can be adapted here",
                   name);
}

static ms_status adapt(attaching *a, ms_leaf_module *leaf, const char *name)
{
    if (!is_linear(leaf))
        return fail_kind(a, name);
    if (leaf->has_two_results)
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: PEFT cannot run an adapted '%.80s', because it returns two "
                       "tensors; leave it out of the targets",
                       name);
    leaf->adapted = ms_arena_array(a->model->arena, struct ms_adapted, 1);
    if (!leaf->adapted)
        return ms_fail(a->err, MS_ERR_NOMEM, "out of memory for the adapter");
    leaf->call = ms_adapted_call;
    if (a->adapter->kind == MS_ADAPTER_LORA)
        make_lora(a, leaf, name, leaf->adapted);
    else
        make_ia3(a, leaf, name, leaf->adapted);
    return MS_OK;
}

/* ---- which modules ---- */

static ms_status fail_no_target(attaching *a)
{
    char hint[96];
    const ms_trace *trace = a->model->tape->trace;
    const ms_module_list *targets = &a->adapter->targets;
    if (!targets->pattern && targets->count == 0)
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: no targets are named, and PEFT has no defaults for %s; name them, "
                       "%s",
                       a->model->config->model_type,
                       a->model->config->family->has_no_attention ? "such as in_proj"
                       : ms_adapter_exchanges(a->model->config->family)
                           ? "such as q_proj and v_proj"
                           : "or use all-linear");
    if (targets->pattern)
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: the pattern '%.80s' matches no full name of a linear layer; write "
                       "a single name as a list",
                       targets->pattern);
    const char *wanted = targets->names[0];
    ms_nearest nearest = ms_nearest_same(wanted);
    for (uint32_t i = 0; i < a->model->leaves.count; i++) {
        const ms_leaf_module *leaf = &a->model->leaves.items[i];
        const char *name = trace->names.items[trace->scopes.items[leaf->scope].name];
        if (is_linear(leaf) && strcmp(name, wanted) == 0)
            return ms_fail(a->err, MS_ERR_CONFIG,
                           "adapter: all modules named '%.80s' are excluded by "
                           "exclude_modules or layers_to_transform",
                           wanted);
        if (is_linear(leaf))
            ms_nearest_offer(&nearest, name);
    }
    return ms_fail(a->err, MS_ERR_CONFIG, "adapter: no module of the model is named '%.80s'%s",
                   wanted, ms_nearest_hint(&nearest, hint, sizeof hint));
}

static ms_leaf_module *leaf_of(attaching *a, const ms_module_row *row)
{
    return row->kind == MS_MODULE_LEAF ? &a->model->leaves.items[row->leaf] : NULL;
}

/* Modules that hold others, and activations, are modules that targets can name as well; PEFT
 * refuses those. */
static ms_status adapt_row(attaching *a, const ms_module_row *row, uint32_t *found)
{
    ms_leaf_module *leaf = leaf_of(a, row);
    if (!ms_adapter_takes(a->matcher, row->name, leaf && is_linear(leaf), leaf && leaf->is_head))
        return MS_OK;
    *found += 1;
    ms_status status = ms_adapter_check_module(a->model->config->family, row->name, a->err);
    if (status != MS_OK)
        return status;
    return leaf ? adapt(a, leaf, row->name) : fail_kind(a, row->name);
}

static ms_status adapt_targets(attaching *a)
{
    const ms_model_config *config = a->model->config;
    uint32_t found = 0;
    ms_status status = ms_adapter_check_experts(a->matcher, a->adapter, config->family,
                                                config->num_layers, a->err);
    for (uint32_t i = 0; i < a->modules.count && status == MS_OK; i++)
        status = adapt_row(a, &a->modules.rows[i], &found);
    if (status == MS_OK && ms_adapter_gave_up(a->matcher))
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: its patterns take too long to match against the names of %" PRIu32
                       " modules; write simpler ones",
                       a->model->leaves.count);
    return status == MS_OK && found == 0 ? fail_no_target(a) : status;
}

/* ---- modules that are trained as a whole ---- */

static bool is_shared(const ms_model *model, const ms_leaf_module *leaf)
{
    for (uint32_t i = 0; i < model->leaves.count; i++)
        if (&model->leaves.items[i] != leaf && model->leaves.items[i].weight == leaf->weight)
            return true;
    return false;
}

/* A copy takes the place of a weight, and the weight stays, frozen. */
static void copy_weight(ms_model *model, ms_tensor tensor)
{
    ms_tape *tape = model->tape;
    if (!tensor || tape->status != MS_OK)
        return;
    uint32_t leaf = ms_info(tape, tensor)->leaf;
    const ms_parameter *parameter = &tape->parameters.items[leaf];
    ms_tensor copy =
        ms_parameter_of(model, parameter->scope, tape->trace->names.items[parameter->name],
                        ms_info(tape, tensor)->shape, (ms_dtype)ms_info(tape, tensor)->dtype);
    if (!copy)
        return;
    ms_storage_swap(tape, tensor, copy);
}

static ms_status save_modules(attaching *a)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < a->modules.count; i++) {
        const ms_module_row *row = &a->modules.rows[i];
        ms_leaf_module *leaf = leaf_of(a, row);
        if (!leaf || !ms_adapter_saves(a->matcher, row->name))
            continue;
        found++;
        if (is_shared(a->model, leaf))
            return ms_fail(a->err, MS_ERR_CONFIG,
                           "adapter: modules_to_save of '%.80s', whose weight another module "
                           "shares, is not supported",
                           row->name);
        copy_weight(a->model, leaf->weight);
        copy_weight(a->model, leaf->bias);
        leaf->is_saved = true;
    }
    if (a->adapter->saved.count > 0 && found == 0)
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: no module that can be saved is named '%.80s'",
                       a->adapter->saved.names[0]);
    return MS_OK;
}

/* ---- freezing ---- */

/* The parameters that are trained, in the order of modules. */
typedef struct trained {
    ms_tape *tape;
    ms_parameter *all;
    uint32_t count;
} trained;

static void train(trained *t, ms_tensor tensor)
{
    if (!tensor || ms_info(t->tape, tensor)->requires_grad)
        return;
    ms_parameter parameter = t->all[ms_info(t->tape, tensor)->leaf];
    ms_info(t->tape, tensor)->requires_grad = true;
    if (!ms_vec_push(&t->tape->parameters, parameter))
        ms_tape_fail(t->tape, MS_ERR_NOMEM);
}

static void train_leaf(trained *t, const ms_adapter *adapter, const ms_leaf_module *leaf)
{
    const struct ms_adapted *adapted = leaf->adapted;
    bool only = adapter->bias == MS_ADAPTER_BIAS_ONLY && adapted;
    if (leaf->is_saved)
        train(t, leaf->weight);
    if (leaf->is_saved || only || adapter->bias == MS_ADAPTER_BIAS_ALL)
        train(t, leaf->bias);
    if (!adapted)
        return;
    train(t, adapted->lora_a.weight);
    train(t, adapted->lora_b.weight);
    train(t, adapted->lora_b.bias);
    train(t, adapted->magnitude);
    train(t, adapted->scale);
}

/* Leaves in tape->parameters what is trained; the rest goes to tape->frozen. */
static void freeze(attaching *a)
{
    ms_tape *tape = a->model->tape;
    uint32_t count = tape->parameters.count;
    ms_parameter *all = ms_arena_array(a->model->arena, ms_parameter, count);
    if (!all) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    memcpy(all, tape->parameters.items, count * sizeof *all);
    adapter_order(a->model, all, count);
    for (uint32_t i = 0; i < count; i++)
        ms_info(tape, all[i].tensor)->requires_grad = false;
    tape->parameters.count = 0;
    trained t = {tape, all, count};
    for (uint32_t i = 0; i < a->model->leaves.count; i++)
        train_leaf(&t, a->adapter, &a->model->leaves.items[i]);
    for (uint32_t i = 0; i < count; i++) {
        ms_info(tape, all[i].tensor)->leaf = MS_NONE;
        if (!ms_info(tape, all[i].tensor)->requires_grad &&
            !ms_vec_push(&tape->frozen, all[i].tensor))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        ms_info(tape, tape->parameters.items[i].tensor)->leaf = i;
    for (uint32_t i = 0; i < tape->in_order.count; i++)
        tape->in_order.items[i].parameter = ms_info(tape, tape->in_order.items[i].tensor)->leaf;
}

/* DeepSpeed's engine casts the adapters of a packed base with the rest: ms_cast_back. */
static bool is_cast_later(const ms_run_config *run)
{
    return run->parallel.layout.kind == MS_PARALLEL_ZERO && ms_is_packed(&run->quantization);
}

/* What the adapters added gets their type, in the order of modules. */
static void cast_adapters(attaching *a, ms_dtype dtype)
{
    for (uint32_t i = 0; i < a->model->leaves.count; i++) {
        const struct ms_adapted *adapted = a->model->leaves.items[i].adapted;
        if (!adapted)
            continue;
        ms_module_cast(a->model, adapted->lora_a.weight, dtype);
        ms_module_cast(a->model, adapted->lora_b.weight, dtype);
        ms_module_cast(a->model, adapted->lora_b.bias, dtype);
        ms_module_cast(a->model, adapted->magnitude, dtype);
        ms_module_cast(a->model, adapted->scale, dtype);
    }
}

/* Of what PEFT can do to packed weights, what is modelled. */
static ms_status check_method(const attaching *a)
{
    const ms_quantization *q = &a->model->run->quantization;
    if (a->adapter->is_dora && !ms_is_in_four_bits(q))
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: DoRA is supported on a base in nf4 or fp4, or not quantised");
    if (a->adapter->kind == MS_ADAPTER_IA3 && !ms_is_bitsandbytes(q))
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: IA3 is supported on a base in nf4, fp4 or int8, or not quantised");
    return MS_OK;
}

static ms_status check_quantized(const attaching *a)
{
    if (!ms_is_packed(&a->model->run->quantization))
        return MS_OK;
    if (a->adapter->bias != MS_ADAPTER_BIAS_NONE)
        return ms_fail(a->err, MS_ERR_CONFIG,
                       "adapter: training the biases of a quantised base is not supported");
    for (uint32_t i = 0; i < a->model->leaves.count; i++)
        if (a->model->leaves.items[i].kind == MS_LEAF_CONV1D)
            return ms_fail(a->err, MS_ERR_CONFIG,
                           "quantize: %s's layers (Conv1D) are supported with none only",
                           a->model->config->model_type);
    return check_method(a);
}

ms_status ms_adapter_attach(ms_model *model, ms_error *err)
{
    attaching a = {.model = model, .adapter = model->run->adapter, .err = err};
    if (!a.adapter || model->tape->status != MS_OK)
        return model->tape->status;
    ms_status fits = check_quantized(&a);
    if (fits != MS_OK)
        return fits;
    if (ms_module_tree_make(model, &a.modules) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
    ms_status status = ms_adapter_matcher_new(a.adapter, model->config->family, &a.matcher, err);
    if (status == MS_OK)
        status = adapt_targets(&a);
    if (status == MS_OK)
        status = model->tape->status;
    if (status == MS_OK)
        status = save_modules(&a);
    ms_adapter_matcher_free(a.matcher);
    if (status != MS_OK)
        return status;
    freeze(&a);
    cast_adapters(&a, is_cast_later(model->run) ? MS_DTYPE_F32 : a.adapter->dtype);
    return model->tape->status;
}
