/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/figures.h"
#include "run/step/run.h"

#include <stdlib.h>

#include "torch/parallel/parallel.h"
#include "torch/treatments/recompute.h"
#include "torch/treatments/host_parameters.h"

static uint64_t tensor_bytes(ms_tape *tape, ms_tensor tensor)
{
    return tensor ? ms_tensor_bytes(tape, tensor) : 0;
}

void ms_figures_count_parameters(ms_tape *tape, ms_simulation *s)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        uint64_t ranks = parameter->ranks ? parameter->ranks : 1;
        s->trainable_param_count += ranks * ms_elements(&ms_info(tape, parameter->tensor)->shape);
        if (ms_host_parameters_has(tape, i))
            s->host_weight_bytes += tensor_bytes(tape, parameter->tensor);
    }
    s->param_count = s->trainable_param_count;
    for (uint32_t i = 0; i < tape->frozen.count; i++)
        s->param_count += ms_elements(&ms_info(tape, tape->frozen.items[i])->shape);
}

void ms_figures_sum(ms_tape *tape, ms_simulation *simulation)
{
    const ms_trace *trace = tape->trace;
    for (uint32_t i = 0; i < trace->storages.count; i++) {
        const ms_storage *storage = &trace->storages.items[i];
        if (!ms_storage_is_held(tape, i))
            continue;
        simulation->weight_bytes += storage->category == MS_CATEGORY_WEIGHT ? storage->bytes : 0;
        simulation->buffer_bytes += storage->category == MS_CATEGORY_BUFFER ? storage->bytes : 0;
    }
}

void ms_figures_sum_gradients(ms_tape *tape, ms_simulation *simulation)
{
    if (ms_step_run(tape)->training.optimizer_in_backward ||
        ms_parallel_on_host(tape).weight_bytes ||
        ms_parallel_gradient_bytes(tape, &simulation->gradient_bytes))
        return;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        if (parameter->is_reached && !ms_host_parameters_has(tape, i))
            simulation->gradient_bytes +=
                tensor_bytes(tape, parameter->tensor) + tensor_bytes(tape, parameter->sum);
    }
}

void ms_figures_find_unreached(ms_tape *tape, ms_simulation *simulation)
{
    ms_unreached *found = &simulation->unreached;
    if (ms_parallel_has_engine(tape)) /* its parameters are parts, which get sums by themselves */
        return;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *p = &tape->parameters.items[i];
        if (p->is_reached)
            continue;
        if (found->count < MS_UNREACHED_SHOWN) {
            found->first[found->count].scope = p->scope;
            found->first[found->count].name = p->name;
        }
        found->count++;
        found->elements += ms_elements(&ms_info(tape, p->tensor)->shape);
        found->bytes += tensor_bytes(tape, p->tensor);
    }
}

static void count_storage(ms_tape *tape, ms_simulation *simulation, bool *seen, uint32_t index)
{
    const ms_storage *storage = &tape->trace->storages.items[index];
    bool is_number = storage->dtype == MS_DTYPE_F64; /* hooks do not see Python numbers */
    if (seen[index] || is_number || storage->category == MS_CATEGORY_WEIGHT ||
        storage->category == MS_CATEGORY_BUFFER)
        return;
    seen[index] = true;
    simulation->saved_bytes += storage->bytes;
}

static void count_saved(ms_tape *tape, ms_simulation *simulation, bool *seen, ms_tensor tensor)
{
    if (tensor)
        count_storage(tape, simulation, seen, ms_info(tape, tensor)->storage);
}

void ms_figures_sum_saved(ms_tape *tape, ms_simulation *simulation)
{
    bool *seen = calloc(tape->trace->storages.count, sizeof *seen);
    if (!seen) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    simulation->saved_bytes = tape->host_saved_bytes + tape->passing_saved_bytes;
    for (uint32_t i = 0; i < tape->nodes.count; i++) {
        const ms_node *node = &tape->nodes.items[i];
        for (uint32_t k = 0; k < node->saved_count; k++)
            count_saved(tape, simulation, seen, node->saved[k]);
    }
    ms_tensor argument;
    for (uint32_t i = 0; ms_checkpoint_argument(tape, i, &argument); i++)
        count_saved(tape, simulation, seen, argument);
    for (uint32_t i = 0; i < tape->forgotten.count; i++)
        count_storage(tape, simulation, seen, tape->forgotten.items[i]);
    free(seen);
}
