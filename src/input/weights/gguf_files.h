/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GGUF files on disk, and models that are split over several.
 */
#ifndef MS_INPUT_WEIGHTS_GGUF_FILES_H
#define MS_INPUT_WEIGHTS_GGUF_FILES_H

#include "base/inputs.h"
#include "input/weights/gguf.h"

/* A file, or the first of a split model, whose others are beside it: their tensors are added, each
 * with its file's index. `*splits`: how many files. */
ms_status ms_gguf_files_open(ms_arena *arena, const char *path, ms_gguf *gguf, uint32_t *splits,
                             ms_error *err);

/* Whether a file of that path, which the inputs admit, begins as a GGUF file does. */
bool ms_gguf_files_is_one(ms_inputs *inputs, const char *path);

#endif
