/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Images in the sequences of a run, and what a run without them says of that.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_IMAGES_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_IMAGES_H

#include "input/config/resolve/resolving.h"

/* Checks them against the model and the other settings, and sets the grid of each. After the
 * treatments are resolved. */
ms_status ms_resolve_images(const ms_resolving *c);

/* " without images" for a model that has a vision tower, which the step does not run, " without
 * sounds" for one that has only a tower for these, " with 2 images each" where images run; else "".
 * It follows the number of tokens in titles. Writes into
 * `out`, or returns a static text. */
enum { MS_IMAGES_TEXT = 48 };
const char *ms_images_words(const ms_model_config *model, const ms_run_config *run,
                            char out[MS_IMAGES_TEXT]);
/* Whether the model has towers for pictures or sounds, none of which the run, or a NULL one, runs.
 */
bool ms_is_text_only(const ms_model_config *model, const ms_run_config *run);

#endif
