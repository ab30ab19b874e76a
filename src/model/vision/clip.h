/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CLIP's vision tower (CLIPVisionModel of transformers).
 */
#ifndef MS_MODEL_VISION_CLIP_H
#define MS_MODEL_VISION_CLIP_H

#include "model/blocks/model.h"

/* Creates the parameters below `parent`, from config->vision, and sets model->tower. False when out
 * of memory. */
bool ms_clip_new(ms_model *model, uint32_t parent);

/* What a pass over pictures returns, floating: [pictures, patches + 1, Hv]. */
typedef struct ms_clip_result {
    ms_tensor last;     /* of the last layer */
    ms_tensor pooled;   /* of the class token, behind the last norm, [pictures, Hv] */
    ms_tensor selected; /* in front of layer `selected` (of as many as there are: the last) */
    /* The graph behind `selected`, for ms_graph_forget: nodes of `last` from the first number up to
     * the second, those of `pooled` up to the third. */
    uint32_t nodes[3];
} ms_clip_result;

ms_clip_result ms_clip_run(ms_model *model, ms_tensor pixels, uint64_t selected);

#endif
