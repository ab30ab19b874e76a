/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/tensor_parallel.h"

#include <string.h>

#include "torch/ops/dtensor/dtensor.h"
#include "torch/ops/ops.h"

typedef enum style {
    STYLE_NONE,
    STYLE_COLUMN, /* rows of the weight, which are columns of the product */
    STYLE_ROW,    /* columns of the weight: the products are partial sums */
    STYLE_TABLE,  /* rows of an embedding */
    STYLE_HEAD    /* as column; its rows are the table's, which are split already */
} style;

typedef struct plan_row {
    const char *name; /* the module's own */
    style style;
} plan_row;

/* Of llama and its kin: transformers' base_model_tp_plan, with embedding and head. */
static const plan_row plan[] = {
    {"embed_tokens", STYLE_TABLE}, {"q_proj", STYLE_COLUMN}, {"k_proj", STYLE_COLUMN},
    {"v_proj", STYLE_COLUMN},      {"o_proj", STYLE_ROW},    {"gate_proj", STYLE_COLUMN},
    {"up_proj", STYLE_COLUMN},     {"down_proj", STYLE_ROW}, {"lm_head", STYLE_HEAD},
};

static uint64_t ranks_of(const ms_model *model)
{
    uint64_t ranks = model->run->parallel.layout.tensor;
    return ranks > 1 ? ranks : 1;
}

static bool splits_sequence(const ms_model *model)
{
    return ranks_of(model) > 1 && model->run->parallel.splits_sequence;
}

static style style_of(const ms_model *model, const char *name)
{
    for (size_t i = 0; i < sizeof plan / sizeof *plan && ranks_of(model) > 1; i++)
        if (strcmp(plan[i].name, name) == 0)
            return plan[i].style;
    return STYLE_NONE;
}

static ms_dim part_of(const ms_model *model, ms_dim whole)
{
    return ms_dim_number(&model->tape->trace->symbols, whole.value / ranks_of(model));
}

ms_dim ms_rank_tokens(const ms_model *model)
{
    return splits_sequence(model) ? part_of(model, model->seq) : model->seq;
}

void ms_plan_shard(ms_model *model, const char *name, ms_dim *rows, ms_dim *columns)
{
    style s = style_of(model, name);
    if (s == STYLE_COLUMN || s == STYLE_TABLE)
        *rows = part_of(model, *rows);
    if (s == STYLE_ROW)
        *columns = part_of(model, *columns);
}

/* ---- calls ---- */

static ms_tensor call_column(ms_model *model, const ms_leaf_module *leaf,
                             const ms_linear_module *module, ms_tensor x, ms_linear_fn linear)
{
    (void)leaf;
    if (!splits_sequence(model)) /* else the module's input is gathered already */
        x = ms_mesh_enter(model->tape, x);
    return linear(model->tape, x, module->weight, module->bias);
}

static ms_tensor call_row(ms_model *model, const ms_leaf_module *leaf,
                          const ms_linear_module *module, ms_tensor x, ms_linear_fn linear)
{
    ms_tape *tape = model->tape;
    (void)leaf;
    ms_retain(tape, x); /* the module's argument, until its call returns */
    ms_tensor bias = 0; /* this rank's part of the sum that the bias becomes */
    if (module->bias && !ms_idle(tape))
        bias = ms_empty_like(tape, module->bias, (ms_dtype)ms_info(tape, module->bias)->dtype);
    ms_tensor out = linear(tape, x, module->weight, module->bias);
    ms_consume(tape, bias);
    out = splits_sequence(model) ? ms_mesh_sum_tokens(tape, out, MS_WAITS_FOR_OPERATOR)
                                 : ms_mesh_sum(tape, out);
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

static ms_tensor call_head(ms_model *model, const ms_leaf_module *leaf,
                           const ms_linear_module *module, ms_tensor x, ms_linear_fn linear)
{
    ms_tape *tape = model->tape;
    (void)leaf;
    x = splits_sequence(model) ? ms_mesh_gather_tokens(tape, x, false) : ms_mesh_enter(tape, x);
    ms_tensor out = linear(tape, x, module->weight, module->bias);
    return model->run->parallel.splits_loss ? out : ms_mesh_gather_last(tape, out);
}

ms_tensor ms_table_call(ms_model *model, ms_tensor weight, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    if (ranks_of(model) == 1)
        return ms_embedding(tape, weight, ids);
    ms_tensor out = ms_mesh_embedding(tape, weight, ids);
    return splits_sequence(model) ? ms_mesh_sum_tokens(tape, out, MS_WAITS_FOR_CALL)
                                  : ms_mesh_sum(tape, out);
}

ms_tensor ms_module_input(ms_model *model, ms_tensor hidden)
{
    return splits_sequence(model) ? ms_mesh_gather_tokens(model->tape, hidden, true) : hidden;
}

bool ms_norm_begin(ms_model *model, ms_tensor *x)
{
    bool outer = model->tape->is_distributed;
    if (splits_sequence(model)) {
        ms_mesh_wait_for(model->tape);
        model->tape->is_distributed = true;
        *x = ms_mesh_own(model->tape, *x);
    }
    return outer;
}

void ms_norm_end(ms_model *model, bool outer)
{
    model->tape->is_distributed = outer;
}

ms_tensor ms_split_loss(ms_model *model, ms_tensor logits, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !logits)
        return 0;
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    ms_dim columns = ms_info(tape, logits)->shape.dims[2];
    ms_tensor scores = ms_to(tape, ms_view(tape, logits, MS_SHAPE(tokens, columns)), MS_DTYPE_F32);
    return ms_mesh_cross_entropy(tape, scores, ms_view(tape, labels, MS_SHAPE(tokens)));
}

/* ---- the model ---- */

static const ms_leaf_call calls[] = {
    [STYLE_COLUMN] = call_column, [STYLE_ROW] = call_row, [STYLE_HEAD] = call_head};

static const char *name_of(const ms_model *model, uint32_t scope)
{
    const ms_trace *trace = model->tape->trace;
    return trace->names.items[trace->scopes.items[scope].name];
}

/* A tied weight is the table's, then the head's. */
static void place(ms_model *model, ms_tensor tensor, bool redistributes, uint64_t ranks)
{
    ms_tape *tape = model->tape;
    ms_parameter *parameter = &tape->parameters.items[ms_info(tape, tensor)->leaf];
    parameter->is_distributed = true;
    parameter->redistributes |= redistributes;
    parameter->ranks = ranks;
}

/* Norms are DTensors where the ranks run them on parts: their gradients are sums to be made. */
static void attach_leaf(ms_model *model, ms_leaf_module *leaf)
{
    style s = style_of(model, name_of(model, leaf->scope));
    bool is_norm = leaf->kind == MS_LEAF_NORM && splits_sequence(model);
    if (s == STYLE_NONE && !is_norm)
        return;
    place(model, leaf->weight, is_norm || s == STYLE_TABLE, is_norm ? 1 : ranks_of(model));
    if (leaf->bias) /* a row-wise layer's is whole */
        place(model, leaf->bias, is_norm, s == STYLE_COLUMN ? ranks_of(model) : 1);
    if (s != STYLE_NONE && s != STYLE_TABLE)
        leaf->call = calls[s];
}

void ms_tensor_parallel_attach(ms_model *model)
{
    ms_tape *tape = model->tape;
    if (ranks_of(model) == 1 || tape->status != MS_OK)
        return;
    ms_mesh_begin(tape, ranks_of(model));
    for (uint32_t i = 0; i < model->leaves.count && tape->status == MS_OK; i++)
        attach_leaf(model, &model->leaves.items[i]);
    model->heads = part_of(model, model->heads);
    model->kv_heads = part_of(model, model->kv_heads);
    model->intermediate = part_of(model, model->intermediate);
}

void ms_tensor_parallel_positions(ms_model *model)
{
    ms_tape *tape = model->tape;
    if (ranks_of(model) == 1 || ms_layout_has_stages(&model->run->parallel.layout))
        return;
    model->position_ids = ms_empty(tape, MS_SHAPE((ms_dim){.value = 1}, model->seq), MS_DTYPE_I64);
    ms_retain(tape, model->position_ids);
    ms_name_storage(tape, model->position_ids, "position_ids", MS_CATEGORY_INPUT);
}
