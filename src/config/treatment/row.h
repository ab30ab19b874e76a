/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What can become of a layer: a row for each kind of treatment of a whole layer, for each place of
 * a checkpoint's input, and for each part of a layer that can be treated by itself. All that reads,
 * writes, refuses, allows, runs, explains or prints treatments loops over the rows.
 */
#ifndef MS_CONFIG_TREATMENT_ROW_H
#define MS_CONFIG_TREATMENT_ROW_H

#include <stddef.h>

#include "config/treatment/technique.h"
#include "config/treatment/treatment.h"

/* What is known of a layer and its run when a treatment is chosen. */
typedef struct ms_treated_layer {
    const char *model_type;
    bool on_cpu;              /* the device is the host */
    bool is_sparse;           /* a mixture of experts in place of the MLP */
    bool has_no_mlp_module;   /* what would be the MLP is the layer's own code */
    bool has_sinks;           /* attention has */
    bool has_plain_attention; /* causal, with masks only where it must */
    bool is_reentrant;        /* checkpoints are */
    bool steps_in_backward;   /* the optimizer does */
} ms_treated_layer;

/* Where the reason is written why a layer cannot be treated so: behind "layer 3", or, where the
 * layer does not matter, instead of it. */
typedef struct ms_refusal {
    bool of_any_layer;
    char text[160];
} ms_refusal;

/* Whether it cannot be; fills the refusal. */
typedef bool (*ms_treatment_refuses)(const ms_treated_layer *layer, const ms_treatment *treatment,
                                     ms_refusal *refusal);

enum { MS_MOST_CODE_PIECES = 3 };

/* PyTorch code for a treatment: what to call for a layer, and the files of plan/trainers/pytorch
 * that define it; NULL: none. */
typedef struct ms_treatment_code {
    const char *call; /* "recompute(layers[i]%s)": %s is what the treatment has to add */
    const char *pieces[MS_MOST_CODE_PIECES];
} ms_treatment_code;

/* ---- of the whole layer ---- */

/* What follows the word and ":". */
typedef enum ms_kind_value {
    MS_KIND_PLAIN,
    MS_KIND_OF_SHARE,       /* "0.5" */
    MS_KIND_OF_OPS_OR_SHARE /* "mm+silu#2" or "0.5" */
} ms_kind_value;

typedef struct ms_kind_row {
    const char *word;
    ms_kind_value value;
    bool is_checkpoint; /* its input may go to the host */
    uint32_t techniques;
    ms_treatment_code code;
    ms_treatment_refuses refuses;
} ms_kind_row;

extern const ms_kind_row ms_treatment_kinds[MS_TREAT_KIND_COUNT];

/* ---- of a checkpoint's input ---- */

typedef struct ms_input_row {
    const char *word; /* behind "+"; NULL: nothing */
    uint32_t techniques;
    ms_treatment_code code;
    ms_treatment_refuses refuses;
} ms_input_row;

extern const ms_input_row ms_input_places[MS_INPUT_PLACE_COUNT];

/* ---- of a part of the layer ---- */

/* The module of a layer whose calls a part changes. */
typedef enum ms_part_module { MS_MODULE_MLP, MS_MODULE_ATTENTION, MS_MODULE_NORM } ms_part_module;

typedef struct ms_part_row {
    const char *word;  /* as a treatment has it, without ":4" */
    bool has_pieces;   /* ":4" follows the word */
    bool is_leading;   /* it stands first: the layer as a whole is kept */
    bool needs_keep;   /* the layer as a whole is kept; it may stand behind another part */
    uint32_t excludes; /* parts that do not stand behind this one, a bit each */
    uint32_t techniques;
    ms_part_module module;
    const char *noun; /* what runs again: "MLP" */
    bool is_plural;
    ms_treatment_code code; /* with pieces, %s is their number */
    ms_treatment_refuses refuses;
} ms_part_row;

extern const ms_part_row *const ms_treatment_parts[MS_PART_COUNT];

/* Whether any part is treated that has pieces, or any that has none. */
bool ms_treatment_has_parts(const ms_treatment *treatment, bool with_pieces);

/* ---- all ---- */

/* The techniques that a treatment needs, bits of ms_technique. */
uint32_t ms_treatment_techniques(const ms_treatment *treatment);

/* Whether a layer cannot be treated so, and why. */
bool ms_treatment_is_refused(const ms_treated_layer *layer, const ms_treatment *treatment,
                             ms_refusal *refusal);

#endif
