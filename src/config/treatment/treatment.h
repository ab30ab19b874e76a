/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a run treats its layers and its loss to save memory:
 *
 *     first:8=checkpoint,8-31=offload:0.5+tile:4,loss=chunk:8
 *
 * An item is a list of layers, "=", and what becomes of them; a later item wins over an earlier
 * one.
 *
 *     keep              everything that autograd saves stays on the device
 *     checkpoint        the layer's input alone stays; backward runs the layer again
 *     selective:OP+OP   the same, but the results of these operators stay as well: "mm" is each
 *                       of that name in the layer, "mm#2" the third
 *     selective:0.5     the same; those that spare most time for half of all results' bytes
 *     offload:0.5       half of the bytes that the layer saves go to the host and come back
 *     +offload          behind a checkpoint, selective or not: its input goes to the host and comes
 *                       back beside the layers' work, but for the last layer's
 *     +save_on_cpu      the same, by PyTorch's save_on_cpu: the step waits for each copy
 *     checkpoint-mlp    the MLP's input alone stays of what the MLP saves; backward runs it again
 *     checkpoint-norms  the same of each of the layer's own norms; "+checkpoint-norms" behind
 *                       checkpoint-mlp or tiles
 *     tile:4            the MLP in 4 pieces of the tokens, each run again by backward; behind
 *                       another treatment "+tile:4"
 *     tile-attention:4  attention in 4 pieces of the queries, the same
 *     loss=chunk:8      head and loss in 8 pieces of the tokens, each run again by backward
 */
#ifndef MS_CONFIG_TREATMENT_TREATMENT_H
#define MS_CONFIG_TREATMENT_TREATMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/treatment/part_list.h"

typedef enum ms_treatment_kind {
    MS_TREAT_KEEP,
    MS_TREAT_CHECKPOINT,
    MS_TREAT_SELECTIVE,
    MS_TREAT_OFFLOAD,
    MS_TREAT_KIND_COUNT
} ms_treatment_kind;

/* Where a checkpoint's input waits for backward. */
typedef enum ms_input_place {
    MS_INPUT_ON_DEVICE,
    MS_INPUT_OFFLOADED,    /* on the host; copies overlap with the layers, the last layer's stays */
    MS_INPUT_SAVED_ON_CPU, /* on the host; the compute stream waits for each copy */
    MS_INPUT_PLACE_COUNT
} ms_input_place;

/* An operator whose results a selective checkpoint keeps. */
typedef struct ms_kept_op {
    const char *name;    /* as the operator's row has it */
    uint32_t occurrence; /* 0-based in the layer's forward, or UINT32_MAX: each */
} ms_kept_op;

/* What can be done to a part of a layer by itself. */
typedef enum ms_part {
#define MS_PART_CONSTANT(constant, row) MS_PART_##constant,
    MS_PART_LIST(MS_PART_CONSTANT)
#undef MS_PART_CONSTANT
        MS_PART_COUNT
} ms_part;

typedef struct ms_treatment {
    ms_treatment_kind kind;
    ms_input_place input;          /* checkpoint and selective */
    uint32_t parts[MS_PART_COUNT]; /* 0: no; else in how many pieces, or 1 */
    double share; /* offload: of the saved bytes; selective: of the results to keep, when
                     kept_count is 0 */
    const ms_kept_op *kept_ops; /* selective; arena */
    uint32_t kept_count;
} ms_treatment;

enum { MS_MOST_TILES = 1024, MS_MOST_KEPT_OPS = 256 };

/* The MLP runs in pieces, and attention does not. */
static inline bool ms_treatment_tiles_mlp_alone(const ms_treatment *t)
{
    return t->parts[MS_PART_TILE] > 0 && t->parts[MS_PART_TILE_ATTENTION] == 0;
}

/* The treatments that a whole specification gives a model of num_layers layers. */
typedef struct ms_treatments {
    ms_treatment *layers;
    uint32_t loss_chunks; /* 0 = in one */
} ms_treatments;

/* Checks the syntax only; layer numbers are checked when the model is known. */
ms_status ms_treatments_check(const char *text, ms_error *err);

/* Applies `text` to treatments->layers[0 .. num_layers - 1]; operators live in the arena. */
ms_status ms_treatments_apply(const char *text, ms_arena *arena, uint64_t num_layers,
                              ms_treatments *treatments, ms_error *err);

/* Whether any of it goes to the host. */
bool ms_treatment_sends(const ms_treatment *treatment);

bool ms_treatment_equal(const ms_treatment *a, const ms_treatment *b);

#endif
