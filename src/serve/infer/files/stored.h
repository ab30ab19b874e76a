/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The weights of a model as its files store them, held against its config.json: what each tensor
 * is, how many bytes each type has, and why what is loaded has more or fewer.
 */
#ifndef MS_SERVE_INFER_FILES_STORED_H
#define MS_SERVE_INFER_FILES_STORED_H

#include "serve/infer/files/inventory.h"
#include "serve/infer/kit/result.h"
#include "base/json/value.h"
#include "input/weights/stored_weights.h"
#include "input/weights/gguf.h"

/* Tensors that are not of the model in config.json, and are not loaded. */
typedef enum ms_stored_left {
    MS_LEFT_TIED,       /* the head, which is the table of embeddings */
    MS_LEFT_VISION,     /* for pictures */
    MS_LEFT_AUDIO,      /* for sound */
    MS_LEFT_PREDICTION, /* layers that predict further tokens */
    MS_LEFT_MADE,       /* that the class makes itself */
    MS_LEFT_EXTRA,      /* any others */
    MS_LEFT_KINDS
} ms_stored_left;

/* All tensors of one type and role. */
typedef struct ms_stored_kind {
    const char *name;                /* of the type, as the header has it */
    const ms_safetensors_type *type; /* NULL: a type of GGUF */
    ms_stored_role role;
    uint64_t tensors, bytes;
} ms_stored_kind;

typedef struct ms_stored {
    ms_stored_weights checkpoint;
    ms_vec(ms_stored_kind) kinds;          /* the one with the most bytes first */
    uint64_t left_bytes[MS_LEFT_KINDS];    /* stored */
    const ms_safetensors_type *first_type; /* the first in floating point, of 16 bits or more */
} ms_stored;

/* Reads the headers at `path` (see ms_stored_weights_read) beside the config, whose document is
 * `root` and whose weights are the inventory's. MS_ERR_CONFIG: they do not agree, in one sentence.
 * On failure nothing is left to free. */
ms_status ms_stored_read(ms_arena *arena, const char *path, const ms_model_config *config,
                         ms_json_value root, const ms_inventory *inventory, ms_stored *stored,
                         ms_error *err);
/* The same for a GGUF file in `files` parts, which is the model itself. MS_ERR_NOMEM. */
ms_status ms_stored_of_gguf(const ms_gguf *gguf, uint32_t files, ms_stored *stored, ms_error *err);
void ms_stored_free(ms_stored *stored);

#endif
