/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/processors.h"

#include <string.h>

#include "model/vision/clip_image.h"
#include "model/vision/gemma3_image.h"
#include "model/vision/gemma4_image.h"
#include "model/vision/qwen/image.h"

static const ms_image_processor processors[] = {
    {"clip", ms_clip_place_image, MS_IMAGES_AS_PICTURES},
    {"gemma3", ms_gemma3_place_image, MS_IMAGES_WITH_KINDS},
    {"gemma4", ms_gemma4_place_image, MS_IMAGES_PADDED},
    {"qwen2", ms_qwen2_place_image, MS_IMAGES_AS_PATCHES},
    {"qwen2_5", ms_qwen2_5_place_image, MS_IMAGES_AS_PATCHES},
    {"qwen3", ms_qwen3_place_image, MS_IMAGES_AS_PATCHES},
};

const ms_image_processor *ms_image_processor_named(const char *name)
{
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (strcmp(processors[i].name, name) == 0)
            return &processors[i];
    return NULL;
}
