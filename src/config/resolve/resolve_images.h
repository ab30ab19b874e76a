/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Images in a step: what a run of a model with a vision tower says of them.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_IMAGES_H
#define MS_CONFIG_RESOLVE_RESOLVE_IMAGES_H

#include "config/model/model_config.h"

/* " without images" for a model that has a vision tower, which the step does not run; else "". It
 * follows the number of tokens in titles. A static text. */
const char *ms_without_images(const ms_model_config *model);

#endif
