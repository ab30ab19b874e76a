/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/trainers/layer_products.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "run/simulate/variation.h"

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

ms_status ms_layer_products_read(ms_arena *arena, const ms_step_task *task,
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
