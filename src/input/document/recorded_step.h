/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a step was run, or is predicted to run: what comparisons name as causes.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_STEP_H
#define MS_INPUT_DOCUMENT_RECORDED_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json/members.h"
#include "memscope/recorded.h"

enum { MS_RECORDED_ATTENTIONS = 4 };

/* 0 and NULL: not known. */
typedef struct ms_recorded_step {
    uint64_t batch, seq;   /* of the largest micro-batch */
    bool has_other_inputs; /* and smaller ones */
    uint64_t micro_steps;  /* backward passes */
    const char *dtype;     /* of most weights */
    bool knows_weights, is_quantized;
    const char *autocast; /* "none" */
    const char *optimizer, *optimizer_impl;
    const char *adapter, *quantize; /* predicted: "none" */
    const char *attention[MS_RECORDED_ATTENTIONS];
    uint32_t attention_count;
    uint64_t layers;
    bool knows_recomputed;
    uint64_t recomputed_layers;
    uint64_t parameters, trainable, optimizer_bytes;
    bool knows_adapter;
    uint64_t adapter_parameters;
    bool is_compiled;
    bool is_evaluating; /* in evaluation mode, with dropout that does nothing */
    uint64_t idle_dropouts;
    const char *layout;        /* of several ranks, as predicted: "fsdp=8" */
    bool has_stages;           /* predicted: a pipeline, whose passes captures tell as fewer */
    bool splits_work;          /* predicted: layers, tokens or widths are divided among ranks */
    const char *data_parallel; /* "fully_shard"; "none" */
    bool knows_resharding, reshards;
} ms_recorded_step;

/* What is read of it: of the metadata of a prediction; of the object `step` of a capture; of the
 * summary of either. */
extern const ms_members ms_predicted_step_table, ms_captured_step_table, ms_captured_lists_table;
extern const ms_members ms_step_summary_table;

/* Fills r->step; the phases have been read. */
ms_status ms_recorded_read_step(ms_recorded *r, ms_json_value root, ms_error *err);

#endif
