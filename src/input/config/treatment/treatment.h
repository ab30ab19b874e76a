/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a run treats its layers and its loss to save memory:
 *
 *     first:8=checkpoint,8-31=offload:0.5+tile:4,loss=chunk:8
 *
 * An item is a list of layers, "=", and a treatment; later items win over earlier ones.
 *
 *     keep              everything that autograd saves stays on the device
 *     checkpoint        only the layer's input is kept; backward recomputes the layer
 *     selective:OP+OP   the same, but the results of these operators are kept too: "mm" is every
 *                       operator of that name in the layer, "mm#2" the third
 *     selective:0.5     the same, with the operators that save most time within half of the bytes
 *                       of all results
 *     offload:0.5       half of the saved bytes are offloaded to the host and fetched for backward
 *     +offload          after a checkpoint, selective or not: its input is offloaded; copies
 * overlap with the layers; the last layer's input stays +save_on_cpu      the same, by PyTorch's
 * save_on_cpu: the step waits for each copy checkpoint-mlp    of what the MLP saves only its input
 * is kept; backward recomputes the MLP checkpoint-norms  the same for each of the layer's own
 * norms; "+checkpoint-norms" after checkpoint-mlp or tiles tile:4            the MLP in 4 tiles of
 * the tokens, each recomputed in backward; after another treatment "+tile:4" tile-attention:4
 * attention in 4 tiles of the queries, each recomputed in backward loss=chunk:8      head and loss
 * in 8 chunks of the tokens, each recomputed in backward
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_TREATMENT_H
#define MS_INPUT_CONFIG_TREATMENT_TREATMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/treatment/part_list.h"

typedef enum ms_treatment_kind {
    MS_TREAT_KEEP,
    MS_TREAT_CHECKPOINT,
    MS_TREAT_SELECTIVE,
    MS_TREAT_OFFLOAD,
    MS_TREAT_KIND_COUNT
} ms_treatment_kind;

/* Where a checkpoint's input is kept until backward. */
typedef enum ms_input_place {
    MS_INPUT_ON_DEVICE,
    MS_INPUT_OFFLOADED, /* on the host; copies overlap with the layers; the last layer's input stays
                         */
    MS_INPUT_SAVED_ON_CPU, /* on the host; the compute stream waits for each copy */
    MS_INPUT_PLACE_COUNT
} ms_input_place;

/* An operator whose results a selective checkpoint keeps. */
typedef struct ms_kept_op {
    const char *name;    /* as in the operator's row */
    uint32_t occurrence; /* 0-based in the layer's forward, or UINT32_MAX: all */
} ms_kept_op;

/* Whether the name of an operator to keep means this one: the same, or both attention's kernel, one
 * of them cuDNN's, which takes the others' place by device and version of PyTorch. */
bool ms_kept_name_means(const char *kept, const char *op);

/* Treatments of parts of a layer. */
typedef enum ms_part {
#define MS_PART_CONSTANT(constant, row) MS_PART_##constant,
    MS_PART_LIST(MS_PART_CONSTANT)
#undef MS_PART_CONSTANT
        MS_PART_COUNT
} ms_part;

typedef struct ms_treatment {
    ms_treatment_kind kind;
    ms_input_place input;          /* checkpoint and selective */
    uint32_t parts[MS_PART_COUNT]; /* 0: not treated; else the number of pieces, or 1 */
    double share; /* offload: of the saved bytes; selective: of the results to keep, when
                     kept_count is 0 */
    const ms_kept_op *kept_ops; /* selective; arena */
    uint32_t kept_count;
} ms_treatment;

/* Whether the MLP is tiled and attention is not. */
static inline bool ms_treatment_tiles_mlp_alone(const ms_treatment *t)
{
    return t->parts[MS_PART_TILE] > 0 && t->parts[MS_PART_TILE_ATTENTION] == 0;
}

/* The treatments of all layers and of the loss, by a whole specification. */
typedef struct ms_treatments {
    ms_treatment *layers;
    uint32_t loss_chunks; /* 0 = not chunked */
} ms_treatments;

/* Checks the syntax only; layer numbers are checked when the model is known. */
ms_status ms_treatments_check(const char *text, ms_error *err);

/* Applies `text` to treatments->layers[0 .. num_layers - 1]; operators live in the arena. */
ms_status ms_treatments_apply(const char *text, ms_arena *arena, uint64_t num_layers,
                              ms_treatments *treatments, ms_error *err);

/* Whether the treatment offloads anything to the host. */
bool ms_treatment_sends(const ms_treatment *treatment);

/* ---- treatment equal ---- */

/* Comparing treatments of layers. */

bool ms_treatment_equal(const ms_treatment *a, const ms_treatment *b);

/* ---- treatment text ---- */

/* Converts treatments to specifications. */

/* "offload:0.5+tile:4" into the arena; NULL when out of memory. */
const char *ms_treatment_text(const ms_treatment *treatment, ms_arena *arena);

/* "0-7=checkpoint,loss=chunk:8": the specification of these treatments; "" if everything is kept.
 * In the arena; NULL when out of memory. */
const char *ms_treatments_text(const ms_treatments *treatments, uint64_t num_layers,
                               ms_arena *arena);

#endif
