/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of files that were read, as the library fills it; memscope/inputs.h is the public part.
 */
#ifndef MS_BASE_INPUTS_H
#define MS_BASE_INPUTS_H

#include <sys/stat.h>

#include "memscope/inputs.h"

/* Records an open file; one that is not regular is ignored. `inputs` may be NULL. */
ms_status ms_inputs_note(ms_inputs *inputs, const char *name, const struct stat *file,
                         ms_error *err);

/* MS_ERR_IO, with a reason that lacks the name: `path` is outside of the root of the inputs.
 * Without inputs, or without a root, everything is admitted. */
ms_status ms_inputs_admit(const ms_inputs *inputs, const char *path, ms_error *err);
bool ms_inputs_has_root(const ms_inputs *inputs);

#endif
