/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What becomes of an image before a model gets it, by the processor that a text names.
 */
#ifndef MS_MODEL_VISION_PROCESSORS_H
#define MS_MODEL_VISION_PROCESSORS_H

#include "input/config/model/family.h"

typedef struct ms_image_processor {
    const char *name;
    ms_status (*place_image)(const ms_model_config *config, const uint64_t sides[2],
                             ms_image_grid *grid, ms_error *err);
    ms_image_input input;
} ms_image_processor;

/* NULL: there is none of that name. */
const ms_image_processor *ms_image_processor_named(const char *name);

#endif
