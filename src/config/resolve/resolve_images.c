/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/resolve/resolve_images.h"

const char *ms_without_images(const ms_model_config *model)
{
    return model->vision.hidden_size > 0 ? " without images" : "";
}
