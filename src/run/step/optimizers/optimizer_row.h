/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal to step/: an optimizer is a row: its states per parameter, and the allocations of a
 * step. Their files: moments.c (PyTorch's elementwise ones), adafactor.c, muon.c, bitsandbytes.c.
 */
#ifndef MS_RUN_STEP_OPTIMIZERS_OPTIMIZER_ROW_H
#define MS_RUN_STEP_OPTIMIZERS_OPTIMIZER_ROW_H

#include "input/config/run/optimizer.h"
#include "torch/autograd/tape.h"

typedef struct ms_optimizer_row ms_optimizer_row;

/* The parameters that one optimizer updates: indices of those with a gradient, ascending. */
typedef struct ms_stepped {
    const ms_optimizer_row *row; /* the optimizer */
    const uint32_t *items;
    uint32_t count;
} ms_stepped;

typedef void ms_optimizer_update(ms_tape *tape, const ms_stepped *stepped);

struct ms_optimizer_row {
    const char *states[2];    /* names; of the parameter's shape, or factored */
    uint8_t state_bits;       /* bitsandbytes: 8 or 32 */
    bool spares_embeddings;   /* their states have 32 bits */
    bool is_paged;            /* large states are in unified memory */
    bool has_step;            /* has a 0-dim fp32 counter, on the device only if fused */
    uint8_t more_passes;      /* over tensors of the parameter's size, if an update is not fused */
    bool adds_decay;          /* weight decay is added to the gradient */
    bool is_made_early;       /* states are created before the first step */
    bool is_made_late;        /* states are created during the update */
    ms_optimizer_kind others; /* optimizer of the parameters that this one does not take */
    bool (*takes)(ms_tape *tape, const ms_parameter *parameter); /* NULL: all */
    void (*make_states)(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
    ms_optimizer_update *update[MS_OPTIMIZER_IMPL_COUNT]; /* NULL: no temporaries */
};

uint64_t ms_optimizer_state_count(const ms_optimizer_row *row);
/* Bytes moved by an update / bytes of the parameter: parameter and states are read and written, the
 * gradient is read. */
uint64_t ms_optimizer_passes(const ms_optimizer_row *row);

static inline ms_parameter *ms_stepped_at(ms_tape *tape, const ms_stepped *stepped, uint32_t i)
{
    return &tape->parameters.items[stepped->items[i]];
}

/* ---- making states ---- */
/* Creates the parameter's missing states. */
void ms_optimizer_make_states(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
/* States in the parameter's dtype, with a counter on the device if fused. */
void ms_make_moments(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
void ms_make_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
void ms_make_trainer_factors(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);
void ms_make_blocks(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter);

/* ---- what a step allocates ---- */
ms_optimizer_update ms_sgd_foreach, ms_sgd_loop, ms_adam_foreach, ms_adam_loop, ms_rmsprop_foreach,
    ms_adagrad_foreach, ms_root_loop, ms_adafactor_foreach, ms_adafactor_loop, ms_trainer_adafactor,
    ms_muon_loop;
bool ms_muon_takes(ms_tape *tape, const ms_parameter *parameter);

/* Bytes of a parameter's states in unified memory, which does not count as device memory. */
uint64_t ms_paged_bytes(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter);

/* ---- optimizer lists ---- */

/* Helpers for optimizer updates: states, and lists of tensors. */

/* Creates a state of that name, to be owned by its parameter. */
ms_tensor ms_optimizer_state(ms_tape *tape, ms_shape shape, ms_dtype dtype, const char *name);

/* A list of tensors; dropped from its end, as in Python. */
typedef ms_vec(ms_tensor) ms_tensor_list;
void ms_list_push(ms_tape *tape, ms_tensor_list *list, ms_tensor tensor);
void ms_list_drop(ms_tape *tape, ms_tensor_list *list);
/* One new tensor per state (0 or 1) or gradient of the parameters. */
enum { MS_LIST_OF_GRADIENTS = -1 };
ms_tensor_list ms_list_like(ms_tape *tape, const ms_stepped *stepped, int state);

/* ---- reductions ---- */

/* Reductions. Each allocates its result and its kernel's partial results. */

/* ---- sums ---- */
ms_tensor ms_reduce_all(ms_tape *tape, ms_tensor a);  /* to a scalar */
ms_tensor ms_reduce_rows(ms_tape *tape, ms_tensor a); /* [M, N] to [M]: over the last dimension */
ms_tensor ms_reduce_columns(ms_tape *tape, ms_tensor a); /* [M, N] to [N] */

#endif
