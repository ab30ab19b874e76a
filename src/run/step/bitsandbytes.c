/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bitsandbytes' optimizers: one kernel per parameter, without temporaries. States are in fp32, or
 * in 8 bits with a scale per 256 numbers and one quantisation map; large states of paged optimizers
 * are in unified memory, which migrates to the device on use.
 */
#include "torch/ops/ops.h"
#include "run/step/optimizers/optimizer_lists.h"
#include "run/step/optimizers/optimizer_row.h"
#include "run/step/run.h"

enum { LEAST_ELEMENTS_IN_8_BITS = 4096, LEAST_PAGED_ELEMENTS = 100000, BLOCK_ELEMENTS = 256 };
enum { CODES = 256, STATE_SCALES = 2, STATE_MAPS = 4 };

static const char *const map_names[] = {"qmap1", "qmap2"};
static const char *const scale_names[] = {"absmax1", "absmax2"};

static uint64_t elements_of(ms_tape *tape, const ms_parameter *parameter)
{
    return ms_elements(&ms_info(tape, parameter->tensor)->shape);
}

static ms_dtype state_type(ms_tape *tape, const ms_optimizer_row *row,
                           const ms_parameter *parameter)
{
    bool in_8_bits = row->state_bits == 8 && !(row->spares_embeddings && parameter->is_embedding) &&
                     elements_of(tape, parameter) >= LEAST_ELEMENTS_IN_8_BITS;
    return in_8_bits ? MS_DTYPE_U8 : MS_DTYPE_F32;
}

static bool is_paged(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter)
{
    return row->is_paged && elements_of(tape, parameter) >= LEAST_PAGED_ELEMENTS;
}

uint64_t ms_paged_bytes(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter)
{
    if (!is_paged(tape, row, parameter))
        return 0;
    return elements_of(tape, parameter) * ms_dtype_bytes(state_type(tape, row, parameter)) *
           ms_optimizer_state_count(row);
}

/* The maps of codes to numbers go to the device before the first states in 8 bits. In backward each
 * parameter has an optimizer of its own, with maps of its own. */
static void make_code_maps(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    ms_tensor *maps = ms_step_run(tape)->training.optimizer_in_backward
                          ? parameter->states + STATE_MAPS
                          : tape->code_maps;
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i] && !maps[i])
            maps[i] =
                ms_optimizer_state(tape, MS_SHAPE({.value = CODES}), MS_DTYPE_F32, map_names[i]);
}

void ms_make_blocks(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    ms_dtype type = state_type(tape, row, parameter);
    ms_shape shape = ms_info(tape, parameter->tensor)->shape;
    if (type == MS_DTYPE_U8)
        make_code_maps(tape, row, parameter);
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i] && !is_paged(tape, row, parameter))
            parameter->states[i] = ms_optimizer_state(tape, shape, type, row->states[i]);
    uint64_t blocks = (elements_of(tape, parameter) + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS;
    for (uint32_t i = 0; i < 2 && type == MS_DTYPE_U8; i++)
        if (row->states[i])
            parameter->states[STATE_SCALES + i] =
                ms_optimizer_state(tape, MS_SHAPE({.value = blocks}), MS_DTYPE_F32, scale_names[i]);
}
