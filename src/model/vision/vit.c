/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ViT: families/vit.family has its keys, modules and calls.
 */
#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/model_config.h"
#include "model/family/family_list.h"

static ms_status derive(ms_model_config *config, ms_error *err)
{
    for (int i = 0; i < 2; i++)
        if (config->patch_sides[i] > config->image_sides[i]) {
            snprintf(err->pointer, sizeof err->pointer, "/patch_size");
            return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " pixels, but the image has %" PRIu64,
                           config->patch_sides[i], config->image_sides[i]);
        }
    uint64_t rows = config->image_sides[0] / config->patch_sides[0];
    uint64_t columns = config->image_sides[1] / config->patch_sides[1];
    config->image_tokens = rows * columns + 1;
    config->max_positions = config->image_tokens;
    return MS_OK;
}

static const ms_family_facts facts = {
    .peft = {.usual_lora = "query+value"},
};

const ms_family ms_family_vit = {.model_type = "vit",
                                 .facts = &facts,
                                 .classes = {{"ViTForImageClassification", MS_HEAD_FIRST_TOKEN}},
                                 .derive = derive,
                                 .is_bidirectional = true,
                                 .text_name = "vit"};
