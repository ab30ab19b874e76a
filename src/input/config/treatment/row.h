/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of treatments: one row for each treatment of a whole layer, for each place of a
 * checkpoint's input, and for each part of a layer that can be treated separately. Code that
 * parses, prints, refuses, allows, runs or explains treatments loops over the rows.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_ROW_H
#define MS_INPUT_CONFIG_TREATMENT_ROW_H

#include <stddef.h>

#include "input/config/treatment/technique.h"
#include "input/config/treatment/treatment.h"

/* Facts about a layer and its run that treatments depend on. */
typedef struct ms_treated_layer {
    const char *model_type;
    bool on_cpu;              /* the device is the CPU */
    bool is_sparse;           /* a mixture of experts instead of the MLP */
    bool has_no_mlp_module;   /* the layer computes its MLP itself */
    bool has_sinks;           /* attention has sinks */
    bool may_be_padded;       /* the batch may have a token of padding */
    bool shares_biases;       /* it hands tensors to other layers */
    bool has_plain_attention; /* causal attention, with a mask only where necessary */
    bool shares_states;       /* layers get more than the hidden states of the one before */
    bool is_reentrant;        /* checkpoints are reentrant */
    bool only_non_reentrant;  /* reentrant checkpoints are not predicted for its family */
    bool steps_in_backward;   /* the optimizer steps in backward */
} ms_treated_layer;

/* Why a treatment of a layer is refused: text that follows "layer 3", or a whole sentence if it
 * concerns any layer. */
typedef struct ms_refusal {
    bool of_any_layer;
    char text[160];
} ms_refusal;

/* Whether the treatment is refused; fills the refusal. */
typedef bool (*ms_treatment_refuses)(const ms_treated_layer *layer, const ms_treatment *treatment,
                                     ms_refusal *refusal);

enum { MS_MOST_CODE_PIECES = 3 };

/* PyTorch code for a treatment: the call for a layer, and the files of python/memscope/pytorch that
 * define its functions; NULL: none. */
typedef struct ms_treatment_code {
    const char *call; /* "recompute(layers[i]%s)": %s are arguments of the treatment */
    const char *pieces[MS_MOST_CODE_PIECES];
} ms_treatment_code;

/* ---- treatments of the whole layer ---- */

/* The value that follows the word and ":". */
typedef enum ms_kind_value {
    MS_KIND_PLAIN,
    MS_KIND_OF_SHARE,       /* "0.5" */
    MS_KIND_OF_OPS_OR_SHARE /* "mm+silu#2" or "0.5" */
} ms_kind_value;

typedef struct ms_kind_row {
    const char *word;
    ms_kind_value value;
    bool is_checkpoint; /* its input may be offloaded */
    uint32_t techniques;
    ms_treatment_code code;
    ms_treatment_refuses refuses;
} ms_kind_row;

extern const ms_kind_row ms_treatment_kinds[MS_TREAT_KIND_COUNT];

/* ---- places of a checkpoint's input ---- */

typedef struct ms_input_row {
    const char *word; /* follows "+"; NULL: none */
    uint32_t techniques;
    ms_treatment_code code;
    ms_treatment_refuses refuses;
} ms_input_row;

extern const ms_input_row ms_input_places[MS_INPUT_PLACE_COUNT];

/* ---- treatments of a part of the layer ---- */

/* The module of a layer that a part treats. */
typedef enum ms_part_module { MS_MODULE_MLP, MS_MODULE_ATTENTION, MS_MODULE_NORM } ms_part_module;

typedef struct ms_part_row {
    const char *word;  /* in the text of a treatment, without ":4" */
    bool has_pieces;   /* ":4" follows the word */
    bool is_leading;   /* it comes first: the layer as a whole is kept */
    bool needs_keep;   /* the layer as a whole is kept; may follow another part */
    uint32_t excludes; /* parts that may not follow this one, a bit each */
    uint32_t techniques;
    ms_part_module module;
    const char *noun; /* what is recomputed: "MLP" */
    bool is_plural;
    ms_treatment_code code; /* with pieces, %s is their count */
    ms_treatment_refuses refuses;
} ms_part_row;

extern const ms_part_row *const ms_treatment_parts[MS_PART_COUNT];

/* Whether any part with pieces is treated, or any without. */
bool ms_treatment_has_parts(const ms_treatment *treatment, bool with_pieces);

/* ---- all ---- */

/* The techniques that a treatment uses, bits of ms_technique. */
uint32_t ms_treatment_techniques(const ms_treatment *treatment);

/* Whether the treatment is refused for the layer, and why. */
bool ms_treatment_is_refused(const ms_treated_layer *layer, const ms_treatment *treatment,
                             ms_refusal *refusal);

#endif
