/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the weights of a model are stored as: the tensors of a safetensors file, of the files of an
 * index, or of a folder. Headers alone are read, one after the other, and no tensor is kept.
 */
#ifndef MS_INPUT_WEIGHTS_STORED_WEIGHTS_H
#define MS_INPUT_WEIGHTS_STORED_WEIGHTS_H

#include "base/arena.h"
#include "input/weights/safetensors.h"

typedef struct ms_stored_weights {
    uint32_t files;
    uint64_t tensors;
    uint64_t tensor_bytes; /* sum of theirs */
    uint64_t file_bytes;   /* with headers */
} ms_stored_weights;

/* Who is told of each tensor: file by file, as the index names the files, else by name. The
 * tensor and its name are valid during the call. */
typedef struct ms_stored_weights_reader {
    ms_status (*read)(void *context, const char *file, const ms_safetensor *tensor, ms_error *err);
    void *context;
} ms_stored_weights_reader;

/* Whether a folder has such files: an index, model.safetensors, or others that end so. */
bool ms_stored_weights_is_in(const char *folder);
/* Whether a path is named as such a file, or as an index of them. */
bool ms_stored_weights_is_named(const char *path);

/* Reads a file, an index or a folder; paths are of the arena, and files are noted in its inputs.
 * MS_ERR_IO: one cannot be read; MS_ERR_CONFIG: one is no such file, a tensor is in two, or not
 * where the index says. */
ms_status ms_stored_weights_read(ms_arena *arena, const char *path,
                                 const ms_stored_weights_reader *reader,
                                 ms_stored_weights *checkpoint, ms_error *err);

#endif
