/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stage of a pipeline: some layers of a decoder, the first with the embedding, the last with norm
 * and head, as a module that calls them. Every stage makes positions and rotary tables of its own;
 * no layer gets a mask.
 */
#ifndef MS_MODEL_DECODER_DECODER_STAGE_H
#define MS_MODEL_DECODER_DECODER_STAGE_H

#include "input/config/run/layout.h"
#include "model/blocks/model.h"

enum { MS_STAGE_ARGUMENTS = 16 };

/* What layers read while a micro-batch runs, forward or recomputed. */
typedef struct ms_stage_pass {
    ms_tensor given[MS_STAGE_ARGUMENTS];
} ms_stage_pass;

/* How stages run a model. */
typedef struct ms_stage_program {
    uint32_t (*embedding_scope)(const ms_model *model);
    ms_linear_module *(*head)(const ms_model *model);
    /* As ms_stage_forward and ms_stage_resume. */
    ms_tensor (*forward)(ms_model *model, const ms_pipeline_stage *stage, ms_tensor input,
                         ms_stage_pass *pass);
    void (*resume)(ms_model *model, const ms_stage_pass *pass);
} ms_stage_program;

/* After the model was built on no device: parameters of other stages are none of the tape's any
 * more. The tape must be on the meta device. */
void ms_stages_keep(ms_model *model, const ms_pipeline_stage *stages, uint64_t count);

/* Runs a micro-batch: ids [B, S] of the first stage, else hidden states [B, S, H], which the caller
 * owns. Returns hidden states or, of the last stage, logits, floating. */
ms_tensor ms_stage_forward(ms_model *model, const ms_pipeline_stage *stage, ms_tensor input,
                           ms_stage_pass *pass);
/* Before backward of a micro-batch: its layers read what this pass made. */
void ms_stage_resume(ms_model *model, const ms_stage_pass *pass);

#endif
