/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside step/: an optimizer is a row, what it keeps per parameter and what a step allocates. Kinds
 * of optimizers stand in files of their own: moments.c (PyTorch's plain ones), adafactor.c, muon.c,
 * bitsandbytes.c.
 */
#ifndef MS_STEP_OPTIMIZER_ROW_H
#define MS_STEP_OPTIMIZER_ROW_H

#include "config/run/optimizer.h"
#include "autograd/tape.h"

typedef struct ms_optimizer_row ms_optimizer_row;

/* Numbers of parameters with a gradient, in their order: what one optimizer steps. */
typedef struct ms_stepped {
    const ms_optimizer_row *row; /* the optimizer */
    const uint32_t *items;
    uint32_t count;
} ms_stepped;

typedef void ms_optimizer_update(ms_tape *tape, const ms_stepped *stepped);

struct ms_optimizer_row {
    const char *states[2];    /* of the parameter's shape, or a factor of it */
    uint8_t state_bits;       /* of bitsandbytes' states: 8 or 32 */
    bool spares_embeddings;   /* whose states are in 32 bits all the same */
    bool is_paged;            /* its large states are in unified memory */
    bool has_step;            /* a 0-dim fp32 counter; on the device only when fused */
    bool adds_decay;          /* weight decay is added to the gradient */
    bool is_made_early;       /* its states are there before the first step */
    bool is_made_late;        /* its update makes its states, amidst temporaries */
    ms_optimizer_kind others; /* what steps the parameters that this one does not take */
    bool (*takes)(ms_tape *tape, const ms_parameter *parameter); /* NULL: all */
    void (*make_states)(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
    ms_optimizer_update *update[MS_OPTIMIZER_IMPL_COUNT]; /* NULL: it has no temporaries */
};

uint64_t ms_optimizer_state_count(const ms_optimizer_row *row);
/* Times of a parameter's bytes that its update moves: parameter and states are read and written,
 * the gradient is read. */
uint64_t ms_optimizer_passes(const ms_optimizer_row *row);

static inline ms_parameter *ms_stepped_at(ms_tape *tape, const ms_stepped *stepped, uint32_t i)
{
    return &tape->parameters.items[stepped->items[i]];
}

/* ---- making states ---- */
/* Those of the parameter that are not there yet. */
void ms_optimizer_make_states(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
/* In the type of the parameter, with a counter on the device if it is fused. */
void ms_make_moments(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
void ms_make_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
void ms_make_trainer_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
void ms_make_blocks(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);

/* ---- what a step allocates ---- */
ms_optimizer_update ms_sgd_foreach, ms_sgd_loop, ms_adam_foreach, ms_adam_loop, ms_rmsprop_foreach,
    ms_adagrad_foreach, ms_root_loop, ms_adafactor_foreach, ms_adafactor_loop, ms_trainer_adafactor,
    ms_muon_loop;
bool ms_muon_takes(ms_tape *tape, const ms_parameter *parameter);

/* Of a parameter's states what is in unified memory, which is no memory of the device. */
uint64_t ms_paged_bytes(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter);

/* ---- on the host of a device ---- */
void ms_optimizer_step_on_host(ms_tape *tape, const ms_optimizer_row *row);
uint64_t ms_optimizer_bytes_on_host(ms_tape *tape, const ms_optimizer_row *row);

/* ---- reductions: a new tensor, in addition to the partial results of its kernel ---- */
ms_tensor ms_reduce_all(ms_tape *tape, ms_tensor a);  /* to a scalar */
ms_tensor ms_reduce_rows(ms_tape *tape, ms_tensor a); /* [M, N] to [M]: over the last dimension */
ms_tensor ms_reduce_columns(ms_tape *tape, ms_tensor a); /* [M, N] to [N] */

#endif
