/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters by size, the largest first, each to the rank that has least so far.
 */
#include "torch/parallel/zero/zero_optimizer.h"

#include <stdlib.h>
#include <string.h>

typedef struct assigned {
    uint32_t parameter;
    uint64_t elements, rank;
} assigned;

typedef struct zero_optimizer {
    ms_vec(assigned) all; /* by size */
    ms_vec(uint32_t) own; /* this rank's */
} zero_optimizer;

static void free_state(void *state)
{
    zero_optimizer *zero = state;
    ms_vec_free(&zero->all);
    ms_vec_free(&zero->own);
}

static const ms_state_kind kind = {.bytes = sizeof(zero_optimizer), .free = free_state};

/* The largest first; equal ones in their order. */
static int compare(const void *a, const void *b)
{
    const assigned *x = a, *y = b;
    if (x->elements != y->elements)
        return x->elements > y->elements ? -1 : 1;
    return x->parameter < y->parameter ? -1 : x->parameter > y->parameter;
}

static uint64_t least_loaded(const uint64_t *loads, uint64_t ranks)
{
    uint64_t least = 0;
    for (uint64_t rank = 1; rank < ranks; rank++)
        if (loads[rank] < loads[least])
            least = rank;
    return least;
}

static void assign(ms_tape *tape, zero_optimizer *zero, const ms_parallel *parallel)
{
    uint64_t ranks = parallel->layout.copies;
    uint64_t *loads = calloc(ranks, sizeof *loads);
    if (!loads) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < zero->all.count; i++) {
        assigned *row = &zero->all.items[i];
        row->rank = least_loaded(loads, ranks);
        loads[row->rank] += row->elements;
        if (row->rank == parallel->rank && !ms_vec_push(&zero->own, row->parameter))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    free(loads);
}

/* ---- parameters as views ---- */

static void move_into(ms_tape *tape, ms_tensor buffer, ms_tensor parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter);
    ms_tensor view = ms_alias(tape, buffer, info.shape, info.strides);
    if (!view)
        return;
    ms_storage_swap(tape, parameter, view);
    ms_info(tape, parameter)->is_view = true;
    ms_consume(tape, view);
}

static void make_buffer(ms_tape *tape, const zero_optimizer *zero, uint64_t rank)
{
    uint64_t elements = 0;
    ms_dtype dtype = MS_DTYPE_F32;
    for (uint32_t i = 0; i < zero->all.count; i++) {
        const assigned *row = &zero->all.items[i];
        if (row->rank != rank)
            continue;
        elements += row->elements;
        ms_tensor tensor = tape->parameters.items[row->parameter].tensor;
        dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
    }
    const bool is_empty = elements == 0; /* then PyTorch has one number in its place */
    ms_tensor buffer =
        ms_empty_bytes(tape, (is_empty ? 1 : elements) * ms_dtype_bytes(dtype), dtype);
    ms_name_storage(tape, buffer, "buffer of parameters",
                    is_empty ? MS_CATEGORY_BUFFER : MS_CATEGORY_WEIGHT);
    ms_retain(tape, buffer);
    for (uint32_t i = 0; i < zero->all.count && !ms_idle(tape); i++)
        if (zero->all.items[i].rank == rank)
            move_into(tape, buffer, tape->parameters.items[zero->all.items[i].parameter].tensor);
}

/* ---- */

void ms_zero_optimizer_build(ms_tape *tape)
{
    const ms_parallel *parallel = ms_parallel_of(tape);
    zero_optimizer *zero = ms_hooks_state(tape, &kind);
    if (!zero)
        return;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_shape shape = ms_info(tape, tape->parameters.items[i].tensor)->shape;
        if (!ms_vec_push(&zero->all, (assigned){.parameter = i, .elements = ms_elements(&shape)}))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    if (zero->all.count)
        qsort(zero->all.items, zero->all.count, sizeof *zero->all.items, compare);
    assign(tape, zero, parallel);
    for (uint64_t rank = 0; rank < parallel->layout.copies && parallel->has_parameter_views; rank++)
        make_buffer(tape, zero, rank);
}

const uint32_t *ms_zero_optimizer_parameters(const ms_tape *tape, uint32_t *count)
{
    static const uint32_t none;
    const zero_optimizer *zero = ms_hooks_find_state(tape, &kind);
    *count = zero ? zero->own.count : 0;
    return !zero ? NULL : zero->own.items ? zero->own.items : &none;
}
